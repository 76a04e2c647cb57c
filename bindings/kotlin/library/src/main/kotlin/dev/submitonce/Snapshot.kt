package dev.submitonce

import java.time.Duration
import java.time.Instant
import java.util.UUID

/**
 * How a submission stands.
 *
 * @property url the absolute URL. Empty once only the memory of the end is left.
 * @property revision grows with each change of this submission. Drop an event whose revision isn't
 *   greater than the one on screen; hand it to [Outbox.resolve].
 * @property lane the lane that it goes in.
 * @property replaces its latest-wins key.
 * @property waitingFor why a pending submission isn't moving.
 * @property attempts attempts so far.
 * @property nextAttemptAt when the next attempt is due at the latest, if that is a matter of time.
 * @property inDoubt true while an attempt may have taken effect without our knowing.
 * @property acceptedAt when it was accepted, by this device's clock.
 * @property progress how far a large body has come, while it is on the wire from this process.
 * @property lastProblem how the last attempt that ended badly ended, in words for a log or a support
 *   screen.
 * @property outcome the first and only result, once there is one.
 * @property lateEvidence what came after the end, in words.
 */
public data class Snapshot(
    public val id: UUID,
    public val account: String?,
    public val method: String,
    public val url: String,
    public val effect: Effect,
    public val lane: String?,
    public val replaces: String?,
    public val state: SubmissionState,
    public val revision: Long,
    public val waitingFor: WaitingFor?,
    public val attempts: Int,
    public val nextAttemptAt: Instant?,
    public val inDoubt: Boolean,
    public val acceptedAt: Instant,
    public val progress: UploadProgress?,
    public val lastProblem: String?,
    public val outcome: Outcome?,
    public val lateEvidence: String?,
) {
    /**
     * How long ago it was accepted, by this device's clock; zero if the clock was set back. It grows by
     * itself, so that it isn't compared: what hasn't changed is equal.
     */
    public val age: Duration get() = Duration.between(acceptedAt, Instant.now()).coerceAtLeast(Duration.ZERO)

    /** Without the URL, the account and the keys, which may name a person. */
    override fun toString(): String =
        "Snapshot(id=$id, state=$state, revision=$revision, waitingFor=$waitingFor, attempts=$attempts, " +
            "inDoubt=$inDoubt, lastProblem=$lastProblem, outcome=$outcome)"
}

/** The states of a submission. */
public sealed interface SubmissionState {
    /** True for the states that never change again. */
    public val isFinal: Boolean get() = this is Final

    /** Due at some time, or waiting for something: [Snapshot.waitingFor] says for what. */
    public data object Pending : SubmissionState

    /** An attempt is on the wire. */
    public data object InFlight : SubmissionState

    /** Waits for a decision of the app or its user, and for nothing else: see [Outbox.resolve]. */
    public data class Held(public val reason: HoldReason) : SubmissionState

    /** The states that never change again. */
    public sealed interface Final : SubmissionState

    /** It took effect. */
    public data object Succeeded : Final

    /** It certainly didn't take effect, and won't. */
    public data class Rejected(public val reason: RejectReason) : Final

    /** Cancelled before it could take effect. */
    public data object Cancelled : Final

    /** Its time was over before it could take effect. */
    public data object Expired : Final

    /** A newer one of the same latest-wins key took its place. */
    public data class Superseded(public val by: UUID) : Final

    /** Given up by decision; nothing is claimed about its effect. */
    public data object Abandoned : Final
}

/** Why a pending submission isn't moving. */
public sealed interface WaitingFor {
    /** For its turn, at this time or as soon as somebody drains. */
    public data class Due(public val at: Instant) : WaitingFor

    /** For a network. It is tried at this time in any case, and sooner when one comes. */
    public data class Network(public val at: Instant) : WaitingFor

    /**
     * For a certificate of the server that can be trusted.
     *
     * @property clockSuspected the certificate isn't valid at the time that this device's clock
     *   shows: ask the user to look at it.
     */
    public data class Certificate(public val at: Instant, public val clockSuspected: Boolean) : WaitingFor

    /** For a network that costs nothing by the byte. */
    public data object Unmetered : WaitingFor

    /** For the host, which has asked everybody to wait. */
    public data class Gate(public val until: Instant) : WaitingFor

    /** For credentials of its account. */
    public data object Credentials : WaitingFor

    /** For its account to sign in. */
    public data object SignedOut : WaitingFor

    /**
     * For the one before it in its lane: to be settled; or, if that was rejected or given up, for
     * [Outbox.releaseLane].
     */
    public data class Lane(public val id: UUID) : WaitingFor

    /** For a newer one of its latest-wins key: it goes on only if that ends without success. */
    public data class Newer(public val id: UUID) : WaitingFor

    /** For an older one of its latest-wins key, which is on the wire, or which others depend on. */
    public data class Older(public val id: UUID) : WaitingFor

    /** For a submission whose success it depends on. */
    public data class Parent(public val id: UUID) : WaitingFor

    /** For a status probe, which is asked at this time. */
    public data class Probe(public val at: Instant) : WaitingFor
}

/**
 * How a submission ended: the server's answer, if an answer ended it.
 *
 * @property status the HTTP status.
 * @property body the answer's body. Nothing where there was no answer, where its body was lost, or
 *   where retention has dropped it.
 * @property resultMissing the body never arrived whole, is damaged, or was dropped by retention.
 * @property settledAt when it was settled, by this device's clock.
 */
public class Outcome(
    public val status: Int?,
    public val contentType: String?,
    public val headers: List<Header>,
    public val body: ByteArray?,
    public val resultMissing: Boolean,
    public val settledAt: Instant,
) {
    /** The body as text in UTF-8. */
    public val text: String? get() = body?.decodeToString()

    override fun equals(other: Any?): Boolean =
        other is Outcome && status == other.status && contentType == other.contentType &&
            headers == other.headers && body.contentEquals(other.body) &&
            resultMissing == other.resultMissing && settledAt == other.settledAt

    override fun hashCode(): Int = 31 * (status ?: 0) + settledAt.hashCode()

    /** Without the body and the headers. */
    override fun toString(): String =
        "Outcome(status=$status, bytes=${body?.size}, resultMissing=$resultMissing)"
}
