import Foundation
import SubmitOnceGenerated

/// Answers the core's nudges with what the app's provider gives, one question at a time.
final class CredentialsDesk: CredentialsListener {
    private struct Question {
        let number: Int
        let account: String
        let reason: CredentialsReason
        let task: Task<Void, Never>
        var isWanted = true

        /// As the core compares: two spellings of one letter are two accounts.
        func isOf(_ other: String) -> Bool { account.utf8.elementsEqual(other.utf8) }
    }

    private struct State {
        var open: [Question] = []
        var count = 0
        var closed = false
    }

    private let state = Locked(State())
    private let provider: CredentialsProvider
    private let supply: @Sendable (String, Credentials) async throws -> Void
    private let onError: @Sendable (any Error) -> Void

    init(
        provider: @escaping CredentialsProvider,
        supply: @escaping @Sendable (String, Credentials) async throws -> Void,
        onError: @escaping @Sendable (any Error) -> Void
    ) {
        self.provider = provider
        self.supply = supply
        self.onError = onError
    }

    func credentialsNeeded(account: String, reason: CredentialsReason) {
        let unwanted = state.withLock { state -> [Task<Void, Never>] in
            guard !state.closed else { return [] }
            // Only one account is signed in: nobody waits for the credentials of another any more.
            var unwanted: [Task<Void, Never>] = []
            for at in state.open.indices
            where state.open[at].isWanted && !state.open[at].isOf(account) {
                state.open[at].isWanted = false
                unwanted.append(state.open[at].task)
            }
            // The core asks again while nothing has come; a provider that is slow isn't asked twice. A new
            // reason is another question: what the provider gave may have been refused by now.
            if !state.open.contains(where: { $0.isWanted && $0.reason == reason }) {
                ask(account, reason, in: &state)
            }
            return unwanted
        }
        Self.cancel(unwanted)
    }

    /// Nobody needs an answer any more.
    func close() {
        let open = state.withLock { state in
            state.closed = true
            return state.open.map(\.task)
        }
        Self.cancel(open)
    }

    /// The last first: one that waits for another must know it when that one ends.
    private static func cancel(_ questions: [Task<Void, Never>]) {
        for task in questions.reversed() {
            task.cancel()
        }
    }

    private func ask(_ account: String, _ reason: CredentialsReason, in state: inout State) {
        state.count += 1
        let number = state.count
        let before = state.open.map(\.task)
        let task = Task.detached { [self] in
            for task in before {
                await task.value
            }
            if !Task.isCancelled {
                await answer(account, reason)
            }
            self.state.withLock { $0.open.removeAll { $0.number == number } }
        }
        state.open.append(Question(number: number, account: account, reason: reason, task: task))
    }

    private func answer(_ account: String, _ reason: CredentialsReason) async {
        do {
            guard let credentials = try await provider(account, reason), !Task.isCancelled else { return }
            try await supply(account, credentials)
        } catch let error as SubmitOnceError where error.isExpected {
            // Signed out, or closed, while the provider was asked: nobody needs them.
        } catch {
            if !Task.isCancelled {
                onError(error)
            }
        }
    }
}

extension SubmitOnceError {
    fileprivate var isExpected: Bool {
        switch reason {
        case .notSignedIn, .closed: true
        default: false
        }
    }
}
