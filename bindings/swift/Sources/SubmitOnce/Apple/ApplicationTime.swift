// Not compiled where this library's tests run: nothing here decides anything.

#if canImport(UIKit) && os(iOS)
    import UIKit

    /// The time that `UIApplication.beginBackgroundTask` gives.
    @available(iOSApplicationExtension, unavailable)
    struct ApplicationTime: BackgroundTime {
        func begin(onExpiration: @escaping @Sendable () -> Void) -> UIBackgroundTaskIdentifier? {
            // The notification that the app leaves is posted on the main thread.
            MainActor.assumeIsolated {
                let identifier = UIApplication.shared.beginBackgroundTask(
                    withName: "dev.submitonce.wind-down",
                    expirationHandler: { onExpiration() }
                )
                return identifier == .invalid ? nil : identifier
            }
        }

        func end(_ token: UIBackgroundTaskIdentifier) {
            Task { @MainActor in
                UIApplication.shared.endBackgroundTask(token)
            }
        }
    }
#endif
