package dev.submitonce

import dev.submitonce.internal.CredentialsListener
import dev.submitonce.internal.DrainBudget
import dev.submitonce.internal.OutboxConfig
import dev.submitonce.internal.PageRequest
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.CoroutineExceptionHandler
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.cancel
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.buffer
import kotlinx.coroutines.flow.flowOn
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import java.io.Closeable
import java.io.File
import java.time.Duration
import java.time.Instant
import java.util.UUID
import java.util.concurrent.atomic.AtomicBoolean
import dev.submitonce.internal.Outbox as RawOutbox

/**
 * A durable outbox: submissions go in once, and come out settled.
 *
 * Open one per database and keep it as long as the process lives. It may be used from any number of
 * coroutines and threads; two outboxes of one path in a process share everything.
 *
 * Functions that touch the disk suspend, and do so on the dispatcher that the outbox was opened with.
 * A coroutine that is cancelled while one runs ends without its result once it is through, within
 * milliseconds mostly: a submission whose receipt nobody got is stored all the same, and submitting it
 * again joins it. [wait], [drain] and the flows stop at once.
 *
 * All functions throw [SubmitOnceException]; after [close], [SubmitOnceException.Closed].
 */
public class Outbox private constructor(
    internal val raw: RawOutbox,
    private val dispatcher: CoroutineDispatcher,
    scheduler: RunScheduler?,
    onCallbackError: (Throwable) -> Unit,
) : Closeable {
    private val closed = AtomicBoolean()
    private val tell = onCallbackError.neverThrowing()

    // What nothing else catches would end the app.
    private val scope = CoroutineScope(SupervisorJob() + dispatcher + CoroutineExceptionHandler { _, it -> tell(it) })
    private val observing = Observing(raw)

    private val runs = Runs(raw, scheduler, dispatcher, tell)

    /** What background runs do. Null without a scheduler. */
    public val plan: DrainPlan? = scheduler?.let { DrainPlan(this, runs, it, Instant::now) }

    /** Once-records for effects on this side. */
    public val inbox: Inbox = Inbox(raw.inbox(), this)

    /** What opening found and did. */
    public val openReport: OpenReport = raw.openReport()

    /**
     * The ID of an intent, for example "new-order-form": the same one after rotation, process death
     * and "back and try again", until its submission is settled or the slot is discarded. Slots are
     * those of the account that is signed in.
     */
    public suspend fun begin(slot: String): UUID = call { raw.begin(slot.carried("slot")) }

    /** Forgets a slot, so that [begin] gives a new ID. What was submitted goes on. */
    public suspend fun discard(slot: String): Unit = call { raw.discard(slot.carried("slot")) }

    /**
     * Takes a submission over. Durable when it returns: it survives the end of the process and a loss
     * of power. A repeat of the same submission is met, not stored again, so that a button may call
     * this as often as it is tapped.
     *
     * @throws SubmitOnceException.KeyReused if the ID belongs to another submission. Others say what
     *   to mend. Nothing is stored then.
     */
    public suspend fun submit(submission: Submission): Receipt = call {
        val receipt = raw.submit(submission.lowered())
        runs.accepted(submission.unmeteredOnly, receipt.runRequested)
        receipt.lifted()
    }

    /** Takes several submissions over, all or none, in one transaction. */
    public suspend fun submitAll(submissions: List<Submission>): List<Receipt> = call {
        val receipts = raw.submitAll(submissions.map { it.lowered() })
        submissions.zip(receipts).forEach { (submission, it) -> runs.accepted(submission.unmeteredOnly, it.runRequested) }
        receipts.map { it.lifted() }
    }

    /**
     * Where small records are gathered, to be sent in batches.
     *
     * @throws SubmitOnceException.Invalid and others, as [submit] does for the request that the
     *   configuration makes.
     */
    public fun batch(config: BatchConfig): Batch =
        translated { Batch(raw.batch(config.lowered()), this, runs, config.unmeteredOnly) }

    /**
     * The latest value of a latest-wins key whose submissions are `GET`s without an effect: the result of
     * the newest that succeeded. It stays until a newer one succeeds: a failure never removes it, and
     * neither does retention. A submission that is accepted while there is one asks only whether it has
     * changed, and succeeds with a 304 if it hasn't.
     *
     * @param account whose it is; null for nobody's.
     */
    public suspend fun current(key: String, account: String? = null): Fetched? =
        call { raw.current(account?.carried("account"), key.carried("key"))?.lifted() }

    /**
     * How a submission stands, with its result once it has one.
     *
     * @throws SubmitOnceException.UnknownId
     */
    public suspend fun snapshot(id: UUID): Snapshot = call { raw.snapshot(id).lifted() }

    /**
     * What the outbox knows of IDs that the app kept in a database of its own, for the app's start.
     * Null for one that was never submitted here: submit it again, with this ID.
     */
    public suspend fun reconcile(ids: Collection<UUID>): Map<UUID, Snapshot?> = call {
        raw.reconcile(ids.toList()).associate { it.id to it.snapshot?.lifted() }
    }

    /**
     * A part of the list of submissions, in the order of acceptance, the oldest first; 1 to 1,000 of
     * them at most. [Page.next] is where the next part starts: there may be one after a part that is
     * empty.
     */
    public suspend fun list(
        filter: ListFilter = ListFilter(),
        after: Long = 0,
        limit: Int = 100,
    ): Page = call {
        val page = raw.list(filter, PageRequest(after, limit.coerceAtLeast(0).toUInt()))
        Page(page.snapshots.map { it.lifted() }, page.next)
    }

    /**
     * Waits until a submission is settled or held, or the time is over. Resolves also if that happened
     * before, or in another process (noticed within a second). Cancelling stops the waiting at once,
     * and changes nothing else.
     *
     * @param timeout nothing, or less, is a look without waiting.
     * @throws SubmitOnceException.UnknownId
     */
    public suspend fun wait(id: UUID, timeout: Duration): Waited =
        waiting { raw.wait(id, timeout.coerceAtLeast(Duration.ZERO)).lifted() }

    /**
     * Delivers what is due, until nothing is or the time is over. For background runs; a foreground
     * app calls [start]. A second drain in the same process joins the first.
     *
     * Cancelling stops the waiting at once. The work goes on within its time, unless
     * [stopWhenCancelled]: then nothing more is begun for it, and what is on the wire comes to its end.
     */
    public suspend fun drain(time: Duration, stopWhenCancelled: Boolean = false): DrainReport =
        waiting { raw.drain(DrainBudget(time.coerceAtLeast(Duration.ZERO), stopWhenCancelled)).lifted() }

    /** Delivers in the foreground from now on, when things become due, until [suspendDelivery], [windDown] or [close]. */
    public suspend fun start(): Unit = call { raw.start() }

    /**
     * Stops and is quiet: when it returns, nothing is on the wire and no transaction is open. Requests
     * that may have left are in doubt then, and repeated later with the same key. [start] or [drain]
     * go on.
     */
    public suspend fun suspendDelivery(): Unit = call { raw.suspend() }

    /**
     * Begins nothing more, lets what is on the wire come to its end, for at most this long, and
     * suspends: to suspend at once would put requests in doubt. Cancelling suspends at once, and so
     * does [suspendDelivery]; [start] and [drain] end it, and delivery goes on.
     */
    public suspend fun windDown(time: Duration): WindDown =
        try {
            waiting { raw.windDown(time.coerceAtLeast(Duration.ZERO)) }
        } catch (cancelled: CancellationException) {
            // Out here, since the cancellation may come before the winding down has begun.
            withContext(NonCancellable) { suspendDelivery() }
            throw cancelled
        }

    /** Cancels a submission, and says honestly what that was worth. */
    public suspend fun cancel(id: UUID): CancelOutcome = call { raw.cancel(id).lifted() }

    /**
     * Decides a held submission.
     *
     * @param revision that of the snapshot that the decision is about.
     * @throws SubmitOnceException.Stale if it has changed since.
     */
    public suspend fun resolve(id: UUID, revision: Long, resolution: Resolution): Snapshot = call {
        val snapshot = raw.resolve(id, revision, resolution.lowered())
        runs.request(RunNetwork.ANY)
        snapshot.lifted()
    }

    /**
     * Decides everything that is held for a reason, one by one: what the decision can't be made for stays
     * held. Takes a transaction for every hundred or so.
     *
     * @throws SubmitOnceException.Storage what was decided before stays decided; call again.
     */
    public suspend fun resolveAll(reason: HoldReason, resolution: Resolution): ResolvedAll = call {
        val resolved = raw.resolveAll(reason, resolution.lowered())
        runs.request(RunNetwork.ANY)
        resolved.lifted()
    }

    /**
     * Lets a lane go on that stopped since one of its submissions was rejected or given up. True if it had
     * stopped.
     *
     * @param account whose lane it is; null for nobody's.
     */
    public suspend fun releaseLane(lane: String, account: String? = null): Boolean = call {
        val released = raw.releaseLane(account?.carried("account"), lane.carried("lane"))
        runs.request(RunNetwork.ANY)
        released
    }

    /**
     * Ends a backoff early: "try again now". Never shortens a server's wait or the quiet time, never
     * makes a second submission.
     */
    public suspend fun wake(id: UUID): Snapshot = call {
        val snapshot = raw.wake(id)
        runs.request(RunNetwork.ANY)
        snapshot.lifted()
    }

    /**
     * Signs an account in, and any other out. Which one is remembered; its credentials are not. What
     * others have submitted is kept and waits.
     */
    public suspend fun signIn(account: String): Unit = call {
        raw.signIn(account)
        runs.request(RunNetwork.ANY)
    }

    /**
     * Signs the account out and forgets its credentials. With [SignOut.KEEP], what it has submitted is
     * kept and waits for it to come back; requests that are on the wire come to their end. With
     * [SignOut.PURGE], everything of it ends and is deleted: requests on the wire are stopped, what is in
     * doubt is abandoned; only what recognises late duplicates stays. A purge that a kill interrupts goes
     * on at the next opening, and so does one that failed, if it isn't called again. What another process
     * has on the wire is stopped within a second if somebody observes there, else within half a minute.
     *
     * @throws SubmitOnceException.Storage with a purge, call again: it goes on, and counts all of it.
     */
    public suspend fun signOut(how: SignOut = SignOut.KEEP): SignedOutReport = call { raw.signOut(how).lifted() }

    /** The account that is signed in, here or by another process. */
    public suspend fun signedIn(): String? = call { raw.signedIn() }

    /**
     * Gives credentials without being asked, after a sign-in for example.
     *
     * @throws SubmitOnceException.NotSignedIn for another account than the one that is signed in.
     */
    public suspend fun supplyCredentials(account: String, credentials: Credentials): Unit = call {
        raw.supplyCredentials(account, credentials.headers, credentials.validUntil)
        runs.request(RunNetwork.ANY)
    }

    /** Tells what the system says of the network. A hint: nothing depends on its coming. */
    public suspend fun networkAvailable(kind: NetworkKind): Unit = call { raw.networkAvailable(kind) }

    /**
     * Numbers about the outbox. Costs a read of a few rows, at any length of the queue; waits for a commit
     * that is under way.
     */
    public suspend fun stats(): Stats = call { raw.stats() }

    /**
     * Drops what retention no longer keeps, one small step at a time. True if there may be more. An
     * idle outbox does it by itself. What isn't settled is never dropped.
     */
    public suspend fun retain(): Boolean = call { raw.retain() }

    /**
     * The states of one submission: how it stands, and each later state until the final one, which
     * ends the flow. A slow collector misses states in between, never the last.
     *
     * Ends with [SubmitOnceException.UnknownId] for an ID that [begin] gave and that wasn't submitted
     * yet: submit first.
     */
    public fun observe(id: UUID): Flow<Snapshot> = observing.one(id).newest()

    /**
     * The first [limit] entries of a list, the oldest first, and the same again after each change of
     * the outbox. What comes after them isn't told: a list that may be longer is read with [list], page
     * by page, after each of the [changes].
     */
    public fun observeList(filter: ListFilter = ListFilter(), limit: Int = 100): Flow<List<Snapshot>> =
        observing.list(filter, limit).newest()

    /**
     * The changes after a cursor (zero for the beginning), and those to come: each one, in order. Keep
     * the cursor of the last event that you have used up, and go on from it after a restart.
     */
    public fun changes(after: Long): Flow<FeedEvent> = observing.feed(after).flowOn(dispatcher)

    /**
     * How far large bodies (64 KiB and more) have come, some times a second. A slow collector gets the
     * latest of each submission.
     */
    public fun uploads(): Flow<UploadProgress> = observing.uploads().newest()

    /**
     * Stops what is on the wire, and closes the database, within some milliseconds. Calls under way
     * end with [SubmitOnceException.Closed], and so do later ones. Calling it again does nothing.
     */
    override fun close() {
        if (closed.compareAndSet(false, true)) {
            scope.cancel()
            raw.shutdown()
            observing.close()
            inbox.close()
            raw.close()
        }
    }

    private fun askForCredentials(provider: CredentialsProvider) {
        val desk = CredentialsDesk(raw, provider, scope, { runs.request(RunNetwork.ANY) }, tell)
        raw.setCredentialsListener(
            object : CredentialsListener {
                override fun credentialsNeeded(account: String, reason: CredentialsReason) {
                    desk.needed(account, reason)
                }
            },
        )
    }

    private fun follow(networks: Flow<NetworkKind>) {
        scope.launch {
            // A hint that is lost does no harm; without the others, nothing would be hastened any more.
            runs.reporting { networks.collect { kind -> runs.reporting { networkAvailable(kind) } } }
        }
    }

    /**
     * A call that touches the disk. It isn't interrupted when its coroutine is cancelled, so that what
     * belongs to a stored submission is done too.
     */
    internal suspend fun <T> call(block: suspend () -> T): T =
        withContext(dispatcher) {
            translated { withContext(NonCancellable) { block() } }
        }

    /**
     * A call that only waits. Away from the caller's dispatcher: an unconfined one would go on with
     * the caller's code on a thread that the core needs.
     */
    private suspend fun <T> waiting(block: suspend () -> T): T =
        withContext(dispatcher) { translated { block() } }

    /** The states of something, of which only the newest matters: at most one waits for the collector. */
    private fun <T> Flow<T>.newest(): Flow<T> = flowOn(dispatcher).buffer(Channel.RENDEZVOUS)

    public companion object {
        /**
         * Opens the database, makes it if there is none, and recovers what an earlier process left.
         * Nothing is sent before [start] or [drain].
         *
         * @param database the file, in a private folder of its own that is not backed up. Files that
         *   belong to it are put beside it.
         * @param baseUrl what paths of submissions are joined to, such as `https://api.example.com/v2`.
         * @param profile how the server treats keys. Left out: an `Idempotency-Key` header, remembered
         *   for 24 hours.
         * @param limits numbers to tune.
         * @param userAgent the `User-Agent` of requests that store none.
         * @param tls whom to trust, besides or instead of the bundled roots.
         * @param boot what identifies this boot of the device, where the host knows better than the
         *   system.
         * @param installId what identifies this installation, and is never restored with a backup: a
         *   copy of the database that came from another one is told by it, see [OpenReport].
         * @param inboxScopes how long the inbox's scopes remember, each at most once. A scope that isn't
         *   named keeps results for 30 days, and that they were done for 90 more.
         * @param credentials asked when an account's requests need credentials.
         * @param scheduler starts background runs.
         * @param networks what the system says of the network: collected until the outbox is closed, and
         *   told to it as by [networkAvailable].
         * @param dispatcher where calls that touch the disk run.
         * @param onCallbackError told of what the provider, the scheduler and [networks] threw. What it
         *   throws itself is ignored.
         * @throws SubmitOnceException.CannotOpen, [SubmitOnceException.Storage], and
         *   [SubmitOnceException.Invalid] for what can't even be handed over; nothing has been moved or
         *   deleted then.
         */
        public suspend fun open(
            database: File,
            baseUrl: String? = null,
            profile: ServerProfile? = null,
            limits: Limits? = null,
            userAgent: String? = null,
            tls: TlsConfig? = null,
            boot: String? = null,
            installId: String? = null,
            inboxScopes: List<InboxScope> = emptyList(),
            credentials: CredentialsProvider? = null,
            scheduler: RunScheduler? = null,
            networks: Flow<NetworkKind>? = null,
            dispatcher: CoroutineDispatcher = Dispatchers.IO,
            onCallbackError: (Throwable) -> Unit = {},
        ): Outbox {
            val config = OutboxConfig(
                path = database.path,
                baseUrl = baseUrl,
                profile = profile?.raw,
                limits = limits,
                userAgent = userAgent,
                tls = tls,
                boot = boot,
                installId = installId,
                inboxScopes = inboxScopes,
            )
            var opened: Outbox? = null
            try {
                return withContext(dispatcher) {
                    val outbox = Outbox(translated { RawOutbox.open(config) }, dispatcher, scheduler, onCallbackError)
                    opened = outbox
                    withContext(NonCancellable) {
                        translated {
                            // First: from here on, what is asked for is scheduled.
                            outbox.runs.repair()
                            credentials?.let { outbox.askForCredentials(it) }
                            networks?.let { outbox.follow(it) }
                        }
                    }
                    outbox
                }
            } catch (error: Throwable) {
                // Nobody has it, so that nobody else could close it. It may be the caller's
                // cancellation that comes between.
                opened?.close()
                throw error
            }
        }
    }
}
