import Foundation
import XCTest

@testable import SubmitOnce

final class NextRunsTests: XCTestCase {
    private let now = Date(timeIntervalSince1970: 1_000_000)

    func testNothingWaitsSoNoRunIsOrdered() {
        XCTAssertEqual(runs(after: .nothingDue, look()), [])
    }

    func testWhatIsDueLaterOrdersBothKindsForThen() {
        let at = now.addingTimeInterval(600)
        XCTAssertEqual(
            runs(after: .nothingDue, look(nextWakeAt: at)),
            [RunRequest(.refresh, earliest: at), RunRequest(.processing, earliest: at)]
        )
    }

    func testWhatIsDueAlreadyIsNotOrderedAtOnce() {
        for due in [now.addingTimeInterval(-5), now, now.addingTimeInterval(9)] {
            let requests = runs(after: .budgetEnded, look(nextWakeAt: due))
            XCTAssertEqual(requests.map(\.earliest), [now.addingTimeInterval(10), now.addingTimeInterval(10)])
        }
    }

    func testCredentialsAreLookedForEachHour() {
        let hour = now.addingTimeInterval(3600)
        XCTAssertEqual(runs(after: .credentialsNeeded, look()).map(\.earliest), [hour, hour])
        let stopped = look(stopped: .credentialsNeeded)
        XCTAssertEqual(runs(after: nil, stopped).map(\.earliest), [hour, hour])
        let sooner = now.addingTimeInterval(60)
        let requests = runs(after: .credentialsNeeded, look(nextWakeAt: sooner))
        XCTAssertEqual(requests.map(\.earliest), [sooner, sooner])
    }

    func testWhatWaitsForAnUnmeteredNetworkOrdersProcessingOnly() {
        let quarter = now.addingTimeInterval(900)
        XCTAssertEqual(
            runs(after: .nothingDue, look(awaitsUnmetered: true)),
            [RunRequest(.processing, earliest: quarter)]
        )
        XCTAssertEqual(NextRuns.now(.unmetered), [RunRequest(.processing)])
    }

    func testOnlyProcessingAsksForANetworkAndNothingForPower() {
        XCTAssertFalse(RunRequest(.refresh).needsNetwork)
        XCTAssertTrue(RunRequest(.processing).needsNetwork)
        XCTAssertFalse(RunRequest(.processing).needsPower)
        XCTAssertLessThan(RunKind.refresh.budget, .seconds(30))
    }

    func testASuspendedOutboxInWhichSomethingWaitsOrdersSoon() {
        let soon = now.addingTimeInterval(10)
        let suspended = look(stopped: .suspended)
        XCTAssertEqual(runs(after: nil, suspended, waiting: true).map(\.earliest), [soon, soon])
        XCTAssertEqual(runs(after: nil, suspended, waiting: false), [])
    }

    private func runs(after drained: DrainStop?, _ look: DrainReport, waiting: Bool = true) -> [RunRequest] {
        NextRuns.after(drained, look, waiting: waiting, now: now)
    }

    private func look(
        stopped: DrainStop = .nothingDue,
        nextWakeAt: Date? = nil,
        awaitsUnmetered: Bool = false
    ) -> DrainReport {
        DrainReport(
            attempts: 0, succeeded: 0, endedOtherwise: 0, held: 0, toRepeat: 0, inFlight: 0,
            stopped: stopped, nextWakeAt: nextWakeAt, awaitsUnmetered: awaitsUnmetered
        )
    }
}
