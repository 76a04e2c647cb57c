/// What an outbox shows over time, for `for try await`.
///
/// Cold: each loop reads anew, and nothing is kept back for a slow one. A loop ends with
/// ``SubmitOnceError/Reason/closed`` when the outbox is closed, and with `CancellationError` when its task is
/// cancelled, so that what comes after it runs only if it came to its own end.
public struct Updates<Element: Sendable>: AsyncSequence, Sendable {
    let makeSource: @Sendable () -> any UpdateSource<Element>

    public func makeAsyncIterator() -> Iterator {
        Iterator(source: makeSource())
    }

    /// Reads one update after the other.
    public struct Iterator: AsyncIteratorProtocol {
        var source: (any UpdateSource<Element>)?

        /// The next update. Nil after the last one.
        public mutating func next() async throws -> Element? {
            do {
                if let element = try await source?.next() {
                    return element
                }
                source = nil
                return nil
            } catch {
                source = nil
                throw error
            }
        }
    }
}

/// Where updates come from. Asked by one caller at a time.
protocol UpdateSource<Element>: Sendable {
    associatedtype Element: Sendable
    func next() async throws -> Element?
}
