package dev.submitonce.scenarios

import dev.submitonce.SubmitOnceException
import dev.submitonce.internal.IdException
import dev.submitonce.internal.InternalException
import kotlinx.serialization.json.JsonObject

/**
 * The form of an error that a scenario may expect; nothing for any other. The exceptions are named
 * like the Rust variants, but for those of the storage, which are kinds of one.
 */
fun errorForm(error: Exception): JsonObject? =
    when (error) {
        is IdException -> obj("name" to error.javaClass.simpleName)
        is SubmitOnceException.Storage -> storage(error.javaClass.simpleName.lowercase())
        is SubmitOnceException.Internal -> if (error.cause is InternalException) null else storage("internal")
        is SubmitOnceException -> obj("name" to error.javaClass.simpleName, *fields(error))
        else -> null
    }

private fun storage(what: String) = obj("name" to "Storage", "storage" to what)

private fun fields(error: SubmitOnceException): Array<Pair<String, Any?>> =
    when (error) {
        is SubmitOnceException.Invalid -> arrayOf("field" to error.field, "problem" to error.problem)
        is SubmitOnceException.HeaderRefused -> arrayOf("header" to error.name, "reason" to error.reason)
        is SubmitOnceException.BodyTooLarge -> arrayOf("bytes" to error.bytes, "most" to error.most)
        is SubmitOnceException.UnknownParent -> arrayOf("id" to error.id)
        is SubmitOnceException.KeyReused ->
            arrayOf("id" to error.id, "existing" to form(error.existing), "differs" to error.differs)
        is SubmitOnceException.IdTooOld -> arrayOf("id" to error.id)
        is SubmitOnceException.QueueFull -> arrayOf("most" to error.most)
        is SubmitOnceException.NotSignedIn -> arrayOf("account" to error.account)
        is SubmitOnceException.UnknownId -> arrayOf("id" to error.id)
        is SubmitOnceException.Stale -> arrayOf("current" to form(error.current))
        is SubmitOnceException.NotHeld -> arrayOf("current" to form(error.current))
        is SubmitOnceException.NeedsConsent -> arrayOf("current" to form(error.current))
        is SubmitOnceException.CannotRetry -> arrayOf("current" to form(error.current))
        is SubmitOnceException.Inbox.KeyReused -> arrayOf("scope" to error.scope, "key" to error.key)
        is SubmitOnceException.Inbox.RunLost -> arrayOf("scope" to error.scope, "key" to error.key)
        is SubmitOnceException.Inbox.NotUncertain -> arrayOf("scope" to error.scope, "key" to error.key)
        is SubmitOnceException.Inbox.Statement -> arrayOf("number" to error.number, "problem" to error.problem)
        is SubmitOnceException.CannotOpen.InvalidConfig -> arrayOf("field" to error.field, "problem" to error.problem)
        is SubmitOnceException.CannotOpen.SchemaTooNew -> arrayOf("found" to error.found, "known" to error.known)
        is SubmitOnceException.CannotOpen.NotAnOutbox, is SubmitOnceException.CannotOpen.Setup ->
            arrayOf("detail" to error.message)
        is SubmitOnceException.CannotOpen.IsDirectory, is SubmitOnceException.CannotOpen.ReadOnly,
        is SubmitOnceException.CannotOpen.AlreadyOpen, is SubmitOnceException.Closed,
        is SubmitOnceException.MalformedId, is SubmitOnceException.Storage, is SubmitOnceException.Internal,
        -> emptyArray()
    }
