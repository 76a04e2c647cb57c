package dev.submitonce.runs

import dev.submitonce.Body
import dev.submitonce.CredentialsProvider
import dev.submitonce.DrainPlan
import dev.submitonce.Limits
import dev.submitonce.Outbox
import dev.submitonce.ReferenceServer
import dev.submitonce.RunJob
import dev.submitonce.RunResult
import dev.submitonce.RunScheduler
import dev.submitonce.Snapshot
import dev.submitonce.Submission
import dev.submitonce.SubmissionId
import dev.submitonce.SubmissionState
import dev.submitonce.defaultLimits
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import kotlinx.coroutines.withTimeout
import java.io.Closeable
import java.io.File
import java.time.Duration
import java.util.UUID
import java.util.concurrent.CopyOnWriteArrayList

/** An app as its system sees it: an outbox, the works that it orders, and a server that counts. */
class Stage(
    private val folder: File,
    private val url: String,
    scheduling: (FakeWorkManager) -> RunScheduler = ::FakeScheduler,
) : Closeable {
    val works = FakeWorkManager(File(folder, "works"), ::work)
    val scheduler = scheduling(works)
    val problems = CopyOnWriteArrayList<Throwable>()

    /** Why no run can open the outbox now. */
    @Volatile
    var trouble: Exception? = null
    var runTime: Duration = Duration.ofSeconds(60)

    /** Asked by the outboxes that are opened from now on. */
    var credentials: CredentialsProvider? = null

    // Opening may start a work, which then waits until it is open.
    private val opening = Mutex()
    lateinit var outbox: Outbox
        private set

    suspend fun open(limits: Limits = quick): Stage = opening.withLock {
        outbox = Outbox.open(
            File(folder, "outbox.sqlite3"),
            baseUrl = url,
            limits = limits,
            credentials = credentials,
            scheduler = scheduler,
            onCallbackError = problems::add,
        )
        this
    }

    /** What `OutboxWorker` does. */
    private suspend fun work(work: Work): RunResult =
        DrainPlan.runOn(scheduler, problems::add, { trouble?.let { throw it } ?: opening.withLock { outbox } }) {
            run(RunJob.valueOf(work.request.job), time = runTime)
        }

    suspend fun order(path: String = "/orders", unmeteredOnly: Boolean = false, account: String? = null): UUID {
        val id = SubmissionId.new()
        outbox.submit(
            Submission(id, "$path?id=$id", Body.Json("{}"), unmeteredOnly = unmeteredOnly, account = account),
        )
        return id
    }

    suspend fun state(id: UUID): SubmissionState = outbox.snapshot(id).state

    /** Waits, by the outbox's own nudges, until the submission is like this. */
    suspend fun awaits(id: UUID, condition: (Snapshot) -> Boolean): Snapshot =
        withTimeout(30_000) { outbox.observe(id).first(condition) }

    override fun close() {
        works.close()
        outbox.close()
    }

    companion object {
        /** No wait of the core's own; its clock is real. */
        val quick: Limits = defaultLimits().copy(
            backoffFirst = Duration.ofMillis(1),
            backoffMost = Duration.ofMillis(1),
            quietTime = Duration.ZERO,
        )

        /** A failure is repeated in an hour or more. */
        val slow: Limits = quick.copy(backoffFirst = Duration.ofHours(1), backoffMost = Duration.ofHours(1))
    }
}

/** A server of its own for each test. */
suspend fun onStage(
    folder: File,
    limits: Limits = Stage.quick,
    scheduling: (FakeWorkManager) -> RunScheduler = ::FakeScheduler,
    test: suspend Stage.(ReferenceServer) -> Unit,
) {
    ReferenceServer.start().use { server ->
        Stage(folder, server.url, scheduling).open(limits).use { stage ->
            // What is waited for in vain is a failure, not a hang.
            withTimeout(60_000) { stage.test(server) }
        }
    }
}
