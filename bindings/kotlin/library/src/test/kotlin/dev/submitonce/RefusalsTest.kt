package dev.submitonce

import dev.submitonce.internal.IdException
import dev.submitonce.internal.InboxException
import dev.submitonce.internal.InternalException
import dev.submitonce.internal.OpenException
import dev.submitonce.internal.OutboxConfig
import dev.submitonce.internal.OutboxException
import dev.submitonce.internal.PageRequest
import dev.submitonce.internal.StorageException
import dev.submitonce.internal.parseSubmissionId
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Test
import java.time.Duration
import java.time.Instant
import java.util.UUID
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertFalse
import kotlin.test.assertIs
import kotlin.test.assertNotNull
import kotlin.test.assertNull
import kotlin.test.assertTrue
import dev.submitonce.internal.Outbox as RawOutbox

/** What calls refuse, as the exceptions that an app catches. */
class RefusalsTest : OutboxTest() {
    private val secret = "geheim-4711"

    /** A sentence that says what to do, with the core's own error as the cause, and nothing private. */
    private inline fun <reified T : SubmitOnceException> refused(call: () -> Unit): T {
        val refusal = assertFailsWith<T> { call() }
        val told = generateSequence<Throwable>(refusal) { it.cause }.flatMap { listOf(it.message.orEmpty(), "$it") }
        told.forEach { assertFalse(secret in it, it) }
        assertTrue(refusal.message.orEmpty().split(' ').size >= 4, "not a sentence: ${refusal.message}")
        assertFalse("=" in refusal.message.orEmpty(), "fields, not a sentence: ${refusal.message}")
        // The core's own error for a key of the inbox has the key in its message.
        if (refusal !is SubmitOnceException.Inbox) assertNotNull(refusal.cause)
        return refusal
    }

    @Test
    fun `an ID that is none is malformed`() = test {
        val outbox = open()
        refused<SubmitOnceException.MalformedId> { SubmissionId.parse(secret) }
        refused<SubmitOnceException.MalformedId> { outbox.submit(order(UUID(0, 0))) }
        refused<SubmitOnceException.MalformedId> { outbox.snapshot(UUID(-1, -1)) }
    }

    @Test
    fun `a field that makes no sense is named`() = test {
        val outbox = open()
        assertEquals("slot", refused<SubmitOnceException.Invalid> { outbox.begin("") }.field)
        assertEquals("slot", refused<SubmitOnceException.Invalid> { outbox.discard("x".repeat(1_025)) }.field)
        val url = refused<SubmitOnceException.Invalid> {
            outbox.submit(order().copy(url = "ftp://example.com/$secret"))
        }
        assertEquals("url", url.field)
        assertTrue(url.problem.isNotEmpty())
        refused<SubmitOnceException.Invalid> { outbox.submit(order().copy(method = "p o s t")) }
        refused<SubmitOnceException.Invalid> { outbox.signIn("") }
        refused<SubmitOnceException.Invalid> { outbox.list(after = -1) }
        assertEquals(0, outbox.stats().accepted)
    }

    // P10: credentials are never stored.
    @Test
    fun `a credential among the headers is refused by name`() = test {
        val outbox = open()
        listOf("Authorization", "cookie", "Proxy-Authorization").forEach { name ->
            val refusal = refused<SubmitOnceException.HeaderRefused> {
                outbox.submit(order().copy(headers = listOf(Header(name, secret))))
            }
            assertEquals(name.lowercase(), refusal.name.lowercase())
            assertTrue(refusal.reason.isNotEmpty())
        }
    }

    @Test
    fun `a body that is too large is refused with both numbers`() = test {
        val outbox = open(limits = quick.copy(maxBodyBytes = 10uL))
        val refusal = refused<SubmitOnceException.BodyTooLarge> {
            outbox.submit(order().copy(body = Body.Bytes("text/plain", secret.toByteArray())))
        }
        assertEquals(11, refusal.bytes)
        assertEquals(10, refusal.most)
    }

