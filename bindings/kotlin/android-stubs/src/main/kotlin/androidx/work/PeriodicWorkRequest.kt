// A compile-only stub, with signatures from the public reference. Never shipped, never run:
// an app brings the real androidx.work.

package androidx.work

import java.time.Duration

/** https://developer.android.com/reference/kotlin/androidx/work/PeriodicWorkRequest */
public class PeriodicWorkRequest internal constructor() : WorkRequest() {
    /** https://developer.android.com/reference/kotlin/androidx/work/PeriodicWorkRequest.Builder */
    public class Builder(workerClass: Class<out ListenableWorker>, repeatInterval: Duration) :
        WorkRequest.Builder<Builder, PeriodicWorkRequest>()
}
