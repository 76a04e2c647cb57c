package dev.submitonce.scenarios

import dev.submitonce.ReferenceServer
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import org.junit.jupiter.api.Test
import org.junit.jupiter.params.ParameterizedTest
import org.junit.jupiter.params.provider.ValueSource
import java.net.URI
import java.net.http.HttpClient
import java.net.http.HttpRequest
import java.net.http.HttpResponse
import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertNotNull
import kotlin.test.assertNull
import kotlin.test.assertTrue

/** A player that passes over what it doesn't know would say that all is well. */
class ScenarioStrictnessTest {
    private fun parsed(json: String): JsonElement = Json.parseToJsonElement(json)

    @Test
    fun `a step has one known kind and known members`() {
        step(parsed("""{"begin": {}, "on": "a", "as": "b", "expect": 1}"""))
        step(parsed("""{"begin": {}, "error": {}, "needs": "utf16_strings"}"""))
    }

    @ParameterizedTest
    @ValueSource(
        strings = [
            """{}""",
            """{"on": "a"}""",
            """{"begun": {}}""",
            """{"begin": {}, "discard": {}}""",
            """{"begin": {}, "exepct": 1}""",
            """{"begin": {}, "expect": 1, "error": 2}""",
            """{"begin": {}, "as": 1}""",
            """{"begin": {}, "error": {}, "needs": "time"}""",
            """{"begin": {}, "needs": "utf16_strings"}""",
        ],
    )
    fun `another step is refused`(json: String) {
        assertFailsWith<AssertionError> { step(parsed(json)) }
    }

    @ParameterizedTest
    @ValueSource(
        strings = [
            """{"guards": ["P1"], "steps": [], "end": {}}""",
            """{"name": "n", "guards": [], "steps": [], "end": {}}""",
            """{"name": "n", "guards": ["P1"], "steps": []}""",
            """{"name": "n", "guards": ["P1"], "steps": [], "end": {}, "skip": true}""",
            """{"name": "n", "guards": ["P1"], "steps": [], "end": {}, "outbox": {"profil": "ietf"}}""",
        ],
    )
    fun `another scenario is refused`(json: String) {
        assertFailsWith<AssertionError> { scenario(parsed(json)) }
    }

    private fun read(json: String) {
        val step = step(parsed(json))
        step.arguments.members(kinds.getValue(step.kind))
    }

    @Test
    fun `arguments that are known are read`() {
        val body = """{"bytes": {"content_type": "c", "hex": ""}}"""
        read("""{"submit": {"submission": {"id": "a", "url": "b", "account": null, "body": $body}}}""")
    }

