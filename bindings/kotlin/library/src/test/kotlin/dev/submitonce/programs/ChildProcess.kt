package dev.submitonce.programs

import dev.submitonce.Body
import dev.submitonce.InboxPolicy
import dev.submitonce.Outbox
import dev.submitonce.OutboxTest
import dev.submitonce.Submission
import dev.submitonce.SubmissionId
import dev.submitonce.SubmitOnceException
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import java.io.File
import java.io.RandomAccessFile
import java.nio.channels.FileChannel
import java.util.UUID
import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.AtomicInteger
import kotlin.system.exitProcess

/** What tests have other processes do, one deed each. */
object ChildProcess {
    @JvmStatic
    fun main(arguments: Array<String>) {
        val rest = arguments.drop(1)
        when (val deed = arguments[0]) {
            "exit-while-busy" -> exitWhileBusy(rest[0], rest[1])
            "return-while-open" -> returnWhileOpen(rest[0], rest[1])
            "submit" -> submit(rest[0], rest[1], rest[2])
            "drain" -> runBlocking { open(rest[0], rest[1]).use { it.drain(OutboxTest.LONG) } }
            "hold-the-write-lock" -> holdTheWriteLock(rest[0])
            "open-without-library" -> openWithoutLibrary(rest[0])
            "do-once-and-hang" -> doOnceAndHang(rest[0], File(rest[1]), InboxPolicy.valueOf(rest[2]))
            "do-many-once" -> doManyOnce(rest[0], File(rest[1]), rest[2].toInt())
            else -> error("no such deed: $deed")
        }
    }

    private suspend fun open(database: String, url: String) =
        Outbox.open(File(database), baseUrl = url, limits = OutboxTest.quick)

    private fun order(id: UUID = SubmissionId.new()) =
        Submission(id, "/orders?id=$id", Body.Json("""{"item":"tea"}"""))

    private fun exitWhileBusy(database: String, url: String): Unit = runBlocking(Dispatchers.Default) {
        val outbox = open(database, url)
        val accepted = AtomicInteger()
        val busy = CountDownLatch(300)
        repeat(4) {
            launch {
                while (true) {
                    outbox.submit(order())
                    accepted.incrementAndGet()
                    busy.countDown()
                }
            }
        }
        repeat(4) { launch { outbox.changes(0).collect { busy.countDown() } } }
        repeat(4) { launch { outbox.observeList().collect { busy.countDown() } } }
        repeat(8) { launch { outbox.drain(OutboxTest.LONG) } }
        launch(Dispatchers.IO) {
            busy.await()
            println(accepted.get())
            exitProcess(0)
        }
    }

    private fun returnWhileOpen(database: String, url: String): Unit = runBlocking {
        val outbox = open(database, url)
        outbox.start()
        val order = order()
        outbox.submit(order)
        outbox.wait(order.id, OutboxTest.LONG)
        outbox.submit(order())
    }

    private fun submit(database: String, url: String, id: String): Unit = runBlocking {
        val outbox = open(database, url)
        outbox.start()
        outbox.submit(order(SubmissionId.parse(id)))
        println("submitted")
        delay(Long.MAX_VALUE)
    }

    private fun doOnceAndHang(database: String, effects: File, policy: InboxPolicy): Unit = runBlocking {
        Outbox.open(File(database)).inbox.once("deed", policy.name, policy) {
            effects.appendText("${policy.name}\n")
            println("done")
            delay(Long.MAX_VALUE)
        }
    }

    private fun doManyOnce(database: String, effects: File, count: Int): Unit = runBlocking {
        val inbox = Outbox.open(File(database)).inbox
        println("ready")
        System.`in`.read()
        repeat(count) { n -> inbox.once("deed", "$n", InboxPolicy.AT_MOST_ONCE) { effects.appendText("$n\n") } }
    }

    /** The byte that SQLite locks while it writes to the log (WAL_WRITE_LOCK, in its file format). */
    private fun holdTheWriteLock(database: String) {
        val channel: FileChannel = RandomAccessFile("$database-shm", "rw").channel
        channel.lock(120, 1, false)
        println("held")
        System.`in`.read()
    }

    private fun openWithoutLibrary(database: String): Unit = runBlocking {
        try {
            Outbox.open(File(database))
        } catch (refusal: SubmitOnceException) {
            println(refusal.javaClass.name.substringAfter('$'))
        }
    }
}
