// A compile-only stub, with signatures from the public reference. Never shipped, never run:
// an app brings the real androidx.work.

package androidx.work

/** https://developer.android.com/reference/kotlin/androidx/work/WorkerParameters */
public class WorkerParameters private constructor()
