package dev.submitonce.runs

import dev.submitonce.CancelOutcome
import dev.submitonce.Credentials
import dev.submitonce.CredentialsProvider
import dev.submitonce.DrainPlan
import dev.submitonce.NetworkKind
import dev.submitonce.RunJob
import dev.submitonce.RunNetwork
import dev.submitonce.RunResult
import dev.submitonce.SubmissionState
import dev.submitonce.SubmitOnceException
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.io.TempDir
import java.io.File
import java.time.Duration
import java.time.Instant
import kotlin.test.assertEquals
import kotlin.test.assertIs
import kotlin.test.assertTrue

private const val FAILS = """{"error_before":{"status":500}}"""

/** What runs do and what they order next, against the real core and a server that counts. */
class DrainPlanTest {
    @TempDir
    lateinit var folder: File

    private fun Stage.wait(): Duration =
        Duration.between(works.now, works.pending(FakeScheduler.LATER).single().notBefore)

    /** F28 */
    @Test
    fun `a hundred submissions are one work`() = runBlocking {
        onStage(folder) { server ->
            repeat(100) { order() }
            assertEquals(listOf(FakeScheduler.ANY), works.works.map { it.name })
            works.setNetwork(DeviceNetwork.METERED)
            works.idle()
            assertEquals(100, server.summary().effects)
            assertEquals(1, works.begun.size)
            assertEquals(emptyList(), works.pending())
        }
    }

    /** F29 */
    @Test
    fun `a run that is stopped begins nothing more, and what it sent is counted once`() = runBlocking {
        onStage(folder, Stage.quick.copy(maxInFlight = 1u)) { server ->
            server.script("""{"hold_before":"gate"}""")
            works.setNetwork(DeviceNetwork.METERED)
            val first = order()
            server.await("""{"held":"gate"}""")
            val second = order()
            works.setNetwork(DeviceNetwork.NONE)
            works.gone()
            server.release("gate")
            val settled = awaits(first) { it.state.isFinal }
            assertEquals(SubmissionState.Succeeded to 1, settled.state to settled.attempts)
            assertEquals(0, outbox.snapshot(second).attempts)
            works.setNetwork(DeviceNetwork.METERED)
            works.idle()
            assertEquals(SubmissionState.Succeeded, state(second))
            assertEquals(2, server.summary().requests)
        }
    }

    /** F40 */
    @Test
    fun `a run ends in time, and another goes on`() = runBlocking {
        onStage(folder, Stage.quick.copy(maxInFlight = 1u)) { server ->
            server.always("""{"answer_late":300}""")
            runTime = Duration.ofSeconds(2)
            val orders = List(9) { order() }
            works.setNetwork(DeviceNetwork.METERED)
            works.idle()
            val done = orders.count { state(it) == SubmissionState.Succeeded }
            assertTrue(done in 1..6, "$done done in 2 s at 300 ms each")
            // Nothing was begun for which there was no time; at most one took longer than those before it.
            assertTrue(server.summary().requests - done in 0..1)
            repeat(9) {
                works.pass(Duration.ofSeconds(11))
                works.idle()
            }
            assertEquals(9, server.summary().effects)
            assertEquals(9, server.summary().requests)
            assertEquals(emptyList(), works.pending())
        }
    }

    @Test
    fun `delivery that the app suspends goes on in another run`() = runBlocking {
        onStage(folder) { server ->
            server.script("""{"hold_after":"gate"}""")
            works.setNetwork(DeviceNetwork.METERED)
            val id = order()
            server.await("""{"held":"gate"}""")
            outbox.suspendDelivery()
            works.idle()
            assertEquals(listOf(FakeScheduler.LATER), works.pending().map { it.name })
            server.release("gate")
            server.await("\"over\"")
            works.pass(Duration.ofSeconds(11))
            works.idle()
            assertEquals(SubmissionState.Succeeded, state(id))
            assertEquals(1, server.summary().effects)
        }
    }

    @Test
    fun `a busy database is tried again soon, and nothing else is`() = runBlocking {
        onStage(folder, Stage.quick.copy(busyTimeout = Duration.ofMillis(20))) { server ->
            val id = order()
            ChildApp.start("locked", folder, server.url).use { holder ->
                holder.awaits("locked")
                works.setNetwork(DeviceNetwork.METERED)
                works.awaits { all -> all.single().let { it.attempts == 1 && it.state == WorkState.ENQUEUED } }
                assertEquals(Duration.ofSeconds(10), Duration.between(works.now, works.pending().single().notBefore))
            }
            works.pass(Duration.ofSeconds(10))
            works.idle()
            assertEquals(SubmissionState.Succeeded, state(id))
            assertEquals(emptyList(), problems)
        }
    }

