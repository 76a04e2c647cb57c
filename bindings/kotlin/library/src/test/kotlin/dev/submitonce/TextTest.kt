package dev.submitonce

import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import org.junit.jupiter.api.Test
import org.junit.jupiter.params.ParameterizedTest
import org.junit.jupiter.params.provider.ValueSource
import java.security.MessageDigest
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertTrue

fun sha256(bytes: ByteArray): String =
    MessageDigest.getInstance("SHA-256").digest(bytes).joinToString("") { "%02x".format(it) }

/** Field case F71: text on its way through the boundary, the database and the network. */
class TextTest : OutboxTest() {
    // Reports are XML, in which not all of these can stand.
    @ParameterizedTest(name = "{index}")
    @ValueSource(
        strings = [
            "a NUL\u0000 in the middle", "\u0000", "\uFEFFwith a byte order mark",
            "\uD83D\uDE80 four bytes \uD83D\uDE80", "\u202Eright to left\u202C \u0627\u0644\u0639\u0631\u0628",
            "e\u0301 isn't \u00E9", "\r\n\t\u2028\u2029", "\uFFFD\uFFFE\uFFFF", "", "\"quotes\" and \\ 'slashes'; DROP TABLE submission;--",
        ],
    )
    fun `text arrives byte for byte`(text: String) = test {
        val outbox = open()
        val json = JsonPrimitive(text).toString()
        val bodies = listOf(
            Body.Json(json) to json.toByteArray(),
            Body.Bytes("text/plain; charset=utf-8", text.toByteArray()) to text.toByteArray(),
        )
        for ((body, bytes) in bodies) {
            val order = order().copy(body = body)
            outbox.submit(order)
            outbox.drain(LONG)
            val record = server.records().last().jsonObject
            assertEquals(sha256(bytes), record.getValue("body_sha256").jsonPrimitive.content)
            assertEquals("${bytes.size}", record.getValue("body_bytes").jsonPrimitive.content)
            // The same again is the same: nothing was normalised on the way in.
            assertEquals(ReceiptKind.REPLAYED, outbox.submit(order).kind)
        }
    }

    @ParameterizedTest
    @ValueSource(strings = ["\u0000", "\uFEFF", "\uD83D\uDE80", "\u202E", "e\u0301", "\n"])
    fun `names of slots and accounts are kept apart byte for byte`(odd: String) = test {
        val outbox = open()
        val id = outbox.begin("form$odd")
        assertEquals(id, outbox.begin("form$odd"))
        assertTrue(id != outbox.begin("form") && id != outbox.begin("form$odd$odd"))
        try {
            outbox.signIn("ann$odd")
            assertEquals("ann$odd", outbox.signedIn())
        } catch (refusal: SubmitOnceException.Invalid) {
            assertEquals("account", refusal.field)
        }
    }

    private fun part(
        from: PartSource = PartSource.JsonPointer("/id"),
        into: PartTarget = PartTarget.Query("of"),
    ) = ParentPart(SubmissionId.new(), from, into)

    private fun filled(json: String) = Resolution.FillParts(listOf(PartValue(PartTarget.Query("of"), json)))

