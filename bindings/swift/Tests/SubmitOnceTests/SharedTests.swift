import Foundation
import XCTest

@testable import SubmitOnce

/// Two outboxes of one path in a process: an app's, and a library's of its own perhaps.
final class SharedTests: OutboxTestCase {
    func testAnotherConfigurationForTheSamePathIsRefusedAndHarmsNothing() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        var other = Limits.quick
        other.maxInFlight = 1
        let database = database
        let limits = other
        let refusal = try await refused { _ = try await Outbox.open(at: database, baseURL: server.url, limits: limits) }
        XCTAssertEqual(refusal, .cannotOpen(.alreadyOpen))
        let another = try await refused { _ = try await Outbox.open(at: database, limits: .quick) }
        XCTAssertEqual(another, .cannotOpen(.alreadyOpen))
        try await outbox.submit(order())
        let report = try await outbox.drain(for: long)
        XCTAssertEqual(report.succeeded, 1)
        await outbox.close()
        let again = try await open(server, limits: other)
        XCTAssertFalse(again.openReport.created || again.openReport.shared)
    }

    // P3 convergence.
    func testBothSeeWhatEitherDoes() async throws {
        let server = try ReferenceServer()
        let (one, other) = (try await open(server), try await open(server))
        XCTAssertTrue(other.openReport.shared)
        let order = try order()
        try await one.submit(order)
        let states = Task { try await other.updates(of: order.id).all() }
        let waited = Task { try await other.settled(order.id) }
        _ = try await one.drain(for: long)
        let last = try await states.end.get().last
        XCTAssertEqual(last?.state, .succeeded)
        _ = try await waited.end.get()
        let replayed = try await other.submit(order)
        XCTAssertEqual(replayed.kind, .replayed)
    }

    func testClosingOneLeavesTheOtherWorking() async throws {
        let server = try ReferenceServer()
        let (one, other) = (try await open(server), try await open(server))
        let order = try await one.orderOnTheWire(server)
        let begun = Signal<Void>()
        let ofOne = Task { for try await _ in one.updates(of: order.id) { begun.send() } }
        let waitsOnOne = Task { try await one.wait(for: order.id, upTo: hours) }
        let ofOther = Task { try await other.updates(of: order.id).all() }
        try await begun.next()
        await one.close()
        let (loop, wait) = (try await ofOne.end, try await waitsOnOne.end)
        XCTAssertEqual(loop.reason, .closed)
        XCTAssertEqual(wait.reason, .closed)
        try await server.release("gate")
        let last = try await ofOther.end.get().last
        XCTAssertEqual(last?.state, .succeeded)
        try await other.submit(SubmitOnceTests.order())
        _ = try await other.drain(for: long)
        let summary = try await server.summary()
        XCTAssertEqual(summary.requests, 2)
    }

    func testWhatOneListensToIsItsOwn() async throws {
        let server = try ReferenceServer()
        let outboxes = [try await open(server), try await open(server)]
        let photo = try photo()
        let told = outboxes.map { outbox in
            Task { for try await progress in outbox.uploads() where progress.sent == progress.total { break } }
        }
        try await eventually("both listen") { outboxes.allSatisfy(\.observing.progress.isListening) }
        try await outboxes[0].submit(photo)
        try await outboxes[0].start()
        for task in told {
            try await task.end.get()
        }
    }

    // Of two providers the last is asked; when its outbox closes, the one before.
    func testClosingOneLeavesTheOthersProviderToBeAsked() async throws {
        let server = try ReferenceServer()
        let asked = Locked<[String]>([])
        func provider(_ name: String) -> CredentialsProvider {
            { _, _ in
                asked.withLock { $0.append(name) }
                return .bearer(name)
            }
        }
        let one = try await open(server, credentials: provider("one"))
        let other = try await open(server, credentials: provider("other"))
        try await one.signIn("ann")
        try await one.submit(order(account: "ann"))
        await other.close()
        let report = try await one.drain(for: long)
        XCTAssertEqual(report.succeeded, 1)
        XCTAssertEqual(asked.withLock { $0 }, ["one"])
    }

    func testAPathCanBeOpenedAndClosedAHundredTimes() async throws {
        let server = try ReferenceServer()
        let order = try order()
        for _ in 0..<100 {
            let outbox = try await Outbox.open(at: database, baseURL: server.url, limits: .quick)
            try await outbox.submit(order)
            await outbox.close()
        }
        let list = try await open(server).list()
        XCTAssertEqual(list.snapshots.map(\.id), [order.id])
    }

    func testOutboxesOfTwoPathsShareNothing() async throws {
        let server = try ReferenceServer()
        let one = try await open(server)
        let other = try await Outbox.open(at: folder.appending(path: "other"), baseURL: server.url, limits: .quick)
        let order = try order()
        try await one.submit(order)
        let refusal = try await refused { _ = try await other.snapshot(of: order.id) }
        XCTAssertEqual(refusal, .unknownID(order.id))
        let receipt = try await other.submit(order)
        XCTAssertEqual(receipt.kind, .accepted)
        await one.close()
        _ = try await other.snapshot(of: order.id)
        await other.close()
    }
}
