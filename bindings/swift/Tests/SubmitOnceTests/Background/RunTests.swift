import Foundation
import XCTest

@testable import SubmitOnce

/// Background runs: what they deliver, how they end, and that they report once.
final class RunTests: BackgroundTestCase {
    func testARunDeliversReportsAndLeavesNoOrder() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server, scheduler: scheduler)
        _ = try await outbox.orderTea()
        let run = launch(.refresh) { outbox }
        let success = try await reports.first()
        XCTAssertEqual(success, true)
        XCTAssertEqual(scheduler.orders, [:])
        run.expire()
        let effects = try await server.summary().effects
        XCTAssertEqual(effects, 1)
        XCTAssertEqual(reports.count, 1)
        XCTAssertTrue(complaints.errors.isEmpty)
    }

    func testWhatTheServerPutsOffIsOrderedForThen() async throws {
        let server = try ReferenceServer()
        try await server.always(#"{"error_before":{"status":503,"headers":[["Retry-After","60"]]}}"#)
        let outbox = try await open(server, scheduler: scheduler)
        _ = try await outbox.orderTea()
        _ = launch(.processing) { outbox }
        let success = try await reports.first()
        XCTAssertEqual(success, true)
        for kind in RunKind.allCases {
            let wait = try XCTUnwrap(scheduler.orders[kind]?.earliest).timeIntervalSinceNow
            XCTAssertGreaterThan(wait, 50)
            XCTAssertLessThan(wait, 100)
        }
    }

    func testExpirationDuringTheDrainSuspendsAndReportsOnce() async throws {
        let server = try ReferenceServer()
        try await server.always(#"{"hold_before":"gate"}"#)
        let outbox = try await open(server, scheduler: scheduler)
        let id = try await outbox.orderTea().id
        let run = launch(.refresh) { outbox }
        try await server.await()
        run.expire()
        run.expire()
        let success = try await reports.first()
        XCTAssertEqual(success, false)
        let snapshot = try await outbox.snapshot(of: id)
        XCTAssertTrue(snapshot.inDoubt)
        let running = try await outbox.stats().inFlight
        XCTAssertEqual(running, 0)
        XCTAssertNotNil(scheduler.orders[.refresh])
        XCTAssertEqual(reports.count, 1)
        XCTAssertTrue(complaints.errors.isEmpty)
    }

    func testExpirationWhileTheAppIsOnTheScreenSuspendsNothing() async throws {
        let server = try ReferenceServer()
        try await server.script(#"{"hold_before":"gate"}"#)
        let outbox = try await open(server, scheduler: scheduler)
        let id = try await outbox.orderTea().id
        let run = launch(.refresh) { outbox }
        try await server.await()
        outbox.plan.enterForeground()
        run.expire()
        _ = try await reports.first()
        try await server.release("gate")
        let waited = try await outbox.wait(for: id, upTo: .seconds(30))
        guard case .settled(let snapshot) = waited else { return XCTFail("\(waited)") }
        XCTAssertEqual(snapshot.attempts, 1)
    }

    func testExpirationBeforeTheOutboxIsOpenReportsAllTheSame() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server, scheduler: scheduler)
        _ = try await outbox.orderTea()
        let gate = Gate()
        let run = launch(.refresh) {
            await gate.pass()
            return outbox
        }
        run.expire()
        let success = try await reports.first()
        XCTAssertEqual(success, false)
        assertOnlyTroubleIsOrdered(.refresh)
        gate.open()
        await run.end()
        let requests = try await server.summary().requests
        XCTAssertEqual(requests, 0)
        XCTAssertEqual(reports.count, 1)
    }

    func testAnOutboxThatCannotBeOpenedIsTriedAgain() async throws {
        let locked = SubmitOnceError(.storage(.unavailable), "before the first unlock")
        _ = launch(.processing) { throw locked }
        let success = try await reports.first()
        XCTAssertEqual(success, false)
        XCTAssertEqual(complaints.errors.map { $0 as? SubmitOnceError }, [locked])
        assertOnlyTroubleIsOrdered(.processing)
    }

    func testASchedulerThatRefusesIsToldOfAndTheRunDelivers() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server, scheduler: scheduler)
        _ = try await outbox.orderTea()
        scheduler.refuse(true)
        _ = launch(.refresh) { outbox }
        let success = try await reports.first()
        XCTAssertEqual(success, true)
        let effects = try await server.summary().effects
        XCTAssertEqual(effects, 1)
        XCTAssertTrue(complaints.errors.first is FakeScheduler.Refused)
    }

    func testWhoNeedsASharedOutboxOpensItOnceAndAgainAfterAFailure() async throws {
        let outbox = try await open(nil, scheduler: scheduler)
        let openings = Locked(0)
        let shared = SharedOutbox {
            let opening = openings.withLock { count in
                count += 1
                return count
            }
            guard opening > 1 else { throw SubmitOnceError(.storage(.busy), "busy") }
            return outbox
        }
        let reason = try await refused { _ = try await shared.get() }
        XCTAssertEqual(reason, .storage(.busy))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask { _ = try? await shared.get() }
            }
        }
        XCTAssertEqual(openings.withLock { $0 }, 2)
    }
}
