import Foundation

/// What ``Outbox/submit(_:)`` returns, once the submission is durable.
public struct Receipt: Sendable, Hashable {
    public let id: UUID
    public let kind: ReceiptKind
    public let snapshot: Snapshot
}

/// What ``Outbox/wait(for:upTo:)`` saw.
public enum Waited: Sendable, Hashable {
    /// It is settled; the snapshot has the outcome.
    case settled(Snapshot)
    /// It waits for a decision; ``Outbox/resolve(_:revision:as:)`` wants the snapshot's revision.
    case held(Snapshot)
    /// Neither within the time. Nothing about the submission has changed by that.
    case timedOut(Snapshot)

    public var snapshot: Snapshot {
        switch self {
        case .settled(let snapshot), .held(let snapshot), .timedOut(let snapshot): snapshot
        }
    }
}

/// What became of a request to cancel.
public enum CancelOutcome: Sendable, Hashable {
    /// It certainly did not happen and never will.
    case cancelled
    /// It was settled before.
    case alreadyFinal(Snapshot)
    /// An attempt may have taken effect, or is under way. Nothing further is sent. When the one under
    /// way ends it is cancelled, or it has succeeded, or it is held until a late answer or a decision
    /// settles it.
    case mayHaveHappened(Snapshot)
}

/// A decision on a held submission.
public enum Resolution: Sendable, Hashable {
    /// Send again with the same key, with a fresh budget. Clears a cancel and an expiry for good.
    /// `acceptSecondEffect` is needed where the server may have forgotten the key: the action may then
    /// happen a second time.
    case retrySameKey(acceptSecondEffect: Bool = false)
    /// It happened, as the app or its user found out in another way. The result is what is replayed, if
    /// one is known, as JSON or any other text.
    case itHappened(result: String? = nil)
    /// Stop asking. Nothing is claimed about whether it happened.
    case giveUp
    /// Supply the parts that the parent's result lacks, of a submission held for that: a value for each that is
    /// missing; others are left as they are. It is frozen then, and sent.
    case fillParts([PartValue])
}

extension Resolution: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Without the result and the values.
    public var description: String {
        switch self {
        case .retrySameKey(let acceptSecondEffect): "retrySameKey(acceptSecondEffect: \(acceptSecondEffect))"
        case .itHappened(let result): "itHappened(\(result?.utf8.count ?? 0) bytes)"
        case .giveUp: "giveUp"
        case .fillParts(let values): "fillParts(\(values.count) values)"
        }
    }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// What became of a decision about many.
public struct ResolvedAll: Sendable, Hashable {
    /// So many were decided.
    public let resolved: Int
    /// So many are held as before, since the decision can't be made for them: a retry that needs
    /// `acceptSecondEffect`, or whose bytes are damaged.
    public let refused: Int
}

/// What signing out did.
public struct SignedOutReport: Sendable, Hashable {
    /// Who was signed in.
    public let account: String?
    /// Unsettled submissions that wait for it to come back.
    public let kept: Int
    /// Submissions that were cancelled: they never happened and never will.
    public let cancelled: Int
    /// Submissions in doubt that were abandoned.
    public let abandoned: Int
    /// Submissions that had succeeded, and only whose results were still asked for.
    public let succeeded: Int
}

extension SignedOutReport: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Without the account, which may name a person.
    public var description: String {
        "SignedOutReport(kept: \(kept), cancelled: \(cancelled), abandoned: \(abandoned), succeeded: \(succeeded))"
    }

    public var debugDescription: String { description }

    public var customMirror: Mirror {
        Mirror(
            self,
            children: ["kept": kept, "cancelled": cancelled, "abandoned": abandoned, "succeeded": succeeded]
        )
    }
}

/// A part of a list, in the order of acceptance.
public struct Page: Sendable, Hashable {
    /// The entries. Their outcomes carry no bodies; ask ``Outbox/snapshot(of:)`` for one.
    public let snapshots: [Snapshot]
    /// Where the next page starts, if there is one. A page may have fewer entries than its limit, or none, and be
    /// followed by others: a call looks at some thousand submissions at most.
    public let next: Int64?
}

/// An entry of the change feed.
public enum FeedEvent: Sendable, Hashable {
    /// One change of one submission.
    case change(Change)
    /// Changes after the cursor are no longer kept: list anew, and go on from this one.
    case resync(cursor: Int64)

    /// The cursor to go on from: keep it with what you made of the event.
    public var cursor: Int64 {
        switch self {
        case .change(let change): change.cursor
        case .resync(let cursor): cursor
        }
    }
}

/// One change of one submission.
public struct Change: Sendable, Hashable {
    public let cursor: Int64
    public let id: UUID
    public let state: SubmissionState
    public let revision: Int64
    public let at: Date
}

/// What a drain did.
public struct DrainReport: Sendable, Hashable {
    /// Attempts that ended during the drain.
    public let attempts: Int
    /// Submissions that succeeded.
    public let succeeded: Int
    /// Submissions that ended without success.
    public let endedOtherwise: Int
    /// Submissions that are now held for a decision.
    public let held: Int
    /// Attempts that will be repeated later.
    public let toRepeat: Int
    /// Requests still on the wire when the drain returned.
    public let inFlight: Int
    /// Why it returned.
    public let stopped: DrainStop
    /// When something is due next, by this device's clock. Nil if no submission waits for a time.
    public let nextWakeAt: Date?
    /// Submissions wait for an unmetered network, and for nothing else.
    public let awaitsUnmetered: Bool
}

/// How much of a large body has been handed to the network. A repeated request begins anew.
public struct UploadProgress: Sendable, Hashable {
    public let id: UUID
    /// Bytes.
    public let sent: Int64
    /// Bytes.
    public let total: Int64
}
