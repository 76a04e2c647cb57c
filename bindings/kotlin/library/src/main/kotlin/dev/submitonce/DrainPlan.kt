package dev.submitonce

import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import java.time.Duration
import java.time.Instant

/** What a background run tells its scheduler. */
public enum class RunResult {
    /** Done. What is left has been scheduled. */
    SUCCESS,

    /** The database could not be used: the scheduler shall run it again by its own backoff. */
    RETRY,
}

/**
 * What background runs do, and what they schedule next. Everything that a worker has to decide is
 * here, so that the worker itself is a few lines.
 *
 * A run takes its request back first, and drains after that: what is submitted too late for its last
 * look asks for the next run, which the scheduler starts after this one. At its end it orders the
 * next run for the time at which something is due.
 */
public class DrainPlan internal constructor(
    private val outbox: Outbox,
    private val runs: Runs,
    private val scheduler: RunScheduler,
    private val now: () -> Instant,
) {
    // Two runs that end together must not schedule by what the other has changed meanwhile.
    private val scheduling = Mutex()

    /**
     * Delivers what is due over such a network. When it is cancelled, because the scheduler stops it,
     * nothing more is begun, and what is on the wire comes to its end; the scheduler runs it again.
     *
     * @param network that of the job that runs.
     * @param available the network that there is, if that is known.
     * @param time how long it may take; less than the scheduler allows.
     */
    public suspend fun run(
        network: RunNetwork,
        available: NetworkKind? = null,
        time: Duration = RUN_TIME,
    ): RunResult = orRetry {
        runs.begin(network)
        val kind = if (network == RunNetwork.UNMETERED) NetworkKind.UNMETERED else available
        kind?.let { outbox.networkAvailable(it) }
        outbox.drain(time, stopWhenCancelled = true)
        scheduling.withLock {
            // What the other run has settled since counts as well.
            scheduleAfter(outbox.drain(SECOND_LOOK, stopWhenCancelled = true), network)
        }
    }

    /** What [RunScheduler.later] starts: it only has the run for now started. */
    public suspend fun runLater(): RunResult = orRetry { runs.request(RunNetwork.ANY) }

    private suspend fun scheduleAfter(report: DrainReport, network: RunNetwork) {
        val awaitsUnmetered = report.awaitsUnmetered
        if (awaitsUnmetered && network == RunNetwork.ANY) {
            runs.request(RunNetwork.UNMETERED)
        }
        val soonest = now() + SOONEST
        val unfinished =
            report.stopped == DrainStop.SUSPENDED || report.stopped == DrainStop.BUDGET_ENDED || report.inFlight > 0
        val times = listOfNotNull(
            report.nextWakeAt?.coerceAtLeast(soonest),
            // Somebody else's suspension, or a budget that was too short: look again soon.
            soonest.takeIf { unfinished },
            // The network has become metered under a run that was for an unmetered one.
            (now() + UNMETERED_AGAIN).takeIf { awaitsUnmetered && network == RunNetwork.UNMETERED },
        )
        when (val at = times.minOrNull()) {
            null -> scheduler.notLater()
            else -> scheduler.later(at)
        }
    }

    private suspend fun orRetry(run: suspend () -> Unit): RunResult =
        try {
            run()
            RunResult.SUCCESS
        } catch (_: SubmitOnceException.Storage.Busy) {
            RunResult.RETRY
        } catch (_: SubmitOnceException.Storage.Unavailable) {
            RunResult.RETRY
        } catch (problem: SubmitOnceException) {
            // Running it again at once would meet the same: a full disk, a file that was moved.
            runs.report(problem)
            runs.reporting { scheduler.later(now() + TROUBLE_AGAIN) }
            RunResult.SUCCESS
        }

    internal companion object {
        /** Well within the ten minutes that WorkManager gives a worker. */
        val RUN_TIME: Duration = Duration.ofSeconds(510)

        /** Long enough for a look at the database; an exchange that it begins has time to end. */
        val SECOND_LOOK: Duration = Duration.ofSeconds(30)

        /** WorkManager's own least backoff: no run is ordered sooner. */
        val SOONEST: Duration = Duration.ofSeconds(10)

        val UNMETERED_AGAIN: Duration = Duration.ofMinutes(15)

        val TROUBLE_AGAIN: Duration = Duration.ofMinutes(15)
    }
}
