import Foundation

/// Why a call was refused, or an outbox could not be opened. Nothing half-done is left behind, and no
/// text shows a body, a header's value or a credential.
///
/// Branch on ``reason``; the text is a sentence for a log.
public struct SubmitOnceError: Error, LocalizedError, Equatable, CustomStringConvertible {
    /// What happened.
    public let reason: Reason
    /// The same as a sentence, in English.
    public let description: String

    public var errorDescription: String? { description }

    init(_ reason: Reason, _ description: String) {
        self.reason = reason
        self.description = description
    }

    /// What happened. Each reason says what the caller can do.
    public enum Reason: Sendable, Equatable {
        /// The outbox was closed. Open it again.
        case closed
        /// A text is not a submission ID.
        case malformedID
        /// A field of the input is not usable: fix it.
        case invalid(field: String, problem: String)
        /// A header can't be stored with a submission: it would be a credential, or break HTTP.
        case headerRefused(name: String, reason: String)
        /// The body is larger than the outbox takes. Bytes.
        case bodyTooLarge(bytes: Int64, most: Int64)
        /// A parent isn't known here. Submit it first; then nothing can wait for itself.
        case unknownParent(UUID)
        /// The ID belongs to another submission. Nothing was stored or sent. A new action needs a new ID.
        /// `differs` names the parts that differ.
        case keyReused(id: UUID, existing: Snapshot, differs: [String])
        /// The ID is unknown and older than the memory of settled submissions reaches, so it can't be told
        /// whether it was sent before. Find out at the server; a new action needs a new ID.
        case idTooOld(UUID)
        /// As many submissions are waiting as the outbox takes. Drain it, and decide what is held.
        case queueFull(most: Int)
        /// The account isn't the one that is signed in.
        case notSignedIn(account: String)
        /// No submission has this ID.
        case unknownID(UUID)
        /// The submission has changed since the revision that the decision is about. Look again.
        case stale(current: Snapshot)
        /// Only a held submission can be decided.
        case notHeld(current: Snapshot)
        /// The server may have forgotten the key, so that a retry could take effect a second time. Ask the
        /// user, then retry with `acceptSecondEffect`.
        case needsConsent(current: Snapshot)
        /// What is stored can't be sent: it is damaged, or a part of it is missing. A part can be supplied with
        /// `fillParts`; else only "it happened" and "give up" are left, and a new action.
        case cannotRetry(current: Snapshot)
        /// The key came to the inbox with another content before. Nothing was changed. Another thing to do needs
        /// another key.
        case inboxKeyReused(scope: String, key: String)
        /// The run of the inbox isn't the one that counts any more: its time was over and another began, it was given
        /// up, or a decision was made. Nothing was changed. Ask ``Inbox/begin(_:)`` for what stands.
        case runLost(scope: String, key: String)
        /// There is nothing to decide: the item of the inbox isn't uncertain.
        case notUncertain(scope: String, key: String)
        /// A statement of the app isn't allowed, or failed. Nothing was changed. `number` counts from 1.
        case statementRefused(number: Int, problem: String)
        /// What the database said, when opening or later.
        case storage(Storage)
        /// The outbox could not be opened. Nothing has been moved or deleted.
        case cannotOpen(Opening)
        /// A defect of this library. Please report it.
        case `internal`
    }

    /// What the database said.
    public enum Storage: Sendable, Equatable {
        /// The disk is full. Free some space and call again; joining and replaying still work.
        case full
        /// Another process holds the database for longer than the busy timeout. Call again.
        case busy
        /// The file can't be reached now, for example before the first unlock. Call again later.
        case unavailable
        /// The file's content is damaged. Keep it: it holds keys that must not be lost. Met while the outbox is
        /// open: close it and open it again, which saves what can be read into a new file and tells so in
        /// ``Outbox/openReport``.
        case corrupt
        /// The file was moved, replaced or deleted while open. Close the outbox and open it again.
        case moved
        /// The commit failed in a way that leaves open whether it is durable. Call again with the same ID: it
        /// converges.
        case indeterminate
    }

    /// Why an outbox could not be opened.
    public enum Opening: Sendable, Equatable {
        /// The configuration makes no sense: fix the field.
        case invalidConfig(field: String, problem: String)
        /// The path is a directory: name a file in it.
        case isDirectory
        /// The file or its folder can't be written to.
        case readOnly
        /// The file is something else. Choose another path; nothing was changed.
        case notAnOutbox
        /// A newer version of the library wrote the file. Update the app; nothing was changed.
        case schemaTooNew(found: Int64, known: Int64)
        /// This process has the file open with another configuration. Use the same one.
        case alreadyOpen
        /// The runtime or the TLS stack could not be set up.
        case setup
    }
}

extension SubmitOnceError {
    static let closed = SubmitOnceError(.closed, "the outbox is closed; open it again")

    static func invalid(field: String, problem: String) -> SubmitOnceError {
        SubmitOnceError(.invalid(field: field, problem: problem), "\(field) is not usable: \(problem)")
    }

    static func bodyTooLarge(bytes: Int) -> SubmitOnceError {
        SubmitOnceError(
            .bodyTooLarge(bytes: Int64(bytes), most: Int64(mostCarried)),
            "the body has \(bytes) bytes; at most \(mostCarried) can be handed over in memory: use a file"
        )
    }
}
