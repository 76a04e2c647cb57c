import SubmitOnce

/// What a step does, and what that gives.
typealias Action = @Sendable (Turn) async throws -> JSON

/// A kind of step: reads its arguments.
typealias Kind = @Sendable (Members) throws -> Action

/// All kinds of steps, by name.
let kinds: [String: Kind] = [
    plainSteps, openingSteps, submittingSteps, lookingSteps, deliveringSteps, accountSteps, runSteps,
    listeningSteps, inboxSteps, recordSteps,
].reduce(into: [:]) { all, some in
    all.merge(some) { _, _ in preconditionFailure("two kinds of steps have one name") }
}

/// An action with the open outbox of the step.
func onOutbox(_ act: @escaping @Sendable (Outbox) async throws -> JSON) -> Action {
    { turn in try await act(turn.handle().outbox) }
}

/// The same for what gives nothing.
func doingOnOutbox(_ act: @escaping @Sendable (Outbox) async throws -> Void) -> Action {
    { turn in
        try await act(turn.handle().outbox)
        return .null
    }
}
