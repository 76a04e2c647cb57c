package dev.submitonce

import dev.submitonce.internal.ChangeListener
import dev.submitonce.internal.FfiConverterTypeChangeListener
import dev.submitonce.internal.NoHandle
import dev.submitonce.internal.PageRequest
import dev.submitonce.internal.SnapshotPage
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.take
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import org.junit.jupiter.api.Test
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertIs
import kotlin.test.assertNull
import kotlin.test.assertTrue
import dev.submitonce.internal.Outbox as RawOutbox

/** The states of one submission, and lists that keep themselves up to date. */
class ObserveTest : OutboxTest() {
    private fun listeners() = FfiConverterTypeChangeListener.handleMap.size

    @Test
    fun `a submission is told until its final state which ends the flow`() = test {
        val outbox = open()
        val order = order()
        outbox.submit(order)
        val states = async { outbox.observe(order.id).toList() }
        outbox.start()
        val seen = states.await()
        assertEquals(SubmissionState.Succeeded, seen.last().state)
        assertEquals(201, seen.last().outcome?.status)
        assertEquals(seen.map { it.revision }.distinct().sorted(), seen.map { it.revision })
    }

    @Test
    fun `what has ended before is told once`() = test {
        val outbox = open()
        val order = order()
        outbox.submit(order)
        outbox.cancel(order.id)
        assertEquals(listOf(SubmissionState.Cancelled), atOnce { outbox.observe(order.id).toList() }.map { it.state })
    }

    @Test
    fun `an unknown submission can't be observed`() = test {
        assertFailsWith<SubmitOnceException.UnknownId> { open().observe(SubmissionId.new()).first() }
    }

    // P12 quiet when idle: flows are cold, and the core looks for others' changes while somebody listens.
    @Test
    fun `the core is listened to only while somebody collects`() = test {
        val outbox = open()
        val order = order()
        outbox.submit(order)
        eventually("the listeners of other tests go") { listeners() == 0 }
        val flow = outbox.observe(order.id)
        val list = outbox.observeList()
        assertEquals(0, listeners())
        val collectors = List(5) { launch { flow.collect {} } } + launch { list.collect {} }
        eventually("one listener for all collectors") { listeners() > 0 }
        list.first()
        assertEquals(1, listeners())
        collectors.drop(1).forEach { it.cancelAndJoin() }
        assertEquals(1, listeners())
        collectors.first().cancelAndJoin()
        eventually("the listener goes with the last collector") { listeners() == 0 }
        assertEquals(order.id, flow.first().id)
    }

    @Test
    fun `a slow collector misses states in between and never the last`() = test {
        val outbox = open()
        val order = order()
        server.script(*Array(5) { """{"error_before":{"status":500}}""" })
        outbox.submit(order)
        val seen = mutableListOf<Snapshot>()
        outbox.observe(order.id).collect { snapshot ->
            if (seen.isEmpty()) {
                outbox.start()
                assertIs<Waited.Settled>(outbox.wait(order.id, LONG))
            }
            seen += snapshot
        }
        // Twelve changes: one may have been on its way to the collector before the last.
        assertTrue(seen.size <= 3, "${seen.map { it.state }}")
        assertEquals(SubmissionState.Succeeded to 6, seen.last().run { state to attempts })
    }

    // A screen that is behind shows the newest next, not sixty that are past.
    @Test
    fun `a slow collector of a list gets the newest one next`() = test {
        val outbox = open()
        val seen = mutableListOf<Int>()
        outbox.observeList(limit = 1_000).take(3).collect { list ->
            if (seen.isEmpty()) repeat(100) { outbox.submit(order()) }
            seen += list.size
        }
        assertEquals(listOf(0, 100), listOf(seen.first(), seen.last()), "$seen")
    }

    @Test
    fun `many collectors of one submission all see its end`() = test {
        val outbox = open()
        val order = order()
        outbox.submit(order)
        val ends = List(50) { async { outbox.observe(order.id).toList().last().state } }
        outbox.start()
        assertEquals(setOf<SubmissionState>(SubmissionState.Succeeded), ends.awaitAll().toSet())
    }

