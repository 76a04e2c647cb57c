// A compile-only stub, with signatures from the public reference. Never shipped, never run:
// an app brings the real androidx.work.

package androidx.work

import java.time.Duration

/** https://developer.android.com/reference/kotlin/androidx/work/WorkRequest */
public abstract class WorkRequest internal constructor() {
    /** https://developer.android.com/reference/kotlin/androidx/work/WorkRequest.Builder */
    public abstract class Builder<B : Builder<B, *>, W : WorkRequest> internal constructor() {
        public fun setBackoffCriteria(backoffPolicy: BackoffPolicy, duration: Duration): B = stub()

        public fun setConstraints(constraints: Constraints): B = stub()

        public fun setInputData(inputData: Data): B = stub()

        public fun addTag(tag: String): B = stub()

        public open fun setInitialDelay(duration: Duration): B = stub()

        public open fun setExpedited(policy: OutOfQuotaPolicy): B = stub()

        public fun build(): W = stub()
    }

    public companion object {
        public const val MIN_BACKOFF_MILLIS: Long = 10_000L
    }
}
