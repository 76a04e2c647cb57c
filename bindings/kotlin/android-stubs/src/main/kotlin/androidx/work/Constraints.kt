// A compile-only stub, with signatures from the public reference. Never shipped, never run:
// an app brings the real androidx.work.

package androidx.work

/** https://developer.android.com/reference/kotlin/androidx/work/Constraints */
public class Constraints private constructor() {
    /** https://developer.android.com/reference/kotlin/androidx/work/Constraints.Builder */
    public class Builder {
        public fun setRequiredNetworkType(networkType: NetworkType): Builder = stub()

        public fun build(): Constraints = stub()
    }
}
