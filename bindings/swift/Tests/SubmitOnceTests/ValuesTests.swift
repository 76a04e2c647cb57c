import Foundation
import XCTest

@testable import SubmitOnce

/// Values on their way to the core. The generated code ends the process at what it can't carry, so that
/// each of these would be a crash.
final class ValuesTests: OutboxTestCase {
    func testTimesWithoutSenseAreLooksOrRefusals() async throws {
        let outbox = try await open()
        let id = try await outbox.orderAbroad()
        guard case .timedOut = try await outbox.wait(for: id, upTo: .seconds(-5)) else { return XCTFail() }
        let absurd = try await refused { _ = try await outbox.wait(for: id, upTo: .seconds(Int64.max)) }
        guard case .invalid(let field, _) = absurd else { return XCTFail("\(absurd)") }
        XCTAssertEqual(field, "timeout")
        let report = try await outbox.drain(for: .seconds(-1))
        XCTAssertEqual(report.attempts, 0)
    }

    func testNegativeTimesInLimitsAndProfilesAreRefused() async throws {
        var limits = Limits()
        limits.quietTime = .seconds(-1)
        let first = try await refused { [limits] in _ = try await self.open(limits: limits) }
        XCTAssertEqual(first, .invalid(field: "limits.quietTime", problem: "it is negative"))
        var profile = ServerProfile(.standard)
        profile.retention = .seconds(-1)
        let second = try await refused { [profile] in _ = try await self.open(profile: profile) }
        XCTAssertEqual(second, .invalid(field: "profile.retention", problem: "it is negative"))
    }

    func testNumbersThatDoNotFitAreRefused() async throws {
        var limits = Limits()
        limits.maxQueued = -1
        let reason = try await refused { [limits] in _ = try await self.open(limits: limits) }
        guard case .invalid(let field, _) = reason else { return XCTFail("\(reason)") }
        XCTAssertEqual(field, "limits.maxQueued")
        limits = Limits()
        limits.maxInFlight = Int(UInt32.max) + 1
        let other = try await refused { [limits] in _ = try await self.open(limits: limits) }
        guard case .invalid("limits.maxInFlight", _) = other else { return XCTFail("\(other)") }
    }

    func testDatesThatAreNoneAreRefused() async throws {
        let outbox = try await open()
        for seconds in [Double.nan, .infinity, -.infinity, 1e300] {
            var submission = Submission(try SubmissionID.new(), to: "http://127.0.0.1:9/x")
            submission.expiresAt = Date(timeIntervalSince1970: seconds)
            let reason = try await refused { [submission] in try await outbox.submit(submission) }
            guard case .invalid("expiresAt", _) = reason else { return XCTFail("\(seconds): \(reason)") }
        }
        var submission = Submission(try SubmissionID.new(), to: "http://127.0.0.1:9/x")
        submission.expiresAt = .distantFuture
        try await outbox.submit(submission)
    }

    func testLimitsOfListsAreBroughtIntoTheirRange() async throws {
        let outbox = try await open()
        for _ in 0..<3 { try await outbox.submit(Submission(try SubmissionID.new(), to: "http://127.0.0.1:9/x")) }
        for (limit, count) in [(Int.min, 1), (-1, 1), (0, 1), (2, 2), (1001, 3), (Int.max, 3)] {
            let page = try await outbox.list(limit: limit)
            XCTAssertEqual(page.snapshots.count, count, "\(limit)")
        }
        let reason = try await refused { _ = try await outbox.list(after: -1) }
        guard case .invalid = reason else { return XCTFail("\(reason)") }
    }

    func testAURLThatIsNoFileIsRefused() async throws {
        let web = try XCTUnwrap(URL(string: "https://example.com/outbox.sqlite3"))
        let first = try await refused { _ = try await Outbox.open(at: web) }
        guard case .invalid("database", _) = first else { return XCTFail("\(first)") }
        let outbox = try await open()
        let body = Body.file(web, contentType: "image/jpeg")
        let submission = Submission(try SubmissionID.new(), to: "http://127.0.0.1:9/x", body: body)
        let second = try await refused { try await outbox.submit(submission) }
        guard case .invalid("body.path", _) = second else { return XCTFail("\(second)") }
    }

    /// F71: what an app writes is what arrives.
    func testTextArrivesByteForByte() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let texts = ["\u{0}", "🍵👩‍👩‍👧", "\u{FEFF}x", "\u{202E}abc", "e\u{301}", "\u{2028}", ""]
        for (number, text) in texts.enumerated() {
            let id = try SubmissionID.new()
            let body = Body.bytes(Data(text.utf8), contentType: "text/plain")
            try await outbox.submit(Submission(id, to: "/notes?n=\(number)", body: body))
        }
        let report = try await outbox.drain(for: .seconds(30))
        XCTAssertEqual(report.succeeded, texts.count)
        // A name as a whole: the slot that holds them gives the same ID again.
        for text in texts where !text.isEmpty {
            let first = try await outbox.begin(text)
            let again = try await outbox.begin(text)
            XCTAssertEqual(first, again)
        }
        let slots = try await withThrowingTaskGroup(of: UUID.self) { group in
            for text in texts where !text.isEmpty { group.addTask { try await outbox.begin(text) } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        XCTAssertEqual(slots.count, texts.count - 1)
    }

    func testNothingShowsWhatASubmissionHolds() throws {
        let secret = "s3cret"
        let submission = Submission(
            try SubmissionID.new(),
            to: "https://example.com/\(secret)",
            body: .jsonText("\"\(secret)\""),
            account: secret,
            headers: [Header(name: "X-Note", value: secret)]
        )
        let credentials = Credentials.bearer(secret)
        for shown in [submission, submission.body, credentials] as [Any] {
            var dumped = ""
            dump(shown, to: &dumped)
            for text in ["\(shown)", String(reflecting: shown), dumped] {
                XCTAssertFalse(text.contains(secret), text)
            }
        }
    }

    func testTimesKeepTheirNanoseconds() throws {
        for time in [Duration.zero, .nanoseconds(1), .milliseconds(50), .seconds(86_400), .seconds(34_560_000)] {
            XCTAssertEqual(Duration(secondsOf: try time.lowered("time")), time)
        }
    }

    func testDefaultsGoThereAndBack() throws {
        let limits = Limits()
        XCTAssertEqual(Limits(try limits.lowered()), limits)
        XCTAssertEqual(limits.maxInFlight, Int(try limits.lowered().maxInFlight))
        let profile = ServerProfile(.stripe)
        XCTAssertEqual(try profile.lowered().name, "stripe")
        XCTAssertNotEqual(profile, ServerProfile(.square))
    }
}

extension Outbox {
    /// A submission to where nobody listens.
    func orderAbroad() async throws -> UUID {
        let id = try await begin("form")
        return try await submit(Submission(id, to: "http://127.0.0.1:9/orders", body: .jsonText("{}"))).id
    }
}
