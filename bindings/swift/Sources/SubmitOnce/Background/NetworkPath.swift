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
