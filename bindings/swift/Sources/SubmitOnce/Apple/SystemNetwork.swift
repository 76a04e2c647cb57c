// Not compiled where this library's tests run: the decision is in NetworkPath.

#if canImport(Network)
    import Foundation
    import Network

    extension NetworkPath {
        init(_ path: NWPath) {
            self.init(
                isSatisfied: path.status == .satisfied,
                isExpensive: path.isExpensive,
                isConstrained: path.isConstrained
            )
        }

        /// The paths of the system, the present one first. The system is asked while somebody holds the stream.
        static func ofSystem() -> AsyncStream<NetworkPath> {
            AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
                let monitor = NWPathMonitor()
                monitor.pathUpdateHandler = { continuation.yield(NetworkPath($0)) }
                monitor.start(queue: DispatchQueue(label: "dev.submitonce.network"))
                let held = Locked(monitor)
                continuation.onTermination = { _ in held.withLock { $0.cancel() } }
            }
        }
    }
#endif
