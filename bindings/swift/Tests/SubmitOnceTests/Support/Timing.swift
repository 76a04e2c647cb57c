import Foundation

@testable import SubmitOnce

/// Longer than anything here takes: who waits so long has failed.
let long = Duration.seconds(20)

/// A time that no test lives to see the end of: what ends within it was ended.
let hours = Duration.seconds(10 * 3600)

/// Fails if it isn't done at once. What hangs is left behind, so that it can't hang the tests.
func atOnce<T: Sendable>(
    within limit: Duration = .seconds(5),
    _ work: @escaping @Sendable () async throws -> T
) async throws -> T {
    let waiting = Locked<CheckedContinuation<T, any Error>?>(nil)
    let finish: @Sendable (Result<T, any Error>) -> Void = { result in
        let first = waiting.withLock { waiting in
            defer { waiting = nil }
            return waiting
        }
        first?.resume(with: result)
    }
    return try await withCheckedThrowingContinuation { continuation in
        waiting.withLock { $0 = continuation }
        let alarm = Task {
            try await Task.sleep(for: limit)
            finish(.failure(Trouble("it isn't done at once")))
        }
        Task {
            do {
                finish(.success(try await work()))
            } catch {
                finish(.failure(error))
            }
            alarm.cancel()
        }
    }
}

/// For what comes by itself and tells nobody, such as the end of a listener.
func eventually(_ what: String, _ isSo: () async throws -> Bool) async throws {
    let end = ContinuousClock.now + long
    while try await !isSo() {
        guard ContinuousClock.now < end else { throw Trouble("it never came: \(what)") }
        await Task.yield()
    }
}

/// Something that comes once, for whoever waits.
final class Signal<Value: Sendable>: Sendable {
    private let stream: AsyncStream<Value>
    private let continuation: AsyncStream<Value>.Continuation

    init() {
        (stream, continuation) = AsyncStream.makeStream()
    }

    func send(_ value: Value) { continuation.yield(value) }

    /// The next value, in the order in which they were sent. Asked by one caller at a time.
    func next() async throws -> Value {
        let stream = stream
        return try await atOnce(within: long) {
            guard let value = await stream.first(where: { _ in true }) else { throw CancellationError() }
            return value
        }
    }
}

extension Signal<Void> {
    func send() { send(()) }
}

extension Task where Failure == any Error {
    /// How it ended, if it did so at once.
    var end: Result<Success, any Error> {
        get async throws {
            try await atOnce { await self.result }
        }
    }
}

extension Result {
    /// What it failed with, as the library's reason.
    var reason: SubmitOnceError.Reason? {
        guard case .failure(let error) = self else { return nil }
        return (error as? SubmitOnceError)?.reason
    }

    var isCancelled: Bool {
        guard case .failure(let error) = self else { return false }
        return error is CancellationError
    }
}
