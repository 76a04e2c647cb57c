package dev.submitonce

import java.time.Instant

/**
 * What starts background runs when the app isn't in the foreground: WorkManager on Android, anything
 * else that keeps a job over the end of the process elsewhere. A run calls [DrainPlan.run].
 *
 * There are three jobs in all, however many submissions wait: one per [RunNetwork] for now, and one
 * for later. Each call has to be durable when it returns, and may throw: the app is told, and the next
 * submission asks again.
 */
public interface RunScheduler {
    /**
     * Starts a run as soon as there is such a network, *after* one of the same network that is
     * running now or waiting: that one may have had its last look already.
     */
    public suspend fun append(network: RunNetwork)

    /** Starts a run as soon as there is such a network, unless one is running or waiting. */
    public suspend fun ensure(network: RunNetwork)

    /** Starts [DrainPlan.runLater] at this time, and at no other: an earlier order is replaced. */
    public suspend fun later(at: Instant)

    /** Takes the order of [later] back. */
    public suspend fun notLater()
}
