package dev.submitonce

import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.io.TempDir
import java.io.File
import java.time.Duration
import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertIs

/** What `docs/kotlin.md` shows, run. Its code blocks are the marked parts of this file, word for word. */
class GuideTest {
    @TempDir
    lateinit var folder: File

    private val seconds = Duration.ofSeconds(30)

    // An app's own code, as a test of the app would use it.
    private suspend fun order(outbox: Outbox): Receipt {
        val id = outbox.begin("new-order-form")
        return outbox.submit(Submission(id, "/orders", Body.Json("""{"item":"tea"}""")))
    }

    @Test
    fun `eight lines`() = ReferenceServer.start().use { server ->
        runBlocking {
            val url = "${server.url}/orders"
            val noBackupFilesDir = folder
            var shown = ""
            // guide: eight lines
            val outbox = Outbox.open(File(noBackupFilesDir, "outbox.sqlite3"))
            val id = outbox.begin("new-order-form")
            outbox.submit(Submission(id, url, Body.Json("""{"item":"tea"}""")))
            outbox.start()
            when (val end = outbox.wait(id, Duration.ofSeconds(30))) {
                is Waited.Settled -> shown = "${end.snapshot.state}: ${end.snapshot.outcome?.text}"
                is Waited.Held, is Waited.TimedOut -> shown = "not yet, and not lost"
            }
            // end
            outbox.close()
            assertContains(shown, "Succeeded: {\"effect\":1")
        }
    }

    // guide: double tap
    @Test
    fun `a button that is hammered orders once`() = ReferenceServer.start().use { server ->
        runBlocking {
            Outbox.open(File(folder, "outbox.sqlite3"), baseUrl = server.url).use { outbox ->
                val taps = List(16) { async(Dispatchers.Default) { order(outbox) } }.awaitAll()
                outbox.drain(Duration.ofSeconds(30))
                assertEquals(1, taps.count { it.kind == ReceiptKind.ACCEPTED })
                assertEquals(1, server.summary().effects)
            }
        }
    }
    // end

    // guide: lost response
    @Test
    fun `an answer that is lost is asked for again with the same key`() = ReferenceServer.start().use { server ->
        runBlocking {
            server.script("\"commit_then_drop\"")
            // The quiet time keeps the repeat back while the server may still be working.
            val limits = defaultLimits().copy(quietTime = Duration.ofMillis(50), backoffFirst = Duration.ofMillis(50))
            Outbox.open(File(folder, "outbox.sqlite3"), server.url, limits = limits).use { outbox ->
                val id = order(outbox).id
                outbox.start()
                assertIs<Waited.Settled>(outbox.wait(id, Duration.ofSeconds(30)))
                assertEquals(2, server.summary().requests)
                assertEquals(1, server.summary().effects)
                assertEquals(1, server.summary().keys)
            }
        }
    }
    // end

    // guide: killed process
    @Test
    fun `a process that is killed with its request on the wire converges`() = ReferenceServer.start().use { server ->
        runBlocking {
            val database = File(folder, "outbox.sqlite3")
            server.script("""{"hold_after":"gate"}""")
            val app = ChildJvm.start("dev.submitonce.programs.OrderAppKt", database.path, server.url)
            server.await("""{"held":"gate"}""") // the effect is there, its answer is not
            app.destroyForcibly().waitFor()
            server.release("gate")
            val limits = defaultLimits().copy(quietTime = Duration.ofMillis(50), backoffFirst = Duration.ofMillis(50))
            Outbox.open(database, server.url, limits = limits).use { outbox ->
                val again = order(outbox)
                assertEquals(ReceiptKind.JOINED, again.kind)
                outbox.start()
                assertIs<Waited.Settled>(outbox.wait(again.id, Duration.ofSeconds(30)))
                assertEquals(1, server.summary().effects)
            }
        }
    }
    // end

