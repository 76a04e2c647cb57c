package dev.submitonce.scenarios

import dev.submitonce.CancelOutcome
import dev.submitonce.DrainReport
import dev.submitonce.Effect
import dev.submitonce.FeedEvent
import dev.submitonce.OpenReport
import dev.submitonce.Outcome
import dev.submitonce.Page
import dev.submitonce.Receipt
import dev.submitonce.ResolvedAll
import dev.submitonce.SignedOutReport
import dev.submitonce.Snapshot
import dev.submitonce.Stats
import dev.submitonce.SubmissionState
import dev.submitonce.UploadProgress
import dev.submitonce.Waited
import dev.submitonce.WaitingFor
import dev.submitonce.internal.ChangePage
import dev.submitonce.lifted
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import java.util.UUID

// The JSON forms of what calls give back. Times are left out: no scenario could know them.

fun obj(vararg members: Pair<String, Any?>): JsonObject =
    JsonObject(members.associate { (name, value) -> name to json(value) })

fun json(value: Any?): JsonElement =
    when (value) {
        null, Unit -> JsonNull
        is JsonElement -> value
        is String -> JsonPrimitive(value)
        is Number -> JsonPrimitive(value)
        is Boolean -> JsonPrimitive(value)
        is UUID -> JsonPrimitive(value.toString())
        is List<*> -> JsonArray(value.map(::json))
        is Map<*, *> -> JsonObject(value.entries.associate { (name, of) -> name as String to json(of) })
        else -> error("$value has no form")
    }

fun form(report: OpenReport): JsonObject =
    obj(
        "created" to report.created,
        "lost_changes" to report.lostChanges,
        "shared" to report.shared,
        "restored" to report.restored,
        "salvaged" to report.salvaged?.let { obj("submissions" to it.submissions, "damaged" to it.damaged) },
    )

fun form(resolved: ResolvedAll): JsonObject = obj("resolved" to resolved.resolved, "refused" to resolved.refused)

fun form(report: SignedOutReport): JsonObject = with(report) {
    obj(
        "account" to account,
        "kept" to kept,
        "cancelled" to cancelled,
        "abandoned" to abandoned,
        "succeeded" to succeeded,
    )
}

fun form(receipt: Receipt): JsonObject =
    obj("id" to receipt.id, "kind" to receipt.kind.form(), "snapshot" to form(receipt.snapshot))

fun form(snapshot: Snapshot): JsonObject = with(snapshot) {
    obj(
        "id" to id,
        "account" to account,
        "method" to method,
        "url" to url,
        "effect" to name(effect),
        "lane" to lane,
        "replaces" to replaces,
        "state" to name(state),
        "reason" to reason(state),
        "revision" to revision,
        "waiting_for" to waitingFor?.let(::name),
        "waiting_for_id" to waitingFor?.let(::other),
        "attempts" to attempts,
        "has_next_attempt" to (nextAttemptAt != null),
        "in_doubt" to inDoubt,
        "progress" to progress?.let { obj("sent" to it.sent, "total" to it.total) },
        "last_problem" to lastProblem,
        "outcome" to outcome?.let(::form),
        "late_evidence" to lateEvidence,
    )
}

/** As in a submission. */
fun name(effect: Effect): String =
    when (effect) {
        // The library calls it so in code.
        Effect.SAFE -> "none"
        Effect.OVERWRITE, Effect.KEYED, Effect.UNKEYED -> effect.form()
    }

private fun name(state: SubmissionState): String =
    when (state) {
        SubmissionState.Pending -> "pending"
        SubmissionState.InFlight -> "in_flight"
        is SubmissionState.Held -> "held"
        SubmissionState.Succeeded -> "succeeded"
        is SubmissionState.Rejected -> "rejected"
        SubmissionState.Cancelled -> "cancelled"
        SubmissionState.Expired -> "expired"
        is SubmissionState.Superseded -> "superseded"
        SubmissionState.Abandoned -> "abandoned"
    }

private fun reason(state: SubmissionState): String? =
    when (state) {
        is SubmissionState.Held -> state.reason.form()
        is SubmissionState.Rejected -> state.reason.form()
        else -> null
    }

private fun name(waiting: WaitingFor): String =
    when (waiting) {
        is WaitingFor.Due -> "due"
        is WaitingFor.Network -> "network"
        is WaitingFor.Certificate -> "certificate"
        WaitingFor.Unmetered -> "unmetered"
        is WaitingFor.Gate -> "gate"
        WaitingFor.Credentials -> "credentials"
        WaitingFor.SignedOut -> "signed_out"
        is WaitingFor.Lane -> "lane"
        is WaitingFor.Newer -> "newer"
        is WaitingFor.Older -> "older"
        is WaitingFor.Parent -> "parent"
        is WaitingFor.Probe -> "probe"
    }

