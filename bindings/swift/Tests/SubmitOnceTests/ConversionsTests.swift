import Foundation
import SubmitOnceGenerated
import XCTest

@testable import SubmitOnce

/// Values on their way to the core and back: each case, and each member.
final class ConversionsTests: XCTestCase {
    private typealias Submission = SubmitOnce.Submission
    private typealias Resolution = SubmitOnce.Resolution
    private typealias ParentPart = SubmitOnce.ParentPart
    private typealias WaitingFor = SubmitOnce.WaitingFor
    private typealias SubmissionState = SubmitOnce.SubmissionState

    private let id = UUID()
    private let at = Date(timeIntervalSince1970: 1_000_000)

    func testEachReasonToWaitComesOver() throws {
        let other = id.lowered()
        let pairs: [(RawWaitingFor, WaitingFor)] = [
            (.due(at: at), .due(at: at)),
            (.network(at: at), .network(at: at)),
            (.certificate(at: at, clockSuspected: true), .certificate(at: at, clockSuspected: true)),
            (.unmetered, .unmetered),
            (.gate(until: at), .gate(until: at)),
            (.credentials, .credentials),
            (.signedOut, .signedOut),
            (.lane(id: other), .lane(id)),
            (.newer(id: other), .newer(id)),
            (.older(id: other), .older(id)),
            (.parent(id: other), .parent(id)),
            (.probe(at: at), .probe(at: at)),
        ]
        for (raw, waitingFor) in pairs {
            XCTAssertEqual(try raw.lifted(), waitingFor)
        }
        XCTAssertEqual(Set(pairs.map(\.1)).count, pairs.count)
        XCTAssertThrowsError(try RawWaitingFor.parent(id: "none").lifted())
    }

    func testEachStateComesOver() throws {
        let pairs: [(RawState, SubmissionState)] = [
            (.pending, .pending), (.inFlight, .inFlight), (.held(reason: .restored), .held(.restored)),
            (.succeeded, .succeeded), (.rejected(reason: .dependency), .rejected(.dependency)),
            (.cancelled, .cancelled), (.expired, .expired),
            (.superseded(by: id.lowered()), .superseded(by: id)), (.abandoned, .abandoned),
        ]
        for (raw, state) in pairs {
            XCTAssertEqual(try raw.lifted(), state)
        }
    }

    func testEachDecisionGoesOver() throws {
        let value = PartValue(into: .path(placeholder: "{order}"), json: "17")
        let pairs: [(Resolution, RawResolution)] = [
            (.retrySameKey(), .retrySameKey(acceptSecondEffect: false)),
            (.retrySameKey(acceptSecondEffect: true), .retrySameKey(acceptSecondEffect: true)),
            (.itHappened(), .itHappened(result: nil)),
            (.itHappened(result: "7"), .itHappened(result: "7")),
            (.giveUp, .giveUp),
            (.fillParts([value]), .fillParts(values: [value])),
        ]
        for (resolution, raw) in pairs {
            XCTAssertEqual(try resolution.lowered(), raw)
        }
    }

    func testABatchGoesOverWithEveryMember() throws {
        let header = Header(name: "X-App", value: "shop")
        let raw = try SubmitOnce.BatchConfig(
            "logs", to: "/logs", account: "ann", method: "PUT", effect: .overwrite, headers: [header],
            format: .jsonObject(member: "events"), idMember: "uuid", maxRecords: 7, maxBytes: 70, maxAge: .seconds(5),
            priority: -1, unmeteredOnly: true
        ).lowered()
        XCTAssertEqual([raw.key, raw.url, raw.account, raw.method], ["logs", "/logs", "ann", "PUT"])
        XCTAssertEqual(raw.effect, .overwrite)
        XCTAssertEqual(raw.headers, [header])
        XCTAssertEqual(raw.format, .jsonObject(member: "events"))
        XCTAssertEqual(raw.idMember, "uuid")
        XCTAssertEqual([raw.maxRecords, raw.maxBytes], [7, 70])
        XCTAssertEqual(raw.maxAge, 5)
        XCTAssertTrue(raw.priority == -1 && raw.unmeteredOnly)
    }

    // What is left out is what the core leaves out.
    func testTheDefaultsAreTheCores() throws {
        let config = try SubmitOnce.BatchConfig("logs", to: "/logs").lowered()
        XCTAssertEqual(config, RawBatchConfig(key: "logs", url: "/logs"))
        let item = try SubmitOnce.InboxItem("push", "1", policy: .atMostOnce).lowered()
        XCTAssertEqual(item, RawInboxItem(scope: "push", key: "1", policy: .atMostOnce))
        let scope = try SubmitOnce.InboxScope("push", keepResults: .seconds(60)).lowered()
        XCTAssertEqual(scope, RawInboxScope(name: "push", keepResults: 60))
    }

