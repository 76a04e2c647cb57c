package dev.submitonce

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.Runnable
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.joinAll
import kotlinx.coroutines.launch
import kotlinx.coroutines.test.runTest
import org.junit.jupiter.api.Test
import java.time.Duration
import java.util.UUID
import java.util.concurrent.atomic.AtomicInteger
import kotlin.coroutines.CoroutineContext
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertIs
import kotlin.test.assertTrue
import kotlin.time.Duration.Companion.seconds

/** Closing in the midst of everything, and coroutines that are cancelled in the midst of a call. */
class LifecycleTest : OutboxTest() {
    @Test
    fun `every call after closing says that it is closed`() = test {
        val outbox = open()
        val order = order()
        outbox.submit(order)
        val config = BatchConfig("logs", "/logs")
        val (batch, inbox) = outbox.batch(config) to outbox.inbox
        val (item, run) = InboxItem("push", "m-1", InboxPolicy.AT_LEAST_ONCE) to InboxRun("push", "m-1", 1)
        outbox.close()
        val calls: Map<String, suspend () -> Any?> = mapOf(
            "begin" to { outbox.begin("form") },
            "discard" to { outbox.discard("form") },
            "submit" to { outbox.submit(order) },
            "submitAll" to { outbox.submitAll(listOf(order)) },
            "snapshot" to { outbox.snapshot(order.id) },
            "reconcile" to { outbox.reconcile(listOf(order.id)) },
            "list" to { outbox.list() },
            "wait" to { outbox.wait(order.id, LONG) },
            "drain" to { outbox.drain(LONG) },
            "start" to { outbox.start() },
            "suspendDelivery" to { outbox.suspendDelivery() },
            "windDown" to { outbox.windDown(LONG) },
            "cancel" to { outbox.cancel(order.id) },
            "resolve" to { outbox.resolve(order.id, 1, Resolution.GiveUp) },
            "resolveAll" to { outbox.resolveAll(HoldReason.RESTORED, Resolution.GiveUp) },
            "releaseLane" to { outbox.releaseLane("orders") },
            "wake" to { outbox.wake(order.id) },
            "signIn" to { outbox.signIn("ann") },
            "signOut" to { outbox.signOut() },
            "purge" to { outbox.signOut(SignOut.PURGE) },
            "signedIn" to { outbox.signedIn() },
            "supplyCredentials" to { outbox.supplyCredentials("ann", Credentials.bearer("t")) },
            "networkAvailable" to { outbox.networkAvailable(NetworkKind.METERED) },
            "stats" to { outbox.stats() },
            "retain" to { outbox.retain() },
            "observe" to { outbox.observe(order.id).first() },
            "observeList" to { outbox.observeList().first() },
            "changes" to { outbox.changes(0).first() },
            "uploads" to { outbox.uploads().first() },
            "current" to { outbox.current("config") },
            "batch" to { outbox.batch(config) },
            "append" to { batch.append("{}") },
            "appendAll" to { batch.appendAll(listOf("{}")) },
            "flush" to { batch.flush() },
            "once" to { inbox.once(item, ResultForm.TEXT) { "" } },
            "begin in the inbox" to { inbox.begin(item) },
            "finish" to { inbox.finish(run) },
            "finishWith" to { inbox.finishWith(run, emptyList()) },
            "fail" to { inbox.fail(run, InboxFailure.NOTHING_HAPPENED) },
            "extend" to { inbox.extend(run, LONG) },
            "decide" to { inbox.decide("push", "m-1", InboxDecision.RunAgain) },
            "uncertain" to { inbox.uncertain() },
            "query" to { inbox.query(AppStatement("SELECT 1")) },
        )
        calls.forEach { (name, call) ->
            val refusal = assertFailsWith<SubmitOnceException.Closed>(name) { atOnce { call() } }
            assertEquals("the outbox is closed; open it again", refusal.message)
        }
        // What was found at the opening is still known.
        assertTrue(outbox.openReport.created)
    }

    // P4, P5: what was on the wire is in doubt, and converges with the same key.
    @Test
    fun `closing while the server hangs is quick and loses nothing`() = test {
        val order = order()
        server.script("""{"hold_after":"gate"}""")
        val outbox = open()
        outbox.submit(order)
        outbox.start()
        server.await("""{"held":"gate"}""")
        val calls = List(4) { async { runCatching { outbox.wait(order.id, LONG) } } }
        atOnce {
            outbox.close()
            calls.awaitAll().forEach { assertIs<SubmitOnceException.Closed>(it.exceptionOrNull()) }
        }
        server.release("gate")
        val again = open()
        again.start()
        assertEquals(SubmissionState.Succeeded, assertIs<Waited.Settled>(again.wait(order.id, LONG)).snapshot.state)
        val summary = server.summary()
        assertEquals(listOf(1L, 1L, 1L), listOf(summary.effects, summary.maxKeysPerPath, summary.maxInFlightPerKey))
    }

