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
            default: throw Broken("there is no decision \(kind)")
            }
        }
    }
}
