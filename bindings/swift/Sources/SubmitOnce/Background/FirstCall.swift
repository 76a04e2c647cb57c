/// Something that must be done once, by whoever comes first.
final class FirstCall<Value>: Sendable {
    private let todo: Locked<(@Sendable (Value) -> Void)?>

    init(_ todo: @escaping @Sendable (Value) -> Void) {
        self.todo = Locked(todo)
    }

    func callAsFunction(_ value: Value) {
        let mine = todo.withLock { todo in
            defer { todo = nil }
            return todo
        }
        mine?(value)
    }
}

/// Waits for work, but not longer than that. The work goes on.
func atMost(_ patience: Duration, _ work: @escaping @Sendable () async -> Void) async {
    await withCheckedContinuation { continuation in
        let resume = FirstCall<Void> { continuation.resume() }
        let timer = Task.detached {
            // Cancelled when the work is done, which has resumed by then.
            try? await Task.sleep(for: patience)
            resume(())
        }
        Task.detached {
            await work()
            resume(())
            timer.cancel()
        }
    }
}
