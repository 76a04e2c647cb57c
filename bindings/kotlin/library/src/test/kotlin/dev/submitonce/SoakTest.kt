package dev.submitonce

import org.junit.jupiter.api.Test
import org.junit.jupiter.api.io.TempDir
import java.io.File
import kotlin.test.assertContains
import kotlin.test.assertTrue

/** Nothing is left behind by a call: no handle, no future, no buffer. */
class SoakTest {
    @TempDir
    lateinit var folder: File

    @Test
    fun `resident memory after 100,000 submits and 10,000 drains is at most 8 MB over that after a tenth`() {
        ReferenceServer.start().use { server ->
            server.always("""{"respond":{"status":201,"content_type":"application/json","body":"{}"}}""")
            val database = File(folder, "outbox.sqlite3").path
            // A heap that is there from the beginning, so that what grows is not the heap.
            val soak = ChildJvm.run(
                "dev.submitonce.programs.SoakKt", database, server.url, "100000", "10000",
                options = listOf("-Xms64m", "-Xmx64m", "-XX:+AlwaysPreTouch", "-XX:+UseSerialGC"),
            )
            println(soak)
            assertContains(soak, "accepted: 100000, pending: 0, attempts: 100000")
            val grown = soak.kib("after all") - soak.kib("after a tenth")
            assertTrue(grown <= 8 * 1024, "it grew by $grown KiB")
        }
    }

    private fun String.kib(name: String): Long =
        lines().first { it.startsWith("$name: ") }.substringAfter(": ").toLong()
}
