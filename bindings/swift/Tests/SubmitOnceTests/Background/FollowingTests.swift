import Foundation
import XCTest

@testable import SubmitOnce

/// What comes from the system while the outbox is opened, and after.
final class FollowingTests: BackgroundTestCase {
    func testALaunchOnTheScreenDelivers() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server, scheduler: nil)
        let id = try await outbox.orderTea().id
        let follower = ScreenFollower(SharedOutbox { outbox }) { _ in }
        follower.entered()
        let waited = try await outbox.wait(for: id, upTo: .seconds(30))
        guard case .settled = waited else { return XCTFail("\(waited)") }
    }

    func testAnAppThatLeavesWhileItsOutboxIsOpenedDeliversNothing() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server, scheduler: nil)
        _ = try await outbox.orderTea()
        let gate = Gate()
        let shared = SharedOutbox {
            await gate.pass()
            return outbox
        }
        let follower = ScreenFollower(shared) { _ in }
        let entering = follower.entered()
        follower.left(FakeTime())
        gate.open()
        await entering.value
        XCTAssertEqual(outbox.runs.stage.withLock { $0.moves }, 0)
    }

    func testWhatTheFollowerCannotOpenIsTold() async throws {
        let told = Gate()
        let follower = ScreenFollower(SharedOutbox { throw SubmitOnceError.closed }) { _ in told.open() }
        follower.entered()
        await told.pass()
    }

    func testARunKnowsTheNetworkFromItsFirstPath() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server, scheduler: nil)
        let photo = Submission(try SubmissionID.new(), to: "/photos", unmeteredOnly: true)
        try await outbox.submit(photo)
        let before = try await outbox.drain(for: .seconds(30))
        XCTAssertTrue(before.awaitsUnmetered)
        let (paths, continuation) = AsyncStream.makeStream(of: NetworkPath.self)
        continuation.yield(NetworkPath(isSatisfied: true, isExpensive: false, isConstrained: false))
        await outbox.follow(paths)
        let after = try await outbox.drain(for: .seconds(30))
        XCTAssertEqual(after.succeeded, 1)
    }

    func testAnIdentifierIsRegisteredOnce() {
        let registrations = Registrations()
        XCTAssertTrue(registrations.take(["refresh", "processing"]))
        XCTAssertFalse(registrations.take(["refresh", "processing"]))
        XCTAssertFalse(registrations.take(["processing", "other"]))
        XCTAssertTrue(registrations.take(["other"]))
        XCTAssertFalse(registrations.take(["same", "same"]))
    }
}
