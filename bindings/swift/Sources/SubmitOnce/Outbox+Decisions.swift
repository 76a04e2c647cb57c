import Foundation
import SubmitOnceGenerated

/// What an app or its user decides.
extension Outbox {
    /// Cancels a submission, and says honestly what that was worth.
    public func cancel(_ id: UUID) async throws -> CancelOutcome {
        try await call { try $0.cancel(id: id.lowered()).lifted() }
    }

    /// Decides a held submission.
    ///
    /// - Parameter revision: that of the snapshot that the decision is about.
    /// - Throws: ``SubmitOnceError`` with the reason `stale` if it has changed since.
    @discardableResult
    public func resolve(_ id: UUID, revision: Int64, as resolution: Resolution) async throws -> Snapshot {
        let lowered = try resolution.lowered()
        return try await asking {
            try $0.resolve(id: id.lowered(), revision: revision, resolution: lowered).lifted()
        }
    }

    /// Decides everything that is held for a reason, one by one: what the decision can't be made for stays held.
    /// If it fails, what was decided before stays decided; call again.
    @discardableResult
    public func resolveAll(heldFor reason: HoldReason, as resolution: Resolution) async throws -> ResolvedAll {
        let lowered = try resolution.lowered()
        return try await asking { try $0.resolveAll(reason: reason, resolution: lowered).lifted }
    }

    /// Lets a lane go on that stopped since one of its submissions was rejected or given up. The lane is that of an
    /// account, or of nobody. True if it had stopped.
    @discardableResult
    public func releaseLane(_ lane: String, of account: String? = nil) async throws -> Bool {
        let lane = try lane.carried("lane")
        let account = try account?.carried("account")
        return try await asking { try $0.releaseLane(account: account, lane: lane) }
    }

    /// Ends a backoff early: "try again now". Never shortens a server's wait or the quiet time, never makes a
    /// second submission. What is held for its doubt and has a status probe is asked about once more.
    @discardableResult
    public func wake(_ id: UUID) async throws -> Snapshot {
        try await asking { try $0.wake(id: id.lowered()).lifted() }
    }
}