    @Test
    fun `states, lists and changes`() = ReferenceServer.start().use { server ->
        runBlocking {
            Outbox.open(File(folder, "outbox.sqlite3"), baseUrl = server.url).use { outbox ->
                val id = order(outbox).id
                outbox.start()
                val shown = mutableListOf<SubmissionState>()
                // guide: flows
                outbox.observe(id).collect { snapshot -> shown += snapshot.state } // ends with the final state
                val held = outbox.observeList(ListFilter.HELD).first()
                val change = outbox.changes(after = 0).first()
                // end
                assertEquals(SubmissionState.Succeeded, shown.last())
                assertEquals(emptyList(), held)
                assertEquals(SubmissionState.Pending, assertIs<FeedEvent.Change>(change).state)
            }
        }
    }

    @Test
    fun `a held submission is decided`() = ReferenceServer.start("--optional-key").use { server ->
        runBlocking {
            server.script("\"commit_then_drop\"")
            // A server that doesn't recognise repeats: after doubt nothing is sent again by itself.
            val profile = ServerProfile.builtIn(BuiltInProfile.UNKEYED)
            val limits = defaultLimits().copy(quietTime = Duration.ofMillis(50), backoffFirst = Duration.ofMillis(50))
            Outbox.open(File(folder, "outbox.sqlite3"), server.url, profile, limits).use { outbox ->
                val id = order(outbox).id
                outbox.start()
                val held = assertIs<Waited.Held>(outbox.wait(id, seconds)).snapshot
                // guide: decisions
                val decided = try {
                    outbox.resolve(id, held.revision, Resolution.RetrySameKey())
                } catch (refused: SubmitOnceException.NeedsConsent) {
                    // The server may perform it a second time. Ask the user, who has looked, and then:
                    outbox.resolve(id, refused.current.revision, Resolution.ItHappened("""{"order":7}"""))
                }
                // end
                assertEquals(SubmissionState.Succeeded, decided.state)
                assertEquals("""{"order":7}""", decided.outcome?.text)
            }
        }
    }

    @Test
    fun `credentials are asked for, and never stored`() =
        ReferenceServer.start("--accept-token", "Bearer good").use { server ->
            runBlocking {
                val tokens = TokenStore()
                // guide: credentials
                val outbox = Outbox.open(
                    File(folder, "outbox.sqlite3"),
                    baseUrl = server.url,
                    credentials = { account, reason ->
                        val token = if (reason == CredentialsReason.MISSING) tokens.current(account) else tokens.refresh(account)
                        Credentials.bearer(token)
                    },
                )
                outbox.signIn("ada")
                outbox.submit(Submission(outbox.begin("form"), "/orders", Body.Json("{}"), account = "ada"))
                // end
                outbox.drain(seconds)
                assertEquals(1, server.summary().effects)
                assertEquals(listOf("current", "refresh"), tokens.asked)
                outbox.close()
            }
        }

    private class TokenStore {
        val asked = mutableListOf<String>()

        fun current(account: String): String = "stale".also { asked += "current"; check(account == "ada") }

        suspend fun refresh(account: String): String = "good".also { asked += "refresh"; check(account == "ada") }
    }

    /** The page shows this file's marked parts, and nothing else in Kotlin; the README the first of them. */
    @Test
    fun `the guide shows what runs`() {
        val repository = File(checkNotNull(System.getProperty("submitonce.repository")))
        val source = File(repository, "bindings/kotlin/library/src/test/kotlin/dev/submitonce/GuideTest.kt")
        fun shownIn(page: String) = Regex("""(?s)```kotlin\n(.*?)\n```""")
            .findAll(File(repository, page).readText())
            .map { it.groupValues[1] }
            .toList()
        val marked = Regex("""(?m)^ *// guide: (.*)\n((?s:.*?))^ *// end$""")
            .findAll(source.readText())
            .map { it.groupValues[2].trimIndent().trim() }
            .toList()
        assertEquals(marked.toSet(), shownIn("docs/kotlin.md").toSet())
        assertEquals(marked.take(1), shownIn("README.md"))
    }
}
