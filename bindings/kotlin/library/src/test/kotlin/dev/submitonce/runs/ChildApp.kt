package dev.submitonce.runs

import dev.submitonce.RunNetwork
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.runBlocking
import java.io.Closeable
import java.io.File
import java.io.RandomAccessFile
import java.time.Instant

/** An app in a process of its own, which is killed: no handler of it runs. */
class ChildApp private constructor(private val process: Process) : Closeable {
    /** Waits until it says this, and kills it there. */
    fun killAfter(said: String) {
        awaits(said)
        close()
    }

    fun awaits(said: String) {
        val line = process.inputStream.bufferedReader().readLine()
        check(line == said) { "it said $line" }
    }

    override fun close() {
        process.destroyForcibly().waitFor()
    }

    companion object {
        fun start(vararg arguments: Any): ChildApp {
            val java = File(System.getProperty("java.home"), "bin/java").path
            // The tests' own class path is in the manifest of a jar, and here in full.
            val classes = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"))
            val main = "${ChildApp::class.java.name}Kt"
            val process = ProcessBuilder(listOf(java, "-cp", classes, main) + arguments.map { it.toString() })
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start()
            return ChildApp(process)
        }
    }
}

private suspend fun sayAndStop(said: String): Nothing {
    println(said)
    awaitCancellation()
}

/** Stops where a submission is stored, and the scheduler knows nothing of it. */
private class StopsAtAppend(works: FakeWorkManager) : FakeScheduler(works) {
    override suspend fun append(network: RunNetwork) = sayAndStop("committed")
}

/** Stops where a run has delivered everything, and nobody knows of it. */
private class StopsAtTheEnd(works: FakeWorkManager) : FakeScheduler(works) {
    override suspend fun later(at: Instant) = sayAndStop("settled")
}

/** Holds the lock of SQLite's writer, as a transaction of another process does, until it is killed. */
private fun holdWriteLock(database: File) {
    RandomAccessFile("$database-shm", "rw").use { shm ->
        // WAL_WRITE_LOCK in https://sqlite.org/walformat.html#locks
        shm.channel.lock(120, 1, false)
        println("locked")
        Thread.currentThread().join()
    }
}

fun main(arguments: Array<String>) {
    val (what, folder, url) = arguments
    when (what) {
        "locked" -> holdWriteLock(File(folder, "outbox.sqlite3"))
        "committed" -> runBlocking { Stage(File(folder), url, ::StopsAtAppend).open().order() }
        "settled" -> runBlocking {
            val stage = Stage(File(folder), url, ::StopsAtTheEnd).open(Stage.slow.copy(maxInFlight = 1u))
            stage.order()
            stage.order()
            stage.works.setNetwork(DeviceNetwork.METERED)
            awaitCancellation()
        }
        else -> error(what)
    }
}
