import Foundation
import XCTest

@testable import SubmitOnce

/// Accounts, and the provider that is asked for their credentials.
final class CredentialsTests: OutboxTestCase {
    private let asked = Locked<[CredentialsReason]>([])
    private let reported = Locked<[any Error]>([])

    private func open(
        _ server: ReferenceServer,
        answer: @escaping @Sendable (CredentialsReason, _ count: Int) async throws -> Credentials?
    ) async throws -> Outbox {
        let (asked, reported) = (asked, reported)
        return try await open(
            server,
            credentials: { account, reason in
                XCTAssertEqual(account, "ann")
                let count = asked.withLock { asked in
                    asked.append(reason)
                    return asked.count
                }
                return try await answer(reason, count)
            },
            onCallbackError: { error in reported.withLock { $0.append(error) } }
        )
    }

    private func reports() async throws -> [any Error] {
        let reported = reported
        try await eventually("the report") { reported.withLock { !$0.isEmpty } }
        return reported.withLock { $0 }
    }

    private var reasons: [CredentialsReason] { asked.withLock { $0 } }

    func testAProviderIsAskedOnceForTwentySubmissions() async throws {
        let server = try ReferenceServer()
        try await server.accept(tokens: "good")
        let outbox = try await open(server) { _, _ in
            await Task.yield()
            return .bearer("good")
        }
        try await outbox.signIn("ann")
        try await outbox.submitAll(orders(20, account: "ann"))
        let report = try await outbox.drain(for: long)
        XCTAssertEqual(report.succeeded, 20)
        XCTAssertEqual(reasons, [.missing])
        let summary = try await server.summary()
        XCTAssertEqual([summary.requests, summary.effects, summary.maxEffectsPerKey], [20, 20, 1])
    }

    func testARefusedTokenIsAskedForAnewAndEverythingGoesOnce() async throws {
        let server = try ReferenceServer()
        try await server.accept(tokens: "fresh")
        let outbox = try await open(server) { reason, _ in .bearer(reason == .refused ? "fresh" : "stale") }
        try await outbox.signIn("ann")
        let orders = try orders(5, account: "ann")
        try await outbox.submitAll(orders)
        try await outbox.start()
        for order in orders {
            let settled = try await outbox.settled(order.id)
            XCTAssertEqual(settled.state, .succeeded)
        }
        XCTAssertEqual(reasons, [.missing, .refused])
        let summary = try await server.summary()
        XCTAssertEqual([summary.effects, summary.maxEffectsPerKey, summary.maxKeysPerPath], [5, 1, 1])
    }

    func testATokenThatIsRefusedAgainClosesTheGateUntilTheAppHasAnother() async throws {
        let server = try ReferenceServer()
        try await server.accept(tokens: "good")
        let outbox = try await open(server) { reason, count in
            reason == .refusedAgain ? nil : .bearer("bad-\(count)")
        }
        try await outbox.signIn("ann")
        let order = try order(account: "ann")
        try await outbox.submit(order)
        let report = try await outbox.drain(for: long)
        XCTAssertEqual(report.stopped, .credentialsNeeded)
        let asked = asked
        try await eventually("the last question") { asked.withLock { $0.count } == 3 }
        XCTAssertEqual(reasons, [.missing, .refused, .refusedAgain])
        let waitingFor = try await outbox.snapshot(of: order.id).waitingFor
        XCTAssertEqual(waitingFor, .credentials)
        try await outbox.supply(.bearer("good"), of: "ann")
        try await outbox.start()
        try await outbox.settled(order.id)
        let summary = try await server.summary()
        XCTAssertEqual(summary.effects, 1)
    }

