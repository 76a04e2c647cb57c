package dev.submitonce

import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.Test
import java.io.File
import java.util.concurrent.TimeUnit
import kotlin.test.assertEquals
import kotlin.test.assertIs
import kotlin.test.assertTrue

/** Once-records and real processes: a kill after the effect, and two that do the same work. */
class InboxProcessTest : OutboxTest() {
    private val children = mutableListOf<Process>()

    /** What was done, a line for each time. */
    private val effects get() = File(folder, "effects")

    private fun spawn(deed: String, vararg arguments: String): Process =
        ChildJvm.start("dev.submitonce.programs.ChildProcess", deed, database().path, effects.path, *arguments)
            .also(children::add)

    private fun Process.says(line: String) = assertEquals(line, inputStream.bufferedReader().readLine())

    @AfterEach
    fun endChildren() = children.forEach { it.destroyForcibly() }

    @Test
    fun `a kill between the effect and its record leaves it to the policy`() = test {
        val inbox = open().inbox
        InboxPolicy.entries.forEach { policy ->
            val child = spawn("do-once-and-hang", policy.name)
            child.says("done")
            // It lives, though it hangs.
            assertIs<Once.Busy>(inbox.once("deed", policy.name, policy) { error("beside the other") })
            child.destroyForcibly().waitFor()
        }
        assertEquals(InboxPolicy.entries.map { it.name }, effects.readLines())
        assertIs<Once.Uncertain>(inbox.once("deed", "AT_MOST_ONCE", InboxPolicy.AT_MOST_ONCE) { error("twice") })
        assertEquals(listOf("AT_MOST_ONCE"), inbox.uncertain("deed").map { it.key })
        assertIs<Once.Ran<Unit>>(inbox.once("deed", "AT_LEAST_ONCE", InboxPolicy.AT_LEAST_ONCE) { })
    }

    @Test
    fun `two processes that do the same hundred things do each once`() = test {
        val both = List(2) { spawn("do-many-once", "100") }
        both.forEach { it.says("ready") }
        both.forEach { child -> child.outputStream.use { it.write('\n'.code) } }
        both.forEach {
            assertTrue(it.waitFor(LONG.seconds, TimeUnit.SECONDS), "it hangs")
            assertEquals(0, it.exitValue())
        }
        val done = effects.readLines()
        assertEquals(100, done.size)
        assertEquals(List(100) { "$it" }.toSet(), done.toSet())
    }
}
