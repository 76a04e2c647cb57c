package dev.submitonce.runs

import dev.submitonce.DrainPlan
import dev.submitonce.NetworkKind
import dev.submitonce.Outbox
import dev.submitonce.RunJob
import dev.submitonce.RunNetwork
import dev.submitonce.RunResult
import dev.submitonce.SubmissionState
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.io.TempDir
import java.io.File
import java.util.UUID
import kotlin.test.assertEquals
import kotlin.test.assertTrue

/** What goes wrong around a run fails none, and nothing that waits is forgotten for it. */
class RunProblemsTest {
    @TempDir
    lateinit var folder: File

    /** Goes wrong once, where it is told to. */
    private class Troubled(works: FakeWorkManager) : FakeScheduler(works) {
        var atAppend: (suspend () -> Unit)? = null
        var atNotLater: (suspend () -> Unit)? = null

        override suspend fun append(network: RunNetwork) {
            atAppend.also { atAppend = null }?.invoke()
            super.append(network)
        }

        override suspend fun notLater() {
            atNotLater.also { atNotLater = null }?.invoke()
            super.notLater()
        }
    }

    private fun onTroubledStage(test: suspend Stage.(Troubled) -> Unit) = runBlocking {
        onStage(folder, scheduling = ::Troubled) { test(scheduler as Troubled) }
    }

    private suspend fun timesOut(): Nothing = withTimeout(1) { awaitCancellation() }

    private fun full(): Nothing = throw IllegalStateException("the scheduler's database is full")

    private fun Stage.pendingNames() = works.pending().map { it.name }

    private suspend fun Stage.resultOf(opening: suspend () -> Outbox): RunResult =
        DrainPlan.runOn(scheduler, problems::add, opening) { run(RunJob.ANY) }

    @Test
    fun `a time-out while opening, or a library that can't be loaded, is tried again later`() = onTroubledStage {
        assertEquals(RunResult.SUCCESS, resultOf { timesOut() })
        assertEquals(RunResult.SUCCESS, resultOf { throw UnsatisfiedLinkError("it can't be loaded") })
        assertEquals(2, problems.size)
        assertEquals(listOf(FakeScheduler.LATER), pendingNames())
    }

    @Test
    fun `who is told of a problem may have one too`() = onTroubledStage {
        val result = DrainPlan.runOn(scheduler, { full() }, { full() }) { run(RunJob.ANY) }
        assertEquals(RunResult.SUCCESS, result)
        assertEquals(listOf(FakeScheduler.LATER), pendingNames())
    }

    @Test
    fun `a run that is cancelled ends as such, and orders nothing`() = onTroubledStage {
        val entered = CompletableDeferred<Unit>()
        runBlocking {
            val run = async { resultOf { entered.complete(Unit).let { awaitCancellation() } } }
            entered.await()
            run.cancel()
            run.join()
            assertTrue(run.isCancelled)
        }
        assertEquals(emptyList(), problems)
        assertEquals(emptyList(), works.pending())
    }

    @Test
    fun `what is submitted during a run outlives a time-out in the scheduler`() = onTroubledStage { scheduler ->
        val second = CompletableDeferred<UUID>()
        scheduler.atNotLater = {
            second.complete(order())
            timesOut()
        }
        works.setNetwork(DeviceNetwork.METERED)
        val first = order()
        works.idle()
        val states = listOf(first, second.await()).map { state(it) }
        assertEquals(listOf<SubmissionState>(SubmissionState.Succeeded, SubmissionState.Succeeded), states)
        assertEquals(1, problems.size)
        assertEquals(emptyList(), works.pending())
    }

    @Test
    fun `an error of the scheduler leaves the submission stored, and the next one asks again`() =
        onTroubledStage { scheduler ->
            scheduler.atAppend = { throw NoClassDefFoundError("androidx.work.Something") }
            val first = order()
            assertEquals(SubmissionState.Pending, state(first))
            assertEquals(1, problems.size)
            assertEquals(emptyList(), works.works)
            scheduler.atAppend = { timesOut() }
            order()
            assertEquals(2, problems.size)
            order()
            assertEquals(listOf(FakeScheduler.ANY), pendingNames())
        }

    @Test
    fun `a later work that can't have a run scheduled comes back`() = onTroubledStage { scheduler ->
        scheduler.atAppend = { full() }
        assertEquals(RunResult.SUCCESS, outbox.plan!!.run(RunJob.LATER))
        assertEquals(1, problems.size)
        assertEquals(listOf(FakeScheduler.LATER), pendingNames())
        // And it is asked again then.
        outbox.plan!!.run(RunJob.LATER)
        assertEquals(listOf(FakeScheduler.LATER, FakeScheduler.ANY), pendingNames())
    }

    @Test
    fun `a run that can't order the one for Wi-Fi comes back`() = onTroubledStage { scheduler ->
        scheduler.atAppend = { full() }
        order(unmeteredOnly = true)
        scheduler.atAppend = { full() }
        assertEquals(RunResult.SUCCESS, outbox.plan!!.run(RunJob.ANY, NetworkKind.METERED))
        assertEquals(2, problems.size)
        assertEquals(listOf(FakeScheduler.LATER), pendingNames())
        outbox.plan!!.run(RunJob.ANY, NetworkKind.METERED)
        assertEquals(listOf(FakeScheduler.UNMETERED), pendingNames())
    }
}