    func testWhatAProviderThrowsIsToldToTheAppAndToNobodyElse() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server) { _, _ in throw Trouble("no token server") }
        try await outbox.signIn("ann")
        let (hers, nobodys) = (try order(account: "ann"), try order())
        try await outbox.submitAll([hers, nobodys])
        try await outbox.start()
        try await outbox.settled(nobodys.id)
        let reports = try await reports()
        XCTAssertEqual((reports.first as? Trouble)?.description, "no token server")
        try await outbox.supply(.bearer("any"), of: "ann")
        try await outbox.settled(hers.id)
    }

    // What the provider itself throws must not pass for the end of its task.
    func testACancellationErrorOfTheProvidersOwnIsTold() async throws {
        let outbox = try await open(ReferenceServer()) { _, _ in throw CancellationError() }
        try await outbox.signIn("ann")
        try await outbox.submit(order(account: "ann"))
        try await outbox.start()
        let reports = try await reports()
        XCTAssertTrue(reports.first is CancellationError)
    }

    func testCredentialsThatCantBeSentAreToldToTheAppWithoutThem() async throws {
        let outbox = try await open(ReferenceServer()) { _, _ in
            Credentials(headers: [Header(name: "Host", value: "geheim-4711")])
        }
        try await outbox.signIn("ann")
        try await outbox.submit(order(account: "ann"))
        try await outbox.start()
        let reports = try await reports()
        XCTAssertTrue(reports.first is SubmitOnceError)
        XCTAssertFalse("\(reports)".contains("geheim"))
    }

    func testAProviderThatHasNoneLeavesEverythingWaiting() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server) { _, _ in nil }
        try await outbox.signIn("ann")
        let order = try order(account: "ann")
        try await outbox.submit(order)
        _ = try await outbox.drain(for: .milliseconds(500))
        let waitingFor = try await outbox.snapshot(of: order.id).waitingFor
        XCTAssertEqual(waitingFor, .credentials)
        let summary = try await server.summary()
        XCTAssertEqual(summary.requests, 0)
        XCTAssertEqual(reasons, [.missing])
        XCTAssertTrue(reported.withLock { $0.isEmpty })
    }

    // Demands make the core ask again; the provider is still at it.
    func testASlowProviderIsntAskedTwice() async throws {
        let server = try ReferenceServer()
        let (begun, answer) = (Signal<Void>(), Signal<Credentials>())
        let outbox = try await open(server) { _, _ in
            begun.send()
            return try await answer.next()
        }
        try await outbox.signIn("ann")
        try await outbox.submit(order(account: "ann"))
        try await outbox.start()
        try await begun.next()
        for _ in 0..<5 {
            try await outbox.submit(order(account: "ann"))
            try await outbox.start()
        }
        answer.send(.bearer("any"))
        try await eventually("everything is delivered") { try await server.summary().effects == 6 }
        XCTAssertEqual(reasons, [.missing])
    }

    func testAProviderThatIsAtItWhenTheOutboxClosesIsCancelled() async throws {
        let (begun, cancelled) = (Signal<Void>(), Signal<Void>())
        let outbox = try await open(ReferenceServer()) { _, _ in
            begun.send()
            defer { cancelled.send() }
            try await Task.sleep(for: hours)
            return nil
        }
        try await outbox.signIn("ann")
        try await outbox.submit(order(account: "ann"))
        try await outbox.start()
        try await begun.next()
        try await atOnce {
            await outbox.close()
            try await cancelled.next()
        }
        XCTAssertTrue(reported.withLock { $0.isEmpty })
    }

    func testAnAnswerForAnAccountThatHasSignedOutMeanwhileIsNobodysTrouble() async throws {
        let server = try ReferenceServer()
        let (begun, answer) = (Signal<Void>(), Signal<Credentials>())
        let outbox = try await open(server) { _, _ in
            begun.send()
            return try await answer.next()
        }
        try await outbox.signIn("ann")
        let order = try order(account: "ann")
        try await outbox.submit(order)
        try await outbox.start()
        try await begun.next()
        try await outbox.signOut()
        answer.send(.bearer("late"))
        let nobodys = try SubmitOnceTests.order()
        try await outbox.submit(nobodys)
        try await outbox.settled(nobodys.id)
        let waitingFor = try await outbox.snapshot(of: order.id).waitingFor
        XCTAssertEqual(waitingFor, .signedOut)
        let summary = try await server.summary()
        XCTAssertEqual(summary.requests, 1)
        XCTAssertTrue(reported.withLock { $0.isEmpty })
    }

    func testAProviderMayCallTheOutbox() async throws {
        let server = try ReferenceServer()
        let known = Locked<Outbox?>(nil)
        let outbox = try await open(server) { _, _ -> Credentials? in
            guard let outbox = known.withLock({ $0 }) else { return nil }
            let receipt = try await outbox.submit(SubmitOnceTests.order())
            _ = try await outbox.snapshot(of: receipt.id)
            try await outbox.supply(.bearer("direct"), of: "ann")
            return nil
        }
        known.withLock { $0 = outbox }
        try await outbox.signIn("ann")
        let order = try order(account: "ann")
        try await outbox.submit(order)
        try await outbox.start()
        try await outbox.settled(order.id)
        try await eventually("both are delivered") { try await server.summary().effects == 2 }
        XCTAssertTrue(reported.withLock { $0.isEmpty })
        known.withLock { $0 = nil }
    }

    func testCredentialsThatRunOutAreAskedForAnew() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server) { reason, _ in
            .bearer("any", validUntil: reason == .missing ? Date(timeIntervalSinceNow: 1) : nil)
        }
        try await outbox.signIn("ann")
        while !reasons.contains(.expiring) {
            try await outbox.submit(order(account: "ann"))
            _ = try await outbox.drain(for: long)
        }
        XCTAssertEqual(reasons, [.missing, .expiring])
        let summary = try await server.summary()
        XCTAssertEqual(summary.maxEffectsPerKey, 1)
    }

    // P10: never on the disk, and not after the process.
    func testCredentialsAreKeptInMemoryAlone() async throws {
        let server = try ReferenceServer()
        let secret = "geheim-4711"
        let first = try await open(server) { _, _ in .bearer(secret) }
        try await first.signIn("ann")
        try await first.submit(order(account: "ann"))
        let delivered = try await first.drain(for: long)
        XCTAssertEqual(delivered.succeeded, 1)
        await first.close()
        var files = 0
        for case let name as String in try XCTUnwrap(FileManager.default.enumerator(atPath: folder.path)) {
            guard let content = try? Data(contentsOf: folder.appending(path: name)) else { continue }
            files += 1
            XCTAssertNil(content.range(of: Data(secret.utf8)), name)
        }
        XCTAssertGreaterThan(files, 0)
        let second = try await open(server)
        let account = try await second.signedIn()
        XCTAssertEqual(account, "ann")
        try await second.submit(order(account: "ann"))
        let report = try await second.drain(for: long)
        XCTAssertEqual(report.stopped, .credentialsNeeded)
        try await second.signOut()
        let nobody = try await second.signedIn()
        XCTAssertNil(nobody)
    }

    // P10 account isolation: each goes with its own token, whoever comes and goes.
    func testTwoAccountsAreNeverMixedUp() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server, credentials: { account, _ in .bearer("token-of-\(account)") })
        let theirs = ["ann": try orders(3, account: "ann"), "bob": try orders(3, account: "bob")]
        try await outbox.submitAll(theirs.values.flatMap { $0 })
        try await outbox.start()
        for (account, orders) in theirs {
            try await outbox.signIn(account)
            for order in orders {
                try await outbox.settled(order.id)
            }
        }
        let records = try await server.records()
        XCTAssertEqual(records.count, 6)
        var principals: [String: Set<String>] = [:]
        for record in records {
            let account = theirs.first { $0.value.contains { record.path.contains($0.id.uuidString.lowercased()) } }
            principals[try XCTUnwrap(account?.key), default: []].insert(record.principal ?? "none")
        }
        XCTAssertEqual(principals.mapValues(\.count), ["ann": 1, "bob": 1])
        XCTAssertNotEqual(principals["ann"], principals["bob"])
    }

    /// Accounts are compared by their bytes, as the core does, and not as Swift compares texts.
    func testTheSameLetterWrittenInAnotherWayIsAnotherAccount() async throws {
        let asked = Signal<String>()
        let outbox = try await open(
            credentials: { account, _ in
                asked.send(account)
                if account == "\u{E9}", account.utf8.count == 2 { try await Task.sleep(for: .seconds(3600)) }
                return .bearer("x")
            }
        )
        for account in ["\u{E9}", "e\u{301}"] {
            try await outbox.signIn(account)
            let id = try await outbox.begin("form")
            try await outbox.submit(Submission(id, to: "http://127.0.0.1:9/orders", account: account))
            try await outbox.start()
            let next = try await asked.next()
            XCTAssertEqual(Array(next.utf8), Array(account.utf8))
        }
    }
}
