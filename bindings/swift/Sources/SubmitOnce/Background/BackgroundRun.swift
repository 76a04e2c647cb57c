import Foundation

/// One run that the system has started, from its beginning to the report that it is over, which is made exactly
/// once: `setTaskCompleted` on iOS.
public final class BackgroundRun: Sendable {
    private let completed: FirstCall<Bool>
    private let patience: Duration
    private let work: Task<Bool, Never>
    private let isExpired = Locked(false)

    /// Begins it.
    ///
    /// - Parameters:
    ///   - scheduler: the one that the outbox is opened with.
    ///   - open: gives the outbox that this process shares.
    ///   - onError: told of what went wrong. What waits in the outbox goes on waiting.
    ///   - complete: told whether it went well, once.
    public convenience init(
        _ kind: RunKind,
        scheduler: RunScheduler,
        open: @escaping @Sendable () async throws -> Outbox,
        onError: @escaping @Sendable (any Error) -> Void,
        complete: @escaping @Sendable (Bool) -> Void
    ) {
        self.init(kind, scheduler, BackgroundPlan.lastWords, open, onError, complete)
    }

    init(
        _ kind: RunKind,
        _ scheduler: RunScheduler,
        _ patience: Duration,
        _ open: @escaping @Sendable () async throws -> Outbox,
        _ onError: @escaping @Sendable (any Error) -> Void,
        _ complete: @escaping @Sendable (Bool) -> Void
    ) {
        completed = FirstCall(complete)
        self.patience = patience
        do {
            // Its order was used up when it began. If it is killed, or the outbox can't be opened, nobody else
            // would order another; if all goes well, this one is replaced at its end, or cancelled.
            try scheduler.submit(RunRequest(kind, earliest: Date().addingTimeInterval(NextRuns.troubleAgain)))
        } catch {
            onError(error)
        }
        work = Task.detached {
            do {
                let outbox = try await open()
                // Also if its time is over by now: it begins nothing then, and orders the next for when it is due.
                try await outbox.plan.run(kind)
                return true
            } catch is CancellationError {
                return false
            } catch {
                onError(error)
                return false
            }
        }
        Task.detached { [self] in
            let isWell = await work.value
            completed(isWell && !isExpired.withLock { $0 })
        }
    }

    /// The system wants its time back: begins nothing more, suspends delivery unless the app is on the screen,
    /// and reports within a second.
    public func expire() {
        isExpired.withLock { $0 = true }
        work.cancel()
        Task.detached { [self] in
            await atMost(patience) { [work] in _ = await work.value }
            completed(false)
        }
    }

    /// Waits until nothing of it runs any more; for tests.
    func end() async {
        _ = await work.value
    }
}
