// A compile-only stub, with signatures from the public reference. Never shipped, never run:
// an app brings the real androidx.work.

package androidx.work

/** https://developer.android.com/reference/kotlin/androidx/work/WorkInfo */
public class WorkInfo private constructor() {
    public val state: State get() = stub()

    public enum class State {
        ENQUEUED, RUNNING, SUCCEEDED, FAILED, BLOCKED, CANCELLED;

        public val isFinished: Boolean get() = stub()
    }
}
