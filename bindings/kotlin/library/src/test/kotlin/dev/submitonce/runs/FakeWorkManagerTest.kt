package dev.submitonce.runs

import dev.submitonce.RunResult
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeout
import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.io.TempDir
import java.io.File
import java.time.Duration
import java.util.concurrent.ConcurrentHashMap
import kotlin.test.assertEquals
import kotlin.test.assertFalse
import kotlin.test.assertTrue

/** The fake keeps the rules that it claims to keep. */
class FakeWorkManagerTest {
    @TempDir
    lateinit var folder: File

    /** Works of these jobs run until they are told how to end. */
    private val endings = ConcurrentHashMap<String, CompletableDeferred<RunResult>>()
    private val entered = CompletableDeferred<String>()
    private val stopped = CompletableDeferred<String>()
    private val works by lazy { manager() }

    private fun manager() = FakeWorkManager(File(folder, "works")) { work ->
        entered.complete(work.request.job)
        try {
            endings[work.request.job]?.await() ?: RunResult.SUCCESS
        } catch (cancelled: CancellationException) {
            stopped.complete(work.request.job)
            throw cancelled
        }
    }

    @AfterEach
    fun close() = works.close()

    private fun holds(job: String) = CompletableDeferred<RunResult>().also { endings[job] = it }

    private suspend fun enqueue(job: String, policy: WorkPolicy = WorkPolicy.APPEND_OR_REPLACE) =
        works.enqueueUnique("name", policy, WorkRequest(job))

    private fun states() = works.works.associate { it.request.job to it.state }

    private fun online() = works.setNetwork(DeviceNetwork.METERED)

    @Test
    fun `a work waits for its network, and an unmetered one for better`() = runBlocking {
        works.enqueueUnique("a", WorkPolicy.KEEP, WorkRequest("order"))
        works.enqueueUnique("b", WorkPolicy.KEEP, WorkRequest("photo", NeededNetwork.UNMETERED))
        works.idle()
        assertEquals(emptyList(), works.begun)
        online()
        works.idle()
        assertEquals(listOf("a"), works.begun)
        works.setNetwork(DeviceNetwork.UNMETERED)
        works.idle()
        assertEquals(listOf("a", "b"), works.begun)
    }

    @Test
    fun `KEEP does nothing while a work is unfinished, running ones too`() = runBlocking {
        val end = holds("first")
        online()
        enqueue("first")
        enqueue("second", WorkPolicy.KEEP)
        assertEquals(mapOf("first" to WorkState.RUNNING), states())
        end.complete(RunResult.SUCCESS)
        works.idle()
        enqueue("second", WorkPolicy.KEEP)
        works.idle()
        assertEquals(mapOf("second" to WorkState.SUCCEEDED), states())
    }

    @Test
    fun `REPLACE stops a running work and takes its place`() = runBlocking {
        holds("first")
        online()
        enqueue("first")
        entered.await()
        enqueue("second", WorkPolicy.REPLACE)
        works.idle()
        assertEquals(mapOf("second" to WorkState.SUCCEEDED), states())
        assertEquals("first", withTimeout(30_000) { stopped.await() })
    }

    @Test
    fun `APPEND_OR_REPLACE waits behind what is unfinished`() = runBlocking {
        val end = holds("first")
        online()
        enqueue("first")
        enqueue("second")
        enqueue("third")
        assertEquals(
            mapOf("first" to WorkState.RUNNING, "second" to WorkState.BLOCKED, "third" to WorkState.BLOCKED),
            states(),
        )
        end.complete(RunResult.SUCCESS)
        works.idle()
        assertTrue(states().values.all { it == WorkState.SUCCEEDED })
        assertEquals(3, works.begun.size)
    }

    @Test
    fun `what waits behind a failure fails too, and the next one begins anew`() = runBlocking {
        val end = holds("first")
        online()
        enqueue("first")
        enqueue("second")
        end.completeExceptionally(IllegalStateException("thrown by a worker"))
        works.idle()
        assertEquals(mapOf("first" to WorkState.FAILED, "second" to WorkState.FAILED), states())
        enqueue("third")
        works.idle()
        assertEquals(mapOf("third" to WorkState.SUCCEEDED), states())
    }

