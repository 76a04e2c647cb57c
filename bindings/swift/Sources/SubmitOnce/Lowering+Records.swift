import Foundation
import SubmitOnceGenerated

// What apps give to the inbox and to batches, in the types that the core takes; see Lowering.swift.

extension Data {
    /// The bytes themselves, if they aren't too many.
    func carried(_ field: String) throws -> Data {
        guard count <= mostCarried else {
            throw SubmitOnceError.invalid(field: field, problem: "it has more than \(mostCarried) bytes")
        }
        return self
    }
}

extension InboxItem {
    func lowered() throws -> RawInboxItem {
        try RawInboxItem(
            scope: scope.carried("scope"),
            key: key.carried("key"),
            content: content?.carried("content"),
            policy: policy,
            lease: lease?.lowered("lease")
        )
    }
}

extension InboxRun {
    func carried() throws -> InboxRun {
        _ = try scope.carried("run.scope")
        _ = try key.carried("run.key")
        return self
    }
}

extension InboxDecision {
    func lowered() throws -> RawInboxDecision {
        switch self {
        case .happened(let result): .happened(result: try result?.carried("result"))
        case .runAgain: .runAgain
        }
    }
}

extension InboxScope {
    func lowered() throws -> RawInboxScope {
        try RawInboxScope(
            name: name.carried("inboxScopes"),
            keepResults: keepResults.lowered("inboxScopes"),
            keepKeys: keepKeys?.lowered("inboxScopes")
        )
    }
}

extension AppStatement {
    func lowered() throws -> RawStatement {
        guard bytes <= mostCarried else {
            throw SubmitOnceError.invalid(field: "statement", problem: "it has more than \(mostCarried) bytes")
        }
        return RawStatement(sql: sql, parameters: parameters.map(\.lowered))
    }

    /// What it takes to hand it over.
    fileprivate var bytes: Int { parameters.reduce(sql.utf8.count) { $0 + $1.bytes } }
}

extension [AppStatement] {
    /// All of them go over together.
    func lowered() throws -> [RawStatement] {
        let bytes = reduce(0) { $0 + $1.bytes }
        guard bytes <= mostCarried else {
            throw SubmitOnceError.invalid(field: "statements", problem: "they have more than \(mostCarried) bytes")
        }
        return try map { try $0.lowered() }
    }
}

extension SQLValue {
    fileprivate var lowered: RawValue {
        switch self {
        case .null: .null
        case .integer(let value): .integer(value: value)
        case .real(let value): .real(value: value)
        case .text(let value): .text(value: value)
        case .blob(let value): .blob(value: value)
        }
    }

    fileprivate var bytes: Int {
        switch self {
        case .null, .integer, .real: 8
        case .text(let text): text.utf8.count
        case .blob(let data): data.count
        }
    }
}

extension BatchConfig {
    func lowered() throws -> RawBatchConfig {
        try RawBatchConfig(
            key: key.carried("key"),
            url: url.carried("url"),
            account: account?.carried("account"),
            method: method.carried("method"),
            effect: effect,
            headers: headers.carried("headers"),
            format: format?.carried(),
            idMember: idMember.carried("idMember"),
            maxRecords: maxRecords.lowered("maxRecords"),
            maxBytes: maxBytes.lowered("maxBytes"),
            maxAge: maxAge?.lowered("maxAge"),
            priority: priority,
            unmeteredOnly: unmeteredOnly
        )
    }
}

extension BatchFormat {
    fileprivate func carried() throws -> BatchFormat {
        switch self {
        case .jsonArray, .ndjson: self
        case .jsonObject(let member): .jsonObject(member: try member.carried("format"))
        }
    }
}
