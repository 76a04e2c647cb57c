import Foundation
import XCTest

@testable import SubmitOnce

/// What is decided of a device's facts.
final class DeviceTests: XCTestCase {
    func testANetworkThatCostsIsMetered() {
        func kind(_ satisfied: Bool, _ expensive: Bool, _ constrained: Bool) -> NetworkKind {
            NetworkPath(isSatisfied: satisfied, isExpensive: expensive, isConstrained: constrained).kind
        }
        XCTAssertEqual(kind(true, false, false), .unmetered)
        XCTAssertEqual(kind(true, true, false), .metered)
        XCTAssertEqual(kind(true, false, true), .metered)
        for expensive in [false, true] {
            XCTAssertEqual(kind(false, expensive, false), .offline)
            XCTAssertEqual(kind(false, expensive, true), .offline)
        }
    }

    func testAnOutboxHasAFolderOfItsOwn() throws {
        let support = URL(filePath: "/var/mobile/Containers/Data/Application/1/Library/Application Support")
        let folder = try OutboxFolder(in: support, name: "photos")
        XCTAssertEqual(folder.url, support.appending(path: "submit-once/photos", directoryHint: .isDirectory))
        XCTAssertEqual(folder.database.lastPathComponent, "outbox.sqlite3")
        XCTAssertEqual(folder.database.deletingLastPathComponent(), folder.url)
    }

    func testANameIsNoPath() {
        for name in ["", ".", "..", "a/b", "../b", "ä", "a b", "a\0"] {
            XCTAssertThrowsError(try OutboxFolder(in: URL(filePath: "/"), name: name), name)
        }
    }

    func testAnAppGroupIsRefused() {
        let group = URL(filePath: "/private/var/mobile/Containers/Shared/AppGroup/1/Library/Application Support")
        XCTAssertThrowsError(try OutboxFolder(in: group, name: "outbox"))
    }

    func testThePrivacyManifestSaysWhatTheLibraryUses() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Sources/SubmitOnce/PrivacyInfo.xcprivacy")
        let plist = try PropertyListSerialization.propertyList(from: Data(contentsOf: file), format: nil)
        let manifest = try XCTUnwrap(plist as? [String: Any])
        XCTAssertEqual(
            Set(manifest.keys),
            [
                "NSPrivacyTracking", "NSPrivacyTrackingDomains", "NSPrivacyCollectedDataTypes",
                "NSPrivacyAccessedAPITypes",
            ]
        )
        XCTAssertEqual(manifest["NSPrivacyTracking"] as? Bool, false)
        XCTAssertEqual((manifest["NSPrivacyTrackingDomains"] as? [Any])?.count, 0)
        XCTAssertEqual((manifest["NSPrivacyCollectedDataTypes"] as? [Any])?.count, 0)
        let used = try XCTUnwrap(manifest["NSPrivacyAccessedAPITypes"] as? [[String: Any]])
        let reasons = Dictionary(
            uniqueKeysWithValues: try used.map {
                (
                    try XCTUnwrap($0["NSPrivacyAccessedAPIType"] as? String),
                    try XCTUnwrap($0["NSPrivacyAccessedAPITypeReasons"] as? [String])
                )
            }
        )
        XCTAssertEqual(
            reasons,
            [
                "NSPrivacyAccessedAPICategoryFileTimestamp": ["C617.1"],
                "NSPrivacyAccessedAPICategorySystemBootTime": ["35F9.1"],
            ]
        )
    }
}
