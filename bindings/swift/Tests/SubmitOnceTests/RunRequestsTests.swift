import Foundation
import XCTest

@testable import SubmitOnce

/// What the core writes down of the runs that an app's scheduler owes it.
final class RunRequestsTests: OutboxTestCase {
    func testARunThatNobodyCouldScheduleIsAdoptedByTheNextProcess() async throws {
        let server = try ReferenceServer()
        let first = try await open(server)
        let asked = try await first.call { try $0.requestRun(network: .any) }
        XCTAssertTrue(asked)
        await first.close()
        let second = try await open(server)
        let adopted = try await second.call { try $0.adoptRunRequests() }
        XCTAssertEqual(adopted, [.any])
        try await second.call { try $0.runScheduled(network: .any) }
        await second.close()
        let third = try await open(server)
        let none = try await third.call { try $0.adoptRunRequests() }
        XCTAssertEqual(none, [])
    }

    func testARunIsAskedForOnceUntilItIsCleared() async throws {
        let outbox = try await open(ReferenceServer())
        for expected in [true, false] {
            let asked = try await outbox.call { try $0.requestRun(network: .unmetered) }
            XCTAssertEqual(asked, expected)
            try await outbox.call { try $0.runScheduled(network: .unmetered) }
        }
        try await outbox.call { try $0.clearRunRequest(network: .unmetered) }
        let anew = try await outbox.call { try $0.requestRun(network: .unmetered) }
        XCTAssertTrue(anew)
    }
}
