package dev.submitonce.scenarios

import dev.submitonce.ServerProfile
import dev.submitonce.SubmissionId
import dev.submitonce.SubmitOnceException
import dev.submitonce.defaultLimits
import java.util.UUID

/** Steps that need no open outbox: IDs, profiles, limits, the server, and names. */
val plainSteps: Map<String, Kind> = mapOf(
    "new_submission_id" to kind { plainly { made { SubmissionId.new() } } },
    "derive_submission_id" to kind {
        val account = textOrNull("account")
        val action = text("action")
        val businessKey = text("business_key")
        plainly { made { SubmissionId.derived(account, action, businessKey) } }
    },
    "parse_submission_id" to kind {
        val text = text("text")
        plainly { made { SubmissionId.parse(text) } }
    },
    "built_in_profile" to kind {
        val which = json("which")
        plainly { form(builtIn(which)) }
    },
    "profile_from_json" to kind {
        val profile = json("profile")
        plainly { form(ServerProfile.fromJson(profile.toString())) }
    },
    "default_limits" to kind { plainly { form(defaultLimits()) } },
    "let" to kind {
        val value = json("value")
        plainly { value }
    },
    "server" to kind {
        val get = textOrNull("get")
        val post = textOrNull("post")
        val body = jsonOrNull("body")
        if ((get == null) == (post == null)) broken("the server is asked by get or by post")
        if (get != null && body != null) broken("there is no body in a get")
        plainly { turn ->
            get?.let(turn.stage.server::get) ?: turn.stage.server.post(post!!, body?.toString().orEmpty())
        }
    },
)

/** The layer has one name for all that is wrong with an ID; what exactly it is, is the cause. */
private fun made(id: () -> UUID): UUID =
    try {
        id()
    } catch (problem: SubmitOnceException.MalformedId) {
        throw problem.cause ?: problem
    }
