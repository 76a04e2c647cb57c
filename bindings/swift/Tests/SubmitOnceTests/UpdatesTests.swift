import Foundation
import XCTest

@testable import SubmitOnce

/// What can be watched.
final class UpdatesTests: OutboxTestCase {
    func testTheStatesOfASubmissionEndWithTheFinalOne() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        try await server.script(#"{"hold_before":"gate"}"#)
        let id = try await outbox.orderTea().id
        try await outbox.start()
        var states: [SubmissionState] = []
        var revisions: [Int64] = []
        for try await snapshot in outbox.updates(of: id) {
            if snapshot.state == .inFlight { try await server.release("gate") }
            states.append(snapshot.state)
            revisions.append(snapshot.revision)
        }
        XCTAssertEqual(states.last, .succeeded)
        XCTAssertTrue(states.contains(.inFlight))
        XCTAssertEqual(revisions, revisions.sorted())
    }

    func testWhatHasEndedBeforeIsToldOnce() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let id = try await outbox.orderTea().id
        _ = try await outbox.drain(for: .seconds(30))
        let all = try await outbox.updates(of: id).reduce(into: []) { $0.append($1.state) }
        XCTAssertEqual(all, [.succeeded])
    }

    func testAnIDThatWasNeverSubmittedIsUnknown() async throws {
        let outbox = try await open()
        let id = try await outbox.begin("form")
        let reason = try await refused { for try await _ in outbox.updates(of: id) {} }
        XCTAssertEqual(reason, .unknownID(id))
    }

    /// Under load each loop sees each change once and in order.
    func testEachLoopSeesEachChangeOnceAndInOrder() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let orders = 300
        let loops = (0..<4).map { _ in
            Task { () -> [Int64] in
                var cursors: [Int64] = []
                var settled = 0
                for try await event in outbox.changes(after: 0) {
                    guard case .change(let change) = event else { throw Trouble("resync") }
                    cursors.append(change.cursor)
                    if change.state.isFinal { settled += 1 }
                    if settled == orders { break }
                }
                return cursors
            }
        }
        try await outbox.start()
        for batch in 0..<(orders / 50) {
            try await outbox.submitAll(
                try (0..<50).map { number in
                    Submission(try SubmissionID.new(), to: "/orders?n=\(batch * 50 + number)", body: .jsonText("{}"))
                }
            )
        }
        var seen: [[Int64]] = []
        for loop in loops { seen.append(try await loop.value) }
        let first = try XCTUnwrap(seen.first)
        XCTAssertGreaterThanOrEqual(first.count, orders * 3)
        XCTAssertEqual(first, first.sorted())
        XCTAssertEqual(Set(first).count, first.count)
        for cursors in seen { XCTAssertEqual(cursors, first) }
        let summary = try await server.summary()
        XCTAssertEqual(summary.effects, orders)
    }

    func testAFeedGoesOnFromItsCursor() async throws {
        let outbox = try await open()
        for number in 0..<3 {
            try await outbox.submit(Submission(try SubmissionID.new(), to: "http://127.0.0.1:9/\(number)"))
        }
        let all = try await outbox.changes(after: 0).prefix(3).reduce(into: []) { $0.append($1.cursor) }
        let rest = try await outbox.changes(after: all[0]).prefix(2).reduce(into: []) { $0.append($1.cursor) }
        XCTAssertEqual(rest, Array(all.dropFirst()))
    }

    func testAListIsToldAnewWhenItChanges() async throws {
        let outbox = try await open()
        var counts: [Int] = []
        for try await snapshots in outbox.updates(of: .moving) {
            counts.append(snapshots.count)
            if counts.count == 3 { break }
            try await outbox.submit(Submission(try SubmissionID.new(), to: "http://127.0.0.1:9/x"))
        }
        XCTAssertEqual(counts, [0, 1, 2])
    }

    func testAnotherHandleSeesWhatHappensHere() async throws {
        let outbox = try await open()
        let other = try await open()
        let loop = Task { try await other.changes(after: 0).first { _ in true } }
        let id = try await outbox.orderAbroad()
        let event = try await loop.value
        guard case .change(let change) = event else { return XCTFail("\(String(describing: event))") }
        XCTAssertEqual(change.id, id)
    }

    func testTheProgressOfALargeBodyIsTold() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let id = try SubmissionID.new()
        let body = Body.bytes(Data(repeating: 7, count: 2_000_000), contentType: "image/jpeg")
        let loop = Task { try await outbox.uploads().first { $0.sent == $0.total } }
        // Not before somebody listens: progress isn't kept.
        while !outbox.observing.progress.isListening { await Task.yield() }
        try await outbox.submit(Submission(id, to: "/photos", body: body))
        try await outbox.start()
        let last = try await loop.value
        XCTAssertEqual(last?.id, id)
        XCTAssertEqual(last?.total, 2_000_000)
    }

    /// P12: the core is listened to only while somebody is there, since it looks for other processes then.
    func testNobodyListensAfterALoopHasEnded() async throws {
        let outbox = try await open()
        let id = try await outbox.orderAbroad()
        XCTAssertFalse(outbox.observing.changes.isListening)
        for try await _ in outbox.updates(of: id) {
            XCTAssertTrue(outbox.observing.changes.isListening)
            break
        }
        let waiting = Task { for try await _ in outbox.changes(after: 0) {} }
        while !outbox.observing.changes.isListening { await Task.yield() }
        waiting.cancel()
        _ = await waiting.result
        while outbox.observing.changes.isListening { await Task.yield() }
    }
}