    @Test
    fun `an outbox that can't be opened is told of and tried again`() = runBlocking {
        onStage(folder) {
            val told = mutableListOf<Throwable>()
            suspend fun resultOf(problem: Exception) =
                DrainPlan.runOn(scheduler, told::add, { throw problem }) { run(RunJob.ANY) }
            assertEquals(RunResult.RETRY, resultOf(SubmitOnceException.Storage.Busy("busy")))
            assertEquals(RunResult.RETRY, resultOf(SubmitOnceException.Storage.Unavailable("locked")))
            assertEquals(emptyList(), told)
            assertEquals(emptyList(), works.works)
            assertEquals(RunResult.SUCCESS, resultOf(SubmitOnceException.CannotOpen.SchemaTooNew("new", 9, 1)))
            assertEquals(RunResult.SUCCESS, resultOf(IllegalStateException("nothing is registered")))
            assertEquals(2, told.size)
            assertTrue(wait() in Duration.ofMinutes(14)..Duration.ofMinutes(15))
        }
    }

    @Test
    fun `what waits in an outbox that no run can open is delivered once one can`() = runBlocking {
        onStage(folder) { server ->
            trouble = IllegalStateException("nothing is registered")
            order()
            works.setNetwork(DeviceNetwork.METERED)
            works.idle()
            // The mark is set still; what comes now relies on the order for later.
            order()
            assertEquals(listOf(FakeScheduler.LATER), works.pending().map { it.name })
            works.pass(Duration.ofMinutes(15))
            works.idle()
            // It replaced itself.
            assertEquals(listOf(FakeScheduler.ANY, FakeScheduler.LATER), works.begun)
            assertTrue(wait() in Duration.ofMinutes(14)..Duration.ofMinutes(15))
            trouble = null
            works.pass(Duration.ofMinutes(15))
            works.idle()
            assertEquals(2, server.summary().effects)
            assertEquals(emptyList(), works.pending())
        }
    }

    /** A scheduler whose memory can't be written. */
    private class Refusing(works: FakeWorkManager) : FakeScheduler(works) {
        var refuses = false

        private suspend fun unlessRefused(call: suspend () -> Unit) =
            if (refuses) throw IllegalStateException("the scheduler's database is full") else call()

        override suspend fun append(network: RunNetwork) = unlessRefused { super.append(network) }
        override suspend fun later(at: Instant) = unlessRefused { super.later(at) }
        override suspend fun notLater() = unlessRefused { super.notLater() }
    }

    @Test
    fun `what the scheduler refuses is told, and asked for again`() = runBlocking {
        onStage(folder, scheduling = ::Refusing) { server ->
            val refusing = scheduler as Refusing
            refusing.refuses = true
            order()
            assertEquals(1, problems.size)
            assertEquals(emptyList(), works.works)
            refusing.refuses = false
            order()
            assertEquals(1, works.works.size)
            // A run that can't order the next one is kept by its own backoff.
            refusing.refuses = true
            works.setNetwork(DeviceNetwork.METERED)
            works.awaits { all -> all.single().let { it.attempts == 1 && it.state == WorkState.ENQUEUED } }
            refusing.refuses = false
            works.pass(Duration.ofSeconds(10))
            works.idle()
            assertEquals(emptyList(), works.pending())
            assertEquals(2, server.summary().effects)
        }
    }

    @Test
    fun `never more than two works of a network, however often it flaps`() = runBlocking {
        onStage(folder, Stage.quick.copy(maxInFlight = 20u)) { server ->
            server.always("""{"hold_before":"gate"}""")
            repeat(5) { flap ->
                order()
                works.setNetwork(DeviceNetwork.METERED)
                server.await("""{"held":"gate"}""", count = flap + 1)
                order()
                assertTrue(works.pending(FakeScheduler.ANY).size <= 2, "${works.pending()}")
                server.await("""{"held":"gate"}""", count = 2 * flap + 2)
                works.setNetwork(DeviceNetwork.NONE)
            }
            server.post("clear-scripts", "")
            server.release("gate")
            works.setNetwork(DeviceNetwork.METERED)
            works.idle()
            assertEquals(10, server.summary().effects)
            assertEquals(10, server.summary().requests)
        }
    }

    @Test
    fun `the later work is replaced when the time changes, and taken back when nothing waits`() = runBlocking {
        onStage(folder) { server ->
            works.setNetwork(DeviceNetwork.METERED)
            server.script(FAILS, """{"error_before":{"status":503,"headers":[["Retry-After","600"]]}}""")
            val id = order()
            works.idle()
            assertTrue(wait() in Duration.ofSeconds(9)..Duration.ofSeconds(10), "${wait()}")
            // "Try now", while the later work waits.
            outbox.wake(id)
            works.idle()
            assertTrue(wait() in Duration.ofMinutes(9)..Duration.ofMinutes(16), "${wait()}")
            assertIs<CancelOutcome.MayHaveHappened>(outbox.cancel(id))
            outbox.signIn("ada")
            works.idle()
            assertEquals(emptyList(), works.pending())
        }
    }