    @Test
    fun `what can't hang together is refused by its field`() = test {
        val outbox = open()
        val overwriting = order().copy(method = "PUT", effect = Effect.OVERWRITE, replaces = "draft")
        val fields = listOf(
            order().copy(lanePolicy = LanePolicy.CONTINUE),
            order().copy(replaces = "draft"),
            overwriting.copy(lane = secret),
            order().copy(after = List(17) { SubmissionId.new() }),
            order().copy(priority = -101),
        ).map { refused<SubmitOnceException.Invalid> { outbox.submit(it) }.field }
        assertEquals(listOf("lane_policy", "replaces", "replaces", "after", "priority"), fields)
        assertEquals(0, outbox.stats().accepted)
        assertEquals(ReceiptKind.ACCEPTED, outbox.submit(overwriting).kind)
    }

    // P3 convergence, P8: the one that has the ID is shown.
    @Test
    fun `another submission with an ID that was used is refused with the first`() = test {
        val outbox = open()
        val first = order()
        outbox.submit(first)
        val refusal = refused<SubmitOnceException.KeyReused> {
            outbox.submit(first.copy(body = Body.Json("\"$secret\"")))
        }
        assertEquals(first.id, refusal.id)
        assertEquals(SubmissionState.Pending, refusal.existing.state)
        assertEquals(1, refusal.differs.size, "${refusal.differs}")
        assertEquals(1, outbox.stats().reuseRefused)
        assertEquals(1, outbox.list().snapshots.size)
    }

    // P11 nothing silently lost.
    @Test
    fun `a full outbox refuses what is new and still joins`() = test {
        val outbox = open(limits = quick.copy(maxQueued = 1u))
        val first = order()
        outbox.submit(first)
        assertEquals(1, refused<SubmitOnceException.QueueFull> { outbox.submit(order()) }.most)
        assertEquals(ReceiptKind.JOINED, outbox.submit(first).kind)
    }

    // P10 account isolation.
    @Test
    fun `credentials for an account that isn't signed in are refused`() = test {
        val outbox = open()
        val refusal = refused<SubmitOnceException.NotSignedIn> {
            outbox.supplyCredentials("ann", Credentials.bearer(secret))
        }
        assertEquals("ann", refusal.account)
    }

    @Test
    fun `an ID that was never submitted is unknown to every call that needs it`() = test {
        val outbox = open()
        val id = SubmissionId.new()
        assertEquals(id, refused<SubmitOnceException.UnknownId> { outbox.snapshot(id) }.id)
        refused<SubmitOnceException.UnknownId> { outbox.cancel(id) }
        refused<SubmitOnceException.UnknownId> { outbox.wake(id) }
        refused<SubmitOnceException.UnknownId> { outbox.resolve(id, 1, Resolution.GiveUp) }
        refused<SubmitOnceException.UnknownId> { outbox.wait(id, LONG) }
    }

    @Test
    fun `a decision about an older revision is stale and shows the newer`() = test {
        val outbox = open()
        val held = outbox.held()
        val refusal = refused<SubmitOnceException.Stale> {
            outbox.resolve(held.id, held.revision - 1, Resolution.GiveUp)
        }
        assertEquals(held, refusal.current)
        assertEquals(held, outbox.snapshot(held.id))
    }

    @Test
    fun `what isn't held can't be decided`() = test {
        val outbox = open()
        val receipt = outbox.submit(order())
        val refusal = refused<SubmitOnceException.NotHeld> {
            outbox.resolve(receipt.id, receipt.snapshot.revision, Resolution.GiveUp)
        }
        assertEquals(SubmissionState.Pending, refusal.current.state)
    }

    // P13 key lifetime: it is zero where the server knows no keys.
    @Test
    fun `a retry that may happen twice needs consent`() = test {
        val outbox = open()
        val held = outbox.held()
        val refusal = refused<SubmitOnceException.NeedsConsent> {
            outbox.resolve(held.id, held.revision, Resolution.RetrySameKey())
        }
        assertEquals(held, refusal.current)
        val again = outbox.resolve(held.id, held.revision, Resolution.RetrySameKey(acceptSecondEffect = true))
        assertEquals(SubmissionState.Pending, again.state)
    }

