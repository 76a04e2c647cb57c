import Foundation
import SubmitOnceGenerated

/// What is done on this side, gathered, or fetched.
extension Outbox {
    /// The once-records of this outbox's file, for effects on this side.
    public var inbox: Inbox { Inbox(self) }

    /// Where small records are gathered, to be sent in batches.
    ///
    /// - Throws: ``SubmitOnceError`` with the reason `invalid` and the like, as ``submit(_:)`` has them for the
    ///   request that the configuration makes.
    public func batch(_ config: BatchConfig) async throws -> Batch {
        let lowered = try config.lowered()
        let raw = try await call { try $0.batch(config: lowered) }
        return Batch(self, raw, network: config.unmeteredOnly ? .unmetered : .any)
    }

    /// The latest value of a latest-wins key whose submissions are `GET`s without an effect: the result of the
    /// newest that succeeded, of this account or of nobody.
    ///
    /// It stays until a newer one succeeds: a failure never removes it, an older answer never takes its place,
    /// retention never drops it. A submission that is accepted while there is one asks only whether it has changed
    /// (`If-None-Match`), and succeeds with a 304 if it hasn't.
    public func current(_ key: String, account: String? = nil) async throws -> Fetched? {
        let key = try key.carried("key")
        let account = try account?.carried("account")
        return try await call { try $0.current(account: account, key: key)?.lifted() }
    }
}

/// The latest value of something that is fetched: the result of the newest submission of a latest-wins key that
/// only reads and has succeeded.
public struct Fetched: Sendable, Hashable {
    /// The submission whose result it is.
    public let id: UUID
    /// The HTTP status it came with.
    public let status: Int
    /// The media type of the body.
    public let contentType: String?
    /// Stored headers of the answer, the `ETag` among them.
    public let headers: [Header]
    public let body: Data
    /// When it came, by this device's clock.
    public let fetchedAt: Date
    /// When a server last said that it is this, by this device's clock: ``fetchedAt``, or the last 304 since.
    public let checkedAt: Date

    /// The body as text in UTF-8. Nil if it is no UTF-8.
    public var text: String? { String(data: body, encoding: .utf8) }

    /// Reads the body as JSON.
    ///
    /// - Throws: what the decoder throws if the body isn't what it should be.
    public func json<Value: Decodable>(
        as type: Value.Type = Value.self,
        decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value {
        try decoder.decode(type, from: body)
    }
}

extension Fetched: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Without the body and the headers.
    public var description: String {
        "Fetched(id: \(id), status: \(status), bytes: \(body.count), fetchedAt: \(fetchedAt), "
            + "checkedAt: \(checkedAt))"
    }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: ["id": id, "status": status]) }
}
