/// Follows the app onto the screen and off it, also while its outbox is still being opened.
final class ScreenFollower: Sendable {
    /// Held while the plan is told, so that it is told in the order of the moves.
    private let isForeground = Locked(false)
    private let outbox: SharedOutbox
    private let onError: @Sendable (any Error) -> Void

    init(_ outbox: SharedOutbox, onError: @escaping @Sendable (any Error) -> Void) {
        self.outbox = outbox
        self.onError = onError
    }

    @discardableResult
    func entered() -> Task<Void, Never> {
        isForeground.withLock { $0 = true }
        return Task.detached { [self] in
            do {
                let outbox = try await outbox.get()
                isForeground.withLock { isForeground in
                    // It may have left while the outbox was opened, which delivers nothing by itself.
                    if isForeground {
                        outbox.plan.enterForeground()
                    }
                }
            } catch {
                onError(error)
            }
        }
    }

    func left(_ time: some BackgroundTime) {
        isForeground.withLock { isForeground in
            isForeground = false
            outbox.ifOpen?.plan.leaveForeground(time)
        }
    }
}
