import Foundation

@testable import SubmitOnce

// The JSON forms of what calls give back. Times are left out: no scenario could know them.

extension OpenReport {
    var form: JSON {
        [
            "created": .bool(created),
            "lost_changes": JSON(lostChanges),
            "shared": .bool(shared),
            "restored": .bool(restored),
            "salvaged": salvaged?.form ?? .null,
        ]
    }
}

extension Salvage {
    fileprivate var form: JSON { ["submissions": JSON(submissions), "damaged": JSON(damaged)] }
}

extension Receipt {
    func form() throws -> JSON {
        ["id": JSON(id), "kind": .string(snakeCase(kind)), "snapshot": try snapshot.form()]
    }
}

extension Snapshot {
    func form() throws -> JSON {
        [
            "id": JSON(id),
            "account": JSON(account),
            "method": .string(method),
            "url": .string(url),
            "effect": .string(effect.name),
            "lane": JSON(lane),
            "replaces": JSON(replaces),
            "state": .string(state.name),
            "reason": JSON(state.reason),
            "revision": JSON(revision),
            "waiting_for": JSON(waitingFor?.name),
            "waiting_for_id": JSON(waitingFor?.other?.lowered()),
            "attempts": JSON(attempts),
            "has_next_attempt": .bool(nextAttemptAt != nil),
            "in_doubt": .bool(inDoubt),
            "progress": progress.map { ["sent": JSON($0.sent), "total": JSON($0.total)] } ?? .null,
            "last_problem": JSON(lastProblem),
            "outcome": try outcome?.form() ?? .null,
            "late_evidence": JSON(lateEvidence),
        ]
    }
}

extension SubmissionState {
    var name: String {
        switch self {
        case .pending: "pending"
        case .inFlight: "in_flight"
        case .held: "held"
        case .succeeded: "succeeded"
        case .rejected: "rejected"
        case .cancelled: "cancelled"
        case .expired: "expired"
        case .superseded: "superseded"
        case .abandoned: "abandoned"
        }
    }

    var reason: String? {
        switch self {
        case .held(let reason): snakeCase(reason)
        case .rejected(let reason): snakeCase(reason)
        default: nil
        }
    }
}

extension WaitingFor {
    fileprivate var name: String {
        switch self {
        case .due: "due"
        case .network: "network"
        case .certificate: "certificate"
        case .unmetered: "unmetered"
        case .gate: "gate"
        case .credentials: "credentials"
        case .signedOut: "signed_out"
        case .lane: "lane"
        case .newer: "newer"
        case .older: "older"
        case .parent: "parent"
        case .probe: "probe"
        }
    }

    /// The other submission that it waits for.
    fileprivate var other: UUID? {
        switch self {
        case .due, .network, .certificate, .unmetered, .gate, .credentials, .signedOut, .probe: nil
        case .lane(let id), .newer(let id), .older(let id), .parent(let id): id
        }
    }
}

extension Outcome {
    fileprivate func form() throws -> JSON {
        [
            "status": JSON(status),
            "content_type": JSON(contentType),
            "headers": .list(headers.map { JSON([$0.name, $0.value]) }),
            "body": JSON(try body.map { try utf8Text($0) }),
            "result_missing": .bool(resultMissing),
        ]
    }
}

/// Decoding mends what is broken, so that it is compared.
func utf8Text(_ data: Data) throws -> String {
    let text = String(decoding: data, as: UTF8.self)
    guard text.utf8.elementsEqual(data) else { throw Broken("a body is no text in UTF-8") }
    return text
}

extension Page {
    func form() throws -> JSON { ["snapshots": .list(try snapshots.map { try $0.form() }), "next": JSON(next)] }
}

extension Waited {
    func form() throws -> JSON {
        let name: JSON =
            switch self {
            case .settled: "settled"
            case .held: "held"
            case .timedOut: "timed_out"
            }
        return ["waited": name, "snapshot": try snapshot.form()]
    }
}

extension CancelOutcome {
    func form() throws -> JSON {
        switch self {
        case .cancelled: ["cancelled": "cancelled", "snapshot": .null]
        case .alreadyFinal(let snapshot): ["cancelled": "already_final", "snapshot": try snapshot.form()]
        case .mayHaveHappened(let snapshot): ["cancelled": "may_have_happened", "snapshot": try snapshot.form()]
        }
    }
}

extension DrainReport {
    var form: JSON {
        [
            "attempts": JSON(attempts),
            "succeeded": JSON(succeeded),
            "ended_otherwise": JSON(endedOtherwise),
            "held": JSON(held),
            "to_repeat": JSON(toRepeat),
            "in_flight": JSON(inFlight),
            "stopped": .string(snakeCase(stopped)),
            "wakes_again": .bool(nextWakeAt != nil),
        ]
    }
}

extension Change {
    var form: JSON {
        [
            "cursor": JSON(cursor),
            "id": JSON(id),
            "state": .string(state.name),
            "reason": JSON(state.reason),
            "revision": JSON(revision),
        ]
    }
}

extension Stats {
    var form: JSON {
        let byReason = Dictionary(uniqueKeysWithValues: heldByReason.map { (snakeCase($0), JSON($1)) })
        return [
            "pending": JSON(pending),
            "in_flight": JSON(inFlight),
            "held": JSON(held),
            "held_by_reason": .object(byReason),
            "in_doubt": JSON(inDoubt),
            "queued_bytes": JSON(queuedBytes),
            "result_bytes": JSON(resultBytes),
            "database_bytes": JSON(databaseBytes),
            "submit_calls": JSON(submitCalls),
            "accepted": JSON(accepted),
            "joined": JSON(joined),
            "replayed": JSON(replayed),
            "reuse_refused": JSON(reuseRefused),
            "succeeded": JSON(succeeded),
            "rejected": JSON(rejected),
            "cancelled": JSON(cancelled),
            "expired": JSON(expired),
            "superseded": JSON(superseded),
            "abandoned": JSON(abandoned),
            "attempts": JSON(attempts),
            "retries_after_answer": JSON(retriesAfterAnswer),
            "retries_after_silence": JSON(retriesAfterSilence),
            "retries_after_no_connection": JSON(retriesAfterNoConnection),
            "doubts_raised": JSON(doubtsRaised),
            "doubts_settled": JSON(doubtsSettled),
            "duplicate_hit_rate": .fraction(duplicateHitRate),
            "reuse_refused_rate": .fraction(reuseRefusedRate),
            "abnormal_retry_rate": .fraction(abnormalRetryRate),
            "time_to_settle": JSON(timeToSettle.reduce(0) { $0 + $1.count }),
            "last_cursor": JSON(lastCursor),
            "inbox_runs": JSON(inboxRuns),
            "inbox_repeats": JSON(inboxRepeats),
            "inbox_uncertain": JSON(inboxUncertain),
            "records": JSON(records),
        ]
    }
}

extension ResolvedAll {
    var form: JSON { ["resolved": JSON(resolved), "refused": JSON(refused)] }
}

extension SignedOutReport {
    var form: JSON {
        [
            "account": JSON(account),
            "kept": JSON(kept),
            "cancelled": JSON(cancelled),
            "abandoned": JSON(abandoned),
            "succeeded": JSON(succeeded),
        ]
    }
}

extension UploadProgress {
    var form: JSON { ["id": JSON(id), "sent": JSON(sent), "total": JSON(total)] }
}
