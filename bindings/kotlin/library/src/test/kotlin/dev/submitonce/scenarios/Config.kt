package dev.submitonce.scenarios

import dev.submitonce.BuiltInProfile
import dev.submitonce.InboxScope
import dev.submitonce.ServerProfile
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import dev.submitonce.internal.KeyPlace as RawKeyPlace

/** What an outbox is opened with; what is left out is the library's default. */
class Config(
    val profile: JsonElement? = null,
    val limits: Map<String, JsonElement> = emptyMap(),
    val baseUrl: String? = null,
    val userAgent: String? = null,
    val installId: String? = null,
    val inboxScopes: List<InboxScope>? = null,
) {
    /** This, and for what it leaves out the other. */
    fun over(other: Config): Config =
        Config(
            profile ?: other.profile,
            other.limits + limits,
            baseUrl ?: other.baseUrl,
            userAgent ?: other.userAgent,
            installId ?: other.installId,
            inboxScopes ?: other.inboxScopes,
        )
}

fun config(json: JsonElement): Config = json.members {
    Config(
        profile = jsonOrNull("profile"),
        limits = jsonOrNull("limits")?.let { it as? JsonObject ?: broken("$it are no limits") }.orEmpty(),
        baseUrl = textOrNull("base_url"),
        userAgent = textOrNull("user_agent"),
        installId = textOrNull("install_id"),
        inboxScopes = jsonOrNull("inbox_scopes")?.items()?.map(::inboxScope),
    )
}

private fun inboxScope(json: JsonElement): InboxScope = json.members {
    InboxScope(text("name"), json("keep_results_ms").millis(), jsonOrNull("keep_keys_ms")?.millis())
}

/** By its name, or as it is written. */
fun profile(json: JsonElement): ServerProfile =
    if (json is JsonPrimitive && json.isString) builtIn(json) else ServerProfile.fromJson(json.toString())

fun builtIn(name: JsonElement): ServerProfile = ServerProfile.builtIn(name.constant<BuiltInProfile>())

/** A profile without its rules. The layer shows a part of it, so it is the generated one that is looked at. */
fun form(profile: ServerProfile): JsonObject = with(profile.raw) {
    obj(
        "name" to name,
        "key_place" to form(keyPlace),
        "key_spelling" to keySpelling.form().replace('_', '-'),
        "effect" to name(effect),
        "retention" to retention?.toMillis(),
        "quiet_time" to quietTime.toMillis(),
        "locks" to locks,
        "aborts_handlers" to abortsHandlers,
        "gateway_may_resend" to gatewayMayResend,
        "latest_wins" to latestWins,
        "key_scope" to keyScope.form(),
        "replays_success" to replaysSuccess,
        "errors_are_replayed" to errorsAreReplayed.form(),
        "expected_content_types" to expectedContentTypes,
        "expected_member" to expectedMember,
        "replay_markers" to replayMarkers,
    )
}

private fun form(place: RawKeyPlace): JsonElement =
    when (place) {
        is RawKeyPlace.Header -> obj("header" to obj("name" to place.name))
        is RawKeyPlace.JsonPointer -> obj("json_pointer" to obj("pointer" to place.pointer))
        is RawKeyPlace.Query -> obj("query" to obj("name" to place.name))
        is RawKeyPlace.Path -> obj("path" to obj("placeholder" to place.placeholder))
        RawKeyPlace.Nowhere -> JsonPrimitive("nowhere")
    }
