// A compile-only stub, with signatures from the public reference. Never shipped, never run:
// an app brings the real androidx.work.

package androidx.work;

import android.content.Context;
import com.google.common.util.concurrent.ListenableFuture;

/**
 * https://developer.android.com/reference/androidx/work/ListenableWorker
 *
 * <p>In Java, as the real one is: its results come from static methods.
 */
public abstract class ListenableWorker {
    public ListenableWorker(Context appContext, WorkerParameters workerParams) {
    }

    public final Context getApplicationContext() {
        throw new UnsupportedOperationException();
    }

    public final Data getInputData() {
        throw new UnsupportedOperationException();
    }

    public abstract ListenableFuture<Result> startWork();

    /** https://developer.android.com/reference/androidx/work/ListenableWorker.Result */
    public abstract static class Result {
        Result() {
        }

        public static Result success() {
            throw new UnsupportedOperationException();
        }

        public static Result retry() {
            throw new UnsupportedOperationException();
        }
    }
}
