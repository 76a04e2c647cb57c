package dev.submitonce.runs

import dev.submitonce.NetworkKind
import dev.submitonce.Outbox
import dev.submitonce.ReferenceServer
import dev.submitonce.Submission
import dev.submitonce.SubmissionId
import dev.submitonce.WaitingFor
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.flow.consumeAsFlow
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.flow.onCompletion
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.io.TempDir
import java.io.File
import kotlin.test.assertEquals

/** An outbox follows what the system says of the network. */
class NetworksTest {
    @TempDir
    lateinit var folder: File

    @Test
    fun `networks are followed until the outbox is closed`() = runBlocking {
        val networks = Channel<NetworkKind>()
        val left = CompletableDeferred<Unit>()
        ReferenceServer.start().use { server ->
            val outbox = Outbox.open(
                File(folder, "outbox.sqlite3"),
                networks = networks.consumeAsFlow().onCompletion { left.complete(Unit) },
            )
            val id = SubmissionId.new()
            outbox.submit(Submission(id, "${server.url}/photos", unmeteredOnly = true))
            outbox.start()
            withTimeout(30_000) {
                networks.send(NetworkKind.METERED)
                outbox.observe(id).first { it.waitingFor == WaitingFor.Unmetered }
                networks.send(NetworkKind.UNMETERED)
                outbox.observe(id).first { it.state.isFinal }
                assertEquals(1, server.summary().effects)
                outbox.close()
                left.await()
            }
        }
    }

    @Test
    fun `a system that can't be asked is told of, and nothing else changes`() = runBlocking<Unit> {
        val told = Channel<Throwable>(Channel.UNLIMITED)
        val broken = flow<NetworkKind> { throw SecurityException("this phone refuses") }
        Outbox.open(File(folder, "outbox.sqlite3"), networks = broken, onCallbackError = told::trySend).use { outbox ->
            assertEquals("this phone refuses", withTimeout(30_000) { told.receive() }.message)
            outbox.begin("still usable")
        }
    }
}
