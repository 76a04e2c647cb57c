import Foundation
import XCTest

@testable import SubmitOnce

/// A test of an outbox that has a scheduler.
class BackgroundTestCase: OutboxTestCase {
    let scheduler = FakeScheduler()
    let complaints = Complaints()
    let reports = Reports()

    func open(_ server: ReferenceServer?, scheduler: FakeScheduler?) async throws -> Outbox {
        let outbox = try await Outbox.open(
            at: database,
            baseURL: server?.url ?? URL(string: "http://127.0.0.1:9"),
            limits: .quick,
            scheduler: scheduler,
            onCallbackError: { [complaints] in complaints.add($0) }
        )
        addTeardownBlock { await outbox.close() }
        return outbox
    }

    /// The system starts a run.
    func launch(_ kind: RunKind, _ open: @escaping @Sendable () async throws -> Outbox) -> BackgroundRun {
        scheduler.launch(kind)
        return BackgroundRun(
            kind,
            scheduler: scheduler,
            open: open,
            onError: { [complaints] in complaints.add($0) },
            complete: { [reports] in reports.add($0) }
        )
    }

    /// Nothing is ordered, or only after some minutes, as after trouble.
    func assertOnlyTroubleIsOrdered(_ kind: RunKind, file: StaticString = #filePath, line: UInt = #line) {
        let wait = scheduler.orders[kind]?.earliest?.timeIntervalSinceNow ?? 0
        XCTAssertEqual(wait, NextRuns.troubleAgain, accuracy: 60, file: file, line: line)
    }
}
