import Foundation
import SubmitOnceGenerated

/// A durable outbox: submissions go in once, and come out settled.
///
/// Open one per database and keep it as long as the process lives. It may be used from any number of tasks;
/// two outboxes of one path in a process share everything.
///
/// Functions that touch the disk run away from the caller's actor, and are finished whether their task is
/// cancelled or not, within milliseconds mostly. ``wait(for:upTo:)``, ``drain(for:stopsWhenCancelled:)`` and the
/// loops over what can be watched stop at once when their task is cancelled, with `CancellationError`.
///
/// All functions throw ``SubmitOnceError``; after ``close()``, with the reason `closed`.
public final class Outbox: Sendable {
    let raw: RawOutbox
    let disk: Disk
    let observing: Observing
    private let desk: CredentialsDesk?
    private let closed = Locked(false)
    let runs: Runs

    /// What opening found and did.
    public let openReport: OpenReport

    /// What happens when the app leaves the foreground, comes back, and is given time in the background.
    public var plan: BackgroundPlan { BackgroundPlan(outbox: self, runs: runs) }

    private init(
        _ raw: RawOutbox,
        credentials: CredentialsProvider?,
        scheduler: RunScheduler?,
        onCallbackError: @escaping @Sendable (any Error) -> Void
    ) throws {
        let disk = Disk()
        let runs = Runs(raw, disk: disk, scheduler: scheduler, onError: onCallbackError)
        self.runs = runs
        self.raw = raw
        self.disk = disk
        openReport = raw.openReport()
        observing = Observing(raw)
        desk = credentials.map { provider in
            CredentialsDesk(
                provider: provider,
                supply: { [weak raw] account, credentials in
                    guard let raw else { return }
                    try await disk.run { try raw.supply(credentials, of: account) }
                    await runs.request(.any)
                },
                onError: onCallbackError
            )
        }
    }

    deinit {
        closeNow()
    }

    /// Opens the database, makes it if there is none, and recovers what an earlier process left. Nothing is
    /// sent before ``start()`` or ``drain(for:stopsWhenCancelled:)``.
    ///
    /// - Parameters:
    ///   - database: the file, in a private folder of its own that is not backed up. Files that belong to it
    ///     are put beside it.
    ///   - baseURL: what paths of submissions are joined to, such as `https://api.example.com/v2`.
    ///   - profile: how the server treats keys. Left out: an `Idempotency-Key` header, remembered for 24 hours.
    ///   - limits: numbers to tune.
    ///   - userAgent: the `User-Agent` of requests that store none.
    ///   - tls: whom to trust, besides or instead of the bundled roots.
    ///   - boot: what identifies this boot of the device, where the host knows better than the system.
    ///   - installID: what identifies this installation, and is never restored with a backup. Kept with the
    ///     database when it is told first. If another one is told later, the file is a copy (a restored backup, a
    ///     cloned device), and everything unsettled in it is held as `restored`: see ``openReport``. Left out: copies
    ///     aren't noticed.
    ///   - inboxScopes: how long the inbox's scopes remember, each at most once. A scope that isn't named keeps
    ///     results for 30 days, and that they were done for 90 more.
    ///   - credentials: asked when an account's requests need credentials.
    ///   - scheduler: orders background runs.
    ///   - onCallbackError: told of what the provider and the scheduler threw.
    /// - Throws: ``SubmitOnceError`` with the reasons `cannotOpen`, `storage` and `invalid`; nothing has been
    ///   moved or deleted then. A damaged file is no reason: it is salvaged, see ``openReport``. While another
    ///   process has it open, that waits: `storage(.busy)`.
    public static func open(
        at database: URL,
        baseURL: URL? = nil,
        profile: ServerProfile? = nil,
        limits: Limits? = nil,
        userAgent: String? = nil,
        tls: TLSConfig? = nil,
        boot: String? = nil,
        installID: String? = nil,
        inboxScopes: [InboxScope] = [],
        credentials: CredentialsProvider? = nil,
        scheduler: RunScheduler? = nil,
        onCallbackError: @escaping @Sendable (any Error) -> Void = { _ in }
    ) async throws -> Outbox {
        let config = try OutboxConfig(
            path: database.filePath("database"),
            baseUrl: baseURL?.absoluteString.carried("baseURL"),
            profile: profile?.lowered(),
            limits: limits?.lowered(),
            userAgent: userAgent?.carried("userAgent"),
            tls: tls,
            boot: boot?.carried("boot"),
            installId: installID?.carried("installID"),
            inboxScopes: inboxScopes.map { try $0.lowered() }
        )
        let outbox = try await Disk().run {
            try Outbox(
                RawOutbox.open(config: config),
                credentials: credentials,
                scheduler: scheduler,
                onCallbackError: onCallbackError
            )
        }
        // First: from here on, what is asked for is ordered.
        try await outbox.runs.repair()
        try outbox.askForCredentials()
        return outbox
    }

