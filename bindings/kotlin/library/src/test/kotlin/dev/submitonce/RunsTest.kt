package dev.submitonce

import dev.submitonce.internal.OutboxConfig
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.async
import org.junit.jupiter.api.Test
import java.time.Duration
import java.time.Instant
import java.util.concurrent.CopyOnWriteArrayList
import java.util.concurrent.TimeoutException
import kotlin.test.assertEquals
import dev.submitonce.internal.Outbox as RawOutbox

/** Who has a run scheduled, where the scheduler is slow to answer. */
class RunsTest : OutboxTest() {
    private val calls = CopyOnWriteArrayList<String>()

    /** Ends what hangs still, and can't be cancelled, when a test has failed. */
    private val over = CompletableDeferred<Unit>()

    private val hangs = object : RunScheduler {
        private suspend fun hang(call: String): Nothing {
            calls += call
            over.await()
            error("over")
        }

        override suspend fun append(network: RunNetwork) = hang("append $network")
        override suspend fun ensure(network: RunNetwork) = hang("ensure $network")
        override suspend fun later(at: Instant) = hang("later")
        override suspend fun notLater() = hang("notLater")
    }

    @Test
    fun `a scheduler that hangs holds a submit for a time, and the next one asks it again`() = test {
        val raw = RawOutbox.open(OutboxConfig(database().path, baseUrl = "http://127.0.0.1:9", limits = quick))
        try {
            val runs = Runs(raw, hangs, Dispatchers.IO, reported::add, patience = Duration.ofMillis(20))
            runs.repair()
            // As a submit does it, which nothing cancels.
            val done = async(NonCancellable) {
                repeat(2) { runs.accepted(unmeteredOnly = false, raw.submit(order().lowered()).runRequested) }
                runs.repair()
            }
            atOnce { done.await() }
            assertEquals(listOf("append ANY", "append ANY", "ensure ANY"), calls)
            assertEquals(List(3) { TimeoutException::class }, reported.map { it::class })
        } finally {
            over.complete(Unit)
            raw.shutdown()
            raw.close()
        }
    }
}
