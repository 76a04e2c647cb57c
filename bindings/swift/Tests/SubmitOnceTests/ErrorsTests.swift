import Foundation
import XCTest

import enum SubmitOnceGenerated.IdError
import enum SubmitOnceGenerated.InboxError
import enum SubmitOnceGenerated.OpenError
import enum SubmitOnceGenerated.OutboxError
import enum SubmitOnceGenerated.StorageError

@testable import SubmitOnce

/// Every error of the core, also those that no test here can provoke: a reason, and a sentence.
final class ErrorsTests: OutboxTestCase {
    private func lifted(_ error: any Error) throws -> SubmitOnceError {
        do {
            try translated { throw error }
        } catch let error as SubmitOnceError {
            return error
        }
        throw Trouble("nothing was thrown")
    }

    func testEveryErrorOfTheCoreHasAReasonAndASentence() async throws {
        let outbox = try await open(ReferenceServer())
        let snapshot = try await outbox.submit(order()).snapshot
        let id = snapshot.id
        let raw = try await outbox.call { try $0.snapshot(id: id.lowered()) }
        let text = id.lowered()
        let errors: [(any Error, SubmitOnceError.Reason)] = [
            (OutboxError.Closed, .closed),
            (OutboxError.MalformedId, .malformedID),
            (OutboxError.Invalid(field: "a", problem: "b"), .invalid(field: "a", problem: "b")),
            (OutboxError.HeaderRefused(name: "a", reason: "b"), .headerRefused(name: "a", reason: "b")),
            (OutboxError.BodyTooLarge(bytes: .max, most: 1), .bodyTooLarge(bytes: .max, most: 1)),
            (OutboxError.UnknownParent(id: text), .unknownParent(id)),
            (
                OutboxError.KeyReused(id: text, existing: raw, differs: ["url"]),
                .keyReused(id: id, existing: snapshot, differs: ["url"])
            ),
            (OutboxError.IdTooOld(id: text), .idTooOld(id)),
            (OutboxError.QueueFull(most: 1), .queueFull(most: 1)),
            (OutboxError.NotSignedIn(account: "a"), .notSignedIn(account: "a")),
            (OutboxError.UnknownId(id: text), .unknownID(id)),
            (OutboxError.Stale(current: raw), .stale(current: snapshot)),
            (OutboxError.NotHeld(current: raw), .notHeld(current: snapshot)),
            (OutboxError.NeedsConsent(current: raw), .needsConsent(current: snapshot)),
            (OutboxError.CannotRetry(current: raw), .cannotRetry(current: snapshot)),
            (OutboxError.Storage(storage: StorageError.Full), .storage(.full)),
            (InboxError.Closed, .closed),
            (InboxError.Invalid(field: "a", problem: "b"), .invalid(field: "a", problem: "b")),
            (InboxError.KeyReused(scope: "a", key: "b"), .inboxKeyReused(scope: "a", key: "b")),
            (InboxError.RunLost(scope: "a", key: "b"), .runLost(scope: "a", key: "b")),
            (InboxError.NotUncertain(scope: "a", key: "b"), .notUncertain(scope: "a", key: "b")),
            (InboxError.Statement(number: 2, problem: "a"), .statementRefused(number: 2, problem: "a")),
            (InboxError.Storage(storage: StorageError.Full), .storage(.full)),
            (StorageError.Busy, .storage(.busy)),
            (StorageError.Unavailable(detail: "a"), .storage(.unavailable)),
            (StorageError.Corrupt(detail: "a"), .storage(.corrupt)),
            (StorageError.Moved, .storage(.moved)),
            (StorageError.Indeterminate, .storage(.indeterminate)),
            (StorageError.Internal(detail: "a"), .internal),
            (
                OpenError.InvalidConfig(field: "a", problem: "b"),
                .cannotOpen(.invalidConfig(field: "a", problem: "b"))
            ),
            (OpenError.IsDirectory, .cannotOpen(.isDirectory)),
            (OpenError.ReadOnly, .cannotOpen(.readOnly)),
            (OpenError.NotAnOutbox(detail: "a"), .cannotOpen(.notAnOutbox)),
            (OpenError.SchemaTooNew(found: 9, known: 1), .cannotOpen(.schemaTooNew(found: 9, known: 1))),
            (OpenError.AlreadyOpen, .cannotOpen(.alreadyOpen)),
            (OpenError.Setup(detail: "a"), .cannotOpen(.setup)),
            (OpenError.Storage(storage: StorageError.Full), .storage(.full)),
            (IdError.Malformed, .malformedID),
            (IdError.Nil, .malformedID),
            (IdError.NoRandomness, .internal),
        ]
        for (error, reason) in errors {
            let lifted = try lifted(error)
            XCTAssertEqual(lifted.reason, reason)
            let sentence = try XCTUnwrap((lifted as any LocalizedError).errorDescription)
            XCTAssertEqual((lifted as any Error).localizedDescription, sentence)
            XCTAssertGreaterThanOrEqual(sentence.split(separator: " ").count, 3, sentence)
            XCTAssertFalse(sentence.contains("=") || sentence.contains("SubmitOnce"), "no sentence: \(sentence)")
        }
    }

    // Each reason once: a new one without a test doesn't compile here.
    func testAReasonCanBeBranchedOnWithoutADefault() {
        func advice(_ reason: SubmitOnceError.Reason) -> String {
            switch reason {
            case .closed, .cannotOpen: "open again"
            case .malformedID, .invalid, .headerRefused, .bodyTooLarge, .statementRefused: "mend it"
            case .unknownParent: "submit the parent first"
            case .keyReused, .idTooOld, .unknownID: "look for the ID"
            case .queueFull: "drain"
            case .notSignedIn: "sign in"
            case .inboxKeyReused: "use another key"
            case .runLost, .notUncertain: "ask what stands"
            case .stale, .notHeld, .needsConsent, .cannotRetry: "ask the user"
            case .storage: "call again"
            case .internal: "report it"
            }
        }
        XCTAssertEqual(advice(.queueFull(most: 1)), "drain")
    }

    func testWhatIsntTheCoresIsLeftAloneOrADefect() throws {
        XCTAssertThrowsError(try translated { throw CancellationError() }) { XCTAssertTrue($0 is CancellationError) }
        XCTAssertEqual(try lifted(Trouble("a defect of the border")).reason, .internal)
        XCTAssertEqual(try lifted(SubmitOnceError.closed), .closed)
    }
}
