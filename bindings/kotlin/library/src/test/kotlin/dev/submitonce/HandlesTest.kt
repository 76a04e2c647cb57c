package dev.submitonce

import dev.submitonce.internal.FfiConverterTypeChangeListener
import dev.submitonce.internal.uniffiContinuationHandleMap
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.flow.first
import org.junit.jupiter.api.Test
import java.io.File
import java.time.Duration
import kotlin.test.assertEquals
import kotlin.test.assertTrue

/** What a process that lives for weeks must not lose a little of with each call. */
class HandlesTest : OutboxTest() {
    private fun files() = File("/proc/self/fd").list()?.size ?: 0

    @Test
    fun `a thousand submissions and all that is asked about them leave no handle behind`() = test {
        val outbox = open()
        eventually("the handles of other tests go") {
            uniffiContinuationHandleMap.size == 0 && FfiConverterTypeChangeListener.handleMap.size == 0
        }
        val order = order()
        outbox.submit(order)
        val before = files()
        repeat(1_000) { outbox.submit(order()) }
        repeat(200) {
            outbox.wait(order.id, Duration.ZERO)
            outbox.observe(order.id).first()
        }
        List(50) { async { outbox.drain(Duration.ofMillis(1)) } }.awaitAll()
        outbox.suspendDelivery()
        assertEquals(1_001, outbox.stats().accepted)
        eventually("the handles go") {
            uniffiContinuationHandleMap.size == 0 && FfiConverterTypeChangeListener.handleMap.size == 0
        }
        // Connections to the server are kept for the next request.
        eventually("the files are closed: $before, then ${files()}") { files() <= before + 20 }
    }

    @Test
    fun `fifty outboxes that were opened and closed leave no file and no thread behind`() = test {
        open(database("first")).close()
        val files = files()
        val threads = nativeThreads()
        repeat(50) { open(database("$it")).use { outbox -> outbox.submit(order()) } }
        eventually("the files are closed: $files, then ${files()}") { files() <= files + 4 }
        eventually("the threads end: $threads, then ${nativeThreads()}") { nativeThreads() <= threads + 4 }
        assertTrue(files > 0 && threads >= 0)
    }

    /** Those of the core, by the name that it gives them. */
    private fun nativeThreads() = File("/proc/self/task").listFiles().orEmpty()
        .count { runCatching { File(it, "comm").readText().startsWith("submit-once") }.getOrDefault(false) }
}