    // P11: a body that is lost after something was sent is held, never sent again.
    @Test
    fun `damaged bytes can't be retried`() = test {
        val outbox = open(limits = quick.copy(inlineBodyBytes = 16u))
        val order = order(item = "a longer body, which goes to a file")
        server.script("\"commit_then_drop\"", path = "/orders?id=${order.id}")
        outbox.submit(order)
        outbox.drain(LONG)
        folder.walk().single { it.isFile && it.parentFile.name.endsWith("-bodies") }.writeText("damaged")
        outbox.start()
        val held = assertIs<Waited.Held>(outbox.wait(order.id, LONG)).snapshot
        val refusal = refused<SubmitOnceException.CannotRetry> {
            outbox.resolve(order.id, held.revision, Resolution.RetrySameKey(acceptSecondEffect = true))
        }
        assertEquals(SubmissionState.Held(HoldReason.DAMAGED), refusal.current.state)
        assertEquals(1, server.summary().requests)
    }

    // P8: what is older than the memory is not taken for new.
    @Test
    fun `an unknown ID from before the memory of settled ones is too old`() = test {
        val tick = Duration.ofMillis(1)
        val forgetful = ServerProfile.builtIn(BuiltInProfile.STANDARD).copy(retention = tick)
        val outbox = open(limits = quick.copy(keepResults = tick, keepTombstones = tick), profile = forgetful)
        val order = order()
        // Ages are believed by a server's clock alone.
        val date = """["Date","Fri, 01 Jan 2100 00:00:00 GMT"]"""
        server.script("""{"respond":{"status":201,"headers":[$date]}}""")
        outbox.submit(order)
        outbox.drain(LONG)
        while (outbox.reconcile(listOf(order.id)).getValue(order.id) != null) outbox.retain()
        val ancient = UUID(0x0000_0000_0001_7000, Long.MIN_VALUE + 1)
        assertEquals(7, ancient.version())
        assertEquals(ancient, refused<SubmitOnceException.IdTooOld> { outbox.submit(order(ancient)) }.id)
    }

    // `wait` and `drain` are often given what is left of some other time.
    @Test
    fun `a time that is over is a look without waiting`() = test {
        val outbox = open()
        val order = order()
        outbox.submit(order)
        val past = Duration.ofSeconds(-1)
        assertIs<Waited.TimedOut>(atOnce { outbox.wait(order.id, past) })
        atOnce { outbox.drain(past) }
        refused<SubmitOnceException.Invalid> { outbox.wait(order.id, Duration.ofSeconds(Long.MAX_VALUE)) }
    }

    @Test
    fun `what the inbox refuses says what to do, and no key`() = test {
        val inbox = open().inbox
        assertEquals("scope", refused<SubmitOnceException.Invalid> { inbox.once("", "a") { } }.field)
        assertEquals("key", refused<SubmitOnceException.Invalid> { inbox.once("a", "") { } }.field)
        refused<SubmitOnceException.Invalid> { inbox.once("a", "b", lease = Duration.ofSeconds(-1)) { } }
        inbox.once("tool", secret, content = byteArrayOf(1)) { }
        refused<SubmitOnceException.Inbox.KeyReused> { inbox.once("tool", secret, content = byteArrayOf(2)) { } }
        refused<SubmitOnceException.Inbox.RunLost> { inbox.finish(InboxRun("tool", secret, 7)) }
        refused<SubmitOnceException.Inbox.NotUncertain> { inbox.decide("tool", secret, InboxDecision.RunAgain) }
        val statement = AppStatement("DELETE FROM submission WHERE url = ?1", SqlValue.Text(secret))
        assertEquals(1, refused<SubmitOnceException.Inbox.Statement> { inbox.query(statement) }.number)
    }

    @Test
    fun `the ends of time break nothing`() = test {
        val outbox = open()
        listOf(Instant.MAX, Instant.MIN, Instant.EPOCH).forEach { at ->
            val order = order().copy(expiresAt = at)
            try {
                outbox.submit(order)
                outbox.drain(LONG)
                assertTrue(outbox.snapshot(order.id).state.isFinal)
            } catch (refusal: SubmitOnceException.Invalid) {
                assertTrue(refusal.field.isNotEmpty())
            }
        }
    }

