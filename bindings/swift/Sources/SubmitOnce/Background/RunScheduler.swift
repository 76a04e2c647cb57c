import Foundation

/// The two kinds of background runs that iOS has, and the time that one of them may take.
public enum RunKind: Sendable, Hashable, CaseIterable {
    /// A `BGAppRefreshTask`: about thirty seconds, at times when the user tends to open the app.
    case refresh
    /// A `BGProcessingTask`: minutes, mostly while the device is charged and not in use.
    case processing

    /// How long a run delivers, if the system doesn't end it sooner. Less than it gives: opening comes before,
    /// and the next run is asked for after it.
    var budget: Duration {
        switch self {
        case .refresh: .seconds(20)
        case .processing: .seconds(240)
        }
    }
}

/// An order for one background run.
public struct RunRequest: Sendable, Hashable {
    public let kind: RunKind
    /// Not before this time. Nil is as soon as the system likes.
    public let earliest: Date?
    /// Only with a network. A refresh can't ask for that.
    public var needsNetwork: Bool { kind == .processing }
    /// Only while the device is charged. Nothing that a user has sent waits for a cable.
    public var needsPower: Bool { false }

    public init(_ kind: RunKind, earliest: Date? = nil) {
        self.kind = kind
        self.earliest = earliest
    }
}

/// What starts background runs: `BGTaskScheduler` on iOS. Called one call at a time, away from the main
/// actor.
public protocol RunScheduler: Sendable {
    /// Orders a run. One that was ordered of the same kind and hasn't begun is replaced. Kept when it returns,
    /// over the end of the process.
    func submit(_ request: RunRequest) throws

    /// Takes the order of this kind back, if there is one.
    func cancel(_ kind: RunKind)
}
