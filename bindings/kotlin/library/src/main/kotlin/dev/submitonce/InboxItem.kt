package dev.submitonce

import java.time.Duration
import java.time.Instant

/**
 * Something that came in, or is to be done on this side, once: a push message, a local notification, a
 * period of a periodic worker, a step of an agent.
 *
 * @property scope what kind of thing it is, for example `push`. Keys of different scopes never meet. 1 to
 *   1,024 bytes.
 * @property key what makes it the same when it comes again: the message's ID, the step's, the date of the
 *   day. 1 to 1,024 bytes.
 * @property policy what to do when nobody can know whether it happened.
 * @property content the content that comes with the key, for example a tool's arguments: with another one
 *   under the same key, [Inbox.begin] refuses. Only a hash of it is kept. Left out: the key alone tells.
 * @property lease how long a run may take. After that it counts as lost, whether its process lives or
 *   not, and the policy decides. Time counts while the device sleeps, too. Left out: ten minutes. See
 *   [Inbox.extend].
 */
public class InboxItem(
    public val scope: String,
    public val key: String,
    public val policy: InboxPolicy,
    public val content: ByteArray? = null,
    public val lease: Duration? = null,
) {
    override fun equals(other: Any?): Boolean =
        other is InboxItem && scope == other.scope && key == other.key && policy == other.policy &&
            content.contentEquals(other.content) && lease == other.lease

    override fun hashCode(): Int = 31 * scope.hashCode() + key.hashCode()

    /** Without the key and the content, which may name a person. */
    override fun toString(): String =
        "InboxItem(scope=$scope, policy=$policy, bytes=${content?.size}, lease=$lease)"
}

/** What [Inbox.begin] answers. */
public sealed interface InboxAnswer {
    /** It is yours: do it now, then call [Inbox.finish] or [Inbox.fail]. */
    public data class Run(public val run: InboxRun) : InboxAnswer

    /**
     * Somebody else is doing it: another coroutine, or another process.
     *
     * @property since since when, by this device's clock.
     */
    public data class Busy(public val since: Instant) : InboxAnswer

    /**
     * It was done before. Do nothing, and use the first result.
     *
     * @property result the first result. Null if there was none, or if it was dropped.
     * @property dropped retention has dropped the result; that it was done is still known.
     * @property at when, by this device's clock.
     */
    public class Done(
        public val result: ByteArray?,
        public val dropped: Boolean,
        public val at: Instant,
    ) : InboxAnswer {
        override fun equals(other: Any?): Boolean =
            other is Done && result.contentEquals(other.result) && dropped == other.dropped && at == other.at

        override fun hashCode(): Int = at.hashCode()

        /** Without the result. */
        override fun toString(): String = "Done(bytes=${result?.size}, dropped=$dropped, at=$at)"
    }

    /**
     * It may have happened: a run was lost, and the policy is [InboxPolicy.AT_MOST_ONCE]. Nothing runs
     * until [Inbox.decide].
     *
     * @property since when the lost run began, by this device's clock.
     */
    public data class Uncertain(public val since: Instant) : InboxAnswer
}

/** What [Inbox.once] did, or found. */
public sealed interface Once<out T : Any> {
    /** The block ran now, and that is recorded. */
    public class Ran<out T : Any>(public val result: T) : Once<T> {
        override fun equals(other: Any?): Boolean = other is Ran<*> && result == other.result

        override fun hashCode(): Int = result.hashCode()

        /** Without the result. */
        override fun toString(): String = "Ran"
    }

    /**
     * It was done before. The block didn't run.
     *
     * @property result the first result. Null if there was none, or if it was dropped.
     * @property dropped retention has dropped the result; that it was done is still known.
     * @property at when, by this device's clock.
     */
    public class Before<out T : Any>(
        public val result: T?,
        public val dropped: Boolean,
        public val at: Instant,
    ) : Once<T> {
        override fun equals(other: Any?): Boolean =
            other is Before<*> && result == other.result && dropped == other.dropped && at == other.at

        override fun hashCode(): Int = at.hashCode()

        /** Without the result. */
        override fun toString(): String = "Before(dropped=$dropped, at=$at)"
    }

    /**
     * Somebody else is doing it. The block didn't run.
     *
     * @property since since when, by this device's clock.
     */
    public data class Busy(public val since: Instant) : Once<Nothing>

    /**
     * It may have happened, and must not happen twice. The block didn't run, and doesn't until
     * [Inbox.decide].
     *
     * @property since when the lost run began, by this device's clock.
     */
    public data class Uncertain(public val since: Instant) : Once<Nothing>
}

/**
 * How a result is kept as bytes: as text, as they are, or in a form of the app's own, such as a
 * serializer's.
 */
public class ResultForm<T : Any> private constructor(
    internal val fromBytes: (ByteArray) -> T,
    internal val toBytes: (T) -> ByteArray?,
) {
    public companion object {
        /** Text, in UTF-8. */
        @JvmField
        public val TEXT: ResultForm<String> = of(ByteArray::decodeToString) { it.utf8("result") }

        /** Bytes, as they are. */
        @JvmField
        public val BYTES: ResultForm<ByteArray> = of({ it }) { it }

        internal val NOTHING: ResultForm<Unit> = ResultForm({}, { null })

        /** A form of the app's own. Later versions of the app have to read what earlier ones have kept. */
        @JvmStatic
        public fun <T : Any> of(fromBytes: (ByteArray) -> T, toBytes: (T) -> ByteArray): ResultForm<T> =
            ResultForm(fromBytes, toBytes)
    }
}

/**
 * What a block of [Inbox.once] throws where it knows that its effect hasn't happened: there was no
 * network, or the input was refused. The next call runs it, by either policy.
 */
public open class NothingHappened(message: String? = null, cause: Throwable? = null) : Exception(message, cause)

/** A decision about an item that is uncertain. */
public sealed interface InboxDecision {
    /**
     * It happened, as the app or its user found out in another way.
     *
     * @property result the result to give from now on, if one is known.
     */
    public class Happened(public val result: ByteArray? = null) : InboxDecision {
        override fun equals(other: Any?): Boolean = other is Happened && result.contentEquals(other.result)

        override fun hashCode(): Int = result.contentHashCode()

        /** Without the result. */
        override fun toString(): String = "Happened(bytes=${result?.size})"
    }

    /** It didn't happen, or may happen again: the next [Inbox.begin] runs it. */
    public data object RunAgain : InboxDecision
}