    /// The ID of an intent, for example "new-order-form": the same one after the process died and after "back
    /// and try again", until its submission is settled or the slot is discarded. Slots are those of the
    /// account that is signed in.
    public func begin(_ slot: String) async throws -> UUID {
        let slot = try slot.carried("slot")
        return try await call { try $0.begin(slot: slot).lifted() }
    }

    /// Forgets a slot, so that ``begin(_:)`` gives a new ID. What was submitted goes on.
    public func discard(_ slot: String) async throws {
        let slot = try slot.carried("slot")
        try await call { try $0.discard(slot: slot) }
    }

    /// Takes a submission over. Durable when it returns: it survives the end of the process and a loss of
    /// power. A repeat of the same submission is met, not stored again, so that a button may call this as often
    /// as it is tapped.
    ///
    /// - Throws: ``SubmitOnceError`` with the reason `keyReused` if the ID belongs to another submission. Others
    ///   say what to mend. Nothing is stored then.
    @discardableResult
    public func submit(_ submission: Submission) async throws -> Receipt {
        let lowered = try submission.lowered()
        let raw = try await call { try $0.submit(submission: lowered) }
        await runs.submitted(raw.runRequested ? [submission.network] : [])
        return try raw.lifted()
    }

    /// Takes several submissions over, all or none, in one transaction.
    @discardableResult
    public func submitAll(_ submissions: [Submission]) async throws -> [Receipt] {
        let size = submissions.reduce(0) { $0 + $1.body.bytesInMemory }
        guard size <= mostCarried else {
            throw SubmitOnceError.bodyTooLarge(bytes: size)
        }
        let lowered = try submissions.map { try $0.lowered() }
        let raw = try await call { try $0.submitAll(submissions: lowered) }
        await runs.submitted(Set(zip(submissions, raw).filter(\.1.runRequested).map(\.0.network)))
        return try raw.map { try $0.lifted() }
    }

    /// How a submission stands, with its result once it has one.
    public func snapshot(of id: UUID) async throws -> Snapshot {
        try await call { try $0.snapshot(id: id.lowered()).lifted() }
    }

