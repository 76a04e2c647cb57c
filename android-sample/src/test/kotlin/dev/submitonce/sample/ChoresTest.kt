package dev.submitonce.sample

import dev.submitonce.NetworkKind
import dev.submitonce.Once
import dev.submitonce.Outbox
import dev.submitonce.ReferenceServer
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.io.TempDir
import java.io.File
import java.io.IOException
import java.time.Duration
import java.time.LocalDate
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertIs
import kotlin.test.assertNull

private typealias App = suspend (suspend Chores.(Outbox) -> Unit) -> Unit

/** What the sample does beside its orders, against the real core and the reference server. */
class ChoresTest {
    @TempDir
    lateinit var folder: File

    private val today = LocalDate.of(2026, 1, 2)

    /** A process of the app each time: what isn't stored is gone at its end. */
    private fun test(vararg arguments: String, test: suspend (ReferenceServer, App) -> Unit) =
        ReferenceServer.start(*arguments).use { server ->
            runBlocking {
                test(server) { use ->
                    Outbox.open(File(folder, "outbox.sqlite3")).use { outbox -> Chores(outbox) { server.url }.use(outbox) }
                }
            }
        }

    private suspend fun Outbox.deliver() {
        networkAvailable(NetworkKind.UNMETERED)
        drain(Duration.ofSeconds(30))
    }

    private fun ReferenceServer.paths() = records().map { it.jsonObject.getValue("path").jsonPrimitive.content }

    @Test
    fun `what happened in three processes goes in one request`() = test { server, app ->
        app { log(Event.OPENED) }
        app { log(Event.ORDERED) }
        app { outbox ->
            log(Event.CACHE_CLEANED)
            outbox.deliver()
            assertEquals(emptyList(), server.paths())
            sendLogs()
            outbox.deliver()
            assertEquals(listOf("/logs"), server.paths())
            assertEquals(3, outbox.stats().records)
        }
    }

    @Test
    fun `of the versions of a note the latest is sent`() = test("--allow-plain-put") { server, app ->
        app { outbox ->
            listOf("a", "ab", "abc").forEach { saveNote("17", it) }
            outbox.deliver()
            val record = server.records().single().jsonObject
            assertEquals("3", record.getValue("body_bytes").jsonPrimitive.content)
        }
    }

    @Test
    fun `prices stay when the server is down`() = test { server, app ->
        server.script("""{"respond":{"status":200,"body":"tea: 3"}}""", """{"respond":{"status":404}}""")
        app { outbox ->
            assertNull(prices())
            refreshPrices()
            outbox.deliver()
        }
        app { outbox ->
            refreshPrices()
            outbox.deliver()
            assertEquals(2, server.paths().size)
            assertEquals("tea: 3", prices())
        }
    }

    @Test
    fun `the cache is cleaned once a day, and again where that failed`() = test { _, app ->
        var cleaned = 0
        app {
            assertFailsWith<IOException> { cleanCache(today) { throw IOException("the disk is gone") } }
            repeat(2) { cleanCache(today) { cleaned += 1 } }
        }
        app {
            assertIs<Once.Before<Unit>>(cleanCache(today) { cleaned += 1 })
            assertIs<Once.Ran<Unit>>(cleanCache(today.plusDays(1)) { cleaned += 1 })
        }
        assertEquals(2, cleaned)
    }

    @Test
    fun `a message is shown once`() = test { _, app ->
        val shown = mutableListOf<String>()
        repeat(2) { app { received("m-1") { shown += "tea is ready" } } }
        assertEquals(listOf("tea is ready"), shown)
    }
}
