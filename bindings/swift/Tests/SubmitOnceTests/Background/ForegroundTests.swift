import Foundation
import XCTest

@testable import SubmitOnce

/// Leaving the foreground and coming back.
final class ForegroundTests: BackgroundTestCase {
    func testOnTheScreenItDelivers() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server, scheduler: nil)
        outbox.plan.enterForeground()
        let id = try await outbox.orderTea().id
        try await assertSettles(id, outbox)
    }

    func testWhatIsOnTheWireEndsBeforeTheTimeIsGivenBack() async throws {
        let server = try ReferenceServer()
        try await server.script(#"{"hold_before":"gate"}"#)
        let outbox = try await open(server, scheduler: scheduler)
        outbox.plan.enterForeground()
        let id = try await outbox.orderTea().id
        try await server.await()
        let time = FakeTime()
        outbox.plan.leaveForeground(time)
        XCTAssertEqual(time.endings, 0)
        try await server.release("gate")
        try await time.waitForEnd()
        let snapshot = try await outbox.snapshot(of: id)
        XCTAssertEqual(snapshot.state, .succeeded)
        XCTAssertEqual(scheduler.orders, [:])
        time.expire()
        // The next leaving has its own time; this one's was over.
        XCTAssertEqual(time.endings, 1)
    }

    func testExpirationSuspendsAndGivesTheTimeBackOnce() async throws {
        let server = try ReferenceServer()
        try await server.always(#"{"hold_before":"gate"}"#)
        let outbox = try await open(server, scheduler: scheduler)
        outbox.plan.enterForeground()
        let id = try await outbox.orderTea().id
        try await server.await()
        let time = FakeTime()
        outbox.plan.leaveForeground(time)
        time.expire()
        try await time.waitForEnd()
        let snapshot = try await outbox.snapshot(of: id)
        XCTAssertEqual(snapshot.state, .pending)
        XCTAssertTrue(snapshot.inDoubt)
        XCTAssertEqual(Set(scheduler.orders.keys), [.refresh, .processing])
        XCTAssertEqual(time.endings, 1)
    }

    func testTimeThatIsOverAtOnceIsGivenBack() async throws {
        let outbox = try await open(nil, scheduler: nil)
        let time = FakeTime(expiresAtOnce: true)
        outbox.plan.leaveForeground(time)
        try await time.waitForEnd()
        XCTAssertEqual(time.endings, 1)
    }

    func testTimeThatIsWantedBackBeforeItIsKnownIsGivenBack() {
        let time = FakeTime(expiresAtOnce: true)
        let stay = Stay(time)
        XCTAssertFalse(stay.begin(onExpiration: { stay.end() }))
        stay.end()
        XCTAssertEqual(time.endings, 1)
    }

    func testWithoutTimeItSuspendsAtOnce() async throws {
        let server = try ReferenceServer()
        try await server.always(#"{"hold_before":"gate"}"#)
        let outbox = try await open(server, scheduler: scheduler)
        outbox.plan.enterForeground()
        let id = try await outbox.orderTea().id
        try await server.await()
        let states = outbox.updates(of: id)
        outbox.plan.leaveForeground(FakeTime(isGranted: false))
        let snapshot = try await inTime {
            for try await snapshot in states where snapshot.state == .pending { return snapshot }
            throw Trouble("it ended")
        }
        XCTAssertTrue(snapshot.inDoubt)
    }

    func testLeavingAndComingBackQuicklyGoesOnDelivering() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server, scheduler: scheduler)
        var times: [FakeTime] = []
        for _ in 0..<20 {
            outbox.plan.enterForeground()
            let time = FakeTime()
            outbox.plan.leaveForeground(time)
            times.append(time)
        }
        outbox.plan.enterForeground()
        for time in times {
            try await time.waitForEnd()
            XCTAssertEqual(time.endings, 1)
        }
        let id = try await outbox.orderTea().id
        try await assertSettles(id, outbox)
    }

    func testTheLastMoveCountsHoweverQuicklyItCame() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server, scheduler: scheduler)
        for _ in 0..<20 {
            let time = FakeTime()
            outbox.plan.enterForeground()
            outbox.plan.leaveForeground(time)
            try await time.waitForEnd()
        }
        let look = try await outbox.drain(for: .zero)
        XCTAssertEqual(look.stopped, .suspended)
    }

    private func assertSettles(_ id: UUID, _ outbox: Outbox, line: UInt = #line) async throws {
        let waited = try await outbox.wait(for: id, upTo: .seconds(30))
        guard case .settled = waited else { return XCTFail("\(waited)", line: line) }
    }
}
