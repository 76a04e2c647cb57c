/// What the system says of the network, as far as it matters here.
struct NetworkPath: Sendable, Hashable {
    /// There is a way to the internet, as far as is known.
    var isSatisfied: Bool
    /// A mobile network, or a hotspot of one.
    var isExpensive: Bool
    /// The user has asked to use little data.
    var isConstrained: Bool

    var kind: NetworkKind {
        guard isSatisfied else { return .offline }
        return isExpensive || isConstrained ? .metered : .unmetered
    }
}

extension Outbox {
    /// Tells the outbox each path, for as long as it lives. Returns when it has been told the first, so that a
    /// run knows what there is; or after a second, since nothing depends on it.
    func follow(_ paths: AsyncStream<NetworkPath>) async {
        let (first, told) = AsyncStream.makeStream(of: Void.self)
        Task.detached { [weak self] in
            for await path in paths {
                // A hint that is lost does no harm.
                guard let self else { break }
                try? await self.networkAvailable(path.kind)
                told.finish()
            }
            told.finish()
        }
        await atMost(.seconds(1)) {
            for await _ in first {}
        }
    }
}
