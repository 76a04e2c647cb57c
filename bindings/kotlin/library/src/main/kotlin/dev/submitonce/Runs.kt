package dev.submitonce

import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeoutOrNull
import java.time.Duration
import java.util.concurrent.TimeoutException
import dev.submitonce.internal.Outbox as RawOutbox

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
    private val patience: Duration = SCHEDULER_PATIENCE,
) {
    /** After something to send was stored. Never throws: it is stored, whatever the scheduler says. */
    suspend fun accepted(unmeteredOnly: Boolean, runRequested: Boolean) {
        if (runRequested) {
            reporting { schedule(if (unmeteredOnly) RunNetwork.UNMETERED else RunNetwork.ANY) }
        }
    }

    /** After something became due in another way. Never throws: the rest of the call has been done. */
    suspend fun request(network: RunNetwork) {
        reporting {
            toTheEnd {
                if (scheduler != null && translated { raw.requestRun(network) }) {
                    schedule(network)
                }
            }
        }
    }

    /**
     * The same, where nobody may come by again: makes sure also that a run that was asked for before
     * is still there, since an app can cancel all works of a scheduler. Throws what the scheduler throws:
     * a run must not end well that could not have the next one scheduled.
     */
    suspend fun makeSure(network: RunNetwork): Unit = toTheEnd {
        if (translated { raw.requestRun(network) }) {
            schedule(network)
        } else {
            scheduler?.inTime { ensure(network) }
        }
    }

    /**
     * At the start of a process: schedules what an earlier one asked for and died before it could
     * schedule, and makes sure of a run where something waits, whatever became of the scheduler's
     * memory.
     */
    suspend fun repair() {
        val scheduler = scheduler ?: return
        raw.adoptRunRequests().forEach { reporting { schedule(it) } }
        val stats = raw.stats()
        if (stats.pending + stats.inFlight > 0) {
            reporting { scheduler.inTime { ensure(RunNetwork.ANY) } }
        }
    }

    /** At the start of a run: from here on, what is submitted needs another one. */
    suspend fun begin(network: RunNetwork): Unit = toTheEnd { translated { raw.clearRunRequest(network) } }

    /** Throws what the scheduler throws; whoever comes next asks it again then. */
    private suspend fun schedule(network: RunNetwork) {
        val scheduler = scheduler ?: return
        guarded({ scheduler.inTime { append(network) } }) { problem ->
            runCatching { translated { raw.clearRunRequest(network) } }.onFailure(problem::addSuppressed)
            throw problem
        }
        translated { raw.runScheduled(network) }
    }

    private suspend fun RunScheduler.inTime(call: suspend RunScheduler.() -> Unit) {
        withTimeoutOrNull(patience.toMillis()) { call() }
            ?: throw TimeoutException("the scheduler has not answered within $patience")
    }

    private suspend fun toTheEnd(call: suspend () -> Unit) =
        withContext(NonCancellable + dispatcher) { call() }

    /** Does it, or tells the app why not. */
    suspend fun reporting(call: suspend () -> Unit): Unit = guarded({ call() }, ::report)

    /** Tells the app of what it can't see otherwise. */
    fun report(problem: Throwable) = onError(problem)

    private companion object {
        /**
         * How long a call that has stored something waits for the scheduler, which writes to a database
         * of its own: that takes milliseconds, or a second on a slow disk. One that takes longer hangs,
         * and the caller isn't cancelled meanwhile.
         */
        val SCHEDULER_PATIENCE: Duration = Duration.ofSeconds(10)
    }
}
