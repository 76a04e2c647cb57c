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
 * @property priority higher goes first; equal goes in the order of acceptance. Zero is normal; -100 to
 *   100. Of every eight that are sent, one is the one that was accepted first, so that nothing starves.
 *   Within a lane it doesn't count.
 * @property expiresAt after this time it isn't worth sending any more. What may already have happened
 *   is then held for a decision instead of being called expired.
 * @property unmeteredOnly wait for a network that costs nothing by the byte.
 * @property lane ordering key, of the account: within a lane, strictly first in, first out, one in
 *   flight. Without one it waits for no other.
 * @property lanePolicy what becomes of the lane if this one doesn't succeed. Left out:
 *   [LanePolicy.BLOCK].
 * @property replaces latest-wins key, of the account, for writes that overwrite, for example `draft/42`:
 *   an older submission of the key that hasn't been sent is superseded by this one. Only where the
 *   effect is [Effect.OVERWRITE], or the server profile says that the latest wins; or for a `GET`, whose
 *   newest result is [Outbox.current]. Not together with a lane.
 * @property after sent only after these have succeeded: submissions of the same account that were
 *   accepted before. If one ends without success, this one is rejected.
 * @property parts parts of the request that are taken from the results of parents.
 * @property probe how to ask the server whether it took effect.
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
    public val lanePolicy: LanePolicy? = null,
    public val replaces: String? = null,
    public val after: List<UUID> = emptyList(),
    public val parts: List<ParentPart> = emptyList(),
    public val probe: StatusProbe? = null,
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
