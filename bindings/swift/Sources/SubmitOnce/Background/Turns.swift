/// Lets work take turns, in the order in which it came, each to its end: cancelling who waits for it ends
/// nothing.
final class Turns: Sendable {
    private let last = Locked<Task<Void, Never>?>(nil)

    func take<T: Sendable>(_ work: @escaping @Sendable () async throws -> T) async throws -> T {
        let mine = last.withLock { last in
            let before = last
            let mine = Task.detached {
                await before?.value
                return try await work()
            }
            last = Task.detached { _ = await mine.result }
            return mine
        }
        return try await mine.value
    }
}
