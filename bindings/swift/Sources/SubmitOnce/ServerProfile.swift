import Foundation
import SubmitOnceGenerated

/// How one server treats keys: where they go, how long it remembers them, which answers mean what.
///
/// Take a built-in one and change it, or read one from JSON. Rules for answers are written in JSON.
public struct ServerProfile: Sendable, Hashable {
    public var name: String
    /// Where the key goes.
    public var keyPlace: KeyPlace
    /// How it is written.
    public var keySpelling: KeySpelling
    /// The effect of a submission that names none and whose method isn't safe.
    public var effect: Effect
    /// How long the server remembers a key after the first attempt. Nil for ever.
    public var retention: Duration?
    /// How long the server may still be working on an attempt that got no answer.
    public var quietTime: Duration
    /// It is known to lock a key in use.
    public var locks: Bool
    /// A lost connection ends its handler, perhaps between effect and record.
    public var abortsHandlers: Bool
    /// A gateway before it re-sends requests by itself.
    public var gatewayMayResend: Bool
    /// A keyed write overwrites what the one before wrote, so that ``Submission/replaces`` may be used.
    public var latestWins: Bool
    /// For whom it remembers a key.
    public var keyScope: KeyScope
    /// A repeat is answered with the first success and its body.
    public var replaysSuccess: Bool
    /// Which errors it keeps under the key.
    public var errorsAreReplayed: ReplayedErrors
    /// Rules and expectations, which come from JSON.
    private let rest: Rest

    /// A profile that comes with the library.
    public init(_ builtIn: BuiltInProfile) {
        self.init(builtInProfile(which: builtIn))
    }

    /// Reads a profile that was written as JSON.
    ///
    /// - Throws: ``SubmitOnceError`` with what is wrong in it, unknown members included.
    public init(json: String) throws {
        self.init(try translated { try profileFromJson(text: json.carried("profile")) })
    }

    private struct Rest: Hashable {
        let rules: [AnswerRule]
        let expectedContentTypes: [String]
        let expectedMember: String?
        let replayMarkers: [String]
    }

    private init(_ raw: RawProfile) {
        name = raw.name
        keyPlace = raw.keyPlace
        keySpelling = raw.keySpelling
        effect = raw.effect
        retention = raw.retention.map(Duration.init(secondsOf:))
        quietTime = Duration(secondsOf: raw.quietTime)
        locks = raw.locks
        abortsHandlers = raw.abortsHandlers
        gatewayMayResend = raw.gatewayMayResend
        latestWins = raw.latestWins
        keyScope = raw.keyScope
        replaysSuccess = raw.replaysSuccess
        errorsAreReplayed = raw.errorsAreReplayed
        rest = Rest(
            rules: raw.rules,
            expectedContentTypes: raw.expectedContentTypes,
            expectedMember: raw.expectedMember,
            replayMarkers: raw.replayMarkers
        )
    }

    func lowered() throws -> RawProfile {
        try RawProfile(
            name: name.carried("profile.name"),
            keyPlace: keyPlace,
            keySpelling: keySpelling,
            effect: effect,
            retention: retention?.lowered("profile.retention"),
            quietTime: quietTime.lowered("profile.quietTime"),
            locks: locks,
            abortsHandlers: abortsHandlers,
            gatewayMayResend: gatewayMayResend,
            latestWins: latestWins,
            keyScope: keyScope,
            replaysSuccess: replaysSuccess,
            errorsAreReplayed: errorsAreReplayed,
            rules: rest.rules,
            expectedContentTypes: rest.expectedContentTypes,
            expectedMember: rest.expectedMember,
            replayMarkers: rest.replayMarkers
        )
    }
}
