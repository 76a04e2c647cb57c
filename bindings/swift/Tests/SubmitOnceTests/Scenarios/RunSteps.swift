@testable import SubmitOnce

/// The layer asks for background runs by itself, so that apps needn't: the steps are the generated outbox's.
let runSteps: [String: Kind] = [
    "request_run": ofNetwork { .bool(try $0.requestRun(network: $1)) },
    "run_scheduled": ofNetwork {
        try $0.runScheduled(network: $1)
        return .null
    },
    "clear_run_request": ofNetwork {
        try $0.clearRunRequest(network: $1)
        return .null
    },
    "adopt_run_requests": { _ in
        onOutbox { outbox in
            try await outbox.call { JSON(try $0.adoptRunRequests().map { snakeCase($0) }) }
        }
    },
]

private func ofNetwork(_ act: @escaping @Sendable (RawOutbox, RunNetwork) throws -> JSON) -> Kind {
    { members in
        let network: RunNetwork = try members.json("network").constant(of: [.any, .unmetered])
        return onOutbox { outbox in try await outbox.call { try act($0, network) } }
    }
}
