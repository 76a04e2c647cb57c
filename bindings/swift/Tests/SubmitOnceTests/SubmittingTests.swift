import Foundation
import SubmitOnce
import XCTest

/// Submissions from their intent to their end.
final class SubmittingTests: OutboxTestCase {
    func testASlotGivesOneIDUntilItsSubmissionIsSettledOrItIsDiscarded() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let id = try await outbox.begin("form")
        let again = try await outbox.begin("form")
        let other = try await outbox.begin("other form")
        XCTAssertEqual(id, again)
        XCTAssertNotEqual(id, other)
        try await outbox.submit(order(id))
        let submitted = try await outbox.begin("form")
        XCTAssertEqual(id, submitted)
        _ = try await outbox.drain(for: long)
        let next = try await outbox.begin("form")
        XCTAssertNotEqual(id, next)
        try await outbox.discard("form")
        let afterDiscard = try await outbox.begin("form")
        XCTAssertNotEqual(next, afterDiscard)
        // What was never begun has nothing to forget.
        try await outbox.discard("never begun")
    }

    // P1 durable accept, P8 replayable result.
    func testWhatWasAcceptedIsThereAfterTheNextOpeningAndSoIsItsResult() async throws {
        let server = try ReferenceServer()
        let order = try order()
        let first = try await open(server)
        let accepted = try await first.submit(order)
        XCTAssertEqual(accepted.kind, .accepted)
        await first.close()
        let second = try await open(server)
        let joined = try await second.submit(order)
        XCTAssertEqual(joined.kind, .joined)
        _ = try await second.drain(for: long)
        let settled = try await second.snapshot(of: order.id)
        await second.close()
        let replayed = try await open(server).submit(order)
        XCTAssertEqual(replayed.kind, .replayed)
        XCTAssertNotNil(settled.outcome?.body)
        XCTAssertEqual(replayed.snapshot.outcome, settled.outcome)
        let summary = try await server.summary()
        XCTAssertEqual(summary.requests, 1)
    }

    // P3: whoever comes second differs, and nobody's content is mixed with another's.
    func testSixteenTasksWithDifferentContentForOneIDLeaveOneWinner() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let id = try SubmissionID.new()
        let reused = try await withThrowingTaskGroup(of: Bool.self) { group in
            for item in 0..<16 {
                group.addTask {
                    do {
                        try await outbox.submit(order(id, item: "\(item)"))
                        return false
                    } catch let error as SubmitOnceError {
                        guard case .keyReused(id, let existing, let differs) = error.reason else { throw error }
                        XCTAssertEqual(existing.id, id)
                        XCTAssertEqual(differs.count, 1)
                        return true
                    }
                }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        XCTAssertEqual(reused, 15)
        _ = try await outbox.drain(for: long)
        let summary = try await server.summary()
        XCTAssertEqual(summary.effects, 1)
    }

    func testSeveralGoInTogetherOrNotAtAll() async throws {
        let outbox = try await open(ReferenceServer())
        let orders = try orders(3)
        var nowhere = try order()
        nowhere.url = "nowhere"
        let withOneThatIsRefused = orders + [nowhere]
        let url = try await refused { try await outbox.submitAll(withOneThatIsRefused) }
        guard case .invalid("url", _) = url else { return XCTFail("\(url)") }
        let none = try await outbox.list()
        XCTAssertEqual(none.snapshots, [])
        try await outbox.submit(orders[0])
        var other = orders[0]
        other.body = .empty
        let withOneOfAnother = [orders[1], other]
        let reused = try await refused { try await outbox.submitAll(withOneOfAnother) }
        guard case .keyReused = reused else { return XCTFail("\(reused)") }
        let one = try await outbox.list()
        XCTAssertEqual(one.snapshots.count, 1)
        let receipts = try await outbox.submitAll(orders + [orders[2]])
        XCTAssertEqual(receipts.map(\.kind), [.joined, .accepted, .accepted, .joined])
        XCTAssertEqual(receipts.map(\.id), (orders + [orders[2]]).map(\.id))
        let empty = try await outbox.submitAll([])
        XCTAssertEqual(empty, [])
    }

    func testAnAppsOwnIDsAreReconciledWithWhatTheOutboxKnows() async throws {
        let outbox = try await open(ReferenceServer())
        let known = try order()
        try await outbox.submit(known)
        let unknown = try SubmissionID.new()
        let reconciled = try await outbox.reconcile([unknown, known.id, known.id])
        XCTAssertEqual(Array(reconciled.keys), [known.id])
        XCTAssertEqual(reconciled[known.id]?.state, .pending)
        let none = try await outbox.reconcile([])
        XCTAssertTrue(none.isEmpty)
    }

    func testAListIsReadPageByPageInTheOrderOfAcceptance() async throws {
        let outbox = try await open(ReferenceServer())
        let ids = try await outbox.submitAll(orders(7)).map(\.id)
        var read: [[UUID]] = []
        var next: Int64? = 0
        while let after = next {
            let page = try await outbox.list(after: after, limit: 3)
            read.append(page.snapshots.map(\.id))
            next = page.next
        }
        XCTAssertEqual(read.map(\.count), [3, 3, 1])
        XCTAssertEqual(read.flatMap { $0 }, ids)
        _ = try await outbox.cancel(ids[0])
        let settled = try await outbox.list(.settled)
        XCTAssertEqual(settled.snapshots.map(\.id), [ids[0]])
        let moving = try await outbox.list(.moving)
        XCTAssertEqual(moving.snapshots.map(\.id), Array(ids.dropFirst()))
        let held = try await outbox.list(.held)
        XCTAssertEqual(held.snapshots, [])
    }

    func testABodyFromAFileIsCopiedAndTheFileIsFreeAgain() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let bytes = Data((0..<600_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        let file = folder.appending(path: "a photo ü.jpg")
        try bytes.write(to: file)
        var photo = try order()
        photo.body = .file(file, contentType: "image/jpeg")
        try await outbox.submit(photo)
        try FileManager.default.removeItem(at: file)
        let report = try await outbox.drain(for: long)
        XCTAssertEqual(report.succeeded, 1)
        let records = try await server.records()
        XCTAssertEqual(records.map(\.bodySha256), [try sha256(bytes)])
        var gone = try order()
        gone.body = photo.body
        let late = gone
        _ = try await refused { try await outbox.submit(late) }
    }

    func testEveryFieldOfASubmissionReachesTheServerOrTheSnapshot() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        try await outbox.signIn("ann")
        try await outbox.supply(Credentials(headers: []), of: "ann")
        var order = try order(account: "ann", effect: .overwrite)
        order.method = "PUT"
        order.headers = [Header(name: "User-Agent", value: "test/1")]
        order.priority = 3
        order.expiresAt = Date(timeIntervalSinceNow: 3600)
        order.body = .bytes(Data([0, 255, 127]), contentType: "application/octet-stream")
        let snapshot = try await outbox.submit(order).snapshot
        XCTAssertEqual(snapshot.account, "ann")
        XCTAssertEqual(snapshot.method, "PUT")
        XCTAssertEqual(snapshot.url, server.url.absoluteString + order.url)
        XCTAssertEqual(snapshot.effect, .overwrite)
        XCTAssertLessThan(abs(snapshot.acceptedAt.timeIntervalSinceNow), 60)
        _ = try await outbox.drain(for: long)
        let settled = try await outbox.snapshot(of: order.id)
        let outcome = try XCTUnwrap(settled.outcome)
        XCTAssertEqual(outcome.status, 201)
        XCTAssertEqual(outcome.contentType, "application/json")
        XCTAssertFalse(outcome.resultMissing)
        let records = String(decoding: try await server.get("records"), as: UTF8.self)
        XCTAssertTrue(records.contains("\"PUT\"") && records.contains("test/1"), records)
    }

    func testHigherPriorityGoesFirst() async throws {
        let server = try ReferenceServer()
        var limits = Limits.quick
        limits.maxInFlight = 1
        let outbox = try await open(server, limits: limits)
        let usual = try order()
        var urgent = try order()
        urgent.priority = 1
        try await outbox.submitAll([usual, urgent])
        _ = try await outbox.drain(for: long)
        let paths = try await server.records().map(\.path)
        XCTAssertEqual(paths.map { $0.contains(urgent.id.uuidString.lowercased()) }, [true, false])
    }

    func testWhatIsSentTooLateExpires() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        var late = try order()
        late.expiresAt = Date(timeIntervalSinceNow: -1)
        try await outbox.submit(late)
        _ = try await outbox.drain(for: long)
        let state = try await outbox.snapshot(of: late.id).state
        XCTAssertEqual(state, .expired)
        let summary = try await server.summary()
        XCTAssertEqual(summary.requests, 0)
    }

    func testNumbersTellWhatCallsMet() async throws {
        let outbox = try await open(ReferenceServer())
        let order = try order()
        try await outbox.submit(order)
        try await outbox.submit(order)
        _ = try await outbox.drain(for: long)
        try await outbox.submit(order)
        let stats = try await outbox.stats()
        XCTAssertEqual([stats.accepted, stats.joined, stats.replayed, stats.attempts], [1, 1, 1, 1])
        XCTAssertEqual([stats.pending, stats.inFlight, stats.held, stats.reuseRefused], [0, 0, 0, 0])
        let more = try await outbox.retain()
        XCTAssertFalse(more)
    }
}
