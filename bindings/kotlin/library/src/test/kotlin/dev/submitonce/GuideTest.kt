package dev.submitonce

import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.io.TempDir
import java.io.File
import java.time.Duration
import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertIs

/**
 * What `docs/kotlin.md` shows, run. Its code blocks are the marked parts of this file and of
 * `GuideScenesTest`, word for word.
 */
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
                val held = outbox.observeList(ListFilter(ListState.HELD)).first()
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
    fun `what hangs together goes in its order`() = ReferenceServer.start("--optional-key").use { server ->
        runBlocking {
            val photo = File(folder, "photo.jpg").apply { writeText("a photo") }
            Outbox.open(File(folder, "outbox.sqlite3"), baseUrl = server.url).use { outbox ->
                // guide: order
                // In a lane: first in, first out, one in flight.
                val order = outbox.begin("order")
                outbox.submit(Submission(order, "/orders", Body.Json("""{"item":"tea"}"""), lane = "table/7"))

                // After its parent, with a part that is taken from the parent's result.
                val number = ParentPart(order, PartSource.JsonPointer("/effect"), PartTarget.Path("{order}"))
                val picture = Body.FromFile("image/jpeg", photo)
                outbox.submit(Submission(outbox.begin("photo"), "/orders/{order}/photos", picture, parts = listOf(number)))

                // Latest wins: a version that hasn't been sent is superseded by the next.
                for (text in listOf("\"Dear\"", "\"Dear Ada\"")) {
                    val draft = Submission(SubmissionId.new(), "/drafts/42", Body.Json(text), method = "PUT", effect = Effect.OVERWRITE)
                    outbox.submit(draft.copy(replaces = "draft/42"))
                }
                // end
                val before = outbox.list().snapshots
                assertEquals(WaitingFor.Parent(order), before[1].waitingFor)
                outbox.start()
                val ends = before.map { assertIs<Waited.Settled>(outbox.wait(it.id, seconds)).snapshot }
                assertEquals(SubmissionState.Superseded(ends[3].id), ends[2].state)
                assertEquals(List(3) { SubmissionState.Succeeded }, (ends - ends[2]).map { it.state })
                val sent = server.records().map { it.jsonObject.getValue("path").jsonPrimitive.content }
                // The draft may have been the first effect of the two.
                val made = Json.parseToJsonElement(checkNotNull(ends[0].outcome?.text)).jsonObject.getValue("effect")
                assertEquals(setOf("/orders", "/orders/$made/photos", "/drafts/42"), sent.toSet())
            }
        }
    }

    @Test
    fun `what can be asked for`() = ReferenceServer.start().use { server ->
        runBlocking {
            Outbox.open(File(folder, "outbox.sqlite3"), baseUrl = server.url).use { outbox ->
                val id = outbox.begin("form")
                // guide: probe
                val probe = StatusProbe("/orders?client_id={id}", pointer = "/0") // there, if the list isn't empty
                outbox.submit(Submission(id, "/orders", Body.Json("""{"item":"tea"}"""), probe = probe))
                // end
                outbox.start()
                val end = assertIs<Waited.Settled>(outbox.wait(id, seconds))
                assertEquals(SubmissionState.Succeeded, end.snapshot.state)
            }
        }
    }

    @Test
    fun `an account leaves`() = ReferenceServer.start().use { server ->
        runBlocking {
            Outbox.open(File(folder, "outbox.sqlite3"), baseUrl = server.url).use { outbox ->
                outbox.signIn("ada")
                // guide: signing out
                val report = outbox.signOut() // what is unsettled waits for the account to come back
                val purged = outbox.signOut(SignOut.PURGE) // or everything of it ends, and is deleted
                // end
                assertEquals(listOf(0, 0), listOf(report.kept, purged.abandoned))
                assertEquals(null, outbox.signedIn())
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

    /** The page shows the marked parts, and nothing else in Kotlin; the README the first of them. */
    @Test
    fun `the guide shows what runs`() {
        val repository = File(checkNotNull(System.getProperty("submitonce.repository")))
        val tests = File(repository, "bindings/kotlin/library/src/test/kotlin/dev/submitonce")
        val sources = listOf("GuideTest.kt", "GuideScenesTest.kt").map { File(tests, it).readText() }
        fun shownIn(page: String) = Regex("""(?s)```kotlin\n(.*?)\n```""")
            .findAll(File(repository, page).readText())
            .map { it.groupValues[1] }
            .toList()
        val marked = Regex("""(?m)^ *// guide: (.*)\n((?s:.*?))^ *// end$""")
            .let { mark -> sources.flatMap(mark::findAll) }
            .map { it.groupValues[2].trimIndent().trim() }
        assertEquals(marked.toSet(), shownIn("docs/kotlin.md").toSet())
        assertEquals(marked.take(1), shownIn("README.md"))
    }
}