/** Which other submission it waits for. */
private fun other(waiting: WaitingFor): UUID? =
    when (waiting) {
        is WaitingFor.Lane -> waiting.id
        is WaitingFor.Newer -> waiting.id
        is WaitingFor.Older -> waiting.id
        is WaitingFor.Parent -> waiting.id
        is WaitingFor.Due, is WaitingFor.Network, is WaitingFor.Certificate, WaitingFor.Unmetered,
        is WaitingFor.Gate, WaitingFor.Credentials, WaitingFor.SignedOut, is WaitingFor.Probe,
        -> null
    }

private fun form(outcome: Outcome): JsonObject =
    obj(
        "status" to outcome.status,
        "content_type" to outcome.contentType,
        "headers" to outcome.headers.map { listOf(it.name, it.value) },
        "body" to outcome.body?.decodeToString(throwOnInvalidSequence = true),
        "result_missing" to outcome.resultMissing,
    )

fun form(page: Page): JsonObject = obj("snapshots" to page.snapshots.map(::form), "next" to page.next)

fun form(waited: Waited): JsonObject {
    val name = when (waited) {
        is Waited.Settled -> "settled"
        is Waited.Held -> "held"
        is Waited.TimedOut -> "timed_out"
    }
    return obj("waited" to name, "snapshot" to form(waited.snapshot))
}

fun form(cancelled: CancelOutcome): JsonObject =
    when (cancelled) {
        CancelOutcome.Cancelled -> obj("cancelled" to "cancelled", "snapshot" to null)
        is CancelOutcome.AlreadyFinal -> obj("cancelled" to "already_final", "snapshot" to form(cancelled.snapshot))
        is CancelOutcome.MayHaveHappened ->
            obj("cancelled" to "may_have_happened", "snapshot" to form(cancelled.snapshot))
    }

fun form(report: DrainReport): JsonObject = with(report) {
    obj(
        "attempts" to attempts,
        "succeeded" to succeeded,
        "ended_otherwise" to endedOtherwise,
        "held" to held,
        "to_repeat" to toRepeat,
        "in_flight" to inFlight,
        "stopped" to stopped.form(),
        "wakes_again" to (nextWakeAt != null),
    )
}

fun form(page: ChangePage): JsonObject =
    when (page) {
        is ChangePage.Changes -> obj(
            "resync" to false,
            "changes" to page.changes.map { form(it.lifted()) },
            "next" to page.next,
            "more" to page.more,
        )
        is ChangePage.Resync ->
            obj("resync" to true, "changes" to emptyList<Any>(), "next" to page.next, "more" to false)
    }

private fun form(change: FeedEvent.Change): JsonObject =
    obj(
        "cursor" to change.cursor,
        "id" to change.id,
        "state" to name(change.state),
        "reason" to reason(change.state),
        "revision" to change.revision,
    )

fun form(stats: Stats): JsonObject = with(stats) {
    obj(
        "pending" to pending,
        "in_flight" to inFlight,
        "held" to held,
        "held_by_reason" to heldByReason.associate { it.reason.form() to it.count },
        "in_doubt" to inDoubt,
        "queued_bytes" to queuedBytes,
        "result_bytes" to resultBytes,
        "database_bytes" to databaseBytes,
        "submit_calls" to submitCalls,
        "accepted" to accepted,
        "joined" to joined,
        "replayed" to replayed,
        "reuse_refused" to reuseRefused,
        "succeeded" to succeeded,
        "rejected" to rejected,
        "cancelled" to cancelled,
        "expired" to expired,
        "superseded" to superseded,
        "abandoned" to abandoned,
        "attempts" to attempts,
        "retries_after_answer" to retriesAfterAnswer,
        "retries_after_silence" to retriesAfterSilence,
        "retries_after_no_connection" to retriesAfterNoConnection,
        "doubts_raised" to doubtsRaised,
        "doubts_settled" to doubtsSettled,
        "duplicate_hit_rate" to duplicateHitRate,
        "reuse_refused_rate" to reuseRefusedRate,
        "abnormal_retry_rate" to abnormalRetryRate,
        "time_to_settle" to timeToSettle.sumOf { it.count },
        "last_cursor" to lastCursor,
        "inbox_runs" to inboxRuns,
        "inbox_repeats" to inboxRepeats,
        "inbox_uncertain" to inboxUncertain,
        "records" to records,
    )
}

fun form(progress: UploadProgress): JsonObject =
    obj("id" to progress.id, "sent" to progress.sent, "total" to progress.total)
