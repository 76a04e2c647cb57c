import Foundation
import XCTest

@testable import SubmitOnce

/// Values at the border that generated code would end the process for: errors instead.
final class ValuesTests: OutboxTestCase {
    private func invalid(
        _ field: String,
        line: UInt = #line,
        _ call: () async throws -> Void
    ) async throws {
        let refusal = try await refused(line: line, call)
        guard case .invalid(field, let problem) = refusal, !problem.isEmpty else {
            return XCTFail("\(field): \(refusal)", line: line)
        }
    }

    func testNegativeDurationsAreRefusedByName() async throws {
        let database = database
        var limits = Limits()
        limits.lease = .nanoseconds(-1)
        try await invalid("limits.lease") { _ = try await Outbox.open(at: database, limits: limits) }
        limits = Limits()
        limits.quietTime = .seconds(-1)
        try await invalid("limits.quietTime") { _ = try await Outbox.open(at: database, limits: limits) }
        var profile = ServerProfile(.standard)
        profile.retention = .seconds(Int64.min)
        try await invalid("profile.retention") { _ = try await Outbox.open(at: database, profile: profile) }
        XCTAssertFalse(FileManager.default.fileExists(atPath: database.path))
    }

    // There is no infinite `Duration`: its ends are 292 billion years away.
    func testDurationsThatTheCoreCantAddUpAreRefused() async throws {
        let outbox = try await open(ReferenceServer())
        let order = try order()
        try await outbox.submit(order)
        for time in [Duration.seconds(Int64.max), .seconds(Int64.max) + .seconds(Int64.max)] {
            try await invalid("timeout") { _ = try await outbox.wait(for: order.id, upTo: time) }
        }
        var limits = Limits()
        limits.horizon = .seconds(Int64.max)
        let file = folder.appending(path: "other")
        do {
            await (try Outbox.open(at: file, limits: limits)).close()
        } catch let error as SubmitOnceError {
            guard case .cannotOpen(.invalidConfig) = error.reason else { throw error }
        }
    }

    func testADrainOfAllTimesIsRefusedOrEnds() async throws {
        let outbox = try await open(ReferenceServer())
        let end = try await Task { try await outbox.drain(for: .seconds(Int64.max)) }.end
        if case .failure = end {
            guard case .invalid = end.reason else { return XCTFail("\(end)") }
        }
        let winding = try await Task { try await outbox.windDown(within: .seconds(Int64.max)) }.end
        if case .failure = winding {
            guard case .invalid = winding.reason else { return XCTFail("\(winding)") }
        }
        let past = try await atOnce { try await outbox.windDown(within: .seconds(-1)) }
        XCTAssertNotEqual(past, .resumed)
    }

    func testDatesThatAreNoneAreRefusedByName() async throws {
        let outbox = try await open(ReferenceServer())
        for time in [Double.nan, .infinity, -.infinity, 1e300, -1e300, .greatestFiniteMagnitude] {
            var order = try order()
            order.expiresAt = Date(timeIntervalSince1970: time)
            let late = order
            try await invalid("expiresAt") { try await outbox.submit(late) }
            try await invalid("validUntil") {
                try await outbox.supply(.bearer("t", validUntil: late.expiresAt), of: "ann")
            }
        }
        let stats = try await outbox.stats()
        XCTAssertEqual(stats.accepted, 0)
    }

    func testTheEndsOfTimeBreakNothing() async throws {
        let outbox = try await open(ReferenceServer())
        for time in [-1e11, -3e7, 0, 0.001, 1.5, 253_402_300_000, 1e12] {
            var order = try order()
            order.expiresAt = Date(timeIntervalSince1970: time)
            let submission = order
            // From 1970 to 9999.
            if (0..<253_402_300_800).contains(time) {
                try await outbox.submit(submission)
                _ = try await outbox.drain(for: long)
                let state = try await outbox.snapshot(of: order.id).state
                XCTAssertEqual(state, time > 1e9 ? .succeeded : .expired, "\(time)")
            } else {
                try await invalid("expires_at") { try await outbox.submit(submission) }
            }
        }
        for date in [Date.distantPast, .distantFuture] {
            let refusal = try await refused { try await outbox.supply(.bearer("t", validUntil: date), of: "ann") }
            XCTAssertEqual(refusal, .notSignedIn(account: "ann"))
        }
    }

    func testLimitsThatDontFitAreRefusedByName() async throws {
        let database = database
        let cases: [(String, WritableKeyPath<Limits, Int>)] = [
            ("maxInFlight", \.maxInFlight), ("maxQueued", \.maxQueued), ("inlineBodyBytes", \.inlineBodyBytes),
            ("maxAnswerBytes", \.maxAnswerBytes), ("retryAttempts", \.retryAttempts),
            ("busyAttempts", \.busyAttempts), ("keepChanges", \.keepChanges),
            ("keepResultsCount", \.keepResultsCount),
        ]
        for (name, path) in cases {
            for number in [-1, Int(UInt32.max) + 1, Int.max, Int.min] {
                var limits = Limits()
                limits[keyPath: path] = number
                // Some of them are wider in the core.
                guard case .failure(let error) = Result(catching: { try limits.lowered() }) else {
                    XCTAssertGreaterThan(number, 0, name)
                    continue
                }
                XCTAssertEqual((error as? SubmitOnceError)?.field, "limits.\(name)")
            }
        }
        var limits = Limits()
        limits.maxBodyBytes = -1
        let negative = limits
        try await invalid("limits.maxBodyBytes") { _ = try await Outbox.open(at: database, limits: negative) }
        limits = Limits()
        limits.keepResultsBytes = -1
        let less = limits
        try await invalid("limits.keepResultsBytes") { _ = try await Outbox.open(at: database, limits: less) }
    }

