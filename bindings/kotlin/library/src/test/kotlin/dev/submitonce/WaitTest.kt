package dev.submitonce

import dev.submitonce.internal.uniffiContinuationHandleMap
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.asCoroutineDispatcher
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeoutOrNull
import org.junit.jupiter.api.Test
import java.time.Duration
import java.util.concurrent.Executors
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertIs
import kotlin.test.assertNull

/** Waiting for an end, and ceasing to wait. */
class WaitTest : OutboxTest() {
    private suspend fun Outbox.onTheWire(): Submission {
        val order = order()
        server.always("""{"hold_before":"gate"}""")
        submit(order)
        start()
        server.await("""{"held":"gate"}""")
        return order
    }

    /** Until somebody really waits in the core. */
    private suspend fun waiting(count: Int = 1) =
        eventually("somebody waits") { uniffiContinuationHandleMap.size >= count }

    @Test
    fun `what has ended before is told at once`() = test {
        val outbox = open()
        val order = order()
        outbox.submit(order)
        outbox.drain(LONG)
        val settled = assertIs<Waited.Settled>(atOnce { outbox.wait(order.id, LONG) })
        assertEquals(outbox.snapshot(order.id), settled.snapshot)
    }

    @Test
    fun `what is held is told as held`() = test {
        val outbox = open()
        val held = outbox.held()
        assertEquals(held, assertIs<Waited.Held>(atOnce { outbox.wait(held.id, LONG) }).snapshot)
    }

    @Test
    fun `a time that is over changes nothing about the submission`() = test {
        val outbox = open()
        val order = outbox.onTheWire()
        val waited = assertIs<Waited.TimedOut>(outbox.wait(order.id, Duration.ofMillis(50)))
        assertEquals(SubmissionState.InFlight, waited.snapshot.state)
        server.release("gate")
        assertIs<Waited.Settled>(outbox.wait(order.id, LONG))
        assertEquals(1, server.summary().requests)
    }

    // F29: cancelling only stops the waiting, and is never taken for an end.
    @Test
    fun `cancelling stops the waiting at once while the server hangs`() = test {
        val outbox = open()
        val order = outbox.onTheWire()
        val waiter = async { outbox.wait(order.id, LONG) }
        waiting()
        atOnce { waiter.cancelAndJoin() }
        assertFailsWith<CancellationException> { waiter.await() }
        assertEquals(SubmissionState.InFlight, outbox.snapshot(order.id).state)
        server.release("gate")
        assertIs<Waited.Settled>(outbox.wait(order.id, LONG))
        assertEquals(1, server.summary().effects)
    }

    @Test
    fun `a time-out of the caller's own works as well`() = test {
        val outbox = open()
        val order = outbox.onTheWire()
        assertNull(atOnce { withTimeoutOrNull(50) { outbox.wait(order.id, LONG) } })
        server.release("gate")
        assertIs<Waited.Settled>(outbox.wait(order.id, LONG))
    }

    @Test
    fun `closing ends the waiting`() = test {
        val outbox = open()
        val order = outbox.onTheWire()
        val waiters = List(3) { async { runCatching { outbox.wait(order.id, LONG) } } }
        waiting(3)
        outbox.close()
        atOnce { waiters.awaitAll() }.forEach { assertIs<SubmitOnceException.Closed>(it.exceptionOrNull()) }
    }

    @Test
    fun `any number may wait for one submission and leave nothing behind`() = test {
        val outbox = open()
        val order = outbox.onTheWire()
        val waiters = List(200) { async { outbox.wait(order.id, LONG) } }
        waiting(200)
        waiters.take(100).forEach { it.cancel() }
        server.release("gate")
        waiters.drop(100).awaitAll().forEach { assertIs<Waited.Settled>(it) }
        eventually("every continuation is given back") { uniffiContinuationHandleMap.size == 0 }
    }

    // An unconfined caller would go on with its own code on one of the core's two network threads.
    @Test
    fun `an unconfined caller never goes on on a thread of the core`() = test {
        val disk = Executors.newSingleThreadExecutor { Thread(it, "disk").apply { isDaemon = true } }
        val outbox = open(dispatcher = disk.asCoroutineDispatcher())
        val order = outbox.onTheWire()
        launch {
            waiting()
            server.release("gate")
        }
        val threads = withContext(Dispatchers.Unconfined) {
            outbox.wait(order.id, LONG)
            val afterWaiting = Thread.currentThread().name
            outbox.drain(LONG)
            listOf(afterWaiting, Thread.currentThread().name)
        }
        assertEquals(listOf("disk", "disk"), threads.map { it.substringBefore(' ') })
    }
}
