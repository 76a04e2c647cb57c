package dev.submitonce

import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import org.junit.jupiter.api.Test
import java.time.Duration
import java.time.Instant
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertFalse
import kotlin.test.assertIs
import kotlin.test.assertNull
import kotlin.test.assertTrue

/** The calls about many: lanes, decisions for all that is held, and signing out. */
class OrderTest : OutboxTest() {
    @Test
    fun `a lane stops where one is rejected, and goes on once it is released`() = test {
        val outbox = open()
        val (first, second) = List(2) { order().copy(lane = "orders") }
        server.script("""{"respond":{"status":400}}""", path = first.url)
        outbox.submitAll(listOf(first, second))
        assertEquals(WaitingFor.Lane(first.id), outbox.snapshot(second.id).waitingFor)
        assertFalse(outbox.releaseLane("orders"))
        outbox.drain(LONG)
        assertIs<SubmissionState.Rejected>(outbox.snapshot(first.id).state)
        assertEquals(WaitingFor.Lane(first.id), outbox.snapshot(second.id).waitingFor)
        assertFalse(outbox.releaseLane("orders", account = "ann"))
        assertTrue(outbox.releaseLane("orders"))
        outbox.drain(LONG)
        val ended = outbox.snapshot(second.id)
        assertEquals(SubmissionState.Succeeded to "orders", ended.state to ended.lane)
    }

    @Test
    fun `a lane's policy is the submission's own`() = test {
        val outbox = open()
        val ends = LanePolicy.entries.associateWith { policy ->
            val (first, second) = List(2) { order().copy(lane = "$policy", lanePolicy = policy) }
            server.script("""{"respond":{"status":400}}""", path = first.url)
            outbox.submitAll(listOf(first, second))
            outbox.drain(LONG)
            outbox.snapshot(second.id).state
        }
        assertEquals(
            mapOf(
                LanePolicy.BLOCK to SubmissionState.Pending,
                LanePolicy.CONTINUE to SubmissionState.Succeeded,
                LanePolicy.REJECT_REST to SubmissionState.Rejected(RejectReason.DEPENDENCY),
            ),
            ends,
        )
    }

    @Test
    fun `a newer version supersedes one that wasn't sent`() = test {
        val outbox = open()
        val (older, newer) = List(2) { order(effect = Effect.OVERWRITE).copy(method = "PUT", replaces = "draft/1") }
        outbox.submitAll(listOf(older, newer))
        val snapshot = outbox.snapshot(older.id)
        assertEquals(SubmissionState.Superseded(newer.id) to "draft/1", snapshot.state to snapshot.replaces)
    }

    @Test
    fun `a child waits for its parent and takes what it needs from the result`() = test {
        val outbox = open()
        val parent = order()
        val number = PartSource.JsonPointer("/effect")
        val child = order().copy(
            after = listOf(parent.id),
            parts = listOf(
                ParentPart(parent.id, number, PartTarget.Json("/parent")),
                ParentPart(parent.id, number, PartTarget.Query("parent")),
                ParentPart(parent.id, number, PartTarget.Header("X-Parent")),
            ),
        )
        assertEquals(parent.id, assertFailsWith<SubmitOnceException.UnknownParent> { outbox.submit(child) }.id)
        outbox.submit(parent)
        assertEquals(WaitingFor.Parent(parent.id), outbox.submit(child).snapshot.waitingFor)
        outbox.start()
        assertIs<Waited.Settled>(outbox.wait(child.id, LONG))
        val sent = server.records().last().jsonObject
        val effect = outbox.snapshot(parent.id).outcome?.text.orEmpty().let { Regex("\\d+").find(it)?.value }
        val body = """{"parent":$effect,"item":"tea"}"""
        assertEquals(sha256(body.toByteArray()), sent.getValue("body_sha256").jsonPrimitive.content)
        assertTrue("$sent".contains("parent=$effect"), "$sent")
    }

