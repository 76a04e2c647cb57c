// Not compiled where this library's tests run: nothing here decides anything.

#if canImport(BackgroundTasks) && os(iOS)
    import BackgroundTasks
    import Foundation

    /// `BGTaskScheduler`, with an identifier for each kind. Both are in the app's Info.plist, under
    /// `BGTaskSchedulerPermittedIdentifiers`.
    public struct SystemScheduler: RunScheduler {
        public let refresh: String
        public let processing: String

        public init(refresh: String, processing: String) {
            self.refresh = refresh
            self.processing = processing
        }

        /// Throws `BGTaskScheduler.Error`: `unavailable` where the user has turned background refresh off and in
        /// simulators, `notPermitted` for an identifier that isn't in Info.plist, and
        /// `tooManyPendingTaskRequests` where the app has ordered a refresh under another identifier.
        public func submit(_ request: RunRequest) throws {
            try BGTaskScheduler.shared.submit(taskRequest(for: request))
        }

        public func cancel(_ kind: RunKind) {
            BGTaskScheduler.shared.cancel(taskRequestWithIdentifier: identifier(of: kind))
        }

        func identifier(of kind: RunKind) -> String {
            switch kind {
            case .refresh: refresh
            case .processing: processing
            }
        }

        private func taskRequest(for request: RunRequest) -> BGTaskRequest {
            let identifier = identifier(of: request.kind)
            let order: BGTaskRequest
            switch request.kind {
            case .refresh:
                order = BGAppRefreshTaskRequest(identifier: identifier)
            case .processing:
                let processing = BGProcessingTaskRequest(identifier: identifier)
                processing.requiresNetworkConnectivity = request.needsNetwork
                processing.requiresExternalPower = request.needsPower
                order = processing
            }
            order.earliestBeginDate = request.earliest
            return order
        }
    }
#endif
