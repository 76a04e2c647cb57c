package dev.submitonce

import com.sun.jna.Native
import dev.submitonce.internal.ChangeListener
import dev.submitonce.internal.CredentialsListener
import dev.submitonce.internal.FfiConverterTypeChangeListener
import dev.submitonce.internal.FfiConverterTypeCredentialsListener
import dev.submitonce.internal.FfiConverterTypeProgressListener
import dev.submitonce.internal.ListenerException
import dev.submitonce.internal.OutboxConfig
import dev.submitonce.internal.PageRequest
import dev.submitonce.internal.ProgressListener
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.channels.Channel
import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.Test
import java.time.Duration
import java.util.concurrent.CopyOnWriteArrayList
import java.util.concurrent.atomic.AtomicInteger
import kotlin.test.assertEquals
import kotlin.test.assertIs
import kotlin.test.assertTrue
import dev.submitonce.internal.Outbox as RawOutbox
import dev.submitonce.internal.UploadProgress as RawProgress
import dev.submitonce.internal.Waited as RawWaited

/** The generated layer: listeners that misbehave, and a core that doesn't mind. */
class ListenerTest : OutboxTest() {
    private val opened = CopyOnWriteArrayList<RawOutbox>()

    private fun openRaw(): RawOutbox =
        RawOutbox.open(OutboxConfig(database().path, baseUrl = server.url, limits = quick)).also { opened += it }

    private fun RawOutbox.place(order: Submission = order()): Submission = order.also { submit(it.lowered()) }

    private suspend fun RawOutbox.delivers(order: Submission) {
        start()
        assertIs<RawWaited.Settled>(wait(order.id, LONG))
    }

    private fun photo() = order().copy(body = Body.Bytes("image/jpeg", ByteArray(1 shl 20)))

    @AfterEach
    fun closeRaw() = opened.filterNot { it.uniffiIsDestroyed }.forEach {
        it.shutdown()
        it.close()
    }

    private fun onChange(call: () -> Unit) = object : ChangeListener {
        override fun changed() = call()
    }

    @Test
    fun `a change listener that throws is called again and the core goes on`() = test {
        val outbox = openRaw()
        val calls = Channel<Int>(Channel.UNLIMITED)
        val count = AtomicInteger()
        val thrown = listOf(IllegalStateException("a bug"), ListenerException.Failed(), StackOverflowError())
        // An `Error` passes the generated code, and JNA tells of it. Not in the build's log.
        val errors = CopyOnWriteArrayList<Throwable>()
        Native.setCallbackExceptionHandler { _, error -> errors += error }
        outbox.setListener(
            onChange {
                val call = count.getAndIncrement()
                calls.trySend(call)
                throw thrown[call % thrown.size]
            },
        )
        repeat(6) {
            outbox.place()
            assertEquals(it, calls.receive())
        }
        outbox.setListener(null)
        outbox.delivers(outbox.place())
        assertTrue(errors.isNotEmpty() && errors.all { it is StackOverflowError }, "$errors")
        Native.setCallbackExceptionHandler(null)
    }

    @Test
    fun `a change listener may call the outbox`() = test {
        val outbox = openRaw()
        val seen = CompletableDeferred<Unit>()
        val echoed = AtomicInteger()
        outbox.setListener(
            onChange {
                // Each change makes another, for a while.
                if (echoed.getAndIncrement() < 20) outbox.place()
                if (outbox.list(ListFilter(), PageRequest(0, 100u)).snapshots.size == 21) seen.complete(Unit)
            },
        )
        outbox.place()
        seen.await()
    }

    @Test
    fun `a change listener may replace itself and close the outbox`() = test {
        val outbox = openRaw()
        val closed = CompletableDeferred<Unit>()
        outbox.setListener(
            onChange {
                outbox.setListener(
                    onChange {
                        outbox.shutdown()
                        closed.complete(Unit)
                    },
                )
                outbox.place()
            },
        )
        outbox.place()
        closed.await()
    }

    // Calls come one at a time, and one more comes after the last change, however fast they are.
    @Test
    fun `a storm of changes is told one call at a time up to the last`() = test {
        val outbox = openRaw()
        val (inside, most, calls) = List(3) { AtomicInteger() }
        val whole = CompletableDeferred<Unit>()
        val began = System.nanoTime()
        outbox.setListener(
            onChange {
                most.accumulateAndGet(inside.incrementAndGet(), ::maxOf)
                calls.incrementAndGet()
                if (outbox.stats().accepted == 2_000L) whole.complete(Unit)
                inside.decrementAndGet()
            },
        )
        repeat(40) { outbox.submitAll(List(50) { order().lowered() }) }
        whole.await()
        assertEquals(1, most.get())
        // Each second there is a look at what other processes have done, which sees these changes too.
        val looks = Duration.ofNanos(System.nanoTime() - began).toSeconds()
        assertTrue(calls.get() <= 41 + looks, "$calls, $looks looks")
    }

    @Test
    fun `a progress listener that throws or calls the outbox changes nothing`() = test {
        val outbox = openRaw()
        val told = CompletableDeferred<Unit>()
        outbox.setProgressListener(
            object : ProgressListener {
                override fun progressed(progress: List<RawProgress>) {
                    progress.forEach { outbox.snapshot(it.id) }
                    told.complete(Unit)
                    throw IllegalStateException("a bug")
                }
            },
        )
        outbox.delivers(outbox.place(photo()))
        told.await()
        outbox.delivers(outbox.place(photo()))
        assertEquals(2, server.summary().effects)
    }

    @Test
    fun `a credentials listener that throws is asked again when it matters`() = test {
        val outbox = openRaw()
        val asked = CompletableDeferred<Unit>()
        outbox.setCredentialsListener(
            object : CredentialsListener {
                override fun credentialsNeeded(account: String, reason: CredentialsReason) {
                    asked.complete(Unit)
                    throw IllegalStateException("a bug")
                }
            },
        )
        outbox.signIn("ann")
        val hers = outbox.place(order(account = "ann"))
        val nobodys = outbox.place()
        outbox.delivers(nobodys)
        asked.await()
        outbox.supplyCredentials("ann", listOf(Header("Authorization", "Bearer any")), null)
        outbox.delivers(hers)
    }

    @Test
    fun `a credentials listener may answer during the call`() = test {
        val outbox = openRaw()
        outbox.setCredentialsListener(
            object : CredentialsListener {
                override fun credentialsNeeded(account: String, reason: CredentialsReason) {
                    outbox.supplyCredentials(account, listOf(Header("Authorization", "Bearer any")), null)
                }
            },
        )
        outbox.signIn("ann")
        outbox.delivers(outbox.place(order(account = "ann")))
    }

    @Test
    fun `no listener outlives its outbox`() = test {
        val before = listeners()
        repeat(20) {
            val outbox = openRaw()
            outbox.setListener(onChange {})
            outbox.setListener(onChange {})
            outbox.setProgressListener(
                object : ProgressListener {
                    override fun progressed(progress: List<RawProgress>) = Unit
                },
            )
            outbox.setCredentialsListener(
                object : CredentialsListener {
                    override fun credentialsNeeded(account: String, reason: CredentialsReason) = Unit
                },
            )
            outbox.place()
            outbox.shutdown()
            outbox.close()
        }
        eventually("the listeners go") { listeners() <= before }
    }

    private fun listeners() = FfiConverterTypeChangeListener.handleMap.size +
        FfiConverterTypeProgressListener.handleMap.size + FfiConverterTypeCredentialsListener.handleMap.size
}
