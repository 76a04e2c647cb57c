import Foundation
import XCTest

@testable import SubmitOnce

/// A scheduler that keeps orders as the system's does: one of each kind, the last.
final class FakeScheduler: RunScheduler {
    struct Refused: Error {}

    private struct State {
        var orders: [RunKind: RunRequest] = [:]
        var submitted: [RunRequest] = []
        var refuses = false
    }

    private let state = Locked(State())

    var orders: [RunKind: RunRequest] { state.withLock { $0.orders } }
    var submitted: [RunRequest] { state.withLock { $0.submitted } }

    func refuse(_ refuses: Bool) {
        state.withLock { $0.refuses = refuses }
    }

    func submit(_ request: RunRequest) throws {
        try state.withLock { state in
            guard !state.refuses else { throw Refused() }
            state.orders[request.kind] = request
            state.submitted.append(request)
        }
    }

    func cancel(_ kind: RunKind) {
        state.withLock { $0.orders[kind] = nil }
    }

    /// The system starts the run that was ordered.
    func launch(_ kind: RunKind) {
        cancel(kind)
    }
}

/// Background time that a test ends when it likes. `ended` gives each token that comes back.
final class FakeTime: BackgroundTime {
    private let isGranted: Bool
    private let expiresAtOnce: Bool
    private let expiration = Locked<(@Sendable () -> Void)?>(nil)
    private let count = Locked(0)
    private let back: AsyncStream<Int>.Continuation
    let ended: AsyncStream<Int>

    init(isGranted: Bool = true, expiresAtOnce: Bool = false) {
        self.isGranted = isGranted
        self.expiresAtOnce = expiresAtOnce
        (ended, back) = AsyncStream.makeStream(of: Int.self)
    }

    var endings: Int { count.withLock { $0 } }

    func begin(onExpiration: @escaping @Sendable () -> Void) -> Int? {
        guard isGranted else { return nil }
        expiration.withLock { $0 = onExpiration }
        if expiresAtOnce {
            onExpiration()
        }
        return 7
    }

    func end(_ token: Int) {
        count.withLock { $0 += 1 }
        back.yield(token)
    }

    func expire() {
        expiration.withLock { $0 }?()
    }

    func waitForEnd() async throws {
        try await inTime { [ended] in
            for await _ in ended { return }
        }
    }
}

/// What a run reported, and how often.
final class Reports: Sendable {
    private let all = Locked<[Bool]>([])
    private let stream: AsyncStream<Bool>
    private let continuation: AsyncStream<Bool>.Continuation

    init() {
        (stream, continuation) = AsyncStream.makeStream(of: Bool.self)
    }

    var count: Int { all.withLock { $0.count } }

    func add(_ success: Bool) {
        all.withLock { $0.append(success) }
        continuation.yield(success)
    }

    func first() async throws -> Bool? {
        try await inTime { [stream] in
            for await success in stream { return success }
            return nil
        }
    }
}

/// What has to come, and fails the test if it doesn't.
func inTime<T: Sendable>(_ work: @escaping @Sendable () async throws -> T) async throws -> T {
    try await withThrowingTaskGroup(of: T.self) { group in
        group.addTask(operation: work)
        group.addTask {
            try await Task.sleep(for: .seconds(30))
            throw Trouble("it did not come")
        }
        defer { group.cancelAll() }
        guard let first = try await group.next() else { throw CancellationError() }
        return first
    }
}

/// What was told to `onCallbackError`.
final class Complaints: Sendable {
    private let all = Locked<[any Error]>([])

    var errors: [any Error] { all.withLock { $0 } }

    func add(_ error: any Error) {
        all.withLock { $0.append(error) }
    }
}

/// Something to wait at until a test opens it.
final class Gate: Sendable {
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() {
        (stream, continuation) = AsyncStream.makeStream(of: Void.self)
    }

    /// Not ended by a cancelled task: like a call that hangs.
    func pass() async {
        await Task.detached { [stream] in
            for await _ in stream {}
        }.value
    }

    func open() {
        continuation.finish()
    }
}
