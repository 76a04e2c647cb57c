package dev.submitonce

import org.junit.jupiter.api.Test
import java.time.Duration
import java.time.Instant
import java.util.UUID
import kotlin.test.assertEquals
import kotlin.test.assertNull
import dev.submitonce.internal.BatchConfig as RawBatchConfig
import dev.submitonce.internal.BatchFormat as RawBatchFormat
import dev.submitonce.internal.Fetched as RawFetched
import dev.submitonce.internal.InboxAnswer as RawInboxAnswer
import dev.submitonce.internal.InboxDecision as RawInboxDecision
import dev.submitonce.internal.InboxItem as RawInboxItem
import dev.submitonce.internal.ParentPart as RawParentPart
import dev.submitonce.internal.PartSource as RawPartSource
import dev.submitonce.internal.PartTarget as RawPartTarget
import dev.submitonce.internal.PartValue as RawPartValue
import dev.submitonce.internal.RecordReceipt as RawRecordReceipt
import dev.submitonce.internal.Resolution as RawResolution
import dev.submitonce.internal.ResolvedAll as RawResolvedAll
import dev.submitonce.internal.SignedOutReport as RawSignedOutReport
import dev.submitonce.internal.Snapshot as RawSnapshot
import dev.submitonce.internal.SubmissionState as RawState
import dev.submitonce.internal.UploadProgress as RawProgress
import dev.submitonce.internal.WaitingFor as RawWaitingFor

/** What goes in and comes out has the same values on both sides: each one differs, so that none is mistaken. */
class ConversionTest {
    private val now: Instant = Instant.parse("2026-01-02T03:04:05Z")
    private val id = UUID(1, 2)
    private val other = UUID(3, 4)

    @Test
    fun `how submissions hang together goes in as it is`() {
        val probe = StatusProbe("/orders?client_id={id}", "/0", missingMeansNotApplied = false, ofKeyRecord = true)
        val raw = Submission(
            id,
            "/orders",
            lane = "orders",
            lanePolicy = LanePolicy.REJECT_REST,
            replaces = "draft/42",
            after = listOf(other),
            parts = listOf(
                ParentPart(other, PartSource.JsonPointer("/id"), PartTarget.Path("{order}")),
                ParentPart(id, PartSource.Header("ETag"), PartTarget.Query("of")),
                ParentPart(other, PartSource.Header("Location"), PartTarget.Header("X-From")),
                ParentPart(id, PartSource.JsonPointer(""), PartTarget.Json("/order")),
            ),
            probe = probe,
        ).lowered()
        assertEquals("orders" to dev.submitonce.internal.LanePolicy.REJECT_REST, raw.lane to raw.lanePolicy)
        assertEquals("draft/42" to listOf(other), raw.replaces to raw.after)
        assertEquals(
            listOf(
                RawParentPart(other, RawPartSource.JsonPointer("/id"), RawPartTarget.Path("{order}")),
                RawParentPart(id, RawPartSource.Header("ETag"), RawPartTarget.Query("of")),
                RawParentPart(other, RawPartSource.Header("Location"), RawPartTarget.Header("X-From")),
                RawParentPart(id, RawPartSource.JsonPointer(""), RawPartTarget.Json("/order")),
            ),
            raw.parts,
        )
        assertEquals(probe, raw.probe)
    }

    @Test
    fun `what is left out is left out`() {
        val raw = Submission(id, "/orders").lowered()
        assertEquals(listOf(null, null, null, null), listOf(raw.lane, raw.lanePolicy, raw.replaces, raw.probe))
        assertEquals(emptyList<Any>(), raw.after + raw.parts)
        val probe = StatusProbe("/orders/1")
        assertEquals(Triple(null, true, false), Triple(probe.pointer, probe.missingMeansNotApplied, probe.ofKeyRecord))
        val filter = ListFilter()
        assertEquals(
            listOf(null, null, null, null, null),
            listOf(filter.state, filter.reason, filter.account, filter.lane, filter.replaces),
        )
    }

