import Foundation
import XCTest

@testable import SubmitOnce

/// Opening: what it makes, what it refuses, and that nothing stays open that nobody was given.
final class OpeningTests: OutboxTestCase {
    private func opening(
        _ path: String = "outbox.sqlite3",
        baseURL: String? = nil,
        limits: Limits? = nil
    ) async throws -> SubmitOnceError.Reason {
        let file = folder.appending(path: path)
        return try await refused {
            _ = try await Outbox.open(at: file, baseURL: baseURL.flatMap { URL(string: $0) }, limits: limits)
        }
    }

    func testTheFirstOpeningMakesTheDatabaseAndItsFolderAndSaysSo() async throws {
        let file = folder.appending(path: "deep/down with a space/ü.sqlite3")
        let outbox = try await Outbox.open(at: file)
        XCTAssertTrue(outbox.openReport.created)
        XCTAssertFalse(outbox.openReport.shared)
        XCTAssertFalse(outbox.openReport.restored)
        XCTAssertNil(outbox.openReport.salvaged)
        XCTAssertTrue(FileManager.default.fileExists(atPath: file.path(percentEncoded: false)))
        await outbox.close()
        let again = try await Outbox.open(at: file)
        XCTAssertFalse(again.openReport.created)
        await again.close()
    }

    func testAConfigurationThatMakesNoSenseNamesItsField() async throws {
        let url = try await opening(baseURL: "ftp://example.com")
        guard case .cannotOpen(.invalidConfig("base_url", _)) = url else { return XCTFail("\(url)") }
        var none = Limits.quick
        none.keepChanges = 0
        let limits = try await opening(limits: none)
        guard case .cannotOpen(.invalidConfig("limits", _)) = limits else { return XCTFail("\(limits)") }
        XCTAssertFalse(FileManager.default.fileExists(atPath: database.path))
    }

    func testADirectoryIsNotOpened() async throws {
        let refusal = try await opening("")
        XCTAssertEqual(refusal, .cannotOpen(.isDirectory))
    }

    // P11: nothing is moved or deleted.
    func testAFileThatIsSomethingElseIsLeftAsItIs() async throws {
        let diary = Data(String(repeating: "this is a diary, and not a database at all ", count: 100).utf8)
        try diary.write(to: database)
        let refusal = try await opening()
        XCTAssertEqual(refusal, .cannotOpen(.notAnOutbox))
        XCTAssertEqual(try Data(contentsOf: database), diary)
    }

    func testAFileFromANewerVersionIsLeftAsItIs() async throws {
        await (try open()).close()
        let file = try FileHandle(forUpdating: database)
        try file.seek(toOffset: 60)
        try file.write(contentsOf: withUnsafeBytes(of: Int32(9999).bigEndian) { Data($0) })
        try file.close()
        let refusal = try await opening()
        guard case .cannotOpen(.schemaTooNew(9999, let known)) = refusal else { return XCTFail("\(refusal)") }
        XCTAssertTrue((1..<9999).contains(known))
    }

    func testAFolderThatCantBeMadeIsUnavailable() async throws {
        try Data("a file, not a folder".utf8).write(to: folder.appending(path: "file"))
        let refusal = try await opening("file/outbox.sqlite3")
        XCTAssertEqual(refusal, .storage(.unavailable))
    }

