import Foundation
import SubmitOnceGenerated

// What the core gives, in the types that apps see.

extension String {
    /// The ID of a submission. Never fails for what the core gives.
    func lifted() throws -> UUID {
        guard let id = UUID(uuidString: self) else {
            throw SubmitOnceError(.internal, "the core gave an ID that is none")
        }
        return id
    }
}

extension Duration {
    /// A time of the core, to the nanosecond.
    init(secondsOf time: TimeInterval) {
        let whole = time.rounded(.down)
        self = .seconds(Int64(whole)) + .nanoseconds(Int64(((time - whole) * 1e9).rounded()))
    }
}

extension RawReceipt {
    func lifted() throws -> Receipt {
        Receipt(id: try id.lifted(), kind: kind, snapshot: try snapshot.lifted())
    }
}

extension RawSnapshot {
    func lifted() throws -> Snapshot {
        Snapshot(
            id: try id.lifted(),
            account: account,
            method: method,
            url: url,
            effect: effect,
            lane: lane,
            replaces: replaces,
            state: try state.lifted(),
            revision: revision,
            waitingFor: try waitingFor?.lifted(),
            attempts: Int(attempts),
            nextAttemptAt: nextAttemptAt,
            inDoubt: inDoubt,
            acceptedAt: acceptedAt,
            progress: try progress?.lifted(),
            lastProblem: lastProblem,
            outcome: outcome?.lifted,
            lateEvidence: lateEvidence
        )
    }
}

extension RawOutcome {
    fileprivate var lifted: Outcome {
        Outcome(
            status: status.map(Int.init),
            contentType: contentType,
            headers: headers,
            body: body,
            resultMissing: resultMissing,
            settledAt: settledAt
        )
    }
}

extension RawState {
    func lifted() throws -> SubmissionState {
        switch self {
        case .pending: .pending
        case .inFlight: .inFlight
        case .held(let reason): .held(reason)
        case .succeeded: .succeeded
        case .rejected(let reason): .rejected(reason)
        case .cancelled: .cancelled
        case .expired: .expired
        case .superseded(let id): .superseded(by: try id.lifted())
        case .abandoned: .abandoned
        }
    }
}

extension RawWaitingFor {
    func lifted() throws -> WaitingFor {
        switch self {
        case .due(let at): .due(at: at)
        case .network(let at): .network(at: at)
        case .certificate(let at, let clockSuspected): .certificate(at: at, clockSuspected: clockSuspected)
        case .unmetered: .unmetered
        case .gate(let until): .gate(until: until)
        case .credentials: .credentials
        case .signedOut: .signedOut
        case .lane(let id): .lane(try id.lifted())
        case .newer(let id): .newer(try id.lifted())
        case .older(let id): .older(try id.lifted())
        case .parent(let id): .parent(try id.lifted())
        case .probe(let at): .probe(at: at)
        }
    }
}

extension RawWaited {
    func lifted() throws -> Waited {
        switch self {
        case .settled(let snapshot): .settled(try snapshot.lifted())
        case .held(let snapshot): .held(try snapshot.lifted())
        case .timedOut(let snapshot): .timedOut(try snapshot.lifted())
        }
    }
}

extension RawCancelOutcome {
    func lifted() throws -> CancelOutcome {
        switch self {
        case .cancelled: .cancelled
        case .alreadyFinal(let snapshot): .alreadyFinal(try snapshot.lifted())
        case .mayHaveHappened(let snapshot): .mayHaveHappened(try snapshot.lifted())
        }
    }
}

extension RawDrainReport {
    var lifted: DrainReport {
        DrainReport(
            attempts: Int(attempts),
            succeeded: Int(succeeded),
            endedOtherwise: Int(endedOtherwise),
            held: Int(held),
            toRepeat: Int(toRepeat),
            inFlight: Int(inFlight),
            stopped: stopped,
            nextWakeAt: nextWakeAt,
            awaitsUnmetered: awaitsUnmetered
        )
    }
}

extension RawChange {
    func lifted() throws -> Change {
        Change(cursor: cursor, id: try id.lifted(), state: try state.lifted(), revision: revision, at: at)
    }
}

extension RawProgress {
    func lifted() throws -> UploadProgress {
        UploadProgress(id: try id.lifted(), sent: Int64(clamping: sent), total: Int64(clamping: total))
    }
}

extension RawValue {
    var lifted: SQLValue {
        switch self {
        case .null: .null
        case .integer(let value): .integer(value)
        case .real(let value): .real(value)
        case .text(let value): .text(value)
        case .blob(let value): .blob(value)
        }
    }
}

extension RawRecordReceipt {
    func lifted() throws -> RecordReceipt { RecordReceipt(recordID: recordId, batch: try batch.lifted()) }
}

extension RawFetched {
    func lifted() throws -> Fetched {
        Fetched(
            id: try id.lifted(),
            status: Int(status),
            contentType: contentType,
            headers: headers,
            body: body,
            fetchedAt: fetchedAt,
            checkedAt: checkedAt
        )
    }
}

extension RawResolvedAll {
    var lifted: ResolvedAll { ResolvedAll(resolved: Int(resolved), refused: Int(refused)) }
}

extension RawSignedOutReport {
    var lifted: SignedOutReport {
        SignedOutReport(
            account: account,
            kept: Int(kept),
            cancelled: Int(cancelled),
            abandoned: Int(abandoned),
            succeeded: Int(succeeded)
        )
    }
}

extension RawStats {
    var lifted: Stats {
        Stats(
            pending: Int(pending),
            inFlight: Int(inFlight),
            held: Int(held),
            heldByReason: Dictionary(
                heldByReason.map { ($0.reason, Int($0.count)) }, uniquingKeysWith: +),
            inDoubt: Int(inDoubt),
            oldestAge: oldestAge.map(Duration.init(secondsOf:)),
            queuedBytes: queuedBytes,
            resultBytes: resultBytes,
            databaseBytes: databaseBytes,
            submitCalls: Int(submitCalls),
            accepted: Int(accepted),
            joined: Int(joined),
            replayed: Int(replayed),
            reuseRefused: Int(reuseRefused),
            succeeded: Int(succeeded),
            rejected: Int(rejected),
            cancelled: Int(cancelled),
            expired: Int(expired),
            superseded: Int(superseded),
            abandoned: Int(abandoned),
            attempts: Int(attempts),
            retriesAfterAnswer: Int(retriesAfterAnswer),
            retriesAfterSilence: Int(retriesAfterSilence),
            retriesAfterNoConnection: Int(retriesAfterNoConnection),
            doubtsRaised: Int(doubtsRaised),
            doubtsSettled: Int(doubtsSettled),
            duplicateHitRate: duplicateHitRate,
            reuseRefusedRate: reuseRefusedRate,
            abnormalRetryRate: abnormalRetryRate,
            timeToSettle: timeToSettle.map {
                SettleTimes(atMost: $0.atMost.map(Duration.init(secondsOf:)), count: Int($0.count))
            },
            lastCursor: lastCursor,
            inboxRuns: Int(inboxRuns),
            inboxRepeats: Int(inboxRepeats),
            inboxUncertain: Int(inboxUncertain),
            records: Int(records)
        )
    }
}
