package dev.submitonce.scenarios

import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.booleanOrNull
import java.math.BigDecimal

// Whether what came is what was expected. Only what is named is looked at; what is named must be there.

/** What doesn't fit, if something doesn't. */
fun misfit(expected: JsonElement, actual: JsonElement): String? =
    if (fits(expected, actual)) null else "expected $expected\n     got $actual"

private fun fits(expected: JsonElement, actual: JsonElement): Boolean =
    when (expected) {
        is JsonObject -> when (val pattern = expected.keys.singleOrNull()?.takeIf { it.startsWith("$") }) {
            null -> actual is JsonObject &&
                expected.all { (name, value) -> actual[name]?.let { fits(value, it) } ?: false }
            else -> matches(pattern, expected.getValue(pattern), actual)
        }
        is JsonArray ->
            actual is JsonArray && actual.size == expected.size &&
                expected.zip(actual).all { (one, other) -> fits(one, other) }
        is JsonPrimitive -> actual is JsonPrimitive && same(expected, actual)
    }

private fun same(expected: JsonPrimitive, actual: JsonPrimitive): Boolean =
    when {
        expected == JsonNull || expected.isString -> expected == actual
        expected.booleanOrNull != null -> !actual.isString && expected.booleanOrNull == actual.booleanOrNull
        else -> numberOrNull(actual)?.let { it.compareTo(number(expected)) == 0 } ?: false
    }

private fun matches(pattern: String, value: JsonElement, actual: JsonElement): Boolean =
    when (pattern) {
        "\$at_least" -> numberOrNull(actual)?.let { it >= number(value) } ?: false
        "\$more_than" -> numberOrNull(actual)?.let { it > number(value) } ?: false
        "\$present" -> value.flag() == (actual != JsonNull)
        "\$not" -> !fits(value, actual)
        "\$length" -> actual is JsonArray && actual.size.toLong() == value.whole()
        "\$contains" -> when (actual) {
            is JsonArray -> actual.any { fits(value, it) }
            is JsonPrimitive -> actual.isString && value.text() in actual.content
            is JsonObject -> false
        }
        else -> broken("there is no pattern $pattern")
    }

private fun numberOrNull(json: JsonElement): BigDecimal? =
    (json as? JsonPrimitive)?.takeUnless { it.isString }?.content?.toBigDecimalOrNull()

private fun number(json: JsonElement): BigDecimal = numberOrNull(json) ?: broken("$json is no number")