    func testWhatTheInboxIsGivenGoesOver() throws {
        let data = Data("tea".utf8)
        var item = SubmitOnce.InboxItem("tool", "1", content: data, policy: .atLeastOnce)
        item.lease = .milliseconds(1500)
        XCTAssertEqual(
            try item.lowered(),
            RawInboxItem(scope: "tool", key: "1", content: data, policy: .atLeastOnce, lease: 1.5)
        )
        let scope = try SubmitOnce.InboxScope("push", keepResults: .seconds(60), keepKeys: .seconds(7)).lowered()
        XCTAssertEqual(scope, RawInboxScope(name: "push", keepResults: 60, keepKeys: 7))
        XCTAssertEqual(try SubmitOnce.InboxDecision.happened(result: data).lowered(), .happened(result: data))
        XCTAssertEqual(try SubmitOnce.InboxDecision.happened().lowered(), .happened(result: nil))
        XCTAssertEqual(try SubmitOnce.InboxDecision.runAgain.lowered(), .runAgain)
    }

    func testEachValueOfSQLiteGoesOverAndComesBack() throws {
        let pairs: [(SQLValue, RawValue)] = [
            (.null, .null), (.integer(.min), .integer(value: .min)), (.real(1.5), .real(value: 1.5)),
            (.text("a"), .text(value: "a")), (.blob(Data([0])), .blob(value: Data([0]))),
        ]
        let raw = try SubmitOnce.AppStatement("SELECT", parameters: pairs.map(\.0)).lowered()
        XCTAssertEqual(raw, RawStatement(sql: "SELECT", parameters: pairs.map(\.1)))
        XCTAssertEqual(raw.parameters.map(\.lifted), pairs.map(\.0))
    }

    func testAFetchedValueComesOverWithEveryMember() throws {
        let header = Header(name: "ETag", value: "1")
        let later = Date(timeIntervalSince1970: 2_000_000)
        let fetched = try RawFetched(
            id: id.lowered(), status: 203, contentType: "text/plain", headers: [header], body: Data("tea".utf8),
            fetchedAt: at, checkedAt: later
        ).lifted()
        XCTAssertEqual(fetched.id, id)
        XCTAssertEqual(fetched.status, 203)
        XCTAssertEqual([fetched.contentType, fetched.text], ["text/plain", "tea"])
        XCTAssertEqual(fetched.headers, [header])
        XCTAssertEqual([fetched.fetchedAt, fetched.checkedAt], [at, later])
    }

    func testASubmissionGoesOverWithEverythingThatHangsOnIt() throws {
        let parent = UUID()
        let sources: [PartSource] = [.jsonPointer(pointer: "/id"), .header(name: "Location")]
        let targets: [PartTarget] = [
            .path(placeholder: "{order}"), .query(name: "order"), .header(name: "X-Order"), .json(pointer: "/order"),
        ]
        var submission = Submission(id, to: "/photos/{order}", lane: "photos", lanePolicy: .rejectRest)
            .after(parent, UUID())
        for source in sources {
            for target in targets {
                submission = submission.part(of: parent, from: source, into: target)
            }
        }
        submission.replaces = "photo/1"
        submission.probe = StatusProbe(url: "/photos/{id}")
        let raw = try submission.lowered()
        XCTAssertEqual(raw.lane, "photos")
        XCTAssertEqual(raw.lanePolicy, .rejectRest)
        XCTAssertEqual(raw.replaces, "photo/1")
        XCTAssertEqual(raw.after, submission.after.map { $0.lowered() })
        XCTAssertEqual(raw.parts.count, 8)
        XCTAssertEqual(raw.parts.map(\.parent), Array(repeating: parent.lowered(), count: 8))
        XCTAssertEqual(raw.parts.map(\.from), submission.parts.map(\.source))
        XCTAssertEqual(raw.parts.map(\.into), targets + targets)
        XCTAssertEqual(
            raw.probe,
            StatusProbe(url: "/photos/{id}", pointer: nil, missingMeansNotApplied: true, ofKeyRecord: false)
        )
        let plain = try Submission(id, to: "/photos").lowered()
        XCTAssertEqual(plain.after, [])
        XCTAssertEqual(plain.parts, [])
        XCTAssertTrue(plain.lane == nil && plain.lanePolicy == nil && plain.replaces == nil && plain.probe == nil)
    }

    func testASubmissionStaysAsItIsWhenAnotherIsMadeFromIt() {
        let plain = Submission(id, to: "/photos")
        let child = plain.after(UUID()).part(of: UUID(), from: .header(name: "ETag"), into: .query(name: "tag"))
        XCTAssertEqual([plain.after.count, plain.parts.count], [0, 0])
        XCTAssertEqual([child.after.count, child.parts.count], [1, 1])
    }

