package dev.submitonce

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.job
import kotlinx.coroutines.launch
import kotlinx.coroutines.yield
import org.junit.jupiter.api.Test
import org.junit.jupiter.params.ParameterizedTest
import org.junit.jupiter.params.provider.EnumSource
import java.io.IOException
import java.time.Duration
import java.util.concurrent.atomic.AtomicInteger
import kotlin.coroutines.CoroutineContext
import kotlin.test.assertContentEquals
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertFalse
import kotlin.test.assertIs
import kotlin.test.assertNull
import kotlin.test.assertSame
import kotlin.test.assertTrue

/** Once-records: what runs once, what a later call is told, and what becomes of a run that ends badly. */
class InboxTest : OutboxTest() {
    private val payment = InboxItem("tool", "step-1", InboxPolicy.AT_MOST_ONCE)
    private val message = InboxItem("push", "m-1", InboxPolicy.AT_LEAST_ONCE)
    private val runs = AtomicInteger()

    private suspend fun Inbox.pay(policy: InboxPolicy = InboxPolicy.AT_MOST_ONCE): Once<Unit> =
        once(payment.scope, payment.key, policy) { runs.incrementAndGet() }

    private suspend fun Inbox.run(item: InboxItem): InboxRun = assertIs<InboxAnswer.Run>(begin(item)).run

    @Test
    fun `a block runs once for its scope and key, and later calls are told so`() = test {
        val inbox = open().inbox
        assertEquals(Once.Ran(Unit), inbox.once("push", "m-1") { runs.incrementAndGet() })
        val again = assertIs<Once.Before<Unit>>(inbox.once("push", "m-1") { runs.incrementAndGet() })
        assertEquals(null to false, again.result to again.dropped)
        assertEquals(1, runs.get())
        listOf("push" to "m-2", "mail" to "m-1").forEach { (scope, key) ->
            assertIs<Once.Ran<Unit>>(inbox.once(scope, key) { runs.incrementAndGet() })
        }
        assertEquals(3, runs.get())
    }

    @Test
    fun `of many callers at once one runs it, and all others find it busy or done`() = test {
        val inbox = open().inbox
        val ends = List(32) { async { inbox.pay() } }.awaitAll()
        assertEquals(1, ends.count { it is Once.Ran })
        assertTrue(ends.all { it is Once.Ran || it is Once.Busy || it is Once.Before }, "$ends")
        assertEquals(1, runs.get())
    }

    @Test
    fun `while it runs, others are told that it does`() = test {
        val inbox = open().inbox
        val (inside, end) = CompletableDeferred<Unit>() to CompletableDeferred<Unit>()
        val first = async { inbox.once("push", "m-1") { inside.complete(Unit); end.await() } }
        inside.await()
        // Another handle on the same file, as a second part of the app may have.
        assertIs<Once.Busy>(open().inbox.once("push", "m-1") { runs.incrementAndGet() })
        end.complete(Unit)
        assertIs<Once.Ran<Unit>>(first.await())
        assertEquals(0, runs.get())
    }

    @Test
    fun `the first result is given to every later call, after a restart too`() = test {
        val number = ResultForm.of({ it.decodeToString().toInt() }) { n: Int -> n.toString().toByteArray() }
        val bytes = byteArrayOf(0, -1)
        val text = "\u0000 and \uD83D\uDE80"
        open().use { outbox ->
            assertEquals(Once.Ran(7), outbox.inbox.once(InboxItem("n", "1", payment.policy), number) { 7 })
            outbox.inbox.once(InboxItem("b", "1", payment.policy), ResultForm.BYTES) { bytes }
            outbox.inbox.once(InboxItem("t", "1", payment.policy), ResultForm.TEXT) { text }
        }
        val inbox = open().inbox
        fun <T : Any> Once<T>.result(): T? = assertIs<Once.Before<T>>(this).result
        assertEquals(7, inbox.once(InboxItem("n", "1", payment.policy), number) { 8 }.result())
        assertContentEquals(bytes, inbox.once(InboxItem("b", "1", payment.policy), ResultForm.BYTES) { ByteArray(0) }.result())
        assertEquals(text, inbox.once(InboxItem("t", "1", payment.policy), ResultForm.TEXT) { "" }.result())
    }

    @Test
    fun `after an exception the policy decides, and the exception is the block's own`() = test {
        val inbox = open().inbox
        val problem = IOException("the line went dead")
        suspend fun fails(policy: InboxPolicy) =
            assertSame(problem, assertFailsWith<IOException> { inbox.once("a", "$policy", policy) { throw problem } })
        fails(InboxPolicy.AT_LEAST_ONCE)
        assertIs<Once.Ran<Unit>>(inbox.once("a", "AT_LEAST_ONCE", InboxPolicy.AT_LEAST_ONCE) { })
        fails(InboxPolicy.AT_MOST_ONCE)
        repeat(2) { assertIs<Once.Uncertain>(inbox.once("a", "AT_MOST_ONCE", InboxPolicy.AT_MOST_ONCE) { error("twice") }) }
        assertEquals(emptyList(), problem.suppressed.toList())
    }

