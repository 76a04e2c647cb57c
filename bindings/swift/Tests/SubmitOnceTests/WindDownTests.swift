import Foundation
import SubmitOnce
import XCTest

/// Leaving the foreground with requests on the wire.
final class WindDownTests: OutboxTestCase {
    func testNothingOnTheWireIsFinishedAtOnce() async throws {
        let outbox = try await open(ReferenceServer())
        try await outbox.start()
        let end = try await atOnce { try await outbox.windDown(within: hours) }
        XCTAssertEqual(end, .finished)
    }

    func testWhatIsOnTheWireComesToItsEndAndNothingMoreIsBegun() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let first = try await outbox.orderOnTheWire(server)
        let winding = Task { try await outbox.windDown(within: hours) }
        // Once a request that is due doesn't begin any more, it is winding down.
        let later = try await orderThatIsntBegun(outbox)
        try await server.release("gate")
        let end = try await winding.end.get()
        XCTAssertEqual(end, .finished)
        let snapshot = try await outbox.snapshot(of: first.id)
        XCTAssertEqual(snapshot.state, .succeeded)
        XCTAssertEqual(snapshot.attempts, 1)
        let waiting = try await outbox.snapshot(of: later.id)
        XCTAssertEqual(waiting.attempts, 0)
        try await outbox.start()
        try await outbox.settled(later.id)
        let summary = try await server.summary()
        XCTAssertEqual([summary.maxEffectsPerKey, summary.maxInFlightPerKey], [1, 1])
    }

    func testATimeThatIsOverCutsOffAndTheRequestConverges() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let order = try await outbox.orderOnTheWire(server)
        let end = try await atOnce { try await outbox.windDown(within: .milliseconds(100)) }
        XCTAssertEqual(end, .cutOff)
        let cut = try await outbox.snapshot(of: order.id)
        XCTAssertEqual(cut.state, .pending)
        XCTAssertTrue(cut.inDoubt)
        try await server.release("gate")
        try await outbox.start()
        try await outbox.settled(order.id)
        let summary = try await server.summary()
        XCTAssertEqual([summary.effects, summary.maxKeysPerPath, summary.maxInFlightPerKey], [1, 1, 1])
    }

    func testCancellingSuspendsAtOnce() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let order = try await outbox.orderOnTheWire(server)
        let winding = Task { try await outbox.windDown(within: hours) }
        _ = try await orderThatIsntBegun(outbox)
        winding.cancel()
        let end = try await winding.end.get()
        XCTAssertEqual(end, .cutOff)
        let inDoubt = try await outbox.snapshot(of: order.id).inDoubt
        XCTAssertTrue(inDoubt)
        try await server.release("gate")
    }

    // The system may end the time at any moment, before the task has got to its call as well.
    func testACancellationAtAnyMomentEndsItAtOnce() async throws {
        let server = try ReferenceServer()
        try await server.always(#"{"hold_before":"gate"}"#)
        // What was cut off doesn't come again in the meantime.
        var limits = Limits.quick
        limits.backoffFirst = hours
        limits.backoffMost = hours
        let outbox = try await open(server, limits: limits)
        for moment in 0..<60 {
            let order = try order()
            try await outbox.submit(order)
            try await outbox.start()
            for try await snapshot in outbox.updates(of: order.id) where snapshot.state == .inFlight {
                break
            }
            let winding = Task {
                if moment < 20 {
                    withUnsafeCurrentTask { $0?.cancel() }
                }
                return try await outbox.windDown(within: hours)
            }
            for _ in 0..<moment * 20 {
                await Task.yield()
            }
            winding.cancel()
            let end = try await winding.end.get()
            // One that comes before the winding down has begun suspends by itself, and finds it finished.
            XCTAssertNotEqual(end, .resumed, "\(moment)")
            let inFlight = try await outbox.stats().inFlight
            XCTAssertEqual(inFlight, 0, "\(moment)")
        }
        try await server.release("gate")
    }

    func testStartingResumes() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let first = try await outbox.orderOnTheWire(server)
        let winding = Task { try await outbox.windDown(within: hours) }
        let later = try await orderThatIsntBegun(outbox)
        try await outbox.start()
        try await outbox.settled(later.id)
        try await server.release("gate")
        let end = try await winding.end.get()
        XCTAssertEqual(end, .resumed)
        try await outbox.settled(first.id)
        // It is not suspended now.
        let last = try order()
        try await outbox.submit(last)
        try await outbox.settled(last.id)
    }

    /// Submits until one of them doesn't go at once.
    private func orderThatIsntBegun(_ outbox: Outbox) async throws -> Submission {
        for _ in 0..<100 {
            let order = try order()
            try await outbox.submit(order)
            if case .timedOut(let snapshot) = try await outbox.wait(for: order.id, upTo: .milliseconds(500)),
                snapshot.attempts == 0
            {
                return order
            }
        }
        throw Trouble("it never winds down")
    }
}
