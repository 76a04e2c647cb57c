import Foundation
import SubmitOnceGenerated

/// Where small records go, and when: logs, measurements, analytics. The records of one key are gathered in one open
/// batch; it is sent when it is full, when its time is over, or when it is flushed.
public struct BatchConfig: Sendable, Hashable {
    /// The name of the batches, for example `logs`. 1 to 1,024 bytes.
    public var key: String
    /// Where they go: an absolute URL, or a path that is joined to the outbox's base URL.
    public var url: String
    /// Whose they are. Left out: nobody's, and they are sent whoever is signed in.
    public var account: String?
    /// The HTTP method, in capitals.
    public var method: String
    /// How the server treats a repeat of a whole batch; see ``Submission/effect``.
    public var effect: Effect?
    /// Headers to store and send. Never credentials.
    public var headers: [Header]
    /// How the records stand in the body. Left out: a JSON array.
    public var format: BatchFormat?
    /// The member of a record that holds its own ID. A record that has it keeps it; one that hasn't is given a new
    /// UUID.
    public var idMember: String
    /// Records in a batch at most; 1 to 10,000.
    public var maxRecords: Int
    /// Bytes of a batch's body at most. A record alone has to fit.
    public var maxBytes: Int
    /// A batch is due this long after its first record at the latest. Left out: 30 seconds.
    public var maxAge: Duration?
    /// Higher goes first, as for submissions.
    public var priority: Int32
    /// Wait for a network that costs nothing by the byte.
    public var unmeteredOnly: Bool

    public init(
        _ key: String,
        to url: String,
        account: String? = nil,
        method: String = "POST",
        effect: Effect? = nil,
        headers: [Header] = [],
        format: BatchFormat? = nil,
        idMember: String = "id",
        maxRecords: Int = 500,
        maxBytes: Int = 262_144,
        maxAge: Duration? = nil,
        priority: Int32 = 0,
        unmeteredOnly: Bool = false
    ) {
        self.key = key
        self.url = url
        self.account = account
        self.method = method
        self.effect = effect
        self.headers = headers
        self.format = format
        self.idMember = idMember
        self.maxRecords = maxRecords
        self.maxBytes = maxBytes
        self.maxAge = maxAge
        self.priority = priority
        self.unmeteredOnly = unmeteredOnly
    }
}

extension BatchConfig: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Without the URL, which may name a person, and without header values.
    public var description: String { "BatchConfig(key: \(key), maxRecords: \(maxRecords), maxBytes: \(maxBytes))" }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: ["key": key]) }
}

/// What appending returns, once the record is durable.
public struct RecordReceipt: Sendable, Hashable {
    /// The record's own ID, as it stands in its ``BatchConfig/idMember``.
    public let recordID: String
    /// The submission that it goes with. If the server refuses that for one of its records, or for its size, the
    /// others go on in new ones.
    public let batch: UUID
}

/// Where the small records of one key are appended.
///
/// Any number of them, in any number of processes, may have one key. It keeps its outbox open. All functions throw
/// ``SubmitOnceError``, after ``Outbox/close()`` with the reason `closed`, and are finished whether their task is
/// cancelled or not.
public final class Batch: Sendable {
    private let outbox: Outbox
    private let raw: RawBatch
    private let network: RunNetwork

    init(_ outbox: Outbox, _ raw: RawBatch, network: RunNetwork) {
        self.outbox = outbox
        self.raw = raw
        self.network = network
    }

    /// Adds a record to the key's open batch, which is opened if there is none. Durable when it returns.
    ///
    /// - Parameters:
    ///   - record: what encodes to a JSON object.
    ///   - encoder: yours, for dates and the like. Left out: dates are written by ISO 8601.
    /// - Throws: ``SubmitOnceError`` with the reason `invalid` if it isn't a JSON object, or its
    ///   ``BatchConfig/idMember`` isn't a text or a number; `bodyTooLarge` if no batch can hold it; and what the
    ///   encoder throws.
    @discardableResult
    public func append(
        _ record: some Encodable,
        encoder: JSONEncoder? = nil,
        isolation: isolated (any Actor)? = #isolation
    ) async throws -> RecordReceipt {
        try await append(jsonText: (encoder ?? .plain()).text(record))
    }

    /// Adds a record that is written as JSON already.
    ///
    /// - Throws: as ``append(_:encoder:)``.
    @discardableResult
    public func append(jsonText record: String) async throws -> RecordReceipt {
        let record = try record.carried("record")
        let receipt = try await call { try $0.append(record: record) }
        await outbox.runs.submitted(receipt.runRequested ? [network] : [])
        return try receipt.lifted()
    }

    /// Adds several records, all or none, in one transaction. They may come to go with several batches.
    ///
    /// - Throws: as ``append(_:encoder:)``; the text says which record.
    @discardableResult
    public func appendAll(
        _ records: [some Encodable],
        encoder: JSONEncoder? = nil,
        isolation: isolated (any Actor)? = #isolation
    ) async throws -> [RecordReceipt] {
        let encoder = encoder ?? .plain()
        return try await appendAll(jsonTexts: records.map { try encoder.text($0) })
    }

    /// Adds several records that are written as JSON already.
    ///
    /// - Throws: as ``appendAll(_:encoder:)``.
    @discardableResult
    public func appendAll(jsonTexts records: [String]) async throws -> [RecordReceipt] {
        let size = records.reduce(0) { $0 + $1.utf8.count }
        guard size <= mostCarried else {
            throw SubmitOnceError.bodyTooLarge(bytes: size)
        }
        let receipts = try await call { try $0.appendAll(records: records) }
        await outbox.runs.submitted(receipts.contains(where: \.runRequested) ? [network] : [])
        return try receipts.map { try $0.lifted() }
    }

    /// Makes the open batch due now. Gives its submission, or nil where no batch is open: an empty one is never
    /// sent.
    @discardableResult
    public func flush() async throws -> UUID? {
        let flushed = try await call { try $0.flush()?.lifted() }
        if flushed != nil {
            await outbox.runs.request(network)
        }
        return flushed
    }

    private func call<T: Sendable>(_ work: @escaping @Sendable (RawBatch) throws -> T) async throws -> T {
        try await outbox.disk.run { [raw] in try work(raw) }
    }
}
