package dev.submitonce.runs

import dev.submitonce.ReferenceServer
import dev.submitonce.RunNetwork
import dev.submitonce.SubmissionState
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.io.TempDir
import java.io.File
import java.time.Duration
import java.time.Instant
import kotlin.test.assertEquals
import kotlin.test.assertTrue

/** The races between an app, its runs and the scheduler that starts them. */
class RacesTest {
    @TempDir
    lateinit var folder: File

    /** Its run has taken its last look at the outbox, and waits before it returns. */
    private class LastLook(works: FakeWorkManager) : FakeScheduler(works) {
        val taken = CompletableDeferred<Unit>()
        val over = CompletableDeferred<Unit>()

        override suspend fun notLater() {
            taken.complete(Unit)
            over.await()
            super.notLater()
        }
    }

    @Test
    fun `a submit after the worker's last look and before its return`() = runBlocking {
        onStage(folder, scheduling = ::LastLook) { server ->
            val look = scheduler as LastLook
            works.setNetwork(DeviceNetwork.METERED)
            val first = order()
            look.taken.await()
            assertEquals(SubmissionState.Succeeded, state(first))
            val second = order()
            val states = works.pending(FakeScheduler.ANY).map { it.state }
            assertEquals(listOf(WorkState.RUNNING, WorkState.BLOCKED), states)
            look.over.complete(Unit)
            works.idle()
            assertEquals(SubmissionState.Succeeded, state(second))
            assertEquals(2, server.summary().effects)
        }
    }

    @Test
    fun `a submit while only a 'later' work waits`() = runBlocking {
        onStage(folder, Stage.slow) { server ->
            works.setNetwork(DeviceNetwork.METERED)
            server.script("""{"error_before":{"status":500}}""")
            val first = order()
            works.idle()
            assertEquals(listOf(FakeScheduler.LATER), works.pending().map { it.name })
            val second = order()
            works.idle()
            assertEquals(SubmissionState.Succeeded, state(second))
            assertEquals(SubmissionState.Pending, state(first))
            // And the later work is still there for the first.
            val later = works.pending().single()
            assertEquals(FakeScheduler.LATER, later.name)
            assertTrue(Duration.between(works.now, later.notBefore) > Duration.ofMinutes(59))
        }
    }

    @Test
    fun `a second run after ten minutes beside the first`() = runBlocking {
        onStage(folder) { server ->
            server.script("""{"hold_before":"gate"}""")
            works.setNetwork(DeviceNetwork.METERED)
            val id = order()
            server.await("""{"held":"gate"}""")
            works.pass(Duration.ofMinutes(10))
            works.awaits { works.begun.count { it == FakeScheduler.ANY } == 2 }
            // The second claims what the first doesn't hold.
            val other = order()
            awaits(other) { it.state == SubmissionState.Succeeded }
            server.release("gate")
            works.idle()
            val order = outbox.snapshot(id)
            assertEquals(SubmissionState.Succeeded to 1, order.state to order.attempts)
            val summary = server.summary()
            assertEquals(2, summary.requests, summary.toString())
            assertEquals(1, summary.maxInFlightPerKey)
        }
    }

    @Test
    fun `a kill after the settle and before the result`() = runBlocking {
        ReferenceServer.start().use { server ->
            // The second order is to be repeated in an hour: the run that dies hasn't ordered that yet.
            server.script("\"normal\"", """{"error_before":{"status":500}}""")
            ChildApp.start("settled", folder, server.url).use { it.killAfter("settled") }
            Stage(folder, server.url).use { stage ->
                assertEquals(listOf(WorkState.ENQUEUED), stage.works.pending(FakeScheduler.ANY).map { it.state })
                stage.open(Stage.slow)
                stage.works.setNetwork(DeviceNetwork.METERED)
                stage.works.idle()
                assertEquals(2, server.summary().requests)
                assertEquals(1, server.summary().effects)
                val later = stage.works.pending().single()
                assertEquals(FakeScheduler.LATER, later.name)
                assertTrue(Duration.between(Instant.now(), later.notBefore) > Duration.ofMinutes(50))
            }
        }
    }

    @Test
    fun `unmetered work enqueued before any-network work`() = runBlocking {
        onStage(folder) { server ->
            works.setNetwork(DeviceNetwork.METERED)
            val photo = order("/photos", unmeteredOnly = true)
            val order = order()
            works.idle()
            assertEquals(SubmissionState.Pending, state(photo))
            assertEquals(SubmissionState.Succeeded, state(order))
            assertEquals(listOf(FakeScheduler.UNMETERED), works.pending().map { it.name })
            works.setNetwork(DeviceNetwork.UNMETERED)
            works.idle()
            assertEquals(SubmissionState.Succeeded, state(photo))
            assertEquals(emptyList(), works.pending())
            assertEquals(2, server.summary().effects)
        }
    }

    @Test
    fun `a kill between the submit's commit and the enqueue`() = runBlocking {
        ReferenceServer.start().use { server ->
            ChildApp.start("committed", folder, server.url).use { it.killAfter("committed") }
            Stage(folder, server.url).use { stage ->
                assertEquals(emptyList(), stage.works.works)
                stage.open()
                stage.works.setNetwork(DeviceNetwork.UNMETERED)
                stage.works.idle()
                assertEquals(1, server.summary().effects)
                assertEquals(emptyList(), stage.works.pending())
            }
        }
    }

    /** A later work that is replaced while it has the run for now scheduled. */
    private class SlowAppend(works: FakeWorkManager) : FakeScheduler(works) {
        val gates = ArrayDeque<CompletableDeferred<Unit>>()
        val reached = CompletableDeferred<Unit>()

        override suspend fun append(network: RunNetwork) {
            gates.removeFirstOrNull()?.let {
                reached.complete(Unit)
                it.await()
            }
            super.append(network)
        }
    }

    @Test
    fun `a 'later' work that is replaced while it asks for a run`() = runBlocking {
        onStage(folder, scheduling = ::SlowAppend) { server ->
            val slow = scheduler as SlowAppend
            works.setNetwork(DeviceNetwork.METERED)
            server.script("""{"error_before":{"status":500}}""")
            val id = order()
            works.idle()
            val gate = CompletableDeferred<Unit>().also { slow.gates += it }
            works.pass(Duration.ofSeconds(11))
            slow.reached.await()
            slow.later(Instant.now() + Duration.ofHours(1))
            gate.complete(Unit)
            awaits(id) { it.state == SubmissionState.Succeeded }
            works.idle()
            assertEquals(emptyList(), works.pending())
        }
    }
}