    @Test
    fun `a collector that throws gets its own exception and harms nobody`() = test {
        val outbox = open()
        val order = order()
        outbox.submit(order)
        val other = async { outbox.observe(order.id).toList() }
        val thrown = assertFailsWith<IllegalArgumentException> {
            outbox.observe(order.id).collect { throw IllegalArgumentException("a bug of the screen") }
        }
        assertEquals("a bug of the screen", thrown.message)
        outbox.start()
        assertTrue(other.await().last().state.isFinal)
    }

    @Test
    fun `a collector that is cancelled stops at once while the server hangs`() = test {
        val outbox = open()
        val order = order()
        server.always("""{"hold_before":"gate"}""")
        outbox.submit(order)
        val inFlight = CompletableDeferred<Unit>()
        val collector = launch {
            outbox.observe(order.id).collect { if (it.state == SubmissionState.InFlight) inFlight.complete(Unit) }
        }
        outbox.start()
        inFlight.await()
        atOnce { collector.cancelAndJoin() }
        assertEquals(SubmissionState.InFlight, outbox.snapshot(order.id).state)
    }

    @Test
    fun `a list is told anew after each change and only then`() = test {
        val outbox = open()
        val lists = Channel<List<Snapshot>>(Channel.UNLIMITED)
        val collector = launch { outbox.observeList(ListFilter(ListState.MOVING)).collect { lists.send(it) } }
        assertEquals(emptyList(), lists.receive())
        val order = order()
        outbox.submit(order)
        assertEquals(listOf(order.id), lists.receive().map { it.id })
        // Meeting a repeat changes nothing.
        outbox.submit(order)
        outbox.cancel(order.id)
        assertEquals(emptyList(), lists.receive())
        collector.cancelAndJoin()
        assertNull(lists.tryReceive().getOrNull())
    }

    @Test
    fun `a list shows no more than its limit`() = test {
        val outbox = open()
        val ids = outbox.submitAll(List(5) { order() }).map { it.id }
        assertEquals(ids.take(2), outbox.observeList(limit = 2).first().map { it.id })
        assertEquals(ids.take(1), outbox.observeList(limit = -1).first().map { it.id })
    }

    // A call looks at some thousand submissions at most, and says where the next one goes on.
    @Test
    fun `a list goes on where a part of it is short or empty`() = test {
        val outbox = open()
        val found = outbox.submitAll(List(3) { order() }).map { outbox.raw.snapshot(it.id) }
        val parts = mapOf(
            0L to SnapshotPage(emptyList(), 5),
            5L to SnapshotPage(found.take(1), 9),
            9L to SnapshotPage(found.drop(1), null),
        )
        val asked = mutableListOf<Pair<Long, Int>>()
        val inParts = object : RawOutbox(NoHandle) {
            override fun list(filter: ListFilter, page: PageRequest): SnapshotPage {
                asked += page.after to page.limit.toInt()
                return parts.getValue(page.after).let { it.copy(snapshots = it.snapshots.take(page.limit.toInt())) }
            }

            override fun setListener(listener: ChangeListener?) = Unit
        }
        val observing = Observing(inParts)
        assertEquals(found.map { it.id }, observing.list(ListFilter(lane = "orders"), 7).first().map { it.id })
        assertEquals(listOf(0L to 7, 5L to 7, 9L to 6), asked)
        asked.clear()
        assertEquals(found.take(2).map { it.id }, observing.list(ListFilter(), 2).first().map { it.id })
        assertEquals(listOf(0L to 2, 5L to 2, 9L to 1), asked)
    }

    @Test
    fun `closing ends what is observed with Closed`() = test {
        val outbox = open()
        val order = order()
        outbox.submit(order)
        val collecting = Channel<Unit>(Channel.UNLIMITED)
        val collectors = listOf(outbox.observe(order.id), outbox.observeList(), outbox.changes(0)).map { flow ->
            async { runCatching { flow.collect { collecting.send(Unit) } } }
        }
        repeat(3) { collecting.receive() }
        outbox.close()
        atOnce { collectors.awaitAll() }
            .forEach { assertIs<SubmitOnceException.Closed>(it.exceptionOrNull()) }
        assertFailsWith<SubmitOnceException.Closed> { outbox.observe(order.id).first() }
    }
}
