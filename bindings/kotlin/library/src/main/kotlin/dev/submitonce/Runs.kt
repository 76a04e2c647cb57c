package dev.submitonce

import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.withContext
import dev.submitonce.internal.Outbox as RawOutbox
import dev.submitonce.internal.Receipt as RawReceipt

/**
 * Has a background run scheduled when one is needed: once for any number of submissions, and never
 * not at all. The database remembers who has to do it (see [RawOutbox.requestRun]).
 *
 * Whoever is to schedule a run does so to the end, cancelled or not: nobody else would.
 */
internal class Runs(
    private val raw: RawOutbox,
    private val scheduler: RunScheduler?,
    private val dispatcher: CoroutineDispatcher,
    private val onError: (Throwable) -> Unit,
) {
    /** After a submission was stored. Never throws: it is stored, whatever the scheduler says. */
    suspend fun submitted(submission: Submission, receipt: RawReceipt) {
        if (receipt.runRequested) {
            schedule(if (submission.unmeteredOnly) RunNetwork.UNMETERED else RunNetwork.ANY)
        }
    }

    /** After something became due in another way. Never throws: the rest of the call has been done. */
    suspend fun request(network: RunNetwork) {
        reporting {
            toTheEnd {
                if (scheduler != null && raw.requestRun(network)) {
                    schedule(network)
                }
            }
        }
    }

    /**
     * The same, where nobody may come by again: makes sure also that a run that was asked for before
     * is still there, since an app can cancel all works of a scheduler.
     */
    suspend fun makeSure(network: RunNetwork): Unit = toTheEnd {
        if (raw.requestRun(network)) {
            schedule(network)
        } else {
            scheduler?.ensure(network)
        }
    }

    /**
     * At the start of a process: schedules what an earlier one asked for and died before it could
     * schedule, and makes sure of a run where something waits, whatever became of the scheduler's
     * memory.
     */
    suspend fun repair() {
        val scheduler = scheduler ?: return
        raw.adoptRunRequests().forEach { schedule(it) }
        val stats = raw.stats()
        if (stats.pending + stats.inFlight > 0) {
            reporting { scheduler.ensure(RunNetwork.ANY) }
        }
    }

    /** At the start of a run: from here on, what is submitted needs another one. */
    suspend fun begin(network: RunNetwork): Unit = toTheEnd { raw.clearRunRequest(network) }

    private suspend fun schedule(network: RunNetwork) {
        val scheduler = scheduler ?: return
        val scheduled = reporting { scheduler.append(network) }
        reporting {
            if (scheduled) raw.runScheduled(network) else raw.clearRunRequest(network)
        }
    }

    private suspend fun toTheEnd(call: suspend () -> Unit) =
        withContext(NonCancellable + dispatcher) { translated { call() } }

    /** True if it succeeded; else the app was told why not. */
    suspend fun reporting(call: suspend () -> Unit): Boolean =
        try {
            call()
            true
        } catch (error: Exception) {
            // A time-out within the scheduler looks like a cancellation, and isn't one.
            currentCoroutineContext().ensureActive()
            report(error)
            false
        }

    /** Tells the app of what it can't see otherwise. */
    fun report(error: Exception) = onError(error)
}
