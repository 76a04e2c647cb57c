import Foundation
import XCTest

@testable import SubmitOnce

/// Waiting for an end, and ceasing to wait.
final class WaitTests: OutboxTestCase {
    func testWhatHasEndedBeforeIsToldAtOnce() async throws {
        let outbox = try await open(ReferenceServer())
        let order = try order()
        try await outbox.submit(order)
        _ = try await outbox.drain(for: long)
        let waited = try await atOnce { try await outbox.wait(for: order.id, upTo: hours) }
        let snapshot = try await outbox.snapshot(of: order.id)
        XCTAssertEqual(waited, .settled(snapshot))
    }

    func testWhatIsHeldIsToldAsHeld() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let held = try await outbox.heldOrder(server)
        let waited = try await atOnce { try await outbox.wait(for: held.id, upTo: hours) }
        XCTAssertEqual(waited, .held(held))
        XCTAssertEqual(waited.snapshot, held)
    }

    func testATimeThatIsOverChangesNothingAboutTheSubmission() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let order = try await outbox.orderOnTheWire(server)
        let waited = try await outbox.wait(for: order.id, upTo: .milliseconds(50))
        guard case .timedOut(let snapshot) = waited else { return XCTFail("\(waited)") }
        XCTAssertEqual(snapshot.state, .inFlight)
        try await server.release("gate")
        try await outbox.settled(order.id)
        let summary = try await server.summary()
        XCTAssertEqual(summary.requests, 1)
    }

    // `wait` and `drain` are often given what is left of some other time.
    func testATimeThatIsOverAlreadyIsALookWithoutWaiting() async throws {
        let outbox = try await open(ReferenceServer())
        let order = try order()
        try await outbox.submit(order)
        for time in [Duration.zero, .seconds(-1), .seconds(Int64.min)] {
            let waited = try await atOnce { try await outbox.wait(for: order.id, upTo: time) }
            guard case .timedOut = waited else { return XCTFail("\(waited)") }
            _ = try await atOnce { try await outbox.drain(for: time) }
        }
    }

    // F29: cancelling only stops the waiting, and is never taken for an end.
    func testCancellingStopsAWaitOfHoursAtOnceWhileTheServerHangs() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let order = try await outbox.orderOnTheWire(server)
        let waiter = Task { try await outbox.wait(for: order.id, upTo: hours) }
        // Whether it waits already or not, it has to end.
        _ = try await outbox.snapshot(of: order.id)
        waiter.cancel()
        let end = try await waiter.end
        XCTAssertTrue(end.isCancelled, "\(end)")
        let state = try await outbox.snapshot(of: order.id).state
        XCTAssertEqual(state, .inFlight)
        try await server.release("gate")
        try await outbox.settled(order.id)
        let summary = try await server.summary()
        XCTAssertEqual(summary.effects, 1)
        XCTAssertEqual(summary.requests, 1)
    }

    func testATaskThatIsCancelledBeforeDoesNotWaitAtAll() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let order = try await outbox.orderOnTheWire(server)
        let waiter = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await outbox.wait(for: order.id, upTo: hours)
        }
        let end = try await waiter.end
        XCTAssertTrue(end.isCancelled, "\(end)")
        try await server.release("gate")
    }

    func testClosingEndsTheWaiting() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let order = try await outbox.orderOnTheWire(server)
        let waiters = (0..<3).map { _ in Task { try await outbox.wait(for: order.id, upTo: hours) } }
        _ = try await outbox.snapshot(of: order.id)
        await outbox.close()
        for waiter in waiters {
            let end = try await waiter.end
            XCTAssertEqual(end.reason, .closed)
        }
        try await server.release("gate")
    }

    // A waiter that was left behind would keep the outbox open, and its path taken.
    func testTwoHundredWaitersLeaveNothingBehind() async throws {
        let server = try ReferenceServer()
        let database = database
        var outbox: Outbox? = try await Outbox.open(at: database, baseURL: server.url, limits: .quick)
        weak var raw = outbox?.raw
        if let outbox {
            let order = try await outbox.orderOnTheWire(server)
            let waiters = (0..<200).map { _ in Task { try await outbox.wait(for: order.id, upTo: hours) } }
            for waiter in waiters.prefix(100) {
                waiter.cancel()
            }
            for waiter in waiters.prefix(100) {
                let end = try await waiter.end
                XCTAssertTrue(end.isCancelled, "\(end)")
            }
            try await server.release("gate")
            for waiter in waiters.dropFirst(100) {
                guard case .settled = try await waiter.end.get() else { return XCTFail("it isn't settled") }
            }
        }
        outbox = nil
        try await eventually("nobody holds the outbox") { raw == nil }
        // Refused if the first were open still.
        var other = Limits.quick
        other.maxInFlight = 1
        _ = try await open(server, limits: other)
    }
}
