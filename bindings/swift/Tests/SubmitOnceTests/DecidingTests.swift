import Foundation
import XCTest

@testable import SubmitOnce

/// What an app or its user decides: to cancel, to resolve, to try again now.
final class DecidingTests: OutboxTestCase {
    func testCancellingSaysHonestlyWhatItWasWorth() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let never = try order()
        try await outbox.submit(never)
        let cancelled = try await outbox.cancel(never.id)
        XCTAssertEqual(cancelled, .cancelled)
        guard case .alreadyFinal(let snapshot) = try await outbox.cancel(never.id) else {
            return XCTFail("it was not final")
        }
        XCTAssertEqual(snapshot.state, .cancelled)
        let onItsWay = try await outbox.orderOnTheWire(server)
        guard case .mayHaveHappened(let doubtful) = try await outbox.cancel(onItsWay.id) else {
            return XCTFail("it was called certain")
        }
        XCTAssertEqual(doubtful.id, onItsWay.id)
        try await server.release("gate")
        try await outbox.settled(onItsWay.id)
        let summary = try await server.summary()
        XCTAssertEqual(summary.effects, 1)
        XCTAssertEqual(summary.requests, 1)
    }

    // P5 sticky doubt.
    func testWhatIsHeldIsDecidedByItsRevision() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let held = try await outbox.heldOrder(server)
        XCTAssertEqual(held.state, .held(.outcomeUnknown))
        XCTAssertTrue(held.inDoubt)
        let stale = try await refused {
            try await outbox.resolve(held.id, revision: held.revision - 1, as: .giveUp)
        }
        XCTAssertEqual(stale, .stale(current: held))
        let result = #"{"effect":7}"#
        let done = try await outbox.resolve(held.id, revision: held.revision, as: .itHappened(result: result))
        XCTAssertEqual(done.state, .succeeded)
        let text = try await outbox.snapshot(of: held.id).outcome?.text
        XCTAssertEqual(text, result)
    }

    func testGivingUpClaimsNothing() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let held = try await outbox.heldOrder(server)
        let abandoned = try await outbox.resolve(held.id, revision: held.revision, as: .giveUp)
        XCTAssertEqual(abandoned.state, .abandoned)
        let summary = try await server.summary()
        XCTAssertEqual(summary.requests, 1)
    }

    // P6 no new key, P13 key lifetime: it is zero where the server knows no keys.
    func testARetryThatMayHappenTwiceNeedsConsent() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let held = try await outbox.heldOrder(server)
        let refusal = try await refused {
            try await outbox.resolve(held.id, revision: held.revision, as: .retrySameKey())
        }
        XCTAssertEqual(refusal, .needsConsent(current: held))
        let again = try await outbox.resolve(
            held.id, revision: held.revision, as: .retrySameKey(acceptSecondEffect: true)
        )
        XCTAssertEqual(again.state, .pending)
        try await outbox.start()
        let settled = try await outbox.settled(held.id)
        XCTAssertEqual(settled.state, .succeeded)
        let summary = try await server.summary()
        XCTAssertEqual(summary.requests, 2)
        XCTAssertEqual(summary.maxKeysPerPath, 1)
    }

    func testAllThatIsHeldForAReasonIsDecidedAtOnce() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let first = try await outbox.heldOrder(server)
        let second = try await outbox.heldOrder(server)
        let stats = try await outbox.stats()
        XCTAssertEqual(stats.heldByReason, [.outcomeUnknown: 2])
        let list = try await outbox.list(ListFilter(reason: .outcomeUnknown))
        XCTAssertEqual(list.snapshots.map(\.id), [first.id, second.id])
        let others = try await outbox.resolveAll(heldFor: .restored, as: .giveUp)
        XCTAssertEqual(others, ResolvedAll(resolved: 0, refused: 0))
        let withoutConsent = try await outbox.resolveAll(heldFor: .outcomeUnknown, as: .retrySameKey())
        XCTAssertEqual(withoutConsent, ResolvedAll(resolved: 0, refused: 2))
        let done = try await outbox.resolveAll(heldFor: .outcomeUnknown, as: .giveUp)
        XCTAssertEqual(done, ResolvedAll(resolved: 2, refused: 0))
        let settled = try await outbox.list(.settled)
        XCTAssertEqual(settled.snapshots.map(\.state), [.abandoned, .abandoned])
    }

    func testWakingEndsABackoffEarly() async throws {
        let server = try ReferenceServer()
        var limits = Limits.quick
        limits.backoffFirst = .seconds(3600)
        limits.backoffMost = .seconds(3600)
        let outbox = try await open(server, limits: limits)
        let order = try order()
        try await server.script(#"{"error_before":{"status":500}}"#)
        try await outbox.submit(order)
        _ = try await outbox.drain(for: long)
        let failed = try await outbox.snapshot(of: order.id)
        XCTAssertEqual(failed.attempts, 1)
        guard case .due(let at) = failed.waitingFor else { return XCTFail("\(failed)") }
        XCTAssertGreaterThan(at.timeIntervalSinceNow, 60)
        XCTAssertNotNil(failed.lastProblem)
        try await outbox.start()
        try await outbox.wake(order.id)
        let settled = try await outbox.settled(order.id)
        XCTAssertEqual(settled.state, .succeeded)
    }

    func testASuspendedOutboxIsQuietUntilSomebodyWantsItAgain() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        try await outbox.start()
        try await outbox.suspendDelivery()
        let order = try order()
        try await outbox.submit(order)
        let waited = try await outbox.wait(for: order.id, upTo: .milliseconds(300))
        guard case .timedOut = waited else { return XCTFail("\(waited)") }
        let quiet = try await server.summary()
        XCTAssertEqual(quiet.requests, 0)
        try await outbox.start()
        try await outbox.settled(order.id)
    }

    func testWhatMayOnlyGoOverAnUnmeteredNetworkWaitsForOne() async throws {
        let outbox = try await open(ReferenceServer())
        try await outbox.networkAvailable(.metered)
        var photo = try order()
        photo.unmeteredOnly = true
        try await outbox.submit(photo)
        let waiting = try await outbox.drain(for: long)
        XCTAssertTrue(waiting.awaitsUnmetered)
        let waitingFor = try await outbox.snapshot(of: photo.id).waitingFor
        XCTAssertEqual(waitingFor, .unmetered)
        try await outbox.networkAvailable(.unmetered)
        let report = try await outbox.drain(for: long)
        XCTAssertEqual(report.succeeded, 1)
    }

    func testWhatIsntHeldCantBeDecided() async throws {
        let outbox = try await open(ReferenceServer())
        let receipt = try await outbox.submit(order())
        let refusal = try await refused {
            try await outbox.resolve(receipt.id, revision: receipt.snapshot.revision, as: .giveUp)
        }
        XCTAssertEqual(refusal, .notHeld(current: receipt.snapshot))
    }
}
