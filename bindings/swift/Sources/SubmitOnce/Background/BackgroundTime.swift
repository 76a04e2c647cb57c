/// The time that the system gives an app that leaves the foreground: `beginBackgroundTask` on iOS.
public protocol BackgroundTime: Sendable {
    /// What the system knows it by.
    associatedtype Token: Sendable

    /// Asks for time, on the thread that said that the app leaves. Nil if there is none.
    func begin(onExpiration: @escaping @Sendable () -> Void) -> Token?

    /// Gives it back. From any thread.
    func end(_ token: Token)
}

/// Time that is given back exactly once, also where that is wanted before it is known to be granted.
final class Stay<Time: BackgroundTime>: Sendable {
    private enum State {
        case asking
        case granted(Time.Token)
        case over
    }

    private let time: Time
    private let state = Locked(State.asking)

    init(_ time: Time) {
        self.time = time
    }

    /// True if there is time.
    func begin(onExpiration: @escaping @Sendable () -> Void) -> Bool {
        guard let token = time.begin(onExpiration: onExpiration) else {
            state.withLock { $0 = .over }
            return false
        }
        let isOver = state.withLock { state in
            if case .over = state { return true }
            state = .granted(token)
            return false
        }
        if isOver {
            time.end(token)
        }
        return !isOver
    }

    func end() {
        let token: Time.Token? = state.withLock { state in
            defer { state = .over }
            if case .granted(let token) = state { return token }
            return nil
        }
        if let token {
            time.end(token)
        }
    }
}
