import Foundation
import XCTest

@testable import SubmitOnce

/// Field case F71: text on its way through the border, the database and the network.
final class TextTests: OutboxTestCase {
    private let texts = [
        "a NUL\0 in the middle", "\0", "\u{FEFF}with a byte order mark", "🚀 four bytes 🚀",
        "\u{202E}right to left\u{202C} \u{0627}\u{0644}\u{0639}\u{0631}\u{0628}", "e\u{301} isn't \u{E9}",
        "\r\n\t\u{2028}\u{2029}", "\u{FFFD}\u{FFFE}\u{FFFF}", "", "👩‍👩‍👧‍👦 in one",
        "\"quotes\" and \\ 'slashes'; DROP TABLE submission;--",
    ]

    func testTextArrivesByteForByte() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        for text in texts {
            let json = try Body.json([text])
            guard case .jsonText(let written) = json else { return XCTFail("\(json)") }
            let bodies = [
                (json, Data(written.utf8)),
                (Body.bytes(Data(text.utf8), contentType: "text/plain; charset=utf-8"), Data(text.utf8)),
            ]
            for (body, bytes) in bodies {
                var order = try order()
                order.body = body
                try await outbox.submit(order)
                _ = try await outbox.drain(for: long)
                let record = try await server.records().last
                XCTAssertEqual(record?.bodySha256, try sha256(bytes), text.debugDescription)
                XCTAssertEqual(record?.bodyBytes, bytes.count, text.debugDescription)
                // The same again is the same: nothing was normalised on the way in.
                let again = try await outbox.submit(order)
                XCTAssertEqual(again.kind, .replayed)
            }
        }
    }

    // Swift calls these equal; their bytes are not, and the server's counts are by bytes.
    func testTextsThatSwiftCallsEqualAreTwoBodies() async throws {
        let outbox = try await open(ReferenceServer())
        let composed = try order(item: "\u{E9}")
        let decomposed = try order(composed.id, item: "e\u{301}")
        XCTAssertEqual(composed, decomposed)
        try await outbox.submit(composed)
        let refusal = try await refused { try await outbox.submit(decomposed) }
        guard case .keyReused = refusal else { return XCTFail("\(refusal)") }
    }

    func testNamesOfSlotsAndAccountsAreKeptApartByteForByte() async throws {
        let outbox = try await open(ReferenceServer())
        var ids: Set<UUID> = [try await outbox.begin("form")]
        let odd = ["\0", "\u{FEFF}", "🚀", "\u{202E}", "e\u{301}", "\u{E9}", "\n"]
        for (count, odd) in odd.enumerated() {
            let id = try await outbox.begin("form\(odd)")
            let again = try await outbox.begin("form\(odd)")
            XCTAssertEqual(id, again)
            ids.insert(id)
            XCTAssertEqual(ids.count, count + 2, odd.debugDescription)
            do {
                try await outbox.signIn("ann\(odd)")
                let account = try await outbox.signedIn()
                XCTAssertEqual(account.map { Array($0.utf8) }, Array("ann\(odd)".utf8))
                try await outbox.signOut()
            } catch let error as SubmitOnceError {
                guard case .invalid("account", _) = error.reason else { throw error }
            }
        }
    }

    // The answer goes the other way through the same border.
    func testAnAnswerComesBackByteForByte() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        try await server.script(
            #"{"respond":{"status":200,"body":"\u0000\uFEFF\uD83D\uDE80\u202E","content_type":"text/plain"}}"#
        )
        let order = try order()
        try await outbox.submit(order)
        _ = try await outbox.drain(for: long)
        let outcome = try await outbox.snapshot(of: order.id).outcome
        XCTAssertEqual(outcome?.body, Data("\0\u{FEFF}🚀\u{202E}".utf8))
        XCTAssertEqual(outcome?.text.map { Array($0.utf8) }, Array("\0\u{FEFF}🚀\u{202E}".utf8))
    }

    func testAMegabyteOfEveryByteArrivesAsItIs() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let bytes = Data((0..<(1 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 / 256) })
        var order = try order()
        // A part of something larger, whose first index isn't zero.
        order.body = .bytes((Data([1, 2, 3]) + bytes).dropFirst(3), contentType: "application/octet-stream")
        try await outbox.submit(order)
        _ = try await outbox.drain(for: long)
        let records = try await server.records()
        XCTAssertEqual(records.map(\.bodySha256), [try sha256(bytes)])
    }
}
