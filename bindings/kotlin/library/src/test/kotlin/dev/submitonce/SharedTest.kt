package dev.submitonce

import dev.submitonce.internal.FfiConverterTypeProgressListener
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import org.junit.jupiter.api.Test
import java.time.Duration
import java.util.concurrent.CopyOnWriteArrayList
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertIs
import kotlin.test.assertTrue

/** Two outboxes of one path in a process: an app's, and a library's of its own perhaps. */
class SharedTest : OutboxTest() {
    @Test
    fun `another configuration for the same path is refused and harms nothing`() = test {
        val outbox = open()
        assertFailsWith<SubmitOnceException.CannotOpen.AlreadyOpen> { open(limits = quick.copy(maxInFlight = 1u)) }
        assertFailsWith<SubmitOnceException.CannotOpen.AlreadyOpen> { open(baseUrl = null) }
        outbox.submit(order())
        assertEquals(1, outbox.drain(LONG).succeeded)
        outbox.close()
        assertTrue(open(baseUrl = null).openReport.run { !created && !shared })
    }

    // P3 convergence.
    @Test
    fun `both see what either does`() = test {
        val (one, other) = listOf(open(), open())
        val order = order()
        one.submit(order)
        val states = async { other.observe(order.id).toList() }
        val waited = async { other.wait(order.id, LONG) }
        val lists = Channel<List<Snapshot>>(Channel.UNLIMITED)
        val list = launch { one.observeList(ListFilter(ListState.SETTLED)).collect { lists.send(it) } }
        assertEquals(emptyList(), lists.receive())
        one.drain(LONG)
        assertIs<Waited.Settled>(waited.await())
        assertEquals(SubmissionState.Succeeded, states.await().last().state)
        assertEquals(listOf(order.id), lists.receive().map { it.id })
        assertEquals(ReceiptKind.REPLAYED, other.submit(order).kind)
        list.cancelAndJoin()
    }

    @Test
    fun `closing one leaves the other working`() = test {
        val (one, other) = listOf(open(), open())
        val order = order()
        server.script("""{"hold_before":"gate"}""")
        one.submit(order)
        one.start()
        server.await("""{"held":"gate"}""")
        val ofOne = async { runCatching { one.observe(order.id).toList() } }
        val waitsOnOne = async { runCatching { one.wait(order.id, LONG) } }
        val ofOther = async { other.observe(order.id).toList() }
        one.observe(order.id).first()
        one.close()
        assertIs<SubmitOnceException.Closed>(atOnce { ofOne.await() }.exceptionOrNull())
        assertIs<SubmitOnceException.Closed>(atOnce { waitsOnOne.await() }.exceptionOrNull())
        server.release("gate")
        assertEquals(SubmissionState.Succeeded, ofOther.await().last().state)
        assertFailsWith<SubmitOnceException.Closed> { one.submit(order()) }
        other.submit(order())
        other.drain(LONG)
        assertEquals(2, server.summary().requests)
    }

    @Test
    fun `what one listens to is its own`() = test {
        val (one, other) = listOf(open(), open())
        val photo = order().copy(body = Body.Bytes("image/jpeg", ByteArray(1 shl 20)))
        val telling = listOf(one, other).map { outbox ->
            async { outbox.uploads().first { it.sent == it.total }.id }
        }
        eventually("both listen") { FfiConverterTypeProgressListener.handleMap.size == 2 }
        one.submit(photo)
        one.start()
        assertEquals(listOf(photo.id, photo.id), telling.awaitAll())
    }

    // Of two providers the last is asked; when its outbox closes, the one before.
    @Test
    fun `closing one leaves the other's provider to be asked`() = test {
        val asked = CopyOnWriteArrayList<String>()
        fun provider(name: String) = CredentialsProvider { _, _ ->
            asked += name
            Credentials.bearer(name)
        }
        val one = open(credentials = provider("one"))
        val other = open(credentials = provider("other"))
        one.signIn("ann")
        one.submit(order(account = "ann"))
        other.close()
        assertEquals(1, one.drain(LONG).succeeded)
        assertEquals(listOf("one"), asked)
    }

    @Test
    fun `a path can be opened and closed a hundred times`() = test {
        val order = order()
        repeat(100) {
            open().use { outbox -> outbox.submit(order) }
        }
        assertEquals(listOf(order.id), open().list().snapshots.map { it.id })
    }

    // Another outbox on the same database, as another process would have it, is in ProcessTest.
    @Test
    fun `outboxes of two paths share nothing`() = test {
        val (one, other) = listOf(open(database("one")), open(database("other")))
        val order = order()
        one.submit(order)
        assertFailsWith<SubmitOnceException.UnknownId> { other.snapshot(order.id) }
        assertEquals(ReceiptKind.ACCEPTED, other.submit(order).kind)
        one.close()
        assertIs<Waited.TimedOut>(other.wait(order.id, Duration.ZERO))
    }
}
