import Foundation
import XCTest

@testable import SubmitOnce

/// A test with a folder of its own, and outboxes that are closed after it.
class OutboxTestCase: XCTestCase {
    let folder = FileManager.default.temporaryDirectory.appending(path: "submit-once-\(UUID().uuidString)")

    var database: URL { folder.appending(path: "outbox.sqlite3") }

    /// A server ends with its last owner: here with the test.
    private var servers: [ReferenceServer?] = []

    override func setUp() async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    override func tearDown() async throws {
        servers = []
        try? FileManager.default.removeItem(at: folder)
    }

    /// Opens the test's outbox, with times that suit a test.
    func open(
        _ server: ReferenceServer? = nil,
        limits: Limits = .quick,
        profile: ServerProfile? = nil,
        credentials: CredentialsProvider? = nil,
        onCallbackError: @escaping @Sendable (any Error) -> Void = { _ in }
    ) async throws -> Outbox {
        let outbox = try await Outbox.open(
            at: database,
            baseURL: server?.url,
            profile: profile,
            limits: limits,
            credentials: credentials,
            onCallbackError: onCallbackError
        )
        addTeardownBlock { await outbox.close() }
        servers.append(server)
        return outbox
    }
}

extension Outbox {
    /// What the app does when its button is tapped.
    func orderTea(slot: String = "new-order-form", account: String? = nil) async throws -> Receipt {
        let id = try await begin(slot)
        return try await submit(
            Submission(id, to: "/orders", body: .jsonText(#"{"item":"tea"}"#), account: account)
        )
    }
}

extension Limits {
    /// The quiet time keeps a repeat back while the server may still be working: here for an instant.
    static let quick: Limits = {
        var limits = Limits()
        limits.quietTime = .milliseconds(50)
        limits.backoffFirst = .milliseconds(50)
        return limits
    }()
}

/// Runs what must fail with an error of the library, and gives its reason.
func refused(
    file: StaticString = #filePath,
    line: UInt = #line,
    _ call: () async throws -> Void
) async throws -> SubmitOnceError.Reason {
    do {
        try await call()
    } catch let error as SubmitOnceError {
        return error.reason
    }
    XCTFail("it was not refused", file: file, line: line)
    throw Trouble("it was not refused")
}
