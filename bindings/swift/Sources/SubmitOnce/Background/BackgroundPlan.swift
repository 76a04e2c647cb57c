import Foundation

/// What an outbox does when its app leaves the foreground, comes back, and is given a run in the background. All
/// decisions are here, so that what talks to the system is a few lines. Without a scheduler everything works
/// but the runs.
///
/// Use it, or ``Outbox/start()`` and ``Outbox/suspendDelivery()``: it suspends what it hasn't started.
public struct BackgroundPlan: Sendable {
    let outbox: Outbox
    let runs: Runs

    /// What is on the wire when the app leaves may end within this. The system gives about thirty seconds.
    static let windDownTime = Duration.seconds(20)
    /// What the system allows after it has said that the time is over is little.
    static let lastWords = Duration.seconds(1)

    /// The app is on the screen: delivers from now on.
    public func enterForeground() {
        runs.stage.withLock {
            $0.isForeground = true
            $0.moves += 1
        }
        Task.detached { [self] in
            await runs.reporting { try await runs.settle() }
        }
    }

    /// The app isn't on the screen any more: lets what is on the wire come to its end, suspends, and orders the
    /// runs that have to come. Asks for time before it returns, and gives it back once.
    public func leaveForeground(_ time: some BackgroundTime) {
        let move = runs.stage.withLock {
            $0.isForeground = false
            $0.moves += 1
            return $0.moves
        }
        let stay = Stay(time)
        let isGranted = stay.begin(onExpiration: {
            Task.detached {
                await atMost(Self.lastWords) { await quieten() }
                stay.end()
            }
        })
        Task.detached { [self] in
            if isGranted, isCurrent(move) {
                await runs.reporting { try await outbox.windDown(within: Self.windDownTime) }
            }
            await quieten()
            stay.end()
        }
    }

    /// One background run: delivers within its time, and orders the next. Cancelling its task begins nothing
    /// more.
    func run(_ kind: RunKind) async throws {
        runs.stage.withLock { $0.running += 1 }
        let drained = await Swift.Result { try await outbox.drain(for: kind.budget, stopsWhenCancelled: true) }
        let stopped = (try? drained.get())?.stopped
        // An outbox that is suspended doesn't tell when it wants to go on; one whose time is over must be quiet
        // before anything else.
        if let stopped {
            await runs.reporting { try await runs.orderNext(after: stopped) }
        }
        runs.stage.withLock { $0.running -= 1 }
        try await runs.settle()
        if stopped == nil {
            await runs.reporting { try await runs.orderNext() }
        }
        _ = try drained.get()
    }

    /// Also if the app has come back meanwhile, or a run is under way: then delivery goes on.
    private func quieten() async {
        await runs.reporting { try await runs.settle() }
        await runs.reporting { try await runs.orderNext() }
    }

    private func isCurrent(_ move: Int) -> Bool {
        runs.stage.withLock { $0.moves == move }
    }
}

extension Swift.Result where Failure == any Error {
    fileprivate init(_ work: () async throws -> Success) async {
        do {
            self = .success(try await work())
        } catch {
            self = .failure(error)
        }
    }
}
