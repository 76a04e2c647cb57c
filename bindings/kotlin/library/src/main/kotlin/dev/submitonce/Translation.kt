package dev.submitonce

import dev.submitonce.internal.IdException
import dev.submitonce.internal.InboxException
import dev.submitonce.internal.InternalException
import dev.submitonce.internal.OpenException
import dev.submitonce.internal.OutboxException
import dev.submitonce.internal.StorageException
import java.nio.charset.CharacterCodingException

/** Runs a call of the core, and gives what it throws the form that apps see. */
internal inline fun <T> translated(call: () -> T): T =
    try {
        call()
    } catch (raw: Exception) {
        throw raw.translated() ?: raw
    } catch (error: LinkageError) {
        // The first use of the library loads it; a second try would say less.
        val text = "the native library could not be loaded: ${error.message}"
        throw SubmitOnceException.CannotOpen.Setup(text, error)
    }

/** The exception that apps see, or nothing if this isn't one of the core's. */
internal fun Exception.translated(): SubmitOnceException? =
    when (this) {
        is OutboxException -> translate(this)
        is OpenException -> translate(this)
        is InboxException -> translate(this)
        is StorageException -> translate(this)
        is IdException.NoRandomness -> SubmitOnceException.Internal(toString(), this)
        is IdException -> SubmitOnceException.MalformedId(toString(), this)
        is InternalException -> SubmitOnceException.Internal(message ?: "internal error", this)
        // UTF-16 that no UTF-8 can carry. It is refused rather than replaced: the bytes that are sent
        // are those that were given.
        is CharacterCodingException -> halfAPair("text", this)
        // What the generated code says of a time that no unsigned number can carry.
        is IllegalArgumentException -> if (isNegativeTime) negativeTime(this) else null
        // The generated handle was freed by another thread.
        is IllegalStateException -> if (isFreedHandle) closed(this) else null
        else -> null
    }

private fun halfAPair(field: String, cause: Throwable? = null): SubmitOnceException.Invalid {
    val problem = "it holds half of a surrogate pair"
    return SubmitOnceException.Invalid("$field is not usable: $problem", field, problem, cause)
}

/** The text itself, if UTF-8 can carry it. The generated code refuses others too, without a name. */
internal fun String.carried(field: String): String {
    var at = 0
    while (at < length) {
        val pair = get(at).isHighSurrogate() && at + 1 < length && get(at + 1).isLowSurrogate()
        if (get(at).isSurrogate() && !pair) {
            throw halfAPair(field)
        }
        at += if (pair) 2 else 1
    }
    return this
}

/** The text in UTF-8, if UTF-8 can carry it. */
internal fun String.utf8(field: String): ByteArray = carried(field).encodeToByteArray()

private val IllegalStateException.isFreedHandle: Boolean
    get() = message.orEmpty().contains("has already been destroyed")

private val IllegalArgumentException.isNegativeTime: Boolean
    get() = message.orEmpty().startsWith("Invalid duration,")

private fun negativeTime(cause: Throwable): SubmitOnceException.Invalid {
    val problem = "it is negative"
    return SubmitOnceException.Invalid("a time is not usable: $problem", "time", problem, cause)
}

internal fun closed(cause: Throwable? = null): SubmitOnceException.Closed =
    SubmitOnceException.Closed("the outbox is closed; open it again", cause)

