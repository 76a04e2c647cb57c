package dev.submitonce.scenarios

import dev.submitonce.AppStatement
import dev.submitonce.InboxAnswer
import dev.submitonce.InboxDecision
import dev.submitonce.InboxFailure
import dev.submitonce.InboxItem
import dev.submitonce.InboxPolicy
import dev.submitonce.InboxRun
import dev.submitonce.SqlValue
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.doubleOrNull

/** Once-records. Contents and results are bytes in the library, and texts in scenarios. */
val inboxSteps: Map<String, Kind> = mapOf(
    "inbox_begin" to kind {
        val item = item(json("item"))
        onOutbox { form(inbox.begin(item)) }
    },
    "inbox_finish" to kind {
        val run = run(json("run"))
        val result = textOrNull("result")?.bytes()
        val statements = jsonOrNull("statements")?.items()?.map(::statement)
        onOutbox { statements?.let { inbox.finishWith(run, it, result) } ?: inbox.finish(run, result) }
    },
    "inbox_fail" to kind {
        val run = run(json("run"))
        val failure = json("failure").constant<InboxFailure>()
        onOutbox { inbox.fail(run, failure) }
    },
    "inbox_extend" to kind {
        val run = run(json("run"))
        val lease = json("lease_ms").millis()
        onOutbox { inbox.extend(run, lease) }
    },
    "inbox_decide" to kind {
        val scope = text("scope")
        val key = text("key")
        val decision = decision(json("decision"))
        onOutbox { inbox.decide(scope, key, decision) }
    },
    "inbox_uncertain" to kind {
        val scope = textOrNull("scope")
        val limit = Math.toIntExact(wholeOrNull("limit") ?: 1_000)
        onOutbox { inbox.uncertain(scope, limit).map { obj("scope" to it.scope, "key" to it.key, "runs" to it.runs) } }
    },
    "inbox_query" to kind {
        val statement = statement(json("statement"))
        onOutbox { inbox.query(statement).map { row -> row.map(::form) } }
    },
)

private fun String.bytes() = encodeToByteArray(throwOnInvalidSequence = true)

private fun ByteArray.text() = decodeToString(throwOnInvalidSequence = true)

private fun item(json: JsonElement): InboxItem = json.members {
    InboxItem(
        scope = text("scope"),
        key = text("key"),
        policy = json("policy").constant<InboxPolicy>(),
        content = textOrNull("content")?.bytes(),
        lease = jsonOrNull("lease_ms")?.millis(),
    )
}

private fun run(json: JsonElement): InboxRun = json.members { InboxRun(text("scope"), text("key"), whole("number")) }

private fun form(answer: InboxAnswer): JsonObject {
    val (run, done) = (answer as? InboxAnswer.Run)?.run to (answer as? InboxAnswer.Done)
    val name = when (answer) {
        is InboxAnswer.Run -> "run"
        is InboxAnswer.Busy -> "busy"
        is InboxAnswer.Done -> "done"
        is InboxAnswer.Uncertain -> "uncertain"
    }
    return obj(
        "answer" to name,
        "run" to run?.let { obj("scope" to it.scope, "key" to it.key, "number" to it.number) },
        "result" to done?.result?.text(),
        "dropped" to done?.dropped,
    )
}

private fun decision(json: JsonElement): InboxDecision =
    if (json is JsonPrimitive) {
        if (json.text() != "run_again") broken("there is no decision $json")
        InboxDecision.RunAgain
    } else {
        json.members { json("happened").members { InboxDecision.Happened(textOrNull("result")?.bytes()) } }
    }

private fun statement(json: JsonElement): AppStatement = json.members {
    AppStatement(text("sql"), jsonOrNull("parameters")?.items().orEmpty().map(::value))
}

private fun value(json: JsonElement): SqlValue =
    if (json == JsonNull) {
        SqlValue.Null
    } else {
        json.members {
            when (val kind = unread().singleOrNull() ?: broken("a value has one kind: $json")) {
                "integer" -> SqlValue.Integer(whole(kind))
                "real" -> SqlValue.Real((json(kind) as? JsonPrimitive)?.doubleOrNull ?: broken("$json is no number"))
                "text" -> SqlValue.Text(text(kind))
                "blob" -> SqlValue.Blob(text(kind).bytes())
                else -> broken("there is no value $kind")
            }
        }
    }

private fun form(value: SqlValue): JsonElement =
    when (value) {
        SqlValue.Null -> JsonNull
        is SqlValue.Integer -> obj("integer" to value.value)
        is SqlValue.Real -> obj("real" to value.value)
        is SqlValue.Text -> obj("text" to value.value)
        is SqlValue.Blob -> obj("blob" to value.value.text())
    }
