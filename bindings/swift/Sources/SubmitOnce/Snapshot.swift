import Foundation

/// How a submission stands.
public struct Snapshot: Sendable, Hashable, Identifiable {
    public let id: UUID
    public let account: String?
    public let method: String
    /// The absolute URL, as it is sent. Empty once only the memory of the end is left.
    public let url: String
    public let effect: Effect
    /// The lane that it goes in.
    public let lane: String?
    /// Its latest-wins key.
    public let replaces: String?
    public let state: SubmissionState
    /// Grows with each change of this submission. Drop an event whose revision isn't greater than the
    /// one on screen; hand it to ``Outbox/resolve(_:revision:as:)``.
    public let revision: Int64
    /// Why a pending submission isn't moving.
    public let waitingFor: WaitingFor?
    /// Attempts so far.
    public let attempts: Int
    /// When the next attempt is due at the latest, if that is a matter of time.
    public let nextAttemptAt: Date?
    /// True while an attempt may have taken effect without our knowing.
    public let inDoubt: Bool
    /// When it was accepted, by this device's clock.
    public let acceptedAt: Date
    /// How far a large body has come, while it is on the wire from this process.
    public let progress: UploadProgress?
    /// How the last attempt that ended badly ended, in words for a log or a support screen.
    public let lastProblem: String?
    /// The first and only result, once there is one.
    public let outcome: Outcome?
    /// What came after the end, in words.
    public let lateEvidence: String?

    /// How long ago it was accepted, by the same clock; zero if the clock was set back.
    public var age: Duration { max(.zero, .seconds(-acceptedAt.timeIntervalSinceNow)) }
}

extension Snapshot: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Without the URL and the account, which may name a person.
    public var description: String {
        "Snapshot(id: \(id), state: \(state), revision: \(revision), attempts: \(attempts), inDoubt: \(inDoubt))"
    }

    public var debugDescription: String { description }

    public var customMirror: Mirror {
        Mirror(self, children: ["id": id, "state": state, "revision": revision])
    }
}

/// The states of a submission.
public enum SubmissionState: Sendable, Hashable {
    /// Due at some time, or waiting for something: ``Snapshot/waitingFor`` says for what.
    case pending
    /// An attempt is on the wire.
    case inFlight
    /// Waits for a decision of the app or its user, and for nothing else: see ``Outbox/resolve(_:revision:as:)``.
    case held(HoldReason)
    /// It took effect. Never changes again.
    case succeeded
    /// It certainly didn't take effect, and won't. Never changes again.
    case rejected(RejectReason)
    /// Cancelled before it could take effect. Never changes again.
    case cancelled
    /// Its time was over before it could take effect. Never changes again.
    case expired
    /// A newer one of the same latest-wins key took its place. Never changes again.
    case superseded(by: UUID)
    /// Given up by decision; nothing is claimed about its effect. Never changes again.
    case abandoned

    /// True for the states that never change again.
    public var isFinal: Bool {
        switch self {
        case .pending, .inFlight, .held: false
        case .succeeded, .rejected, .cancelled, .expired, .superseded, .abandoned: true
        }
    }
}

/// Why a pending submission isn't moving.
public enum WaitingFor: Sendable, Hashable {
    /// For its turn, at this time or as soon as somebody drains.
    case due(at: Date)
    /// For a network. It is tried at this time in any case, and sooner when one comes.
    case network(at: Date)
    /// For a certificate of the server that can be trusted. If the clock is suspected, the certificate
    /// isn't valid at the time that this device's clock shows: ask the user to look at it.
    case certificate(at: Date, clockSuspected: Bool)
    /// For a network that costs nothing by the byte.
    case unmetered
    /// For the host, which has asked everybody to wait.
    case gate(until: Date)
    /// For credentials of its account.
    case credentials
    /// For its account to sign in.
    case signedOut
    /// For the one before it in its lane: to be settled; or, if that was rejected or given up, for
    /// ``Outbox/releaseLane(_:of:)``.
    case lane(UUID)
    /// For a newer one of its latest-wins key: it goes on only if that ends without success.
    case newer(UUID)
    /// For an older one of its latest-wins key, which is on the wire, or which others depend on.
    case older(UUID)
    /// For a submission whose success it depends on.
    case parent(UUID)
    /// For a status probe, which is asked at this time.
    case probe(at: Date)
}

/// How a submission ended: the server's answer, if an answer ended it.
public struct Outcome: Sendable, Hashable {
    /// The HTTP status.
    public let status: Int?
    public let contentType: String?
    public let headers: [Header]
    /// The answer's body. Nothing where there was no answer, where its body was lost, or where
    /// retention has dropped it.
    public let body: Data?
    /// The body never arrived whole, is damaged, or was dropped by retention.
    public let resultMissing: Bool
    /// When it was settled, by this device's clock.
    public let settledAt: Date

    /// The body as text in UTF-8. Nil if there is none, or if it is no UTF-8.
    public var text: String? { body.flatMap { String(data: $0, encoding: .utf8) } }

    /// Reads the body as JSON. Nil if there is no body.
    ///
    /// - Throws: what the decoder throws if the body isn't what it should be.
    public func json<Value: Decodable>(
        as type: Value.Type = Value.self,
        decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value? {
        try body.map { try decoder.decode(type, from: $0) }
    }
}

extension Outcome: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Without the body and the headers.
    public var description: String {
        "Outcome(status: \(status.map(String.init) ?? "none"), bytes: \(body?.count ?? 0), "
            + "resultMissing: \(resultMissing))"
    }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: ["status": status as Any]) }
}
