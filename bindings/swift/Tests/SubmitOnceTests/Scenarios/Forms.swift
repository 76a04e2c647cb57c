import Foundation

@testable import SubmitOnce

// The JSON forms of what calls give back. Times are left out: no scenario could know them.

extension OpenReport {
    var form: JSON { ["created": .bool(created), "lost_changes": JSON(lostChanges), "shared": .bool(shared)] }
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
            "state": .string(state.name),
            "reason": JSON(state.reason),
            "revision": JSON(revision),
            "waiting_for": JSON(waitingFor?.name),
            "attempts": JSON(attempts),
            "in_doubt": .bool(inDoubt),
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
private func utf8Text(_ data: Data) throws -> String {
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
        [
            "pending": JSON(pending),
            "in_flight": JSON(inFlight),
            "held": JSON(held),
            "accepted": JSON(accepted),
            "joined": JSON(joined),
            "replayed": JSON(replayed),
            "reuse_refused": JSON(reuseRefused),
            "attempts": JSON(attempts),
            "duplicate_hit_rate": .fraction(duplicateHitRate),
            "reuse_refused_rate": .fraction(reuseRefusedRate),
            "abnormal_retry_rate": .fraction(abnormalRetryRate),
            "last_cursor": JSON(lastCursor),
        ]
    }
}

extension UploadProgress {
    var form: JSON { ["id": JSON(id), "sent": JSON(sent), "total": JSON(total)] }
}
