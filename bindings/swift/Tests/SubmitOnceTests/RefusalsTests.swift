import Foundation
import XCTest

@testable import SubmitOnce

/// What calls refuse, as the errors that an app catches.
final class RefusalsTests: OutboxTestCase {
    private let secret = "geheim-4711"

    /// A sentence that says what to do, and nothing private.
    private func refused(line: UInt = #line, _ call: () async throws -> Void) async throws -> SubmitOnceError.Reason {
        do {
            try await call()
        } catch let error as SubmitOnceError {
            for text in [error.description, error.localizedDescription, "\(error)", String(reflecting: error)] {
                XCTAssertFalse(text.contains(secret), text, line: line)
            }
            XCTAssertGreaterThanOrEqual(error.description.split(separator: " ").count, 4, line: line)
            XCTAssertEqual(error.localizedDescription, error.description, line: line)
            return error.reason
        }
        throw Trouble("line \(line): it was not refused")
    }

    func testAFieldThatMakesNoSenseIsNamed() async throws {
        let outbox = try await open(ReferenceServer())
        let slot = try await refused { _ = try await outbox.begin("") }
        guard case .invalid("slot", _) = slot else { return XCTFail("\(slot)") }
        let discarded = try await refused { try await outbox.discard(String(repeating: "x", count: 1025)) }
        guard case .invalid("slot", _) = discarded else { return XCTFail("\(discarded)") }
        let account = try await refused { try await outbox.signIn("") }
        guard case .invalid = account else { return XCTFail("\(account)") }
        var method = try order()
        method.method = "p o s t"
        var url = try order()
        url.url = "ftp://example.com/\(secret)"
        for (field, order) in [("method", method), ("url", url)] {
            let refusal = try await refused { try await outbox.submit(order) }
            guard case .invalid(field, let problem) = refusal else { return XCTFail("\(refusal)") }
            XCTAssertFalse(problem.isEmpty)
        }
        let stats = try await outbox.stats()
        XCTAssertEqual(stats.accepted, 0)
    }

    // P10: credentials are never stored.
    func testACredentialAmongTheHeadersIsRefusedByName() async throws {
        let outbox = try await open(ReferenceServer())
        for name in ["Authorization", "cookie", "Proxy-Authorization"] {
            var order = try order()
            order.headers = [Header(name: name, value: secret)]
            let submission = order
            let refusal = try await refused { try await outbox.submit(submission) }
            guard case .headerRefused(let refusedName, _) = refusal else { return XCTFail("\(refusal)") }
            XCTAssertEqual(refusedName.lowercased(), name.lowercased())
        }
    }

    func testABodyThatIsTooLargeIsRefusedWithBothNumbers() async throws {
        var limits = Limits.quick
        limits.maxBodyBytes = 10
        let outbox = try await open(ReferenceServer(), limits: limits)
        var large = try order()
        large.body = .bytes(Data(secret.utf8), contentType: "text/plain")
        let order = large
        let refusal = try await refused { try await outbox.submit(order) }
        XCTAssertEqual(refusal, .bodyTooLarge(bytes: 11, most: 10))
    }

    func testWhatCantHangTogetherIsRefusedByItsField() async throws {
        let outbox = try await open(ReferenceServer())
        let plain = try order()
        let changes: [(String, (inout Submission) -> Void)] = [
            ("lane", { $0.lane = "" }),
            ("lane_policy", { $0.lanePolicy = .continue }),
            ("replaces", { $0.replaces = "draft" }),
            (
                "replaces",
                {
                    $0.effect = .overwrite
                    $0.replaces = "draft"
                    $0.lane = "drafts"
                }
            ),
            ("priority", { $0.priority = 101 }),
        ]
        for (field, change) in changes {
            var order = plain
            change(&order)
            let submission = order
            let refusal = try await refused { try await outbox.submit(submission) }
            guard case .invalid(field, _) = refusal else { return XCTFail("\(field): \(refusal)") }
        }
        let stats = try await outbox.stats()
        XCTAssertEqual(stats.accepted, 0)
    }

    func testAParentThatIsntKnownIsNamed() async throws {
        let outbox = try await open(ReferenceServer())
        let parent = try SubmissionID.new()
        let photo = try order().part(
            of: parent, from: .jsonPointer(pointer: "/effect"), into: .query(name: "order"))
        for child in [try order().after(parent), photo] {
            let refusal = try await refused { try await outbox.submit(child) }
            XCTAssertEqual(refusal, .unknownParent(parent))
        }
    }

