import Foundation

@testable import SubmitOnce

/// How long the player waits for what has to come.
let patience = Duration.seconds(60)

/// Where a scenario is played: its server, its folder, and its outboxes.
final class Stage: Sendable {
    let scenario: Scenario
    let server: ReferenceServer
    let folder: URL
    private let handles = Locked<[String: Handle]>([:])

    init(_ scenario: Scenario, _ server: ReferenceServer, _ folder: URL) {
        self.scenario = scenario
        self.server = server
        self.folder = folder
    }

    func open(_ name: String, _ outbox: Outbox, _ file: String) {
        handles.withLock { $0[name] = Handle(outbox, file) }
    }

    /// Some outbox has this file open.
    func hasOpen(_ file: String) -> Bool {
        handles.withLock { $0.values.contains { $0.hasOpen(file) } }
    }

    func handle(_ name: String) throws -> Handle {
        guard let handle = handles.withLock({ $0[name] }) else { throw Broken("\(name) is not open") }
        return handle
    }

    func close() async {
        for handle in handles.withLock({ Array($0.values) }) {
            await handle.close()
        }
    }
}

/// An outbox, with what its listeners have heard.
final class Handle: Sendable {
    let outbox: Outbox
    let file: String
    private let isOpen = Locked(true)
    private let ears = Locked<[String: Ear]>([:])
    private let batches = Locked<[String: Batch]>([:])

    init(_ outbox: Outbox, _ file: String) {
        self.outbox = outbox
        self.file = file
    }

    func ear(_ by: String) throws -> Ear {
        guard let ear = ears.withLock({ $0[by] }) else { throw Broken("no \(by) listens") }
        return ear
    }

    /// An ear that hears from now on, or none.
    func newEar(_ by: String, listening: Bool) -> Ear? {
        let new = listening ? Ear() : nil
        let old = ears.withLock { ears in
            defer { ears[by] = new }
            return ears[by]
        }
        old?.close()
        return new
    }

    /// A batch by the name that a step gave it.
    func batch(_ name: String) throws -> Batch {
        guard let batch = batches.withLock({ $0[name] }) else { throw Broken("there is no batch \(name)") }
        return batch
    }

    func name(_ batch: Batch, _ name: String) {
        batches.withLock { $0[name] = batch }
    }

    func hasOpen(_ file: String) -> Bool { file == self.file && isOpen.withLock { $0 } }

    func closeOutbox() async {
        isOpen.withLock { $0 = false }
        await outbox.close()
    }

    func close() async {
        for ear in ears.withLock({ Array($0.values) }) {
            ear.close()
        }
        await outbox.close()
    }
}

/// A step's turn on the stage.
struct Turn: Sendable {
    let stage: Stage
    let on: String
    let expect: JSON?

    func handle() throws -> Handle { try stage.handle(on) }
}
