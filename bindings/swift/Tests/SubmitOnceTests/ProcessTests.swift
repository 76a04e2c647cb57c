import Foundation
import SubmitOnce
import XCTest

/// What only another process can show.
final class ProcessTests: OutboxTestCase {
    private var program: URL { Programs.built.appending(path: "submit-once-programs") }

    func testAProcessThatIsKilledWithItsRequestOnTheWireConverges() async throws {
        let server = try ReferenceServer()
        try await server.script(#"{"hold_after":"gate"}"#)
        let (app, output) = try Programs.start(
            program, ["order", database.path(percentEncoded: false), server.url.absoluteString])
        // The effect is there, its answer is not.
        try await server.await(#"{"held":"gate"}"#)
        kill(app.processIdentifier, SIGKILL)
        _ = try output.readToEnd()
        try await server.release("gate")
        let outbox = try await open(server)
        let again = try await outbox.orderTea()
        XCTAssertEqual(again.kind, .joined)
        try await outbox.start()
        let end = try await outbox.wait(for: again.id, upTo: .seconds(30))
        XCTAssertEqual(end.snapshot.state, .succeeded)
        let summary = try await server.summary()
        XCTAssertEqual(summary.effects, 1)
        XCTAssertEqual(summary.requests, 2)
        XCTAssertEqual(summary.keys, 1)
    }

    /// P12, F71, F103: after each call another process can take an exclusive lock at once.
    func testAfterEachCallNoLockIsHeld() async throws {
        let outbox = try await open()
        let locks = Process()
        let (orders, answers) = (Pipe(), Pipe())
        locks.executableURL = program
        locks.arguments = ["try-locks", database.path(percentEncoded: false)]
        locks.standardInput = orders
        locks.standardOutput = answers
        try locks.run()
        defer { kill(locks.processIdentifier, SIGKILL) }
        let id = try await outbox.orderAbroad()
        let other = Submission(try SubmissionID.new(), to: "http://127.0.0.1:9/x", body: .jsonText("{}"))
        let calls: [(String, @Sendable () async throws -> Void)] = [
            ("begin", { _ = try await outbox.begin("form 2") }),
            ("discard", { try await outbox.discard("form 2") }),
            ("submit", { try await outbox.submit(other) }),
            ("submit again", { try await outbox.submit(other) }),
            ("submitAll", { try await outbox.submitAll([other]) }),
            ("snapshot", { _ = try await outbox.snapshot(of: id) }),
            ("reconcile", { _ = try await outbox.reconcile([id]) }),
            ("list", { _ = try await outbox.list() }),
            ("updates", { for try await _ in outbox.updates(of: id) { break } }),
            ("changes", { for try await _ in outbox.changes(after: 0) { break } }),
            ("wait", { _ = try await outbox.wait(for: id, upTo: .zero) }),
            ("drain", { _ = try await outbox.drain(for: .zero) }),
            ("signIn", { try await outbox.signIn("ada") }),
            ("supply", { try await outbox.supply(.bearer("x"), of: "ada") }),
            ("signedIn", { _ = try await outbox.signedIn() }),
            ("signOut", { try await outbox.signOut() }),
            ("networkAvailable", { try await outbox.networkAvailable(.metered) }),
            ("wake", { try await outbox.wake(id) }),
            ("cancel", { _ = try await outbox.cancel(other.id) }),
            ("stats", { _ = try await outbox.stats() }),
            ("retain", { try await outbox.retain() }),
            ("start", { try await outbox.start() }),
            ("windDown", { try await outbox.windDown(within: .seconds(20)) }),
            ("suspendDelivery", { try await outbox.suspendDelivery() }),
        ]
        for (name, call) in calls {
            try await call()
            // `start` delivers from then on, and may be at the database rightly.
            if name == "start" { continue }
            orders.fileHandleForWriting.write(Data("\n".utf8))
            XCTAssertEqual(answers.fileHandleForReading.readLine(), "free", "after \(name)")
        }
    }
}
