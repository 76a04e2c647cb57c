// A compile-only stub, with signatures from the public reference. Never shipped, never run:
// an app brings the real androidx.work.

package androidx.work

/** https://developer.android.com/reference/kotlin/androidx/work/ExistingWorkPolicy */
public enum class ExistingWorkPolicy { REPLACE, KEEP, APPEND, APPEND_OR_REPLACE }

/** https://developer.android.com/reference/kotlin/androidx/work/ExistingPeriodicWorkPolicy */
public enum class ExistingPeriodicWorkPolicy { REPLACE, KEEP, UPDATE, CANCEL_AND_REENQUEUE }

/** https://developer.android.com/reference/kotlin/androidx/work/NetworkType */
public enum class NetworkType { NOT_REQUIRED, CONNECTED, UNMETERED, NOT_ROAMING, METERED, TEMPORARILY_UNMETERED }

/** https://developer.android.com/reference/kotlin/androidx/work/BackoffPolicy */
public enum class BackoffPolicy { EXPONENTIAL, LINEAR }

/** https://developer.android.com/reference/kotlin/androidx/work/OutOfQuotaPolicy */
public enum class OutOfQuotaPolicy { RUN_AS_NON_EXPEDITED_WORK_REQUEST, DROP_WORK_REQUEST }

internal fun stub(): Nothing = throw UnsupportedOperationException("a stub, to compile against only")
