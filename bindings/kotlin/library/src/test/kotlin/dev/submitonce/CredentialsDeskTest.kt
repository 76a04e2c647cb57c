package dev.submitonce

import dev.submitonce.internal.OutboxConfig
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.asCoroutineDispatcher
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.cancel
import kotlinx.coroutines.channels.Channel
import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.Test
import java.util.concurrent.CopyOnWriteArrayList
import java.util.concurrent.Executors
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
    private val supplied = AtomicInteger()

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
            { supplied.incrementAndGet() },
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
        eventually("the answer") { inside.get() == 0 && supplied.get() == 1 }
        assertNull(questions.tryReceive().getOrNull())
        assertTrue(reported.isEmpty(), "$reported")
    }

    // On a thread of its own, so that whatever it threw there has been thrown when the next one runs.
    @Test
    fun `what is thrown by who is told of problems ends nothing`() = test {
        val uncaught = CopyOnWriteArrayList<Throwable>()
        val before = Thread.getDefaultUncaughtExceptionHandler()
        Thread.setDefaultUncaughtExceptionHandler { _, problem -> uncaught += problem }
        try {
            Executors.newSingleThreadExecutor().asCoroutineDispatcher().use { thread ->
                val told = CompletableDeferred<Throwable>()
                val outbox = Outbox.open(
                    database("told.sqlite3"),
                    credentials = { _, _ -> TODO("a sign-in") },
                    dispatcher = thread,
                    onCallbackError = { told.complete(it).let { throw IllegalStateException("nor a log") } },
                )
                outbox.use {
                    it.signIn("ann")
                    it.submit(order(account = "ann").copy(url = "http://127.0.0.1:9/orders"))
                    it.start()
                    assertIs<NotImplementedError>(atOnce { told.await() })
                    it.stats()
                }
            }
            assertEquals(emptyList(), uncaught)
        } finally {
            Thread.setDefaultUncaughtExceptionHandler(before)
        }
    }

    @Test
    fun `a provider that throws is asked the next time all the same`() = test {
        val problems = ArrayDeque(listOf(IllegalStateException("no token server"), NotImplementedError(), LinkageError()))
        val expected = problems.map { it::class }
        val desk = desk { _, _ -> throw problems.removeFirst() }
        repeat(3) {
            desk.needed("ann", CredentialsReason.MISSING)
            questions.receive()
            eventually("the report") { reported.size == it + 1 }
            eventually("the end") { inside.get() == 0 }
        }
        assertEquals(expected, reported.map { it::class })
    }
}