    /// What the outbox knows of IDs that the app kept in a database of its own, for the app's start. An ID that
    /// was never submitted here has no entry: submit it again, with this ID.
    public func reconcile(_ ids: some Collection<UUID>) async throws -> [UUID: Snapshot] {
        let lowered = ids.map { $0.lowered() }
        return try await call { raw in
            let known = try raw.reconcile(ids: lowered).compactMap { try $0.snapshot?.lifted() }
            return Dictionary(known.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        }
    }

    /// A part of the list of submissions, in the order of acceptance, the oldest first; 1 to 1,000 of them.
    /// ``Page/next`` is where the next part starts.
    public func list(_ filter: ListFilter = .all, after: Int64 = 0, limit: Int = 100) async throws -> Page {
        let filter = try filter.carried()
        let request = PageRequest(after: after, limit: UInt32(clamping: limit))
        return try await call { raw in
            let page = try raw.list(filter: filter, page: request)
            return Page(snapshots: try page.snapshots.map { try $0.lifted() }, next: page.next)
        }
    }

    /// Waits until a submission is settled or held, or the time is over. Resolves also if that happened before,
    /// or in another process (noticed within a second). Cancelling the task stops the waiting at once, and
    /// changes nothing else. No time, or less, is a look without waiting.
    public func wait(for id: UUID, upTo timeout: Duration) async throws -> Waited {
        let seconds = timeout.timeInterval
        return try await waiting { [raw] cancellation in
            try await raw.wait(id: id.lowered(), timeout: seconds, cancellation: cancellation)?.lifted()
        }
    }

    /// Delivers what is due, until nothing is or the time is over. For background runs; a foreground app calls
    /// ``start()``. A second drain in the same process joins the first.
    ///
    /// Cancelling the task stops the waiting at once. The work goes on within its time, unless
    /// `stopsWhenCancelled`: then nothing more is begun for it, and what is on the wire comes to its end.
    public func drain(for time: Duration, stopsWhenCancelled: Bool = false) async throws -> DrainReport {
        let budget = DrainBudget(time: time.timeInterval, endsWithCaller: stopsWhenCancelled)
        return try await waiting { [raw] cancellation in
            try await raw.drain(budget: budget, cancellation: cancellation)?.lifted
        }
    }

    /// Delivers in the foreground from now on, when things become due, until ``suspendDelivery()``,
    /// ``windDown(within:)`` or ``close()``.
    public func start() async throws {
        try await call { try $0.start() }
    }

    /// Stops and is quiet: when it returns, nothing is on the wire and no transaction is open. Requests that may
    /// have left are in doubt then, and repeated later with the same key. ``start()`` or
    /// ``drain(for:stopsWhenCancelled:)`` go on.
    public func suspendDelivery() async throws {
        try await call { try $0.suspend() }
    }

    /// Begins nothing more, lets what is on the wire come to its end, and suspends. For an app that leaves the
    /// foreground: to suspend at once would put requests in doubt each time. Cancelling the task suspends at
    /// once; so does ``suspendDelivery()``.
    @discardableResult
    public func windDown(within time: Duration) async throws -> WindDown {
        let seconds = time.timeInterval
        return try await withTaskCancellationHandler {
            try await translated { [raw] in try await raw.windDown(time: seconds) }
        } onCancel: {
            Task.detached { [self] in try? await suspendDelivery() }
        }
    }

    /// Tells what the system says of the network. A hint: nothing depends on its coming.
    public func networkAvailable(_ kind: NetworkKind) async throws {
        try await call { try $0.networkAvailable(kind: kind) }
    }

    /// Numbers about the outbox. Costs a read of a few rows, at any length of the queue; waits for a commit that is
    /// under way.
    public func stats() async throws -> Stats {
        try await call { try $0.stats().lifted }
    }

    /// Drops what retention no longer keeps, one small step at a time. True if there may be more. An idle outbox
    /// does it by itself.
    @discardableResult
    public func retain() async throws -> Bool {
        try await call { try $0.retain() }
    }

    /// The states of one submission: how it stands, and each later state until the final one, which ends the
    /// loop. A slow loop misses states in between, never the last.
    ///
    /// Throws with the reason `unknownID` for an ID that ``begin(_:)`` gave and that wasn't submitted yet.
    public func updates(of id: UUID) -> Updates<Snapshot> {
        Updates { SnapshotSource(self, id) }
    }

    /// The first entries of a list, the oldest first, and the same again after each change of the outbox. What
    /// comes after `limit` entries isn't told: a list that may be longer is read with
    /// ``list(_:after:limit:)``, page by page, after each of the ``changes(after:)``.
    public func updates(of filter: ListFilter, limit: Int = 100) -> Updates<[Snapshot]> {
        Updates { ListSource(self, filter, limit) }
    }

    /// The changes after a cursor (zero for the beginning), and those to come: each one, in order. Keep the
    /// cursor of the last event that you have used up, and go on from it after a restart.
    public func changes(after cursor: Int64) -> Updates<FeedEvent> {
        Updates { FeedSource(self, after: cursor) }
    }

    /// How far large bodies (64 KiB and more) have come, some times a second. A slow loop gets the latest of each
    /// submission.
    public func uploads() -> Updates<UploadProgress> {
        Updates { UploadSource(self) }
    }

    /// Stops what is on the wire, and closes the database, within some milliseconds; some tenths of a second if
    /// another process holds the database. Calls under way end with the reason `closed`, and so do later ones.
    /// Calling it again does nothing. An outbox that nobody holds any more closes by itself.
    public func close() async {
        // Not among the calls: those may all be waiting for another process.
        await withCheckedContinuation { continuation in
            DispatchQueue.global(qos: .userInitiated).async {
                self.closeNow()
                continuation.resume()
            }
        }
    }

    private func closeNow() {
        let wasClosed = closed.withLock { closed in
            defer { closed = true }
            return closed
        }
        if !wasClosed {
            desk?.close()
            raw.close()
            observing.close()
        }
    }

    /// A call that touches the disk.
    func call<T: Sendable>(_ work: @escaping @Sendable (RawOutbox) throws -> T) async throws -> T {
        try await disk.run { [raw] in try work(raw) }
    }

    /// A call after which something may be due.
    func asking<T: Sendable>(_ work: @escaping @Sendable (RawOutbox) throws -> T) async throws -> T {
        let result = try await call(work)
        await runs.request(.any)
        return result
    }

    private func askForCredentials() throws {
        if let desk {
            try translated { try raw.setCredentialsListener(listener: desk) }
        }
    }

    /// A call that waits, and ends when its task is cancelled.
    private func waiting<T: Sendable>(
        _ call: @escaping @Sendable (Cancellation) async throws -> T?
    ) async throws -> T {
        let cancellation = Cancellation()
        let result = try await withTaskCancellationHandler {
            try await translated { try await call(cancellation) }
        } onCancel: {
            cancellation.cancel()
        }
        guard let result else { throw CancellationError() }
        return result
    }
}

extension Submission {
    fileprivate var network: RunNetwork { unmeteredOnly ? .unmetered : .any }
}