    func testASnapshotComesOverWithEveryMember() throws {
        let raw = RawSnapshot(
            id: id.lowered(),
            account: "ann",
            method: "PUT",
            url: "https://example.com/photos",
            effect: .overwrite,
            lane: "photos",
            replaces: "photo/1",
            state: .pending,
            revision: 3,
            waitingFor: .older(id: id.lowered()),
            attempts: 2,
            nextAttemptAt: at,
            inDoubt: true,
            acceptedAt: Date(timeIntervalSinceNow: -3600),
            progress: RawProgress(id: id.lowered(), sent: 5, total: 9),
            lastProblem: "no answer",
            outcome: nil,
            lateEvidence: "a late answer"
        )
        let snapshot = try raw.lifted()
        XCTAssertEqual(snapshot.id, id)
        XCTAssertEqual([snapshot.account, snapshot.lane, snapshot.replaces], ["ann", "photos", "photo/1"])
        XCTAssertEqual([snapshot.method, snapshot.url], ["PUT", "https://example.com/photos"])
        XCTAssertEqual(snapshot.effect, .overwrite)
        XCTAssertEqual(snapshot.waitingFor, .older(id))
        XCTAssertEqual(snapshot.nextAttemptAt, at)
        XCTAssertEqual(snapshot.acceptedAt, raw.acceptedAt)
        XCTAssertEqual(snapshot.age.timeInterval, 3600, accuracy: 60)
        XCTAssertEqual(snapshot.progress, UploadProgress(id: id, sent: 5, total: 9))
        XCTAssertEqual([snapshot.lastProblem, snapshot.lateEvidence], ["no answer", "a late answer"])
        XCTAssertTrue(snapshot.inDoubt && snapshot.revision == 3 && snapshot.attempts == 2)
    }

    func testOfTheFutureNothingIsOld() throws {
        let raw = RawSnapshot(
            id: id.lowered(), account: nil, method: "POST", url: "", effect: .keyed, lane: nil, replaces: nil,
            state: .pending, revision: 1, waitingFor: nil, attempts: 0, nextAttemptAt: nil, inDoubt: false,
            acceptedAt: Date(timeIntervalSinceNow: 3600), progress: nil, lastProblem: nil, outcome: nil,
            lateEvidence: nil
        )
        XCTAssertEqual(try raw.lifted().age, .zero)
    }

    func testNumbersComeOverUnderTheirNames() {
        let raw = RawStats(
            pending: 1, inFlight: 2, held: 3,
            heldByReason: [HeldCount(reason: .restored, count: 4), HeldCount(reason: .damaged, count: 5)],
            inDoubt: 6, oldestAge: 7.5, queuedBytes: 8, resultBytes: 9, databaseBytes: 10, submitCalls: 11,
            accepted: 12, joined: 13, replayed: 14, reuseRefused: 15, succeeded: 16, rejected: 17, cancelled: 18,
            expired: 19, superseded: 20, abandoned: 21, attempts: 22, retriesAfterAnswer: 23,
            retriesAfterSilence: 24, retriesAfterNoConnection: 25, doubtsRaised: 26, doubtsSettled: 27,
            duplicateHitRate: 0.28, reuseRefusedRate: 0.29, abnormalRetryRate: 0.3,
            timeToSettle: [
                SubmitOnceGenerated.SettleTimes(atMost: 0.5, count: 31),
                SubmitOnceGenerated.SettleTimes(atMost: nil, count: 32),
            ],
            lastCursor: 33, inboxRuns: 34, inboxRepeats: 35, inboxUncertain: 36, records: 37
        )
        let stats = raw.lifted
        // The names are the same; what is made of them is in order.
        let plain = Mirror(reflecting: stats).children.map { ($0.label, "\($0.value)") }
        let given = Mirror(reflecting: raw).children.map { ($0.label, "\($0.value)") }
        XCTAssertEqual(plain.map(\.0), given.map(\.0))
        let others: Set<String?> = ["heldByReason", "oldestAge", "timeToSettle"]
        for (one, other) in zip(plain, given) where !others.contains(one.0) {
            XCTAssertEqual(one.1, other.1, one.0 ?? "")
        }
        XCTAssertEqual(stats.heldByReason, [.restored: 4, .damaged: 5])
        XCTAssertEqual(stats.oldestAge, .milliseconds(7500))
        XCTAssertEqual(stats.timeToSettle.map(\.atMost), [.milliseconds(500), nil])
        XCTAssertEqual(stats.timeToSettle.map(\.count), [31, 32])
    }

    func testReportsComeOver() {
        XCTAssertEqual(RawResolvedAll(resolved: 2, refused: 3).lifted, ResolvedAll(resolved: 2, refused: 3))
        XCTAssertEqual(
            RawSignedOutReport(account: "ann", kept: 1, cancelled: 2, abandoned: 3, succeeded: 4).lifted,
            SignedOutReport(account: "ann", kept: 1, cancelled: 2, abandoned: 3, succeeded: 4)
        )
    }

    func testAFilterOfEachKindAsksForItAlone() throws {
        let filters: [(ListFilter, ListState?)] = [
            (.all, nil), (.moving, .moving), (.held, .held), (.settled, .settled),
        ]
        for (filter, state) in filters {
            XCTAssertEqual(try filter.carried(), ListFilter(state: state))
        }
    }
}
