package dev.submitonce.scenarios

import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import java.io.File

// What files, scenarios and steps are made of: see `tests/conformance/README.md`.

/** A story with one server. */
class Scenario(
    val name: String,
    /** Arguments of the server's process. */
    val server: List<String>,
    /** What outboxes are opened with. */
    val outbox: Config,
    val steps: List<Step>,
    /** What the server's summary is in the end. */
    val end: JsonObject,
)

/** One step: a member named by its kind, with the arguments, and these around it. */
class Step(
    val kind: String,
    val arguments: JsonElement,
    val on: String,
    val keepAs: String?,
    val expect: JsonElement?,
    val error: JsonElement?,
    /** Some text of it is UTF-16 that no UTF-8 can hold. */
    val needsUtf16: Boolean,
)

val conformance: File = File(checkNotNull(System.getProperty("submitonce.repository")), "tests/conformance")

fun scenariosOf(file: File): List<Scenario> =
    Json.parseToJsonElement(file.readText()).members {
        // What they are about, for readers.
        text("about")
        json("scenarios").items().map(::scenario)
    }

fun scenario(json: JsonElement): Scenario = json.members {
    if (json("guards").items().map { it.text() }.isEmpty()) broken("it guards nothing: $json")
    Scenario(
        name = text("name"),
        server = jsonOrNull("server")?.items().orEmpty().map { it.text() },
        outbox = jsonOrNull("outbox")?.let(::config) ?: Config(),
        steps = json("steps").items().map(::step),
        end = json("end") as? JsonObject ?: broken("the end is no object: $json"),
    )
}

fun step(json: JsonElement): Step = json.members {
    val on = textOrNull("on") ?: "main"
    val keepAs = textOrNull("as")
    val (expect, error) = given("expect") to given("error")
    val needs = textOrNull("needs")
    val kind = unread().singleOrNull() ?: broken("a step has one kind, and members it knows: $json")
    if (kind !in kinds) broken("there is no step $kind")
    if (expect != null && error != null) broken("it both succeeds and fails: $json")
    if (needs != null && (needs != "utf16_strings" || error == null)) broken("it can't need $needs: $json")
    Step(kind, json(kind), on, keepAs, expect, error, needsUtf16 = needs != null)
}
