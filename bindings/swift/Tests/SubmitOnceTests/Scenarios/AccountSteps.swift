import Foundation
import SubmitOnce

let accountSteps: [String: Kind] = [
    "sign_in": { members in
        let account = try members.text("account")
        return doingOnOutbox { try await $0.signIn(account) }
    },
    "sign_out": { members in
        let how = try members.jsonIfAny("how")?.constant(of: [SignOut.keep, .purge]) ?? .keep
        return onOutbox { try await $0.signOut(how).form }
    },
    "signed_in": { _ in onOutbox { JSON(try await $0.signedIn()) } },
    "supply_credentials": { members in
        let account = try members.text("account")
        let headers = try members.json("headers").headers()
        let validFor = try members.jsonIfAny("valid_for_ms")?.natural()
        return doingOnOutbox { outbox in
            let validUntil = validFor.map { Date(timeIntervalSinceNow: Double($0) / 1000) }
            try await outbox.supply(Credentials(headers: headers, validUntil: validUntil), of: account)
        }
    },
]
