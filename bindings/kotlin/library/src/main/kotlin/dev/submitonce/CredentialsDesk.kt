package dev.submitonce

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.joinAll
import kotlinx.coroutines.launch
import dev.submitonce.internal.Outbox as RawOutbox

/** Answers the core's nudges with what the app's provider gives, one question at a time. */
internal class CredentialsDesk(
    private val raw: RawOutbox,
    private val provider: CredentialsProvider,
    private val scope: CoroutineScope,
    /** Told once credentials are there: the run that waited for them may have ended. */
    private val supplied: suspend () -> Unit,
    private val onError: (Throwable) -> Unit,
) {
    private class Question(val account: String, val reason: CredentialsReason, val job: Job)

    private val open = mutableListOf<Question>()

    @Synchronized
    fun needed(account: String, reason: CredentialsReason) {
        open.removeAll { it.job.isCompleted }
        // Only one account is signed in: nobody waits for the credentials of another any more.
        // The last first: its turn would come when the one before has ended.
        open.filter { it.account != account }.asReversed().forEach { it.job.cancel() }
        // The core asks again while nothing has come; a provider that is slow isn't asked twice. A new
        // reason is another question: what the provider gave may have been refused by now.
        if (open.none { it.job.isActive && it.reason == reason }) {
            val before = open.map { it.job }
            val job = scope.launch {
                before.joinAll()
                ask(account, reason)
            }
            open += Question(account, reason, job)
        }
    }

    private suspend fun ask(account: String, reason: CredentialsReason) {
        guarded({ provider.credentials(account, reason)?.let { supply(account, it) } }, { onError(it) })
    }

    private suspend fun supply(account: String, credentials: Credentials) {
        try {
            translated { raw.supplyCredentials(account, credentials.headers, credentials.validUntil) }
            supplied()
        } catch (_: SubmitOnceException.NotSignedIn) {
            // Signed out while the provider was asked: nobody needs them.
        }
    }
}
