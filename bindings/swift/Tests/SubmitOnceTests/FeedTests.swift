import Foundation
import XCTest

@testable import SubmitOnce

/// The change feed: each change once, in order, whatever its loop goes through.
final class FeedTests: OutboxTestCase {
    func testEveryChangeOfASubmissionIsToldInOrder() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let order = try order()
        try await server.script(#"{"error_before":{"status":500}}"#)
        try await outbox.submit(order)
        try await outbox.start()
        try await outbox.settled(order.id)
        let changes = try await outbox.changes(after: 0).first(5).compactMap(\.change)
        XCTAssertEqual(changes.map(\.state), [.pending, .inFlight, .pending, .inFlight, .succeeded])
        XCTAssertEqual(changes.map(\.revision), [1, 2, 3, 4, 5])
        XCTAssertEqual(Set(changes.map(\.id)), [order.id])
        let cursor = try await outbox.stats().lastCursor
        XCTAssertEqual(changes.last?.cursor, cursor)
    }

    func testFourLoopsSeeEachChangeOfFiveHundredSubmissionsOnceAndInOrder() async throws {
        let outbox = try await open(ReferenceServer())
        let loops = (0..<4).map { _ in
            Task { () -> [Change] in
                var seen: [Change] = []
                for try await event in outbox.changes(after: 0) {
                    guard case .change(let change) = event else { throw Trouble("resync") }
                    seen.append(change)
                    if seen.count == 1500 { break }
                }
                return seen
            }
        }
        try await outbox.start()
        let ids = try await withThrowingTaskGroup(of: [UUID].self) { group in
            for _ in 0..<4 {
                group.addTask {
                    var ids: [UUID] = []
                    for order in try orders(125) {
                        ids.append(try await outbox.submit(order).id)
                    }
                    return ids
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        for id in ids {
            try await outbox.settled(id)
        }
        var first: [Change]?
        for loop in loops {
            let seen = try await atOnce(within: long) { try await loop.value }
            XCTAssertEqual(seen.map(\.cursor), Array(Set(seen.map(\.cursor))).sorted())
            XCTAssertEqual(Set(seen.map(\.id)), Set(ids))
            XCTAssertEqual(seen, first ?? seen)
            first = seen
        }
        // Pending, in flight and succeeded, each in its order.
        for (_, changes) in Dictionary(grouping: first ?? [], by: \.id) {
            XCTAssertEqual(changes.map(\.state), [.pending, .inFlight, .succeeded])
        }
    }

    // Whoever keeps the cursor of the last event that was used up gets the next one next.
    func testAFeedThatIsLeftAndResumedTellsEachOf1000ChangesOnceInAStorm() async throws {
        let outbox = try await open(ReferenceServer())
        let storm = (0..<4).map { _ in
            Task { () -> [UUID] in
                var ids: [UUID] = []
                for _ in 0..<10 {
                    ids += try await outbox.submitAll(orders(25)).map(\.id)
                }
                return ids
            }
        }
        var seen: [Change] = []
        var left = 0
        while seen.count < 1000 {
            for try await event in outbox.changes(after: seen.last?.cursor ?? 0) {
                seen.append(try XCTUnwrap(event.change))
                // In the midst of a page.
                if seen.count % 137 == 0 || seen.count == 1000 {
                    left += 1
                    break
                }
            }
        }
        XCTAssertEqual(left, 8)
        XCTAssertEqual(seen.map(\.cursor), Array(Set(seen.map(\.cursor))).sorted())
        var submitted: Set<UUID> = []
        for task in storm {
            submitted.formUnion(try await task.value)
        }
        XCTAssertEqual(Set(seen.map(\.id)), submitted)
        XCTAssertEqual(submitted.count, 1000)
    }

    func testASlowLoopOverTheFeedMissesNothing() async throws {
        let outbox = try await open(ReferenceServer())
        let orders = try orders(300)
        try await outbox.submit(orders[0])
        var seen: [UUID] = []
        for try await event in outbox.changes(after: 0) {
            // While it is busy with the first, all the others come.
            if seen.isEmpty {
                try await outbox.submitAll(Array(orders.dropFirst()))
            }
            seen.append(try XCTUnwrap(event.change).id)
            if seen.count == 300 { break }
        }
        XCTAssertEqual(seen, orders.map(\.id))
    }

    func testSeveralPagesThatAreThereAlreadyAreToldWithoutAnotherChange() async throws {
        let outbox = try await open(ReferenceServer())
        let ids = try await outbox.submitAll(orders(700)).map(\.id)
        let seen = try await atOnce { try await outbox.changes(after: 0).first(700) }
        XCTAssertEqual(seen.compactMap { $0.change?.id }, ids)
    }

    func testACursorFromBeforeWhatIsKeptGetsResyncAndGoesOnFromThere() async throws {
        var limits = Limits.quick
        limits.keepChanges = 10
        let outbox = try await open(ReferenceServer(), limits: limits)
        try await outbox.submit(order())
        let old = try await outbox.changes(after: 0).first(1)[0].cursor
        try await outbox.submitAll(orders(300))
        while try await outbox.retain() {}
        var iterator = outbox.changes(after: old).makeAsyncIterator()
        let resync = try await iterator.next()
        let cursor = try await outbox.stats().lastCursor
        XCTAssertEqual(resync, .resync(cursor: cursor))
        let id = try await outbox.submit(order()).id
        let next = try await iterator.next()
        XCTAssertEqual(next?.change?.id, id)
        // From the cursor of the resync nothing is missing.
        let again = try await outbox.changes(after: cursor).first(1)
        XCTAssertEqual(again.first, next)
    }

    func testACursorGoesOnAfterARestart() async throws {
        let server = try ReferenceServer()
        let first = try await open(server)
        try await first.submit(order())
        let cursor = try await first.changes(after: 0).first(1)[0].cursor
        await first.close()
        let second = try await open(server)
        let id = try await second.submit(order()).id
        let events = try await second.changes(after: cursor).first(1)
        XCTAssertEqual(events.first?.change?.id, id)
    }

    func testACursorThatIsNoneIsRefused() async throws {
        let outbox = try await open(ReferenceServer())
        let refusal = try await refused { _ = try await outbox.changes(after: -1).first(1) }
        guard case .invalid = refusal else { return XCTFail("\(refusal)") }
    }
}

extension FeedEvent {
    var change: Change? {
        guard case .change(let change) = self else { return nil }
        return change
    }
}
