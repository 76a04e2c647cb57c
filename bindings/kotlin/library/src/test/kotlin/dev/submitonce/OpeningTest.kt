package dev.submitonce

import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.Runnable
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.launch
import org.junit.jupiter.api.Test
import java.io.File
import java.io.RandomAccessFile
import java.time.Duration
import kotlin.coroutines.CoroutineContext
import kotlin.test.assertContentEquals
import kotlin.test.assertEquals
import kotlin.test.assertNotNull
import kotlin.test.assertFailsWith
import kotlin.test.assertFalse
import kotlin.test.assertNull
import kotlin.test.assertTrue

/** Opening: what it makes, what it refuses, and that nothing stays open that nobody was given. */
class OpeningTest : OutboxTest() {
    @Test
    fun `the first opening makes the database and its folder and says so`() = test {
        val file = File(folder, "deep/down/outbox.sqlite3")
        val outbox = open(file)
        assertTrue(outbox.openReport.created)
        assertFalse(outbox.openReport.shared)
        assertTrue(file.isFile)
        assertNull(outbox.plan)
        outbox.close()
        assertFalse(open(file).openReport.created)
    }

    @Test
    fun `a configuration that makes no sense names its field`() = test {
        val url = assertFailsWith<SubmitOnceException.CannotOpen.InvalidConfig> { open(baseUrl = "ftp://example.com") }
        assertEquals("base_url", url.field)
        val limits = assertFailsWith<SubmitOnceException.CannotOpen.InvalidConfig> {
            open(limits = quick.copy(keepChanges = 0u))
        }
        assertEquals("limits", limits.field)
        assertFailsWith<SubmitOnceException.Invalid> { open(limits = quick.copy(lease = Duration.ofSeconds(-1))) }
        assertFailsWith<SubmitOnceException.CannotOpen.InvalidConfig> { open(File("")) }
        assertFalse(database().exists())
    }

    @Test
    fun `a directory is not opened`() = test {
        assertFailsWith<SubmitOnceException.CannotOpen.IsDirectory> { open(folder) }
    }

    // P11: nothing is moved or deleted.
    @Test
    fun `a file that is something else is left as it is`() = test {
        val file = database().apply { writeText("this is a diary, and not a database at all ".repeat(100)) }
        val before = file.readBytes().toList()
        assertFailsWith<SubmitOnceException.CannotOpen.NotAnOutbox> { open(file) }
        assertEquals(before, file.readBytes().toList())
    }

    @Test
    fun `a file from a newer version is left as it is`() = test {
        open().close()
        RandomAccessFile(database(), "rw").use {
            it.seek(60)
            it.writeInt(9_999)
        }
        val refusal = assertFailsWith<SubmitOnceException.CannotOpen.SchemaTooNew> { open() }
        assertEquals(9_999, refusal.found)
        assertTrue(refusal.known in 1..9_998)
    }

    @Test
    fun `a folder that can't be made is unavailable`() = test {
        val file = File(folder, "file").apply { writeText("a file, not a folder") }
        val refusal = assertFailsWith<SubmitOnceException> { open(File(file, "outbox.sqlite3")) }
        assertTrue(refusal is SubmitOnceException.Storage.Unavailable, "$refusal")
    }

    @Test
    fun `a database that can't be written to is read-only`() = test {
        val database = database()
        open().close()
        check(database.setReadOnly())
        assertFailsWith<SubmitOnceException.CannotOpen.ReadOnly> { open() }
    }

    @Test
    fun `a database that is deleted while it is open is noticed`() = test {
        val outbox = open()
        outbox.submit(order())
        folder.walk().filter { it.isFile && it.name.startsWith("outbox.sqlite3") }.forEach { it.delete() }
        assertFailsWith<SubmitOnceException.Storage.Moved> { outbox.submit(order()) }
    }

    @Test
    fun `a damaged database is kept, and what can be read is saved`() = test {
        open().use { outbox -> repeat(50) { outbox.submit(order()) } }
        RandomAccessFile(database(), "rw").use {
            it.seek(200)
            it.write(ByteArray((it.length() - 200).toInt()) { 0x5a })
        }
        val damaged = database().readBytes()
        val salvaged = assertNotNull(open().openReport.salvaged)
        assertContentEquals(damaged, File(salvaged.keptAt).readBytes())
    }

    // Cancellation may come between the opening and its caller: nobody else could close the outbox then.
    @Test
    fun `an outbox whose caller was cancelled meanwhile doesn't stay open`() = test {
        val caller = Job()
        val cancelledOnReturn = object : CoroutineDispatcher() {
            override fun dispatch(context: CoroutineContext, block: Runnable) {
                caller.cancel()
                Dispatchers.Default.dispatch(context, block)
            }
        }
        val opening = launch(caller + cancelledOnReturn, CoroutineStart.UNDISPATCHED) {
            Outbox.open(database(), limits = quick)
        }
        opening.join()
        assertTrue(database().exists() && opening.isCancelled)
        // With another configuration: refused if the first were open still.
        open(limits = quick.copy(maxInFlight = 1u))
    }

    @Test
    fun `openings that are cancelled at any moment leave nothing open`() = test {
        repeat(30) { round ->
            val file = database("$round")
            val opening = async { Outbox.open(file, limits = quick) }
            repeat(round * 20) { Thread.onSpinWait() }
            opening.cancelAndJoin()
            // Who got it closes it; nobody else has to.
            if (!opening.isCancelled) opening.await().close()
            Outbox.open(file, limits = quick.copy(maxInFlight = 1u)).close()
        }
    }
}
