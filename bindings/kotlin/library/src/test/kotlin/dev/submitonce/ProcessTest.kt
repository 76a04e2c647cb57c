package dev.submitonce

import kotlinx.coroutines.async
import kotlinx.coroutines.flow.first
import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.Test
import java.io.BufferedReader
import java.io.File
import java.time.Duration
import java.util.concurrent.TimeUnit
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertIs
import kotlin.test.assertTrue

/** Real processes: what they leave when they end, in whichever way, and what they see of one another. */
class ProcessTest : OutboxTest() {
    private val children = mutableListOf<Process>()

    private fun spawn(deed: String, vararg arguments: String, options: List<String> = emptyList()): Process =
        ChildJvm.start(
            "dev.submitonce.programs.ChildProcess",
            deed,
            *arguments,
            options = options + "-XX:ErrorFile=${crash.path}",
        ).also(children::add)

    private val crash get() = File(folder, "hs_err.log")

    private val Process.lines: BufferedReader get() = inputStream.bufferedReader()

    private fun Process.endsWell() {
        assertTrue(waitFor(LONG.seconds, TimeUnit.SECONDS), "it hangs")
        assertEquals(0, exitValue())
        assertTrue(!crash.exists(), "the virtual machine crashed")
    }

    @AfterEach
    fun endChildren() = children.forEach { it.destroyForcibly() }

    // Requests on the wire, submissions under way, listeners being called: and out.
    @Test
    fun `a process may exit while everything is busy`() = test {
        server.always("""{"hold_before":"gate"}""", path = "/orders")
        val child = spawn("exit-while-busy", database().path, server.url)
        child.endsWell()
        server.release("gate")
        // What it had accepted is there.
        val printed = child.lines.readLine()
        val outbox = open()
        assertTrue(outbox.list().snapshots.size >= printed.toInt(), printed)
    }

    @Test
    fun `a process ends with its main function though an outbox is open`() = test {
        spawn("return-while-open", database().path, server.url).endsWell()
    }

    // P3, P4, P5: killed with the request at the server and its effect made.
    @Test
    fun `a process that is killed with its request at the server converges`() = test {
        val order = order()
        server.script("""{"hold_after":"gate"}""")
        val child = spawn("submit", database().path, server.url, order.id.toString())
        assertEquals("submitted", child.lines.readLine())
        server.await("""{"held":"gate"}""")
        child.destroyForcibly().waitFor()
        server.release("gate")
        val outbox = open()
        assertEquals(ReceiptKind.JOINED, outbox.submit(order).kind)
        outbox.start()
        val settled = assertIs<Waited.Settled>(outbox.wait(order.id, LONG)).snapshot
        assertEquals(SubmissionState.Succeeded to 2, settled.state to settled.attempts)
        val summary = server.summary()
        assertEquals(2, summary.requests)
        assertEquals(listOf(1L, 1L, 1L), summary.run { listOf(effects, maxKeysPerPath, maxInFlightPerKey) })
    }

    // P3: two processes, one database.
    @Test
    fun `what another process does is seen by who observes and who waits`() = test {
        val outbox = open()
        val order = order()
        outbox.submit(order)
        val observed = async { outbox.observe(order.id).first { it.state.isFinal } }
        val waited = async { outbox.wait(order.id, LONG) }
        spawn("drain", database().path, server.url).endsWell()
        assertIs<Waited.Settled>(waited.await())
        assertEquals(SubmissionState.Succeeded, observed.await().state)
        assertEquals(ReceiptKind.REPLAYED, outbox.submit(order).kind)
        assertEquals(1, server.summary().requests)
    }

    @Test
    fun `a database that another process holds is busy and free again`() = test {
        val outbox = open(limits = quick.copy(busyTimeout = Duration.ofMillis(100)))
        outbox.submit(order())
        val child = spawn("hold-the-write-lock", database().path)
        assertEquals("held", child.lines.readLine())
        val order = order()
        val refusal = assertFailsWith<SubmitOnceException.Storage.Busy> { outbox.submit(order) }
        assertTrue("call again" in refusal.message.orEmpty())
        // Readers don't mind.
        assertEquals(1, outbox.list().snapshots.size)
        child.destroyForcibly().waitFor()
        assertEquals(ReceiptKind.ACCEPTED, outbox.submit(order).kind)
    }

    @Test
    fun `a native library that isn't there is told as what it is`() = test {
        val child = spawn(
            "open-without-library",
            database().path,
            options = listOf("-Duniffi.component.submit_once.libraryOverride=/nowhere/libnothing.so"),
        )
        assertEquals("CannotOpen\$Setup", child.lines.readLine())
        child.endsWell()
    }
}
