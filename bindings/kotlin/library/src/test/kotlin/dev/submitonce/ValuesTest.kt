package dev.submitonce

import org.junit.jupiter.api.Test
import java.io.File
import java.time.Duration
import java.time.Instant
import java.util.UUID
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertFalse
import kotlin.test.assertNotEquals
import kotlin.test.assertNull
import kotlin.test.assertTrue

/** The values that go in and come out. */
class ValuesTest {
    private val secret = "geheim-4711"
    private val now: Instant = Instant.parse("2026-01-02T03:04:05Z")

    private fun outcome(body: ByteArray? = secret.toByteArray(), status: Int? = 201) =
        Outcome(status, "text/plain", listOf(Header("Set-Cookie", secret)), body, false, now)

    private fun snapshot() = Snapshot(
        id = UUID(1, 2),
        account = secret,
        method = "POST",
        url = "https://example.com/$secret",
        effect = Effect.KEYED,
        lane = secret,
        replaces = secret,
        state = SubmissionState.Succeeded,
        revision = 3,
        waitingFor = null,
        attempts = 1,
        nextAttemptAt = null,
        inDoubt = false,
        acceptedAt = now,
        progress = null,
        lastProblem = null,
        outcome = outcome(),
        lateEvidence = null,
    )

    private fun assertHides(value: Any) = assertFalse(secret in value.toString(), value.toString())

    // Everything that ends up in logs.
    @Test
    fun `a submission's text shows neither its body nor its URL nor its headers`() {
        val submission = Submission(
            UUID(1, 2),
            "https://example.com/$secret",
            Body.Json(secret),
            account = secret,
            headers = listOf(Header("X-Name", secret)),
            lane = secret,
        )
        assertHides(submission)
        assertTrue("00000000-0000-0001-0000-000000000002" in submission.toString())
    }

    @Test
    fun `a body's text shows its size at most`() {
        assertHides(Body.Json(secret))
        assertHides(Body.Bytes(secret, secret.toByteArray()))
        assertHides(Body.FromFile(secret, File("/home/$secret")))
        assertEquals("Bytes(3 bytes)", Body.Bytes("a/b", byteArrayOf(1, 2, 3)).toString())
    }

    @Test
    fun `a snapshot's text shows how it stands and not whose it is`() {
        assertHides(snapshot())
        assertTrue("Succeeded" in snapshot().toString())
    }

    @Test
    fun `whatever holds a snapshot hides what the snapshot hides`() {
        assertHides(Receipt(UUID(1, 2), ReceiptKind.ACCEPTED, snapshot()))
        assertHides(Waited.Settled(snapshot()))
        assertHides(Waited.Held(snapshot()))
        assertHides(Waited.TimedOut(snapshot()))
        assertHides(CancelOutcome.AlreadyFinal(snapshot()))
        assertHides(CancelOutcome.MayHaveHappened(snapshot()))
        assertHides(Page(listOf(snapshot()), null))
    }

    @Test
    fun `an outcome's text shows the status and the size`() {
        assertHides(outcome())
        assertEquals("Outcome(status=201, bytes=11, resultMissing=false)", outcome().toString())
    }

    @Test
    fun `credentials and headers show no values`() {
        assertHides(Credentials.bearer(secret, now))
        assertHides(Credentials(listOf(Header("Authorization", secret))))
        assertHides(Header("Authorization", secret))
        assertTrue(now.toString() in Credentials.bearer(secret, now).toString())
    }

    @Test
    fun `a result that somebody typed in is hidden`() {
        assertHides(Resolution.ItHappened(secret))
        assertHides(Resolution.FillParts(listOf(PartValue(PartTarget.Query("of"), secret))))
    }

    @Test
    fun `a probe's text hides where it asks, and a report's whose it is`() {
        assertHides(StatusProbe("/orders?name=$secret", "/0"))
        assertHides(SignedOutReport(secret, 1, 2, 3, 4))
    }

    @Test
    fun `what the inbox is given and gives hides keys, contents and results`() {
        val bytes = secret.toByteArray()
        listOf(
            InboxItem("push", secret, InboxPolicy.AT_MOST_ONCE, bytes), InboxRun("push", secret, 1),
            InboxAnswer.Run(InboxRun("push", secret, 1)), InboxAnswer.Done(bytes, false, now), Once.Ran(secret),
            Once.Before(secret, false, now), InboxDecision.Happened(bytes), UncertainItem("push", secret, now, 1),
            AppStatement("SELECT ?1", SqlValue.Text(secret)), SqlValue.Text(secret), SqlValue.Blob(bytes),
        ).forEach(::assertHides)
        assertTrue("push" in InboxItem("push", secret, InboxPolicy.AT_MOST_ONCE).toString())
    }

