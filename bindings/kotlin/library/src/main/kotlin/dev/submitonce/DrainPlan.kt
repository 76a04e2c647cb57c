package dev.submitonce

import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import java.time.Duration
import java.time.Instant

/** What a background run tells its scheduler. */
public enum class RunResult {
    /** Done. What is left has been scheduled. */
    SUCCESS,

    /**
     * The database was busy or locked, or the scheduler itself failed, so that nothing could be
     * scheduled: run this again, by the scheduler's own backoff.
     */
    RETRY,
}

/**
 * What background runs do, and what they schedule next. Everything that a worker has to decide is
 * here, so that the worker itself is a few lines.
 *
 * A run takes its request back first, and drains after that: what is submitted too late for its last
 * look asks for the next run, which the scheduler starts after this one. At its end it orders the
 * next run for the time at which something is due.
 *
 * Runs may overlap, of one network or of two: a scheduler starts a stopped one again before it has
 * returned. Their drains join. Cancelling a run, because the scheduler stops it, begins nothing more,
 * and lets what is on the wire come to its end.
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
     * Does what a job is for.
     *
     * @param available the network that there is, if that is known.
     * @param time how long it may take; less than the scheduler allows.
     */
    public suspend fun run(
        job: RunJob,
        available: NetworkKind? = null,
        time: Duration = RUN_TIME,
    ): RunResult = scheduler.resultOf(now, runs::report) {
        when (job) {
            RunJob.ANY -> deliver(RunNetwork.ANY, available, time)
            RunJob.UNMETERED -> {
                // The constraint says so; what the system says now is newer.
                deliver(RunNetwork.UNMETERED, available ?: NetworkKind.UNMETERED, time)
            }
            // It would be replaced by what it orders, in the middle of a delivery.
            RunJob.LATER -> runs.makeSure(RunNetwork.ANY)
        }
        RunResult.SUCCESS
    }

    private suspend fun deliver(network: RunNetwork, available: NetworkKind?, time: Duration) {
        runs.begin(network)
        available?.let { outbox.networkAvailable(it) }
        val drained = outbox.drain(time, stopWhenCancelled = true)
        scheduling.withLock { orderNext(network, drained.stopped) }
    }

    private suspend fun orderNext(network: RunNetwork, stopped: DrainStop) {
        // Begins nothing. What the drain has told may be old: another run has settled something since.
        val look = outbox.drain(Duration.ZERO)
        if (look.awaitsUnmetered && network == RunNetwork.ANY) {
            runs.makeSure(RunNetwork.UNMETERED)
        }
        when (val at = nextRunAt(network, stopped, look, now())) {
            null -> scheduler.notLater()
            else -> scheduler.later(at)
        }
    }

    public companion object {
        /**
         * What a worker calls, whose process the scheduler may have started: opens the outbox, and
         * runs its plan. It throws nothing but the cancellation of its coroutine. An outbox that can't
         * be opened is told of and tried again, and what waits in it goes on waiting.
         *
         * @param scheduler the one that the outbox is opened with.
         * @param onError told of what keeps it from opening.
         * @param open gives the outbox that this process shares.
         */
        public suspend fun runOn(
            scheduler: RunScheduler,
            onError: (Throwable) -> Unit,
            open: suspend () -> Outbox,
            run: suspend DrainPlan.() -> RunResult,
        ): RunResult = scheduler.resultOf(Instant::now, onError.neverThrowing()) {
            checkNotNull(open().plan) { "the outbox was opened without a scheduler" }.run()
        }

        /** Well within the ten minutes that WorkManager gives a worker. */
        internal val RUN_TIME: Duration = Duration.ofSeconds(510)

        /** WorkManager's own least backoff: no run is ordered sooner. */
        internal val SOONEST: Duration = Duration.ofSeconds(10)

        internal val UNMETERED_AGAIN: Duration = Duration.ofMinutes(15)

        /** The token server may be back; a user who has to sign in anew costs a look each hour. */
        internal val CREDENTIALS_AGAIN: Duration = Duration.ofHours(1)

        internal val TROUBLE_AGAIN: Duration = Duration.ofMinutes(15)
    }
}

/** When the job for later has to come, after how a run ended and what its last look found. */
internal fun nextRunAt(network: RunNetwork, stopped: DrainStop, look: DrainReport, now: Instant): Instant? {
    val soonest = now + DrainPlan.SOONEST
    return listOfNotNull(
        // Also of what is due still, because the time was over, or on the wire.
        look.nextWakeAt?.coerceAtLeast(soonest),
        // The app has stopped delivery under it, so that it knows nothing.
        soonest.takeIf { look.stopped == DrainStop.SUSPENDED },
        (now + DrainPlan.CREDENTIALS_AGAIN).takeIf { DrainStop.CREDENTIALS_NEEDED in listOf(stopped, look.stopped) },
        // It became metered under a run that was for an unmetered one. Appending another would repeat
        // that without a pause where system and app don't agree on what there is.
        (now + DrainPlan.UNMETERED_AGAIN).takeIf { look.awaitsUnmetered && network == RunNetwork.UNMETERED },
    ).minOrNull()
}

/**
 * Nothing is thrown out of a run: a scheduler would call it failed for good, and with it the runs that
 * wait behind it. That holds for a cancellation too that isn't the run's own.
 */
private suspend fun RunScheduler.resultOf(
    now: () -> Instant,
    report: (Throwable) -> Unit,
    run: suspend () -> RunResult,
): RunResult = guarded({ run() }) { problem ->
    when (problem) {
        is SubmitOnceException.Storage.Busy, is SubmitOnceException.Storage.Unavailable -> RunResult.RETRY
        else -> {
            report(problem)
            laterOrRetry(now() + DrainPlan.TROUBLE_AGAIN, report)
        }
    }
}

/** Running it again at once would meet the same: a full disk, a file of a newer version. */
private suspend fun RunScheduler.laterOrRetry(at: Instant, report: (Throwable) -> Unit): RunResult =
    guarded({
        later(at)
        RunResult.SUCCESS
    }) { problem ->
        report(problem)
        RunResult.RETRY
    }
