package dev.submitonce

import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import kotlinx.coroutines.withTimeoutOrNull
import kotlinx.coroutines.yield
import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.io.TempDir
import java.io.File
import java.time.Duration
import java.util.UUID
import java.util.concurrent.CopyOnWriteArrayList
import kotlin.test.assertIs

/** Real outboxes in a folder of the test's own, and a real server that counts what they did. */
abstract class OutboxTest {
    @TempDir
    lateinit var folder: File

    private val started = lazy { ReferenceServer.start() }
    private val opened = CopyOnWriteArrayList<Outbox>()

    val server: ReferenceServer by started

    /** What providers threw. */
    val reported = CopyOnWriteArrayList<Throwable>()

    fun database(name: String = "outbox.sqlite3") = File(folder, name)

    suspend fun open(
        database: File = database(),
        limits: Limits = quick,
        baseUrl: String? = server.url,
        profile: ServerProfile? = null,
        credentials: CredentialsProvider? = null,
        dispatcher: CoroutineDispatcher = Dispatchers.IO,
    ): Outbox = Outbox.open(
        database,
        baseUrl = baseUrl,
        profile = profile,
        limits = limits,
        credentials = credentials,
        dispatcher = dispatcher,
        onCallbackError = reported::add,
    ).also(opened::add)

    /** An order that goes to a path of its own, so that the server can count keys per submission. */
    fun order(
        id: UUID = SubmissionId.new(),
        item: String = "tea",
        account: String? = null,
        effect: Effect? = null,
    ) = Submission(id, "/orders?id=$id", Body.Json("""{"item":"$item"}"""), account = account, effect = effect)

    /** One order whose effect exists and whose answer is lost, and which nothing repeats by itself. */
    suspend fun Outbox.held(): Snapshot {
        val order = order(effect = Effect.UNKEYED)
        server.script("\"commit_then_drop\"", path = "/orders?id=${order.id}")
        submit(order)
        start()
        val held = assertIs<Waited.Held>(wait(order.id, LONG)).snapshot
        suspendDelivery()
        return held
    }

    @AfterEach
    fun closeAll() {
        opened.forEach { it.close() }
        if (started.isInitialized()) {
            server.close()
        }
    }

    companion object {
        /** Longer than anything here takes: who waits so long has failed. */
        val LONG: Duration = Duration.ofSeconds(20)

        /** How soon something has to happen that happens at once. */
        const val AT_ONCE_MS = 5_000L

        /** The defaults, but for waits that tests would have to sit out. */
        val quick: Limits by lazy {
            defaultLimits().copy(
                backoffFirst = Duration.ofMillis(20),
                backoffMost = Duration.ofMillis(100),
                quietTime = Duration.ofMillis(20),
            )
        }

        /** A test whose coroutines run beside one another, and which ends in any case. */
        fun test(block: suspend CoroutineScope.() -> Unit): Unit =
            runBlocking(Dispatchers.Default) { withTimeout(LONG.toMillis() * 2) { block() } }

        /** For what comes by itself and tells nobody, such as the end of a handle. */
        suspend fun eventually(what: String, isSo: () -> Boolean) {
            withTimeoutOrNull(LONG.toMillis()) { while (!isSo()) yield() } ?: error("it never came: $what")
        }

        /** Fails if it isn't done at once. */
        suspend fun <T> atOnce(block: suspend CoroutineScope.() -> T): T = withTimeout(AT_ONCE_MS, block)
    }
}
