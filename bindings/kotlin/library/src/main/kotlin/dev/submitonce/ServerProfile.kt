package dev.submitonce

import dev.submitonce.internal.builtInProfile
import dev.submitonce.internal.profileFromJson
import java.time.Duration
import dev.submitonce.internal.KeyPlace as RawKeyPlace
import dev.submitonce.internal.ServerProfile as RawProfile

/** A profile that comes with the library. */
public typealias BuiltInProfile = dev.submitonce.internal.BuiltInProfile

/** How a key is written. */
public typealias KeySpelling = dev.submitonce.internal.KeySpelling

/** For whom the server remembers a key. */
public typealias KeyScope = dev.submitonce.internal.KeyScope

/** Which errors a server keeps under the key and gives again for ever. */
public typealias ReplayedErrors = dev.submitonce.internal.ReplayedErrors

/**
 * How one server treats keys: where they go, how long it remembers them, which answers mean what.
 *
 * Take a [builtIn] one, change it with [copy], or read one [fromJson]. Rules for answers are written
 * in JSON.
 */
public class ServerProfile internal constructor(internal val raw: RawProfile) {
    public val name: String get() = raw.name
    public val effect: Effect get() = raw.effect

    /** How long the server remembers a key; null for ever. */
    public val retention: Duration? get() = raw.retention

    /** How long the server may still be working on an attempt that got no answer. */
    public val quietTime: Duration get() = raw.quietTime

    /**
     * The profile with some of it changed.
     *
     * @param keyPlace where the key goes.
     * @param keySpelling how it is written.
     * @param effect the effect of a submission that names none and whose method isn't safe.
     * @param retention how long the server remembers a key after the first attempt; null for ever.
     * @param quietTime how long it may still be working on an attempt that got no answer.
     * @param locks it is known to lock a key in use.
     * @param abortsHandlers a lost connection ends its handler, perhaps between effect and record.
     * @param gatewayMayResend a gateway before it re-sends requests by itself.
     * @param latestWins a keyed write overwrites what the one before wrote, so that
     *   [Submission.replaces] may be used with it.
     * @param keyScope for whom it remembers a key.
     * @param replaysSuccess a repeat is answered with the first success and its body.
     * @param errorsAreReplayed which errors it keeps under the key.
     */
    public fun copy(
        name: String = raw.name,
        keyPlace: KeyPlace? = null,
        keySpelling: KeySpelling = raw.keySpelling,
        effect: Effect = raw.effect,
        retention: Duration? = raw.retention,
        quietTime: Duration = raw.quietTime,
        locks: Boolean = raw.locks,
        abortsHandlers: Boolean = raw.abortsHandlers,
        gatewayMayResend: Boolean = raw.gatewayMayResend,
        latestWins: Boolean = raw.latestWins,
        keyScope: KeyScope = raw.keyScope,
        replaysSuccess: Boolean = raw.replaysSuccess,
        errorsAreReplayed: ReplayedErrors = raw.errorsAreReplayed,
    ): ServerProfile =
        ServerProfile(
            raw.copy(
                name = name,
                keyPlace = keyPlace?.lowered() ?: raw.keyPlace,
                keySpelling = keySpelling,
                effect = effect,
                retention = retention,
                quietTime = quietTime,
                locks = locks,
                abortsHandlers = abortsHandlers,
                gatewayMayResend = gatewayMayResend,
                latestWins = latestWins,
                keyScope = keyScope,
                replaysSuccess = replaysSuccess,
                errorsAreReplayed = errorsAreReplayed,
            ),
        )

    override fun equals(other: Any?): Boolean = other is ServerProfile && raw == other.raw

    override fun hashCode(): Int = raw.hashCode()

    override fun toString(): String = "ServerProfile($name)"

    public companion object {
        /** A profile that comes with the library. */
        public fun builtIn(profile: BuiltInProfile): ServerProfile =
            ServerProfile(translated { builtInProfile(profile) })

        /**
         * Reads a profile that was written as JSON.
         *
         * @throws SubmitOnceException.Invalid with what is wrong in it, unknown members included.
         */
        public fun fromJson(json: String): ServerProfile =
            ServerProfile(translated { profileFromJson(json) })
    }
}

/** Where the key goes. */
public sealed interface KeyPlace {
    /** A header of this name. */
    public data class Header(public val name: String) : KeyPlace

    /** A member of a JSON body, by RFC 6901 pointer, inside an object that is there already. */
    public data class JsonPointer(public val pointer: String) : KeyPlace

    /** A query parameter, added behind those that are there. */
    public data class Query(public val name: String) : KeyPlace

    /** A placeholder in the path of the submission's URL, for example `{key}`. */
    public data class Path(public val placeholder: String) : KeyPlace

    /** Nowhere: the server doesn't know keys. */
    public data object Nowhere : KeyPlace
}

private fun KeyPlace.lowered(): RawKeyPlace =
    when (this) {
        is KeyPlace.Header -> RawKeyPlace.Header(name)
        is KeyPlace.JsonPointer -> RawKeyPlace.JsonPointer(pointer)
        is KeyPlace.Query -> RawKeyPlace.Query(name)
        is KeyPlace.Path -> RawKeyPlace.Path(placeholder)
        KeyPlace.Nowhere -> RawKeyPlace.Nowhere
    }
