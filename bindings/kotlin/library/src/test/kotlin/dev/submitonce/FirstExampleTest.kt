package dev.submitonce

import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.io.TempDir
import java.io.File
import java.time.Duration
import kotlin.test.assertEquals
import kotlin.test.assertIs

/** The example that the documentation opens with, against the reference server. */
class FirstExampleTest {
    @TempDir
    lateinit var folder: File

    @Test
    fun `eight lines from a tap to a settled result`() = ReferenceServer.start().use { server ->
        val orders = "${server.url}/orders"
        val ended = runBlocking {
            val outbox = Outbox.open(File(folder, "outbox.sqlite3"))
            val id = outbox.begin("new-order-form")
            outbox.submit(Submission(id, orders, Body.Json("""{"item":"tea"}""")))
            outbox.start()
            val ended = outbox.wait(id, Duration.ofSeconds(30))
            outbox.close()
            ended
        }
        assertIs<Waited.Settled>(ended)
        assertEquals(SubmissionState.Succeeded, ended.snapshot.state)
        assertEquals(201, ended.snapshot.outcome?.status)
        assertEquals(1, server.summary().effects)
    }
}
