import Foundation
import SubmitOnceGenerated

/// The numbers an app may tune. Start from the defaults, and change what you must.
public struct Limits: Sendable, Hashable {
    /// Requests on the wire at once.
    public var maxInFlight: Int
    /// Submissions that are not settled, held ones included; more are refused with `QueueFull`.
    public var maxQueued: Int
    /// The largest body, in bytes.
    public var maxBodyBytes: Int64
    /// Bodies up to this size, in bytes, are kept inside the database; larger ones in files beside
    /// it.
    public var inlineBodyBytes: Int
    /// The largest answer that is kept, in bytes.
    public var maxAnswerBytes: Int
    /// How long the answer to a request may take, from the last byte of its body that went.
    public var requestTimeout: Duration
    /// How long the body of an answer may pause.
    public var idleTimeout: Duration
    /// How long connecting may take, the TLS handshake included.
    public var connectTimeout: Duration
    /// How long a claim holds without being renewed.
    public var lease: Duration
    /// How long a statement waits for another process's transaction.
    public var busyTimeout: Duration
    /// The first wait after a failure; it doubles from there.
    public var backoffFirst: Duration
    /// The longest wait that backoff grows to.
    public var backoffMost: Duration
    /// The longest wait that a server may ask for.
    public var serverWaitMost: Duration
    /// Used instead of the quiet time of the server profile. Left out, the profile decides. Meant
    /// for tests and demos: too short a time lets two requests with one key overlap.
    public var quietTime: Duration?
    /// Answered attempts before a submission is given up or held. Counts only together with
    /// ``retryTime``.
    public var retryAttempts: Int
    /// The waits that were set after answered attempts, added up, before a submission is given up
    /// or held. Counts only together with ``retryAttempts``.
    public var retryTime: Duration
    /// "In progress" answers before a submission is held. Counts only together with ``busyTime``.
    public var busyAttempts: Int
    /// The waits that were set after "in progress" answers, added up, before a submission is held.
    /// Counts only together with ``busyAttempts``.
    public var busyTime: Duration
    /// How long a request may wander in the network before it can be believed gone.
    public var horizon: Duration
    /// How long results are kept whole.
    public var keepResults: Duration
    /// Settled submissions whose results are kept whole, at most; older ones go first.
    public var keepResultsCount: Int
    /// Bytes of the results that are kept whole, at most; older ones go first.
    public var keepResultsBytes: Int64
    /// How long the memory of a settled submission is kept after that, to converge late
    /// duplicates. Never shorter than `retention` of its server profile, where that has an end.
    public var keepTombstones: Duration
    /// Entries of the change feed that are kept; an older cursor gets `Resync`.
    public var keepChanges: Int

    /// The limits that are right for most.
    public init() {
        self.init(defaultLimits())
    }

    init(_ raw: RawLimits) {
        maxInFlight = Int(raw.maxInFlight)
        maxQueued = Int(raw.maxQueued)
        maxBodyBytes = Int64(clamping: raw.maxBodyBytes)
        inlineBodyBytes = Int(raw.inlineBodyBytes)
        maxAnswerBytes = Int(raw.maxAnswerBytes)
        requestTimeout = Duration(secondsOf: raw.requestTimeout)
        idleTimeout = Duration(secondsOf: raw.idleTimeout)
        connectTimeout = Duration(secondsOf: raw.connectTimeout)
        lease = Duration(secondsOf: raw.lease)
        busyTimeout = Duration(secondsOf: raw.busyTimeout)
        backoffFirst = Duration(secondsOf: raw.backoffFirst)
        backoffMost = Duration(secondsOf: raw.backoffMost)
        serverWaitMost = Duration(secondsOf: raw.serverWaitMost)
        quietTime = raw.quietTime.map(Duration.init(secondsOf:))
        retryAttempts = Int(raw.retryAttempts)
        retryTime = Duration(secondsOf: raw.retryTime)
        busyAttempts = Int(raw.busyAttempts)
        busyTime = Duration(secondsOf: raw.busyTime)
        horizon = Duration(secondsOf: raw.horizon)
        keepResults = Duration(secondsOf: raw.keepResults)
        keepResultsCount = Int(raw.keepResultsCount)
        keepResultsBytes = Int64(clamping: raw.keepResultsBytes)
        keepTombstones = Duration(secondsOf: raw.keepTombstones)
        keepChanges = Int(raw.keepChanges)
    }

    func lowered() throws -> RawLimits {
        try RawLimits(
            maxInFlight: maxInFlight.lowered("limits.maxInFlight"),
            maxQueued: maxQueued.lowered("limits.maxQueued"),
            maxBodyBytes: maxBodyBytes.lowered("limits.maxBodyBytes"),
            inlineBodyBytes: inlineBodyBytes.lowered("limits.inlineBodyBytes"),
            maxAnswerBytes: maxAnswerBytes.lowered("limits.maxAnswerBytes"),
            requestTimeout: requestTimeout.lowered("limits.requestTimeout"),
            idleTimeout: idleTimeout.lowered("limits.idleTimeout"),
            connectTimeout: connectTimeout.lowered("limits.connectTimeout"),
            lease: lease.lowered("limits.lease"),
            busyTimeout: busyTimeout.lowered("limits.busyTimeout"),
            backoffFirst: backoffFirst.lowered("limits.backoffFirst"),
            backoffMost: backoffMost.lowered("limits.backoffMost"),
            serverWaitMost: serverWaitMost.lowered("limits.serverWaitMost"),
            quietTime: quietTime?.lowered("limits.quietTime"),
            retryAttempts: retryAttempts.lowered("limits.retryAttempts"),
            retryTime: retryTime.lowered("limits.retryTime"),
            busyAttempts: busyAttempts.lowered("limits.busyAttempts"),
            busyTime: busyTime.lowered("limits.busyTime"),
            horizon: horizon.lowered("limits.horizon"),
            keepResults: keepResults.lowered("limits.keepResults"),
            keepResultsCount: keepResultsCount.lowered("limits.keepResultsCount"),
            keepResultsBytes: keepResultsBytes.lowered("limits.keepResultsBytes"),
            keepTombstones: keepTombstones.lowered("limits.keepTombstones"),
            keepChanges: keepChanges.lowered("limits.keepChanges")
        )
    }
}
