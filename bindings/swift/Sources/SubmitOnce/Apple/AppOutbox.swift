// Not compiled where this library's tests run: what it decides is in Background, and tested there.

#if canImport(BackgroundTasks) && canImport(UIKit) && os(iOS)
    import BackgroundTasks
    import Foundation
    import UIKit

    /// An app's outbox, with all that the system has to do with it: it delivers while the app is on the screen,
    /// winds down when it leaves, and delivers in background runs.
    ///
    /// ```swift
    /// let orders = AppOutbox(refresh: "com.example.shop.refresh", processing: "com.example.shop.processing") {
    ///     try await Outbox.open(baseURL: URL(string: "https://api.example.com"), scheduler: $0)
    /// }
    /// ```
    ///
    /// An extension has no application: it opens an ``Outbox`` of its own, and drains it within
    /// `ProcessInfo.performExpiringActivity(withReason:using:)`.
    @available(iOSApplicationExtension, unavailable)
    public final class AppOutbox: Sendable {
        private let scheduler: SystemScheduler
        private let shared: SharedOutbox
        private let follower: ScreenFollower
        private let onError: @Sendable (any Error) -> Void

        /// - Parameters:
        ///   - refresh: the identifier of its app refresh task.
        ///   - processing: the identifier of its processing task.
        ///   - onError: told of what keeps it from opening, or a run from being ordered.
        ///   - open: opens it at the first need, with this scheduler.
        public init(
            refresh: String,
            processing: String,
            onError: @escaping @Sendable (any Error) -> Void = { _ in },
            open: @escaping @Sendable (SystemScheduler) async throws -> Outbox
        ) {
            let scheduler = SystemScheduler(refresh: refresh, processing: processing)
            let shared = SharedOutbox { try await open(scheduler) }
            self.scheduler = scheduler
            self.shared = shared
            self.onError = onError
            follower = ScreenFollower(shared, onError: onError)
        }

        /// The outbox, opened at the first call. Don't close it: it lives as long as the process.
        public func outbox() async throws -> Outbox {
            try await shared.get()
        }

        /// Registers its launch handlers. Call it once, before the launch ends: in the initializer of a SwiftUI
        /// `App`, or in `application(_:didFinishLaunchingWithOptions:)`. Keep this object as long as the process
        /// lives.
        ///
        /// - Returns: false if the identifiers are registered already, or aren't in Info.plist.
        @MainActor
        @discardableResult
        public func register() -> Bool {
            guard Registrations.process.take([scheduler.refresh, scheduler.processing]) else { return false }
            followTheScreen()
            // Each, though one may be refused.
            return RunKind.allCases.map(register).allSatisfy { $0 }
        }

        @MainActor
        private func register(_ kind: RunKind) -> Bool {
            let identifier = scheduler.identifier(of: kind)
            return BGTaskScheduler.shared.register(forTaskWithIdentifier: identifier, using: nil) {
                [scheduler, shared, onError] task in
                let task = LaunchedTask(task)
                let run = BackgroundRun(
                    kind,
                    scheduler: scheduler,
                    open: { try await shared.get() },
                    onError: onError,
                    complete: { task.complete($0) }
                )
                task.onExpiration { run.expire() }
            }
        }

        @MainActor
        private func followTheScreen() {
            let center = NotificationCenter.default
            // Both: the first isn't posted at a launch without scenes. That it is told twice changes nothing.
            for name in [UIApplication.willEnterForegroundNotification, UIApplication.didBecomeActiveNotification] {
                _ = center.addObserver(forName: name, object: nil, queue: nil) { [follower] _ in follower.entered() }
            }
            // Without a queue it is called on the thread that posts, the main one, before the app may be suspended.
            _ = center.addObserver(forName: UIApplication.didEnterBackgroundNotification, object: nil, queue: nil) {
                [follower] _ in follower.left(ApplicationTime())
            }
        }
    }

    /// A task that the system has launched. `BGTask` may be used from any thread, and doesn't say so to the
    /// compiler.
    private final class LaunchedTask: @unchecked Sendable {
        private let task: BGTask

        init(_ task: BGTask) {
            self.task = task
        }

        func onExpiration(_ handler: @escaping @Sendable () -> Void) {
            task.expirationHandler = handler
        }

        func complete(_ success: Bool) {
            task.setTaskCompleted(success: success)
        }
    }
#endif
