package dev.submitonce

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.TimeoutCancellationException
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.withTimeout
import kotlinx.coroutines.yield
import kotlinx.serialization.json.jsonObject
import org.junit.jupiter.api.Test
import java.io.IOException
import java.time.Duration
import java.time.Instant
import java.util.concurrent.CopyOnWriteArrayList
import kotlin.test.assertEquals
import kotlin.test.assertIs
import kotlin.test.assertTrue

/** Accounts, and the provider that is asked for their credentials. */
class CredentialsTest : OutboxTest() {
    private val asked = CopyOnWriteArrayList<Pair<String, CredentialsReason>>()

    private fun provider(answer: suspend (account: String, reason: CredentialsReason) -> Credentials?) =
        CredentialsProvider { account, reason ->
            asked += account to reason
            answer(account, reason)
        }

    private fun acceptOnly(vararg tokens: String) {
        server.post("accept-tokens", """{"tokens":[${tokens.joinToString { "\"Bearer $it\"" }}]}""")
    }

    private suspend fun Outbox.settled(order: Submission): Snapshot =
        assertIs<Waited.Settled>(wait(order.id, LONG)).snapshot

    @Test
    fun `a provider that suspends is asked once for twenty submissions`() = test {
        acceptOnly("good")
        val outbox = open(credentials = provider { _, _ -> yield(); Credentials.bearer("good") })
        outbox.signIn("ann")
        outbox.submitAll(List(20) { order(account = "ann") })
        assertEquals(20, outbox.drain(LONG).succeeded)
        assertEquals(listOf("ann" to CredentialsReason.MISSING), asked)
        val summary = server.summary()
        assertEquals(listOf(20L, 20L, 1L), listOf(summary.requests, summary.effects, summary.maxEffectsPerKey))
    }

    @Test
    fun `a refused token is asked for anew and everything goes once`() = test {
        acceptOnly("fresh")
        val outbox = open(
            credentials = provider { _, reason ->
                Credentials.bearer(if (reason == CredentialsReason.REFUSED) "fresh" else "stale")
            },
        )
        outbox.signIn("ann")
        val orders = List(5) { order(account = "ann") }
        outbox.submitAll(orders)
        outbox.start()
        orders.forEach { assertEquals(SubmissionState.Succeeded, outbox.settled(it).state) }
        assertEquals(listOf("ann" to CredentialsReason.MISSING, "ann" to CredentialsReason.REFUSED), asked)
        val summary = server.summary()
        assertEquals(listOf(5L, 1L, 1L), listOf(summary.effects, summary.maxEffectsPerKey, summary.maxKeysPerPath))
    }

    @Test
    fun `a token that is refused again closes the gate until the app has another`() = test {
        acceptOnly("good")
        val outbox = open(
            credentials = provider { _, reason ->
                if (reason == CredentialsReason.REFUSED_AGAIN) null else Credentials.bearer("bad-${asked.size}")
            },
        )
        outbox.signIn("ann")
        val order = order(account = "ann")
        outbox.submit(order)
        assertEquals(DrainStop.CREDENTIALS_NEEDED, outbox.drain(LONG).stopped)
        eventually("the last question") { asked.size == 3 }
        val reasons = listOf(CredentialsReason.MISSING, CredentialsReason.REFUSED, CredentialsReason.REFUSED_AGAIN)
        assertEquals(reasons, asked.map { it.second })
        assertEquals(WaitingFor.Credentials, outbox.snapshot(order.id).waitingFor)
        outbox.supplyCredentials("ann", Credentials.bearer("good"))
        outbox.start()
        assertEquals(SubmissionState.Succeeded, outbox.settled(order).state)
        assertEquals(1, server.summary().effects)
    }

    @Test
    fun `what a provider throws is told to the app and to nobody else`() = test {
        val thrown = CompletableDeferred<Unit>()
        val outbox = open(
            credentials = provider { _, _ ->
                thrown.complete(Unit)
                throw IOException("no token server")
            },
        )
        outbox.signIn("ann")
        val (hers, nobodys) = listOf(order(account = "ann"), order())
        outbox.submitAll(listOf(hers, nobodys))
        outbox.start()
        assertEquals(SubmissionState.Succeeded, outbox.settled(nobodys).state)
        thrown.await()
        eventually("the report") { reported.isNotEmpty() }
        assertEquals("no token server", assertIs<IOException>(reported.single()).message)
        outbox.supplyCredentials("ann", Credentials.bearer("any"))
        assertEquals(SubmissionState.Succeeded, outbox.settled(hers).state)
    }

    // It is a CancellationException, and must not pass for the outbox's own.
    @Test
    fun `a time-out within the provider is told`() = test {
        val outbox = open(credentials = provider { _, _ -> withTimeout(1) { awaitCancellation() } })
        outbox.signIn("ann")
        outbox.submit(order(account = "ann"))
        outbox.start()
        eventually("the report") { reported.isNotEmpty() }
        assertIs<TimeoutCancellationException>(reported.single())
    }

    @Test
    fun `credentials that can't be sent are told to the app`() = test {
        val outbox = open(credentials = provider { _, _ -> Credentials(listOf(Header("Host", "geheim-4711"))) })
        outbox.signIn("ann")
        outbox.submit(order(account = "ann"))
        outbox.start()
        eventually("the report") { reported.isNotEmpty() }
        assertTrue(reported.single() is SubmitOnceException && "geheim" !in "${reported.single()}", "$reported")
    }

    @Test
    fun `a provider that has none leaves everything waiting`() = test {
        val outbox = open(credentials = provider { _, _ -> null })
        outbox.signIn("ann")
        val order = order(account = "ann")
        outbox.submit(order)
        outbox.drain(Duration.ofMillis(500))
        assertEquals(WaitingFor.Credentials, outbox.snapshot(order.id).waitingFor)
        assertEquals(0, server.summary().requests)
        assertEquals(1, asked.size)
        assertTrue(reported.isEmpty())
    }

