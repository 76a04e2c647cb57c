import Foundation

/// One business action, to take effect once. Everything in it is frozen when ``Outbox/submit(_:)``
/// returns: retries send the same bytes.
public struct Submission: Sendable, Hashable, Identifiable {
    /// The action's ID, from ``Outbox/begin(_:)`` or ``SubmissionID``.
    public var id: UUID
    /// An absolute `http` or `https` URL, or a path that starts with `/` and is joined to the outbox's
    /// base URL.
    public var url: String
    /// What to send.
    public var body: Body
    /// The HTTP method, in capitals.
    public var method: String
    /// Whose action it is: it goes with that account's credentials, to whichever host its URL names.
    /// Leave it out for what belongs to nobody, and for other people's hosts.
    public var account: String?
    /// How the server treats a repeat. Left out, it comes from the method and the server profile.
    public var effect: Effect?
    /// Headers to store and send with each attempt. Never credentials: they are refused.
    public var headers: [Header]
    /// Higher goes first; equal goes in the order of acceptance. Zero is normal; -100 to 100. Of every eight
    /// that are sent, one is the one that was accepted first, so that nothing starves. Within a lane it doesn't
    /// count.
    public var priority: Int32
    /// After this time it isn't worth sending any more. What may already have happened is then held for a
    /// decision instead of being called expired.
    public var expiresAt: Date?
    /// Wait for a network that costs nothing by the byte.
    public var unmeteredOnly: Bool
    /// Ordering key, of the account: within a lane, strictly first in, first out, one in flight. Without one it
    /// waits for no other.
    public var lane: String?
    /// What becomes of the lane if this one doesn't succeed. Left out: it stops.
    public var lanePolicy: LanePolicy?
    /// Latest-wins key, of the account, for writes that overwrite, for example "draft/42": an older submission of
    /// the key that hasn't been sent is superseded by this one. Only where the effect is `overwrite`, or the
    /// server profile says ``ServerProfile/latestWins``; not together with a lane.
    public var replaces: String?
    /// Sent only after these have succeeded: submissions of the same account that were accepted before. If one
    /// ends without success, this one is rejected.
    public var after: [UUID]
    /// Parts of the request that are taken from the results of parents.
    public var parts: [ParentPart]
    /// How to ask the server whether it took effect.
    public var probe: StatusProbe?

    /// An action; `url` is an absolute one, or a path that starts with `/`.
    public init(
        _ id: UUID,
        to url: String,
        body: Body = .empty,
        method: String = "POST",
        account: String? = nil,
        effect: Effect? = nil,
        headers: [Header] = [],
        priority: Int32 = 0,
        expiresAt: Date? = nil,
        unmeteredOnly: Bool = false,
        lane: String? = nil,
        lanePolicy: LanePolicy? = nil,
        replaces: String? = nil,
        after: [UUID] = [],
        parts: [ParentPart] = [],
        probe: StatusProbe? = nil
    ) {
        self.id = id
        self.url = url
        self.body = body
        self.method = method
        self.account = account
        self.effect = effect
        self.headers = headers
        self.priority = priority
        self.expiresAt = expiresAt
        self.unmeteredOnly = unmeteredOnly
        self.lane = lane
        self.lanePolicy = lanePolicy
        self.replaces = replaces
        self.after = after
        self.parts = parts
        self.probe = probe
    }

    /// An action at an absolute URL.
    public init(
        _ id: UUID,
        to url: URL,
        body: Body = .empty,
        method: String = "POST",
        account: String? = nil
    ) {
        self.init(id, to: url.absoluteString, body: body, method: method, account: account)
    }

    /// The same, sent only after these have succeeded.
    public func after(_ parents: UUID...) -> Submission {
        var submission = self
        submission.after += parents
        return submission
    }

    /// The same, with a part that is taken from the result of another submission, its parent.
    public func part(of parent: UUID, from source: PartSource, into target: PartTarget) -> Submission {
        var submission = self
        submission.parts.append(ParentPart(of: parent, from: source, into: target))
        return submission
    }
}

/// A part of a request that is taken from the result of another submission, its parent. It is put in when the
/// parent has succeeded, once, and is frozen then.
public struct ParentPart: Sendable, Hashable {
    /// Whose result it is taken from. It needs no mention in ``Submission/after``.
    public var parent: UUID
    /// Where in the parent's result it is found.
    public var source: PartSource
    /// Where in the request it goes.
    public var target: PartTarget

    public init(of parent: UUID, from source: PartSource, into target: PartTarget) {
        self.parent = parent
        self.source = source
        self.target = target
    }
}

extension Submission: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Without the URL, which may name a person, and without header values.
    public var description: String { "Submission(id: \(id), method: \(method), body: \(body))" }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: ["id": id, "method": method]) }
}

/// What a submission sends.
public enum Body: Sendable, Hashable {
    /// Nothing.
    case empty
    /// A JSON text, sent as it is, byte for byte in UTF-8, as `application/json`. Anything else than JSON
    /// is refused.
    case jsonText(String)
    /// Any bytes.
    case bytes(Data, contentType: String)
    /// What is in a regular file when it is submitted: copied then, and yours again after that.
    case file(URL, contentType: String)

    /// A value as JSON. The same value gives the same bytes each time, which is what tells a repeat from
    /// another request with its ID.
    ///
    /// - Parameter encoder: yours, for dates and the like. Its `outputFormatting` must contain
    ///   `.sortedKeys`: without it, members come in another order after each start of the app.
    /// - Throws: ``SubmitOnceError/invalid(field:problem:)`` for such an encoder, and what the encoder
    ///   throws.
    public static func json(_ value: some Encodable, encoder: JSONEncoder? = nil) throws -> Body {
        if let encoder, !encoder.outputFormatting.contains(.sortedKeys) {
            throw SubmitOnceError.invalid(
                field: "encoder",
                problem: "set its outputFormatting to contain .sortedKeys, so that a repeat has the same bytes"
            )
        }
        return .jsonText(try (encoder ?? .plain()).text(value))
    }
}

extension JSONEncoder {
    static func plain() -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        return encoder
    }

    func text(_ value: some Encodable) throws -> String { String(decoding: try encode(value), as: UTF8.self) }
}

extension Body: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Without what is in it.
    public var description: String {
        switch self {
        case .empty: "empty"
        case .jsonText(let text): "jsonText(\(text.utf8.count) bytes)"
        case .bytes(let data, _): "bytes(\(data.count) bytes)"
        case .file: "file"
        }
    }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: []) }
}
