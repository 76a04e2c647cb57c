import Foundation
import XCTest

@testable import SubmitOnce

/// Everything that ends up in logs: how values are described, whichever way they are.
final class PrivacyTests: XCTestCase {
    private let secret = "geheim-4711"

    private func assertHides(_ value: Any, line: UInt = #line) {
        var dumped = ""
        dump(value, to: &dumped)
        let holder: Any = ["in": [value as Any?]]
        let texts = [
            "\(value)", String(describing: value), String(reflecting: value), dumped, "\(holder)",
            "\(Mirror(reflecting: value).children.map { "\($0)" })", String(describing: Optional(value)),
        ]
        for text in texts {
            XCTAssertFalse(text.contains(secret), text, line: line)
        }
    }

    private func outcome() -> Outcome {
        Outcome(
            status: 201,
            contentType: "text/plain",
            headers: [Header(name: "Set-Cookie", value: secret)],
            body: Data(secret.utf8),
            resultMissing: false,
            settledAt: Date(timeIntervalSince1970: 0)
        )
    }

    private func snapshot() -> Snapshot {
        Snapshot(
            id: UUID(),
            account: secret,
            method: "POST",
            url: "https://example.com/\(secret)",
            effect: .keyed,
            lane: secret,
            replaces: secret,
            state: .succeeded,
            revision: 3,
            waitingFor: nil,
            attempts: 1,
            nextAttemptAt: nil,
            inDoubt: false,
            acceptedAt: Date(timeIntervalSince1970: 0),
            progress: nil,
            lastProblem: nil,
            outcome: outcome(),
            lateEvidence: nil
        )
    }

    func testASubmissionShowsNeitherItsBodyNorItsURLNorItsHeaders() {
        let submission = Submission(
            UUID(),
            to: "https://example.com/\(secret)",
            body: .jsonText(secret),
            account: secret,
            headers: [Header(name: "X-Name", value: secret)],
            lane: secret,
            replaces: secret,
            parts: [ParentPart(of: UUID(), from: .header(name: secret), into: .query(name: secret))],
            probe: StatusProbe(url: secret)
        )
        assertHides(submission)
        XCTAssertTrue("\(submission)".contains(submission.id.uuidString))
    }

    func testABodyShowsItsSizeAtMost() {
        assertHides(Body.jsonText(secret))
        assertHides(Body.bytes(Data(secret.utf8), contentType: secret))
        assertHides(Body.file(URL(filePath: "/home/\(secret)"), contentType: secret))
        XCTAssertEqual("\(Body.bytes(Data([1, 2, 3]), contentType: "a/b"))", "bytes(3 bytes)")
        XCTAssertEqual("\(Body.empty)", "empty")
    }

    func testASnapshotShowsHowItStandsAndNotWhoseItIs() {
        assertHides(snapshot())
        XCTAssertTrue("\(snapshot())".contains("succeeded"))
    }

    func testAnOutcomeShowsItsStatusAndItsSize() {
        assertHides(outcome())
        XCTAssertEqual("\(outcome())", "Outcome(status: 201, bytes: 11, resultMissing: false)")
    }

    func testWhateverHoldsASnapshotHidesWhatItHides() {
        assertHides(Receipt(id: UUID(), kind: .accepted, snapshot: snapshot()))
        assertHides(Waited.settled(snapshot()))
        assertHides(Waited.held(snapshot()))
        assertHides(Waited.timedOut(snapshot()))
        assertHides(CancelOutcome.alreadyFinal(snapshot()))
        assertHides(CancelOutcome.mayHaveHappened(snapshot()))
        assertHides(Page(snapshots: [snapshot()], next: nil))
        assertHides(SubmitOnceError(.stale(current: snapshot()), "it has changed"))
        assertHides(SubmitOnceError.Reason.keyReused(id: UUID(), existing: snapshot(), differs: ["url"]))
    }

    func testCredentialsAndHeadersShowNoValues() {
        assertHides(Credentials.bearer(secret, validUntil: Date()))
        assertHides(Credentials(headers: [Header(name: "Authorization", value: secret)]))
        assertHides(Header(name: "Authorization", value: secret))
    }

    func testAResultThatSomebodyTypedInIsHidden() {
        assertHides(Resolution.itHappened(result: secret))
        let value = PartValue(into: .query(name: "order"), json: secret)
        assertHides(value)
        assertHides(Resolution.fillParts([value]))
    }

    func testAProbeHidesItsURLAndAReportWhoSignedOut() {
        assertHides(StatusProbe(url: "/orders?client=\(secret)", pointer: "/0"))
        assertHides(SignedOutReport(account: secret, kept: 1, cancelled: 2, abandoned: 3, succeeded: 4))
    }

    func testTheInboxShowsNeitherKeysNorContentsNorResults() {
        let data = Data(secret.utf8)
        let run = InboxRun(scope: "push", key: secret, number: 1)
        let date = Date(timeIntervalSince1970: 0)
        assertHides(InboxItem("push", secret, content: data, policy: .atMostOnce))
        assertHides(run)
        assertHides(InboxAnswer.run(run: run))
        assertHidesBytes(InboxAnswer.done(result: data, dropped: false, at: date))
        assertHidesBytes(Once.ran(result: data))
        assertHidesBytes(Once.before(result: data, dropped: false, at: date))
        assertHidesBytes(InboxDecision.happened(result: data))
        assertHides(UncertainItem(scope: "push", key: secret, since: date, runs: 1))
        assertHides(AppStatement("SELECT ?1", .text(secret)))
        assertHides([SQLValue.text(secret)])
        assertHidesBytes(SQLValue.blob(data))
        XCTAssertEqual("\(Once.ran(result: data))", "ran(11 bytes)")
        XCTAssertEqual("\(run)", "InboxRun { scope: \"push\", number: 1, .. }")
    }

    func testABatchHidesItsURLAndAFetchedValueWhatItIs() {
        let header = Header(name: "X-Name", value: secret)
        assertHides(BatchConfig("logs", to: "/logs/\(secret)", account: secret, headers: [header]))
        assertHidesBytes(
            Fetched(
                id: UUID(), status: 200, contentType: secret, headers: [header], body: Data(secret.utf8),
                fetchedAt: Date(timeIntervalSince1970: 0), checkedAt: Date(timeIntervalSince1970: 0)))
    }

    /// Bytes are dumped as numbers.
    private func assertHidesBytes(_ value: Any, line: UInt = #line) {
        assertHides(value, line: line)
        var dumped = ""
        dump(value, to: &dumped)
        XCTAssertFalse(dumped.contains("\(Array(secret.utf8)[0])"), dumped, line: line)
    }

    func testFinalStatesKnowThatTheyAre() {
        let final: [SubmissionState] = [
            .succeeded, .rejected(.refused), .cancelled, .expired, .superseded(by: UUID()), .abandoned,
        ]
        XCTAssertTrue(final.allSatisfy(\.isFinal))
        XCTAssertFalse([SubmissionState.pending, .inFlight, .held(.conflict)].contains(where: \.isFinal))
    }
}
