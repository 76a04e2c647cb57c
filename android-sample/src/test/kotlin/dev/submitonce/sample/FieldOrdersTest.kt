package dev.submitonce.sample

import dev.submitonce.Limits
import dev.submitonce.Outbox
import dev.submitonce.ReceiptKind
import dev.submitonce.ReferenceServer
import dev.submitonce.SubmitOnceException
import dev.submitonce.defaultLimits
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.assertThrows
import org.junit.jupiter.api.io.TempDir
import java.io.File
import java.time.Duration
import java.util.UUID
import java.util.concurrent.ConcurrentHashMap
import kotlin.test.assertEquals
import kotlin.test.assertNotEquals

/** The sample app without its screens, against the real core and the reference server. */
class FieldOrdersTest {
    @TempDir
    lateinit var folder: File

    private class Pages : OrderBook {
        private val orders = ConcurrentHashMap<UUID, Order>()
        override suspend fun save(id: UUID, order: Order) = orders.set(id, order)
        override fun find(id: UUID) = orders[id]
    }

    private val book = Pages()
    private val tea = Order("Ada", "tea", 2)

    /** A process of the app: what isn't stored is gone at its end. */
    private suspend fun app(server: ReferenceServer, use: suspend FieldOrders.(Outbox) -> Unit) {
        val limits: Limits = defaultLimits().copy(backoffFirst = Duration.ofMillis(10), quietTime = Duration.ZERO)
        Outbox.open(File(folder, "outbox.sqlite3"), limits = limits).use { outbox ->
            FieldOrders(outbox, book) { server.url }.use(outbox)
        }
    }

    private fun test(test: suspend (ReferenceServer) -> Unit) =
        ReferenceServer.start().use { server -> runBlocking { test(server) } }

    private suspend fun FieldOrders.awaits(condition: (List<Line>) -> Boolean): List<Line> =
        withTimeout(30_000) { lines().first(condition) }

    @Test
    fun `a hammered button makes one order`() = test { server ->
        app(server) { outbox ->
            outbox.start()
            val form = form()
            val kinds = coroutineScope { List(20) { async { submit(form, tea).kind } }.awaitAll() }
            assertEquals(1, kinds.count { it == ReceiptKind.ACCEPTED })
            val line = awaits { it.single().status.tone == Status.Tone.DONE }.single()
            assertEquals("2 × tea for Ada" to "delivered", line.title to line.status.words)
            assertEquals(1, server.summary().effects)
        }
    }

    @Test
    fun `a form keeps its ID until it is submitted, whatever dies`() = test { server ->
        var form: UUID? = null
        app(server) {
            form = form()
            assertEquals(form, form())
        }
        app(server) {
            assertEquals(form, form())
            submit(form(), tea)
        }
        // It died before the screen was closed. The next order is another one.
        app(server) {
            val next = form()
            assertNotEquals(form, next)
            assertEquals(next, form())
        }
    }

    @Test
    fun `a tap that comes again after the process died is the same order`() = test { server ->
        server.script("\"commit_then_drop\"")
        var form: UUID? = null
        app(server) { outbox ->
            form = form().also { submit(it, tea) }
            outbox.start()
            server.await("\"over\"")
        }
        app(server) { outbox ->
            assertNotEquals(ReceiptKind.ACCEPTED, submit(checkNotNull(form), tea).kind)
            outbox.start()
            awaits { it.single().status.tone == Status.Tone.DONE }
            assertEquals(1, server.summary().effects)
        }
    }

    @Test
    fun `what is edited between two taps isn't taken for the same order`() = test { server ->
        app(server) {
            val form = form()
            submit(form, tea)
            assertThrows<SubmitOnceException.KeyReused> { runBlocking { submit(form, tea.copy(quantity = 3)) } }
            assertEquals("2 × tea for Ada", lines().first().single().title)
        }
    }

    @Test
    fun `the list tells how each order stands`() = test { server ->
        app(server) { outbox ->
            submit(form(), tea)
            submit(form(), Order("Grace", "coffee", 1))
            val saved = awaits { it.size == 2 }
            assertEquals(listOf("1 × coffee for Grace", "2 × tea for Ada"), saved.map { it.title })
            assertEquals(setOf("saved"), saved.map { it.status.words }.toSet())
            cancel(saved.first())
            server.script("""{"hold_before":"gate"}""")
            outbox.start()
            awaits { it.map { line -> line.status.words } == listOf("cancelled", "on its way") }
            server.release("gate")
            awaits { it.map { line -> line.status.words } == listOf("cancelled", "delivered") }
            assertEquals(1, server.summary().effects)
        }
    }
}
