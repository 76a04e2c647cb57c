package dev.submitonce.sample

import android.content.Context
import androidx.work.CoroutineWorker
import androidx.work.ExistingPeriodicWorkPolicy
import androidx.work.PeriodicWorkRequest
import androidx.work.WorkManager
import androidx.work.WorkerParameters
import dev.submitonce.Once
import dev.submitonce.android.SubmitOnce
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.withContext
import java.time.Duration
import java.time.LocalDate

/**
 * Runs some times a day. It only says what is to be done: what goes to the server is delivered by the
 * library's own worker, so that this one needs no network.
 */
class ChoresWorker(context: Context, parameters: WorkerParameters) : CoroutineWorker(context, parameters) {
    override suspend fun doWork(): Result {
        val settings = ServerAddress(applicationContext)
        val chores = Chores(SubmitOnce.outbox(applicationContext)) { settings.url }
        chores.refreshPrices()
        val cleaned = chores.cleanCache(LocalDate.now()) {
            withContext(Dispatchers.IO) { applicationContext.cacheDir.listFiles().orEmpty().forEach { it.deleteRecursively() } }
        }
        return when (cleaned) {
            is Once.Ran -> Result.success().also { chores.log(Event.CACHE_CLEANED) }
            is Once.Before -> Result.success()
            // An earlier run of today is at it still.
            is Once.Busy, is Once.Uncertain -> Result.retry()
        }
    }

    companion object {
        /** May be called at each start: the work that is there stays. */
        fun schedule(context: Context) {
            val request = PeriodicWorkRequest.Builder(ChoresWorker::class.java, Duration.ofHours(6)).build()
            WorkManager.getInstance(context)
                .enqueueUniquePeriodicWork("chores", ExistingPeriodicWorkPolicy.KEEP, request)
        }
    }
}