    @Test
    fun `every decision goes in as it is`() {
        val decisions = mapOf(
            Resolution.RetrySameKey() to RawResolution.RetrySameKey(false),
            Resolution.RetrySameKey(acceptSecondEffect = true) to RawResolution.RetrySameKey(true),
            Resolution.ItHappened() to RawResolution.ItHappened(null),
            Resolution.ItHappened("7") to RawResolution.ItHappened("7"),
            Resolution.GiveUp to RawResolution.GiveUp,
            Resolution.FillParts(listOf(PartValue(PartTarget.Json("/id"), "\"A\""), PartValue(PartTarget.Query("of"), "7"))) to
                RawResolution.FillParts(
                    listOf(RawPartValue(RawPartTarget.Json("/id"), "\"A\""), RawPartValue(RawPartTarget.Query("of"), "7")),
                ),
        )
        decisions.forEach { (decision, raw) -> assertEquals(raw, decision.lowered()) }
    }

    @Test
    fun `everything that may be waited for comes out as it is`() {
        val waits = mapOf(
            RawWaitingFor.Due(now) to WaitingFor.Due(now),
            RawWaitingFor.Network(now) to WaitingFor.Network(now),
            RawWaitingFor.Certificate(now, true) to WaitingFor.Certificate(now, true),
            RawWaitingFor.Unmetered to WaitingFor.Unmetered,
            RawWaitingFor.Gate(now) to WaitingFor.Gate(now),
            RawWaitingFor.Credentials to WaitingFor.Credentials,
            RawWaitingFor.SignedOut to WaitingFor.SignedOut,
            RawWaitingFor.Lane(id) to WaitingFor.Lane(id),
            RawWaitingFor.Newer(id) to WaitingFor.Newer(id),
            RawWaitingFor.Older(id) to WaitingFor.Older(id),
            RawWaitingFor.Parent(id) to WaitingFor.Parent(id),
            RawWaitingFor.Probe(now) to WaitingFor.Probe(now),
        )
        waits.forEach { (raw, waiting) -> assertEquals(waiting, raw.lifted()) }
        // As many as there are, or a new one was left out.
        assertEquals(RawWaitingFor::class.sealedKinds(), waits.keys.map { it::class.java }.toSet())
        assertEquals(WaitingFor::class.sealedKinds(), waits.values.map { it::class.java }.toSet())
    }

    /** The classes in a sealed one, but for the companion. */
    private fun kotlin.reflect.KClass<*>.sealedKinds(): Set<Class<*>> =
        java.declaredClasses.filter { java.isAssignableFrom(it) }.toSet()

    @Test
    fun `a snapshot comes out with all that is in it`() {
        val later = now.plusSeconds(7)
        val raw = RawSnapshot(
            id = id,
            account = "ann",
            method = "PUT",
            url = "https://example.com/drafts/1",
            effect = Effect.OVERWRITE,
            lane = "orders",
            replaces = "draft/1",
            state = RawState.Superseded(other),
            revision = 5,
            waitingFor = RawWaitingFor.Parent(other),
            attempts = 3u,
            nextAttemptAt = later,
            inDoubt = true,
            acceptedAt = now,
            progress = RawProgress(id, 11uL, 13uL),
            lastProblem = "a time-out",
            outcome = null,
            lateEvidence = "it came late",
        )
        val expected = Snapshot(
            id = id,
            account = "ann",
            method = "PUT",
            url = "https://example.com/drafts/1",
            effect = Effect.OVERWRITE,
            lane = "orders",
            replaces = "draft/1",
            state = SubmissionState.Superseded(other),
            revision = 5,
            waitingFor = WaitingFor.Parent(other),
            attempts = 3,
            nextAttemptAt = later,
            inDoubt = true,
            acceptedAt = now,
            progress = UploadProgress(id, 11, 13),
            lastProblem = "a time-out",
            outcome = null,
            lateEvidence = "it came late",
        )
        assertEquals(expected, raw.lifted())
        val bare = raw.copy(lane = null, replaces = null, nextAttemptAt = null, progress = null).lifted()
        assertEquals(listOf(null, null), listOf(bare.lane, bare.replaces))
        assertNull(bare.nextAttemptAt)
        assertNull(bare.progress)
    }

