@testable import SubmitOnce

/// What one listener has heard, in order.
final class Ear: Sendable {
    private struct State {
        var heard: [JSON] = []
        var listening: Task<Void, Never>?
        var kept: AsyncStream<Void>?
    }

    private let state = Locked(State())
    /// What nobody has waited for yet.
    private let (news, coming) = AsyncStream.makeStream(of: JSON.self)

    func hear(_ what: JSON) {
        coming.yield(what)
    }

    /// Hears all of a stream.
    func listen<T: Sendable>(to updates: Updates<T>, _ form: @escaping @Sendable (T) -> JSON) {
        let task = Task { [coming] in
            do {
                for try await update in updates {
                    coming.yield(form(update))
                }
            } catch {
                // Whoever waits is told by the end that nothing comes any more.
            }
            coming.finish()
        }
        state.withLock { $0.listening = task }
    }

    /// Keeps a stream open as long as it listens.
    func keep(_ stream: AsyncStream<Void>) {
        state.withLock { $0.kept = stream }
    }

    /// Waits until something that fits has been heard, now or before.
    func wait(for expected: JSON) async throws -> JSON {
        for before in state.withLock({ $0.heard }) where try misfit(expected, before) == nil {
            return before
        }
        let limit = Task { [coming] in
            try await Task.sleep(for: patience)
            coming.finish()
        }
        defer { limit.cancel() }
        for await what in news {
            state.withLock { $0.heard.append(what) }
            if try misfit(expected, what) == nil {
                return what
            }
        }
        throw Broken("expected \(expected)\n   heard \(JSON.list(state.withLock { $0.heard }))")
    }

    func close() {
        let (task, kept) = state.withLock { state in
            defer { state.kept = nil }
            return (state.listening, state.kept)
        }
        task?.cancel()
        coming.finish()
        // Let go outside of the lock: its end tells the outbox.
        _ = kept
    }
}
