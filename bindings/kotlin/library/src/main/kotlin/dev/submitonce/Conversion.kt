package dev.submitonce

import dev.submitonce.internal.Body as RawBody
import dev.submitonce.internal.CancelOutcome as RawCancelOutcome
import dev.submitonce.internal.Change as RawChange
import dev.submitonce.internal.DrainReport as RawDrainReport
import dev.submitonce.internal.Outcome as RawOutcome
import dev.submitonce.internal.ParentPart as RawParentPart
import dev.submitonce.internal.PartSource as RawPartSource
import dev.submitonce.internal.PartTarget as RawPartTarget
import dev.submitonce.internal.PartValue as RawPartValue
import dev.submitonce.internal.Receipt as RawReceipt
import dev.submitonce.internal.Resolution as RawResolution
import dev.submitonce.internal.ResolvedAll as RawResolvedAll
import dev.submitonce.internal.SignedOutReport as RawSignedOutReport
import dev.submitonce.internal.Snapshot as RawSnapshot
import dev.submitonce.internal.Submission as RawSubmission
import dev.submitonce.internal.SubmissionState as RawState
import dev.submitonce.internal.UploadProgress as RawProgress
import dev.submitonce.internal.Waited as RawWaited
import dev.submitonce.internal.WaitingFor as RawWaitingFor

// Between the generated types and those that apps see. The generated ones have unsigned numbers,
// arrays that compare by identity, and texts that show what they hold.

internal fun Submission.lowered(): RawSubmission =
    RawSubmission(
        id = id,
        account = account?.carried("account"),
        method = method.carried("method"),
        url = url.carried("url"),
        effect = effect,
        headers = headers.carried(),
        body = body.lowered(),
        priority = priority,
        expiresAt = expiresAt,
        lane = lane?.carried("lane"),
        lanePolicy = lanePolicy,
        replaces = replaces?.carried("replaces"),
        after = after,
        parts = parts.map { it.lowered() },
        probe = probe?.onCarried(),
        unmeteredOnly = unmeteredOnly,
    )

internal fun List<Header>.carried(): List<Header> =
    onEach { (name, value) -> name.carried("headers"); value.carried("headers") }

private fun Body.lowered(): RawBody =
    when (this) {
        Body.Empty -> RawBody.Empty
        is Body.Json -> RawBody.Json(text.carried("body"))
        is Body.Bytes -> RawBody.Bytes(contentType.carried("body.content_type"), bytes)
        is Body.FromFile -> RawBody.File(contentType.carried("body.content_type"), file.path.carried("body.path"))
    }

private fun ParentPart.lowered(): RawParentPart = RawParentPart(parent, from.lowered(), into.lowered())

private fun PartSource.lowered(): RawPartSource =
    when (this) {
        is PartSource.JsonPointer -> RawPartSource.JsonPointer(pointer.carried("parts"))
        is PartSource.Header -> RawPartSource.Header(name.carried("parts"))
    }

private fun PartTarget.lowered(): RawPartTarget =
    when (this) {
        is PartTarget.Path -> RawPartTarget.Path(placeholder.carried("parts"))
        is PartTarget.Query -> RawPartTarget.Query(name.carried("parts"))
        is PartTarget.Header -> RawPartTarget.Header(name.carried("parts"))
        is PartTarget.Json -> RawPartTarget.Json(pointer.carried("parts"))
    }

private fun StatusProbe.onCarried(): StatusProbe = also {
    url.carried("probe.url")
    pointer?.carried("probe.pointer")
}

internal fun Resolution.lowered(): RawResolution =
    when (this) {
        is Resolution.RetrySameKey -> RawResolution.RetrySameKey(acceptSecondEffect)
        is Resolution.ItHappened -> RawResolution.ItHappened(result)
        Resolution.GiveUp -> RawResolution.GiveUp
        is Resolution.FillParts ->
            RawResolution.FillParts(values.map { RawPartValue(it.into.lowered(), it.json.carried("values")) })
    }

internal fun RawReceipt.lifted(): Receipt = Receipt(id, kind, snapshot.lifted())

