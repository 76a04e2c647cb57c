package dev.submitonce.scenarios

import dev.submitonce.CredentialsReason
import dev.submitonce.internal.CredentialsListener
import dev.submitonce.translated
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.map
import kotlinx.serialization.json.JsonElement

private const val CHANGES = "listener"
private const val CREDENTIALS = "credentials_listener"
private const val PROGRESS = "progress_listener"

/** Changes and progress are streams. */
val listeningSteps: Map<String, Kind> = mapOf(
    "set_$CHANGES" to stream(CHANGES) { with(it.outbox) { changes(after = stats().lastCursor).map { obj() } } },
    "set_$PROGRESS" to stream(PROGRESS) { handle -> handle.outbox.uploads().map(::form) },
    // The layer takes a provider when it opens, for good; one that is set later is the generated
    // outbox's.
    "set_$CREDENTIALS" to kind {
        val listening = flag("listening")
        plainly { turn ->
            val ear = turn.handle.newEar(CREDENTIALS, listening)
            translated { turn.handle.raw.setCredentialsListener(ear?.let(::Asked)) }
        }
    },
    "heard" to kind {
        val by = text("by")
        if (by !in listOf(CHANGES, CREDENTIALS, PROGRESS)) broken("there is no listener $by")
        plainly { turn -> turn.handle.ear(by).waitFor(turn.expect ?: obj()) }
    },
)

private fun stream(name: String, open: suspend (Handle) -> Flow<JsonElement>): Kind = {
    val listening = flag("listening")
    plainly { turn ->
        val ear = turn.handle.newEar(name, listening)
        ear?.listenTo(open(turn.handle), turn.stage.dispatcher)
    }
}

private class Asked(private val ear: Ear) : CredentialsListener {
    override fun credentialsNeeded(account: String, reason: CredentialsReason) =
        ear.hear(obj("account" to account, "reason" to reason.form()))
}
