// A compile-only stub, with signatures from the public reference. Never shipped, never run:
// an app brings the real androidx.work.

package androidx.work

import com.google.common.util.concurrent.ListenableFuture

/** https://developer.android.com/reference/kotlin/androidx/work/Operation */
public interface Operation {
    public val result: ListenableFuture<State.SUCCESS>

    public abstract class State internal constructor() {
        public class SUCCESS private constructor() : State()
    }
}
