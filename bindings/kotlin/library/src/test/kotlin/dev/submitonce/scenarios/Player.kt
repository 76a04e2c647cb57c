package dev.submitonce.scenarios

import dev.submitonce.ReferenceServer
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.jsonObject
import java.nio.file.Files

/** Plays a scenario: its steps in order, each with what it must give, and the server's verdict. */
fun play(scenario: Scenario) {
    val folder = Files.createTempDirectory("scenario").toFile()
    try {
        ReferenceServer.start(*scenario.server.toTypedArray()).use { server ->
            Stage(scenario, server, folder).use { stage -> Player(stage).steps() }
            verdict(server, scenario.end)?.let { broken("${scenario.name}, the end:\n$it") }
        }
    } finally {
        folder.deleteRecursively()
    }
}

private class Player(private val stage: Stage) {
    private val known = mutableMapOf<String, JsonElement>("server" to JsonPrimitive(stage.server.url))

    fun steps() = stage.scenario.steps.forEachIndexed { index, step ->
        try {
            runBlocking { play(step) }
        } catch (problem: Throwable) {
            val title = "${stage.scenario.name}, step ${index + 1}: ${step.kind}"
            throw AssertionError("$title\n${(problem as? AssertionError)?.message ?: problem}", problem)
        }
    }

    private suspend fun play(step: Step) {
        val arguments = step.arguments.resolved(known)
        if (arguments.hasHalfAPair() != step.needsUtf16) {
            broken("a step needs UTF-16 strings if, and only if, there is half of a surrogate pair in it")
        }
        val expect = step.expect?.resolved(known)
        val error = step.error?.resolved(known)
        val action = arguments.members(kinds.getValue(step.kind))
        val result = try {
            action(Turn(stage, step.on, expect))
        } catch (problem: Exception) {
            val form = errorForm(problem) ?: throw problem
            return compare(error ?: broken("failed with $form"), form)
        }
        if (error != null) broken("expected $error\n     got $result")
        expect?.let { compare(it, result) }
        step.keepAs?.let { known[it] = result }
    }

    private fun compare(expected: JsonElement, actual: JsonElement) {
        misfit(expected, actual)?.let(::broken)
    }
}

/**
 * What the summary is when nothing is in flight any more, against what it should be: besides what is
 * named, no key has two effects, no path two keys, and no two requests of a key overlap.
 */
fun verdict(server: ReferenceServer, end: JsonObject): String? {
    val arrived = server.get("summary").jsonObject.getValue("requests")
    val over = obj("until" to "over", "count" to arrived, "timeout_ms" to PATIENCE.toMillis())
    misfit(obj("met" to true), server.post("wait", over.toString()))?.let { broken("a request never ends: $it") }
    val summary = server.get("summary").jsonObject
    val second = obj("\$more_than" to 1)
    val everywhere = mapOf(
        "duplicate_effects" to json(0),
        "max_keys_per_path" to obj("\$not" to second),
        "max_in_flight_per_key" to obj("\$not" to second),
    )
    return misfit(JsonObject(everywhere + end), summary)
}