internal fun RawSnapshot.lifted(): Snapshot =
    Snapshot(
        id = id,
        account = account,
        method = method,
        url = url,
        effect = effect,
        lane = lane,
        replaces = replaces,
        state = state.lifted(),
        revision = revision,
        waitingFor = waitingFor?.lifted(),
        attempts = attempts.toInt(),
        nextAttemptAt = nextAttemptAt,
        inDoubt = inDoubt,
        acceptedAt = acceptedAt,
        progress = progress?.lifted(),
        lastProblem = lastProblem,
        outcome = outcome?.lifted(),
        lateEvidence = lateEvidence,
    )

private fun RawOutcome.lifted(): Outcome =
    Outcome(status?.toInt(), contentType, headers, body, resultMissing, settledAt)

internal fun RawState.lifted(): SubmissionState =
    when (this) {
        RawState.Pending -> SubmissionState.Pending
        RawState.InFlight -> SubmissionState.InFlight
        is RawState.Held -> SubmissionState.Held(reason)
        RawState.Succeeded -> SubmissionState.Succeeded
        is RawState.Rejected -> SubmissionState.Rejected(reason)
        RawState.Cancelled -> SubmissionState.Cancelled
        RawState.Expired -> SubmissionState.Expired
        is RawState.Superseded -> SubmissionState.Superseded(by)
        RawState.Abandoned -> SubmissionState.Abandoned
    }

internal fun RawWaitingFor.lifted(): WaitingFor =
    when (this) {
        is RawWaitingFor.Due -> WaitingFor.Due(at)
        is RawWaitingFor.Network -> WaitingFor.Network(at)
        is RawWaitingFor.Certificate -> WaitingFor.Certificate(at, clockSuspected)
        RawWaitingFor.Unmetered -> WaitingFor.Unmetered
        is RawWaitingFor.Gate -> WaitingFor.Gate(until)
        RawWaitingFor.Credentials -> WaitingFor.Credentials
        RawWaitingFor.SignedOut -> WaitingFor.SignedOut
        is RawWaitingFor.Lane -> WaitingFor.Lane(id)
        is RawWaitingFor.Newer -> WaitingFor.Newer(id)
        is RawWaitingFor.Older -> WaitingFor.Older(id)
        is RawWaitingFor.Parent -> WaitingFor.Parent(id)
        is RawWaitingFor.Probe -> WaitingFor.Probe(at)
    }

internal fun RawWaited.lifted(): Waited =
    when (this) {
        is RawWaited.Settled -> Waited.Settled(snapshot.lifted())
        is RawWaited.Held -> Waited.Held(snapshot.lifted())
        is RawWaited.TimedOut -> Waited.TimedOut(snapshot.lifted())
    }

internal fun RawCancelOutcome.lifted(): CancelOutcome =
    when (this) {
        RawCancelOutcome.Cancelled -> CancelOutcome.Cancelled
        is RawCancelOutcome.AlreadyFinal -> CancelOutcome.AlreadyFinal(snapshot.lifted())
        is RawCancelOutcome.MayHaveHappened -> CancelOutcome.MayHaveHappened(snapshot.lifted())
    }

internal fun RawResolvedAll.lifted(): ResolvedAll = ResolvedAll(resolved.toInt(), refused.toInt())

internal fun RawSignedOutReport.lifted(): SignedOutReport =
    SignedOutReport(account, kept.toInt(), cancelled.toInt(), abandoned.toInt(), succeeded.toInt())

internal fun RawDrainReport.lifted(): DrainReport =
    DrainReport(
        attempts = attempts.toInt(),
        succeeded = succeeded.toInt(),
        endedOtherwise = endedOtherwise.toInt(),
        held = held.toInt(),
        toRepeat = toRepeat.toInt(),
        inFlight = inFlight.toInt(),
        stopped = stopped,
        nextWakeAt = nextWakeAt,
        awaitsUnmetered = awaitsUnmetered,
    )

internal fun RawChange.lifted(): FeedEvent.Change =
    FeedEvent.Change(cursor, id, state.lifted(), revision, at)

internal fun RawProgress.lifted(): UploadProgress = UploadProgress(id, sent.toLong(), total.toLong())
