import Foundation
import XCTest

@testable import SubmitOnce

/// Closing in the midst of everything, and tasks that are cancelled in the midst of a call.
final class LifecycleTests: OutboxTestCase {
    func testEveryCallAfterClosingSaysThatItIsClosed() async throws {
        let outbox = try await open(ReferenceServer())
        let order = try order()
        let id = order.id
        try await outbox.submit(order)
        let inbox = outbox.inbox
        let item = InboxItem("push", "1", policy: .atMostOnce)
        guard case .run(let run) = try await inbox.begin(item) else { throw Trouble("it isn't to do") }
        let batch = try await outbox.batch(BatchConfig("logs", to: "/logs"))
        await outbox.close()
        let calls: [(String, @Sendable () async throws -> Void)] = [
            ("begin", { _ = try await outbox.begin("form") }),
            ("discard", { try await outbox.discard("form") }),
            ("submit", { try await outbox.submit(order) }),
            ("submitAll", { try await outbox.submitAll([order]) }),
            ("snapshot", { _ = try await outbox.snapshot(of: id) }),
            ("reconcile", { _ = try await outbox.reconcile([id]) }),
            ("list", { _ = try await outbox.list() }),
            ("wait", { _ = try await outbox.wait(for: id, upTo: hours) }),
            ("drain", { _ = try await outbox.drain(for: hours) }),
            ("start", { try await outbox.start() }),
            ("suspendDelivery", { try await outbox.suspendDelivery() }),
            ("windDown", { try await outbox.windDown(within: hours) }),
            ("cancel", { _ = try await outbox.cancel(id) }),
            ("resolve", { try await outbox.resolve(id, revision: 1, as: .giveUp) }),
            ("resolveAll", { try await outbox.resolveAll(heldFor: .restored, as: .giveUp) }),
            ("releaseLane", { try await outbox.releaseLane("orders") }),
            ("wake", { try await outbox.wake(id) }),
            ("signIn", { try await outbox.signIn("ann") }),
            ("signOut", { try await outbox.signOut() }),
            ("signOut, for good", { try await outbox.signOut(.purge) }),
            ("signedIn", { _ = try await outbox.signedIn() }),
            ("supply", { try await outbox.supply(.bearer("t"), of: "ann") }),
            ("networkAvailable", { try await outbox.networkAvailable(.metered) }),
            ("stats", { _ = try await outbox.stats() }),
            ("retain", { try await outbox.retain() }),
            ("inbox.begin", { _ = try await inbox.begin(item) }),
            ("inbox.once", { try await inbox.once("push", "2") { XCTFail("it ran") } }),
            ("inbox.finish", { try await inbox.finish(run) }),
            ("inbox.finish(with:)", { try await inbox.finish(run, with: []) }),
            ("inbox.fail", { try await inbox.fail(run, .nothingHappened) }),
            ("inbox.extend", { try await inbox.extend(run, lease: .seconds(1)) }),
            ("inbox.decide", { try await inbox.decide("push", "1", as: .runAgain) }),
            ("inbox.uncertain", { _ = try await inbox.uncertain() }),
            ("inbox.query", { _ = try await inbox.query(AppStatement("SELECT 1")) }),
            ("an inbox that comes later", { _ = try await outbox.inbox.begin(item) }),
            ("batch", { _ = try await outbox.batch(BatchConfig("logs", to: "/logs")) }),
            ("batch.append", { try await batch.append(["level": "info"]) }),
            ("batch.appendAll", { try await batch.appendAll([["level": "info"]]) }),
            ("batch.flush", { try await batch.flush() }),
            ("current", { _ = try await outbox.current("config") }),
            ("updates(of: id)", { _ = try await outbox.updates(of: id).first(1) }),
            ("updates(of: filter)", { _ = try await outbox.updates(of: .all).first(1) }),
            ("changes", { _ = try await outbox.changes(after: 0).first(1) }),
            ("uploads", { _ = try await outbox.uploads().first(1) }),
        ]
        for (name, call) in calls {
            let end = try await Task(operation: call).end
            XCTAssertEqual(end.reason, .closed, name)
        }
        // What was found at the opening is still known, and closing again does nothing.
        XCTAssertTrue(outbox.openReport.created)
        await outbox.close()
    }

    // P4, P5: what was on the wire is in doubt, and converges with the same key.
    func testClosingWhileTheServerHangsIsQuickAndLosesNothing() async throws {
        let server = try ReferenceServer()
        let order = try order()
        try await server.script(#"{"hold_after":"gate"}"#)
        let outbox = try await open(server)
        try await outbox.submit(order)
        try await outbox.start()
        try await server.await(#"{"held":"gate"}"#)
        let waits = (0..<4).map { _ in Task { try await outbox.wait(for: order.id, upTo: hours) } }
        try await atOnce { await outbox.close() }
        for wait in waits {
            let end = try await wait.end
            XCTAssertEqual(end.reason, .closed)
        }
        try await server.release("gate")
        let again = try await open(server)
        try await again.start()
        let settled = try await again.settled(order.id)
        XCTAssertEqual(settled.state, .succeeded)
        let summary = try await server.summary()
        XCTAssertEqual([summary.effects, summary.maxKeysPerPath, summary.maxInFlightPerKey], [1, 1, 1])
    }

    func testClosingFromEverywhereAtOnceClosesOnce() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        try await outbox.start()
        try await outbox.submit(order())
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<16 {
                group.addTask { await outbox.close() }
            }
        }
        let refusal = try await refused { _ = try await outbox.stats() }
        XCTAssertEqual(refusal, .closed)
        _ = try await open(server).stats()
    }

