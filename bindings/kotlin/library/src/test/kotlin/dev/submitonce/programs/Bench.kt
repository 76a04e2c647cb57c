package dev.submitonce.programs

import dev.submitonce.Body
import dev.submitonce.Outbox
import dev.submitonce.Submission
import dev.submitonce.SubmissionId
import dev.submitonce.internal.OutboxConfig
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import kotlinx.serialization.json.long
import java.io.File
import java.nio.file.Files
import java.util.UUID
import kotlin.system.measureNanoTime
import dev.submitonce.internal.Body as RawBody
import dev.submitonce.internal.Outbox as RawOutbox
import dev.submitonce.internal.Submission as RawSubmission

/**
 * `submit` and `snapshot` from Kotlin beside the same calls from Rust: rounds of each in turn, medians
 * of the rounds' medians. Arguments: the Rust program, a folder on a real disk, calls per round.
 */
fun main(arguments: Array<String>) {
    val (rust, parent, calls) = arguments
    val rounds = List(ROUNDS + 1) { round ->
        val folder = Files.createTempDirectory(File(parent).toPath(), "round-$round-").toFile()
        try {
            Round(rust(rust, folder, calls), raw(folder, calls.toInt()), layer(folder, calls.toInt()))
        } finally {
            folder.deleteRecursively()
        }
    }.drop(1) // The first warms the JVM up.
    println("| call | Rust | Kotlin, generated | ratio | Kotlin, suspending | ratio |")
    println("| --- | --- | --- | --- | --- | --- |")
    row("`submit`, 1 KB, durable", rounds) { it.submit }
    row("`snapshot`", rounds) { it.snapshot }
}

private const val ROUNDS = 5

private class Times(val submit: Long, val snapshot: Long)

private class Round(val rust: Times, val raw: Times, val layer: Times)

private fun row(name: String, rounds: List<Round>, time: (Times) -> Long) {
    val rust = median(rounds.map { time(it.rust) })
    val raw = median(rounds.map { time(it.raw) })
    val layer = median(rounds.map { time(it.layer) })
    println("| $name | ${micros(rust)} | ${micros(raw)} | ${ratio(raw, rust)} | ${micros(layer)} | ${ratio(layer, rust)} |")
}

private fun micros(nanos: Long) = "%.1f µs".format(nanos / 1_000.0)

private fun ratio(one: Long, other: Long) = "%.2f".format(one.toDouble() / other)

private fun median(times: List<Long>) = times.sorted()[times.size / 2]

private val text = """{"item":"${"x".repeat(1_013)}"}"""

private const val URL = "https://api.example.com/orders"

private fun rust(program: String, folder: File, calls: String): Times {
    val process = ProcessBuilder(program, folder.path, calls)
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start()
    val json = Json.parseToJsonElement(process.inputStream.bufferedReader().readText()).jsonObject
    check(process.waitFor() == 0)
    return Times(
        json.getValue("submit_ns").jsonPrimitive.long,
        json.getValue("snapshot_ns").jsonPrimitive.long,
    )
}

private fun raw(folder: File, calls: Int): Times =
    RawOutbox.open(OutboxConfig(File(folder, "raw.sqlite3").path)).use { outbox ->
        val ids = List(calls) { SubmissionId.new() }
        val submits = ids.map { id ->
            val order = RawSubmission(id = id, url = URL, body = RawBody.Json(text))
            measureNanoTime { outbox.submit(order) }
        }
        val snapshots = ids.map { measureNanoTime { outbox.snapshot(it) } }
        outbox.shutdown()
        Times(median(submits), median(snapshots))
    }

private fun layer(folder: File, calls: Int): Times = runBlocking(Dispatchers.Default) {
    Outbox.open(File(folder, "layer.sqlite3")).use { outbox ->
        val ids: List<UUID> = List(calls) { SubmissionId.new() }
        val submits = ids.map { id ->
            val order = Submission(id, URL, Body.Json(text))
            measureNanoTime { outbox.submit(order) }
        }
        val snapshots = ids.map { measureNanoTime { outbox.snapshot(it) } }
        Times(median(submits), median(snapshots))
    }
}
