package dev.submitonce

import java.time.Instant

/**
 * The jobs of an outbox: three in all, however many submissions wait. The ones for now deliver. The one
 * for later only has the one for now started: so nothing that is due waits behind a job that isn't, and
 * nothing that delivers is ever replaced.
 *
 * @property network the network that it needs.
 */
public enum class RunJob(public val network: RunNetwork) {
    /** Now, or as soon as there is a network. */
    ANY(RunNetwork.ANY),

    /** As soon as there is an unmetered network. */
    UNMETERED(RunNetwork.UNMETERED),

    /** At the time at which something is due again. */
    LATER(RunNetwork.ANY),
}

/**
 * What starts background runs when the app isn't in the foreground: WorkManager on Android, anything
 * else that keeps a job over the end of the process elsewhere. A job calls [DrainPlan.run]. One that is
 * stopped, or whose process dies, has to be started again.
 *
 * Each call has to be durable when it returns. It may throw: the app is told, and the next submission
 * asks again. [append] and [ensure] are cancelled after ten seconds, which counts as a failure. Where the scheduler knows unique names, [UniqueJobScheduler] does all of it.
 */
public interface RunScheduler {
    /**
     * Sees to a run that begins after this call, as soon as there is such a network. One that is
     * running doesn't count, since it may have had its last look: the new one comes after it. One that
     * waits to begin does, so that there are never more than two.
     */
    public suspend fun append(network: RunNetwork)

    /** Starts a run as soon as there is such a network, unless one is running or waiting. */
    public suspend fun ensure(network: RunNetwork)

    /**
     * Starts [RunJob.LATER] at this time, or when there is a network after that, and at no other time:
     * an earlier order is replaced.
     */
    public suspend fun later(at: Instant)

    /** Takes the order of [later] back. */
    public suspend fun notLater()
}
