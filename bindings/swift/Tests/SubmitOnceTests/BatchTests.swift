import Foundation
import XCTest

@testable import SubmitOnce

/// Many small records, few requests.
final class BatchTests: OutboxTestCase {
    private struct Entry: Encodable {
        let id: String
        let at: Date
    }

    private func invalid(_ call: () async throws -> Void, line: UInt = #line) async throws {
        let refusal = try await refused(line: line, call)
        guard case .invalid = refusal else { return XCTFail("\(refusal)", line: line) }
    }

    func testWhatIsAppendedGoesInOneRequestInItsOrder() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let batch = try await outbox.batch(BatchConfig("logs", to: "/logs"))
        let first = try await batch.append(jsonText: #"{"id":"a","level":"info"}"#)
        let second = try await batch.append(Entry(id: "b", at: Date(timeIntervalSince1970: 0)))
        let others = try await batch.appendAll([["id": "c"], ["id": "d"]])
        let last = try await batch.appendAll(jsonTexts: [#"{"id":7}"#])
        let receipts = [first, second] + others + last
        XCTAssertEqual(receipts.map(\.recordID), ["a", "b", "c", "d", "7"])
        XCTAssertEqual(Set(receipts.map(\.batch)), [first.batch])
        let flushed = try await batch.flush()
        XCTAssertEqual(flushed, first.batch)
        try await outbox.start()
        let end = try await outbox.settled(first.batch)
        XCTAssertEqual(end.state, .succeeded)
        let body =
            #"[{"id":"a","level":"info"},{"at":"1970-01-01T00:00:00Z","id":"b"},{"id":"c"},{"id":"d"},{"id":7}]"#
        let records = try await server.records()
        XCTAssertEqual(records.map(\.bodySha256), [try sha256(Data(body.utf8))])
        let stats = try await outbox.stats()
        XCTAssertEqual([stats.records, stats.attempts], [5, 1])
    }

    func testWithoutRecordsNothingIsSent() async throws {
        let outbox = try await open(ReferenceServer())
        let batch = try await outbox.batch(BatchConfig("logs", to: "/logs"))
        let flushed = try await batch.flush()
        XCTAssertNil(flushed)
        let receipt = try await batch.append(["level": "info"])
        // One that has no ID is given one.
        XCTAssertNotNil(UUID(uuidString: receipt.recordID))
        let again = [try await batch.flush(), try await batch.flush()]
        XCTAssertEqual(again, [receipt.batch, receipt.batch])
        try await outbox.start()
        try await outbox.settled(receipt.batch)
        let after = try await batch.flush()
        XCTAssertNil(after)
    }

    func testABatchThatIsFullGoesByItselfAndTheNextWaits() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let config = BatchConfig("logs", to: "/logs", format: .ndjson, maxRecords: 2, maxAge: hours)
        let batch = try await outbox.batch(config)
        let receipts = try await batch.appendAll([["id": "a"], ["id": "b"], ["id": "c"]])
        XCTAssertEqual(receipts[0].batch, receipts[1].batch)
        XCTAssertNotEqual(receipts[0].batch, receipts[2].batch)
        try await outbox.start()
        try await outbox.settled(receipts[0].batch)
        let snapshot = try await outbox.snapshot(of: receipts[2].batch)
        XCTAssertEqual(snapshot.state, .pending)
        let records = try await server.records()
        XCTAssertEqual(records.count, 1)
    }

    func testOneBadRecordRefusesAll() async throws {
        let outbox = try await open()
        let batch = try await outbox.batch(BatchConfig("logs", to: "https://example.com/logs"))
        try await invalid { try await batch.appendAll(jsonTexts: [#"{"id":"a"}"#, "[]"]) }
        try await invalid { try await batch.append("only a text") }
        try await invalid { try await batch.append(jsonText: #"{"id":{}}"#) }
        let large = String(repeating: "a", count: 300_000)
        let refusal = try await refused { try await batch.append(["text": large]) }
        guard case .bodyTooLarge = refusal else { return XCTFail("\(refusal)") }
        let flushed = try await batch.flush()
        XCTAssertNil(flushed)
        let stats = try await outbox.stats()
        XCTAssertEqual(stats.records, 0)
    }

    func testAConfigurationIsCheckedBeforeARecordComes() async throws {
        let outbox = try await open()
        let url = "https://example.com/logs"
        try await invalid { _ = try await outbox.batch(BatchConfig("", to: url)) }
        try await invalid { _ = try await outbox.batch(BatchConfig("logs", to: "ftp://example.com")) }
        try await invalid { _ = try await outbox.batch(BatchConfig("logs", to: url, maxRecords: 0)) }
        try await invalid { _ = try await outbox.batch(BatchConfig("logs", to: url, maxRecords: -1)) }
        try await invalid { _ = try await outbox.batch(BatchConfig("logs", to: url, maxAge: .seconds(-1))) }
    }

    func testABatchThatTheServerRefusesForItsSizeIsSplit() async throws {
        let server = try ReferenceServer()
        try await server.script(#"{"respond":{"status":413}}"#)
        let outbox = try await open(server)
        let batch = try await outbox.batch(BatchConfig("logs", to: "/logs", format: .jsonObject(member: "events")))
        let id = try await batch.appendAll([["id": "a"], ["id": "b"]])[0].batch
        try await batch.flush()
        try await outbox.start()
        let end = try await outbox.settled(id)
        XCTAssertEqual(end.state, .rejected(.split))
        try await eventually("both halves have come") { try await outbox.list(.moving).snapshots.isEmpty }
        let bodies = try await server.records().dropFirst().map(\.bodySha256)
        let halves = [#"{"events":[{"id":"a"}]}"#, #"{"events":[{"id":"b"}]}"#]
        XCTAssertEqual(Set(bodies), Set(try halves.map { try sha256(Data($0.utf8)) }))
    }

    func testARecordIsEncodedOnTheActorOfItsCaller() async throws {
        try await Self.onTheMainActor(open().batch(BatchConfig("logs", to: "https://example.com/logs")))
    }

    // It compiles: the record may not leave the actor.
    @MainActor
    private static func onTheMainActor(_ batch: Batch) async throws {
        final class Reading: Encodable { var id = "r1" }
        let reading = Reading()
        let receipt = try await batch.append(reading)
        reading.id = "r2"
        let receipts = try await batch.appendAll([reading])
        XCTAssertEqual([receipt.recordID, receipts[0].recordID], ["r1", "r2"])
    }
}

/// Records, too, get their background runs.
final class BatchOrderingTests: BackgroundTestCase {
    func testRecordsOrderARunOnceForMany() async throws {
        let outbox = try await open(nil, scheduler: scheduler)
        let readings = try await outbox.batch(BatchConfig("readings", to: "/readings", unmeteredOnly: true))
        for _ in 0..<2 {
            try await readings.appendAll([["level": "info"], ["level": "info"]])
        }
        XCTAssertEqual(scheduler.submitted, [RunRequest(.processing)])
        let logs = try await outbox.batch(BatchConfig("logs", to: "/logs"))
        for _ in 0..<2 {
            try await logs.append(["level": "info"])
        }
        XCTAssertEqual(scheduler.submitted.count, 3)
        XCTAssertEqual(Set(scheduler.orders.keys), [.refresh, .processing])
        XCTAssertTrue(complaints.errors.isEmpty)
    }

    func testAFlushOrdersARunWhereNoneIsOrdered() async throws {
        let outbox = try await open(nil, scheduler: scheduler)
        let batch = try await outbox.batch(BatchConfig("logs", to: "/logs", unmeteredOnly: true))
        try await batch.flush()
        XCTAssertEqual(scheduler.submitted, [])
        try await batch.append(["level": "info"])
        // As after a run that left nothing to order.
        try await outbox.call { try $0.clearRunRequest(network: .unmetered) }
        try await batch.flush()
        XCTAssertEqual(scheduler.submitted, [RunRequest(.processing), RunRequest(.processing)])
    }
}
