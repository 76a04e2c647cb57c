package dev.submitonce

import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import kotlinx.serialization.json.long
import java.io.Closeable
import java.io.File
import java.net.URI
import java.net.http.HttpClient
import java.net.http.HttpRequest
import java.net.http.HttpResponse

/** The reference server as a process of its own, controlled over HTTP. It counts what really happened. */
class ReferenceServer private constructor(private val process: Process, val url: String) : Closeable {
    /** The verdict. */
    fun summary(): Summary = Summary(get("summary").jsonObject)

    fun records(): JsonArray = get("records") as JsonArray

    /** One behaviour per request under the path, in order; then normal again. Behaviours in JSON. */
    fun script(vararg behaviours: String, path: String = "/") {
        post("script", """{"match":{"path_prefix":"$path"},"behaviours":[${behaviours.joinToString()}]}""")
    }

    /** This behaviour for each request under the path that has no script. */
    fun always(behaviour: String, path: String = "/") {
        post("script", """{"match":{"path_prefix":"$path"},"always":$behaviour}""")
    }

    /** Waits, at the server, until so many requests are that far: `"arrived"`, `{"held":"gate"}`… */
    fun await(until: String = "\"arrived\"", count: Int = 1, path: String = "/") {
        val answer = post(
            "wait",
            """{"match":{"path_prefix":"$path"},"until":$until,"count":$count,"timeout_ms":20000}""",
        )
        check(answer.jsonObject.getValue("met").jsonPrimitive.content == "true") { "it never came: $until" }
    }

    fun release(name: String) {
        post("release/$name", "")
    }

    /** Orders something over the control API. The body is JSON, or empty. */
    fun post(order: String, body: String) = send(
        HttpRequest.newBuilder(URI("$url/_control/$order")).POST(HttpRequest.BodyPublishers.ofString(body)),
    )

    /** Asks the control API. */
    fun get(order: String) = send(HttpRequest.newBuilder(URI("$url/_control/$order")))

    private fun send(request: HttpRequest.Builder) =
        client.send(request.build(), HttpResponse.BodyHandlers.ofString()).let { answer ->
            check(answer.statusCode() == 200) { "the control API says ${answer.statusCode()}: ${answer.body()}" }
            Json.parseToJsonElement(answer.body())
        }

    override fun close() {
        process.destroy()
        process.waitFor()
    }

    class Summary(private val json: JsonObject) {
        val requests get() = count("requests")
        val effects get() = count("effects")
        val keys get() = count("keys")
        val duplicateEffects get() = count("duplicate_effects")
        val maxEffectsPerKey get() = count("max_effects_per_key")
        val maxKeysPerPath get() = count("max_keys_per_path")
        val maxInFlightPerKey get() = count("max_in_flight_per_key")
        val answersLost get() = count("answers_lost")

        private fun count(name: String): Long = json.getValue(name).jsonPrimitive.long

        override fun toString(): String = json.toString()
    }

    companion object {
        private val client: HttpClient = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build()

        /** Starts one on a free port. It ends when it is closed, or with this process. */
        fun start(vararg arguments: String): ReferenceServer {
            val program = File(checkNotNull(System.getProperty("submitonce.server")))
            val process = ProcessBuilder(listOf(program.path) + arguments)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start()
            Runtime.getRuntime().addShutdownHook(Thread { process.destroy() })
            val url = checkNotNull(process.inputStream.bufferedReader().readLine()) { "it did not start" }
            return ReferenceServer(process, url)
        }
    }
}