    // P1: whoever got a receipt finds it; who got none submits again.
    func testClosingInAStormOfSubmissionsLosesNoReceipt() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let hundred = Signal<Void>()
        let count = Locked(0)
        let storm = (0..<8).map { _ in
            Task { () -> (stored: [UUID], end: SubmitOnceError.Reason?) in
                var stored: [UUID] = []
                while true {
                    do {
                        stored.append(try await outbox.submit(order()).id)
                    } catch let error as SubmitOnceError {
                        return (stored, error.reason)
                    }
                    let now = count.withLock { count in
                        count += 1
                        return count
                    }
                    if now == 100 { hundred.send() }
                }
            }
        }
        try await hundred.next()
        await outbox.close()
        var stored: [UUID] = []
        for task in storm {
            let end = try await task.end.get()
            XCTAssertEqual(end.end, .closed)
            stored += end.stored
        }
        let known = try await open(server).reconcile(stored)
        XCTAssertEqual(Set(known.keys), Set(stored))
        XCTAssertGreaterThanOrEqual(stored.count, 100)
    }

    func testAnOutboxMayBeClosedByWhatObservesIt() async throws {
        let outbox = try await open(ReferenceServer())
        let end = try await Task {
            for try await _ in outbox.updates(of: .all) {
                await outbox.close()
            }
        }.end
        XCTAssertEqual(end.reason, .closed)
    }

    // F29: whatever moment the cancellation hits, the same ID converges.
    func testSubmissionsThatAreCancelledAtAnyMomentConverge() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let orders = try orders(60)
        for (moment, order) in orders.enumerated() {
            let submitting = Task { try await outbox.submit(order) }
            for _ in 0..<moment {
                await Task.yield()
            }
            submitting.cancel()
            _ = try await submitting.end
        }
        let stored = try await outbox.reconcile(orders.map(\.id)).count
        var joined = 0
        for order in orders {
            joined += try await outbox.submit(order).kind == .joined ? 1 : 0
        }
        XCTAssertEqual(joined, stored)
        _ = try await outbox.drain(for: long)
        let summary = try await server.summary()
        XCTAssertEqual([summary.effects, summary.keys, summary.maxEffectsPerKey], [60, 60, 1])
    }

    // F29: a call that touches the disk is finished all the same.
    func testASubmissionOfATaskThatIsCancelledIsStored() async throws {
        let outbox = try await open(ReferenceServer())
        let order = try order()
        let submitting = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await outbox.submit(order)
        }
        let receipt = try await submitting.end.get()
        XCTAssertEqual(receipt.kind, .accepted)
        let again = try await outbox.submit(order)
        XCTAssertEqual(again.kind, .joined)
    }

    func testAnOutboxThatNobodyHoldsClosesByItself() async throws {
        let server = try ReferenceServer()
        weak var raw: RawOutbox?
        let order = try order()
        do {
            let outbox = try await Outbox.open(
                at: database, baseURL: server.url, limits: .quick, credentials: { _, _ in .bearer("any") }
            )
            raw = outbox.raw
            try await outbox.signIn("ann")
            try await outbox.submit(order)
            try await outbox.start()
            _ = try await outbox.updates(of: .all).first(1)
            try await outbox.settled(order.id)
        }
        try await eventually("it is let go") { raw == nil }
        // Refused if the first were open still.
        var other = Limits.quick
        other.maxInFlight = 1
        let again = try await open(server, limits: other)
        let snapshot = try await again.snapshot(of: order.id)
        XCTAssertEqual(snapshot.state, .succeeded)
    }

    // A loop holds its outbox, so that `for try await … in open().changes(…)` is no trap.
    func testALoopKeepsItsOutbox() async throws {
        let server = try ReferenceServer()
        let order = try order()
        let states: Updates<Snapshot>
        do {
            let outbox = try await Outbox.open(at: database, baseURL: server.url, limits: .quick)
            try await outbox.submit(order)
            try await outbox.start()
            states = outbox.updates(of: order.id)
        }
        let last = try await atOnce { try await states.all().last }
        XCTAssertEqual(last?.state, .succeeded)
    }

    // As many calls as there are threads, and more, don't hinder one another.
    func testAHundredCallsAtOnceAllEnd() async throws {
        let outbox = try await open(ReferenceServer())
        try await outbox.start()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<100 {
                group.addTask {
                    let id = try await outbox.begin("form \(number)")
                    try await outbox.submit(order(id))
                    try await outbox.settled(id)
                }
            }
            try await group.waitForAll()
        }
        let stats = try await outbox.stats()
        XCTAssertEqual(stats.accepted, 100)
    }

    #if os(Linux)
        func testFiftyOutboxesLeaveNoFileAndNoThreadBehind() async throws {
            func names(_ folder: String) -> [String] {
                (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            }
            func threads() -> Int {
                names("/proc/self/task").filter { task in
                    let name = try? String(contentsOfFile: "/proc/self/task/\(task)/comm", encoding: .utf8)
                    return name == "submit-once\n"
                }.count
            }
            let server = try ReferenceServer()
            await (try Outbox.open(at: database, baseURL: server.url, limits: .quick)).close()
            // Threads of the system's pools have the name of the thread that asked for them first.
            let before = threads()
            let files = names("/proc/self/fd").count
            for number in 0..<50 {
                let outbox = try await Outbox.open(
                    at: folder.appending(path: "\(number)"), baseURL: server.url, limits: .quick
                )
                try await outbox.submit(order())
                try await outbox.start()
                XCTAssertGreaterThan(threads(), 0)
                await outbox.close()
            }
            try await eventually("the files are closed") { names("/proc/self/fd").count <= files + 4 }
            try await eventually("the threads end") { threads() <= before + 8 }
        }
    #endif
}