    @ParameterizedTest
    @EnumSource(InboxPolicy::class)
    fun `a block that knows that nothing has happened runs again by either policy`(policy: InboxPolicy) = test {
        val inbox = open().inbox
        class NoNetwork : NothingHappened("no network")
        assertFailsWith<NoNetwork> { inbox.once("tool", "step-1", policy) { throw NoNetwork() } }
        assertIs<Once.Ran<Unit>>(inbox.pay(policy))
    }

    @Test
    fun `a block that is cancelled may have happened`() = test {
        val inbox = open().inbox
        InboxPolicy.entries.forEach { policy ->
            val inside = CompletableDeferred<Unit>()
            val caller = launch {
                inbox.once("tool", "$policy", policy) {
                    inside.complete(Unit)
                    awaitCancellation()
                }
            }
            inside.await()
            caller.cancelAndJoin()
        }
        assertIs<Once.Uncertain>(inbox.once("tool", "AT_MOST_ONCE", InboxPolicy.AT_MOST_ONCE) { error("twice") })
        assertIs<Once.Ran<Unit>>(inbox.once("tool", "AT_LEAST_ONCE", InboxPolicy.AT_LEAST_ONCE) { })
    }

    @Test
    fun `a block that came to its end is recorded, though its caller is cancelled`() = test {
        val inbox = open().inbox
        launch { inbox.once(payment.scope, payment.key, payment.policy) { currentCoroutineContext().job.cancel() } }.join()
        assertIs<Once.Before<Unit>>(inbox.pay())
    }

    // It would be nobody's: busy until its lease is over.
    @Test
    fun `a caller that is cancelled on the way in leaves no run behind`() = test {
        val meddler = MeddlingDispatcher()
        val inbox = open(dispatcher = meddler).inbox
        val caller = async {
            val me = currentCoroutineContext().job
            meddler.meddle = { me.cancel() }
            inbox.pay()
        }
        caller.join()
        assertTrue(caller.isCancelled)
        assertEquals(0, runs.get())
        meddler.meddle = {}
        assertIs<Once.Ran<Unit>>(inbox.pay())
    }

    @Test
    fun `a caller that was cancelled before asks nothing`() = test {
        val outbox = open()
        launch {
            currentCoroutineContext().job.cancel()
            outbox.inbox.pay()
        }.join()
        assertEquals(0, outbox.stats().inboxRuns)
    }

    @Test
    fun `a block that outlives its lease has lost its run, and its end is refused`() = test {
        val inbox = open().inbox
        val refusal = assertFailsWith<SubmitOnceException.Inbox.RunLost> {
            inbox.once("push", "m-1", lease = Duration.ofMillis(1)) {
                while (inbox.begin(message) !is InboxAnswer.Run) yield()
            }
        }
        assertEquals("push" to "m-1", refusal.scope to refusal.key)
        assertIs<InboxAnswer.Busy>(inbox.begin(message))
    }

    @Test
    fun `only the run that counts is ended or extended, as often as it is said`() = test {
        val inbox = open().inbox
        val lost = inbox.run(InboxItem("push", "m-1", message.policy, lease = Duration.ofMillis(1)))
        var answer = inbox.begin(message)
        while (answer !is InboxAnswer.Run) answer = inbox.begin(message)
        val run = answer.run
        assertTrue(run.number > lost.number)
        assertFailsWith<SubmitOnceException.Inbox.RunLost> { inbox.extend(lost, LONG) }
        assertFailsWith<SubmitOnceException.Inbox.RunLost> { inbox.finish(lost) }
        assertFailsWith<SubmitOnceException.Inbox.RunLost> { inbox.fail(lost, InboxFailure.NOTHING_HAPPENED) }
        inbox.extend(run, LONG)
        repeat(2) { inbox.finish(run, "1".toByteArray()) }
        val done = assertIs<InboxAnswer.Done>(inbox.begin(message))
        assertContentEquals("1".toByteArray(), done.result)
    }

    @Test
    fun `a run that was given up may be given up again`() = test {
        val inbox = open().inbox
        val run = inbox.run(payment)
        repeat(2) { inbox.fail(run, InboxFailure.NOTHING_HAPPENED) }
        assertTrue(inbox.run(payment).number > run.number)
    }

    @Test
    fun `what is uncertain waits for a decision`() = test {
        val outbox = open()
        val inbox = outbox.inbox
        listOf("1", "2").forEach { key ->
            inbox.fail(inbox.run(InboxItem("tool", key, InboxPolicy.AT_MOST_ONCE)), InboxFailure.MAY_HAVE_HAPPENED)
        }
        assertEquals(listOf("1", "2"), inbox.uncertain().map { it.key })
        assertEquals(listOf("1" to 1L), inbox.uncertain("tool", limit = 1).map { it.key to it.runs })
        assertEquals(emptyList(), inbox.uncertain("push"))
        assertEquals(2, outbox.stats().inboxUncertain)
        inbox.decide("tool", "1", InboxDecision.Happened("paid".toByteArray()))
        inbox.decide("tool", "2", InboxDecision.RunAgain)
        val paid = inbox.once(InboxItem("tool", "1", InboxPolicy.AT_MOST_ONCE), ResultForm.TEXT) { "twice" }
        assertEquals("paid", assertIs<Once.Before<String>>(paid).result)
        assertIs<Once.Ran<Unit>>(inbox.once("tool", "2", InboxPolicy.AT_MOST_ONCE) { })
        val refusal = assertFailsWith<SubmitOnceException.Inbox.NotUncertain> {
            inbox.decide("tool", "1", InboxDecision.RunAgain)
        }
        assertEquals("tool" to "1", refusal.scope to refusal.key)
    }

