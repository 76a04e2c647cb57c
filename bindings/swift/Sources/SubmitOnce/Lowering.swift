import Foundation
import SubmitOnceGenerated

// What apps give, in the types that the core takes. The generated code ends the process at what it can't carry
// (a negative time, a date that is no number, more bytes than 32 bits count), so that all of that is refused
// here.

/// The most bytes that are handed to the core in one value.
let mostCarried = 1 << 30

extension String {
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
            lanePolicy: lanePolicy,
            replaces: replaces?.carried("replaces"),
            after: after.map { $0.lowered() },
            parts: parts.map { try $0.lowered() },
            probe: probe?.carried(),
            unmeteredOnly: unmeteredOnly
        )
    }
}

extension ParentPart {
    func lowered() throws -> RawParentPart {
        try RawParentPart(parent: parent.lowered(), from: source.carried(), into: target.carried("parts"))
    }
}

extension PartSource {
    fileprivate func carried() throws -> PartSource {
        switch self {
        case .jsonPointer(let text), .header(let text): _ = try text.carried("parts")
        }
        return self
    }
}

extension PartTarget {
    fileprivate func carried(_ field: String) throws -> PartTarget {
        switch self {
        case .path(let text), .query(let text), .header(let text), .json(let text): _ = try text.carried(field)
        }
        return self
    }
}

extension StatusProbe {
    fileprivate func carried() throws -> StatusProbe {
        _ = try url.carried("probe")
        _ = try pointer?.carried("probe")
        return self
    }
}

extension ListFilter {
    func carried() throws -> ListFilter {
        _ = try account?.carried("filter.account")
        _ = try lane?.carried("filter.lane")
        _ = try replaces?.carried("filter.replaces")
        return self
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
        case .fillParts(let values):
            .fillParts(
                values: try values.map {
                    try PartValue(into: $0.into.carried("values"), json: $0.json.carried("values"))
                })
        }
    }
}
