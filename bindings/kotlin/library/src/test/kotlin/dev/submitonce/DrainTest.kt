package dev.submitonce

import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.launch
import org.junit.jupiter.api.Test
import java.time.Duration
import java.time.Instant
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertIs
import kotlin.test.assertNotNull
import kotlin.test.assertNull
import kotlin.test.assertTrue

/** Delivering what is due: what a drain reports, and what becomes of one that nobody waits for. */
class DrainTest : OutboxTest() {
    private val oneAtATime by lazy { quick.copy(maxInFlight = 1u) }

    @Test
    fun `an empty outbox is drained at once`() = test {
        val report = atOnce { open().drain(LONG) }
        assertEquals(DrainReport(0, 0, 0, 0, 0, 0, DrainStop.NOTHING_DUE, null, false), report)
    }

    @Test
    fun `a report counts what ended and how`() = test {
        val outbox = open(limits = quick.copy(backoffFirst = LONG, backoffMost = LONG))
        val (good, bad, later) = List(3) { order() }
        server.script("""{"error_before":{"status":403}}""", path = bad.url)
        server.script("""{"error_before":{"status":500}}""", path = later.url)
        outbox.submitAll(listOf(good, bad, later))
        val report = outbox.drain(LONG)
        val counts = report.run { listOf(attempts, succeeded, endedOtherwise, held, toRepeat, inFlight) }
        assertEquals(listOf(3, 1, 1, 0, 1, 0), counts)
        assertEquals(DrainStop.NOTHING_DUE, report.stopped)
        assertTrue(assertNotNull(report.nextWakeAt) > Instant.now())
    }

    @Test
    fun `a time that is over leaves what is on the wire there`() = test {
        val outbox = open()
        val order = order()
        server.script("""{"hold_before":"gate"}""")
        outbox.submit(order)
        val report = outbox.drain(Duration.ofMillis(300))
        assertEquals(DrainStop.BUDGET_ENDED to 1, report.stopped to report.inFlight)
        server.release("gate")
        assertIs<Waited.Settled>(outbox.wait(order.id, LONG))
    }

    // F29.
    @Test
    fun `cancelling stops the waiting at once and the work goes on`() = test {
        val outbox = open(limits = oneAtATime)
        val orders = List(3) { order() }
        server.script("""{"hold_before":"gate"}""", path = "/orders")
        outbox.submitAll(orders)
        val drain = launch { outbox.drain(LONG) }
        server.await("""{"held":"gate"}""")
        atOnce { drain.cancelAndJoin() }
        server.release("gate")
        orders.forEach { assertIs<Waited.Settled>(outbox.wait(it.id, LONG)) }
        val summary = server.summary()
        assertEquals(listOf(3L, 3L, 1L), listOf(summary.requests, summary.effects, summary.maxEffectsPerKey))
    }

    // F29: cancelled with the request on the wire, it is counted once and comes to its own end.
    @Test
    fun `a drain that is stopped begins nothing more and finishes what is on the wire`() = test {
        val outbox = open(limits = oneAtATime)
        val (first, second) = List(2) { order() }
        server.script("""{"hold_before":"gate"}""", path = "/orders")
        outbox.submitAll(listOf(first, second))
        val drain = launch { outbox.drain(LONG, stopWhenCancelled = true) }
        server.await("""{"held":"gate"}""")
        atOnce { drain.cancelAndJoin() }
        server.release("gate")
        val settled = assertIs<Waited.Settled>(outbox.wait(first.id, LONG)).snapshot
        assertEquals(SubmissionState.Succeeded to 1, settled.state to settled.attempts)
        val left = assertIs<Waited.TimedOut>(outbox.wait(second.id, Duration.ofMillis(300))).snapshot
        assertEquals(SubmissionState.Pending to 0, left.state to left.attempts)
        assertEquals(1, server.summary().requests)
        assertEquals(1, outbox.drain(LONG).succeeded)
    }

