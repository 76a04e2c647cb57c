package dev.submitonce

import java.time.Instant
import java.util.UUID
import dev.submitonce.internal.Fetched as RawFetched

/**
 * The latest value of something that is fetched: the result of the newest submission of a latest-wins key
 * that only reads and has succeeded. See [Outbox.current].
 *
 * @property id the submission whose result it is.
 * @property status the HTTP status it came with.
 * @property contentType the media type of the body.
 * @property headers stored headers of the answer, the `ETag` among them.
 * @property body the body.
 * @property fetchedAt when it came, by this device's clock.
 * @property checkedAt when a server last said that it is this, by this device's clock: [fetchedAt], or the
 *   last 304 since.
 */
public class Fetched(
    public val id: UUID,
    public val status: Int,
    public val contentType: String?,
    public val headers: List<Header>,
    public val body: ByteArray,
    public val fetchedAt: Instant,
    public val checkedAt: Instant,
) {
    /** The body as text in UTF-8. */
    public val text: String get() = body.decodeToString()

    override fun equals(other: Any?): Boolean =
        other is Fetched && id == other.id && status == other.status && contentType == other.contentType &&
            headers == other.headers && body.contentEquals(other.body) &&
            fetchedAt == other.fetchedAt && checkedAt == other.checkedAt

    override fun hashCode(): Int = 31 * id.hashCode() + checkedAt.hashCode()

    /** Without the body and the headers. */
    override fun toString(): String =
        "Fetched(id=$id, status=$status, bytes=${body.size}, fetchedAt=$fetchedAt, checkedAt=$checkedAt)"
}

internal fun RawFetched.lifted(): Fetched =
    Fetched(id, status.toInt(), contentType, headers, body, fetchedAt, checkedAt)
