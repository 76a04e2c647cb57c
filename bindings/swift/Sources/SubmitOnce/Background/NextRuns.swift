import Foundation

/// Which runs have to come, after how the last one ended and what a look at the outbox found.
enum NextRuns {
    /// No run is ordered sooner: a system that lets it begin at once would repeat what has just failed.
    static let soonest: TimeInterval = 10
    /// No run can ask for a network that costs nothing by the byte.
    static let unmeteredAgain: TimeInterval = 15 * 60
    /// The token server may be back; a user who has to sign in anew costs a look each hour.
    static let credentialsAgain: TimeInterval = 60 * 60
    /// After a run that was killed, cut off, or could not open the outbox.
    static let troubleAgain: TimeInterval = 15 * 60

    /// - Parameters:
    ///   - drained: how the drain before the look stopped, if there was one.
    ///   - look: what a drain without time has found.
    ///   - waiting: something isn't settled, and isn't held.
    static func after(_ drained: DrainStop?, _ look: DrainReport, waiting: Bool, now: Date) -> [RunRequest] {
        let soon = now.addingTimeInterval(soonest)
        let needsCredentials = drained == .credentialsNeeded || look.stopped == .credentialsNeeded
        let any = [
            // Also of what is due still, because the time was over, or on the wire.
            look.nextWakeAt.map { max($0, soon) },
            // A suspended outbox doesn't tell for what, or until when. The run will find that out.
            look.stopped == .suspended && waiting ? soon : nil,
            needsCredentials ? now.addingTimeInterval(credentialsAgain) : nil,
        ].compactMap { $0 }.min()
        let unmetered = look.awaitsUnmetered ? now.addingTimeInterval(unmeteredAgain) : nil
        // The system decides which of the two comes first, and a large body needs the longer one.
        return [
            any.map { RunRequest(.refresh, earliest: $0) },
            [any, unmetered].compactMap { $0 }.min().map { RunRequest(.processing, earliest: $0) },
        ].compactMap { $0 }
    }

    /// For what was just submitted. Seconds are too few for what is large enough to wait for such a network.
    static func now(_ network: RunNetwork) -> [RunRequest] {
        switch network {
        case .any: [RunRequest(.refresh), RunRequest(.processing)]
        case .unmetered: [RunRequest(.processing)]
        }
    }
}
