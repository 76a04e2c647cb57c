import Foundation
import SubmitOnceGenerated

/// Whose submissions go out, and with which credentials.
extension Outbox {
    /// Signs an account in, and any other out. Which one is remembered; its credentials are not. What others
    /// have submitted is kept and waits.
    public func signIn(_ account: String) async throws {
        let account = try account.carried("account")
        try await asking { try $0.signIn(account: account) }
    }

    /// Signs the account out and forgets its credentials.
    ///
    /// With `keep`, what it has submitted is kept and waits for it to come back; requests that are on the wire come
    /// to their end. With `purge`, everything of it ends and is deleted: requests on the wire are stopped, what is
    /// in doubt is abandoned; only what recognises late duplicates stays. A purge that the end of the process
    /// interrupts goes on at the next opening, and so does one that failed, if it isn't called again. What another
    /// process has on the wire is stopped within a second if somebody observes there, else within half a minute.
    ///
    /// - Throws: ``SubmitOnceError`` with the reason `storage`. With `purge`, call again: it goes on, and counts all
    ///   of it.
    @discardableResult
    public func signOut(_ how: SignOut = .keep) async throws -> SignedOutReport {
        try await call { try $0.signOut(how: how).lifted }
    }

    /// The account that is signed in, here or by another process.
    public func signedIn() async throws -> String? {
        try await call { try $0.signedIn() }
    }

    /// Gives credentials without being asked, after a sign-in for example.
    ///
    /// - Throws: ``SubmitOnceError`` with the reason `notSignedIn` for another account than the one that is
    ///   signed in.
    public func supply(_ credentials: Credentials, of account: String) async throws {
        try await asking { try $0.supply(credentials, of: account) }
    }
}

extension RawOutbox {
    func supply(_ credentials: Credentials, of account: String) throws {
        try supplyCredentials(
            account: account.carried("account"),
            headers: credentials.headers.carried("credentials"),
            validUntil: credentials.validUntil?.lowered("validUntil")
        )
    }
}
