package dev.submitonce

import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.flow.first
import org.junit.jupiter.api.Test
import java.io.File
import java.time.Duration
import java.time.Instant
import kotlin.random.Random
import kotlin.test.assertContentEquals
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertFalse
import kotlin.test.assertIs
import kotlin.test.assertNotEquals
import kotlin.test.assertNotNull
import kotlin.test.assertNull
import kotlin.test.assertTrue

/** Submissions from their intent to their end. */
class SubmittingTest : OutboxTest() {
    @Test
    fun `a slot gives one ID until its submission is settled or it is discarded`() = test {
        val outbox = open()
        val id = outbox.begin("form")
        assertEquals(id, outbox.begin("form"))
        assertNotEquals(id, outbox.begin("other form"))
        outbox.submit(order(id))
        assertEquals(id, outbox.begin("form"))
        outbox.drain(LONG)
        val next = outbox.begin("form")
        assertNotEquals(id, next)
        outbox.discard("form")
        assertNotEquals(next, outbox.begin("form"))
        // What was never begun has nothing to forget.
        outbox.discard("never begun")
    }

    // P1 durable accept, P8 replayable result.
    @Test
    fun `what was accepted is there after the next opening and so is its result`() = test {
        val order = order()
        open().use { assertEquals(ReceiptKind.ACCEPTED, it.submit(order).kind) }
        val first = open().use { outbox ->
            assertEquals(ReceiptKind.JOINED, outbox.submit(order).kind)
            outbox.drain(LONG)
            outbox.snapshot(order.id)
        }
        val replayed = open().submit(order)
        assertEquals(ReceiptKind.REPLAYED, replayed.kind)
        assertEquals(first.outcome, replayed.snapshot.outcome)
        assertEquals(1, server.summary().requests)
    }

    // P3 convergence.
    @Test
    fun `sixteen coroutines that hammer one ID store one submission and make one effect`() = test {
        val outbox = open()
        outbox.start()
        val order = order()
        val kinds = List(16) { async { outbox.submit(order).kind } }.awaitAll()
        assertEquals(1, kinds.count { it == ReceiptKind.ACCEPTED }, "$kinds")
        assertEquals(15, kinds.count { it == ReceiptKind.JOINED || it == ReceiptKind.REPLAYED }, "$kinds")
        assertIs<Waited.Settled>(outbox.wait(order.id, LONG))
        val summary = server.summary()
        assertEquals(listOf(1L, 1L, 1L), listOf(summary.requests, summary.effects, summary.keys), "$summary")
    }

    // P3: whoever comes second differs, and nobody's content is mixed with another's.
    @Test
    fun `sixteen coroutines with different content for one ID leave one winner`() = test {
        val outbox = open()
        val id = SubmissionId.new()
        val results = List(16) { item -> async { runCatching { outbox.submit(order(id, "$item")) } } }.awaitAll()
        assertEquals(1, results.count { it.isSuccess })
        assertEquals(15, results.count { it.exceptionOrNull() is SubmitOnceException.KeyReused })
        outbox.drain(LONG)
        assertEquals(1, server.summary().effects)
    }

    @Test
    fun `several go in together or not at all`() = test {
        val outbox = open()
        val orders = List(3) { order() }
        assertFailsWith<SubmitOnceException.Invalid> {
            outbox.submitAll(orders + order().copy(url = "nowhere"))
        }
        assertEquals(0, outbox.list().snapshots.size)
        outbox.submit(orders[0])
        assertFailsWith<SubmitOnceException.KeyReused> {
            outbox.submitAll(listOf(orders[1], orders[0].copy(body = Body.Empty)))
        }
        assertEquals(1, outbox.list().snapshots.size)
        val receipts = outbox.submitAll(orders + orders[2])
        val kinds = listOf(ReceiptKind.JOINED, ReceiptKind.ACCEPTED, ReceiptKind.ACCEPTED, ReceiptKind.JOINED)
        assertEquals(kinds, receipts.map { it.kind })
        assertEquals((orders + orders[2]).map { it.id }, receipts.map { it.id })
        assertEquals(emptyList(), outbox.submitAll(emptyList()))
    }

