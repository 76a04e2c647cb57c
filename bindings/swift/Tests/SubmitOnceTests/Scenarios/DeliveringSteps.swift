import SubmitOnce

/// Delivering and deciding.
let deliveringSteps: [String: Kind] = [
    "drain": { members in
        let budget = try members.jsonIfAny("budget_ms")?.millis() ?? patience
        return onOutbox { try await $0.drain(for: budget).form }
    },
    "start": { _ in doingOnOutbox { try await $0.start() } },
    "suspend": { _ in doingOnOutbox { try await $0.suspendDelivery() } },
    "wake": { members in
        let id = try members.text("id")
        return onOutbox { try await $0.wake(SubmissionID.parse(id)).form() }
    },
    "cancel": { members in
        let id = try members.text("id")
        return onOutbox { try await $0.cancel(SubmissionID.parse(id)).form() }
    },
    "resolve": { members in
        let id = try members.text("id")
        let revision = try members.whole("revision")
        let decision = try resolution(members.json("decision"))
        return onOutbox { try await $0.resolve(SubmissionID.parse(id), revision: revision, as: decision).form() }
    },
    "resolve_all": { members in
        let reason = try members.json("reason").holdReason()
        let decision = try resolution(members.json("decision"))
        return onOutbox { try await $0.resolveAll(heldFor: reason, as: decision).form }
    },
    "release_lane": { members in
        let account = try members.textIfAny("account")
        let lane = try members.text("lane")
        return onOutbox { .bool(try await $0.releaseLane(lane, of: account)) }
    },
    "network_available": { members in
        let network: NetworkKind = try members.json("network").constant(of: [.offline, .metered, .unmetered])
        return doingOnOutbox { try await $0.networkAvailable(network) }
    },
]

private func resolution(_ json: JSON) throws -> Resolution {
    try json.members { decision in
        let kind = try decision.sole("a decision")
        return try decision.json(kind).members { members in
            switch kind {
            case "retry_same_key": .retrySameKey(acceptSecondEffect: try members.flag("accept_second_effect"))
            case "it_happened": .itHappened(result: try members.textIfAny("result"))
            case "give_up": .giveUp
            case "fill_parts": .fillParts(try members.json("values").items().map { try partValue($0) })
            default: throw Broken("there is no decision \(kind)")
            }
        }
    }
}

private func partValue(_ json: JSON) throws -> PartValue {
    try json.members { PartValue(into: try partTarget($0.json("into")), json: try $0.text("json")) }
}
