import Foundation
import XCTest

@testable import SubmitOnce

/// The states of one submission, and lists that keep themselves up to date.
final class ObserveTests: OutboxTestCase {
    func testASubmissionIsToldUntilItsFinalStateWhichEndsTheLoop() async throws {
        let outbox = try await open(ReferenceServer())
        let order = try order()
        try await outbox.submit(order)
        let watching = Task { try await outbox.updates(of: order.id).all() }
        try await outbox.start()
        let seen = try await watching.end.get()
        XCTAssertEqual(seen.last?.state, .succeeded)
        XCTAssertEqual(seen.last?.outcome?.status, 201)
        XCTAssertEqual(seen.map(\.revision), Array(Set(seen.map(\.revision))).sorted())
    }

    func testWhatHasEndedBeforeIsToldOnce() async throws {
        let outbox = try await open()
        var order = try order()
        order.url = "https://example.com/orders"
        let id = order.id
        try await outbox.submit(order)
        _ = try await outbox.cancel(id)
        let seen = try await atOnce { try await outbox.updates(of: id).all() }
        XCTAssertEqual(seen.map(\.state), [.cancelled])
    }

    func testAnIteratorThatHasEndedStaysAtItsEnd() async throws {
        let outbox = try await open(ReferenceServer())
        let order = try order()
        try await outbox.submit(order)
        _ = try await outbox.cancel(order.id)
        var iterator = outbox.updates(of: order.id).makeAsyncIterator()
        let first = try await iterator.next()
        XCTAssertEqual(first?.state, .cancelled)
        for _ in 0..<2 {
            let next = try await iterator.next()
            XCTAssertNil(next)
        }
    }

    func testAnUnknownSubmissionCantBeObserved() async throws {
        let outbox = try await open(ReferenceServer())
        let id = try SubmissionID.new()
        let refusal = try await refused { _ = try await outbox.updates(of: id).all() }
        XCTAssertEqual(refusal, .unknownID(id))
    }

    func testASlowLoopMissesStatesInBetweenAndNeverTheLast() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let order = try order()
        let failure = #"{"error_before":{"status":500}}"#
        try await server.script(failure, failure, failure, failure, failure)
        try await outbox.submit(order)
        var seen: [Snapshot] = []
        for try await snapshot in outbox.updates(of: order.id) {
            if seen.isEmpty {
                try await outbox.start()
                try await outbox.settled(order.id)
            }
            seen.append(snapshot)
        }
        // Twelve changes: one may have been on its way to the loop before the last.
        XCTAssertLessThanOrEqual(seen.count, 3)
        XCTAssertEqual(seen.last?.state, .succeeded)
        XCTAssertEqual(seen.last?.attempts, 6)
    }

    func testASlowLoopOverAListGetsTheNewestOneNext() async throws {
        let outbox = try await open(ReferenceServer())
        var counts: [Int] = []
        for try await list in outbox.updates(of: .all, limit: 1000) {
            if counts.isEmpty {
                for order in try orders(100) {
                    try await outbox.submit(order)
                }
            }
            counts.append(list.count)
            if list.count == 100 { break }
        }
        XCTAssertEqual(counts.first, 0)
        XCTAssertLessThanOrEqual(counts.count, 3)
    }

    func testFiftyLoopsOverOneSubmissionAllSeeItsEnd() async throws {
        let outbox = try await open(ReferenceServer())
        let order = try order()
        try await outbox.submit(order)
        let loops = (0..<50).map { _ in Task { try await outbox.updates(of: order.id).all().last?.state } }
        try await outbox.start()
        for loop in loops {
            let state = try await loop.end.get()
            XCTAssertEqual(state, .succeeded)
        }
    }

    func testAListIsToldAnewAfterEachChangeAndOnlyThen() async throws {
        let outbox = try await open(ReferenceServer())
        let lists = Signal<[UUID]>()
        let loop = Task {
            for try await list in outbox.updates(of: .moving) {
                lists.send(list.map(\.id))
            }
        }
        let none = try await lists.next()
        XCTAssertEqual(none, [])
        let order = try order()
        try await outbox.submit(order)
        let one = try await lists.next()
        XCTAssertEqual(one, [order.id])
        // Meeting a repeat changes nothing.
        try await outbox.submit(order)
        _ = try await outbox.cancel(order.id)
        let again = try await lists.next()
        XCTAssertEqual(again, [])
        loop.cancel()
        let end = try await loop.end
        XCTAssertTrue(end.isCancelled, "\(end)")
    }

    func testAListShowsNoMoreThanItsLimit() async throws {
        let outbox = try await open(ReferenceServer())
        let ids = try await outbox.submitAll(orders(5)).map(\.id)
        for (limit, count) in [(2, 2), (-1, 1), (0, 1), (Int.max, 5)] {
            let list = try await outbox.updates(of: .all, limit: limit).first(1)
            XCTAssertEqual(list.first?.map(\.id), Array(ids.prefix(count)), "\(limit)")
        }
    }

    func testEveryLoopEndsWithCancellationErrorAtOnce() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let order = try await outbox.orderOnTheWire(server)
        let begun = Signal<Void>()
        let states = Task { for try await _ in outbox.updates(of: order.id) { begun.send() } }
        let lists = Task { for try await _ in outbox.updates(of: .all) { begun.send() } }
        let changes = Task { for try await _ in outbox.changes(after: 0) { begun.send() } }
        let uploads = Task { for try await _ in outbox.uploads() {} }
        // One state, one list, two changes.
        for _ in 0..<4 {
            try await begun.next()
        }
        for loop in [states, lists, changes, uploads] {
            loop.cancel()
            let end = try await loop.end
            XCTAssertTrue(end.isCancelled, "\(end)")
        }
        let state = try await outbox.snapshot(of: order.id).state
        XCTAssertEqual(state, .inFlight)
        try await server.release("gate")
    }

    func testEveryLoopEndsWithClosedWhenTheOutboxIsClosed() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let order = try await outbox.orderOnTheWire(server)
        let begun = Signal<Void>()
        let loops = [
            Task { for try await _ in outbox.updates(of: order.id) { begun.send() } },
            Task { for try await _ in outbox.updates(of: .all) { begun.send() } },
            Task { for try await _ in outbox.changes(after: 0) { begun.send() } },
            Task { for try await _ in outbox.uploads() {} },
        ]
        for _ in 0..<4 {
            try await begun.next()
        }
        await outbox.close()
        for loop in loops {
            let end = try await loop.end
            XCTAssertEqual(end.reason, .closed)
        }
        try await server.release("gate")
    }

    // P12 quiet when idle: the core looks for others' changes while somebody listens.
    func testALoopThatIsLeftOrNeverBegunListensNoLonger() async throws {
        let outbox = try await open(ReferenceServer())
        try await outbox.submit(order())
        let changes = outbox.observing.changes
        let never = outbox.changes(after: 0)
        XCTAssertFalse(changes.isListening)
        do {
            var iterator = never.makeAsyncIterator()
            _ = try await iterator.next()
            XCTAssertTrue(changes.isListening)
        }
        try await eventually("the listener goes with its loop") { !changes.isListening }
        // Nudged, and dropped before anybody took the nudge.
        try await outbox.submit(order())
        _ = try await outbox.changes(after: 0).first(2)
        try await eventually("the listener goes again") { !changes.isListening }
    }
}