    // Those that no test here can provoke are at least translated.
    @Test
    fun `every error of the core has an exception of its own`() {
        val snapshot = runBlocking { open().run { submit(order()); rawSnapshot() } }
        val id = SubmissionId.new()
        val raw = listOf(
            OutboxException.Closed(), OutboxException.MalformedId(), OutboxException.Invalid("a", "b"),
            OutboxException.HeaderRefused("a", "b"), OutboxException.BodyTooLarge(2uL, 1uL),
            OutboxException.UnknownParent(id), OutboxException.KeyReused(id, snapshot, listOf("url")),
            OutboxException.IdTooOld(id), OutboxException.QueueFull(1u), OutboxException.NotSignedIn("a"),
            OutboxException.UnknownId(id), OutboxException.Stale(snapshot), OutboxException.NotHeld(snapshot),
            OutboxException.NeedsConsent(snapshot), OutboxException.CannotRetry(snapshot),
            StorageException.Full(), StorageException.Busy(), StorageException.Unavailable("a"),
            StorageException.Corrupt("a"), StorageException.Moved(), StorageException.Indeterminate(),
            StorageException.Internal("a"), OpenException.InvalidConfig("a", "b"), OpenException.IsDirectory(),
            OpenException.ReadOnly(), OpenException.NotAnOutbox("a"), OpenException.SchemaTooNew(9, 1),
            OpenException.AlreadyOpen(), OpenException.Setup("a"), InboxException.Statement(1u, "b"),
        )
        val translated = raw.associateWith { assertNotNull(it.translated(), "$it") }
        translated.forEach { (raw, exception) ->
            assertEquals(raw::class.simpleName, exception::class.simpleName)
            assertEquals(raw, exception.cause)
            assertEquals(raw.toString(), exception.message)
        }
        assertEquals(raw.size, translated.values.map { it::class }.toSet().size)
    }

    @Test
    fun `what the boundary itself throws is translated too`() {
        val full = OutboxException.Storage(StorageException.Full()).translated()
        assertIs<SubmitOnceException.Storage.Full>(full)
        val busy = OpenException.Storage(StorageException.Busy()).translated()
        assertIs<SubmitOnceException.Storage.Busy>(busy)
        listOf(
            InboxException.KeyReused("a", secret), InboxException.RunLost("a", secret),
            InboxException.NotUncertain("a", secret),
        ).forEach { raw ->
            val exception = assertIs<SubmitOnceException.Inbox>(raw.translated())
            assertEquals(raw::class.simpleName, exception::class.simpleName)
            assertEquals(raw.toString() to null, exception.message to exception.cause)
        }
        // What the inbox has in common with the outbox.
        assertIs<SubmitOnceException.Closed>(InboxException.Closed().translated())
        val invalid = assertIs<SubmitOnceException.Invalid>(InboxException.Invalid("scope", "it is empty").translated())
        assertEquals("scope" to "it is empty", invalid.field to invalid.problem)
        assertIs<SubmitOnceException.Storage.Full>(InboxException.Storage(StorageException.Full()).translated())
        assertIs<SubmitOnceException.Internal>(InternalException("a panic").translated())
        assertIs<SubmitOnceException.MalformedId>(
            assertFailsWith<IdException> { parseSubmissionId("no") }.translated(),
        )
        // What isn't the core's is left alone, cancellations above all.
        assertNull(CancellationException("stop").translated())
        assertNull(IllegalStateException("the app's own").translated())
        val own = IllegalStateException("the app's own")
        assertEquals(own, assertFailsWith<IllegalStateException> { translated { throw own } })
    }

    private fun rawSnapshot() = RawOutbox
        .open(OutboxConfig(database().path, baseUrl = server.url, limits = quick))
        .use { it.list(ListFilter(), PageRequest(0, 1u)).snapshots.single() }
}
