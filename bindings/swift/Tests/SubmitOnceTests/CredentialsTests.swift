import Foundation
import SubmitOnce
import XCTest

/// P10: whose requests go with which credentials, and who is asked for them.
final class CredentialsTests: OutboxTestCase {
    private actor Asked {
        var reasons: [CredentialsReason] = []
        func note(_ reason: CredentialsReason) -> Int {
            reasons.append(reason)
            return reasons.count
        }
    }

    func testTheProviderIsAskedOnceForManySubmissions() async throws {
        let server = try ReferenceServer("--accept-token", "Bearer good")
        let asked = Asked()
        let outbox = try await open(
            server,
            credentials: { _, reason in
                _ = await asked.note(reason)
                return .bearer("good")
            }
        )
        try await outbox.signIn("ada")
        for number in 0..<20 {
            _ = try await outbox.orderTea(slot: "form \(number)", account: "ada")
        }
        let report = try await outbox.drain(for: .seconds(30))
        XCTAssertEqual(report.succeeded, 20)
        let reasons = await asked.reasons
        XCTAssertEqual(reasons, [.missing])
    }

    func testAProviderThatThrowsIsToldOfAndLosesNothing() async throws {
        let server = try ReferenceServer("--accept-token", "Bearer good")
        let (problems, tell) = AsyncStream.makeStream(of: String.self)
        let outbox = try await open(
            server,
            credentials: { _, _ in throw Trouble("the token server is down") },
            onCallbackError: { tell.yield("\($0)") }
        )
        try await outbox.signIn("ada")
        let id = try await outbox.orderTea(account: "ada").id
        try await outbox.start()
        let problem = await problems.first { _ in true }
        XCTAssertEqual(problem, "the token server is down")
        try await outbox.supply(.bearer("good"), of: "ada")
        let end = try await outbox.wait(for: id, upTo: .seconds(30))
        XCTAssertEqual(end.snapshot.state, .succeeded)
        XCTAssertEqual(end.snapshot.attempts, 1)
    }

    func testAProviderMayCallTheOutbox() async throws {
        let server = try ReferenceServer("--accept-token", "Bearer good")
        let (handles, give) = AsyncStream.makeStream(of: Outbox.self)
        let outbox = try await open(
            server,
            credentials: { _, _ in
                let outbox = await handles.first { _ in true }
                _ = try await outbox?.stats()
                try await outbox?.supply(.bearer("good"), of: "ada")
                return nil
            }
        )
        give.yield(outbox)
        try await outbox.signIn("ada")
        let id = try await outbox.orderTea(account: "ada").id
        try await outbox.start()
        let end = try await outbox.wait(for: id, upTo: .seconds(30))
        XCTAssertEqual(end.snapshot.state, .succeeded)
    }

    /// Accounts are compared by their bytes, as the core does, and not as Swift compares texts.
    func testTheSameLetterWrittenInAnotherWayIsAnotherAccount() async throws {
        let (asked, ask) = AsyncStream.makeStream(of: String.self)
        let outbox = try await open(
            credentials: { account, _ in
                ask.yield(account)
                if account == "\u{E9}", account.utf8.count == 2 { try await Task.sleep(for: .seconds(3600)) }
                return .bearer("x")
            }
        )
        var accounts = asked.makeAsyncIterator()
        for account in ["\u{E9}", "e\u{301}"] {
            try await outbox.signIn(account)
            let id = try await outbox.begin("form")
            try await outbox.submit(Submission(id, to: "http://127.0.0.1:9/orders", account: account))
            try await outbox.start()
            let next = await accounts.next()
            XCTAssertEqual(next.map { Array($0.utf8) }, Array(account.utf8))
        }
    }

    func testCredentialsOfAnotherAccountAreRefused() async throws {
        let outbox = try await open()
        try await outbox.signIn("ada")
        let reason = try await refused { try await outbox.supply(.bearer("x"), of: "bob") }
        XCTAssertEqual(reason, .notSignedIn(account: "bob"))
        let signedIn = try await outbox.signedIn()
        XCTAssertEqual(signedIn, "ada")
        try await outbox.signOut()
        let nobody = try await outbox.signedIn()
        XCTAssertNil(nobody)
    }

    func testWhatIsSubmittedWaitsForItsAccount() async throws {
        let outbox = try await open()
        let first = try await outbox.orderTeaAbroad(account: "ada")
        XCTAssertEqual(first.snapshot.waitingFor, .signedOut)
        try await outbox.signIn("ada")
        let snapshot = try await outbox.snapshot(of: first.id)
        XCTAssertEqual(snapshot.waitingFor, .credentials)
    }
}

extension Outbox {
    fileprivate func orderTeaAbroad(account: String) async throws -> Receipt {
        let id = try await begin("form")
        return try await submit(Submission(id, to: "http://127.0.0.1:9/orders", account: account))
    }
}