    // Somebody else still wants it.
    @Test
    fun `stopping one of two drains doesn't stop the other`() = test {
        val outbox = open(limits = oneAtATime)
        val orders = List(3) { order() }
        server.script("""{"hold_before":"gate"}""", path = "/orders")
        outbox.submitAll(orders)
        val other = async { outbox.drain(LONG) }
        server.await("""{"held":"gate"}""")
        val stopped = launch { outbox.drain(LONG, stopWhenCancelled = true) }
        stopped.cancelAndJoin()
        server.release("gate")
        assertEquals(3, other.await().succeeded)
    }

    // P4 single flight.
    @Test
    fun `drains at once join and nothing is sent twice`() = test {
        val outbox = open()
        outbox.submitAll(List(30) { order() })
        val reports = List(8) { async { outbox.drain(LONG) } }.awaitAll()
        assertEquals(setOf(DrainStop.NOTHING_DUE), reports.map { it.stopped }.toSet())
        val summary = server.summary()
        assertEquals(listOf(30L, 30L, 1L), listOf(summary.requests, summary.effects, summary.maxInFlightPerKey))
        assertTrue(reports.maxOf { it.succeeded } <= 30)
    }

    @Test
    fun `suspending ends a drain and says so`() = test {
        val outbox = open()
        server.script("""{"hold_before":"gate"}""")
        val order = order()
        outbox.submit(order)
        val drain = async { outbox.drain(LONG) }
        server.await("""{"held":"gate"}""")
        atOnce { outbox.suspendDelivery() }
        assertEquals(DrainStop.SUSPENDED, atOnce { drain.await() }.stopped)
        assertTrue(outbox.snapshot(order.id).inDoubt)
        server.release("gate")
    }

    @Test
    fun `closing ends a drain`() = test {
        val outbox = open()
        server.script("""{"hold_before":"gate"}""")
        outbox.submit(order())
        val drain = async { runCatching { outbox.drain(LONG) } }
        server.await("""{"held":"gate"}""")
        outbox.close()
        val ended = atOnce { drain.await() }
        // It may have heard of the suspension before it heard of the end.
        ended.onSuccess { assertEquals(DrainStop.SUSPENDED, it.stopped) }
            .onFailure { assertIs<SubmitOnceException.Closed>(it) }
        assertFailsWith<SubmitOnceException.Closed> { outbox.drain(LONG) }
    }

    @Test
    fun `nobody's credentials are needed for what has no account`() = test {
        val outbox = open()
        outbox.submit(order())
        outbox.submit(order(account = "ann"))
        val signedOut = outbox.drain(LONG)
        assertEquals(1 to DrainStop.NOTHING_DUE, signedOut.succeeded to signedOut.stopped)
        outbox.signIn("ann")
        val report = outbox.drain(LONG)
        assertEquals(DrainStop.CREDENTIALS_NEEDED, report.stopped)
        assertNull(report.nextWakeAt)
    }

    @Test
    fun `winding down lets what is on the wire come to its end and begins nothing`() = test {
        val outbox = open(limits = oneAtATime)
        server.script("""{"hold_before":"gate"}""", path = "/orders")
        outbox.submitAll(List(2) { order() })
        outbox.start()
        server.await("""{"held":"gate"}""")
        val windingDown = async { outbox.windDown(LONG) }
        // What it waits for is the answer.
        assertEquals(1, outbox.stats().inFlight)
        server.release("gate")
        assertEquals(WindDown.FINISHED, windingDown.await())
        assertEquals(1, server.summary().requests)
        assertEquals(1, outbox.stats().pending)
    }

    @Test
    fun `cancelling the winding down suspends at once`() = test {
        val outbox = open()
        val order = order()
        server.script("""{"hold_before":"gate"}""", path = "/orders")
        outbox.submit(order)
        outbox.start()
        server.await("""{"held":"gate"}""")
        val windingDown = launch(start = CoroutineStart.UNDISPATCHED) { outbox.windDown(LONG) }
        atOnce { windingDown.cancelAndJoin() }
        assertEquals(0, outbox.stats().inFlight)
        assertTrue(outbox.snapshot(order.id).inDoubt)
        server.release("gate")
    }
}
