import Foundation
import SubmitOnce
import XCTest

final class SubmittingTests: OutboxTestCase {
    func testAButtonThatIsHammeredOrdersOnce() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let taps = try await withThrowingTaskGroup(of: Receipt.self) { group in
            for _ in 0..<16 {
                group.addTask { try await outbox.orderTea() }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        _ = try await outbox.drain(for: .seconds(30))
        XCTAssertEqual(taps.filter { $0.kind == .accepted }.count, 1)
        let summary = try await server.summary()
        XCTAssertEqual(summary.effects, 1)
        XCTAssertEqual(summary.keys, 1)
    }
}