    // It can't be written in UTF-8; a question mark in its place would be other bytes than were given.
    @ParameterizedTest
    @ValueSource(ints = [0xD83D, 0xDE80])
    fun `half of a surrogate pair is refused and nothing is stored`(half: Int) = test {
        val outbox = open()
        val text = "half ${half.toChar()} of a pair"
        val calls: List<Pair<String, suspend () -> Any?>> = listOf(
            "body" to { outbox.submit(order().copy(body = Body.Json(text))) },
            "url" to { outbox.submit(order().copy(url = "/$text")) },
            "headers" to { outbox.submit(order().copy(headers = listOf(Header("X-Name", text)))) },
            "account" to { outbox.submit(order(account = text)) },
            "lane" to { outbox.submit(order().copy(lane = text)) },
            "replaces" to { outbox.submit(order().copy(replaces = text)) },
            "probe.url" to { outbox.submit(order().copy(probe = StatusProbe("/$text"))) },
            "probe.pointer" to { outbox.submit(order().copy(probe = StatusProbe("/", "/$text"))) },
            "parts" to { outbox.submit(order().copy(parts = listOf(part(PartSource.Header(text))))) },
            "parts" to { outbox.submit(order().copy(parts = listOf(part(into = PartTarget.Json(text))))) },
            "lane" to { outbox.releaseLane(text) },
            "account" to { outbox.releaseLane("orders", text) },
            "values" to { outbox.resolve(SubmissionId.new(), 1, filled(text)) },
            "values" to { outbox.resolveAll(HoldReason.PARENT_RESULT_MISSING, filled(text)) },
            "text" to { outbox.list(ListFilter(lane = text)) },
            "body" to { outbox.submitAll(listOf(order(), order().copy(body = Body.Json(text)))) },
            "slot" to { outbox.begin(text) },
            "scope" to { outbox.inbox.begin(InboxItem(text, "a", InboxPolicy.AT_MOST_ONCE)) },
            "key" to { outbox.inbox.once("a", text) { } },
            "result" to { outbox.inbox.once(InboxItem("a", "b", InboxPolicy.AT_LEAST_ONCE), ResultForm.TEXT) { text } },
            "key" to { outbox.inbox.finish(InboxRun("a", text, 1)) },
            "scope" to { outbox.inbox.finishWith(InboxRun(text, "a", 1), emptyList()) },
            "key" to { outbox.inbox.fail(InboxRun("a", text, 1), InboxFailure.NOTHING_HAPPENED) },
            "key" to { outbox.inbox.extend(InboxRun("a", text, 1), LONG) },
            "key" to { outbox.inbox.decide("a", text, InboxDecision.RunAgain) },
            "scope" to { outbox.inbox.uncertain(text) },
            "sql" to { outbox.inbox.query(AppStatement(text)) },
            "parameters" to { outbox.inbox.query(AppStatement("SELECT ?1", SqlValue.Text(text))) },
            "key" to { outbox.batch(BatchConfig(text, "/logs")) },
            "url" to { outbox.batch(BatchConfig("logs", "/$text")) },
            "account" to { outbox.batch(BatchConfig("logs", "/logs", account = text)) },
            "method" to { outbox.batch(BatchConfig("logs", "/logs", method = text)) },
            "headers" to { outbox.batch(BatchConfig("logs", "/logs", headers = listOf(Header("X-Name", text)))) },
            "format" to { outbox.batch(BatchConfig("logs", "/logs", format = BatchFormat.JsonObject(text))) },
            "id_member" to { outbox.batch(BatchConfig("logs", "/logs", idMember = text)) },
            "record" to { outbox.batch(BatchConfig("logs", "/logs")).append("{\"a\":\"$text\"}") },
            "record" to { outbox.batch(BatchConfig("logs", "/logs")).appendAll(listOf("{\"a\":\"$text\"}")) },
            "key" to { outbox.current(text) },
            "account" to { outbox.current("config", text) },
            "text" to { outbox.signIn(text) },
            "text" to { outbox.supplyCredentials("ann", Credentials.bearer(text)) },
            "text" to { open(database(text)) },
        )
        calls.forEach { (field, call) ->
            val refusal = assertFailsWith<SubmitOnceException.Invalid> { call() }
            assertEquals(field, refusal.field)
            assertTrue("surrogate" in refusal.message.orEmpty() && "half of a pair" !in refusal.message.orEmpty())
        }
        assertEquals(0, outbox.stats().accepted)
    }

    // The answer goes the other way through the same boundary.
    @Test
    fun `an answer comes back byte for byte`() = test {
        val outbox = open()
        val body = "\u0000\uFEFF\uD83D\uDE80\u202E"
        server.script(
            """{"respond":{"status":200,"body":"\u0000\uFEFF\uD83D\uDE80\u202E","content_type":"text/plain"}}""",
        )
        val order = order()
        outbox.submit(order)
        outbox.drain(LONG)
        assertEquals(body, outbox.snapshot(order.id).outcome?.text)
    }

    @Test
    fun `a megabyte of every byte arrives as it is`() = test {
        val outbox = open()
        val bytes = ByteArray(1 shl 20) { (it * 31 + it / 256).toByte() }
        val order = order().copy(body = Body.Bytes("application/octet-stream", bytes))
        outbox.submit(order)
        outbox.drain(LONG)
        assertEquals(sha256(bytes), server.records().single().jsonObject.getValue("body_sha256").jsonPrimitive.content)
    }
}