    func testADatabaseThatIsDeletedWhileItIsOpenIsNoticed() async throws {
        let outbox = try await open(ReferenceServer())
        try await outbox.submit(order())
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
            try FileManager.default.removeItem(at: folder.appending(path: name))
        }
        let refusal = try await refused { try await outbox.submit(order()) }
        XCTAssertEqual(refusal, .storage(.moved))
    }

    // P11: what can be read of it is saved; here that is nothing.
    func testADamagedDatabaseIsReportedAndKept() async throws {
        let first = try await open(ReferenceServer())
        try await first.submitAll(orders(50))
        await first.close()
        let size = try Data(contentsOf: database).count
        let file = try FileHandle(forUpdating: database)
        try file.seek(toOffset: 200)
        try file.write(contentsOf: Data(repeating: 0x5A, count: size - 200))
        try file.close()
        let damaged = try Data(contentsOf: database)
        let outbox = try await open()
        let salvaged = try XCTUnwrap(outbox.openReport.salvaged)
        XCTAssertEqual(try Data(contentsOf: URL(filePath: salvaged.keptAt)), damaged)
        let list = try await outbox.list()
        XCTAssertEqual(Int(salvaged.submissions), list.snapshots.count)
    }

    // Cancellation may come at any moment: whoever asked gets the outbox, or it doesn't stay open.
    func testOpeningsThatAreCancelledAtAnyMomentLeaveNothingOpen() async throws {
        var other = Limits.quick
        other.maxInFlight = 1
        for moment in 0..<30 {
            let file = folder.appending(path: "\(moment)")
            let opening = Task { try await Outbox.open(at: file, limits: .quick) }
            for _ in 0..<moment {
                await Task.yield()
            }
            opening.cancel()
            if case .success(let outbox) = try await opening.end {
                await outbox.close()
            }
            await (try Outbox.open(at: file, limits: other)).close()
        }
    }

    // P11, P13: in a copy nobody knows what the original has sent.
    func testInACopyEverythingIsHeldUntilItIsReleased() async throws {
        let server = try ReferenceServer()
        let copy = folder.appending(path: "copy.sqlite3")
        let original = try await Outbox.open(
            at: database, baseURL: server.url, limits: .quick, installID: "an installation")
        let order = try order()
        try await original.submit(order)
        await original.close()
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path)
        where name.hasPrefix("outbox.sqlite3") {
            try FileManager.default.copyItem(
                at: folder.appending(path: name),
                to: folder.appending(path: "copy.sqlite3" + name.dropFirst("outbox.sqlite3".count))
            )
        }
        let outbox = try await Outbox.open(
            at: copy, baseURL: server.url, limits: .quick, installID: "another installation")
        addTeardownBlock { await outbox.close() }
        XCTAssertTrue(outbox.openReport.restored)
        let report = try await outbox.drain(for: long)
        XCTAssertEqual(report.attempts, 0)
        let held = try await outbox.snapshot(of: order.id)
        XCTAssertEqual(held.state, .held(.restored))
        let done = try await outbox.resolveAll(
            heldFor: .restored, as: .retrySameKey(acceptSecondEffect: true))
        XCTAssertEqual(done, ResolvedAll(resolved: 1, refused: 0))
        let sent = try await outbox.drain(for: long)
        XCTAssertEqual(sent.succeeded, 1)
        let summary = try await server.summary()
        XCTAssertEqual([summary.requests, summary.effects], [1, 1])
    }

    func testEveryPartOfTheConfigurationIsTaken() async throws {
        let server = try ReferenceServer()
        let outbox = try await Outbox.open(
            at: database,
            baseURL: server.url.appending(path: "v2"),
            profile: ServerProfile(.standard),
            limits: .quick,
            userAgent: "tea/1",
            tls: TLSConfig(roots: .bundled, extraRoots: [], pins: []),
            boot: "a boot",
            installID: "an installation"
        )
        let order = try order()
        try await outbox.submit(order)
        _ = try await outbox.drain(for: long)
        let records = String(decoding: try await server.get("records"), as: UTF8.self)
        XCTAssertTrue(records.contains("/v2/orders") && records.contains("tea/1"), records)
        await outbox.close()
        let root = TLSConfig(roots: nil, extraRoots: [Data("no certificate".utf8)], pins: [])
        let database = database
        let refusal = try await refused { _ = try await Outbox.open(at: database, tls: root) }
        guard case .cannotOpen = refusal else { return XCTFail("\(refusal)") }
    }
}
