@testable import SubmitOnce

import enum SubmitOnceGenerated.CredentialsReason
import protocol SubmitOnceGenerated.CredentialsListener

/// Changes and progress are streams.
let listeningSteps: [String: Kind] = [
    "set_listener": listening("listener") { ear, outbox in
        let changes = outbox.changes(after: try await outbox.stats().lastCursor)
        ear.listen(to: changes) { _ in [:] }
    },
    "set_progress_listener": listening("progress_listener") { ear, outbox in
        // Uploads that move before the loop has begun are kept for it, as long as somebody listens.
        ear.keep(try await outbox.call { [progress = outbox.observing.progress] _ in try progress.stream() })
        ear.listen(to: outbox.uploads()) { $0.form }
    },
    // The layer takes a provider when it opens, for good; one that is set later is the generated outbox's.
    "set_credentials_listener": { members in
        let listening = try members.flag("listening")
        return { turn in
            let handle = try turn.handle()
            let asked = handle.newEar("credentials_listener", listening: listening).map(Asked.init)
            try await handle.outbox.call { try $0.setCredentialsListener(listener: asked) }
            return .null
        }
    },
    "heard": { members in
        let by = try members.text("by")
        guard ["listener", "credentials_listener", "progress_listener"].contains(by) else {
            throw Broken("there is no listener \(by)")
        }
        return { turn in try await turn.handle().ear(by).wait(for: turn.expect ?? [:]) }
    },
]

private func listening(_ name: String, to open: @escaping @Sendable (Ear, Outbox) async throws -> Void) -> Kind {
    { members in
        let listening = try members.flag("listening")
        return { turn in
            let handle = try turn.handle()
            if let ear = handle.newEar(name, listening: listening) {
                try await open(ear, handle.outbox)
            }
            return .null
        }
    }
}

private final class Asked: CredentialsListener {
    private let ear: Ear

    init(_ ear: Ear) {
        self.ear = ear
    }

    func credentialsNeeded(account: String, reason: CredentialsReason) {
        ear.hear(["account": .string(account), "reason": .string(snakeCase(reason))])
    }
}
