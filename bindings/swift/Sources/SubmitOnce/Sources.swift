import Foundation
import SubmitOnceGenerated

/// A place among those that are nudged; it begins with the first wait.
private final class Place: Sendable {
    private let nudges: Nudges
    private let disk: Disk
    private let stream = Locked<AsyncStream<Void>?>(nil)

    init(_ nudges: Nudges, _ disk: Disk) {
        self.nudges = nudges
        self.disk = disk
    }

    /// Waits for a nudge; the first comes at once.
    func wait() async throws {
        try Task.checkCancellation()
        let nudged: Void? = try await entered().first { true }
        if nudged == nil {
            try Task.checkCancellation()
            throw SubmitOnceError.closed
        }
    }

    private func entered() async throws -> AsyncStream<Void> {
        if let stream = stream.withLock({ $0 }) {
            return stream
        }
        let nudges = nudges
        let entered = try await disk.run { try nudges.stream() }
        stream.withLock { $0 = entered }
        return entered
    }
}

/// The states of one submission.
final class SnapshotSource: UpdateSource {
    private let outbox: Outbox
    private let id: UUID
    private let place: Place
    private let last = Locked<Snapshot?>(nil)

    init(_ outbox: Outbox, _ id: UUID) {
        self.outbox = outbox
        self.id = id
        place = Place(outbox.observing.changes, outbox.disk)
    }

    func next() async throws -> Snapshot? {
        let before = last.withLock { $0 }
        if before?.state.isFinal == true {
            return nil
        }
        while true {
            try await place.wait()
            let now = try await outbox.snapshot(of: id)
            if now.revision != before?.revision || now.waitingFor != before?.waitingFor {
                last.withLock { $0 = now }
                return now
            }
        }
    }
}

/// The beginning of a list.
final class ListSource: UpdateSource {
    private let outbox: Outbox
    private let filter: ListFilter
    private let limit: Int
    private let place: Place
    private let last = Locked<[Snapshot]?>(nil)

    init(_ outbox: Outbox, _ filter: ListFilter, _ limit: Int) {
        self.outbox = outbox
        self.filter = filter
        self.limit = min(max(limit, 1), 1000)
        place = Place(outbox.observing.changes, outbox.disk)
    }

    func next() async throws -> [Snapshot]? {
        let before = last.withLock { $0 }
        while true {
            try await place.wait()
            let now = try await read()
            if now != before {
                last.withLock { $0 = now }
                return now
            }
        }
    }

    /// A page may have fewer entries than its limit, and be followed by others.
    private func read() async throws -> [Snapshot] {
        var found: [Snapshot] = []
        var next: Int64? = 0
        while let after = next, found.count < limit {
            let page = try await outbox.list(filter, after: after, limit: limit - found.count)
            found += page.snapshots
            next = page.next
        }
        return found
    }
}

/// The change feed.
final class FeedSource: UpdateSource {
    /// How many changes are read at once.
    private static let page: UInt32 = 256

    private struct State {
        var cursor: Int64
        /// What was read and not given yet, in order.
        var ready: ArraySlice<FeedEvent> = []
        /// There may be more in the database.
        var more = false
    }

    private let outbox: Outbox
    private let place: Place
    private let state: Locked<State>

    init(_ outbox: Outbox, after cursor: Int64) {
        self.outbox = outbox
        place = Place(outbox.observing.changes, outbox.disk)
        state = Locked(State(cursor: cursor))
    }

    func next() async throws -> FeedEvent? {
        while true {
            try Task.checkCancellation()
            if let event = state.withLock({ $0.ready.popFirst() }) {
                return event
            }
            if !state.withLock({ $0.more }) {
                try await place.wait()
            }
            try await readPage()
        }
    }

    private func readPage() async throws {
        let cursor = state.withLock { $0.cursor }
        let page = try await outbox.call { try $0.changes(after: cursor, limit: Self.page) }
        switch page {
        case .changes(let changes, let next, let more):
            let events = try changes.map { FeedEvent.change(try $0.lifted()) }
            state.withLock { $0 = State(cursor: next, ready: events[...], more: more) }
        case .resync(let next):
            state.withLock { $0 = State(cursor: next, ready: [.resync(cursor: next)], more: true) }
        }
    }
}

/// How far uploads have come.
final class UploadSource: UpdateSource {
    private let outbox: Outbox
    private let place: Place
    /// The number of the last one that was given. Nil before it has its place: what is known then may be of
    /// uploads that were over before.
    private let given = Locked<Int?>(nil)

    init(_ outbox: Outbox) {
        self.outbox = outbox
        place = Place(outbox.observing.progress, outbox.disk)
    }

    func next() async throws -> UploadProgress? {
        while true {
            if let before = given.withLock({ $0 }),
                let (number, progress) = outbox.observing.latest.next(after: before)
            {
                try Task.checkCancellation()
                given.withLock { $0 = number }
                return try progress.lifted()
            }
            try await place.wait()
            given.withLock { $0 = $0 ?? 0 }
        }
    }
}
