package dev.submitonce

import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.isActive
import kotlinx.coroutines.withContext
import java.time.Duration
import dev.submitonce.internal.Inbox as RawInbox

/**
 * Once-records for effects on this side, in the outbox's file. What comes in may come again, and what is
 * done here may be done again: a push message is delivered twice, a worker runs a second time, an agent
 * plans a step that it has done before. One table says, for all coroutines and processes, whether it is
 * still to do, and what its result was.
 *
 * ```
 * outbox.inbox.once("push", messageId) { show(notification) }
 * ```
 *
 * [once] is all that most need. [begin], [finish], [fail] and [extend] are its parts.
 *
 * All functions suspend at the disk, and throw [SubmitOnceException]; after [Outbox.close],
 * [SubmitOnceException.Closed].
 */
public class Inbox internal constructor(
    private val raw: RawInbox,
    private val outbox: Outbox,
) {
    /**
     * Does something once: runs the block if it is still to do, and records that it was done. Two
     * callers at once, in any two processes, run it once.
     *
     * If the block throws or is cancelled, that is recorded too, and the same exception is thrown. It may
     * have happened then, and [policy] decides about the next call. Only where the block throws
     * [NothingHappened] the next call runs it by either policy.
     *
     * A block that takes longer than [lease] has lost its run: another may be running it. Its exception
     * is then [SubmitOnceException.Inbox.RunLost], although the block has come to its end; see [extend].
     *
     * @param scope what kind of thing it is, for example `push`.
     * @param key what makes it the same when it comes again: the message's ID, the date of the day.
     * @param policy what to do when nobody can know whether it happened. The default is for what may
     *   happen twice without harm; name [InboxPolicy.AT_MOST_ONCE] for what must not.
     * @param content what comes with the key. Another one under the same key is refused.
     * @param lease how long the block may take. Left out: ten minutes.
     * @throws SubmitOnceException.Inbox.KeyReused if the key came with another content before.
     * @throws SubmitOnceException.Storage before the block ran; or after it, if its end couldn't be
     *   recorded: then call [finish] with the run that the block was given.
     */
    public suspend fun once(
        scope: String,
        key: String,
        policy: InboxPolicy = InboxPolicy.AT_LEAST_ONCE,
        content: ByteArray? = null,
        lease: Duration? = null,
        block: suspend (run: InboxRun) -> Unit,
    ): Once<Unit> = once(InboxItem(scope, key, policy, content, lease), ResultForm.NOTHING, block)

    /**
     * The same for something that has a result: it is kept, and given to every later caller.
     *
     * ```
     * val order = inbox.once(InboxItem("tool", stepId, InboxPolicy.AT_MOST_ONCE), ResultForm.TEXT) { callTool() }
     * ```
     *
     * @param form how the result is kept as bytes.
     */
    public suspend fun <T : Any> once(
        item: InboxItem,
        form: ResultForm<T>,
        block: suspend (run: InboxRun) -> T,
    ): Once<T> =
        when (val answer = begin(item)) {
            is InboxAnswer.Run -> Once.Ran(done(answer.run, form, block))
            is InboxAnswer.Done -> Once.Before(answer.result?.let(form.fromBytes), answer.dropped, answer.at)
            is InboxAnswer.Busy -> Once.Busy(answer.since)
            is InboxAnswer.Uncertain -> Once.Uncertain(answer.since)
        }

    private suspend fun <T : Any> done(run: InboxRun, form: ResultForm<T>, block: suspend (InboxRun) -> T): T {
        val (result, bytes) = try {
            block(run).let { it to form.toBytes(it) }
        } catch (problem: Throwable) {
            val nothing = problem is NothingHappened
            val failure = if (nothing) InboxFailure.NOTHING_HAPPENED else InboxFailure.MAY_HAVE_HAPPENED
            giveUp(run, failure)?.let(problem::addSuppressed)
            throw problem
        }
        // It has happened, cancelled or not.
        withContext(NonCancellable) { finish(run, bytes) }
        return result
    }

    /** What can't be recorded is found when the lease, or the process, is over. */
    private suspend fun giveUp(run: InboxRun, failure: InboxFailure): SubmitOnceException? =
        try {
            withContext(NonCancellable) { fail(run, failure) }
            null
        } catch (problem: SubmitOnceException) {
            problem
        }

    /**
     * Asks whether an item is to be done now. One across all coroutines and processes gets
     * [InboxAnswer.Run]. An item that is done, or that another does, costs one read. Cancelled while it
     * runs, it gives the run back: nothing has happened.
     *
     * @throws SubmitOnceException.Inbox.KeyReused if the key came with another content before.
     */
    public suspend fun begin(item: InboxItem): InboxAnswer {
        currentCoroutineContext().ensureActive()
        val answer = withContext(NonCancellable) { outbox.call { raw.begin(item.lowered()).lifted() } }
        if (answer is InboxAnswer.Run && !currentCoroutineContext().isActive) {
            // The caller never sees it, so that nobody else could give it up.
            giveUp(answer.run, InboxFailure.NOTHING_HAPPENED)
        }
        currentCoroutineContext().ensureActive()
        return answer
    }

    /**
     * Records that the run's effect has happened, and its result, which every later [begin] gets. The same
     * call again does nothing, so that it may be repeated where it failed.
     *
     * @throws SubmitOnceException.Inbox.RunLost if the run's time was over and another has begun
     *   meanwhile, or a decision was made.
     */
    public suspend fun finish(run: InboxRun, result: ByteArray? = null): Unit =
        outbox.call { raw.finish(run.carried(), result) }

    /**
     * The same, and carries out statements on the app's own tables, in one transaction: the effect and
     * its record can't come apart. All of it happens, or nothing.
     *
     * @throws SubmitOnceException.Inbox.Statement if one isn't allowed or fails. The run goes on.
     * @throws SubmitOnceException.Inbox.RunLost as [finish] does.
     */
    public suspend fun finishWith(run: InboxRun, statements: List<AppStatement>, result: ByteArray? = null): Unit =
        outbox.call { raw.finishWith(run.carried(), result, statements.map { it.lowered() }) }

    /**
     * Gives a run up. The same call again does nothing.
     *
     * @throws SubmitOnceException.Inbox.RunLost as [finish] does.
     */
    public suspend fun fail(run: InboxRun, failure: InboxFailure): Unit =
        outbox.call { raw.fail(run.carried(), failure) }

    /**
     * Gives a run more time, from now on.
     *
     * @throws SubmitOnceException.Inbox.RunLost as [finish] does.
     */
    public suspend fun extend(run: InboxRun, lease: Duration): Unit =
        outbox.call { raw.extend(run.carried(), lease) }

    /**
     * Decides what becomes of an item that is uncertain.
     *
     * @throws SubmitOnceException.Inbox.NotUncertain if it isn't, or isn't any more.
     */
    public suspend fun decide(scope: String, key: String, decision: InboxDecision): Unit =
        outbox.call { raw.decide(scope.carried("scope"), key.carried("key"), decision.lowered()) }

    /**
     * Items that wait for a decision, the oldest first; 1,000 at most. Runs whose process is gone are
     * found, too.
     *
     * @param scope only these; null for all.
     */
    public suspend fun uncertain(scope: String? = null, limit: Int = 100): List<UncertainItem> =
        outbox.call { raw.uncertain(scope?.carried("scope"), limit.coerceAtLeast(0).toUInt()) }

    /**
     * Reads the app's own tables, those whose names begin with `app_`: the values of each row, in the
     * order of the query's columns. Up to 10,000 rows.
     *
     * @throws SubmitOnceException.Inbox.Statement if it isn't allowed, writes, or fails.
     */
    public suspend fun query(statement: AppStatement): List<List<SqlValue>> =
        outbox.call { raw.query(statement.lowered()).map { row -> row.values.map { it.lifted() } } }

    internal fun close() = raw.close()
}
