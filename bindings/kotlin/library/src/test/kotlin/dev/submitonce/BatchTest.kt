package dev.submitonce

import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import org.junit.jupiter.api.Test
import java.time.Duration
import java.time.Instant
import java.util.UUID
import java.util.concurrent.CopyOnWriteArrayList
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertNull
import kotlin.test.assertTrue

/** Many small records, few requests. */
class BatchTest : OutboxTest() {
    private val logs = BatchConfig("logs", "/logs")

    private fun record(id: Int) = """{"id":"r$id","level":"info"}"""

    /** What was sent, by the hashes of the bodies. */
    private fun sent() = server.records().map { it.jsonObject.getValue("body_sha256").jsonPrimitive.content }

    private fun bodyOf(text: String) = sha256(text.toByteArray())

    @Test
    fun `records of a key go in one request, in their order`() = test {
        val outbox = open()
        val batch = outbox.batch(logs)
        val receipts = batch.appendAll(listOf(record(1), record(2))) + outbox.batch(logs).append(record(3))
        assertEquals(listOf("r1", "r2", "r3"), receipts.map { it.recordId })
        val submission = receipts.map { it.batch }.distinct().single()
        assertEquals(submission, batch.flush())
        assertEquals(3, outbox.stats().records)
        outbox.drain(LONG)
        assertEquals(SubmissionState.Succeeded, outbox.snapshot(submission).state)
        assertEquals(listOf(bodyOf("[${record(1)},${record(2)},${record(3)}]")), sent())
        assertNull(batch.flush())
    }

    @Test
    fun `a body is made in each format`() = test {
        val outbox = open()
        val formats = mapOf(
            BatchFormat.JsonArray to "[${record(1)},${record(2)}]",
            BatchFormat.JsonObject("events") to """{"events":[${record(1)},${record(2)}]}""",
            BatchFormat.Ndjson to "${record(1)}\n${record(2)}\n",
        )
        formats.keys.forEachIndexed { n, format ->
            val batch = outbox.batch(logs.copy(key = "logs/$n", format = format))
            batch.appendAll(listOf(record(1), record(2)))
            batch.flush()
        }
        outbox.drain(LONG)
        assertEquals(formats.values.map(::bodyOf).toSet(), sent().toSet())
    }

    @Test
    fun `a record without an ID is given one, in the member that is named`() = test {
        val batch = open().batch(logs.copy(idMember = "event_id"))
        val given = batch.append("""{"id":7}""").recordId
        assertEquals(given, UUID.fromString(given).toString())
        assertEquals("8", batch.append("""{"event_id":8}""").recordId)
    }

    @Test
    fun `a full batch is followed by the next`() = test {
        val outbox = open()
        val batch = outbox.batch(logs.copy(maxRecords = 2))
        val of = batch.appendAll(List(5) { record(it) }).map { it.batch }
        assertEquals(3, of.distinct().size)
        assertEquals(listOf(of[0], of[2]), listOf(of[1], of[3]))
        // Full ones are due, the last one isn't yet.
        outbox.drain(LONG)
        val states = of.distinct().map { outbox.snapshot(it).state }
        assertEquals(listOf(SubmissionState.Succeeded, SubmissionState.Succeeded, SubmissionState.Pending), states)
    }

    @Test
    fun `a batch is sent when its time is over`() = test {
        val outbox = open()
        outbox.start()
        val receipt = outbox.batch(logs.copy(maxAge = Duration.ofMillis(50))).append(record(1))
        assertEquals(SubmissionState.Succeeded, outbox.wait(receipt.batch, LONG).snapshot.state)
    }

    @Test
    fun `a batch that is too large for the server goes on in halves`() = test {
        val outbox = open()
        server.script("""{"error_before":{"status":413}}""")
        val batch = outbox.batch(logs)
        val first = batch.appendAll(List(4) { record(it) }).first().batch
        batch.flush()
        outbox.drain(LONG)
        assertEquals(SubmissionState.Rejected(RejectReason.SPLIT), outbox.snapshot(first).state)
        val halves = listOf("[${record(0)},${record(1)}]", "[${record(2)},${record(3)}]").map(::bodyOf)
        assertEquals(halves.toSet(), sent().drop(1).toSet())
    }

    @Test
    fun `many coroutines append to one batch, and nothing is lost`() = test {
        val outbox = open()
        val receipts = List(50) { n -> async { outbox.batch(logs).append(record(n)) } }.awaitAll()
        assertEquals(List(50) { "r$it" }.toSet(), receipts.map { it.recordId }.toSet())
        assertEquals(1, receipts.map { it.batch }.distinct().size)
        assertEquals(50, outbox.stats().records)
    }

    @Test
    fun `what is no record is refused, and nothing is stored`() = test {
        val outbox = open()
        val batch = outbox.batch(logs.copy(maxBytes = 100))
        listOf("7", "[]", "{", """{"id":{}}""").forEach { text ->
            assertFailsWith<SubmitOnceException.Invalid>(text) { batch.append(text) }
            assertFailsWith<SubmitOnceException.Invalid>(text) { batch.appendAll(listOf(record(1), text)) }
        }
        val refusal = assertFailsWith<SubmitOnceException.BodyTooLarge> {
            batch.append("""{"id":1,"text":"${"x".repeat(200)}"}""")
        }
        assertTrue(refusal.bytes > refusal.most, "$refusal")
        assertEquals(0, outbox.stats().records)
        assertNull(batch.flush())
    }

    @Test
    fun `a configuration that makes no sense is refused at once`() = test {
        val outbox = open()
        val none = listOf(
            logs.copy(key = ""), logs.copy(url = "ftp://example.com/"), logs.copy(idMember = ""),
            logs.copy(maxRecords = 0), logs.copy(maxRecords = -1), logs.copy(maxBytes = -1),
            logs.copy(format = BatchFormat.JsonObject("")), logs.copy(priority = 101),
            logs.copy(maxAge = Duration.ofSeconds(-1)),
        )
        none.forEach { config -> assertFailsWith<SubmitOnceException.Invalid>("$config") { outbox.batch(config) } }
        assertFailsWith<SubmitOnceException.HeaderRefused> {
            outbox.batch(logs.copy(headers = listOf(Header("Authorization", "Bearer x"))))
        }
    }

    // One run for any number of records: the second one finds it asked for.
    @Test
    fun `a batch has a background run scheduled, for its network`() = test {
        val asked = CopyOnWriteArrayList<RunNetwork>()
        val scheduler = object : RunScheduler {
            override suspend fun append(network: RunNetwork) {
                asked += network
            }

            override suspend fun ensure(network: RunNetwork) = Unit
            override suspend fun later(at: Instant) = Unit
            override suspend fun notLater() = Unit
        }
        Outbox.open(database(), baseUrl = server.url, limits = quick, scheduler = scheduler).use { outbox ->
            val batch = outbox.batch(logs)
            repeat(3) { batch.append(record(it)) }
            batch.flush()
            assertEquals(listOf(RunNetwork.ANY), asked)
            val heavy = outbox.batch(logs.copy(key = "traces", unmeteredOnly = true))
            heavy.appendAll(List(3) { record(it) })
            assertEquals(listOf(RunNetwork.ANY, RunNetwork.UNMETERED), asked)
        }
    }
}
