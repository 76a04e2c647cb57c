import Foundation
import SubmitOnce
import XCTest

/// Delivering what is due: what a drain reports, and what becomes of one that nobody waits for.
final class DrainTests: OutboxTestCase {
    private let oneAtATime: Limits = {
        var limits = Limits.quick
        limits.maxInFlight = 1
        return limits
    }()

    func testAnEmptyOutboxIsDrainedAtOnce() async throws {
        let outbox = try await open(ReferenceServer())
        let report = try await atOnce { try await outbox.drain(for: hours) }
        XCTAssertEqual(report.stopped, .nothingDue)
        XCTAssertEqual(report.attempts, 0)
        XCTAssertNil(report.nextWakeAt)
        XCTAssertFalse(report.awaitsUnmetered)
    }

    func testAReportCountsWhatEndedAndHow() async throws {
        let server = try ReferenceServer()
        var limits = Limits.quick
        limits.backoffFirst = long
        limits.backoffMost = long
        let outbox = try await open(server, limits: limits)
        let orders = try orders(3)
        try await server.script(#"{"error_before":{"status":403}}"#, path: orders[1].url)
        try await server.script(#"{"error_before":{"status":500}}"#, path: orders[2].url)
        try await outbox.submitAll(orders)
        let report = try await outbox.drain(for: long)
        let counts = [report.attempts, report.succeeded, report.endedOtherwise, report.toRepeat]
        XCTAssertEqual(counts, [3, 1, 1, 1])
        XCTAssertEqual([report.held, report.inFlight], [0, 0])
        XCTAssertEqual(report.stopped, .nothingDue)
        XCTAssertGreaterThan(try XCTUnwrap(report.nextWakeAt), Date())
        let refused = try await outbox.snapshot(of: orders[1].id)
        XCTAssertEqual(refused.state, .rejected(.refused))
    }

    func testATimeThatIsOverLeavesWhatIsOnTheWireThere() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let order = try order()
        try await server.script(#"{"hold_before":"gate"}"#)
        try await outbox.submit(order)
        let report = try await outbox.drain(for: .milliseconds(300))
        XCTAssertEqual(report.stopped, .budgetEnded)
        XCTAssertEqual(report.inFlight, 1)
        try await server.release("gate")
        try await outbox.settled(order.id)
    }

    // F29.
    func testCancellingStopsADrainOfHoursAtOnceAndTheWorkGoesOn() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server, limits: oneAtATime)
        let orders = try orders(3)
        try await server.script(#"{"hold_before":"gate"}"#, path: "/orders")
        try await outbox.submitAll(orders)
        let drain = Task { try await outbox.drain(for: hours) }
        try await server.await(#"{"held":"gate"}"#)
        drain.cancel()
        let end = try await drain.end
        XCTAssertTrue(end.isCancelled, "\(end)")
        try await server.release("gate")
        for order in orders {
            try await outbox.settled(order.id)
        }
        let summary = try await server.summary()
        XCTAssertEqual([summary.requests, summary.effects, summary.maxEffectsPerKey], [3, 3, 1])
    }

    // F29: cancelled with the request on the wire, it is counted once and comes to its own end.
    func testADrainThatIsStoppedBeginsNothingMoreAndFinishesWhatIsOnTheWire() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server, limits: oneAtATime)
        let orders = try orders(2)
        try await server.script(#"{"hold_before":"gate"}"#, path: "/orders")
        try await outbox.submitAll(orders)
        let drain = Task { try await outbox.drain(for: hours, stopsWhenCancelled: true) }
        try await server.await(#"{"held":"gate"}"#)
        drain.cancel()
        let end = try await drain.end
        XCTAssertTrue(end.isCancelled, "\(end)")
        try await server.release("gate")
        let first = try await outbox.settled(orders[0].id)
        XCTAssertEqual(first.state, .succeeded)
        XCTAssertEqual(first.attempts, 1)
        let waited = try await outbox.wait(for: orders[1].id, upTo: .milliseconds(300))
        guard case .timedOut(let left) = waited else { return XCTFail("\(waited)") }
        XCTAssertEqual(left.attempts, 0)
        let before = try await server.summary()
        XCTAssertEqual(before.requests, 1)
        let report = try await outbox.drain(for: long)
        XCTAssertEqual(report.succeeded, 1)
    }

    // Somebody else still wants it.
    func testStoppingOneOfTwoDrainsDoesNotStopTheOther() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server, limits: oneAtATime)
        try await server.script(#"{"hold_before":"gate"}"#, path: "/orders")
        try await outbox.submitAll(orders(3))
        let other = Task { try await outbox.drain(for: hours) }
        try await server.await(#"{"held":"gate"}"#)
        let stopped = Task { try await outbox.drain(for: hours, stopsWhenCancelled: true) }
        stopped.cancel()
        _ = try await stopped.end
        try await server.release("gate")
        let report = try await other.end.get()
        XCTAssertEqual(report.succeeded, 3)
    }

    // P4 single flight.
    func testDrainsAtOnceJoinAndNothingIsSentTwice() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        try await outbox.submitAll(orders(30))
        let drains = (0..<8).map { _ in Task { try await outbox.drain(for: long) } }
        for drain in drains {
            let report = try await drain.value
            XCTAssertEqual(report.stopped, .nothingDue)
            XCTAssertLessThanOrEqual(report.succeeded, 30)
        }
        let summary = try await server.summary()
        XCTAssertEqual([summary.requests, summary.effects, summary.maxInFlightPerKey], [30, 30, 1])
    }

    func testSuspendingEndsADrainAndSaysSo() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        try await server.script(#"{"hold_before":"gate"}"#)
        let order = try order()
        try await outbox.submit(order)
        let drain = Task { try await outbox.drain(for: hours) }
        try await server.await(#"{"held":"gate"}"#)
        try await atOnce { try await outbox.suspendDelivery() }
        let report = try await drain.end.get()
        XCTAssertEqual(report.stopped, .suspended)
        let inDoubt = try await outbox.snapshot(of: order.id).inDoubt
        XCTAssertTrue(inDoubt)
        try await server.release("gate")
    }

    func testClosingEndsADrain() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        try await server.script(#"{"hold_before":"gate"}"#)
        try await outbox.submit(order())
        let drain = Task { try await outbox.drain(for: hours) }
        try await server.await(#"{"held":"gate"}"#)
        await outbox.close()
        // It may have heard of the suspension before it heard of the end.
        switch try await drain.end {
        case .success(let report): XCTAssertEqual(report.stopped, .suspended)
        case .failure(let error): XCTAssertEqual((error as? SubmitOnceError)?.reason, .closed)
        }
    }

    func testNobodysCredentialsAreNeededForWhatHasNoAccount() async throws {
        let outbox = try await open(ReferenceServer())
        try await outbox.submit(order())
        try await outbox.submit(order(account: "ann"))
        let signedOut = try await outbox.drain(for: long)
        XCTAssertEqual(signedOut.succeeded, 1)
        XCTAssertEqual(signedOut.stopped, .nothingDue)
        try await outbox.signIn("ann")
        let report = try await outbox.drain(for: long)
        XCTAssertEqual(report.stopped, .credentialsNeeded)
        XCTAssertNil(report.nextWakeAt)
    }
}
