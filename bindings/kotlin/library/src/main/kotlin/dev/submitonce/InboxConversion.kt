package dev.submitonce

import dev.submitonce.internal.AppStatement as RawAppStatement
import dev.submitonce.internal.InboxAnswer as RawInboxAnswer
import dev.submitonce.internal.InboxDecision as RawInboxDecision
import dev.submitonce.internal.InboxItem as RawInboxItem
import dev.submitonce.internal.SqlValue as RawSqlValue

// Between the generated types of the inbox and those that apps see: see Conversion.kt.

internal fun InboxItem.lowered(): RawInboxItem =
    RawInboxItem(
        scope = scope.carried("scope"),
        key = key.carried("key"),
        content = content,
        policy = policy,
        lease = lease,
    )

internal fun InboxRun.carried(): InboxRun = also {
    scope.carried("scope")
    key.carried("key")
}

internal fun RawInboxAnswer.lifted(): InboxAnswer =
    when (this) {
        is RawInboxAnswer.Run -> InboxAnswer.Run(run)
        is RawInboxAnswer.Busy -> InboxAnswer.Busy(since)
        is RawInboxAnswer.Done -> InboxAnswer.Done(result, dropped, at)
        is RawInboxAnswer.Uncertain -> InboxAnswer.Uncertain(since)
    }

internal fun InboxDecision.lowered(): RawInboxDecision =
    when (this) {
        is InboxDecision.Happened -> RawInboxDecision.Happened(result)
        InboxDecision.RunAgain -> RawInboxDecision.RunAgain
    }

internal fun AppStatement.lowered(): RawAppStatement =
    RawAppStatement(sql.carried("sql"), parameters.map { it.lowered() })

private fun SqlValue.lowered(): RawSqlValue =
    when (this) {
        SqlValue.Null -> RawSqlValue.Null
        is SqlValue.Integer -> RawSqlValue.Integer(value)
        is SqlValue.Real -> RawSqlValue.Real(value)
        is SqlValue.Text -> RawSqlValue.Text(value.carried("parameters"))
        is SqlValue.Blob -> RawSqlValue.Blob(value)
    }

internal fun RawSqlValue.lifted(): SqlValue =
    when (this) {
        RawSqlValue.Null -> SqlValue.Null
        is RawSqlValue.Integer -> SqlValue.Integer(value)
        is RawSqlValue.Real -> SqlValue.Real(value)
        is RawSqlValue.Text -> SqlValue.Text(value)
        is RawSqlValue.Blob -> SqlValue.Blob(value)
    }
