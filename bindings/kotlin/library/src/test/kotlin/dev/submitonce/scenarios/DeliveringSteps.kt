package dev.submitonce.scenarios

import dev.submitonce.NetworkKind
import dev.submitonce.Resolution
import dev.submitonce.SubmissionId
import kotlinx.serialization.json.JsonElement

/** Delivering and deciding. */
val deliveringSteps: Map<String, Kind> = mapOf(
    "drain" to kind {
        val budget = jsonOrNull("budget_ms")?.millis() ?: PATIENCE
        onOutbox { form(drain(budget)) }
    },
    "start" to kind { onOutbox { start() } },
    "suspend" to kind { onOutbox { suspendDelivery() } },
    "wake" to kind {
        val id = text("id")
        onOutbox { form(wake(SubmissionId.parse(id))) }
    },
    "cancel" to kind {
        val id = text("id")
        onOutbox { form(cancel(SubmissionId.parse(id))) }
    },
    "resolve" to kind {
        val id = text("id")
        val revision = whole("revision")
        val resolution = resolution(json("decision"))
        onOutbox { form(resolve(SubmissionId.parse(id), revision, resolution)) }
    },
    "network_available" to kind {
        val network = json("network").constant<NetworkKind>()
        onOutbox { networkAvailable(network) }
    },
)

private fun resolution(json: JsonElement): Resolution = json.members {
    val kind = unread().singleOrNull() ?: broken("a decision has one kind: $json")
    json(kind).members {
        when (kind) {
            "retry_same_key" -> Resolution.RetrySameKey(flag("accept_second_effect"))
            "it_happened" -> Resolution.ItHappened(textOrNull("result"))
            "give_up" -> Resolution.GiveUp
            else -> broken("there is no decision $kind")
        }
    }
}
