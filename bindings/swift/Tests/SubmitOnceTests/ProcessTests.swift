import Foundation
import XCTest

@testable import SubmitOnce

/// Real processes: what they leave when they are killed, and what they see of one another.
final class ProcessTests: OutboxTestCase {
    // P3, P4, P5: killed with the request at the server and its effect made.
    func testAProcessThatIsKilledWithItsRequestOnTheWireConverges() async throws {
        let server = try ReferenceServer()
        try await server.script(#"{"hold_after":"gate"}"#)
        let child = try Child("order", database.path, server.url.absoluteString)
        try await server.await(#"{"held":"gate"}"#)
        child.kill()
        // Its end is the end of what it says.
        _ = try child.rest()
        try await server.release("gate")
        let outbox = try await open(server)
        let receipt = try await outbox.orderTea()
        XCTAssertEqual(receipt.kind, .joined)
        try await outbox.start()
        let settled = try await outbox.settled(receipt.id)
        XCTAssertEqual(settled.state, .succeeded)
        XCTAssertEqual(settled.attempts, 2)
        let summary = try await server.summary()
        XCTAssertEqual([summary.requests, summary.effects], [2, 1])
        XCTAssertEqual([summary.maxKeysPerPath, summary.maxInFlightPerKey], [1, 1])
    }

    // P3: two processes, one database.
    func testWhatAnotherProcessDoesIsSeenByWhoObservesAndWhoWaits() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let order = try order()
        try await outbox.submit(order)
        let states = Task { try await outbox.updates(of: order.id).all() }
        let waited = Task { try await outbox.settled(order.id) }
        let child = try Child("drain", database.path, server.url.absoluteString)
        let said = try child.line()
        XCTAssertEqual(said, "succeeded: 1")
        let (seen, settled) = (try await states.end.get(), try await waited.end.get())
        XCTAssertEqual(seen.last, settled)
        let summary = try await server.summary()
        XCTAssertEqual(summary.requests, 1)
    }

    // F103: between calls no lock on the database is held, as another process sees it.
    func testAfterEachCallAnotherProcessGetsTheExclusiveLockAtOnce() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let other = try Child("locks", database.path)
        let (order, next) = (try order(), try SubmitOnceTests.order())
        let id = order.id
        let held = try await outbox.heldOrder(server)
        let inbox = outbox.inbox
        let item = InboxItem("push", "1", policy: .atMostOnce)
        let second = InboxItem("push", "2", policy: .atMostOnce)
        guard case .run(let run) = try await inbox.begin(item), case .run(let failed) = try await inbox.begin(second)
        else { throw Trouble("they aren't to do") }
        let batch = try await outbox.batch(BatchConfig("logs", to: "/logs"))
        let calls: [(String, () async throws -> Void)] = [
            ("begin", { _ = try await outbox.begin("form") }),
            ("discard", { try await outbox.discard("form") }),
            ("submit", { try await outbox.submit(order) }),
            ("join", { try await outbox.submit(order) }),
            ("submitAll", { try await outbox.submitAll([order, next]) }),
            ("snapshot", { _ = try await outbox.snapshot(of: id) }),
            ("an unknown ID", { _ = try await refused { _ = try await outbox.snapshot(of: UUID()) } }),
            ("reconcile", { _ = try await outbox.reconcile([id]) }),
            ("list", { _ = try await outbox.list(limit: 1) }),
            ("cancel", { _ = try await outbox.cancel(next.id) }),
            ("wake", { try await outbox.wake(id) }),
            ("resolve", { try await outbox.resolve(held.id, revision: held.revision, as: .giveUp) }),
            ("resolveAll", { try await outbox.resolveAll(heldFor: .outcomeUnknown, as: .giveUp) }),
            ("releaseLane", { try await outbox.releaseLane("orders") }),
            ("signIn", { try await outbox.signIn("ann") }),
            ("supply", { try await outbox.supply(.bearer("t"), of: "ann") }),
            ("signedIn", { _ = try await outbox.signedIn() }),
            ("signOut", { try await outbox.signOut() }),
            ("networkAvailable", { try await outbox.networkAvailable(.unmetered) }),
            ("inbox.begin", { _ = try await inbox.begin(item) }),
            ("inbox.extend", { try await inbox.extend(run, lease: long) }),
            ("inbox.finish", { try await inbox.finish(run) }),
            ("inbox.fail", { try await inbox.fail(failed, .mayHaveHappened) }),
            ("inbox.uncertain", { _ = try await inbox.uncertain() }),
            ("inbox.decide", { try await inbox.decide("push", "2", as: .runAgain) }),
            ("inbox.query", { _ = try await inbox.query(AppStatement("SELECT 1")) }),
            ("inbox.once", { try await inbox.once("push", "3") {} }),
            ("batch.append", { try await batch.append(["level": "info"]) }),
            ("batch.appendAll", { try await batch.appendAll([["level": "info"]]) }),
            ("batch.flush", { try await batch.flush() }),
            ("current", { _ = try await outbox.current("config") }),
            ("drain", { _ = try await outbox.drain(for: long) }),
            ("wait", { _ = try await outbox.wait(for: id, upTo: long) }),
            ("replay", { try await outbox.submit(order) }),
            ("stats", { _ = try await outbox.stats() }),
            ("retain", { try await outbox.retain() }),
        ]
        for (name, call) in calls {
            try await call()
            XCTAssertEqual(try other.ask("try"), "free", "after \(name)")
        }
        // While it delivers in the foreground it uses the database; after suspending no more.
        for stop in [outbox.suspendDelivery, { _ = try await outbox.windDown(within: .milliseconds(10)) }] {
            let onTheWire = try await outbox.orderOnTheWire(server)
            try await stop()
            XCTAssertEqual(try other.ask("try"), "free")
            _ = try await outbox.cancel(onTheWire.id)
            try await server.release("gate")
        }
    }

    // The probe itself: it tells what another process holds.
    func testALockThatIsHeldIsSeenAndOthersAreBusyUntilItIsFree() async throws {
        var limits = Limits.quick
        limits.busyTimeout = .milliseconds(100)
        let outbox = try await open(ReferenceServer(), limits: limits)
        try await outbox.submit(order())
        let (one, other) = (try Child("locks", database.path), try Child("locks", database.path))
        XCTAssertEqual(try one.ask("read"), "held")
        XCTAssertEqual(try other.ask("try"), "a reader")
        XCTAssertEqual(try one.ask("hold"), "held")
        XCTAssertEqual(try other.ask("try"), "the log's writer, a reader")
        let order = try order()
        let refusal = try await refused { try await outbox.submit(order) }
        XCTAssertEqual(refusal, .storage(.busy))
        // Readers don't mind.
        let list = try await outbox.list()
        XCTAssertEqual(list.snapshots.count, 1)
        XCTAssertEqual(try one.ask("release"), "released")
        XCTAssertEqual(try other.ask("try"), "free")
        let receipt = try await outbox.submit(order)
        XCTAssertEqual(receipt.kind, .accepted)
    }
}
