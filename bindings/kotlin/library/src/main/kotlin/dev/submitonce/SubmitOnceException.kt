package dev.submitonce

import java.util.UUID

/**
 * Why a call was refused, or an outbox could not be opened. Nothing half-done is left behind, and no
 * message shows a body, a header's value or a credential.
 */
public sealed class SubmitOnceException(message: String, cause: Throwable?) : Exception(message, cause) {
    /** The outbox was closed. Open it again. */
    public class Closed(message: String, cause: Throwable? = null) : SubmitOnceException(message, cause)

    /** A text is not a submission ID. */
    public class MalformedId(message: String, cause: Throwable? = null) : SubmitOnceException(message, cause)

    /** A field of the input is not usable: fix it. */
    public class Invalid(
        message: String,
        public val field: String,
        public val problem: String,
        cause: Throwable? = null,
    ) : SubmitOnceException(message, cause)

    /** A header can't be stored with a submission: it would be a credential, or break HTTP. */
    public class HeaderRefused(
        message: String,
        public val name: String,
        public val reason: String,
        cause: Throwable? = null,
    ) : SubmitOnceException(message, cause)

    /** The body is larger than the outbox takes. */
    public class BodyTooLarge(
        message: String,
        public val bytes: Long,
        public val most: Long,
        cause: Throwable? = null,
    ) : SubmitOnceException(message, cause)

    /** A parent isn't known here. Submit it first; then nothing can wait for itself. */
    public class UnknownParent(message: String, public val id: UUID, cause: Throwable? = null) :
        SubmitOnceException(message, cause)

    /**
     * The ID belongs to another submission. Nothing was stored or sent. A new action needs a new ID.
     *
     * @property existing the submission that has the ID.
     * @property differs the names of the parts that differ.
     */
    public class KeyReused(
        message: String,
        public val id: UUID,
        public val existing: Snapshot,
        public val differs: List<String>,
        cause: Throwable? = null,
    ) : SubmitOnceException(message, cause)

    /**
     * The ID is unknown and older than the memory of settled submissions reaches, so it can't be told
     * whether it was sent before. Find out at the server; a new action needs a new ID.
     */
    public class IdTooOld(message: String, public val id: UUID, cause: Throwable? = null) :
        SubmitOnceException(message, cause)

    /** As many submissions are waiting as the outbox takes. Drain it, and decide what is held. */
    public class QueueFull(message: String, public val most: Int, cause: Throwable? = null) :
        SubmitOnceException(message, cause)

    /** The account isn't the one that is signed in. */
    public class NotSignedIn(message: String, public val account: String, cause: Throwable? = null) :
        SubmitOnceException(message, cause)

    /** No submission has this ID. */
    public class UnknownId(message: String, public val id: UUID, cause: Throwable? = null) :
        SubmitOnceException(message, cause)

    /** The submission has changed since the revision that the decision is about. Look again. */
    public class Stale(message: String, public val current: Snapshot, cause: Throwable? = null) :
        SubmitOnceException(message, cause)

    /** Only a held submission can be decided. */
    public class NotHeld(message: String, public val current: Snapshot, cause: Throwable? = null) :
        SubmitOnceException(message, cause)

    /**
     * The server may have forgotten the key, so that a retry could take effect a second time. Ask the
     * user, then retry with `acceptSecondEffect`.
     */
    public class NeedsConsent(message: String, public val current: Snapshot, cause: Throwable? = null) :
        SubmitOnceException(message, cause)

    /**
     * What is stored can't be sent: it is damaged, or a part of it is missing. A part can be supplied with
     * [Resolution.FillParts]; else only "it happened" and "give up" are left, and a new action.
     */
    public class CannotRetry(message: String, public val current: Snapshot, cause: Throwable? = null) :
        SubmitOnceException(message, cause)

