import Foundation
import SubmitOnceGenerated

/// Has background runs ordered when they are needed, and makes delivery what the app's place on the screen asks
/// for. Shared by all that drives one outbox. It does not keep the outbox open.
final class Runs: Sendable {
    struct Stage {
        var isForeground = false
        /// How often the app has left or come back: who waits knows if that has changed meanwhile.
        var moves = 0
        var running = 0
    }

    let stage = Locked(Stage())
    private let raw: RawOutbox
    private let disk: Disk
    private let scheduler: RunScheduler?
    private let onError: @Sendable (any Error) -> Void
    private let now: @Sendable () -> Date
    /// A look and the orders that come of it are one: an order replaces the one before, so that an old look must
    /// not speak after a newer submission.
    private let ordering = Turns()
    private let switching = Turns()

    init(
        _ raw: RawOutbox,
        disk: Disk,
        scheduler: RunScheduler?,
        onError: @escaping @Sendable (any Error) -> Void,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.raw = raw
        self.disk = disk
        self.scheduler = scheduler
        self.onError = onError
        self.now = now
    }

    /// At the opening: orders what an earlier process asked for and died before it could order, and a run
    /// where something waits, whatever became of the scheduler's memory.
    func repair() async throws {
        guard let scheduler else { return }
        try await ordering.take { [self] in
            let asked = try await disk.run { [raw] in try raw.adoptRunRequests() }
            for network in asked {
                await order(network, scheduler)
            }
            if asked.isEmpty, try await isWaiting() {
                await reporting { try await self.submit(NextRuns.now(.any), scheduler) }
            }
        }
    }

    /// After submissions were stored. Never throws: they are stored, whatever the scheduler says.
    func submitted(_ networks: Set<RunNetwork>) async {
        guard let scheduler, !networks.isEmpty else { return }
        await reporting {
            try await self.ordering.take {
                // The last order of a kind stands, and both ask for the soonest.
                for network in networks {
                    await self.order(network, scheduler)
                }
            }
        }
    }

    /// After something became due in another way. Never throws: the rest of the call has been done.
    func request(_ network: RunNetwork) async {
        guard let scheduler else { return }
        await reporting {
            try await self.ordering.take {
                if try await self.disk.run({ [raw = self.raw] in try raw.requestRun(network: network) }) {
                    await self.order(network, scheduler)
                }
            }
        }
    }

    /// Orders the runs that have to come, or none if nothing waits.
    func orderNext(after drained: DrainStop? = nil) async throws {
        guard let scheduler else { return }
        try await ordering.take { [self] in
            // First: what is submitted from here on asks again, since its order may be cancelled below.
            try await disk.run { [raw] in
                try raw.clearRunRequest(network: .any)
                try raw.clearRunRequest(network: .unmetered)
            }
            // Begins nothing. What the drain has told may be old.
            let look = try await translated { [raw] in
                try await raw.drain(budget: DrainBudget(time: 0), cancellation: Cancellation())?.lifted
            }
            guard let look else { return }
            let isWaiting = try await isWaiting()
            let requests = NextRuns.after(drained, look, waiting: isWaiting, now: now())
            let wanted = Set(requests.map(\.kind))
            await disk.always {
                for kind in RunKind.allCases where !wanted.contains(kind) {
                    scheduler.cancel(kind)
                }
            }
            try await submit(requests, scheduler)
        }
    }

    /// Starts delivery in the foreground, and suspends it where nobody has asked for any.
    func settle() async throws {
        try await switching.take { [self] in
            let stage = stage.withLock { $0 }
            try await disk.run { [raw] in
                if stage.isForeground {
                    try raw.start()
                } else if stage.running == 0 {
                    try raw.suspend()
                }
            }
        }
    }

    /// Does it, or tells the app why not. A closed outbox has nothing left to do.
    func reporting(_ work: @Sendable () async throws -> Void) async {
        do {
            try await work()
        } catch let error as SubmitOnceError where error.reason == .closed {
        } catch {
            onError(error)
        }
    }

    private func isWaiting() async throws -> Bool {
        let stats = try await disk.run { [raw] in try raw.stats() }
        return stats.pending + stats.inFlight > 0
    }

    private func order(_ network: RunNetwork, _ scheduler: RunScheduler) async {
        await reporting {
            do {
                try await submit(NextRuns.now(network), scheduler)
            } catch {
                // Whoever comes next asks again.
                try await disk.run { [raw] in try raw.clearRunRequest(network: network) }
                throw error
            }
            try await disk.run { [raw] in try raw.runScheduled(network: network) }
        }
    }

    /// One kind that is refused doesn't keep the other from being ordered.
    private func submit(_ requests: [RunRequest], _ scheduler: RunScheduler) async throws {
        let refusals = await disk.always {
            requests.compactMap { request in
                Swift.Result { try scheduler.submit(request) }.failure
            }
        }
        if let refusal = refusals.first {
            throw refusal
        }
    }
}

extension Swift.Result {
    fileprivate var failure: Failure? {
        if case .failure(let failure) = self { failure } else { nil }
    }
}
