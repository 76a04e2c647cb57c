// A compile-only stub, with signatures from the public reference. Never shipped, never run:
// an app brings the real androidx.work.

package androidx.work

/** https://developer.android.com/reference/kotlin/androidx/work/OneTimeWorkRequest */
public class OneTimeWorkRequest internal constructor() : WorkRequest() {
    /** https://developer.android.com/reference/kotlin/androidx/work/OneTimeWorkRequest.Builder */
    public class Builder(workerClass: Class<out ListenableWorker>) :
        WorkRequest.Builder<Builder, OneTimeWorkRequest>()
}
