import Foundation

/// Where calls that touch the disk run: away from the main actor, and from the threads that all tasks
/// share, of which there are as many as processors.
final class Disk: Sendable {
    private let queue: OperationQueue

    init() {
        queue = OperationQueue()
        queue.name = "dev.submitonce.disk"
        queue.qualityOfService = .userInitiated
        // The core commits together what waits together, so that more than one helps.
        queue.maxConcurrentOperationCount = 8
    }

    /// Runs it to its end, whether its task is cancelled or not.
    func run<T: Sendable>(_ work: @escaping @Sendable () throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            queue.addOperation {
                continuation.resume(with: Swift.Result { try translated(work) })
            }
        }
    }

    /// The same for what can't fail.
    func always<T: Sendable>(_ work: @escaping @Sendable () -> T) async -> T {
        await withCheckedContinuation { continuation in
            queue.addOperation { continuation.resume(returning: work()) }
        }
    }
}