    @Test
    fun `a part that the parent's result lacks is supplied`() = test {
        val outbox = open()
        val parent = order()
        val into = PartTarget.Json("/parent")
        val child = order().copy(parts = listOf(ParentPart(parent.id, PartSource.JsonPointer("/nothing"), into)))
        outbox.submitAll(listOf(parent, child))
        outbox.start()
        val held = assertIs<Waited.Held>(outbox.wait(child.id, LONG)).snapshot
        assertEquals(SubmissionState.Held(HoldReason.PARENT_RESULT_MISSING), held.state)
        outbox.resolve(child.id, held.revision, Resolution.FillParts(listOf(PartValue(into, "\"A-17\""))))
        assertIs<Waited.Settled>(outbox.wait(child.id, LONG))
        val body = """{"parent":"A-17","item":"tea"}"""
        assertEquals(sha256(body.toByteArray()), server.records().last().jsonObject.getValue("body_sha256").jsonPrimitive.content)
    }

    @Test
    fun `a decision about everything held for a reason leaves what is held for another`() = test {
        val outbox = open()
        val held = outbox.held()
        assertEquals(SubmissionState.Held(HoldReason.OUTCOME_UNKNOWN), held.state)
        assertEquals(ResolvedAll(0, 0), outbox.resolveAll(HoldReason.RESTORED, Resolution.GiveUp))
        // A server without keys: nothing is sent again without consent.
        assertEquals(ResolvedAll(0, 1), outbox.resolveAll(HoldReason.OUTCOME_UNKNOWN, Resolution.RetrySameKey()))
        assertEquals(held, outbox.snapshot(held.id))
        assertEquals(ResolvedAll(1, 0), outbox.resolveAll(HoldReason.OUTCOME_UNKNOWN, Resolution.GiveUp))
        assertEquals(SubmissionState.Abandoned, outbox.snapshot(held.id).state)
    }

    // Whose background run is needed for what goes on, is scheduled.
    @Test
    fun `what may go on has a run scheduled`() = test {
        val asked = mutableListOf<RunNetwork>()
        val scheduler = object : RunScheduler {
            override suspend fun append(network: RunNetwork) {
                asked += network
            }

            override suspend fun ensure(network: RunNetwork) = Unit

            override suspend fun later(at: Instant) = Unit

            override suspend fun notLater() = Unit
        }
        val calls: List<suspend (Outbox) -> Any> = listOf(
            { it.releaseLane("orders") },
            { it.resolveAll(HoldReason.RESTORED, Resolution.GiveUp) },
        )
        calls.forEachIndexed { number, call ->
            asked.clear()
            Outbox.open(database("$number.sqlite3"), baseUrl = server.url, scheduler = scheduler).use { call(it) }
            assertEquals(listOf(RunNetwork.ANY), asked)
        }
    }

    // P10, P11.
    @Test
    fun `signing out keeps what was submitted or ends it, as it is told`() = test {
        val outbox = open()
        val nobodys = order()
        outbox.submit(nobodys)
        assertEquals(SignedOutReport(null, 0, 0, 0, 0), outbox.signOut(SignOut.PURGE))
        outbox.signIn("ann")
        val anns = order(account = "ann")
        outbox.submit(anns)
        assertEquals(SignedOutReport("ann", 1, 0, 0, 0), outbox.signOut())
        assertNull(outbox.signedIn())
        assertEquals(WaitingFor.SignedOut, outbox.snapshot(anns.id).waitingFor)
        outbox.start()
        assertIs<Waited.Settled>(outbox.wait(nobodys.id, LONG))
        assertIs<Waited.TimedOut>(outbox.wait(anns.id, Duration.ZERO))
        outbox.signIn("ann")
        assertEquals(SignedOutReport("ann", 0, 1, 0, 0), outbox.signOut(SignOut.PURGE))
        val purged = outbox.snapshot(anns.id)
        assertEquals(SubmissionState.Cancelled to "", purged.state to purged.url)
    }

    @Test
    fun `parts that nothing lacks can't be supplied`() = test {
        val outbox = open()
        val held = outbox.held()
        val parts = Resolution.FillParts(listOf(PartValue(PartTarget.Json("/order_id"), "7")))
        val refusal = assertFailsWith<SubmitOnceException.Invalid> { outbox.resolve(held.id, held.revision, parts) }
        assertEquals("resolution", refusal.field)
        assertEquals(held, outbox.snapshot(held.id))
    }
}