    /** Why a call of an [dev.submitonce.Inbox] was refused. Nothing was changed. */
    public sealed class Inbox(message: String, cause: Throwable?) : SubmitOnceException(message, cause) {
        /** The key came with another content before. Another thing to do needs another key. */
        public class KeyReused(
            message: String,
            public val scope: String,
            public val key: String,
            cause: Throwable? = null,
        ) : Inbox(message, cause)

        /**
         * The run isn't the one that counts any more: its time was over and another began, it was given
         * up, or a decision was made. Ask [dev.submitonce.Inbox.begin] for what stands.
         */
        public class RunLost(
            message: String,
            public val scope: String,
            public val key: String,
            cause: Throwable? = null,
        ) : Inbox(message, cause)

        /** There is nothing to decide: the item isn't uncertain. */
        public class NotUncertain(
            message: String,
            public val scope: String,
            public val key: String,
            cause: Throwable? = null,
        ) : Inbox(message, cause)

        /**
         * A statement of the app isn't allowed, or failed.
         *
         * @property number which one, from 1.
         */
        public class Statement(
            message: String,
            public val number: Int,
            public val problem: String,
            cause: Throwable? = null,
        ) : Inbox(message, cause)
    }

    /**
     * Why an outbox could not be opened. Nothing has been moved or deleted. A damaged file is no reason: it
     * is salvaged, see [OpenReport]. While another process has it open, that waits: [Storage.Busy].
     */
    public sealed class CannotOpen(message: String, cause: Throwable?) : SubmitOnceException(message, cause) {
        /** The configuration makes no sense: fix the field. */
        public class InvalidConfig(
            message: String,
            public val field: String,
            public val problem: String,
            cause: Throwable? = null,
        ) : CannotOpen(message, cause)

        /** The path is a directory: name a file in it. */
        public class IsDirectory(message: String, cause: Throwable? = null) : CannotOpen(message, cause)

        /** The file or its folder can't be written to. */
        public class ReadOnly(message: String, cause: Throwable? = null) : CannotOpen(message, cause)

        /** The file is something else. Choose another path; nothing was changed. */
        public class NotAnOutbox(message: String, cause: Throwable? = null) : CannotOpen(message, cause)

        /** A newer version of the library wrote the file. Update the app; nothing was changed. */
        public class SchemaTooNew(
            message: String,
            public val found: Long,
            public val known: Long,
            cause: Throwable? = null,
        ) : CannotOpen(message, cause)

        /** This process has the file open with another configuration. Use the same one. */
        public class AlreadyOpen(message: String, cause: Throwable? = null) : CannotOpen(message, cause)

        /** The runtime, the TLS stack or the native library could not be set up. */
        public class Setup(message: String, cause: Throwable? = null) : CannotOpen(message, cause)
    }

    /** What the database said, when opening or later. */
    public sealed class Storage(message: String, cause: Throwable?) : SubmitOnceException(message, cause) {
        /** The disk is full. Free some space and call again; joining and replaying still work. */
        public class Full(message: String, cause: Throwable? = null) : Storage(message, cause)

        /** Another process holds the database for longer than the busy timeout. Call again. */
        public class Busy(message: String, cause: Throwable? = null) : Storage(message, cause)

        /** The file can't be reached now. Call again later. */
        public class Unavailable(message: String, cause: Throwable? = null) : Storage(message, cause)

        /**
         * The file's content is damaged. Keep it: it holds keys that must not be lost. Met while the outbox
         * is open: close it and open it again, which saves what can be read into a new file and tells so in
         * [OpenReport].
         */
        public class Corrupt(message: String, cause: Throwable? = null) : Storage(message, cause)

        /** The file was moved, replaced or deleted while open. Close the outbox and open it again. */
        public class Moved(message: String, cause: Throwable? = null) : Storage(message, cause)

        /**
         * The commit failed in a way that leaves open whether it is durable. Call again with the same
         * ID: it converges.
         */
        public class Indeterminate(message: String, cause: Throwable? = null) : Storage(message, cause)
    }

    /** A defect of this library. Please report it. */
    public class Internal(message: String, cause: Throwable? = null) : SubmitOnceException(message, cause)
}