    @Test
    fun `a batch's and a fetched value's text hide where they go and what is in them`() {
        val headers = listOf(Header("X-Name", secret))
        assertHides(BatchConfig("logs", "/$secret", account = secret, headers = headers))
        assertHides(Fetched(UUID(1, 2), 200, "text/plain", headers, secret.toByteArray(), now, now))
    }

    @Test
    fun `what holds bytes is equal by its content`() {
        fun values(bytes: ByteArray, at: Instant = now) = listOf(
            InboxItem("a", "b", InboxPolicy.AT_MOST_ONCE, bytes), InboxAnswer.Done(bytes, false, at),
            InboxDecision.Happened(bytes), SqlValue.Blob(bytes),
            Fetched(UUID(1, 2), 200, null, emptyList(), bytes, at, at),
        )
        values(byteArrayOf(1)).zip(values(byteArrayOf(1))).forEach { (one, same) ->
            assertEquals(one, same)
            assertEquals(one.hashCode(), same.hashCode())
        }
        values(byteArrayOf(1)).zip(values(byteArrayOf(2))).forEach { (one, other) -> assertNotEquals(one, other) }
        assertEquals(Once.Before("a", false, now), Once.Before("a", false, now))
        assertNotEquals(Once.Before("a", false, now), Once.Before("b", false, now))
        assertNotEquals<Once<String>>(Once.Ran("a"), Once.Ran("b"))
    }

    // It grows while nothing has changed, so that it must not make a snapshot another one.
    @Test
    fun `a snapshot's age is counted from its acceptance and never less than nothing`() {
        val anHourAgo = Instant.now().minus(Duration.ofHours(1))
        val snapshot = snapshot().copy(acceptedAt = anHourAgo)
        assertTrue(snapshot.age in Duration.ofHours(1)..Duration.ofHours(2), "${snapshot.age}")
        assertEquals(snapshot, snapshot().copy(acceptedAt = anHourAgo))
        assertEquals(Duration.ZERO, snapshot().copy(acceptedAt = Instant.now().plus(Duration.ofDays(1))).age)
    }

    @Test
    fun `outcomes are equal by their content`() {
        assertEquals(outcome(), outcome())
        assertEquals(outcome().hashCode(), outcome().hashCode())
        assertEquals(snapshot(), snapshot())
        assertNotEquals(outcome(), outcome(body = null))
        assertNotEquals(outcome(body = byteArrayOf(1)), outcome(body = byteArrayOf(2)))
        assertNotEquals(outcome(), outcome(status = null))
        assertFalse(outcome().equals(null))
    }

    @Test
    fun `bodies of bytes are equal by their content`() {
        val body = Body.Bytes("image/png", byteArrayOf(1, 2))
        assertEquals(body, Body.Bytes("image/png", byteArrayOf(1, 2)))
        assertEquals(body.hashCode(), Body.Bytes("image/png", byteArrayOf(1, 2)).hashCode())
        assertNotEquals(body, Body.Bytes("image/png", byteArrayOf(1, 3)))
        assertNotEquals(body, Body.Bytes("image/jpeg", byteArrayOf(1, 2)))
        assertEquals(Submission(UUID(1, 2), "/", body), Submission(UUID(1, 2), "/", body))
    }

    @Test
    fun `an outcome gives its body as text`() {
        assertEquals(secret, outcome().text)
        assertNull(outcome(body = null).text)
    }

    // These compile only while they are exhaustive without `else`.
    @Test
    fun `a when over what a call returns needs no else`() {
        fun name(state: SubmissionState): String = when (state) {
            SubmissionState.Pending, SubmissionState.InFlight -> "on its way"
            is SubmissionState.Held -> "held: ${state.reason}"
            SubmissionState.Succeeded -> "done"
            is SubmissionState.Rejected -> "refused: ${state.reason}"
            SubmissionState.Cancelled, SubmissionState.Expired, SubmissionState.Abandoned -> "over"
            is SubmissionState.Superseded -> "replaced by ${state.by}"
        }
        fun name(waited: Waited): String = when (waited) {
            is Waited.Settled -> "settled"
            is Waited.Held -> "held"
            is Waited.TimedOut -> "later"
        }
        fun name(cancelled: CancelOutcome): String = when (cancelled) {
            CancelOutcome.Cancelled -> "never happened"
            is CancelOutcome.AlreadyFinal -> "too late"
            is CancelOutcome.MayHaveHappened -> "perhaps"
        }
        fun name(waiting: WaitingFor): String = when (waiting) {
            is WaitingFor.Due -> "its turn at ${waiting.at}"
            is WaitingFor.Network -> "a network"
            is WaitingFor.Certificate -> "a certificate"
            WaitingFor.Unmetered -> "Wi-Fi"
            is WaitingFor.Gate -> "the host"
            WaitingFor.Credentials -> "credentials"
            WaitingFor.SignedOut -> "its account"
            is WaitingFor.Lane -> "${waiting.id} before it"
            is WaitingFor.Newer -> "${waiting.id} after it"
            is WaitingFor.Older -> "${waiting.id}, which is older"
            is WaitingFor.Parent -> "${waiting.id}, its parent"
            is WaitingFor.Probe -> "an answer at ${waiting.at}"
        }
        fun name(event: FeedEvent): String = when (event) {
            is FeedEvent.Change -> "changed"
            is FeedEvent.Resync -> "anew"
        }
        fun name(once: Once<String>): String = when (once) {
            is Once.Ran -> "ran: ${once.result}"
            is Once.Before -> "before: ${once.result}"
            is Once.Busy -> "since ${once.since}"
            is Once.Uncertain -> "perhaps"
        }
        assertEquals("perhaps", name(Once.Uncertain(now)))
        assertEquals("held: OUTCOME_UNKNOWN", name(SubmissionState.Held(HoldReason.OUTCOME_UNKNOWN)))
        assertEquals("later", name(Waited.TimedOut(snapshot())))
        assertEquals("never happened", name(CancelOutcome.Cancelled))
        assertEquals("Wi-Fi", name(WaitingFor.Unmetered))
        assertEquals("anew", name(FeedEvent.Resync(7)))
    }

