import Foundation
import SubmitOnceGenerated

// Between the generated types and those that apps see. The generated code ends the process at what it
// can't carry (a negative time, a date that is no number, more bytes than 32 bits count), so that all of
// that is refused here.

/// The most bytes that are handed to the core in one value.
let mostCarried = 1 << 30

extension String {
    /// The ID of a submission. Never fails for what the core gives.
    func lifted() throws -> UUID {
        guard let id = UUID(uuidString: self) else {
            throw SubmitOnceError(.internal, "the core gave an ID that is none")
        }
        return id
    }

    /// The text itself, if it isn't too large.
    func carried(_ field: String) throws -> String {
        guard utf8.count <= mostCarried else {
            throw SubmitOnceError.invalid(field: field, problem: "it has more than \(mostCarried) bytes")
        }
        return self
    }
}

extension UUID {
    func lowered() -> String { uuidString.lowercased() }
}

extension Duration {
    /// A time of the core, to the nanosecond.
    init(secondsOf time: TimeInterval) {
        let whole = time.rounded(.down)
        self = .seconds(Int64(whole)) + .nanoseconds(Int64(((time - whole) * 1e9).rounded()))
    }

    /// In seconds. Never negative: less than nothing is nothing. A duration may be longer than its
    /// components can say, which would end the process.
    var timeInterval: TimeInterval {
        let (seconds, attoseconds) = min(max(self, .zero), .seconds(Int64.max)).components
        return TimeInterval(seconds) + TimeInterval(attoseconds) / 1e18
    }

    func lowered(_ field: String) throws -> TimeInterval {
        guard self >= .zero else {
            throw SubmitOnceError.invalid(field: field, problem: "it is negative")
        }
        return timeInterval
    }
}

extension Date {
    func lowered(_ field: String) throws -> Date {
        // A hundred thousand years, which every clock of the core can carry.
        guard abs(timeIntervalSince1970) < 3.2e12 else {
            throw SubmitOnceError.invalid(field: field, problem: "it is no date, or too far away")
        }
        return self
    }
}

extension BinaryInteger {
    func lowered<Other: FixedWidthInteger>(_ field: String) throws -> Other {
        guard let number = Other(exactly: self) else {
            throw SubmitOnceError.invalid(field: field, problem: "use 0 to \(Other.max)")
        }
        return number
    }
}

extension Array<Header> {
    func carried(_ field: String) throws -> [Header] {
        for header in self {
            _ = try header.name.carried(field)
            _ = try header.value.carried(field)
        }
        return self
    }
}

extension Submission {
    func lowered() throws -> RawSubmission {
        try RawSubmission(
            id: id.lowered(),
            account: account?.carried("account"),
            method: method.carried("method"),
            url: url.carried("url"),
            effect: effect,
            headers: headers.carried("headers"),
            body: body.lowered(),
            priority: priority,
            expiresAt: expiresAt?.lowered("expiresAt"),
            lane: lane?.carried("lane"),
            replaces: replaces?.carried("replaces"),
            after: after.map { $0.lowered() },
            probe: probe?.carried("probe"),
            unmeteredOnly: unmeteredOnly
        )
    }
}

extension Body {
    fileprivate func lowered() throws -> RawBody {
        let size = bytesInMemory
        guard size <= mostCarried else {
            throw SubmitOnceError.bodyTooLarge(bytes: size)
        }
        return switch self {
        case .empty: .empty
        case .jsonText(let text): .json(text: text)
        case .bytes(let data, let contentType):
            .bytes(contentType: try contentType.carried("body.content_type"), bytes: data)
        case .file(let url, let contentType):
            .file(contentType: try contentType.carried("body.content_type"), path: try url.filePath("body.path"))
        }
    }

    /// What it takes to hand it over.
    var bytesInMemory: Int {
        switch self {
        case .empty, .file: 0
        case .jsonText(let text): text.utf8.count
        case .bytes(let data, _): data.count
        }
    }
}

extension URL {
    /// The path of a file on this device.
    func filePath(_ field: String) throws -> String {
        guard isFileURL else {
            throw SubmitOnceError.invalid(field: field, problem: "it is no file's URL")
        }
        return path(percentEncoded: false)
    }
}

extension Resolution {
    func lowered() throws -> RawResolution {
        switch self {
        case .retrySameKey(let acceptSecondEffect): .retrySameKey(acceptSecondEffect: acceptSecondEffect)
        case .itHappened(let result): .itHappened(result: try result?.carried("result"))
        case .giveUp: .giveUp
        }
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
            state: try state.lifted(),
            revision: revision,
            waitingFor: waitingFor?.lifted,
            attempts: Int(attempts),
            inDoubt: inDoubt,
            acceptedAt: acceptedAt,
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
    fileprivate var lifted: WaitingFor {
        switch self {
        case .due(let at): .due(at: at)
        case .network(let at): .network(at: at)
        case .certificate(let at, let clockSuspected): .certificate(at: at, clockSuspected: clockSuspected)
        case .unmetered: .unmetered
        case .gate(let until): .gate(until: until)
        case .credentials: .credentials
        case .signedOut: .signedOut
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
