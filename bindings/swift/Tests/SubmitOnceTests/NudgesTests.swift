import Foundation
import XCTest

@testable import SubmitOnce

/// Who is nudged, and when the core is listened to.
final class NudgesTests: XCTestCase {
    private func makeNudges() -> (Nudges, Locked<[Bool]>) {
        let told = Locked<[Bool]>([])
        return (Nudges { on in told.withLock { $0.append(on) } }, told)
    }

    func testTheCoreIsToldOfTheFirstAndOfTheLastListener() throws {
        let (nudges, told) = makeNudges()
        XCTAssertEqual(told.withLock { $0 }, [])
        var first: AsyncStream<Void>? = try nudges.stream()
        var second: AsyncStream<Void>? = try nudges.stream()
        XCTAssertEqual(told.withLock { $0 }, [true])
        withExtendedLifetime(first) {}
        first = nil
        XCTAssertEqual(told.withLock { $0 }, [true])
        withExtendedLifetime(second) {}
        second = nil
        XCTAssertEqual(told.withLock { $0 }, [true, false])
    }

    func testManyNudgesAreOneForASlowListener() async throws {
        let (nudges, _) = makeNudges()
        let stream = try nudges.stream()
        for _ in 0..<100 {
            nudges.nudge()
        }
        nudges.close()
        var count = 0
        for await _ in stream {
            count += 1
        }
        XCTAssertEqual(count, 1)
    }

    func testNobodyEntersAfterClosing() throws {
        let (nudges, told) = makeNudges()
        nudges.close()
        nudges.nudge()
        XCTAssertThrowsError(try nudges.stream()) { XCTAssertEqual(($0 as? SubmitOnceError)?.reason, .closed) }
        XCTAssertEqual(told.withLock { $0 }, [])
    }

    func testACoreThatCantBeListenedToIsToldAndForgotten() throws {
        let nudges = Nudges { on in
            if on { throw SubmitOnceError.closed }
        }
        XCTAssertThrowsError(try nudges.stream())
        XCTAssertEqual(nudges.listeners, 0)
        XCTAssertFalse(nudges.isListening)
    }

    func testListenersThatComeAndGoFromEverywhereLeaveNothingBehind() async throws {
        let (nudges, told) = makeNudges()
        await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<200 {
                group.addTask {
                    let stream = try nudges.stream()
                    nudges.nudge()
                    _ = await stream.first { _ in true }
                }
            }
        }
        try await eventually("they are gone") { nudges.listeners == 0 && !nudges.isListening }
        let calls = told.withLock { $0 }
        // On and off take turns, whoever comes between.
        XCTAssertEqual(calls, calls.indices.map { $0 % 2 == 0 })
        XCTAssertEqual(calls.last, false)
    }
}
