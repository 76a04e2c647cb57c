package dev.submitonce.scenarios

import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive

// What may stand in a step in place of a value: the name of an earlier one, a long text, a text in
// UTF-16.

/** Puts values in place of their notations. [known] is what earlier steps gave, by name. */
fun JsonElement.resolved(known: Map<String, JsonElement>): JsonElement =
    when (this) {
        is JsonPrimitive -> if (isString && content.startsWith("$")) lookUp(content, known) else this
        is JsonArray -> JsonArray(map { it.resolved(known) })
        is JsonObject -> when (keys.singleOrNull()) {
            "\$utf16" -> JsonPrimitive(utf16(values.single()))
            "\$repeat" -> JsonPrimitive(repeated(values.single()))
            else -> JsonObject(mapValues { (_, value) -> value.resolved(known) })
        }
    }

/** `$name`, or `$name.member.member`. */
private fun lookUp(path: String, known: Map<String, JsonElement>): JsonElement {
    val names = path.removePrefix("$").split('.')
    val found = names.drop(1).fold(known[names.first()]) { value, name -> (value as? JsonObject)?.get(name) }
    return found ?: broken("nothing is known as $path")
}

private fun utf16(units: JsonElement): String =
    units.items().joinToString("") { unit ->
        val code = unit.whole()
        if (code !in 0..0xFFFF) broken("$code is no code unit")
        code.toInt().toChar().toString()
    }

private fun repeated(repeat: JsonElement): String {
    val parts = repeat.items()
    if (parts.size != 2 || parts[1].whole() !in 0..Int.MAX_VALUE) broken("$repeat is no text and number")
    return parts[0].text().repeat(parts[1].whole().toInt())
}

/** It has half of a surrogate pair in it somewhere, which no UTF-8 can hold. */
fun JsonElement.hasHalfAPair(): Boolean =
    when (this) {
        is JsonPrimitive -> !Charsets.UTF_8.newEncoder().canEncode(content)
        is JsonArray -> any { it.hasHalfAPair() }
        is JsonObject -> values.any { it.hasHalfAPair() }
    }
