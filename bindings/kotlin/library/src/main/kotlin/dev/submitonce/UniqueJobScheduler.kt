package dev.submitonce

import java.time.Duration
import java.time.Instant

/** What becomes of a job that isn't finished when another of its name is enqueued. */
public enum class IfUnfinished {
    /** It stays, and the new one isn't enqueued. */
    KEEP,

    /** It is cancelled, and the new one takes its place. */
    REPLACE,

    /** It stays, and the new one begins when it has ended. */
    APPEND,
}

/**
 * The jobs of an outbox in a scheduler that knows unique names. Changes are durable when a call
 * returns.
 */
public interface UniqueJobs {
    /** True if a job of this name waits to begin: for its network, or for one before it. */
    public suspend fun isWaiting(job: RunJob): Boolean

    /**
     * Enqueues a job that begins after the delay and when there is its network. When a run asks to be
     * repeated, it is repeated soon: a new submission may wait behind it.
     */
    public suspend fun enqueue(job: RunJob, ifUnfinished: IfUnfinished, delay: Duration = Duration.ZERO)

    /** Cancels the jobs of this name. */
    public suspend fun cancel(job: RunJob)
}

/** Background runs as unique jobs, a name for each [RunJob]. */
public class UniqueJobScheduler(private val jobs: UniqueJobs) : RunScheduler {
    override suspend fun append(network: RunNetwork) {
        val job = jobFor(network)
        // Whatever waits now looks at the outbox after this. Without the question, a run that is
        // stopped and started again would let the next submission append another each time.
        if (!jobs.isWaiting(job)) {
            jobs.enqueue(job, IfUnfinished.APPEND)
        }
    }

    override suspend fun ensure(network: RunNetwork) {
        jobs.enqueue(jobFor(network), IfUnfinished.KEEP)
    }

    override suspend fun later(at: Instant) {
        val delay = Duration.between(Instant.now(), at).coerceAtLeast(Duration.ZERO)
        jobs.enqueue(RunJob.LATER, IfUnfinished.REPLACE, delay)
    }

    override suspend fun notLater() {
        jobs.cancel(RunJob.LATER)
    }

    private fun jobFor(network: RunNetwork) = when (network) {
        RunNetwork.ANY -> RunJob.ANY
        RunNetwork.UNMETERED -> RunJob.UNMETERED
    }
}
