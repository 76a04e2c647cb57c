package dev.submitonce

import kotlinx.coroutines.async
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.take
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import org.junit.jupiter.api.Test
import java.util.UUID
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertIs
import kotlin.test.assertNull
import kotlin.test.assertTrue

/** The change feed: each change once, in order, whatever its collector goes through. */
class FeedTest : OutboxTest() {
    @Test
    fun `every change of a submission is told in order`() = test {
        val outbox = open()
        val order = order()
        server.script("""{"error_before":{"status":500}}""")
        outbox.submit(order)
        outbox.start()
        outbox.wait(order.id, LONG)
        val changes = outbox.changes(0).take(5).toList().map { assertIs<FeedEvent.Change>(it) }
        val pendingThenFlying = listOf(SubmissionState.Pending, SubmissionState.InFlight)
        assertEquals(pendingThenFlying + pendingThenFlying + SubmissionState.Succeeded, changes.map { it.state })
        assertEquals(listOf(1L, 2L, 3L, 4L, 5L), changes.map { it.revision })
        assertEquals(setOf(order.id), changes.map { it.id }.toSet())
        assertEquals(changes.last().cursor, outbox.stats().lastCursor)
    }

    @Test
    fun `what comes while somebody collects is told too`() = test {
        val outbox = open()
        val events = Channel<FeedEvent>(Channel.UNLIMITED)
        val collector = launch { outbox.changes(0).collect { events.send(it) } }
        repeat(10) {
            val id = outbox.submit(order()).id
            assertEquals(id, assertIs<FeedEvent.Change>(events.receive()).id)
        }
        collector.cancelAndJoin()
        assertNull(events.tryReceive().getOrNull())
    }

    // Whoever keeps the cursor of the last event that was used up gets the next one next.
    @Test
    fun `a feed that is left and resumed tells each of 5000 changes once in a storm`() = test {
        val outbox = open()
        val storm = List(4) { async { List(25) { outbox.submitAll(List(50) { order() }).map { it.id } }.flatten() } }
        val seen = mutableListOf<FeedEvent.Change>()
        var left = 0
        while (seen.size < 5_000) {
            try {
                outbox.changes(seen.lastOrNull()?.cursor ?: 0).collect { event ->
                    seen += assertIs<FeedEvent.Change>(event)
                    // The collector breaks down again and again, in the midst of a page.
                    if (seen.size % 617 == 0 || seen.size == 5_000) throw NoSuchElementException("stop")
                }
            } catch (_: NoSuchElementException) {
                left += 1
            }
        }
        assertEquals(9, left)
        assertEquals(seen.map { it.cursor }.sorted().distinct(), seen.map { it.cursor })
        val submitted = storm.flatMap { it.await() }
        assertEquals(submitted.toSet(), seen.map { it.id }.toSet<UUID>())
        assertEquals(5_000, seen.map { it.id }.toSet().size)
    }

    @Test
    fun `a slow collector of the feed misses nothing`() = test {
        val outbox = open()
        val orders = List(300) { order() }
        outbox.submit(orders.first())
        val seen = mutableListOf<UUID>()
        outbox.changes(0).take(300).collect { event ->
            // While it is busy with the first, all the others come.
            if (seen.isEmpty()) orders.drop(1).chunked(30).forEach { outbox.submitAll(it) }
            seen += assertIs<FeedEvent.Change>(event).id
        }
        assertEquals(orders.map { it.id }, seen)
    }

    @Test
    fun `a cursor from before what is kept gets Resync and goes on from there`() = test {
        val outbox = open(limits = quick.copy(keepChanges = 10u))
        outbox.submit(order())
        val old = outbox.changes(0).first().cursor
        outbox.submitAll(List(300) { order() })
        while (outbox.retain()) {
            // In small steps, until there is nothing more to drop.
        }
        val events = Channel<FeedEvent>(Channel.UNLIMITED)
        val collector = launch { outbox.changes(old).collect { events.send(it) } }
        val resync = assertIs<FeedEvent.Resync>(events.receive())
        assertEquals(outbox.stats().lastCursor, resync.cursor)
        val id = outbox.submit(order()).id
        val next = assertIs<FeedEvent.Change>(events.receive())
        assertEquals(id, next.id)
        assertTrue(next.cursor > resync.cursor)
        collector.cancelAndJoin()
        // From the cursor of the Resync nothing is missing.
        assertEquals(next, outbox.changes(resync.cursor).first())
    }

    @Test
    fun `a cursor goes on after a restart`() = test {
        val cursor = open().use { outbox ->
            outbox.submit(order())
            outbox.changes(0).first().cursor
        }
        val outbox = open()
        val id = outbox.submit(order()).id
        assertEquals(id, (outbox.changes(cursor).first() as FeedEvent.Change).id)
    }

    @Test
    fun `a cursor that is none is refused`() = test {
        assertFailsWith<SubmitOnceException.Invalid> { open().changes(-1).first() }
    }
}
