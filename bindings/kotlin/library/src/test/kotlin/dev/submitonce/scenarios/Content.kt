package dev.submitonce.scenarios

import dev.submitonce.Body
import dev.submitonce.Effect
import dev.submitonce.Header
import dev.submitonce.LanePolicy
import dev.submitonce.ParentPart
import dev.submitonce.PartSource
import dev.submitonce.PartTarget
import dev.submitonce.StatusProbe
import dev.submitonce.Submission
import dev.submitonce.SubmissionId
import kotlinx.serialization.json.JsonElement
import java.io.File
import java.time.Instant

/** A submission as scenarios write it, to be made when its turn comes. Bodies in files are put into a folder. */
typealias Content = (File) -> Submission

fun content(json: JsonElement): Content = json.members {
    val id = text("id")
    val url = text("url")
    val method = textOrNull("method") ?: "POST"
    val account = textOrNull("account")
    val effect = jsonOrNull("effect")?.text()?.let(::effect)
    val headers = jsonOrNull("headers")?.headers().orEmpty()
    val body: (File) -> Body = jsonOrNull("body")?.let(::body) ?: { Body.Empty }
    val priority = wholeOrNull("priority") ?: 0
    val expiresIn = wholeOrNull("expires_in_ms")
    val unmeteredOnly = jsonOrNull("unmetered_only")?.flag() ?: false
    val lane = textOrNull("lane")
    val lanePolicy = jsonOrNull("lane_policy")?.constant<LanePolicy>()
    val replaces = textOrNull("replaces")
    val after = jsonOrNull("after")?.items().orEmpty().map { it.text() }
    val parts = jsonOrNull("parts")?.items().orEmpty().map(::part)
    val probe = jsonOrNull("probe")?.let(::probe)
    val content: Content = { folder ->
        Submission(
            id = SubmissionId.parse(id),
            url = url,
            body = body(folder),
            method = method,
            account = account,
            effect = effect,
            headers = headers,
            priority = Math.toIntExact(priority),
            expiresAt = expiresIn?.let(Instant.now()::plusMillis),
            unmeteredOnly = unmeteredOnly,
            lane = lane,
            lanePolicy = lanePolicy,
            replaces = replaces,
            after = after.map(SubmissionId::parse),
            parts = parts.map { it() },
            probe = probe,
        )
    }
    content
}

/** A part, to be made when its turn comes, since its parent's ID may be none. */
private fun part(json: JsonElement): () -> ParentPart = json.members {
    val parent = text("parent")
    val from = source(json("from"))
    val into = target(json("into"))
    val part = { ParentPart(SubmissionId.parse(parent), from, into) }
    part
}

private fun source(json: JsonElement): PartSource = oneKind(json) { kind, text ->
    when (kind) {
        "json_pointer" -> PartSource.JsonPointer(text)
        "header" -> PartSource.Header(text)
        else -> broken("no part is found in a $kind")
    }
}

/** Where a part goes. */
fun target(json: JsonElement): PartTarget = oneKind(json) { kind, text ->
    when (kind) {
        "path" -> PartTarget.Path(text)
        "query" -> PartTarget.Query(text)
        "header" -> PartTarget.Header(text)
        "json" -> PartTarget.Json(text)
        else -> broken("no part goes into a $kind")
    }
}

/** An object with one member, a text. */
private fun <T> oneKind(json: JsonElement, read: (String, String) -> T): T = json.members {
    val kind = unread().singleOrNull() ?: broken("it has one kind: $json")
    read(kind, text(kind))
}

private fun probe(json: JsonElement): StatusProbe = json.members {
    val default = StatusProbe(text("url"))
    StatusProbe(
        url = default.url,
        pointer = textOrNull("pointer"),
        missingMeansNotApplied =
            jsonOrNull("missing_means_not_applied")?.flag() ?: default.missingMeansNotApplied,
        ofKeyRecord = jsonOrNull("of_key_record")?.flag() ?: default.ofKeyRecord,
    )
}

/** By its name in scenarios. */
fun effect(name: String): Effect =
    Effect.entries.find { name(it) == name } ?: broken("there is no effect $name")

/** Pairs of a name and a value. */
fun JsonElement.headers(): List<Header> = items().map { pair ->
    val texts = pair.items().map { it.text() }
    if (texts.size != 2) broken("$pair is no header")
    Header(texts[0], texts[1])
}

private fun body(json: JsonElement): (File) -> Body = json.members {
    val kind = unread().singleOrNull() ?: broken("a body has one kind: $json")
    val of = json(kind)
    when (kind) {
        "json" -> of.text().let { text -> { Body.Json(text) } }
        "bytes" -> bytes(of).let { (type, bytes) -> { Body.Bytes(type, bytes) } }
        "file" -> bytes(of).let { (type, bytes) -> { folder -> Body.FromFile(type, written(bytes, folder)) } }
        else -> broken("there is no body $kind")
    }
}

private fun written(bytes: ByteArray, folder: File): File =
    File.createTempFile("body", null, folder).also { it.writeBytes(bytes) }

/** A content type, and what has it. */
private fun bytes(json: JsonElement): Pair<String, ByteArray> = json.members {
    val type = text("content_type")
    val text = textOrNull("text")
    val hex = textOrNull("hex")
    if ((text == null) == (hex == null)) broken("bytes are either text or hex: $json")
    type to (text?.encodeToByteArray(throwOnInvalidSequence = true) ?: unhex(hex!!))
}

private fun unhex(hex: String): ByteArray {
    if (hex.length % 2 != 0) broken("half a byte in $hex")
    return hex.chunked(2).map { it.toInt(radix = 16).toByte() }.toByteArray()
}