    // P3 convergence, P8: the one that has the ID is shown.
    func testAnotherSubmissionWithAnIDThatWasUsedIsRefusedWithTheFirst() async throws {
        let outbox = try await open(ReferenceServer())
        let first = try await outbox.submit(order())
        var other = try order(first.id)
        other.body = .jsonText("\"\(secret)\"")
        let submission = other
        let refusal = try await refused { try await outbox.submit(submission) }
        guard case .keyReused(first.id, first.snapshot, let differs) = refusal else { return XCTFail("\(refusal)") }
        XCTAssertEqual(differs.count, 1)
        let stats = try await outbox.stats()
        XCTAssertEqual([stats.reuseRefused, stats.accepted], [1, 1])
    }

    // P11 nothing silently lost.
    func testAFullOutboxRefusesWhatIsNewAndStillJoins() async throws {
        var limits = Limits.quick
        limits.maxQueued = 1
        let outbox = try await open(ReferenceServer(), limits: limits)
        let first = try order()
        try await outbox.submit(first)
        let refusal = try await refused { try await outbox.submit(order()) }
        XCTAssertEqual(refusal, .queueFull(most: 1))
        let again = try await outbox.submit(first)
        XCTAssertEqual(again.kind, .joined)
    }

    // P10 account isolation.
    func testCredentialsForAnAccountThatIsntSignedInAreRefused() async throws {
        let outbox = try await open(ReferenceServer())
        let secret = secret
        let refusal = try await refused { try await outbox.supply(.bearer(secret), of: "ann") }
        XCTAssertEqual(refusal, .notSignedIn(account: "ann"))
    }

    func testAnIDThatWasNeverSubmittedIsUnknownToEveryCallThatNeedsIt() async throws {
        let outbox = try await open(ReferenceServer())
        let id = try await outbox.begin("form")
        let calls: [() async throws -> Void] = [
            { _ = try await outbox.snapshot(of: id) },
            { _ = try await outbox.cancel(id) },
            { try await outbox.wake(id) },
            { try await outbox.resolve(id, revision: 1, as: .giveUp) },
            { _ = try await outbox.wait(for: id, upTo: hours) },
        ]
        for call in calls {
            let refusal = try await refused { try await call() }
            XCTAssertEqual(refusal, .unknownID(id))
        }
    }

    // P11: a body that is lost after something was sent is held, never sent again.
    func testDamagedBytesCantBeRetried() async throws {
        let server = try ReferenceServer()
        var limits = Limits.quick
        limits.inlineBodyBytes = 16
        let outbox = try await open(server, limits: limits)
        let order = try order(item: "a longer body, which goes to a file")
        try await server.script(#""commit_then_drop""#, path: order.url)
        try await outbox.submit(order)
        _ = try await outbox.drain(for: long)
        let bodies = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        let files = (bodies?.allObjects ?? []).compactMap { $0 as? URL }
            .filter { $0.deletingLastPathComponent().lastPathComponent.hasSuffix("-bodies") }
        XCTAssertEqual(files.count, 1)
        try Data("damaged".utf8).write(to: files[0])
        try await outbox.start()
        guard case .held(let held) = try await outbox.wait(for: order.id, upTo: long) else {
            return XCTFail("it isn't held")
        }
        let refusal = try await refused {
            try await outbox.resolve(order.id, revision: held.revision, as: .retrySameKey(acceptSecondEffect: true))
        }
        XCTAssertEqual(refusal, .cannotRetry(current: held))
        XCTAssertEqual(held.state, .held(.damaged))
        let summary = try await server.summary()
        XCTAssertEqual(summary.requests, 1)
    }

    // P8: what is older than the memory is not taken for new.
    func testAnUnknownIDFromBeforeTheMemoryOfSettledOnesIsTooOld() async throws {
        let server = try ReferenceServer()
        var limits = Limits.quick
        limits.keepResults = .milliseconds(1)
        limits.keepTombstones = .milliseconds(1)
        // Nothing is forgotten before its server has forgotten the key.
        var profile = ServerProfile(.standard)
        profile.retention = .zero
        let outbox = try await open(server, limits: limits, profile: profile)
        let order = try order()
        // Ages are believed by a server's clock alone.
        let date = #"["Date","Fri, 01 Jan 2100 00:00:00 GMT"]"#
        try await server.script(#"{"respond":{"status":201,"headers":[\#(date)]}}"#)
        try await outbox.submit(order)
        _ = try await outbox.drain(for: long)
        try await eventually("it is forgotten") {
            try await outbox.retain()
            return try await outbox.reconcile([order.id]).isEmpty
        }
        let ancient = try SubmissionID.parse("00000000-0001-7000-8000-000000000001")
        let refusal = try await refused { try await outbox.submit(SubmitOnceTests.order(ancient)) }
        XCTAssertEqual(refusal, .idTooOld(ancient))
    }
}
