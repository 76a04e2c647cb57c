package dev.submitonce

import java.util.UUID

/**
 * A part of a request that is taken from the result of another submission, its parent. It is put in
 * when the parent has succeeded, once, and is frozen then.
 *
 * @property parent whose result it is taken from. It needs no mention in [Submission.after].
 * @property from where in the parent's result it is found.
 * @property into where in the request it goes.
 */
public data class ParentPart(
    public val parent: UUID,
    public val from: PartSource,
    public val into: PartTarget,
)

/** Where in a parent's result a part is found. */
public sealed interface PartSource {
    /** In its JSON body, by RFC 6901 pointer, for example `/id`. */
    public data class JsonPointer(public val pointer: String) : PartSource

    /**
     * In one of the kept headers, by its name in any case: `Content-Location`, `ETag`, `Last-Modified`,
     * `Link`, `Location`, `Request-Id`, `X-Correlation-Id`, `X-Request-Id`.
     */
    public data class Header(public val name: String) : PartSource
}

/** Where in a request a part goes. */
public sealed interface PartTarget {
    /**
     * A placeholder in the path of the URL, with its braces, there once, for example `{order}` in
     * `/orders/{order}/photos`. A text or a number, percent-encoded; not empty, and never dots that would
     * change the path.
     */
    public data class Path(public val placeholder: String) : PartTarget

    /** A query parameter, added behind those that are there. A text or a number. */
    public data class Query(public val name: String) : PartTarget

    /** A header that the submission doesn't store itself. A text or a number. */
    public data class Header(public val name: String) : PartTarget

    /**
     * A member of the JSON body, added to an object that is there, by RFC 6901 pointer, for example
     * `/order_id`. Any JSON value, as it is written in the result; a null there counts as missing, and can
     * be supplied. The body is neither from a file nor larger than `inlineBodyBytes`.
     */
    public data class Json(public val pointer: String) : PartTarget
}

/**
 * A part that the app supplies, since the parent's result lacks it.
 *
 * @property into where it goes: the `into` of one of the submission's parts.
 * @property json the value as JSON, for example `"A-17"` with its quotes, or `17`.
 */
public data class PartValue(
    public val into: PartTarget,
    public val json: String,
) {
    /** Without the value. */
    override fun toString(): String = "PartValue(into=$into, ${json.length} characters)"
}