private fun translate(raw: OutboxException): SubmitOnceException {
    // The generated `message` lists the fields; the sentence is in `toString`.
    val text = raw.toString()
    return when (raw) {
        is OutboxException.Closed -> SubmitOnceException.Closed(text, raw)
        is OutboxException.MalformedId -> SubmitOnceException.MalformedId(text, raw)
        is OutboxException.Invalid -> SubmitOnceException.Invalid(text, raw.field, raw.problem, raw)
        is OutboxException.HeaderRefused ->
            SubmitOnceException.HeaderRefused(text, raw.name, raw.reason, raw)
        is OutboxException.BodyTooLarge ->
            SubmitOnceException.BodyTooLarge(text, raw.bytes.toLong(), raw.most.toLong(), raw)
        is OutboxException.UnknownParent -> SubmitOnceException.UnknownParent(text, raw.id, raw)
        is OutboxException.KeyReused ->
            SubmitOnceException.KeyReused(text, raw.id, raw.existing.lifted(), raw.differs, raw)
        is OutboxException.IdTooOld -> SubmitOnceException.IdTooOld(text, raw.id, raw)
        is OutboxException.QueueFull -> SubmitOnceException.QueueFull(text, raw.most.toInt(), raw)
        is OutboxException.NotSignedIn -> SubmitOnceException.NotSignedIn(text, raw.account, raw)
        is OutboxException.UnknownId -> SubmitOnceException.UnknownId(text, raw.id, raw)
        is OutboxException.Stale -> SubmitOnceException.Stale(text, raw.current.lifted(), raw)
        is OutboxException.NotHeld -> SubmitOnceException.NotHeld(text, raw.current.lifted(), raw)
        is OutboxException.NeedsConsent ->
            SubmitOnceException.NeedsConsent(text, raw.current.lifted(), raw)
        is OutboxException.CannotRetry ->
            SubmitOnceException.CannotRetry(text, raw.current.lifted(), raw)
        is OutboxException.Storage -> translate(raw.storage)
    }
}

private fun translate(raw: InboxException): SubmitOnceException {
    val text = raw.toString()
    return when (raw) {
        is InboxException.Closed -> SubmitOnceException.Closed(text, raw)
        is InboxException.Invalid -> SubmitOnceException.Invalid(text, raw.field, raw.problem, raw)
        // Without the core's own as the cause: its message has the key, which may name a person.
        is InboxException.KeyReused -> SubmitOnceException.Inbox.KeyReused(text, raw.scope, raw.key)
        is InboxException.RunLost -> SubmitOnceException.Inbox.RunLost(text, raw.scope, raw.key)
        is InboxException.NotUncertain -> SubmitOnceException.Inbox.NotUncertain(text, raw.scope, raw.key)
        is InboxException.Statement ->
            SubmitOnceException.Inbox.Statement(text, raw.number.toInt(), raw.problem, raw)
        is InboxException.Storage -> translate(raw.storage)
    }
}

private fun translate(raw: OpenException): SubmitOnceException {
    val text = raw.toString()
    return when (raw) {
        is OpenException.InvalidConfig ->
            SubmitOnceException.CannotOpen.InvalidConfig(text, raw.field, raw.problem, raw)
        is OpenException.IsDirectory -> SubmitOnceException.CannotOpen.IsDirectory(text, raw)
        is OpenException.ReadOnly -> SubmitOnceException.CannotOpen.ReadOnly(text, raw)
        is OpenException.NotAnOutbox -> SubmitOnceException.CannotOpen.NotAnOutbox(text, raw)
        is OpenException.SchemaTooNew ->
            SubmitOnceException.CannotOpen.SchemaTooNew(text, raw.found, raw.known, raw)
        is OpenException.AlreadyOpen -> SubmitOnceException.CannotOpen.AlreadyOpen(text, raw)
        is OpenException.Setup -> SubmitOnceException.CannotOpen.Setup(text, raw)
        is OpenException.Storage -> translate(raw.storage)
    }
}

private fun translate(raw: StorageException): SubmitOnceException {
    val text = raw.toString()
    return when (raw) {
        is StorageException.Full -> SubmitOnceException.Storage.Full(text, raw)
        is StorageException.Busy -> SubmitOnceException.Storage.Busy(text, raw)
        is StorageException.Unavailable -> SubmitOnceException.Storage.Unavailable(text, raw)
        is StorageException.Corrupt -> SubmitOnceException.Storage.Corrupt(text, raw)
        is StorageException.Moved -> SubmitOnceException.Storage.Moved(text, raw)
        is StorageException.Indeterminate -> SubmitOnceException.Storage.Indeterminate(text, raw)
        is StorageException.Internal -> SubmitOnceException.Internal(text, raw)
    }
}