    @ParameterizedTest
    @ValueSource(
        strings = [
            """{"submit": {"submission": {"id": "a", "url": "b", "uri": "c"}}}""",
            """{"submit": {"submission": {"id": "a"}}}""",
            """{"submit": {"submission": {"id": "a", "url": "b", "effect": "some"}}}""",
            """{"submit": {"submission": {"id": "a", "url": "b", "headers": [["a"]]}}}""",
            """{"submit": {"submission": {"id": "a", "url": "b", "body": {"jsno": "c"}}}}""",
            """{"submit": {"submission": {"id": "a", "url": "b", "body": {"bytes": {"content_type": "c", "text": "d", "hexx": ""}}}}}""",
            """{"submit": {"submission": {"id": "a", "url": "b", "body": {"bytes": {"content_type": "c", "text": "d", "hex": ""}}}}}""",
            """{"submit": {"submission": {"id": "a", "url": "b"}, "times": 2}}""",
            """{"begin": {"slot": "a", "account": "b"}}""",
            """{"begin": {"slot": 7}}""",
            """{"begin": []}""",
            """{"start": {"now": true}}""",
            """{"wait": {"id": "a", "timeout": 1}}""",
            """{"wait": {"id": "a", "timeout_ms": -1}}""",
            """{"resolve": {"id": "a", "revision": 1, "decision": {"give_up": {"now": true}}}}""",
            """{"resolve": {"id": "a", "revision": 1, "decision": {"retry": {}}}}""",
            """{"resolve": {"id": "a", "revision": 1, "decision": {"fill_parts": {"values": [{"into": {"body": "/a"}, "json": "1"}]}}}}""",
            """{"resolve_all": {"reason": "some", "decision": {"give_up": {}}}}""",
            """{"release_lane": {"lane": "a", "now": true}}""",
            """{"release_lane": {"account": "a"}}""",
            """{"sign_out": {"how": "keeps"}}""",
            """{"copy_files": {"from": "a", "to": "b", "all": true}}""",
            """{"submit": {"submission": {"id": "a", "url": "b", "lane_policy": "stop"}}}""",
            """{"submit": {"submission": {"id": "a", "url": "b", "probe": {"url": "c", "path": "/0"}}}}""",
            """{"submit": {"submission": {"id": "a", "url": "b", "probe": "c"}}}""",
            """{"submit": {"submission": {"id": "a", "url": "b", "parts": [{"parent": "c", "from": {"pointer": "/id"}, "into": {"json": "/a"}}]}}}""",
            """{"submit": {"submission": {"id": "a", "url": "b", "parts": [{"parent": "c", "from": {"header": "d"}, "into": {"json": "/a"}, "as": "e"}]}}}""",
            """{"list": {"filter": "held"}}""",
            """{"list": {"filter": {"state": "some"}}}""",
            """{"list": {"filter": {"lanes": "a"}}}""",
            """{"set_listener": {}}""",
            """{"heard": {"by": "nobody"}}""",
            """{"open": {"path": "a"}}""",
            """{"open": {"with": {"profil": "ietf"}}}""",
            """{"inbox_begin": {"item": {"scope": "a", "key": "b"}}}""",
            """{"inbox_begin": {"item": {"scope": "a", "key": "b", "policy": "once"}}}""",
            """{"inbox_begin": {"item": {"scope": "a", "key": "b", "policy": "at_most_once", "lease": 1}}}""",
            """{"inbox_finish": {"run": {"scope": "a", "key": "b"}}}""",
            """{"inbox_finish": {"run": {"scope": "a", "key": "b", "number": 1}, "statements": [{"sql": "c", "parameters": [1]}]}}""",
            """{"inbox_finish": {"run": {"scope": "a", "key": "b", "number": 1}, "statements": [{"sql": "c", "parameters": [{"number": 1}]}]}}""",
            """{"inbox_fail": {"run": {"scope": "a", "key": "b", "number": 1}, "failure": "all"}}""",
            """{"inbox_decide": {"scope": "a", "key": "b", "decision": "run"}}""",
            """{"inbox_decide": {"scope": "a", "key": "b", "decision": {"happened": {}, "run_again": {}}}}""",
            """{"batch": {"name": "a", "config": {"key": "b"}}}""",
            """{"batch": {"name": "a", "config": {"key": "b", "url": "c", "max_age": 1}}}""",
            """{"batch": {"name": "a", "config": {"key": "b", "url": "c", "format": "csv"}}}""",
            """{"append": {"batch": "a", "record": {"b": 1}}}""",
            """{"current": {"key": "a", "limit": 1}}""",
            """{"open": {"with": {"inbox_scopes": [{"name": "a", "keep_results": 1}]}}}""",
            """{"server": {"get": "a", "put": "b"}}""",
            """{"server": {"get": "a", "post": "b"}}""",
        ],
    )
    fun `arguments that nobody knows are refused at any depth`(json: String) {
        assertFailsWith<AssertionError> { read(json) }
    }

    private val actual = parsed(
        """{"state": "held", "attempts": 2, "in": [{"a": 1}, {"b": null}], "text": "abc", "sure": true}""",
    )

    @ParameterizedTest
    @ValueSource(
        strings = [
            """{}""",
            """{"state": "held", "attempts": 2.0, "sure": true}""",
            """{"in": [{"a": 1}, {"b": null}]}""",
            """{"in": {"${'$'}contains": {"b": null}}, "text": {"${'$'}contains": "bc"}}""",
            """{"in": {"${'$'}length": 2}, "attempts": {"${'$'}at_least": 2}, "state": {"${'$'}not": "pending"}}""",
            """{"attempts": {"${'$'}more_than": 1}, "text": {"${'$'}present": true}}""",
        ],
    )
    fun `what is there fits`(expected: String) {
        assertNull(misfit(parsed(expected), actual))
    }

    @ParameterizedTest
    @ValueSource(
        strings = [
            """[]""",
            """null""",
            """{"stat": "held"}""",
            """{"stat": null}""",
            """{"stat": {"${'$'}not": "held"}}""",
            """{"state": "hel"}""",
            """{"state": null}""",
            """{"state": {}}""",
            """{"attempts": "2"}""",
            """{"sure": "true"}""",
            """{"sure": false}""",
            """{"text": true}""",
            """{"in": [{"a": 1}]}""",
            """{"in": [{"a": 1}, {"b": {"${'$'}present": true}}]}""",
            """{"in": {"${'$'}contains": {"c": null}}, "text": {"${'$'}contains": "bc"}}""",
            """{"text": {"${'$'}contains": "cb"}}""",
            """{"in": {"${'$'}length": 3}}""",
            """{"attempts": {"${'$'}at_least": 3}}""",
            """{"attempts": {"${'$'}more_than": 2}}""",
            """{"state": {"${'$'}not": "held"}}""",
            """{"state": {"${'$'}more_than": 2}}""",
        ],
    )
    fun `what is expected and not there is a misfit`(expected: String) {
        assertNotNull(misfit(parsed(expected), actual))
    }