    @Test
    fun `a batch's terms go in as they are`() {
        val headers = listOf(Header("X-Shop", "north"))
        val raw = BatchConfig(
            key = "logs", url = "/logs", account = "ann", method = "PUT", effect = Effect.OVERWRITE, headers = headers,
            format = BatchFormat.JsonObject("events"), idMember = "event", maxRecords = 3, maxBytes = 5,
            maxAge = Duration.ofSeconds(7), priority = 11, unmeteredOnly = true,
        ).lowered()
        val expected = RawBatchConfig(
            key = "logs", url = "/logs", account = "ann", method = "PUT", effect = Effect.OVERWRITE, headers = headers,
            format = RawBatchFormat.JsonObject("events"), idMember = "event", maxRecords = 3u, maxBytes = 5u,
            maxAge = Duration.ofSeconds(7), priority = 11, unmeteredOnly = true,
        )
        assertEquals(expected, raw)
        // What is left out is the core's own default.
        val defaults = RawBatchConfig(key = "logs", url = "/logs")
        val plain = BatchConfig("logs", "/logs").lowered()
        assertEquals(defaults.copy(format = RawBatchFormat.JsonArray), plain)
        assertEquals(RawBatchFormat.Ndjson, BatchConfig("logs", "/logs", format = BatchFormat.Ndjson).lowered().format)
        assertEquals(RecordReceipt("r1", id), RawRecordReceipt("r1", id, true).lifted())
    }

    @Test
    fun `what the inbox is given and gives is the same on both sides`() {
        val bytes = byteArrayOf(1, 2)
        val lease = Duration.ofSeconds(7)
        val item = InboxItem("push", "m-1", InboxPolicy.AT_MOST_ONCE, bytes, lease).lowered()
        assertEquals(RawInboxItem("push", "m-1", bytes, InboxPolicy.AT_MOST_ONCE, lease), item)
        val run = InboxRun("push", "m-1", 3)
        val answers = mapOf(
            RawInboxAnswer.Run(run) to InboxAnswer.Run(run),
            RawInboxAnswer.Busy(now) to InboxAnswer.Busy(now),
            RawInboxAnswer.Done(bytes, true, now) to InboxAnswer.Done(bytes, true, now),
            RawInboxAnswer.Uncertain(now) to InboxAnswer.Uncertain(now),
        )
        answers.forEach { (raw, answer) -> assertEquals(answer, raw.lifted()) }
        assertEquals(RawInboxAnswer::class.sealedKinds(), answers.keys.map { it::class.java }.toSet())
        assertEquals(RawInboxDecision.Happened(bytes), InboxDecision.Happened(bytes).lowered())
        assertEquals(RawInboxDecision.RunAgain, InboxDecision.RunAgain.lowered())
    }

    @Test
    fun `a fetched value comes out with all that is in it`() {
        val headers = listOf(Header("ETag", "\"v1\""))
        val (bytes, later) = byteArrayOf(1) to now.plusSeconds(7)
        val raw = RawFetched(id, 203u, "text/plain", headers, bytes, now, later)
        assertEquals(Fetched(id, 203, "text/plain", headers, bytes, now, later), raw.lifted())
    }

    @Test
    fun `what became of many comes out as it is`() {
        assertEquals(ResolvedAll(3, 5), RawResolvedAll(3u, 5u).lifted())
        assertEquals(SignedOutReport("ann", 2, 3, 5, 7), RawSignedOutReport("ann", 2u, 3u, 5u, 7u).lifted())
        assertNull(RawSignedOutReport(null, 0u, 0u, 0u, 0u).lifted().account)
    }
}
