package dev.submitonce.android

import android.content.Context
import android.os.Build
import androidx.work.BackoffPolicy
import androidx.work.Constraints
import androidx.work.ExistingWorkPolicy
import androidx.work.NetworkType
import androidx.work.OneTimeWorkRequest
import androidx.work.OutOfQuotaPolicy
import androidx.work.WorkInfo
import androidx.work.WorkManager
import androidx.work.WorkQuery
import androidx.work.WorkRequest
import com.google.common.util.concurrent.ListenableFuture
import dev.submitonce.IfUnfinished
import dev.submitonce.RunJob
import dev.submitonce.RunNetwork
import dev.submitonce.RunScheduler
import dev.submitonce.UniqueJobScheduler
import dev.submitonce.UniqueJobs
import kotlinx.coroutines.suspendCancellableCoroutine
import java.time.Duration
import java.util.concurrent.CancellationException
import java.util.concurrent.ExecutionException
import java.util.concurrent.Executor
import kotlin.coroutines.resume
import kotlin.coroutines.resumeWithException

/** Background runs by WorkManager, for the outbox that is registered under this name. */
internal fun workManagerScheduler(context: Context, outbox: String, expedited: Boolean = false): RunScheduler =
    UniqueJobScheduler(WorkManagerJobs(context, outbox, expedited))

/** The jobs of an outbox as unique works. WorkManager keeps their names: they don't change with versions. */
private class WorkManagerJobs(
    private val context: Context,
    private val outbox: String,
    private val expedited: Boolean,
) : UniqueJobs {
    private val works get() = WorkManager.getInstance(context)

    // WorkManager keeps works of a name that have ended, a day's runs or more: they aren't read.
    override suspend fun isWaiting(job: RunJob): Boolean {
        val waiting = WorkQuery.Builder.fromUniqueWorkNames(listOf(nameOf(job)))
            .addStates(listOf(WorkInfo.State.ENQUEUED, WorkInfo.State.BLOCKED))
            .build()
        return works.getWorkInfos(waiting).await().isNotEmpty()
    }

    override suspend fun enqueue(job: RunJob, ifUnfinished: IfUnfinished, delay: Duration) {
        val policy = when (ifUnfinished) {
            IfUnfinished.KEEP -> ExistingWorkPolicy.KEEP
            IfUnfinished.REPLACE -> ExistingWorkPolicy.REPLACE
            IfUnfinished.APPEND -> ExistingWorkPolicy.APPEND_OR_REPLACE
        }
        // Until WorkManager has written it.
        works.enqueueUniqueWork(nameOf(job), policy, request(job, delay)).result.await()
    }

    override suspend fun cancel(job: RunJob) {
        works.cancelUniqueWork(nameOf(job)).result.await()
    }

    private fun request(job: RunJob, delay: Duration): OneTimeWorkRequest {
        val network = when (job.network) {
            RunNetwork.ANY -> NetworkType.CONNECTED
            RunNetwork.UNMETERED -> NetworkType.UNMETERED
        }
        val request = OneTimeWorkRequest.Builder(OutboxWorker::class.java)
            .setConstraints(Constraints.Builder().setRequiredNetworkType(network).build())
            .setInputData(OutboxWorker.input(outbox, job))
            .setBackoffCriteria(BackoffPolicy.LINEAR, Duration.ofMillis(WorkRequest.MIN_BACKOFF_MILLIS))
            .addTag(TAG)
        if (job == RunJob.LATER) {
            request.setInitialDelay(delay)
        } else if (expedited && Build.VERSION.SDK_INT >= Build.VERSION_CODES.S) {
            // Before Android 12 it would take a foreground service and a notification. A delayed work
            // can't be expedited.
            request.setExpedited(OutOfQuotaPolicy.RUN_AS_NON_EXPEDITED_WORK_REQUEST)
        }
        return request.build()
    }

    private fun nameOf(job: RunJob) = "$TAG/$outbox/${job.id}"

    private companion object {
        const val TAG = "dev.submitonce"
    }
}

private suspend fun <T> ListenableFuture<T>.await(): T = suspendCancellableCoroutine { waiting ->
    addListener(
        {
            try {
                waiting.resume(get())
            } catch (failed: ExecutionException) {
                waiting.resumeWithException(failed.cause ?: failed)
            } catch (cancelled: CancellationException) {
                waiting.cancel(cancelled)
            }
        },
        Executor { it.run() },
    )
}
