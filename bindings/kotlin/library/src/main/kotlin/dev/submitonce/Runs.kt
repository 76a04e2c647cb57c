package dev.submitonce

import kotlinx.coroutines.CancellationException
import dev.submitonce.internal.Outbox as RawOutbox
import dev.submitonce.internal.Receipt as RawReceipt

/**
 * Has a background run scheduled when one is needed: once for any number of submissions, and never
 * not at all. The database remembers who has to do it (see [RawOutbox.requestRun]).
 */
internal class Runs(
    private val raw: RawOutbox,
    private val scheduler: RunScheduler?,
    private val onError: (Throwable) -> Unit,
) {
    /** After a submission was stored. Never throws: it is stored, whatever the scheduler says. */
    suspend fun submitted(submission: Submission, receipt: RawReceipt) {
        if (receipt.runRequested) {
            schedule(if (submission.unmeteredOnly) RunNetwork.UNMETERED else RunNetwork.ANY)
        }
    }

    /** After something became due in another way. */
    suspend fun request(network: RunNetwork) {
        if (scheduler != null && raw.requestRun(network)) {
            schedule(network)
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
    fun begin(network: RunNetwork): Unit = translated { raw.clearRunRequest(network) }

    private suspend fun schedule(network: RunNetwork) {
        val scheduler = scheduler ?: return
        val scheduled = reporting { scheduler.append(network) }
        reporting {
            if (scheduled) raw.runScheduled(network) else raw.clearRunRequest(network)
        }
    }

    /** True if it succeeded; else the app was told why not. */
    suspend fun reporting(call: suspend () -> Unit): Boolean =
        try {
            call()
            true
        } catch (cancelled: CancellationException) {
            throw cancelled
        } catch (error: Exception) {
            report(error)
            false
        }

    /** Tells the app of what it can't see otherwise. */
    fun report(error: Exception) = onError(error)
}
