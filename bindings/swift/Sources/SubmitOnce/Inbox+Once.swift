import Foundation
import SubmitOnceGenerated

/// What `once` met.
public enum Once: Sendable, Hashable {
    /// The effect ran, now, and gave this.
    case ran(result: Data?)
    /// It was done before, and gave this then. No result: that gave none, or retention has `dropped` it.
    case before(result: Data?, dropped: Bool, at: Date)
    /// Somebody else is doing it: another task, or another process.
    case busy(since: Date)
    /// It may have happened: a run was lost, and the policy is `atMostOnce`. Nothing runs until
    /// ``Inbox/decide(_:_:as:)``.
    case uncertain(since: Date)

    /// True if the effect has happened, now or before.
    public var isDone: Bool {
        switch self {
        case .ran, .before: true
        case .busy, .uncertain: false
        }
    }

    /// The first and only result, whenever it came.
    public var result: Data? {
        switch self {
        case .ran(let result), .before(let result, _, _): result
        case .busy, .uncertain: nil
        }
    }

    /// The same as text in UTF-8. Nil if there is none, or if it is no UTF-8.
    public var text: String? { result.flatMap { String(data: $0, encoding: .utf8) } }
}

extension Once: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Without the result.
    public var description: String {
        switch self {
        case .ran(let result): "ran(\(result?.count ?? 0) bytes)"
        case .before(let result, let dropped, let at):
            "before(\(result?.count ?? 0) bytes, dropped: \(dropped), at: \(at))"
        case .busy(let since): "busy(since: \(since))"
        case .uncertain(let since): "uncertain(since: \(since))"
        }
    }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Thrown by an effect that knows that it hasn't happened: it failed before it could. The next `once` runs it
/// again, by either policy. Any other error means that it may have happened.
public struct NothingHappened: Error, LocalizedError, CustomStringConvertible {
    /// Why, if an error says it.
    public let cause: (any Error)?

    public init(_ cause: (any Error)? = nil) {
        self.cause = cause
    }

    public var description: String {
        "nothing happened; it may be run again" + (cause.map { ": \($0.localizedDescription)" } ?? "")
    }

    public var errorDescription: String? { description }
}

/// What an effect may give to be kept: bytes, a text, or nothing.
public protocol InboxResult: Sendable {
    /// What is kept of it.
    var inboxResult: Data? { get }
}

extension Data: InboxResult {
    public var inboxResult: Data? { self }
}

extension String: InboxResult {
    /// In UTF-8.
    public var inboxResult: Data? { Data(utf8) }
}

extension Optional: InboxResult where Wrapped: InboxResult {
    public var inboxResult: Data? { flatMap(\.inboxResult) }
}

extension Inbox {
    /// Carries an effect out, once across all tasks and processes, and records it with its result.
    ///
    /// If the effect throws, or its task is cancelled so that it throws, that is recorded too, and the error goes
    /// on to the caller: it may have happened, and the policy decides, unless the error is ``NothingHappened``. An
    /// effect whose task is cancelled before it could begin didn't happen. One that takes longer than its lease
    /// counts as lost; for one that has to extend it, there are ``begin(_:)`` and ``extend(_:lease:)``.
    ///
    /// - Parameters:
    ///   - scope: what kind of thing it is, for example `push`.
    ///   - key: what makes it the same when it comes again, such as the message's ID.
    ///   - content: what comes with the key; with another one, this throws with the reason `inboxKeyReused`.
    ///   - policy: what to do when nobody can know whether it happened.
    ///   - lease: how long the effect may take. Left out: ten minutes.
    ///   - effect: what to do, on the caller's actor. Its result, a `Data` or a `String`, is what later calls get.
    /// - Throws: what the effect throws; and ``SubmitOnceError``, as ``begin(_:)`` and ``finish(_:result:)``. If it is
    ///   thrown after the effect, that happened and isn't recorded.
    @discardableResult
    public func once(
        _ scope: String,
        _ key: String,
        content: Data? = nil,
        policy: InboxPolicy = .atLeastOnce,
        lease: Duration? = nil,
        isolation: isolated (any Actor)? = #isolation,
        _ effect: () async throws -> some InboxResult
    ) async throws -> Once {
        let item = InboxItem(scope, key, content: content, policy: policy, lease: lease)
        switch try await begin(item) {
        case .run(let run): return .ran(result: try await carryOut(run) { try await effect().inboxResult })
        case .done(let result, let dropped, let at): return .before(result: result, dropped: dropped, at: at)
        case .busy(let since): return .busy(since: since)
        case .uncertain(let since): return .uncertain(since: since)
        }
    }

    /// The same for an effect without a result.
    @discardableResult
    public func once(
        _ scope: String,
        _ key: String,
        content: Data? = nil,
        policy: InboxPolicy = .atLeastOnce,
        lease: Duration? = nil,
        isolation: isolated (any Actor)? = #isolation,
        _ effect: () async throws -> Void
    ) async throws -> Once {
        try await once(scope, key, content: content, policy: policy, lease: lease) { () -> Data? in
            try await effect()
            return nil
        }
    }

    private func carryOut(
        _ run: InboxRun,
        isolation: isolated (any Actor)? = #isolation,
        _ effect: () async throws -> Data?
    ) async throws -> Data? {
        // A failure that can't be recorded needs no words: the run counts as lost, as one that may have happened.
        guard !Task.isCancelled else {
            try? await fail(run, .nothingHappened)
            throw CancellationError()
        }
        let result: Data?
        do {
            result = try await effect()
        } catch {
            try? await fail(run, error is NothingHappened ? .nothingHappened : .mayHaveHappened)
            throw error
        }
        try await finish(run, result: result)
        return result
    }
}