    @Test
    fun `an app's own IDs are reconciled with what the outbox knows`() = test {
        val outbox = open()
        val known = order()
        outbox.submit(known)
        val unknown = SubmissionId.new()
        val reconciled = outbox.reconcile(listOf(unknown, known.id, known.id))
        assertEquals(setOf(known.id, unknown), reconciled.keys)
        assertNull(reconciled.getValue(unknown))
        assertEquals(SubmissionState.Pending, assertNotNull(reconciled[known.id]).state)
        assertEquals(emptyMap(), outbox.reconcile(emptySet()))
    }

    @Test
    fun `a list is read page by page in the order of acceptance`() = test {
        val outbox = open()
        val ids = outbox.submitAll(List(7) { order() }).map { it.id }
        val pages = mutableListOf(outbox.list(limit = 3))
        repeat(2) { pages += outbox.list(after = assertNotNull(pages.last().next), limit = 3) }
        assertEquals(ids, pages.flatMap { it.snapshots }.map { it.id })
        assertNull(pages.last().next)
        outbox.cancel(ids[0])
        assertEquals(listOf(ids[0]), outbox.list(ListFilter(ListState.SETTLED)).snapshots.map { it.id })
        // A limit that makes no sense is taken for the next one that does.
        assertEquals(listOf(1, 1, 7), listOf(0, -1, Int.MAX_VALUE).map { outbox.list(limit = it).snapshots.size })
    }

    @Test
    fun `cancelling says honestly what it was worth`() = test {
        val outbox = open()
        val never = order()
        outbox.submit(never)
        assertEquals(CancelOutcome.Cancelled, outbox.cancel(never.id))
        val again = assertIs<CancelOutcome.AlreadyFinal>(outbox.cancel(never.id))
        assertEquals(SubmissionState.Cancelled, again.snapshot.state)
        val onItsWay = order()
        server.script("""{"hold_before":"gate"}""")
        outbox.submit(onItsWay)
        outbox.start()
        server.await("""{"held":"gate"}""")
        assertEquals(onItsWay.id, assertIs<CancelOutcome.MayHaveHappened>(outbox.cancel(onItsWay.id)).snapshot.id)
        server.release("gate")
        assertIs<Waited.Settled>(outbox.wait(onItsWay.id, LONG))
        assertEquals(1, server.summary().effects)
    }

    // P5 sticky doubt, P6 no new key.
    @Test
    fun `what is held is decided by its revision`() = test {
        val outbox = open()
        val happened = outbox.held()
        assertEquals(SubmissionState.Held(HoldReason.OUTCOME_UNKNOWN), happened.state)
        assertTrue(happened.inDoubt)
        assertIs<Waited.Held>(outbox.wait(happened.id, LONG))
        val done = outbox.resolve(happened.id, happened.revision, Resolution.ItHappened("""{"effect":7}"""))
        assertEquals(SubmissionState.Succeeded, done.state)
        assertEquals("""{"effect":7}""", outbox.snapshot(done.id).outcome?.text)
        val hopeless = outbox.held()
        val abandoned = outbox.resolve(hopeless.id, hopeless.revision, Resolution.GiveUp)
        assertEquals(SubmissionState.Abandoned, abandoned.state)
        val again = outbox.held()
        outbox.resolve(again.id, again.revision, Resolution.RetrySameKey(acceptSecondEffect = true))
        outbox.start()
        assertEquals(SubmissionState.Succeeded, assertIs<Waited.Settled>(outbox.wait(again.id, LONG)).snapshot.state)
        assertEquals(1, server.summary().maxKeysPerPath)
    }

