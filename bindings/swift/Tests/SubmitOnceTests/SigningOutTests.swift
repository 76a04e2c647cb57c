import Foundation
import XCTest

@testable import SubmitOnce

/// What becomes of an account's submissions when it signs out.
final class SigningOutTests: OutboxTestCase {
    private func order(_ account: String?) throws -> Submission { try SubmitOnceTests.order(account: account) }

    func testWhatIsKeptWaitsForItsAccount() async throws {
        let outbox = try await open(ReferenceServer(), credentials: { _, _ in .bearer("any") })
        try await outbox.signIn("ann")
        let order = try order("ann")
        try await outbox.submit(order)
        let report = try await outbox.signOut()
        XCTAssertEqual(report, SignedOutReport(account: "ann", kept: 1, cancelled: 0, abandoned: 0, succeeded: 0))
        let waiting = try await outbox.snapshot(of: order.id)
        XCTAssertEqual(waiting.waitingFor, .signedOut)
        let again = try await outbox.signOut(.purge)
        XCTAssertEqual(again, SignedOutReport(account: nil, kept: 0, cancelled: 0, abandoned: 0, succeeded: 0))
        try await outbox.signIn("ann")
        try await outbox.start()
        try await outbox.settled(order.id)
    }

    // P10: nothing of the account goes out any more, and nothing of it is left to be read.
    func testSigningOutForGoodEndsAndDeletesWhatTheAccountHas() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server, credentials: { _, _ in .bearer("any") })
        try await outbox.signIn("ann")
        let (done, inDoubt, never, nobodys) = (
            try order("ann"), try order("ann"), try order("ann"), try order(nil)
        )
        try await outbox.submit(done)
        _ = try await outbox.drain(for: long)
        try await server.script(#"{"hold_after":"gate"}"#, path: inDoubt.url)
        try await outbox.submit(inDoubt)
        try await outbox.start()
        try await server.await(#"{"held":"gate"}"#)
        try await outbox.suspendDelivery()
        try await server.release("gate")
        try await outbox.submitAll([never, nobodys])
        let report = try await outbox.signOut(.purge)
        XCTAssertEqual(report, SignedOutReport(account: "ann", kept: 0, cancelled: 1, abandoned: 1, succeeded: 0))
        let ids = [done, inDoubt, never].map(\.id)
        let left = try await outbox.reconcile(ids)
        XCTAssertEqual(ids.map { left[$0]?.state }, [.succeeded, .abandoned, .cancelled])
        XCTAssertEqual(ids.map { left[$0]?.url }, ["", "", ""])
        let list = try await outbox.list()
        XCTAssertEqual(list.snapshots.map(\.id), [nobodys.id])
        let late = try await outbox.submit(inDoubt)
        XCTAssertEqual(late.kind, .replayed)
        _ = try await outbox.drain(for: long)
        let summary = try await server.summary()
        XCTAssertEqual(summary.requests, 3)
        try await outbox.signIn("ann")
        let other = try order("ann")
        try await outbox.submit(other)
        _ = try await outbox.drain(for: long)
        try await outbox.settled(other.id)
    }
}
