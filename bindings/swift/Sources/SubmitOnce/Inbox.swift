import Foundation
import SubmitOnceGenerated

/// Durable once-records, for effects on this side.
///
/// What comes in may come again, and what is done here may be done again: a push message is delivered twice, a
/// background task runs a second time, an agent plans a step that it has done before. ``begin(_:)`` says, from one
/// table on disk and for all processes, whether it is still to do; ``finish(_:result:)`` records that it is done,
/// with the result that every later ``begin(_:)`` gets. `once` does both around a closure.
///
/// It keeps its outbox open. All functions throw ``SubmitOnceError``, after ``Outbox/close()`` with the reason
/// `closed`, and are finished whether their task is cancelled or not.
public final class Inbox: Sendable {
    private let outbox: Outbox
    private let raw: RawInbox

    init(_ outbox: Outbox) {
        self.outbox = outbox
        raw = outbox.raw.inbox()
    }

    /// Asks whether an item is to be done now. One across all tasks and processes gets `run`. Durable when it
    /// returns; an item that is done, or that another does, costs one read.
    ///
    /// - Throws: ``SubmitOnceError`` with the reason `inboxKeyReused` if the key came with another content before.
    public func begin(_ item: InboxItem) async throws -> InboxAnswer {
        let lowered = try item.lowered()
        return try await call { try $0.begin(item: lowered) }
    }

    /// Records that the run's effect has happened, and its result: every later ``begin(_:)`` gets that. Durable
    /// when it returns. The same call again does nothing.
    ///
    /// - Throws: ``SubmitOnceError`` with the reason `runLost` if the run's time was over and another has begun
    ///   meanwhile, or a decision was made.
    public func finish(_ run: InboxRun, result: Data? = nil) async throws {
        let (run, result) = (try run.carried(), try result?.carried("result"))
        try await call { try $0.finish(run: run, result: result) }
    }

    /// The same, and carries out statements on the app's own tables, in one transaction: the effect and its record
    /// can't come apart. All of it happens, or nothing.
    ///
    /// - Throws: ``SubmitOnceError`` with the reason `statementRefused` if one isn't allowed or fails: nothing has
    ///   happened, and the run goes on.
    public func finish(_ run: InboxRun, result: Data? = nil, with statements: [AppStatement]) async throws {
        let (run, result) = (try run.carried(), try result?.carried("result"))
        let lowered = try statements.lowered()
        try await call { try $0.finishWith(run: run, result: result, statements: lowered) }
    }

    /// Gives a run up. Durable when it returns. The same call again does nothing.
    ///
    /// - Throws: as ``finish(_:result:)``.
    public func fail(_ run: InboxRun, _ failure: InboxFailure) async throws {
        let run = try run.carried()
        try await call { try $0.fail(run: run, failure: failure) }
    }

    /// Gives a run more time, from now on.
    ///
    /// - Throws: as ``finish(_:result:)``.
    public func extend(_ run: InboxRun, lease: Duration) async throws {
        let (run, seconds) = (try run.carried(), try lease.lowered("lease"))
        try await call { try $0.extend(run: run, lease: seconds) }
    }

    /// Decides what becomes of an item that is uncertain.
    ///
    /// - Throws: ``SubmitOnceError`` with the reason `notUncertain` if it isn't, or isn't any more.
    public func decide(_ scope: String, _ key: String, as decision: InboxDecision) async throws {
        let (scope, key) = (try scope.carried("scope"), try key.carried("key"))
        let lowered = try decision.lowered()
        try await call { try $0.decide(scope: scope, key: key, decision: lowered) }
    }

    /// Items that wait for a decision, oldest first, of one scope or of all; up to 1,000. Runs whose process is
    /// gone are found, too.
    public func uncertain(in scope: String? = nil, limit: Int = 1000) async throws -> [UncertainItem] {
        let scope = try scope?.carried("scope")
        return try await call { try $0.uncertain(scope: scope, limit: UInt32(clamping: limit)) }
    }

    /// Reads the app's own tables, those whose names begin with `app_`; up to 10,000 rows, each with its values in
    /// the order of the query's columns.
    ///
    /// - Throws: ``SubmitOnceError`` with the reason `statementRefused` if it isn't allowed, writes, or fails.
    public func query(_ statement: AppStatement) async throws -> [[SQLValue]] {
        let lowered = try statement.lowered()
        return try await call { try $0.query(statement: lowered).map { $0.values.map(\.lifted) } }
    }

    private func call<T: Sendable>(_ work: @escaping @Sendable (RawInbox) throws -> T) async throws -> T {
        try await outbox.disk.run { [raw] in try work(raw) }
    }
}
