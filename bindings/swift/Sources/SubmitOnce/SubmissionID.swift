import Foundation
import SubmitOnceGenerated

/// Where submission IDs come from, besides ``Outbox/begin(_:)``. An ID is a `UUID`: one for each business
/// action, and by default the key that the server sees.
public enum SubmissionID {
    /// A new, random, time-ordered ID (UUID version 7, RFC 9562). Prefer ``Outbox/begin(_:)``, which remembers
    /// the ID: one minted here is lost when the process dies before it was saved.
    public static func new() throws -> UUID {
        try translated { try newSubmissionId().lifted() }
    }

    /// The ID of an action that several devices, or a reinstalled app, must agree on: the same account,
    /// action and business key always give the same ID (UUID version 5, RFC 9562).
    public static func derived(account: String?, action: String, businessKey: String) throws -> UUID {
        try translated {
            try deriveSubmissionId(
                account: account?.carried("account"),
                action: action.carried("action"),
                businessKey: businessKey.carried("businessKey")
            ).lifted()
        }
    }

    /// Reads an ID that was written as text of 36 characters.
    ///
    /// - Throws: ``SubmitOnceError/malformedID(_:)`` for anything else, the nil and the max UUID included.
    public static func parse(_ text: String) throws -> UUID {
        try translated { try parseSubmissionId(text: text.carried("id")).lifted() }
    }
}
