import Foundation
import XCTest

@testable import SubmitOnce

/// Cancelling, closing, and what comes after.
final class LifecycleTests: OutboxTestCase {
    private let long = Duration.seconds(3600)

    /// F29: a wait of an hour that is cancelled ends now, and the work is safe.
    func testCancellingAWaitEndsItAtOnceAndTheWorkIsSafe() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        try await server.script(#"{"hold_before":"gate"}"#)
        let id = try await outbox.orderTea().id
        try await outbox.start()
        try await server.await(#"{"held":"gate"}"#)
        let waiting = Task { [long] in try await outbox.wait(for: id, upTo: long) }
        waiting.cancel()
        await assertCancelled { _ = try await waiting.value }
        try await server.release("gate")
        let end = try await outbox.wait(for: id, upTo: .seconds(30))
        XCTAssertEqual(end.snapshot.state, .succeeded)
        let requests = try await server.summary().requests
        XCTAssertEqual(requests, 1)
    }

    func testCancellingADrainEndsItAtOnceAndTheWorkGoesOn() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        try await server.script(#"{"hold_before":"gate"}"#)
        let id = try await outbox.orderTea().id
        let draining = Task { [long] in try await outbox.drain(for: long) }
        try await server.await(#"{"held":"gate"}"#)
        draining.cancel()
        await assertCancelled { _ = try await draining.value }
        try await server.release("gate")
        let end = try await outbox.wait(for: id, upTo: .seconds(30))
        XCTAssertEqual(end.snapshot.state, .succeeded)
    }

    func testCancellingALoopEndsIt() async throws {
        let outbox = try await open()
        let id = try await outbox.orderAbroad()
        let loops: [@Sendable () async throws -> Void] = [
            { for try await _ in outbox.updates(of: id) {} },
            { for try await _ in outbox.updates(of: .all) {} },
            { for try await _ in outbox.changes(after: 0) {} },
            { for try await _ in outbox.uploads() {} },
        ]
        for loop in loops {
            let task = Task { try await loop() }
            task.cancel()
            await assertCancelled { try await task.value }
        }
    }

    func testACallInACancelledTaskIsDoneAllTheSame() async throws {
        let outbox = try await open()
        let submitting = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await outbox.orderAbroad()
        }
        let id = try await submitting.value
        let snapshot = try await outbox.snapshot(of: id)
        XCTAssertEqual(snapshot.id, id)
    }

    func testClosingEndsWhatIsUnderWayWithClosed() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        try await server.always(#"{"hold_before":"gate"}"#)
        let id = try await outbox.orderTea().id
        try await outbox.start()
        try await server.await(#"{"held":"gate"}"#)
        let calls: [@Sendable () async throws -> Void] = [
            { [long] in _ = try await outbox.wait(for: id, upTo: long) },
            {
                [long] in
                // It may still get its report, which says that it was stopped.
                let report = try await outbox.drain(for: long)
                XCTAssertEqual(report.stopped, .suspended)
                throw SubmitOnceError.closed
            },
            { for try await _ in outbox.updates(of: id) {} },
            { for try await _ in outbox.updates(of: .all) {} },
            { for try await _ in outbox.changes(after: 0) {} },
            { for try await _ in outbox.uploads() {} },
        ]
        let tasks = calls.map { call in Task { try await call() } }
        await outbox.close()
        for (number, task) in tasks.enumerated() {
            let reason = try await refused { try await task.value }
            XCTAssertEqual(reason, .closed, "call \(number)")
        }
    }

    func testEveryCallAfterClosingSaysSo() async throws {
        let outbox = try await open()
        let id = try await outbox.orderAbroad()
        await outbox.close()
        await outbox.close()
        let submission = Submission(id, to: "http://127.0.0.1:9/orders", body: .jsonText("{}"))
        let calls: [@Sendable () async throws -> Void] = [
            { _ = try await outbox.begin("form") },
            { try await outbox.discard("form") },
            { try await outbox.submit(submission) },
            { try await outbox.submitAll([submission]) },
            { _ = try await outbox.snapshot(of: id) },
            { _ = try await outbox.reconcile([id]) },
            { _ = try await outbox.list() },
            { _ = try await outbox.wait(for: id, upTo: .zero) },
            { _ = try await outbox.drain(for: .zero) },
            { try await outbox.start() },
            { try await outbox.suspendDelivery() },
            { try await outbox.windDown(within: .seconds(1)) },
            { _ = try await outbox.cancel(id) },
            { try await outbox.resolve(id, revision: 1, as: .giveUp) },
            { try await outbox.wake(id) },
            { try await outbox.signIn("ada") },
            { try await outbox.signOut() },
            { _ = try await outbox.signedIn() },
            { try await outbox.supply(.bearer("x"), of: "ada") },
            { try await outbox.networkAvailable(.metered) },
            { _ = try await outbox.stats() },
            { try await outbox.retain() },
            { for try await _ in outbox.updates(of: id) {} },
            { for try await _ in outbox.updates(of: .all) {} },
            { for try await _ in outbox.changes(after: 0) {} },
            { for try await _ in outbox.uploads() {} },
        ]
        for (number, call) in calls.enumerated() {
            let reason = try await refused { try await call() }
            XCTAssertEqual(reason, .closed, "call \(number)")
        }
    }

    func testAnOutboxThatNobodyHoldsClosesByItself() async throws {
        do {
            let outbox = try await Outbox.open(at: database, credentials: { _, _ in nil })
            _ = try await outbox.orderAbroad()
        }
        // With another configuration: possible only if the first is closed.
        let other = try await Outbox.open(at: database, userAgent: "another")
        let stats = try await other.stats()
        XCTAssertEqual(stats.pending, 1)
        await other.close()
    }

    func testTheSamePathWithAnotherConfigurationIsRefused() async throws {
        let first = try await open()
        let same = try await open()
        XCTAssertTrue(same.openReport.shared)
        let reason = try await refused { [database] in _ = try await Outbox.open(at: database, userAgent: "other") }
        XCTAssertEqual(reason, .cannotOpen(.alreadyOpen))
        // One of two handles closes, and the other goes on.
        await same.close()
        _ = try await first.orderAbroad()
    }

    func testWindingDownLetsWhatIsOnTheWireComeToItsEnd() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        try await server.script(#"{"hold_before":"gate"}"#)
        let id = try await outbox.orderTea().id
        try await outbox.start()
        try await server.await(#"{"held":"gate"}"#)
        let windingDown = Task { [long] in try await outbox.windDown(within: long) }
        try await server.release("gate")
        let end = try await windingDown.value
        XCTAssertEqual(end, .finished)
        let snapshot = try await outbox.snapshot(of: id)
        XCTAssertEqual(snapshot.state, .succeeded)
    }

    func testCancellingTheWindingDownSuspendsAtOnce() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        try await server.script(#"{"hold_before":"gate"}"#)
        let id = try await outbox.orderTea().id
        try await outbox.start()
        try await server.await(#"{"held":"gate"}"#)
        let windingDown = Task { [long] in try await outbox.windDown(within: long) }
        windingDown.cancel()
        _ = try await windingDown.value
        let end = try await outbox.windDown(within: .zero)
        XCTAssertNotEqual(end, .resumed)
        let snapshot = try await outbox.snapshot(of: id)
        XCTAssertEqual(snapshot.state, .pending)
        XCTAssertTrue(snapshot.inDoubt)
    }

    private func assertCancelled(_ call: () async throws -> Void, line: UInt = #line) async {
        do {
            try await call()
            XCTFail("it came to its own end", line: line)
        } catch is CancellationError {
            // At once, and not when its time was over.
        } catch {
            XCTFail("\(error)", line: line)
        }
    }
}
