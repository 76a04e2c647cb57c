@testable import SubmitOnce

/// What an outbox is opened with; what is left out is the library's default.
struct Config: Sendable {
    var profile: JSON?
    var limits: [String: JSON] = [:]
    var baseURL: String?
    var userAgent: String?
    var installID: String?
    var inboxScopes: [InboxScope]?

    init() {}

    init(_ json: JSON) throws {
        self = try json.members { members in
            var config = Config()
            config.profile = members.jsonIfAny("profile")
            config.limits = try members.jsonIfAny("limits")?.object() ?? [:]
            config.baseURL = try members.textIfAny("base_url")
            config.userAgent = try members.textIfAny("user_agent")
            config.installID = try members.textIfAny("install_id")
            config.inboxScopes = try members.jsonIfAny("inbox_scopes")?.items().map { try inboxScope($0) }
            return config
        }
    }

    /// This, and for what it leaves out the other.
    func over(_ other: Config) -> Config {
        var config = self
        config.profile = profile ?? other.profile
        config.limits = other.limits.merging(limits) { _, own in own }
        config.baseURL = baseURL ?? other.baseURL
        config.userAgent = userAgent ?? other.userAgent
        config.installID = installID ?? other.installID
        config.inboxScopes = inboxScopes ?? other.inboxScopes
        return config
    }
}

extension ServerProfile {
    /// By its name, or as it is written.
    init(_ json: JSON) throws {
        if case .string = json {
            self.init(try json.builtInProfile())
        } else {
            try self.init(json: json.written())
        }
    }

    /// A profile without its rules. The layer shows a part of it, so it is the generated one that is looked at.
    func form() throws -> JSON {
        let raw = try lowered()
        return [
            "name": .string(raw.name),
            "key_place": raw.keyPlace.form,
            "key_spelling": .string(snakeCase(raw.keySpelling).replacing("_", with: "-")),
            "effect": .string(raw.effect.name),
            "retention": JSON(retention?.inMilliseconds),
            "quiet_time": JSON(quietTime.inMilliseconds),
            "locks": .bool(raw.locks),
            "aborts_handlers": .bool(raw.abortsHandlers),
            "gateway_may_resend": .bool(raw.gatewayMayResend),
            "latest_wins": .bool(raw.latestWins),
            "key_scope": .string(snakeCase(raw.keyScope)),
            "replays_success": .bool(raw.replaysSuccess),
            "errors_are_replayed": .string(snakeCase(raw.errorsAreReplayed)),
            "expected_content_types": JSON(raw.expectedContentTypes),
            "expected_member": JSON(raw.expectedMember),
            "replay_markers": JSON(raw.replayMarkers),
        ]
    }
}

extension JSON {
    func builtInProfile() throws -> BuiltInProfile {
        try constant(of: [
            .standard, .ietf, .stripe, .paypal, .adyen, .square, .googleAip155, .matrix, .plainPut, .unkeyed,
        ])
    }
}

extension KeyPlace {
    fileprivate var form: JSON {
        switch self {
        case .header(let name): ["header": ["name": .string(name)]]
        case .jsonPointer(let pointer): ["json_pointer": ["pointer": .string(pointer)]]
        case .query(let name): ["query": ["name": .string(name)]]
        case .path(let placeholder): ["path": ["placeholder": .string(placeholder)]]
        case .nowhere: "nowhere"
        }
    }
}

extension Effect {
    /// As in a submission.
    var name: String {
        switch self {
        // The library calls it so in code.
        case .safe: "none"
        case .overwrite, .keyed, .unkeyed: snakeCase(self)
        }
    }
}
