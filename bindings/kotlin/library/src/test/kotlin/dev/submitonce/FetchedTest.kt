package dev.submitonce

import org.junit.jupiter.api.Test
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertNotNull
import kotlin.test.assertNull
import kotlin.test.assertTrue

/** Configuration and the like: the latest value stays until there is a newer one. */
class FetchedTest : OutboxTest() {
    private fun fetch(account: String? = null) =
        Submission(SubmissionId.new(), "/config", method = "GET", account = account, replaces = "config")

    private fun answers(status: Int, body: String = "", etag: String = "") {
        val headers = if (etag.isEmpty()) "[]" else """[["ETag","\"$etag\""]]"""
        server.script("""{"respond":{"status":$status,"headers":$headers,"body":"$body","content_type":"text/plain"}}""")
    }

    private suspend fun Outbox.fetches(fetch: Submission = fetch()): Snapshot {
        submit(fetch)
        drain(LONG)
        return snapshot(fetch.id)
    }

    @Test
    fun `what was fetched is there, after a restart too`() = test {
        val fetch = fetch()
        open().use { outbox ->
            assertNull(outbox.current("config"))
            answers(200, "blue", etag = "v1")
            outbox.fetches(fetch)
        }
        val value = assertNotNull(open().current("config"))
        assertEquals(listOf(fetch.id, 200, "text/plain", "blue"), listOf(value.id, value.status, value.contentType, value.text))
        assertEquals(listOf("\"v1\""), value.headers.filter { it.name.equals("etag", ignoreCase = true) }.map { it.value })
        assertEquals(value.fetchedAt, value.checkedAt)
    }

    @Test
    fun `an answer that nothing has changed keeps the value, and says when`() = test {
        val outbox = open()
        answers(200, "blue", etag = "v1")
        outbox.fetches()
        val first = assertNotNull(outbox.current("config"))
        answers(304)
        val again = outbox.fetches()
        assertEquals(SubmissionState.Succeeded to 304, again.state to again.outcome?.status)
        val second = assertNotNull(outbox.current("config"))
        assertEquals(listOf<Any>(first.id, "blue", first.fetchedAt), listOf(second.id, second.text, second.fetchedAt))
        assertTrue(second.checkedAt > first.checkedAt)
    }

    @Test
    fun `a failure never removes a value, and a newer one takes its place`() = test {
        val outbox = open()
        answers(200, "blue")
        outbox.fetches()
        answers(404, "gone")
        assertEquals(SubmissionState.Rejected(RejectReason.REFUSED)::class, outbox.fetches().state::class)
        assertEquals("blue", outbox.current("config")?.text)
        answers(200, "green")
        outbox.fetches()
        assertEquals("green", outbox.current("config")?.text)
    }

    // P10 account isolation.
    @Test
    fun `an account's value is its own`() = test {
        val outbox = open(credentials = { _, _ -> Credentials.bearer("good") })
        outbox.signIn("ann")
        answers(200, "for ann")
        outbox.fetches(fetch(account = "ann"))
        assertEquals("for ann", outbox.current("config", account = "ann")?.text)
        assertNull(outbox.current("config"))
        assertNull(outbox.current("config", account = "ben"))
        outbox.signOut(SignOut.PURGE)
        assertNull(outbox.current("config", account = "ann"))
    }

    @Test
    fun `a key that makes no sense is refused`() = test {
        val refusal = assertFailsWith<SubmitOnceException.Invalid> { open().current("") }
        assertEquals("key", refusal.field)
    }
}
