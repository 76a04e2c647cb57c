package dev.submitonce.scenarios

import dev.submitonce.HoldReason
import dev.submitonce.ListFilter
import dev.submitonce.ListState
import dev.submitonce.SubmissionId
import dev.submitonce.translated
import kotlinx.serialization.json.JsonElement

val lookingSteps: Map<String, Kind> = mapOf(
    "snapshot" to kind {
        val id = text("id")
        onOutbox { form(snapshot(SubmissionId.parse(id))) }
    },
    "reconcile" to kind {
        val ids = json("ids").items().map { it.text() }
        onOutbox {
            reconcile(ids.map(SubmissionId::parse))
                .map { (id, found) -> obj("id" to id, "snapshot" to found?.let(::form)) }
        }
    },
    "list" to kind {
        val filter = jsonOrNull("filter")?.let(::filter) ?: ListFilter()
        val after = wholeOrNull("after") ?: 0
        val limit = Math.toIntExact(wholeOrNull("limit") ?: 100)
        onOutbox { form(list(filter, after, limit)) }
    },
    "wait" to kind {
        val id = text("id")
        val timeout = jsonOrNull("timeout_ms")?.millis() ?: PATIENCE
        onOutbox { form(wait(SubmissionId.parse(id), timeout)) }
    },
    // The layer has a stream of changes, and no pages: those are the generated outbox's.
    "changes" to kind {
        val after = wholeOrNull("after") ?: 0
        val limit = jsonOrNull("limit")?.uint() ?: 1_000u
        plainly { turn -> translated { form(turn.handle.raw.changes(after, limit)) } }
    },
    "stats" to kind { onOutbox { form(stats()) } },
    "retain" to kind {
        onOutbox {
            while (retain()) {
                // There may be more.
            }
        }
    },
)

private fun filter(json: JsonElement): ListFilter = json.members {
    ListFilter(
        state = jsonOrNull("state")?.constant<ListState>(),
        reason = jsonOrNull("reason")?.constant<HoldReason>(),
        account = textOrNull("account"),
        lane = textOrNull("lane"),
        replaces = textOrNull("replaces"),
    )
}
