package dev.submitonce

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.launch
import dev.submitonce.internal.Outbox as RawOutbox

/** Answers the core's nudges with what the app's provider gives, one question at a time. */
internal class CredentialsDesk(
    private val raw: RawOutbox,
    private val provider: CredentialsProvider,
    private val scope: CoroutineScope,
    private val onError: (Throwable) -> Unit,
) {
    private var asking: Job? = null

    @Synchronized
    fun needed(account: String, reason: CredentialsReason) {
        // The core asks again while nothing has come; a provider that is slow isn't asked twice.
        if (asking?.isActive == true) {
            return
        }
        asking = scope.launch {
            try {
                val credentials = provider.credentials(account, reason) ?: return@launch
                translated { raw.supplyCredentials(account, credentials.headers, credentials.validUntil) }
            } catch (cancelled: CancellationException) {
                throw cancelled
            } catch (error: Exception) {
                onError(error)
            }
        }
    }
}
