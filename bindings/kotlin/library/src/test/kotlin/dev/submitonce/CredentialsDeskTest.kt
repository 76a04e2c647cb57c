package dev.submitonce

import dev.submitonce.internal.OutboxConfig
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.cancel
import kotlinx.coroutines.channels.Channel
import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.Test
import java.util.concurrent.atomic.AtomicInteger
import kotlin.test.assertEquals
import kotlin.test.assertIs
import kotlin.test.assertNull
import kotlin.test.assertTrue
import dev.submitonce.internal.Outbox as RawOutbox

/** Which of the core's questions reach the provider, and when. */
class CredentialsDeskTest : OutboxTest() {
    private val scope = CoroutineScope(SupervisorJob() + Dispatchers.Default)
    private val raw by lazy { RawOutbox.open(OutboxConfig(database().path, limits = quick)) }
    private val questions = Channel<Pair<String, CredentialsReason>>(Channel.UNLIMITED)
    private val inside = AtomicInteger()

    private fun desk(answer: suspend (account: String, reason: CredentialsReason) -> Credentials?) =
        CredentialsDesk(
            raw,
            { account, reason ->
                assertEquals(1, inside.incrementAndGet(), "one question at a time")
                questions.send(account to reason)
                try {
                    answer(account, reason)
                } finally {
                    inside.decrementAndGet()
                }
            },
            scope,
            reported::add,
        )

    @AfterEach
    fun close() {
        scope.cancel()
        raw.shutdown()
        raw.close()
    }

    @Test
    fun `a question that is being answered isn't asked again`() = test {
        val go = CompletableDeferred<Unit>()
        val desk = desk { _, _ -> go.await().let { null } }
        repeat(10) { desk.needed("ann", CredentialsReason.MISSING) }
        assertEquals("ann" to CredentialsReason.MISSING, questions.receive())
        go.complete(Unit)
        eventually("the answer") { inside.get() == 0 }
        assertNull(questions.tryReceive().getOrNull())
        desk.needed("ann", CredentialsReason.MISSING)
        assertEquals("ann" to CredentialsReason.MISSING, atOnce { questions.receive() })
    }

    // What it gave may have been refused before it returned; the core says so once.
    @Test
    fun `another reason is asked after the answer to the first`() = test {
        val go = CompletableDeferred<Unit>()
        val desk = desk { _, _ -> go.await().let { null } }
        desk.needed("ann", CredentialsReason.MISSING)
        questions.receive()
        desk.needed("ann", CredentialsReason.REFUSED)
        desk.needed("ann", CredentialsReason.REFUSED_AGAIN)
        assertNull(questions.tryReceive().getOrNull())
        go.complete(Unit)
        val later = List(2) { atOnce { questions.receive() } }
        assertEquals(listOf(CredentialsReason.REFUSED, CredentialsReason.REFUSED_AGAIN), later.map { it.second })
        assertTrue(reported.isEmpty(), "$reported")
    }

    // P10 account isolation: the next account doesn't wait for the answer to the last one's question.
    @Test
    fun `a provider that hangs for one account is asked for the next at once`() = test {
        raw.signIn("bob")
        val desk = desk { account, _ -> if (account == "ann") awaitCancellation() else Credentials.bearer("bob") }
        desk.needed("ann", CredentialsReason.MISSING)
        questions.receive()
        desk.needed("ann", CredentialsReason.REFUSED)
        desk.needed("bob", CredentialsReason.MISSING)
        assertEquals("bob", atOnce { questions.receive() }.first)
        eventually("the answer") { inside.get() == 0 }
        assertNull(questions.tryReceive().getOrNull())
        assertTrue(reported.isEmpty(), "$reported")
    }

    @Test
    fun `a provider that throws is asked the next time all the same`() = test {
        val desk = desk { _, _ -> throw IllegalStateException("no token server") }
        repeat(3) {
            desk.needed("ann", CredentialsReason.MISSING)
            questions.receive()
            eventually("the report") { reported.size == it + 1 }
            eventually("the end") { inside.get() == 0 }
        }
        reported.forEach { assertIs<IllegalStateException>(it) }
    }
}
