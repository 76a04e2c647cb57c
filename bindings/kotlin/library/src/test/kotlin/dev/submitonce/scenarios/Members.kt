package dev.submitonce.scenarios

import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.booleanOrNull
import kotlinx.serialization.json.longOrNull

/** The scenario fails, or can't be understood, which is the same. */
fun broken(why: String): Nothing = throw AssertionError(why)

/** The members of an object, each to be read: those that nobody asks for are unknown. */
class Members(private val json: JsonObject) {
    private val unread = json.keys.toMutableSet()

    /** As it is, a null too; nothing if there is no such member. */
    fun given(name: String): JsonElement? {
        unread -= name
        return json[name]
    }

    fun json(name: String): JsonElement = given(name) ?: broken("there is no $name in $json")

    /** A member that may be left out, or be null, which is the same. */
    fun jsonOrNull(name: String): JsonElement? = given(name).takeUnless { it == JsonNull }

    fun text(name: String): String = json(name).text()

    fun textOrNull(name: String): String? = jsonOrNull(name)?.text()

    fun whole(name: String): Long = json(name).whole()

    fun wholeOrNull(name: String): Long? = jsonOrNull(name)?.whole()

    fun flag(name: String): Boolean = json(name).flag()

    /** The members that nobody has asked for. */
    fun unread(): Set<String> = unread
}

/** Reads an object to the last member. */
fun <T> JsonElement.members(read: Members.() -> T): T {
    val members = Members(this as? JsonObject ?: broken("$this is no object"))
    return members.read().also {
        if (members.unread().isNotEmpty()) broken("nothing is known of ${members.unread()} in $this")
    }
}

fun JsonElement.text(): String =
    (this as? JsonPrimitive)?.takeIf { it.isString }?.content ?: broken("$this is no text")

fun JsonElement.whole(): Long =
    (this as? JsonPrimitive)?.takeUnless { it.isString }?.longOrNull ?: broken("$this is no whole number")

fun JsonElement.flag(): Boolean =
    (this as? JsonPrimitive)?.takeUnless { it.isString }?.booleanOrNull ?: broken("$this is neither true nor false")

fun JsonElement.items(): List<JsonElement> = this as? JsonArray ?: broken("$this is no list")

/** The constant with this name in snake case. */
inline fun <reified E : Enum<E>> JsonElement.constant(): E =
    enumValues<E>().find { it.form() == text() } ?: broken("$this is none of ${enumValues<E>().map { it.form() }}")

/** A constant's name in snake case. */
fun Enum<*>.form(): String = name.lowercase()