    func testAURLThatIsNoFilesIsRefusedByName() async throws {
        let web = try XCTUnwrap(URL(string: "https://example.com/outbox.sqlite3"))
        try await invalid("database") { _ = try await Outbox.open(at: web) }
        let outbox = try await open(ReferenceServer())
        var photo = try order()
        photo.body = .file(web, contentType: "image/jpeg")
        let order = photo
        try await invalid("body.path") { try await outbox.submit(order) }
        try await invalid("body.path") { try await outbox.submitAll([order]) }
    }

    func testCursorsAndRevisionsThatAreNoneAreRefused() async throws {
        let outbox = try await open(ReferenceServer())
        try await invalid("page.after") { _ = try await outbox.list(after: -1) }
        let id = try await outbox.submit(order()).id
        for revision in [Int64.min, -1, 0, Int64.max] {
            let refusal = try await refused { try await outbox.resolve(id, revision: revision, as: .giveUp) }
            switch refusal {
            case .stale, .notHeld, .invalid: break
            default: XCTFail("\(refusal)")
            }
        }
        let all = try await outbox.list(after: Int64.max)
        XCTAssertEqual(all.snapshots, [])
        for limit in [0, -1, Int.min] {
            let page = try await outbox.list(limit: limit)
            XCTAssertEqual(page.snapshots.count, 1)
        }
    }

    func testPrioritiesGoFromTheNegativeOfAHundredToAHundred() async throws {
        let outbox = try await open(ReferenceServer())
        for priority in [Int32.min, -101, -100, 0, 100, 101, Int32.max] {
            var order = try order()
            order.priority = priority
            let submission = order
            if (-100...100).contains(priority) {
                try await outbox.submit(submission)
            } else {
                try await invalid("priority") { try await outbox.submit(submission) }
            }
        }
        let report = try await outbox.drain(for: long)
        XCTAssertEqual(report.succeeded, 3)
    }

    func testTimesGoOverAndBackToTheNanosecond() throws {
        let times: [Duration] = [
            .zero, .nanoseconds(1), .milliseconds(20), .seconds(3) + .nanoseconds(7), .seconds(400 * 86400),
        ]
        for time in times {
            XCTAssertEqual(Duration(secondsOf: time.timeInterval), time)
        }
        XCTAssertEqual(Duration.seconds(-1).timeInterval, 0)
    }

    func testNewIDsAreOfVersion7AndInTheOrderOfTime() throws {
        let ids = try (0..<100).map { _ in try SubmissionID.new() }
        XCTAssertTrue(ids.allSatisfy { $0.uuid.6 >> 4 == 7 })
        XCTAssertEqual(Set(ids).count, 100)
        let times = ids.map { String($0.uuidString.prefix(13)) }
        XCTAssertEqual(times, times.sorted())
    }

    func testDerivedIDsAreTheSameEverywhereAndDependOnEveryPart() throws {
        let id = try SubmissionID.derived(account: "ann", action: "order", businessKey: "17")
        XCTAssertEqual(id.uuid.6 >> 4, 5)
        let same = try SubmissionID.derived(account: "ann", action: "order", businessKey: "17")
        XCTAssertEqual(id, same)
        let others = [
            try SubmissionID.derived(account: nil, action: "order", businessKey: "17"),
            try SubmissionID.derived(account: "", action: "order", businessKey: "17"),
            try SubmissionID.derived(account: "ann", action: "order1", businessKey: "7"),
            try SubmissionID.derived(account: "annorder", action: "", businessKey: "17"),
        ]
        XCTAssertEqual(Set(others + [id]).count, 5)
    }

    func testAnIDIsReadFrom36CharactersAndFromNothingElse() async throws {
        let id = try SubmissionID.new()
        XCTAssertEqual(try SubmissionID.parse(id.uuidString), id)
        XCTAssertEqual(try SubmissionID.parse(id.uuidString.lowercased()), id)
        let none = [
            "", "1-2-3-4-5", "\(id) ", "{\(id)}", "\0", "00000000-0000-0000-0000-000000000000",
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
        ]
        for text in none {
            let refusal = try await refused { _ = try SubmissionID.parse(text) }
            XCTAssertEqual(refusal, .malformedID, text)
        }
        let outbox = try await open(ReferenceServer())
        let zero = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
        let refusal = try await refused { try await outbox.submit(order(zero)) }
        XCTAssertEqual(refusal, .malformedID)
    }
}

extension SubmitOnceError {
    fileprivate var field: String? {
        guard case .invalid(let field, _) = reason else { return nil }
        return field
    }
}
