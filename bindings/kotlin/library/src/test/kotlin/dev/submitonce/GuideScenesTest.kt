package dev.submitonce

import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import org.junit.jupiter.api.Test
import java.time.Duration
import java.time.LocalDate
import kotlin.test.assertEquals
import kotlin.test.assertIs
import kotlin.test.assertNotNull

/** The other part of what `docs/kotlin.md` shows, run: see `GuideTest`. What an app does beside its button. */
class GuideScenesTest : OutboxTest() {
    private val done = mutableListOf<String>()

    @Test
    fun `logs are gathered and sent together`() = test {
        val outbox = open()
        // guide: batches
        val logs = outbox.batch(BatchConfig("logs", "/logs", maxAge = Duration.ofMinutes(15), unmeteredOnly = true))
        val receipt = logs.append("""{"event":"opened","screen":"orders"}""") // durable, and not yet sent
        logs.flush() // or: now, when there is Wi-Fi
        // end
        outbox.networkAvailable(NetworkKind.UNMETERED)
        outbox.drain(LONG)
        assertEquals(SubmissionState.Succeeded, outbox.snapshot(receipt.batch).state)
        assertEquals(1, server.summary().effects)
    }

    @Test
    fun `configuration is fetched, and there without a network`() = test {
        val outbox = open()
        server.script("""{"respond":{"status":200,"headers":[["ETag","\"1\""]],"body":"{\"color\":\"blue\"}"}}""")
        // guide: fetched values
        suspend fun refresh() =
            outbox.submit(Submission(SubmissionId.new(), "/config", method = "GET", replaces = "config"))

        suspend fun config() = outbox.current("config")?.text ?: """{"color":"grey"}""" // what the app came with
        // end
        assertEquals("""{"color":"grey"}""", config())
        refresh()
        outbox.drain(LONG)
        assertEquals("""{"color":"blue"}""", config())
        server.script("""{"respond":{"status":304}}""")
        refresh()
        outbox.drain(LONG)
        assertEquals("""{"color":"blue"}""", config())
        val asked = server.records().map { it.jsonObject.getValue("method").jsonPrimitive.content }
        assertEquals(listOf("GET", "GET"), asked)
    }

    @Test
    fun `the cache is cleaned once a day`() = test {
        val outbox = open()
        val cache = object {
            fun clean() = done.add("cleaned")
        }

        // guide: once a day
        suspend fun cleanCache(today: LocalDate = LocalDate.now()) =
            outbox.inbox.once("clean-cache", "$today") { cache.clean() }
        // end
        val today = LocalDate.of(2026, 1, 2)
        assertIs<Once.Ran<Unit>>(cleanCache(today))
        assertIs<Once.Before<Unit>>(cleanCache(today))
        assertIs<Once.Ran<Unit>>(cleanCache(today.plusDays(1)))
        assertEquals(listOf("cleaned", "cleaned"), done)
    }

    @Test
    fun `a push message that comes twice is shown once`() = test {
        val outbox = open()
        fun show(text: String) = done.add(text)

        // guide: push messages
        suspend fun received(messageId: String, text: String) {
            outbox.inbox.once("push", messageId) { show(text) }
        }
        // end
        repeat(2) { received("m-1", "your tea is ready") }
        assertEquals(listOf("your tea is ready"), done)
    }

    @Test
    fun `what a message writes is written with the record of it`() = test {
        val outbox = open()
        val (messageId, text) = "m-1" to "your tea is ready"
        repeat(2) {
            // guide: own tables
            val inbox = outbox.inbox
            val message = InboxItem("push", messageId, InboxPolicy.AT_LEAST_ONCE)
            val begun = inbox.begin(message)
            if (begun is InboxAnswer.Run) {
                val table = AppStatement("CREATE TABLE IF NOT EXISTS app_message (id TEXT PRIMARY KEY, text TEXT)")
                val row = listOf(SqlValue.Text(messageId), SqlValue.Text(text))
                inbox.finishWith(begun.run, listOf(table, AppStatement("INSERT INTO app_message VALUES (?1, ?2)", row)))
            }
            val shown = inbox.query(AppStatement("SELECT text FROM app_message"))
            // end
            assertEquals(listOf(listOf(SqlValue.Text(text))), shown)
        }
    }

    @Test
    fun `a tool's call has one effect and one result, and doubt is asked about`() = test {
        val outbox = open()
        val transfer = object {
            suspend fun call(arguments: String): String {
                done += arguments
                assertNotNull(outbox)
                return "transfer 17"
            }
        }

        // guide: tool calls
        suspend fun callTool(stepId: String, arguments: String): String {
            val step = InboxItem("transfer", stepId, InboxPolicy.AT_MOST_ONCE, content = arguments.toByteArray())
            return when (val end = outbox.inbox.once(step, ResultForm.TEXT) { transfer.call(arguments) }) {
                is Once.Ran -> end.result
                is Once.Before -> end.result ?: "done, and its result is no longer kept"
                is Once.Busy -> "under way since ${end.since}"
                is Once.Uncertain -> "it may have happened at ${end.since}: look, and decide"
            }
        }
        // end
        assertEquals(List(2) { "transfer 17" }, List(2) { callTool("plan-1/step-2", "5 to Ada") })
        assertEquals(listOf("5 to Ada"), done)

        val run = outbox.inbox.begin(InboxItem("transfer", "plan-1/step-3", InboxPolicy.AT_MOST_ONCE))
        outbox.inbox.fail(assertIs<InboxAnswer.Run>(run).run, InboxFailure.MAY_HAVE_HAPPENED)
        // guide: what is uncertain
        for (item in outbox.inbox.uncertain("transfer")) {
            // Look at the bank, or ask. Then it is known:
            outbox.inbox.decide(item.scope, item.key, InboxDecision.Happened("transfer 18".toByteArray()))
        }
        // end
        val known = outbox.inbox.once(InboxItem("transfer", "plan-1/step-3", InboxPolicy.AT_MOST_ONCE), ResultForm.TEXT) { "" }
        assertEquals("transfer 18", assertIs<Once.Before<String>>(known).result)
    }
}
