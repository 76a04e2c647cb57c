/// The outbox that the screens and the background runs of a process share: opened at the first need. What
/// opening throws is thrown to who needed it, and the next one tries again.
public final class SharedOutbox: Sendable {
    private let outbox = Locked<Outbox?>(nil)
    private let opening = Turns()
    private let open: @Sendable () async throws -> Outbox

    public init(_ open: @escaping @Sendable () async throws -> Outbox) {
        self.open = open
    }

    /// Don't close it: it lives as long as the process.
    public func get() async throws -> Outbox {
        if let outbox = ifOpen {
            return outbox
        }
        return try await opening.take { [self] in
            if let outbox = ifOpen {
                return outbox
            }
            let opened = try await open()
            outbox.withLock { $0 = opened }
            return opened
        }
    }

    /// The outbox, if it is open already.
    public var ifOpen: Outbox? {
        outbox.withLock { $0 }
    }
}