    @Test
    fun `waking ends a backoff early`() = test {
        val hour = Duration.ofHours(1)
        val outbox = open(limits = quick.copy(backoffFirst = hour, backoffMost = hour))
        val order = order()
        server.script("""{"error_before":{"status":500}}""")
        outbox.submit(order)
        outbox.start()
        val failed = outbox.observe(order.id).first { it.attempts == 1 && it.state == SubmissionState.Pending }
        val waiting = assertIs<WaitingFor.Due>(failed.waitingFor)
        assertTrue(waiting.at > Instant.now().plusSeconds(60))
        outbox.wake(order.id)
        assertIs<Waited.Settled>(outbox.wait(order.id, LONG))
    }

    @Test
    fun `a suspended outbox is quiet until somebody wants it again`() = test {
        val outbox = open()
        outbox.start()
        outbox.suspendDelivery()
        val order = order()
        outbox.submit(order)
        assertIs<Waited.TimedOut>(outbox.wait(order.id, Duration.ofMillis(300)))
        assertEquals(0, server.summary().requests)
        outbox.start()
        assertIs<Waited.Settled>(outbox.wait(order.id, LONG))
    }

    @Test
    fun `what may only go over an unmetered network waits for one`() = test {
        val outbox = open()
        outbox.networkAvailable(NetworkKind.METERED)
        val photo = order().copy(unmeteredOnly = true)
        outbox.submit(photo)
        val report = outbox.drain(LONG)
        assertTrue(report.awaitsUnmetered)
        assertEquals(WaitingFor.Unmetered, outbox.snapshot(photo.id).waitingFor)
        outbox.networkAvailable(NetworkKind.UNMETERED)
        assertEquals(1, outbox.drain(LONG).succeeded)
    }

    @Test
    fun `numbers tell what calls met`() = test {
        val outbox = open()
        val order = order()
        outbox.submit(order)
        outbox.submit(order)
        outbox.drain(LONG)
        outbox.submit(order)
        val stats = outbox.stats()
        val seen = listOf(stats.accepted, stats.joined, stats.replayed, stats.pending, stats.attempts)
        assertEquals(listOf(1L, 1L, 1L, 0L, 1L), seen)
        assertFalse(outbox.retain())
    }

    @Test
    fun `a body from a file is copied and the file is free again`() = test {
        val outbox = open()
        val bytes = Random(1).nextBytes(600_000)
        val file = File(folder, "photo.jpg").apply { writeBytes(bytes) }
        val photo = order().copy(body = Body.FromFile("image/jpeg", file))
        outbox.submit(photo)
        file.delete()
        outbox.drain(LONG)
        assertEquals(SubmissionState.Succeeded, outbox.snapshot(photo.id).state)
        assertTrue(sha256(bytes) in outbox.snapshot(photo.id).outcome?.text.orEmpty())
        assertFailsWith<SubmitOnceException> { outbox.submit(order().copy(body = Body.FromFile("image/jpeg", file))) }
    }

    @Test
    fun `every field of a submission reaches the server or the snapshot`() = test {
        val outbox = open()
        outbox.signIn("ann")
        outbox.supplyCredentials("ann", Credentials(emptyList()))
        val order = order(account = "ann", effect = Effect.OVERWRITE).copy(
            method = "PUT",
            headers = listOf(Header("User-Agent", "test/1")),
            priority = 3,
            expiresAt = Instant.now().plusSeconds(3_600),
            body = Body.Bytes("application/octet-stream", byteArrayOf(0, -1, 127)),
        )
        val snapshot = outbox.submit(order).snapshot
        val stored = snapshot.run { listOf(account, method, url, effect) }
        assertEquals(listOf("ann", "PUT", server.url + order.url, Effect.OVERWRITE), stored)
        assertTrue(snapshot.acceptedAt <= Instant.now().plusSeconds(1))
        outbox.drain(LONG)
        val outcome = assertNotNull(outbox.snapshot(order.id).outcome)
        assertEquals(201, outcome.status)
        assertEquals("application/json", outcome.contentType)
        assertFalse(outcome.resultMissing)
        assertContentEquals(outcome.text?.toByteArray(), outcome.body)
        assertTrue("\"PUT\"" in "${server.records()}" && "test/1" in "${server.records()}")
    }
}
