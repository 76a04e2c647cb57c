package dev.submitonce

import java.io.File
import java.time.Instant
import java.util.UUID

/**
 * One business action, to take effect once. Everything in it is frozen when [Outbox.submit] returns:
 * retries send the same bytes.
 *
 * @property id the action's ID, from [Outbox.begin] or [SubmissionId].
 * @property url an absolute `http` or `https` URL, or a path that starts with `/` and is joined to
 *   the outbox's base URL.
 * @property body what to send.
 * @property method the HTTP method in capitals.
 * @property account whose action it is: it goes with that account's credentials, to whichever host
 *   its URL names. Leave it out for what belongs to nobody, and for other people's hosts.
 * @property effect how the server treats a repeat. Left out, it comes from the method and the server
 *   profile.
 * @property headers headers to store and send with each attempt. Never credentials: they are refused.
 * @property priority higher goes first; equal goes in the order of acceptance.
 * @property expiresAt after this time it isn't worth sending any more. What may already have happened
 *   is then held for a decision instead of being called expired.
 * @property unmeteredOnly wait for a network that costs nothing by the byte.
 * @property lane ordering key. *Not supported yet.*
 * @property replaces latest-wins key. *Not supported yet.*
 * @property after sent only after these have succeeded. *Not supported yet.*
 * @property probe a path whose answer tells whether the effect exists. *Not supported yet.*
 */
public data class Submission(
    public val id: UUID,
    public val url: String,
    public val body: Body = Body.Empty,
    public val method: String = "POST",
    public val account: String? = null,
    public val effect: Effect? = null,
    public val headers: List<Header> = emptyList(),
    public val priority: Int = 0,
    public val expiresAt: Instant? = null,
    public val unmeteredOnly: Boolean = false,
    public val lane: String? = null,
    public val replaces: String? = null,
    public val after: List<UUID> = emptyList(),
    public val probe: String? = null,
) {
    /** Without the URL, which may name a person, and without header values. */
    override fun toString(): String = "Submission(id=$id, method=$method, body=$body)"
}

/** What a submission sends. */
public sealed interface Body {
    /** Nothing. */
    public data object Empty : Body

    /**
     * A JSON text, sent as it is, byte for byte in UTF-8, as `application/json`. Anything else than
     * JSON is refused.
     */
    public data class Json(public val text: String) : Body {
        override fun toString(): String = "Json(${text.length} characters)"
    }

    /** Any bytes. Don't change the array before [Outbox.submit] has returned. */
    public class Bytes(public val contentType: String, public val bytes: ByteArray) : Body {
        override fun equals(other: Any?): Boolean =
            other is Bytes && contentType == other.contentType && bytes.contentEquals(other.bytes)

        override fun hashCode(): Int = 31 * contentType.hashCode() + bytes.contentHashCode()

        override fun toString(): String = "Bytes(${bytes.size} bytes)"
    }

    /** What is in a regular file when it is submitted: copied then, and yours again after that. */
    public data class FromFile(public val contentType: String, public val file: File) : Body {
        override fun toString(): String = "FromFile"
    }
}
