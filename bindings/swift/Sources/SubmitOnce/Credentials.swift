import Foundation

/// Headers that the requests of an account carry. Kept in memory alone.
public struct Credentials: Sendable {
    /// For example `Authorization`. An empty list means that the account needs none.
    public var headers: [Header]
    /// By this device's clock; fresh ones are asked for in time.
    public var validUntil: Date?

    public init(headers: [Header], validUntil: Date? = nil) {
        self.headers = headers
        self.validUntil = validUntil
    }

    /// A bearer token (RFC 6750).
    public static func bearer(_ token: String, validUntil: Date? = nil) -> Credentials {
        Credentials(headers: [Header(name: "Authorization", value: "Bearer \(token)")], validUntil: validUntil)
    }
}

extension Credentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Without the headers.
    public var description: String { "Credentials(\(headers.count) headers)" }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Where credentials come from.
///
/// Asked when credentials are missing, nearly out of date, or were refused: once at a time, never once per
/// request. It may take its time and throw, for example when the token server can't be reached; submissions
/// wait meanwhile, and it is asked again. Nil means that there are none, because the user has to sign in anew.
/// Its task is cancelled when the outbox is closed, or another account's credentials are needed.
public typealias CredentialsProvider =
    @Sendable (_ account: String, _ reason: CredentialsReason) async throws -> Credentials?
