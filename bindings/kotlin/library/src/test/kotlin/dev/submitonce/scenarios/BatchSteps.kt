package dev.submitonce.scenarios

import dev.submitonce.BatchConfig
import dev.submitonce.BatchFormat
import dev.submitonce.Fetched
import dev.submitonce.RecordReceipt
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive

/** Batches of small records, and fetched values. */
val batchSteps: Map<String, Kind> = mapOf(
    "batch" to kind {
        val name = text("name")
        val config = batchConfig(json("config"))
        plainly { turn -> turn.handle.run { keep(name, outbox.batch(config)) } }
    },
    "append" to kind {
        val batch = text("batch")
        val record = text("record")
        plainly { turn -> form(turn.handle.batch(batch).append(record)) }
    },
    "append_all" to kind {
        val batch = text("batch")
        val records = json("records").items().map { it.text() }
        plainly { turn -> turn.handle.batch(batch).appendAll(records).map(::form) }
    },
    "flush" to kind {
        val batch = text("batch")
        plainly { turn -> turn.handle.batch(batch).flush() }
    },
    "current" to kind {
        val account = textOrNull("account")
        val key = text("key")
        onOutbox { current(key, account)?.let(::form) }
    },
)

private fun batchConfig(json: JsonElement): BatchConfig = json.members {
    val default = BatchConfig(text("key"), text("url"))
    default.copy(
        account = textOrNull("account"),
        method = textOrNull("method") ?: default.method,
        effect = jsonOrNull("effect")?.text()?.let(::effect),
        headers = jsonOrNull("headers")?.headers() ?: default.headers,
        format = jsonOrNull("format")?.let(::format) ?: default.format,
        idMember = textOrNull("id_member") ?: default.idMember,
        maxRecords = count("max_records") ?: default.maxRecords,
        maxBytes = count("max_bytes") ?: default.maxBytes,
        maxAge = jsonOrNull("max_age_ms")?.millis(),
        priority = count("priority") ?: default.priority,
        unmeteredOnly = jsonOrNull("unmetered_only")?.flag() ?: default.unmeteredOnly,
    )
}

private fun Members.count(name: String): Int? = wholeOrNull(name)?.let(Math::toIntExact)

private fun format(json: JsonElement): BatchFormat =
    if (json is JsonPrimitive) {
        when (val name = json.text()) {
            "json_array" -> BatchFormat.JsonArray
            "ndjson" -> BatchFormat.Ndjson
            else -> broken("there is no format $name")
        }
    } else {
        json.members { json("json_object").members { BatchFormat.JsonObject(text("member")) } }
    }

private fun form(receipt: RecordReceipt): JsonObject =
    obj("record_id" to receipt.recordId, "batch" to receipt.batch)

private fun form(fetched: Fetched): JsonObject =
    obj(
        "id" to fetched.id,
        "status" to fetched.status,
        "content_type" to fetched.contentType,
        "headers" to fetched.headers.map { listOf(it.name, it.value) },
        "body" to fetched.body.decodeToString(throwOnInvalidSequence = true),
    )