    @Test
    fun `a pattern that nobody knows is a failure`() {
        assertFailsWith<AssertionError> { misfit(parsed("""{"state": {"${'$'}at_most": 2}}"""), actual) }
    }

    @Test
    fun `notations stand for what they say`() {
        val known = mapOf("order" to parsed("""{"id": 7, "in": {"a": "b"}}"""))
        val written = """[
            {"of": "${'$'}order.in.a"}, {"${'$'}repeat": ["ab", 3]}, {"${'$'}utf16": [55357, 56832]}, "a${'$'}order"
        ]"""
        assertEquals(parsed("""[{"of": "b"}, "ababab", "😀", "a${'$'}order"]"""), parsed(written).resolved(known))
        for (broken in listOf(
            """"${'$'}other"""", """"${'$'}order.at"""", """{"${'$'}utf16": [65536]}""", """{"${'$'}repeat": ["a"]}""",
        )) {
            assertFailsWith<AssertionError> { parsed(broken).resolved(known) }
        }
        assertTrue(parsed("""{"${'$'}utf16": [55358]}""").resolved(known).hasHalfAPair())
    }

    private fun failure(steps: String, end: String = "{}"): String {
        val scenario = scenario(parsed("""{"name": "n", "guards": ["P1"], "steps": $steps, "end": $end}"""))
        return assertFailsWith<AssertionError> { play(scenario) }.message.orEmpty()
    }

    /** The end is looked at, and what counts everywhere with it. */
    @ParameterizedTest
    @ValueSource(strings = ["""{"effects": 2}""", """{"efects": 1}""", """{"max_keys_per_path": 2}"""])
    fun `a scenario that ends otherwise fails`(end: String) {
        val steps = """[
            {"open": {}}, {"begin": {"slot": "form"}, "as": "order"},
            {"submit": {"submission": {"id": "${'$'}order", "url": "/orders"}}}, {"drain": {}}
        ]"""
        assertTrue(failure(steps, end).startsWith("n, the end:"))
    }

    @Test
    fun `a step that goes otherwise fails, and says where`() {
        val steps = mapOf(
            """{"begin": {"slot": ""}}""" to "failed with",
            """{"begin": {"slot": "a"}, "error": {}}""" to "expected",
            """{"begin": {"slot": "a"}, "expect": "b"}""" to "expected",
            """{"begin": {"slot": ""}, "error": {"name": "Closed"}}""" to "expected",
            """{"begin": {"slot": "${'$'}a"}}""" to "nothing is known as ${'$'}a",
            """{"begin": {"slot": "a"}, "expect": "${'$'}a"}""" to "nothing is known as ${'$'}a",
            """{"begin": {"slot": {"${'$'}utf16": [55358]}}, "error": {}}""" to "if, and only if",
            """{"begin": {"slot": ""}, "error": {}, "needs": "utf16_strings"}""" to "if, and only if",
            """{"begin": {"slot": "a"}, "on": "b"}""" to "b is not open",
            """{"snapshot": {"id": 7}}""" to "7 is no text",
            """{"open": {"with": {"limits": {"max_in_flihgt": 1}}}, "on": "b"}""" to "there is no limit",
            """{"open": {"with": {"profile": "amazon"}}, "on": "b"}""" to "\"amazon\" is none of",
            """{"heard": {"by": "listener"}}""" to "no listener listens",
            """{"flush": {"batch": "a"}}""" to "there is no batch a",
            """{"copy_files": {"from": "main.sqlite3", "to": "b"}}""" to "main.sqlite3 is open",
            """{"copy_files": {"from": "a", "to": "b"}}""" to "a isn't there",
            """{"copy_files": {"from": "a", "to": "main.sqlite3"}}""" to "main.sqlite3 is there",
            """{"server": {"get": "nothing"}}""" to "the control API says 404",
        )
        for ((step, problem) in steps) {
            val failure = failure("""[{"open": {}}, $step]""")
            assertTrue(failure.startsWith("n, step 2: "), failure)
            assertContains(failure, problem)
        }
    }

    /** Two effects of one key, two keys on one path: a client that does this fails whatever else it says. */
    @Test
    fun `the verdict knows a second effect and a second key`() {
        ReferenceServer.start().use { server ->
            fun verdict() = verdict(server, JsonObject(emptyMap()))
            assertNull(verdict())
            post(server, "a")
            assertNull(verdict())
            server.post("forget-keys", "")
            post(server, "a")
            assertNotNull(verdict())
            server.post("reset", "")
            post(server, "b")
            assertNull(verdict())
            post(server, "c")
            assertNotNull(verdict())
        }
    }

    private fun post(server: ReferenceServer, key: String) {
        val request = HttpRequest.newBuilder(URI("${server.url}/orders")).header("Idempotency-Key", key)
            .POST(HttpRequest.BodyPublishers.noBody())
        HttpClient.newHttpClient().send(request.build(), HttpResponse.BodyHandlers.discarding())
    }
}
