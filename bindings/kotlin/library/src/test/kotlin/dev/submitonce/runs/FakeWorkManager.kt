package dev.submitonce.runs

import dev.submitonce.RunResult
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.update
import kotlinx.coroutines.job
import kotlinx.coroutines.joinAll
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import kotlinx.coroutines.yield
import java.io.Closeable
import java.io.File
import java.io.ObjectInputStream
import java.io.ObjectOutputStream
import java.nio.file.Files
import java.nio.file.StandardCopyOption.ATOMIC_MOVE
import java.time.Duration
import java.time.Instant

/**
 * Behaves as WorkManager is documented, on a clock of its own that moves only when it is told to.
 * Each rule names its page: of the reference, or of the guide at
 * https://developer.android.com/develop/background-work/background-tasks/persistent
 * Where a page leaves a choice, this one takes what is worst for the app: a stopped work runs again at
 * once, beside the stopped run if that hasn't returned.
 *
 * It is kept in a file: another process, or the next one, goes on with it.
 */
class FakeWorkManager(
    private val file: File,
    private val worker: suspend (Work) -> RunResult,
) : Closeable {
    private val scope = CoroutineScope(SupervisorJob() + Dispatchers.Default)
    private val changes = MutableStateFlow(0L)
    private val runs = mutableMapOf<Int, Job>()
    private val stopped = mutableListOf<Job>()
    private var kept = load()
    private var lastId = kept.maxOfOrNull { it.id } ?: 0
    private val started = mutableListOf<String>()

    var now: Instant = Instant.now()
        private set

    var network = DeviceNetwork.NONE
        private set

    val works: List<Work> get() = synchronized(this) { kept }

    /** The unique names of all works that were begun in this process, in order. */
    val begun: List<String> get() = synchronized(this) { started.toList() }

    /** Works that aren't finished, of this unique name or of all. */
    fun pending(name: String? = null): List<Work> =
        works.filter { !it.state.isFinished && (name == null || it.name == name) }

    /**
     * A work by its unique name.
     * Guide: how-to/manage-work
     */
    suspend fun enqueueUnique(name: String, policy: WorkPolicy, request: WorkRequest) = operation {
        val unfinished = kept.filter { it.name == name && !it.state.isFinished }
        when (policy) {
            WorkPolicy.KEEP -> if (unfinished.isEmpty()) insert(name, request, emptyList())
            WorkPolicy.REPLACE -> {
                cancelAll(unfinished)
                insert(name, request, emptyList())
            }
            // A child of the leaves; what has failed or was cancelled is dropped, and a new chain begun.
            WorkPolicy.APPEND_OR_REPLACE -> {
                val parents = unfinished.flatMap { it.after }.toSet()
                insert(name, request, unfinished.filter { it.id !in parents })
            }
        }
    }

    /**
     * Unfinished works of the name end as cancelled, and what runs is stopped.
     * Guide: how-to/manage-work#cancelling
     */
    suspend fun cancelUnique(name: String) = operation {
        cancelAll(kept.filter { it.name == name && !it.state.isFinished })
    }

    /**
     * A work that runs is stopped when its constraint isn't met any more, and runs again when it is
     * ("Work constraints").
     * Guide: getting-started/define-work
     */
    @Synchronized
    fun setNetwork(now: DeviceNetwork) {
        network = now
        kept.filter { it.state == WorkState.RUNNING && !it.request.needs.isMetBy(now) }.forEach { stop(it) }
        changed()
    }

    /**
     * Time passes. After ten minutes a work is stopped, and run again.
     * https://developer.android.com/reference/androidx/work/ListenableWorker
     */
    @Synchronized
    fun pass(time: Duration) {
        now += time
        kept.filter { it.state == WorkState.RUNNING && it.startedAt!! + MOST_TIME <= now }.forEach { stop(it) }
        changed()
    }

    /** Waits until nothing runs and nothing could start. */
    suspend fun idle() = awaits { all -> all.none { it.state == WorkState.RUNNING || isReady(it) } }

    /** Waits until the works are like this. */
    suspend fun awaits(condition: (List<Work>) -> Boolean) {
        withTimeout(PATIENCE.toMillis()) { changes.first { synchronized(this@FakeWorkManager) { condition(kept) } } }
    }

    /** Waits until the runs that were stopped have returned. */
    suspend fun gone() = synchronized(this) { stopped.toList() }.joinAll()

    /** The process ends: whatever ran stays as running in the file, for the next one to run again. */
    override fun close() = runBlocking {
        withTimeout(PATIENCE.toMillis()) { scope.coroutineContext.job.cancelAndJoin() }
    }

    private suspend fun operation(change: () -> Unit) {
        // The answer comes from another thread, and once the change is kept.
        yield()
        synchronized(this) {
            change()
            changed()
        }
    }

    private fun insert(name: String, request: WorkRequest, after: List<Work>) {
        val blocked = after.isNotEmpty()
        if (!blocked) {
            // Finished works of the name are forgotten. WorkManager keeps their records for a while,
            // and says only that it prunes them some day: nothing may depend on them, or on their going.
            // https://developer.android.com/reference/androidx/work/WorkManager (pruneWork)
            kept = kept.filter { it.name != name }
        }
        kept = kept + Work(
            id = ++lastId,
            name = name,
            request = request,
            state = if (blocked) WorkState.BLOCKED else WorkState.ENQUEUED,
            notBefore = now + request.delay,
            after = after.map { it.id }.toSet(),
        )
    }

    private fun cancelAll(works: List<Work>) = works.forEach { stop(it, WorkState.CANCELLED) }

    /** The result of a stopped run is ignored: nobody asks for it any more. */
    private fun stop(work: Work, next: WorkState = WorkState.ENQUEUED) {
        set(work.copy(state = next))
        runs.remove(work.id)?.let {
            it.cancel()
            stopped += it
        }
    }

    private fun isReady(work: Work) =
        work.state == WorkState.ENQUEUED && work.notBefore <= now && work.request.needs.isMetBy(network)

    /** Called with the lock, after each change. */
    private fun changed() {
        val ready = kept.filter(::isReady)
        val started = ready.map { it.copy(state = WorkState.RUNNING, attempts = it.attempts + 1, startedAt = now) }
        started.forEach(::set)
        save()
        started.forEach(::start)
        changes.update { it + 1 }
    }

    private fun start(work: Work) {
        val run = scope.launch(start = CoroutineStart.LAZY) {
            val result = try {
                worker(work)
            } catch (_: Throwable) {
                // One that was stopped has ended as such. One that cancels itself has failed.
                currentCoroutineContext().ensureActive()
                null
            }
            ended(work.id, coroutineContext[Job], result)
        }
        runs[work.id] = run
        started += work.name
        run.start()
    }

    @Synchronized
    private fun ended(id: Int, run: Job?, result: RunResult?) {
        if (runs[id] !== run) {
            return
        }
        runs.remove(id)
        val work = kept.first { it.id == id }
        when (result) {
            RunResult.SUCCESS -> set(work.copy(state = WorkState.SUCCEEDED))
            // "Retry and backoff policy":
            // Guide: getting-started/define-work
            RunResult.RETRY -> {
                val wait = work.request.backoff.wait(work.request.backoffFirst, work.attempts)
                set(work.copy(state = WorkState.ENQUEUED, notBefore = now + wait))
            }
            // What a worker throws is a failure, and takes with it all that waits behind it.
            null -> fail(work)
        }
        unblock()
        changed()
    }

    private fun fail(work: Work) {
        set(work.copy(state = WorkState.FAILED))
        kept.filter { work.id in it.after && !it.state.isFinished }.forEach(::fail)
    }

    /**
     * A work runs once all before it have succeeded.
     * Guide: how-to/chain-work
     */
    private fun unblock() {
        val done = kept.filter { it.state == WorkState.SUCCEEDED }.map { it.id }
        kept.filter { it.state == WorkState.BLOCKED && done.containsAll(it.after) }
            .forEach { set(it.copy(state = WorkState.ENQUEUED)) }
    }

    private fun set(work: Work) {
        kept = kept.map { if (it.id == work.id) work else it }
    }

    private fun save() {
        val next = File("$file.new")
        next.outputStream().use { out -> ObjectOutputStream(out).writeObject(ArrayList(kept)) }
        Files.move(next.toPath(), file.toPath(), ATOMIC_MOVE)
    }

    /**
     * Works survive the end of their process; those that ran are run again.
     * Guide: the first page
     */
    private fun load(): List<Work> {
        if (!file.exists()) {
            return emptyList()
        }
        @Suppress("UNCHECKED_CAST")
        val read = file.inputStream().use { ObjectInputStream(it).readObject() } as List<Work>
        return read.map { if (it.state == WorkState.RUNNING) it.copy(state = WorkState.ENQUEUED) else it }
    }

    private companion object {
        val MOST_TIME: Duration = Duration.ofMinutes(10)
        val PATIENCE: Duration = Duration.ofSeconds(30)
    }
}
