import Foundation
import XCTest

@testable import SubmitOnce

/// Values that are fetched again and again: the latest that came is always at hand.
final class FetchedTests: OutboxTestCase {
    private struct Config: Decodable, Equatable { let theme: String }

    private func fetch(_ outbox: Outbox) async throws -> Snapshot {
        let id = try SubmissionID.new()
        try await outbox.submit(Submission(id, to: "/config", method: "GET", replaces: "config"))
        return try await outbox.settled(id)
    }

    private func answer(_ theme: String) -> String {
        let body = #"{\"theme\":\"\#(theme)\"}"#
        return #"""
            {"respond":{"status":200,"headers":[["ETag","\"\#(theme)\""]],"body":"\#(body)",
            "content_type":"application/json"}}
            """#
    }

    func testTheLatestValueStaysUntilANewerOneComes() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let before = try await outbox.current("config")
        XCTAssertNil(before)
        try await outbox.start()
        try await server.script(
            answer("dark"), #"{"respond":{"status":304}}"#, #"{"respond":{"status":404}}"#, answer("light"))
        let first = try await fetch(outbox)
        let found = try await outbox.current("config")
        let dark = try XCTUnwrap(found)
        XCTAssertEqual(dark.id, first.id)
        XCTAssertEqual(dark.status, 200)
        XCTAssertEqual(dark.contentType, "application/json")
        XCTAssertEqual(dark.text, #"{"theme":"dark"}"#)
        XCTAssertEqual(try dark.json(), Config(theme: "dark"))
        XCTAssertTrue(dark.headers.contains { $0.name.lowercased() == "etag" && $0.value == "\"dark\"" })
        XCTAssertEqual(dark.checkedAt, dark.fetchedAt)

        let unchanged = try await fetch(outbox)
        XCTAssertEqual(unchanged.state, .succeeded)
        let checked = try await outbox.current("config")
        XCTAssertEqual(checked?.id, first.id)
        XCTAssertEqual(checked?.body, dark.body)
        XCTAssertGreaterThanOrEqual(try XCTUnwrap(checked?.checkedAt), dark.checkedAt)

        let refused = try await fetch(outbox)
        XCTAssertNotEqual(refused.state, .succeeded)
        let kept = try await outbox.current("config")
        XCTAssertEqual(kept, checked)

        let last = try await fetch(outbox)
        let light = try await outbox.current("config")
        XCTAssertEqual(light?.id, last.id)
        XCTAssertEqual(try light?.json(), Config(theme: "light"))
    }

    func testAValueIsOfItsAccountAndSurvivesARestart() async throws {
        let server = try ReferenceServer()
        try await server.always(answer("dark"))
        let outbox = try await open(server)
        try await outbox.start()
        _ = try await fetch(outbox)
        await outbox.close()
        let again = try await open(server)
        let (nobodys, anns) = (
            try await again.current("config"), try await again.current("config", account: "ann")
        )
        XCTAssertEqual(nobodys?.text, #"{"theme":"dark"}"#)
        XCTAssertNil(anns)
        let refusal = try await refused { _ = try await again.current("") }
        guard case .invalid("key", _) = refusal else { return XCTFail("\(refusal)") }
    }
}
