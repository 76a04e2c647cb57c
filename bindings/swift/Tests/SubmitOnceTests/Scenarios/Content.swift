import Foundation
import SubmitOnce

/// A submission as scenarios write it, to be made when its turn comes. Bodies in files are put into a folder.
typealias Content = @Sendable (URL) throws -> Submission

func content(_ json: JSON) throws -> Content {
    try json.members { members in
        let id = try members.text("id")
        let url = try members.text("url")
        let method = try members.textIfAny("method") ?? "POST"
        let account = try members.textIfAny("account")
        let effect = try members.jsonIfAny("effect").map { try namedEffect($0) }
        let headers = try members.jsonIfAny("headers")?.headers() ?? []
        let body = try members.jsonIfAny("body").map { try readBody($0) }
        let priority = try members.jsonIfAny("priority")?.number(as: Int32.self) ?? 0
        let expiresIn = try members.wholeIfAny("expires_in_ms")
        let unmeteredOnly = try members.jsonIfAny("unmetered_only")?.flag() ?? false
        let lane = try members.textIfAny("lane")
        let policies: [LanePolicy] = [.block, .continue, .rejectRest]
        let lanePolicy = try members.jsonIfAny("lane_policy")?.constant(of: policies)
        let replaces = try members.textIfAny("replaces")
        let after = try members.jsonIfAny("after")?.items().map { try $0.text() } ?? []
        let parts = try members.jsonIfAny("parts")?.items().map { try part($0) } ?? []
        let probe = try members.jsonIfAny("probe").map { try statusProbe($0) }
        return { folder in
            try Submission(
                SubmissionID.parse(id),
                to: url,
                body: body?(folder) ?? .empty,
                method: method,
                account: account,
                effect: effect,
                headers: headers,
                priority: priority,
                expiresAt: expiresIn.map { Date(timeIntervalSinceNow: Double($0) / 1000) },
                unmeteredOnly: unmeteredOnly,
                lane: lane,
                lanePolicy: lanePolicy,
                replaces: replaces,
                after: after.map { try SubmissionID.parse($0) },
                parts: parts.map { try $0() },
                probe: probe
            )
        }
    }
}

func namedEffect(_ json: JSON) throws -> Effect {
    let name = try json.text()
    guard let effect = [Effect.safe, .overwrite, .keyed, .unkeyed].first(where: { $0.name == name }) else {
        throw Broken("there is no effect \(name)")
    }
    return effect
}

extension JSON {
    /// Pairs of a name and a value.
    func headers() throws -> [Header] {
        try items().map { pair in
            let texts = try pair.items().map { try $0.text() }
            guard texts.count == 2 else { throw Broken("\(pair) is no header") }
            return Header(name: texts[0], value: texts[1])
        }
    }
}

private func readBody(_ json: JSON) throws -> @Sendable (URL) throws -> Body {
    try json.members { members in
        let kind = try members.sole("a body")
        let of = try members.json(kind)
        switch kind {
        case "json":
            let text = try of.text()
            return { _ in .jsonText(text) }
        case "bytes":
            let (type, data) = try bytes(of)
            return { _ in .bytes(data, contentType: type) }
        case "file":
            let (type, data) = try bytes(of)
            return { folder in
                let file = folder.appending(path: UUID().uuidString)
                try data.write(to: file)
                return .file(file, contentType: type)
            }
        default: throw Broken("there is no body \(kind)")
        }
    }
}

/// A content type, and what has it.
private func bytes(_ json: JSON) throws -> (String, Data) {
    try json.members { members in
        let type = try members.text("content_type")
        switch (try members.textIfAny("text"), try members.textIfAny("hex")) {
        case (let text?, nil): return (type, Data(text.utf8))
        case (nil, let hex?): return (type, try unhex(hex))
        default: throw Broken("bytes are either text or hex: \(json)")
        }
    }
}

private func unhex(_ hex: String) throws -> Data {
    let digits = try hex.map { digit in
        guard let value = digit.hexDigitValue else { throw Broken("\(digit) is no digit") }
        return UInt8(value)
    }
    guard digits.count.isMultiple(of: 2) else { throw Broken("half a byte in \(hex)") }
    return Data(stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] })
}
