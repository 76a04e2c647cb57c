package dev.submitonce.scenarios

import org.junit.jupiter.api.DynamicTest
import org.junit.jupiter.api.DynamicTest.dynamicTest
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.TestFactory
import java.io.File
import kotlin.test.assertEquals

/** The scenarios that every language plays, in Kotlin: see `tests/conformance/README.md`. */
class ScenariosTest {
    private val played = listOf(
        "accounts", "answers", "batches", "bodies", "cancels", "convergence", "copies", "decisions", "fetched", "ids",
        "inbox", "intents", "key_lifetimes", "key_places", "lanes", "latest", "lost_answers", "networks", "observing",
        "opening", "order", "parents", "probes", "purges", "retention", "runs", "waits",
    )

    private fun scenariosOf(name: String) = scenariosOf(File(conformance, "$name.json"))

    @TestFactory
    fun scenarios(): List<DynamicTest> = played.flatMap { name ->
        runCatching { scenariosOf(name) }.fold(
            { scenarios -> scenarios.map { dynamicTest("$name: ${it.name}") { play(it) } } },
            // The other files are played all the same.
            { problem -> listOf(dynamicTest("$name: can be read") { throw AssertionError("$name: $problem", problem) }) },
        )
    }

    @Test
    fun `every file is played`() {
        val files = conformance.listFiles().orEmpty().filter { it.extension == "json" }
        assertEquals(files.map { it.nameWithoutExtension }.sorted(), played.sorted())
    }

    @Test
    fun `every kind of step is in a scenario`() {
        val used = played.flatMap(::scenariosOf).flatMap { it.steps }.map { it.kind }
        assertEquals(kinds.keys, used.toSet())
    }
}