    @Test
    fun `closing from everywhere at once closes once`() = test {
        val outbox = open()
        outbox.start()
        outbox.submit(order())
        List(16) { launch(Dispatchers.IO) { outbox.close() } }.joinAll()
        assertFailsWith<SubmitOnceException.Closed> { outbox.stats() }
        open()
    }

    // P1: whoever got a receipt finds it; who got none submits again.
    @Test
    fun `closing in a storm of submissions loses no receipt`() = test {
        val outbox = open()
        val enough = CompletableDeferred<Unit>()
        val counter = AtomicInteger()
        val storm = List(8) {
            async {
                val stored = mutableListOf<UUID>()
                val end = runCatching {
                    while (true) {
                        stored += outbox.submit(order()).id
                        if (counter.incrementAndGet() == 100) enough.complete(Unit)
                    }
                }
                assertIs<SubmitOnceException.Closed>(end.exceptionOrNull())
                stored
            }
        }
        enough.await()
        outbox.close()
        val stored = storm.awaitAll().flatten()
        assertTrue(open().reconcile(stored).values.none { it == null })
    }

    @Test
    fun `an outbox may be closed by what observes it`() = test {
        val outbox = open()
        assertFailsWith<SubmitOnceException.Closed> {
            outbox.observeList().collect {
                outbox.close()
            }
        }
        assertFailsWith<SubmitOnceException.Closed> { outbox.stats() }
    }

    // F29: whatever moment the cancellation hits, the same ID converges.
    @Test
    fun `submissions that are cancelled at any moment converge`() = test {
        val outbox = open()
        val orders = List(60) { order() }
        orders.forEachIndexed { moment, order ->
            val submitting = launch { outbox.submit(order) }
            repeat(moment * 50) { Thread.onSpinWait() }
            submitting.cancelAndJoin()
        }
        val stored = outbox.reconcile(orders.map { it.id }).values.count { it != null }
        val kinds = orders.map { outbox.submit(it).kind }
        assertEquals(stored, kinds.count { it == ReceiptKind.JOINED })
        assertEquals(60 - stored, kinds.count { it == ReceiptKind.ACCEPTED })
        outbox.drain(LONG)
        val summary = server.summary()
        assertEquals(listOf(60L, 60L, 1L), listOf(summary.effects, summary.keys, summary.maxEffectsPerKey))
    }

    // F29, exactly: stored, but the caller has gone before it could get its receipt.
    @Test
    fun `a submission whose receipt nobody got is stored`() = test {
        val outbox = open()
        val caller = Job()
        val cancelledOnReturn = object : CoroutineDispatcher() {
            override fun dispatch(context: CoroutineContext, block: Runnable) {
                caller.cancel()
                Dispatchers.Default.dispatch(context, block)
            }
        }
        val order = order()
        val submitting = launch(caller + cancelledOnReturn, CoroutineStart.UNDISPATCHED) { outbox.submit(order) }
        submitting.join()
        assertTrue(submitting.isCancelled)
        assertEquals(ReceiptKind.JOINED, outbox.submit(order).kind)
    }

    @Test
    fun `a coroutine that is cancelled before its call doesn't begin it`() = test {
        val outbox = open()
        val order = order()
        launch(start = CoroutineStart.UNDISPATCHED) {
            coroutineContext[Job]?.cancel()
            outbox.submit(order)
        }.join()
        assertEquals(0, outbox.stats().accepted)
    }

    @Test
    fun `calls run on the dispatcher that the outbox was opened with`() = test {
        val dispatched = AtomicInteger()
        val counting = object : CoroutineDispatcher() {
            override fun dispatch(context: CoroutineContext, block: Runnable) {
                dispatched.incrementAndGet()
                Dispatchers.IO.dispatch(context, block)
            }
        }
        val outbox = open(dispatcher = counting)
        val order = order()
        val calls: List<suspend () -> Any?> = listOf(
            { outbox.begin("form") },
            { outbox.submit(order) },
            { outbox.snapshot(order.id) },
            { outbox.list() },
            { outbox.stats() },
            { outbox.observe(order.id).first() },
            { outbox.changes(0).first() },
            { outbox.drain(LONG) },
            { outbox.wait(order.id, LONG) },
        )
        calls.forEachIndexed { number, call ->
            val before = dispatched.get()
            call()
            assertTrue(dispatched.get() > before, "call $number")
        }
    }

    // Virtual time is the caller's own: the core's waits are real, and its answers arrive all the same.
    @Test
    fun `an app's own tests may use virtual time`() = runTest(timeout = 40.seconds) {
        val outbox = open()
        val order = order()
        outbox.submit(order)
        outbox.start()
        assertIs<Waited.Settled>(outbox.wait(order.id, LONG))
        assertEquals(SubmissionState.Succeeded, outbox.observe(order.id).toList().last().state)
        assertIs<Waited.Settled>(outbox.wait(order.id, Duration.ZERO))
    }
}
