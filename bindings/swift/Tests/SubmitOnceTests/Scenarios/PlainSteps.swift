import Foundation
import SubmitOnce

import func SubmitOnceGenerated.parseSubmissionId

/// Steps that need no open outbox: IDs, profiles, limits, the server, and names.
let plainSteps: [String: Kind] = [
    "new_submission_id": { _ in { _ in JSON(try SubmissionID.new()) } },
    "derive_submission_id": { members in
        let account = try members.textIfAny("account")
        let action = try members.text("action")
        let businessKey = try members.text("business_key")
        return { _ in JSON(try SubmissionID.derived(account: account, action: action, businessKey: businessKey)) }
    },
    "parse_submission_id": { members in
        let text = try members.text("text")
        return { _ in
            do {
                return JSON(try SubmissionID.parse(text))
            } catch let error as SubmitOnceError where error.reason == .malformedID {
                // The layer has one name for all that is wrong with an ID; what exactly it is, the core says.
                _ = try parseSubmissionId(text: text)
                throw error
            }
        }
    },
    "built_in_profile": { members in
        let which = try members.json("which")
        return { _ in try ServerProfile(which.builtInProfile()).form() }
    },
    "profile_from_json": { members in
        let profile = try members.json("profile")
        return { _ in try ServerProfile(json: profile.written()).form() }
    },
    "default_limits": { _ in { _ in Limits().form } },
    "let": { members in
        let value = try members.json("value")
        return { _ in value }
    },
    "server": { members in
        let get = try members.textIfAny("get")
        let post = try members.textIfAny("post")
        let body = try members.jsonIfAny("body")?.written() ?? ""
        switch (get, post) {
        case (let get?, nil) where body.isEmpty:
            return { turn in try JSON(parsing: await turn.stage.server.get(get)) }
        case (nil, let post?):
            return { turn in try JSON(parsing: await turn.stage.server.post(post, body)) }
        default: throw Broken("the server is asked by get, without a body, or by post")
        }
    },
]