    @Test
    fun `nothing runs while only the later work waits, and at its time something does`() = runBlocking {
        onStage(folder) { server ->
            works.setNetwork(DeviceNetwork.METERED)
            server.script(FAILS)
            val id = order()
            works.idle()
            assertEquals(listOf(FakeScheduler.ANY), works.begun)
            works.pass(Duration.ofSeconds(8))
            works.idle()
            assertEquals(listOf(FakeScheduler.ANY), works.begun)
            works.pass(Duration.ofSeconds(3))
            works.idle()
            assertEquals(listOf(FakeScheduler.ANY, FakeScheduler.LATER, FakeScheduler.ANY), works.begun)
            assertEquals(SubmissionState.Succeeded, state(id))
        }
    }

    @Test
    fun `what waits for credentials is looked after now and then`() = runBlocking {
        onStage(folder) {
            works.setNetwork(DeviceNetwork.METERED)
            outbox.signIn("ada")
            order(account = "ada")
            works.idle()
            assertTrue(wait() in Duration.ofMinutes(59)..Duration.ofMinutes(60))
        }
    }

    @Test
    fun `credentials that come after the end of a run bring the next one`() = runBlocking {
        onStage(folder) { server ->
            outbox.close()
            val token = CompletableDeferred<Credentials>()
            credentials = CredentialsProvider { _, _ -> token.await() }
            open()
            runTime = Duration.ofMillis(300)
            outbox.signIn("ada")
            val id = order(account = "ada")
            works.setNetwork(DeviceNetwork.METERED)
            works.idle()
            assertEquals(listOf(FakeScheduler.ANY), works.begun)
            runTime = Duration.ofSeconds(60)
            token.complete(Credentials.bearer("good"))
            awaits(id) { it.state == SubmissionState.Succeeded }
            works.idle()
            assertEquals(listOf(FakeScheduler.ANY, FakeScheduler.ANY), works.begun)
            assertEquals(1, server.summary().effects)
        }
    }

    @Test
    fun `a work that the app has cancelled comes back when it opens the outbox`() = runBlocking {
        onStage(folder) { server ->
            val order = order()
            val photo = order("/photos", unmeteredOnly = true)
            works.cancelUnique(FakeScheduler.ANY)
            works.cancelUnique(FakeScheduler.UNMETERED)
            outbox.close()
            works.setNetwork(DeviceNetwork.METERED)
            open()
            works.idle()
            assertEquals(SubmissionState.Succeeded, state(order))
            assertEquals(listOf(FakeScheduler.UNMETERED), works.pending().map { it.name })
            works.setNetwork(DeviceNetwork.UNMETERED)
            works.idle()
            assertEquals(SubmissionState.Succeeded, state(photo))
            assertEquals(2, server.summary().effects)
        }
    }

    @Test
    fun `a network that turns metered under its run is waited for, with a pause`() = runBlocking {
        onStage(folder) { server ->
            server.script("""{"hold_after":"gate"}""")
            works.setNetwork(DeviceNetwork.UNMETERED)
            val photo = order("/photos", unmeteredOnly = true)
            server.await("""{"held":"gate"}""")
            // The system's callback says so; its constraint still holds.
            outbox.networkAvailable(NetworkKind.METERED)
            works.idle()
            server.release("gate")
            server.await("\"over\"")
            assertEquals(listOf(FakeScheduler.UNMETERED), works.begun)
            assertTrue(wait() in Duration.ofMinutes(14)..Duration.ofMinutes(15))
            works.pass(Duration.ofMinutes(15))
            works.idle()
            assertEquals(SubmissionState.Succeeded, state(photo))
            assertEquals(1, server.summary().effects)
        }
    }

    @Test
    fun `a run for an unmetered network believes the system that there is none`() = runBlocking {
        onStage(folder) { server ->
            outbox.networkAvailable(NetworkKind.METERED)
            order("/photos", unmeteredOnly = true)
            assertEquals(RunResult.SUCCESS, outbox.plan!!.run(RunJob.UNMETERED, NetworkKind.METERED))
            assertTrue(wait() in Duration.ofMinutes(14)..Duration.ofMinutes(15))
            // And so does the outbox, after it.
            order("/photos", unmeteredOnly = true)
            assertTrue(outbox.drain(Duration.ofSeconds(5)).awaitsUnmetered)
            assertEquals(0, server.summary().requests)
        }
    }
}
