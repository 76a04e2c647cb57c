package dev.submitonce.android

import android.content.Context
import androidx.work.CoroutineWorker
import androidx.work.Data
import androidx.work.WorkerParameters
import dev.submitonce.DrainPlan
import dev.submitonce.RunJob
import dev.submitonce.RunResult

/**
 * A background run. It decides nothing: [DrainPlan] does.
 *
 * WorkManager keeps its name with each work: it doesn't change with versions.
 */
public class OutboxWorker(context: Context, parameters: WorkerParameters) : CoroutineWorker(context, parameters) {
    override suspend fun doWork(): Result {
        val name = inputData.getString(OUTBOX) ?: SubmitOnce.DEFAULT_NAME
        val job = RunJob.entries.firstOrNull { it.id == inputData.getString(JOB) } ?: RunJob.ANY
        val scheduler = workManagerScheduler(applicationContext, name)
        val result = DrainPlan.runOn(scheduler, ::log, { SubmitOnce.outbox(applicationContext, name) }) {
            run(job, networkNow(applicationContext))
        }
        return when (result) {
            RunResult.SUCCESS -> Result.success()
            RunResult.RETRY -> Result.retry()
        }
    }

    internal companion object {
        private const val OUTBOX = "outbox"
        private const val JOB = "job"

        fun input(outbox: String, job: RunJob): Data =
            Data.Builder().putString(OUTBOX, outbox).putString(JOB, job.id).build()
    }
}

/** As WorkManager keeps it; not the name of the constant, which shrinking may change. */
internal val RunJob.id: String
    get() = when (this) {
        RunJob.ANY -> "any"
        RunJob.UNMETERED -> "unmetered"
        RunJob.LATER -> "later"
    }
