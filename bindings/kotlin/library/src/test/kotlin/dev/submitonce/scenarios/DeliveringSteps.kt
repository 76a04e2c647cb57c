package dev.submitonce.scenarios

import dev.submitonce.HoldReason
import dev.submitonce.NetworkKind
import dev.submitonce.PartValue
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
    "resolve_all" to kind {
        val reason = json("reason").constant<HoldReason>()
        val resolution = resolution(json("decision"))
        onOutbox { form(resolveAll(reason, resolution)) }
    },
    "release_lane" to kind {
        val account = textOrNull("account")
        val lane = text("lane")
        onOutbox { releaseLane(lane, account) }
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
            "fill_parts" -> Resolution.FillParts(json("values").items().map(::filled))
            else -> broken("there is no decision $kind")
        }
    }
}

private fun filled(json: JsonElement): PartValue = json.members { PartValue(target(json("into")), text("json")) }
