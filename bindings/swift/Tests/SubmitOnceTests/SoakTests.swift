import Foundation
import XCTest

@testable import SubmitOnce

/// Nothing is left behind by a call: no handle, no task, no buffer.
final class SoakTests: OutboxTestCase {
    #if os(Linux)
        func testMemoryAfter100000SubmitsIsAtMost4MBOverThatAfterATenth() async throws {
            let server = try ReferenceServer()
            try await server.always(#"{"respond":{"status":201,"content_type":"application/json","body":"{}"}}"#)
            let child = try Child("soak", database.path, server.url.absoluteString, "100000", "10000")
            let said = try child.rest()
            print(said)
            XCTAssertTrue(said.contains("accepted: 100000, pending: 0, attempts: 100000"), said)
            let numbers = said.split(separator: "\n").prefix(2).compactMap { $0.split(separator: " ").last }
                .compactMap { Int($0) }
            XCTAssertEqual(numbers.count, 2)
            let grown = numbers[1] - numbers[0]
            XCTAssertLessThanOrEqual(grown, 4096, "it grew by \(grown) KiB")
        }
    #endif
}