    // Demands make the core ask again; the provider is still at it.
    @Test
    fun `a slow provider isn't asked twice and a drain waits for it`() = test {
        val answer = CompletableDeferred<Credentials>()
        val begun = CompletableDeferred<Unit>()
        val outbox = open(
            credentials = provider { _, _ ->
                begun.complete(Unit)
                answer.await()
            },
        )
        outbox.signIn("ann")
        outbox.submit(order(account = "ann"))
        val drain = async { outbox.drain(LONG) }
        begun.await()
        repeat(5) {
            outbox.submit(order(account = "ann"))
            outbox.start()
        }
        answer.complete(Credentials.bearer("any"))
        drain.await()
        eventually("everything is delivered") { server.summary().effects == 6L }
        assertEquals(1, asked.size)
    }

    @Test
    fun `a provider that is at it when the outbox closes is cancelled`() = test {
        val begun = CompletableDeferred<Unit>()
        val cancelled = CompletableDeferred<Unit>()
        val outbox = open(
            credentials = provider { _, _ ->
                begun.complete(Unit)
                try {
                    awaitCancellation()
                } finally {
                    cancelled.complete(Unit)
                }
            },
        )
        outbox.signIn("ann")
        outbox.submit(order(account = "ann"))
        outbox.start()
        begun.await()
        atOnce {
            outbox.close()
            cancelled.await()
        }
        assertTrue(reported.isEmpty(), "$reported")
    }

    @Test
    fun `an answer for an account that has signed out meanwhile is nobody's trouble`() = test {
        val begun = CompletableDeferred<Unit>()
        val answer = CompletableDeferred<Credentials>()
        val given = CompletableDeferred<Unit>()
        val outbox = open(
            credentials = provider { _, _ ->
                begun.complete(Unit)
                answer.await().also { given.complete(Unit) }
            },
        )
        outbox.signIn("ann")
        val order = order(account = "ann")
        outbox.submit(order)
        outbox.start()
        begun.await()
        outbox.signOut()
        answer.complete(Credentials.bearer("late"))
        given.await()
        assertEquals(WaitingFor.SignedOut, outbox.snapshot(order.id).waitingFor)
        val nobodys = order()
        outbox.submit(nobodys)
        outbox.settled(nobodys)
        assertEquals(1, server.summary().requests)
        assertTrue(reported.isEmpty(), "$reported")
    }

    @Test
    fun `a provider may call the outbox`() = test {
        lateinit var outbox: Outbox
        outbox = open(
            credentials = provider { account, _ ->
                outbox.supplyCredentials(account, Credentials.bearer("direct"))
                assertEquals(account, outbox.signedIn())
                outbox.list()
                null
            },
        )
        outbox.signIn("ann")
        val order = order(account = "ann")
        outbox.submit(order)
        outbox.start()
        assertEquals(SubmissionState.Succeeded, outbox.settled(order).state)
        assertTrue(reported.isEmpty(), "$reported")
    }

    @Test
    fun `credentials that run out are asked for anew`() = test {
        val outbox = open(
            credentials = provider { _, reason ->
                val soon = Instant.now().plusSeconds(1).takeIf { reason == CredentialsReason.MISSING }
                Credentials.bearer("any", validUntil = soon)
            },
        )
        outbox.signIn("ann")
        while (asked.none { it.second == CredentialsReason.EXPIRING }) {
            outbox.submit(order(account = "ann"))
            outbox.drain(LONG)
        }
        assertEquals(listOf(CredentialsReason.MISSING, CredentialsReason.EXPIRING), asked.map { it.second })
        assertEquals(1, server.summary().maxEffectsPerKey)
    }

    // P10: each goes with its own token, whoever comes and goes.
    @Test
    fun `two accounts are never mixed up`() = test {
        val outbox = open(credentials = provider { account, _ -> Credentials.bearer("token-of-$account") })
        val orders = listOf("ann", "bob").associateWith { account -> List(3) { order(account = account) } }
        outbox.submitAll(orders.values.flatten())
        outbox.start()
        for ((account, theirs) in orders) {
            outbox.signIn(account)
            assertEquals(account, outbox.signedIn())
            theirs.forEach { outbox.settled(it) }
        }
        fun accountOf(path: String) =
            orders.entries.single { (_, theirs) -> theirs.any { "${it.id}" in path } }.key
        val principals = server.records().map { it.jsonObject }
            .groupBy({ accountOf("${it["path"]}") }, { "${it["principal"]}" })
        assertEquals(setOf("ann", "bob"), principals.keys)
        assertTrue(principals.values.all { it.toSet().size == 1 })
        assertEquals(2, principals.values.flatten().toSet().size)
    }

    // They are never stored: after each start they are missing.
    @Test
    fun `who is signed in is remembered and the credentials aren't`() = test {
        val secret = "geheim-4711"
        open(credentials = provider { _, _ -> Credentials.bearer(secret) }).use { outbox ->
            outbox.signIn("ann")
            outbox.submit(order(account = "ann"))
            assertEquals(1, outbox.drain(LONG).succeeded)
        }
        folder.walk().filter { it.isFile }.forEach { file ->
            assertTrue(secret !in file.readBytes().toString(Charsets.ISO_8859_1), "$file")
        }
        val outbox = open()
        assertEquals("ann", outbox.signedIn())
        outbox.submit(order(account = "ann"))
        assertEquals(DrainStop.CREDENTIALS_NEEDED, outbox.drain(LONG).stopped)
        outbox.signOut()
        assertEquals(null, outbox.signedIn())
    }
}
