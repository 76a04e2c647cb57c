import Foundation
import XCTest

@testable import SubmitOnce

/// The inbox with a real second process, which is killed after its effect and before that is recorded.
final class InboxProcessTests: OutboxTestCase {
    /// What both processes show: a line in a file for each time.
    private var screen: URL { folder.appending(path: "screen") }

    private func shown() throws -> Int {
        try String(contentsOf: screen, encoding: .utf8).split(separator: "\n").count
    }

    /// A process that has shown the message, and hasn't recorded it.
    private func child(_ policy: InboxPolicy) throws -> Child {
        let child = try Child("push", database.path, screen.path, "\(policy)")
        guard try child.line() == "shown" else { throw Trouble("it didn't show it") }
        return child
    }

    private func end(_ child: Child) throws {
        child.kill()
        // Its end is the end of what it says.
        _ = try child.rest()
    }

    private func show(_ inbox: Inbox, _ policy: InboxPolicy) async throws -> Once {
        try await inbox.once("push", "m1", policy: policy) {
            let before = try String(contentsOf: screen, encoding: .utf8)
            try Data((before + "here\n").utf8).write(to: screen)
            return "here"
        }
    }

    func testAtMostOnceIsNeverShownTwiceAndSomebodyDecides() async throws {
        let child = try child(.atMostOnce)
        let inbox = try await open().inbox
        let during = try await show(inbox, .atMostOnce)
        guard case .busy = during else { return XCTFail("\(during)") }
        try end(child)
        let items = try await inbox.uncertain()
        XCTAssertEqual(items.map(\.key), ["m1"])
        let after = try await show(inbox, .atMostOnce)
        guard case .uncertain = after else { return XCTFail("\(after)") }
        XCTAssertEqual(try shown(), 1)
        try await inbox.decide("push", "m1", as: .happened())
        let decided = try await show(inbox, .atMostOnce)
        guard case .before(nil, dropped: false, _) = decided else { return XCTFail("\(decided)") }
        XCTAssertEqual(try shown(), 1)
    }

    func testAtLeastOnceIsShownAgainAndThenNoMore() async throws {
        let child = try child(.atLeastOnce)
        let inbox = try await open().inbox
        let during = try await show(inbox, .atLeastOnce)
        guard case .busy = during else { return XCTFail("\(during)") }
        try end(child)
        let after = try await show(inbox, .atLeastOnce)
        XCTAssertEqual(after.text, "here")
        XCTAssertEqual(try shown(), 2)
        let again = try await show(inbox, .atLeastOnce)
        XCTAssertEqual(again.text, "here")
        XCTAssertEqual(try shown(), 2)
    }
}
