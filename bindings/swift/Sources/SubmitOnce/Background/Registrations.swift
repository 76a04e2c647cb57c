/// The identifiers for which this process has a launch handler: the system ends a process that registers one
/// twice.
final class Registrations: Sendable {
    static let process = Registrations()

    private let taken = Locked<Set<String>>([])

    /// True for the first who takes all of them.
    func take(_ identifiers: [String]) -> Bool {
        taken.withLock { taken in
            guard taken.isDisjoint(with: identifiers), Set(identifiers).count == identifiers.count else {
                return false
            }
            taken.formUnion(identifiers)
            return true
        }
    }
}
