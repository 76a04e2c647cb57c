// A compile-only stub, with signatures from the public reference. Never shipped, never run:
// an app brings the real androidx.work.

package androidx.work

/** https://developer.android.com/reference/kotlin/androidx/work/Data */
public class Data private constructor() {
    public fun getString(key: String): String? = stub()

    /** https://developer.android.com/reference/kotlin/androidx/work/Data.Builder */
    public class Builder {
        public fun putString(key: String, value: String?): Builder = stub()

        public fun build(): Data = stub()
    }
}
