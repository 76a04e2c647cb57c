// A compile-only stub, with signatures from the public reference. Never shipped, never run:
// an app brings the real androidx.work.

package androidx.work;

import android.content.Context;
import com.google.common.util.concurrent.ListenableFuture;
import java.util.List;

/**
 * https://developer.android.com/reference/androidx/work/WorkManager
 *
 * <p>In Java, so that a call of getInstance is one of a static method: every version has that.
 */
public abstract class WorkManager {
    WorkManager() {
    }

    public static WorkManager getInstance(Context context) {
        throw new UnsupportedOperationException();
    }

    public Operation enqueueUniqueWork(
            String uniqueWorkName, ExistingWorkPolicy existingWorkPolicy, OneTimeWorkRequest request) {
        throw new UnsupportedOperationException();
    }

    public abstract Operation enqueueUniquePeriodicWork(
            String uniqueWorkName, ExistingPeriodicWorkPolicy existingPeriodicWorkPolicy, PeriodicWorkRequest request);

    public abstract Operation cancelUniqueWork(String uniqueWorkName);

    public abstract ListenableFuture<List<WorkInfo>> getWorkInfos(WorkQuery workQuery);
}
