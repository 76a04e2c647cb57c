package dev.submitonce.scenarios

import dev.submitonce.Limits
import dev.submitonce.defaultLimits
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import java.time.Duration

/** A limit: how it is shown, and how it is changed. Times are in milliseconds. */
private class Limit(val name: String, val shown: (Limits) -> Long?, val changed: Limits.(JsonElement) -> Limits)

private fun count(name: String, get: (Limits) -> UInt, set: Limits.(UInt) -> Limits) =
    Limit(name, { get(it).toLong() }) { set(it.uint()) }

private fun time(name: String, get: (Limits) -> Duration, set: Limits.(Duration) -> Limits) =
    Limit(name, { get(it).toMillis() }) { set(it.millis()) }

private val all = listOf(
    count("max_in_flight", { it.maxInFlight }) { copy(maxInFlight = it) },
    count("max_queued", { it.maxQueued }) { copy(maxQueued = it) },
    Limit("max_body_bytes", { it.maxBodyBytes.toLong() }) { copy(maxBodyBytes = it.natural().toULong()) },
    count("inline_body_bytes", { it.inlineBodyBytes }) { copy(inlineBodyBytes = it) },
    count("max_answer_bytes", { it.maxAnswerBytes }) { copy(maxAnswerBytes = it) },
    time("request_timeout", { it.requestTimeout }) { copy(requestTimeout = it) },
    time("idle_timeout", { it.idleTimeout }) { copy(idleTimeout = it) },
    time("connect_timeout", { it.connectTimeout }) { copy(connectTimeout = it) },
    time("lease", { it.lease }) { copy(lease = it) },
    time("busy_timeout", { it.busyTimeout }) { copy(busyTimeout = it) },
    time("backoff_first", { it.backoffFirst }) { copy(backoffFirst = it) },
    time("backoff_most", { it.backoffMost }) { copy(backoffMost = it) },
    time("server_wait_most", { it.serverWaitMost }) { copy(serverWaitMost = it) },
    Limit("quiet_time", { it.quietTime?.toMillis() }) { time ->
        copy(quietTime = time.takeUnless { it == JsonNull }?.millis())
    },
    count("retry_attempts", { it.retryAttempts }) { copy(retryAttempts = it) },
    time("retry_time", { it.retryTime }) { copy(retryTime = it) },
    count("busy_attempts", { it.busyAttempts }) { copy(busyAttempts = it) },
    time("busy_time", { it.busyTime }) { copy(busyTime = it) },
    time("horizon", { it.horizon }) { copy(horizon = it) },
    time("keep_results", { it.keepResults }) { copy(keepResults = it) },
    count("keep_results_count", { it.keepResultsCount }) { copy(keepResultsCount = it) },
    Limit("keep_results_bytes", { it.keepResultsBytes.toLong() }) { copy(keepResultsBytes = it.natural().toULong()) },
    time("keep_tombstones", { it.keepTombstones }) { copy(keepTombstones = it) },
    count("keep_changes", { it.keepChanges }) { copy(keepChanges = it) },
)

fun form(limits: Limits): JsonObject = obj(*all.map { it.name to it.shown(limits) }.toTypedArray())

/** The default ones with these changed. */
fun limits(changes: Map<String, JsonElement>): Limits =
    changes.entries.fold(defaultLimits()) { limits, (name, value) ->
        val limit = all.find { it.name == name } ?: broken("there is no limit $name")
        limit.changed(limits, value)
    }

fun JsonElement.natural(): Long = whole().also { if (it < 0) broken("$it is less than nothing") }

fun JsonElement.uint(): UInt =
    natural().also { if (it > UInt.MAX_VALUE.toLong()) broken("$it is too much") }.toUInt()

fun JsonElement.millis(): Duration = Duration.ofMillis(natural())
