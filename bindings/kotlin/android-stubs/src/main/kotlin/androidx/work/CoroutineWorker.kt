// A compile-only stub, with signatures from the public reference. Never shipped, never run:
// an app brings the real androidx.work.

package androidx.work

import android.content.Context
import com.google.common.util.concurrent.ListenableFuture

/** https://developer.android.com/reference/kotlin/androidx/work/CoroutineWorker */
public abstract class CoroutineWorker(appContext: Context, params: WorkerParameters) :
    ListenableWorker(appContext, params) {
    public final override fun startWork(): ListenableFuture<Result> = stub()

    public abstract suspend fun doWork(): Result
}
