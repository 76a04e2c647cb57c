package dev.submitonce.programs

import dev.submitonce.Body
import dev.submitonce.Outbox
import dev.submitonce.Submission
import dev.submitonce.SubmissionId
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.runBlocking
import java.io.File
import java.time.Duration

/**
 * Submits and drains, and prints the resident memory of this process after a tenth and after all of
 * it, in KiB. Arguments: the database, the server's address, submissions, drains.
 */
fun main(arguments: Array<String>) {
    val (database, url) = arguments
    val (submits, drains) = arguments.drop(2).map { it.toInt() }
    runBlocking(Dispatchers.Default) {
        Outbox.open(File(database), baseUrl = url).use { outbox ->
            val perDrain = submits / drains
            repeat(10) { tenth ->
                repeat(drains / 10) {
                    submit(outbox, perDrain)
                    outbox.drain(Duration.ofMinutes(5))
                }
                // Each, so that one that hangs tells how far it came.
                println("after ${if (tenth == 0) "a tenth" else "${tenth + 1} tenths"}: ${residentKiB()}")
            }
            println("after all: ${residentKiB()}")
            val stats = outbox.stats()
            println("accepted: ${stats.accepted}, pending: ${stats.pending}, attempts: ${stats.attempts}")
        }
    }
}

private suspend fun submit(outbox: Outbox, count: Int) = coroutineScope {
    List(count) {
        async { outbox.submit(Submission(SubmissionId.new(), "/orders", Body.Json("""{"item":"tea"}"""))) }
    }.awaitAll()
}

private fun residentKiB(): Long {
    System.gc()
    return File("/proc/self/status").readLines()
        .first { it.startsWith("VmRSS:") }
        .filter { it.isDigit() }
        .toLong()
}