    @Test
    fun `another content under a key is refused, and nothing runs`() = test {
        val inbox = open().inbox
        inbox.once("tool", "step-1", content = "tea".toByteArray()) { runs.incrementAndGet() }
        assertIs<Once.Before<Unit>>(inbox.once("tool", "step-1", content = "tea".toByteArray()) { runs.incrementAndGet() })
        val refusal = assertFailsWith<SubmitOnceException.Inbox.KeyReused> {
            inbox.once("tool", "step-1", content = "milk".toByteArray()) { runs.incrementAndGet() }
        }
        assertEquals("tool" to "step-1", refusal.scope to refusal.key)
        assertEquals(1, runs.get())
    }

    @Test
    fun `the app's own tables change with the record, or not at all`() = test {
        val inbox = open().inbox
        val values = listOf(
            SqlValue.Null, SqlValue.Integer(Long.MIN_VALUE), SqlValue.Real(0.1), SqlValue.Text("a\uD83D\uDE80"),
            SqlValue.Blob(byteArrayOf(0, -1)),
        )
        val table = AppStatement("CREATE TABLE app_seen (a, b, c, d, e)")
        val insert = AppStatement("INSERT INTO app_seen VALUES (?1, ?2, ?3, ?4, ?5)", values)
        val run = inbox.run(payment)
        val refusal = assertFailsWith<SubmitOnceException.Inbox.Statement> {
            inbox.finishWith(run, listOf(table, insert, AppStatement("DELETE FROM submission")))
        }
        assertEquals(3, refusal.number)
        assertTrue(refusal.problem.isNotEmpty())
        // The run goes on, and so there is no table.
        inbox.finishWith(run, listOf(table, insert), "seen".toByteArray())
        assertEquals(listOf(values), inbox.query(AppStatement("SELECT * FROM app_seen WHERE b = ?1", values[1])))
        assertContentEquals("seen".toByteArray(), assertIs<InboxAnswer.Done>(inbox.begin(payment)).result)
        assertFailsWith<SubmitOnceException.Inbox.Statement> { inbox.query(AppStatement("DELETE FROM app_seen")) }
    }

    @Test
    fun `a result that can't be kept may have happened`() = test {
        val inbox = open().inbox
        val refusal = assertFailsWith<SubmitOnceException.Invalid> { inbox.once(payment, ResultForm.TEXT) { "half \uD83D" } }
        assertEquals("result", refusal.field)
        assertIs<Once.Uncertain>(inbox.pay())
    }

    @Test
    fun `a scope is named at most once`() = test {
        val scope = InboxScope("push", LONG)
        val refusal = assertFailsWith<SubmitOnceException.CannotOpen.InvalidConfig> {
            Outbox.open(database(), inboxScopes = listOf(scope, scope))
        }
        assertEquals("inbox_scopes", refusal.field)
    }

    // Ages are believed by a server's clock alone.
    @Test
    fun `a scope forgets the result before it forgets that it was done`() = test {
        val scopes = listOf(InboxScope("tool", Duration.ofMillis(1)))
        Outbox.open(database(), baseUrl = server.url, limits = quick, inboxScopes = scopes).use { outbox ->
            outbox.inbox.once(payment, ResultForm.TEXT) { "paid" }
            val date = """["Date","Fri, 01 Jan 2100 00:00:00 GMT"]"""
            server.script("""{"respond":{"status":201,"headers":[$date]}}""")
            outbox.submit(order())
            outbox.drain(LONG)
            while (outbox.retain()) {
                // There may be more.
            }
            val before = assertIs<Once.Before<String>>(outbox.inbox.once(payment, ResultForm.TEXT) { "twice" })
            assertNull(before.result)
            assertTrue(before.dropped)
        }
    }

    @Test
    fun `runs and repeats are counted`() = test {
        val outbox = open()
        repeat(3) { outbox.inbox.pay() }
        val stats = outbox.stats()
        assertEquals(listOf(1L, 2L, 0L), listOf(stats.inboxRuns, stats.inboxRepeats, stats.inboxUncertain))
        assertFalse(stats.records > 0)
    }

    /** Does something before each call at the disk. */
    private class MeddlingDispatcher : CoroutineDispatcher() {
        @Volatile
        var meddle: () -> Unit = {}

        override fun dispatch(context: CoroutineContext, block: Runnable) =
            Dispatchers.IO.dispatch(context) {
                meddle()
                block.run()
            }
    }
}