    @Test
    fun `a work that cancels itself has failed`() = runBlocking {
        FakeWorkManager(File(folder, "works")) { throw CancellationException("its own") }.use { works ->
            works.setNetwork(DeviceNetwork.METERED)
            works.enqueueUnique("a", WorkPolicy.KEEP, WorkRequest("a"))
            works.idle()
            assertEquals(listOf(WorkState.FAILED), works.works.map { it.state })
        }
    }

    @Test
    fun `a cancelled work never runs`() = runBlocking {
        enqueue("first")
        works.cancelUnique("name")
        online()
        works.idle()
        assertEquals(mapOf("first" to WorkState.CANCELLED), states())
    }

    @Test
    fun `a work with a delay waits for its time`() = runBlocking {
        online()
        works.enqueueUnique("name", WorkPolicy.KEEP, WorkRequest("late", delay = Duration.ofHours(1)))
        works.pass(Duration.ofMinutes(59))
        works.idle()
        assertEquals(emptyList(), works.begun)
        works.pass(Duration.ofMinutes(1))
        works.idle()
        assertEquals(listOf("name"), works.begun)
    }

    @Test
    fun `a retry waits for 30 s, then for twice as long`() = runBlocking {
        online()
        for (seconds in listOf(30L, 60L)) {
            endings["again"] = CompletableDeferred(RunResult.RETRY)
            if (seconds == 30L) enqueue("again")
            works.idle()
            val before = works.begun.size
            works.pass(Duration.ofSeconds(seconds - 1))
            works.idle()
            assertEquals(before, works.begun.size)
            works.pass(Duration.ofSeconds(1))
            works.awaits { works.begun.size == before + 1 }
        }
    }

    @Test
    fun `a wait is 10 s at least and 5 h at most`() {
        assertEquals(Duration.ofSeconds(10), Backoff.LINEAR.wait(Duration.ofSeconds(1), 1))
        assertEquals(Duration.ofSeconds(30), Backoff.LINEAR.wait(Duration.ofSeconds(10), 3))
        assertEquals(Duration.ofSeconds(40), Backoff.EXPONENTIAL.wait(Duration.ofSeconds(10), 3))
        assertEquals(Duration.ofHours(5), Backoff.EXPONENTIAL.wait(Duration.ofSeconds(30), 60))
    }

    @Test
    fun `after ten minutes a work is stopped and run again, beside the first if that goes on`() = runBlocking {
        val first = CompletableDeferred<Unit>()
        val results = mutableListOf<String>()
        FakeWorkManager(File(folder, "stubborn")) { work ->
            if (work.attempts == 1) {
                entered.complete("first")
                try {
                    withContext(NonCancellable) { first.await() }
                } catch (_: CancellationException) {
                    // It takes no notice.
                }
                results += "first"
                RunResult.RETRY
            } else {
                results += "second"
                RunResult.SUCCESS
            }
        }.use { stubborn ->
            stubborn.enqueueUnique("name", WorkPolicy.KEEP, WorkRequest("any"))
            stubborn.setNetwork(DeviceNetwork.METERED)
            entered.await()
            stubborn.pass(Duration.ofMinutes(9))
            assertEquals(1, stubborn.begun.size)
            stubborn.pass(Duration.ofMinutes(1))
            stubborn.idle()
            assertEquals(listOf("second"), results)
            // What a stopped run returns is ignored.
            first.complete(Unit)
            stubborn.gone()
            assertEquals(listOf("second", "first"), results)
            assertEquals(WorkState.SUCCEEDED, stubborn.works.single().state)
        }
    }

    @Test
    fun `a work whose network goes is stopped, and run again when it is back`() = runBlocking {
        val end = holds("any")
        online()
        enqueue("any")
        works.setNetwork(DeviceNetwork.NONE)
        assertEquals(WorkState.ENQUEUED, states()["any"])
        end.complete(RunResult.SUCCESS)
        online()
        works.idle()
        assertEquals(2, works.begun.size)
    }

    @Test
    fun `works outlive their process, and what ran is run again`() = runBlocking {
        holds("first")
        online()
        enqueue("first")
        enqueue("second")
        works.close()
        endings.clear()
        manager().use { next ->
            assertEquals(listOf(WorkState.ENQUEUED, WorkState.BLOCKED), next.works.map { it.state })
            next.setNetwork(DeviceNetwork.METERED)
            next.idle()
            assertFalse(next.works.any { !it.state.isFinished })
            assertEquals(2, next.begun.size)
        }
    }
}
