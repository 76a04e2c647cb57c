package dev.submitonce.sample

import dev.submitonce.BatchConfig
import dev.submitonce.Body
import dev.submitonce.Effect
import dev.submitonce.Once
import dev.submitonce.Outbox
import dev.submitonce.Submission
import dev.submitonce.SubmissionId
import java.time.Duration
import java.time.LocalDate

/** What the app does beside its orders, in the background mostly. Nothing of it is lost or done twice. */
class Chores(private val outbox: Outbox, private val server: () -> String) {
    /** What happened in the app. Many of them go in one request, when there is Wi-Fi. */
    suspend fun log(event: Event) {
        logs().append("""{"event":"$event"}""")
    }

    /** "Send the logs now", for a support screen. They still wait for Wi-Fi. */
    suspend fun sendLogs() {
        logs().flush()
    }

    // The server's address may be another one by now.
    private fun logs() = outbox.batch(
        BatchConfig("logs", "${server()}/logs", maxAge = Duration.ofMinutes(15), unmeteredOnly = true),
    )

    /** The note on an order as it is now: of versions that weren't sent only the latest goes. */
    suspend fun saveNote(order: String, note: String) {
        val body = Body.Bytes("text/plain; charset=utf-8", note.toByteArray())
        val url = "${server()}/notes/$order"
        val effect = Effect.OVERWRITE
        outbox.submit(Submission(SubmissionId.new(), url, body, "PUT", effect = effect, replaces = "note/$order"))
    }

    /** Asks for the price list; the last one that came stays until then. */
    suspend fun refreshPrices() {
        outbox.submit(Submission(SubmissionId.new(), "${server()}/prices", method = "GET", replaces = PRICES))
    }

    /** The newest price list that has come, with or without a network. */
    suspend fun prices(): String? = outbox.current(PRICES)?.text

    /** Once a day, however often the system runs the worker. */
    suspend fun cleanCache(today: LocalDate, clean: suspend () -> Unit): Once<Unit> =
        outbox.inbox.once("clean-cache", "$today") { clean() }

    /** A push message may be delivered twice, and is shown once. */
    suspend fun received(messageId: String, show: () -> Unit): Once<Unit> =
        outbox.inbox.once("push", messageId) { show() }

    private companion object {
        const val PRICES = "prices"
    }
}

/** What is worth a line in the log. */
enum class Event { OPENED, ORDERED, CACHE_CLEANED }
