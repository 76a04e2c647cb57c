import Foundation

/// Numbers about an outbox. Totals count since the database was made, over restarts; what was counted in the last
/// moments before a process was killed may be missing from those of calls.
public struct Stats: Sendable, Hashable {
    /// Submissions that are neither settled nor held nor in flight.
    public let pending: Int
    /// Submissions in flight.
    public let inFlight: Int
    /// Submissions that wait for a decision.
    public let held: Int
    /// The same by reason, without those that are zero.
    public let heldByReason: [HoldReason: Int]
    /// Unsettled submissions that are in doubt.
    public let inDoubt: Int
    /// How long ago the oldest unsettled submission was accepted, by this device's clock.
    public let oldestAge: Duration?
    /// Bytes of the bodies of unsettled submissions.
    public let queuedBytes: Int64
    /// Bytes of the results that are kept.
    public let resultBytes: Int64
    /// Bytes of the database file once its log is written back into it.
    public let databaseBytes: Int64

    /// Calls of ``Outbox/submit(_:)``, and submissions of ``Outbox/submitAll(_:)``, that were not refused as
    /// unusable. What is in none of the next four was turned away: the queue was full, the ID too old, the disk full.
    public let submitCalls: Int
    /// Of these, those that stored a new submission.
    public let accepted: Int
    /// Of these, those that met a pending one.
    public let joined: Int
    /// Of these, those that met a settled one.
    public let replayed: Int
    /// Of these, those that were refused as a reuse.
    public let reuseRefused: Int

    /// Submissions that succeeded.
    public let succeeded: Int
    /// Submissions that were rejected.
    public let rejected: Int
    /// Submissions that were cancelled.
    public let cancelled: Int
    /// Submissions that expired.
    public let expired: Int
    /// Submissions that were superseded.
    public let superseded: Int
    /// Submissions that were abandoned.
    public let abandoned: Int

    /// Attempts in all.
    public let attempts: Int
    /// Attempts after one that got an answer.
    public let retriesAfterAnswer: Int
    /// Attempts after one that may have left the device and got no answer.
    public let retriesAfterSilence: Int
    /// Attempts after one that didn't leave the device: no network, no connection.
    public let retriesAfterNoConnection: Int
    /// Attempts whose outcome nobody knew when they ended.
    public let doubtsRaised: Int
    /// Of these, those that were settled since: by an answer, a probe or a decision, or with the end of their
    /// submission.
    public let doubtsSettled: Int

    /// (joined + replayed) / calls of ``Outbox/submit(_:)``; 0 without calls.
    public let duplicateHitRate: Double
    /// Refused reuses / calls of ``Outbox/submit(_:)``; 0 without calls.
    public let reuseRefusedRate: Double
    /// Attempts after an answer or a time-out / all attempts. An attempt after a missing network
    /// doesn't count.
    public let abnormalRetryRate: Double
    /// How long submissions took from acceptance to their end, by the device's clock: counts from 100 ms to a week,
    /// always the same ones, and the rest.
    public let timeToSettle: [SettleTimes]
    /// The change feed's last cursor.
    public let lastCursor: Int64

    /// Runs of the inbox that began.
    public let inboxRuns: Int
    /// Calls of ``Inbox/begin(_:)`` that met something done or under way.
    public let inboxRepeats: Int
    /// Items of the inbox that wait for a decision.
    public let inboxUncertain: Int
    /// Records that were appended to batches.
    public let records: Int
}

/// How many submissions took so long to settle.
public struct SettleTimes: Sendable, Hashable {
    /// At most this long, and longer than the entry before; nil for the rest.
    public let atMost: Duration?
    /// How many.
    public let count: Int
}
