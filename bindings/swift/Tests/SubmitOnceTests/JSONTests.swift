import Foundation
import SubmitOnce
import XCTest

/// Values as JSON: what is sent, and what comes back.
final class JSONTests: OutboxTestCase {
    private struct Order: Codable, Equatable {
        var item = "tea / große Tasse"
        var count = 2
        var at = Date(timeIntervalSince1970: 1_767_323_045)
        var notes = ["zucker": "2", "milch": "nein", "apfel": "ja", "birne": "ja", "kiwi": "nein"]
    }

    private struct Result: Decodable, Equatable {
        let effect: Int
    }

    func testAValueGivesTheSameBytesEachTime() throws {
        let first = try Body.json(Order())
        for _ in 0..<50 {
            // A new dictionary has its members in an order of its own.
            var order = Order()
            order.notes = Dictionary(uniqueKeysWithValues: order.notes.shuffled())
            XCTAssertEqual(try Body.json(order), first)
        }
        let text =
            #"{"at":"2026-01-02T03:04:05Z","count":2,"item":"tea / große Tasse","notes":"#
            + #"{"apfel":"ja","birne":"ja","kiwi":"nein","milch":"nein","zucker":"2"}}"#
        XCTAssertEqual(first, .jsonText(text))
    }

    func testARepeatOfAValueIsMet() async throws {
        let outbox = try await open(ReferenceServer())
        let id = try await outbox.begin("form")
        for kind in [ReceiptKind.accepted, .joined, .joined] {
            let receipt = try await outbox.submit(Submission(id, to: "/orders", body: .json(Order())))
            XCTAssertEqual(receipt.kind, kind)
        }
    }

    func testAnEncoderWithoutSortedKeysIsRefused() async throws {
        let encoder = JSONEncoder()
        let refusal = try await refused { _ = try Body.json(Order(), encoder: encoder) }
        guard case .invalid("encoder", let problem) = refusal else { return XCTFail("\(refusal)") }
        XCTAssertTrue(problem.contains("sortedKeys"))
        encoder.outputFormatting = [.sortedKeys]
        encoder.dateEncodingStrategy = .secondsSince1970
        guard case .jsonText(let text) = try Body.json(Order(), encoder: encoder) else { return XCTFail("no text") }
        XCTAssertTrue(text.contains(#""at":1767323045"#), text)
    }

    func testWhatCantBeEncodedIsTheEncodersError() {
        XCTAssertThrowsError(try Body.json([Double.nan])) { XCTAssertTrue($0 is EncodingError, "\($0)") }
    }

    func testWhatIsNoJSONIsRefusedAndNothingIsStored() async throws {
        let outbox = try await open(ReferenceServer())
        for text in ["", "tea", "{", #"{"a":1,}"#, "\u{FEFF}{}"] {
            let id = try SubmissionID.new()
            let refusal = try await refused {
                try await outbox.submit(Submission(id, to: "/orders", body: .jsonText(text)))
            }
            guard case .invalid = refusal else { return XCTFail("\(text): \(refusal)") }
        }
        let stats = try await outbox.stats()
        XCTAssertEqual(stats.accepted, 0)
    }

    func testAResultIsDecoded() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        try await server.script(
            #"{"respond":{"status":201,"body":"{\"effect\":7}","content_type":"application/json"}}"#
        )
        let receipt = try await outbox.orderTea()
        _ = try await outbox.drain(for: long)
        let outcome = try await outbox.snapshot(of: receipt.id).outcome
        XCTAssertEqual(try outcome?.json(as: Result.self), Result(effect: 7))
        let inferred: Result? = try outcome?.json()
        XCTAssertEqual(inferred, Result(effect: 7))
        XCTAssertThrowsError(try outcome?.json(as: [Int].self)) { XCTAssertTrue($0 is DecodingError) }
    }

    func testAnAnswerWithoutABodyDecodesToNothingOrIsNoJSON() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        try await server.script(#"{"respond":{"status":204}}"#)
        let receipt = try await outbox.orderTea()
        _ = try await outbox.drain(for: long)
        let outcome = try await outbox.snapshot(of: receipt.id).outcome
        XCTAssertEqual(outcome?.status, 204)
        if let body = outcome?.body {
            XCTAssertEqual(body, Data())
            XCTAssertThrowsError(try outcome?.json(as: Result.self))
        } else {
            XCTAssertNil(try outcome?.json(as: Result.self))
        }
    }
}
