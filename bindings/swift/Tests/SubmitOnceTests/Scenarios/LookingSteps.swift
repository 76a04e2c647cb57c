@testable import SubmitOnce

let lookingSteps: [String: Kind] = [
    "snapshot": { members in
        let id = try members.text("id")
        return onOutbox { try await $0.snapshot(of: SubmissionID.parse(id)).form() }
    },
    "reconcile": { members in
        let ids = try members.json("ids").items().map { try $0.text() }
        return onOutbox { outbox in
            let ids = try ids.map { try SubmissionID.parse($0) }
            let known = try await outbox.reconcile(ids)
            return .list(try ids.map { ["id": JSON($0), "snapshot": try known[$0]?.form() ?? .null] })
        }
    },
    "list": { members in
        let filter = try members.jsonIfAny("filter").map { try listFilter($0) } ?? .all
        let after = try members.wholeIfAny("after") ?? 0
        let limit = try members.jsonIfAny("limit")?.number(as: Int.self) ?? 100
        return onOutbox { try await $0.list(filter, after: after, limit: limit).form() }
    },
    "wait": { members in
        let id = try members.text("id")
        let timeout = try members.jsonIfAny("timeout_ms")?.millis() ?? patience
        return onOutbox { try await $0.wait(for: SubmissionID.parse(id), upTo: timeout).form() }
    },
    // The layer has a stream of changes, and no pages: those are the generated outbox's.
    "changes": { members in
        let after = try members.wholeIfAny("after") ?? 0
        let limit = try members.jsonIfAny("limit")?.number(as: UInt32.self) ?? 1000
        return onOutbox { outbox in
            try await outbox.call { raw in
                switch try raw.changes(after: after, limit: limit) {
                case .changes(let changes, let next, let more):
                    [
                        "resync": false, "changes": .list(try changes.map { try $0.lifted().form }),
                        "next": JSON(next), "more": .bool(more),
                    ]
                case .resync(let next): ["resync": true, "changes": [], "next": JSON(next), "more": false]
                }
            }
        }
    },
    "stats": { _ in onOutbox { try await $0.stats().form } },
    "retain": { _ in
        doingOnOutbox { outbox in
            while try await outbox.retain() {
                // There may be more.
            }
        }
    },
]

private func listFilter(_ json: JSON) throws -> ListFilter {
    try json.members { members in
        ListFilter(
            state: try members.jsonIfAny("state")?.constant(of: [ListState.moving, .held, .settled]),
            reason: try members.jsonIfAny("reason")?.holdReason(),
            account: try members.textIfAny("account"),
            lane: try members.textIfAny("lane"),
            replaces: try members.textIfAny("replaces")
        )
    }
}
