package dev.submitonce.runs

import dev.submitonce.IfUnfinished
import dev.submitonce.RunJob
import dev.submitonce.RunNetwork
import dev.submitonce.RunScheduler
import dev.submitonce.UniqueJobScheduler
import dev.submitonce.UniqueJobs
import java.time.Duration

/** What the Android source set's `WorkManagerJobs` does with WorkManager, done with the fake of it. */
class FakeJobs(private val works: FakeWorkManager) : UniqueJobs {
    override suspend fun isWaiting(job: RunJob): Boolean =
        works.pending(job.name).any { it.state != WorkState.RUNNING }

    override suspend fun enqueue(job: RunJob, ifUnfinished: IfUnfinished, delay: Duration) {
        val policy = when (ifUnfinished) {
            IfUnfinished.KEEP -> WorkPolicy.KEEP
            IfUnfinished.REPLACE -> WorkPolicy.REPLACE
            IfUnfinished.APPEND -> WorkPolicy.APPEND_OR_REPLACE
        }
        val needs = when (job.network) {
            RunNetwork.ANY -> NeededNetwork.CONNECTED
            RunNetwork.UNMETERED -> NeededNetwork.UNMETERED
        }
        val request = WorkRequest(job.name, needs, delay, Backoff.LINEAR, Duration.ofSeconds(10))
        works.enqueueUnique(job.name, policy, request)
    }

    override suspend fun cancel(job: RunJob) = works.cancelUnique(job.name)
}

/** For a test to stand in the way of. */
open class FakeScheduler(works: FakeWorkManager) : RunScheduler by UniqueJobScheduler(FakeJobs(works)) {
    companion object {
        val ANY = RunJob.ANY.name
        val UNMETERED = RunJob.UNMETERED.name
        val LATER = RunJob.LATER.name
    }
}
