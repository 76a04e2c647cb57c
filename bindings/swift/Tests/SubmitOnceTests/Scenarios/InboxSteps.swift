import Foundation
import SubmitOnce

let inboxSteps: [String: Kind] = [
    "inbox_begin": { members in
        let item = try inboxItem(members.json("item"))
        return onInbox { try await $0.begin(item).form() }
    },
    "inbox_finish": { members in
        let run = try inboxRun(members.json("run"))
        let result = try members.bytesIfAny("result")
        let statements = try members.jsonIfAny("statements")?.items().map { try statement($0) }
        return onInbox { inbox in
            if let statements {
                try await inbox.finish(run, result: result, with: statements)
            } else {
                try await inbox.finish(run, result: result)
            }
            return .null
        }
    },
    "inbox_fail": { members in
        let run = try inboxRun(members.json("run"))
        let failure: InboxFailure = try members.json("failure").constant(of: [.nothingHappened, .mayHaveHappened])
        return onInbox { inbox in
            try await inbox.fail(run, failure)
            return .null
        }
    },
    "inbox_extend": { members in
        let run = try inboxRun(members.json("run"))
        let lease = try members.json("lease_ms").millis()
        return onInbox { inbox in
            try await inbox.extend(run, lease: lease)
            return .null
        }
    },
    "inbox_decide": { members in
        let (scope, key) = (try members.text("scope"), try members.text("key"))
        let decision = try inboxDecision(members.json("decision"))
        return onInbox { inbox in
            try await inbox.decide(scope, key, as: decision)
            return .null
        }
    },
    "inbox_uncertain": { members in
        let scope = try members.textIfAny("scope")
        let limit = try members.jsonIfAny("limit")?.number(as: Int.self) ?? 1000
        return onInbox { inbox in
            .list(
                try await inbox.uncertain(in: scope, limit: limit).map {
                    ["scope": .string($0.scope), "key": .string($0.key), "runs": JSON($0.runs)]
                })
        }
    },
    "inbox_query": { members in
        let statement = try statement(members.json("statement"))
        return onInbox { inbox in
            .list(try await inbox.query(statement).map { .list(try $0.map { try $0.form() }) })
        }
    },
]

private func onInbox(_ act: @escaping @Sendable (Inbox) async throws -> JSON) -> Action {
    onOutbox { try await act($0.inbox) }
}

func inboxScope(_ json: JSON) throws -> InboxScope {
    try json.members { members in
        InboxScope(
            try members.text("name"),
            keepResults: try members.json("keep_results_ms").millis(),
            keepKeys: try members.jsonIfAny("keep_keys_ms")?.millis()
        )
    }
}

private func inboxItem(_ json: JSON) throws -> InboxItem {
    try json.members { members in
        InboxItem(
            try members.text("scope"),
            try members.text("key"),
            content: try members.bytesIfAny("content"),
            policy: try members.json("policy").constant(of: [.atMostOnce, .atLeastOnce]),
            lease: try members.jsonIfAny("lease_ms")?.millis()
        )
    }
}

private func inboxRun(_ json: JSON) throws -> InboxRun {
    try json.members { members in
        InboxRun(
            scope: try members.text("scope"), key: try members.text("key"), number: try members.whole("number"))
    }
}

private func inboxDecision(_ json: JSON) throws -> InboxDecision {
    if case .string("run_again") = json {
        return .runAgain
    }
    return try json.members { decision in
        try decision.json("happened").members { .happened(result: try $0.bytesIfAny("result")) }
    }
}

private func statement(_ json: JSON) throws -> AppStatement {
    try json.members { members in
        let parameters = try members.jsonIfAny("parameters")?.items().map { try value($0) } ?? []
        return AppStatement(try members.text("sql"), parameters: parameters)
    }
}

private func value(_ json: JSON) throws -> SQLValue {
    if json.isNull {
        return .null
    }
    return try json.members { members in
        let kind = try members.sole("a value")
        return switch kind {
        case "integer": .integer(try members.whole(kind))
        case "real": .real(try members.json(kind).real())
        case "text": .text(try members.text(kind))
        case "blob": .blob(Data(try members.text(kind).utf8))
        default: throw Broken("there is no value \(kind)")
        }
    }
}

extension SQLValue {
    fileprivate func form() throws -> JSON {
        switch self {
        case .null: .null
        case .integer(let value): ["integer": JSON(value)]
        case .real(let value): ["real": .fraction(value)]
        case .text(let value): ["text": .string(value)]
        case .blob(let value): ["blob": .string(try utf8Text(value))]
        }
    }
}

extension InboxAnswer {
    fileprivate func form() throws -> JSON {
        let (name, run, result, dropped): (String, JSON, Data?, Bool?) =
            switch self {
            case .run(let run): ("run", run.form, nil, nil)
            case .busy: ("busy", .null, nil, nil)
            case .done(let result, let dropped, _): ("done", .null, result, dropped)
            case .uncertain: ("uncertain", .null, nil, nil)
            }
        return [
            "answer": .string(name),
            "run": run,
            "result": JSON(try result.map { try utf8Text($0) }),
            "dropped": dropped.map(JSON.bool) ?? .null,
        ]
    }
}

extension InboxRun {
    fileprivate var form: JSON { ["scope": .string(scope), "key": .string(key), "number": JSON(number)] }
}

extension Members {
    /// A text, meant in UTF-8.
    fileprivate func bytesIfAny(_ name: String) throws -> Data? { try textIfAny(name).map { Data($0.utf8) } }
}

extension JSON {
    fileprivate func real() throws -> Double {
        if case .fraction(let fraction) = self { fraction } else { Double(try whole()) }
    }
}
