import Foundation
import XCTest

@testable import SubmitOnce

/// Submissions that need a background run get one, once for many, and whatever happens in between.
final class OrderingTests: BackgroundTestCase {
    func testManySubmissionsOrderOnce() async throws {
        let outbox = try await open(nil, scheduler: scheduler)
        for _ in 0..<5 {
            try await outbox.submit(Submission(SubmissionID.new(), to: "/orders"))
        }
        try await outbox.submitAll((0..<5).map { _ in Submission(try SubmissionID.new(), to: "/orders") })
        XCTAssertEqual(scheduler.submitted, [RunRequest(.refresh), RunRequest(.processing)])
        XCTAssertTrue(complaints.errors.isEmpty)
    }

    func testOneThatWaitsForAnUnmeteredNetworkOrdersProcessing() async throws {
        let outbox = try await open(nil, scheduler: scheduler)
        try await outbox.submit(Submission(SubmissionID.new(), to: "/photos", unmeteredOnly: true))
        XCTAssertEqual(scheduler.submitted, [RunRequest(.processing)])
        try await outbox.submit(Submission(SubmissionID.new(), to: "/orders"))
        XCTAssertEqual(Set(scheduler.orders.keys), [.refresh, .processing])
    }

    func testARefusedOrderFailsNoSubmissionAndTheNextAsksAgain() async throws {
        let outbox = try await open(nil, scheduler: scheduler)
        scheduler.refuse(true)
        let receipt = try await outbox.orderTea()
        XCTAssertEqual(receipt.kind, .accepted)
        XCTAssertTrue(complaints.errors.first is FakeScheduler.Refused)
        XCTAssertEqual(complaints.errors.count, 1)
        scheduler.refuse(false)
        _ = try await outbox.orderTea(slot: "another")
        XCTAssertEqual(Set(scheduler.orders.keys), [.refresh, .processing])
    }

    func testWhatDiedBeforeItCouldOrderIsOrderedAtTheNextOpening() async throws {
        let before = try await open(nil, scheduler: nil)
        try await before.submit(Submission(SubmissionID.new(), to: "/photos", unmeteredOnly: true))
        await before.close()
        _ = try await open(nil, scheduler: scheduler)
        XCTAssertEqual(scheduler.submitted, [RunRequest(.processing)])
    }

    func testOpeningMakesSureOfARunWhereTheSystemHasForgottenIt() async throws {
        let before = try await open(nil, scheduler: FakeScheduler())
        _ = try await before.orderTea()
        await before.close()
        _ = try await open(nil, scheduler: scheduler)
        XCTAssertEqual(Set(scheduler.orders.keys), [.refresh, .processing])
    }

    func testOpeningAnEmptyOutboxOrdersNothing() async throws {
        _ = try await open(nil, scheduler: scheduler)
        XCTAssertEqual(scheduler.submitted, [])
    }

    func testWhatIsSubmittedAfterAllOrdersWereCancelledOrdersAgain() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server, scheduler: scheduler)
        _ = try await outbox.orderTea()
        _ = try await outbox.drain(for: .seconds(30))
        try await outbox.runs.orderNext()
        XCTAssertEqual(scheduler.orders, [:])
        _ = try await outbox.orderTea(slot: "another")
        XCTAssertEqual(Set(scheduler.orders.keys), [.refresh, .processing])
    }
}