    // P7 from the outside.
    @Test
    fun `the final states know that they are`() {
        val final = listOf(
            SubmissionState.Succeeded,
            SubmissionState.Rejected(RejectReason.REFUSED),
            SubmissionState.Cancelled,
            SubmissionState.Expired,
            SubmissionState.Superseded(UUID(1, 2)),
            SubmissionState.Abandoned,
        )
        assertTrue(final.all { it.isFinal })
        val others =
            listOf(SubmissionState.Pending, SubmissionState.InFlight, SubmissionState.Held(HoldReason.CONFLICT))
        assertTrue(others.none { it.isFinal })
    }

    @Test
    fun `new IDs are of version 7 and in the order of time`() {
        val ids = List(100) { SubmissionId.new() }
        assertTrue(ids.all { it.version() == 7 })
        assertEquals(100, ids.toSet().size)
        assertTrue(ids.first().mostSignificantBits ushr 16 <= ids.last().mostSignificantBits ushr 16)
    }

    @Test
    fun `derived IDs are the same everywhere and depend on every part`() {
        val id = SubmissionId.derived("ann", "order", "17")
        assertEquals(5, id.version())
        assertEquals(id, SubmissionId.derived("ann", "order", "17"))
        val others = listOf(
            SubmissionId.derived(null, "order", "17"),
            SubmissionId.derived("", "order", "17"),
            SubmissionId.derived("ann", "order1", "7"),
            SubmissionId.derived("annorder", "", "17"),
        )
        assertEquals(4, (others - id).toSet().size)
    }

    @Test
    fun `an ID is read from 36 characters and from nothing else`() {
        val id = SubmissionId.new()
        assertEquals(id, SubmissionId.parse(id.toString()))
        val bad = listOf("", "1-2-3-4-5", "$id ", "{$id}", UUID(0, 0).toString(), UUID(-1, -1).toString(), "\u0000")
        bad.forEach { assertFailsWith<SubmitOnceException.MalformedId>(it) { SubmissionId.parse(it) } }
    }

    @Test
    fun `a profile is copied with some of it changed`() {
        val standard = ServerProfile.builtIn(BuiltInProfile.STANDARD)
        assertEquals(standard, standard.copy())
        assertEquals(standard.hashCode(), standard.copy().hashCode())
        val other = standard.copy(quietTime = Duration.ofSeconds(3), keyPlace = KeyPlace.Query("requestId"))
        assertNotEquals(standard, other)
        assertEquals(Duration.ofSeconds(3), other.quietTime)
        assertEquals(standard.retention, other.retention)
        assertNull(other.copy(retention = null).retention)
        assertTrue(standard.copy(latestWins = true).raw.latestWins)
        assertFalse(standard.copy(latestWins = true).copy(latestWins = false).raw.latestWins)
        assertEquals(Effect.KEYED, standard.effect)
        assertTrue(standard.name in standard.toString())
        val places = listOf(
            KeyPlace.Header("X-Key"),
            KeyPlace.JsonPointer("/key"),
            KeyPlace.Query("key"),
            KeyPlace.Path("{key}"),
            KeyPlace.Nowhere,
        )
        assertEquals(5, places.map { standard.copy(keyPlace = it) }.toSet().size)
    }

    @Test
    fun `a profile that makes no sense says what is wrong`() {
        val problem = assertFailsWith<SubmitOnceException.Invalid> { ServerProfile.fromJson("""{"nonsense":1}""") }
        assertTrue("nonsense" in problem.problem, problem.problem)
        assertFailsWith<SubmitOnceException.Invalid> { ServerProfile.fromJson("{") }
    }
}
