package dev.submitonce

import java.time.Instant
import java.util.UUID

/** What [Outbox.submit] returns, once the submission is durable. */
public data class Receipt(
    public val id: UUID,
    public val kind: ReceiptKind,
    public val snapshot: Snapshot,
)

/** What [Outbox.wait] saw. */
public sealed interface Waited {
    public val snapshot: Snapshot

    /** It is settled; the snapshot has the outcome. */
    public data class Settled(override val snapshot: Snapshot) : Waited

    /** It waits for a decision; [Outbox.resolve] wants the snapshot's revision. */
    public data class Held(override val snapshot: Snapshot) : Waited

    /** Neither within the time. Nothing about the submission has changed by that. */
    public data class TimedOut(override val snapshot: Snapshot) : Waited
}

/** What became of a request to cancel. */
public sealed interface CancelOutcome {
    /** It certainly did not happen and never will. */
    public data object Cancelled : CancelOutcome

    /** It was settled before. */
    public data class AlreadyFinal(public val snapshot: Snapshot) : CancelOutcome

    /**
     * An attempt may have taken effect, or is under way. Nothing further is sent. When the one under
     * way ends it is cancelled, or it has succeeded, or it is held until a late answer or a decision
     * settles it.
     */
    public data class MayHaveHappened(public val snapshot: Snapshot) : CancelOutcome
}

/** A decision on a held submission. */
public sealed interface Resolution {
    /**
     * Send again with the same key, with a fresh budget. Clears a cancel and an expiry for good.
     *
     * @property acceptSecondEffect needed where the server may have forgotten the key: the action may
     *   then happen a second time.
     */
    public data class RetrySameKey(public val acceptSecondEffect: Boolean = false) : Resolution

    /**
     * It happened, as the app or its user found out in another way.
     *
     * @property result the result to replay, if one is known, as JSON or any other text.
     */
    public data class ItHappened(public val result: String? = null) : Resolution {
        override fun toString(): String = "ItHappened(${result?.length} characters)"
    }

    /** Stop asking. Nothing is claimed about whether it happened. */
    public data object GiveUp : Resolution

    /**
     * Supply the parts that the parent's result lacks, of a submission held for that. It is frozen then,
     * and sent.
     *
     * @property values a value for each part that is missing; others are left as they are.
     */
    public data class FillParts(public val values: List<PartValue>) : Resolution
}

/** What became of a decision about many. */
public data class ResolvedAll(
    /** So many were decided. */
    public val resolved: Int,
    /**
     * So many are held as before, since the decision can't be made for them: a retry that needs
     * `acceptSecondEffect`, or whose bytes are damaged.
     */
    public val refused: Int,
)

/** What signing out did. */
public data class SignedOutReport(
    /** Who was signed in. */
    public val account: String?,
    /** Unsettled submissions that wait for it to come back. */
    public val kept: Int,
    /** Submissions that were cancelled: they never happened and never will. */
    public val cancelled: Int,
    /** Submissions in doubt that were abandoned. */
    public val abandoned: Int,
    /** Submissions that had succeeded, and only whose results were still asked for. */
    public val succeeded: Int,
) {
    /** Without the account, which may name a person. */
    override fun toString(): String =
        "SignedOutReport(kept=$kept, cancelled=$cancelled, abandoned=$abandoned, succeeded=$succeeded)"
}

/** A part of a list, in the order of acceptance. */
public data class Page(
    /** The entries. Their outcomes carry no bodies; ask [Outbox.snapshot] for one. */
    public val snapshots: List<Snapshot>,
    /**
     * Where the next page starts, if there is one. A page may have fewer entries than its limit, or none,
     * and be followed by others: a call looks at some thousand submissions at most.
     */
    public val next: Long?,
)

/** An entry of the change feed. */
public sealed interface FeedEvent {
    /** The cursor to go on from: keep it with what you made of the event. */
    public val cursor: Long

    /** One change of one submission. */
    public data class Change(
        override val cursor: Long,
        public val id: UUID,
        public val state: SubmissionState,
        public val revision: Long,
        public val at: Instant,
    ) : FeedEvent

    /** Changes after the cursor are no longer kept: list anew, and go on from here. */
    public data class Resync(override val cursor: Long) : FeedEvent
}

/** What a drain did. */
public data class DrainReport(
    /** Attempts that ended during the drain. */
    public val attempts: Int,
    /** Submissions that succeeded. */
    public val succeeded: Int,
    /** Submissions that ended without success. */
    public val endedOtherwise: Int,
    /** Submissions that are now held for a decision. */
    public val held: Int,
    /** Attempts that will be repeated later. */
    public val toRepeat: Int,
    /** Requests still on the wire when the drain returned. */
    public val inFlight: Int,
    /** Why it returned. */
    public val stopped: DrainStop,
    /** When something is due next, by this device's clock. Nothing if no submission waits for a time. */
    public val nextWakeAt: Instant?,
    /** Submissions wait for an unmetered network, and for nothing else. */
    public val awaitsUnmetered: Boolean,
)

/** How much of a large body has been handed to the network. A repeated request begins anew. */
public data class UploadProgress(
    public val id: UUID,
    public val sent: Long,
    public val total: Long,
)
