package dev.submitonce.runs

import java.io.Serializable
import java.time.Duration
import java.time.Instant

/**
 * The states of a work.
 * https://developer.android.com/reference/androidx/work/WorkInfo.State
 */
enum class WorkState {
    ENQUEUED, RUNNING, BLOCKED, SUCCEEDED, FAILED, CANCELLED;

    val isFinished: Boolean get() = this == SUCCEEDED || this == FAILED || this == CANCELLED
}

/**
 * What becomes of unfinished works of the same unique name.
 * https://developer.android.com/reference/androidx/work/ExistingWorkPolicy
 */
enum class WorkPolicy { KEEP, REPLACE, APPEND_OR_REPLACE }

/**
 * How the waits of a work grow that asks for another try.
 * https://developer.android.com/reference/androidx/work/BackoffPolicy
 */
enum class Backoff {
    LINEAR, EXPONENTIAL;

    /**
     * Between 10 s and 5 h, whatever was asked for.
     * https://developer.android.com/reference/androidx/work/WorkRequest (MIN_ and MAX_BACKOFF_MILLIS)
     */
    fun wait(first: Duration, attempts: Int): Duration {
        val from = first.coerceIn(LEAST, MOST)
        val grown = when (this) {
            LINEAR -> from.multipliedBy(attempts.toLong())
            EXPONENTIAL -> from.multipliedBy(1L shl (attempts - 1).coerceAtMost(20))
        }
        return grown.coerceIn(LEAST, MOST)
    }

    private companion object {
        val LEAST: Duration = Duration.ofSeconds(10)
        val MOST: Duration = Duration.ofHours(5)
    }
}

/** The networks of a device. */
enum class DeviceNetwork { NONE, METERED, UNMETERED }

/**
 * The network that a work needs. https://developer.android.com/reference/androidx/work/NetworkType
 */
enum class NeededNetwork {
    CONNECTED, UNMETERED;

    fun isMetBy(network: DeviceNetwork): Boolean = when (this) {
        CONNECTED -> network != DeviceNetwork.NONE
        UNMETERED -> network == DeviceNetwork.UNMETERED
    }
}

/** A work as it is asked for. The default backoff is that of WorkRequest. */
data class WorkRequest(
    val job: String,
    val needs: NeededNetwork = NeededNetwork.CONNECTED,
    val delay: Duration = Duration.ZERO,
    val backoff: Backoff = Backoff.EXPONENTIAL,
    val backoffFirst: Duration = Duration.ofSeconds(30),
) : Serializable

/** A work as it is kept. */
data class Work(
    val id: Int,
    val name: String,
    val request: WorkRequest,
    val state: WorkState,
    val notBefore: Instant,
    val after: Set<Int> = emptySet(),
    val attempts: Int = 0,
    val startedAt: Instant? = null,
) : Serializable
