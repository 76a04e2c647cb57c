/// The core's nudges, for any number of listeners. Each is nudged at once, and after each change; a slow one
/// is nudged once for many. The core is listened to only while somebody is here, since it looks for changes
/// of other processes meanwhile.
final class Nudges: Sendable {
    private struct State {
        var listeners: [Int: AsyncStream<Void>.Continuation] = [:]
        var nextNumber = 0
        var closed = false
    }

    private let state = Locked(State())
    /// Held while the core is told, so that it is told in the order in which listeners come and go.
    private let telling = Locked(false)
    private let listen: @Sendable (Bool) throws -> Void

    init(listen: @escaping @Sendable (Bool) throws -> Void) {
        self.listen = listen
    }

    func nudge() {
        let listeners = state.withLock { Array($0.listeners.values) }
        for listener in listeners {
            listener.yield()
        }
    }

    /// The outbox was closed: no nudge comes any more, and every stream ends.
    func close() {
        let listeners = state.withLock { state in
            state.closed = true
            defer { state.listeners = [:] }
            return Array(state.listeners.values)
        }
        for listener in listeners {
            listener.finish()
        }
    }

    /// From here on nothing is missed: what changed before is read after the first nudge.
    func stream() throws -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number: Int? = state.withLock { state in
            guard !state.closed else { return nil }
            state.nextNumber += 1
            state.listeners[state.nextNumber] = continuation
            return state.nextNumber
        }
        guard let number else { throw SubmitOnceError.closed }
        continuation.onTermination = { [weak self] _ in self?.leave(number) }
        do {
            try tell()
        } catch {
            leave(number)
            throw error
        }
        continuation.yield()
        return stream
    }

    /// How many are here.
    var listeners: Int { state.withLock { $0.listeners.count } }

    /// What the core was told last.
    var isListening: Bool { telling.withLock { $0 } }

    private func leave(_ number: Int) {
        // The last value is let go outside of the lock: it may end another stream.
        let left = state.withLock { $0.listeners.removeValue(forKey: number) }
        if left != nil {
            try? tell()
        }
    }

    private func tell() throws {
        try telling.withLock { isListening in
            let wanted = state.withLock { !$0.closed && !$0.listeners.isEmpty }
            if wanted != isListening {
                try listen(wanted)
                isListening = wanted
            }
        }
    }
}
