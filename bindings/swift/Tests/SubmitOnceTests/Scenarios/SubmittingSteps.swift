import Foundation
import SubmitOnce

let submittingSteps: [String: Kind] = [
    "begin": { members in
        let slot = try members.text("slot")
        return onOutbox { JSON(try await $0.begin(slot)) }
    },
    "discard": { members in
        let slot = try members.text("slot")
        return doingOnOutbox { try await $0.discard(slot) }
    },
    "submit": { members in
        let content = try content(members.json("submission"))
        return withFiles { outbox, folder in try await outbox.submit(content(folder)).form() }
    },
    "submit_all": { members in
        let contents = try members.json("submissions").items().map { try content($0) }
        return withFiles { outbox, folder in
            let receipts = try await outbox.submitAll(contents.map { try $0(folder) })
            return .list(try receipts.map { try $0.form() })
        }
    },
    "submit_at_once": { members in
        let content = try content(members.json("submission"))
        let callers = Int(try members.json("callers").natural())
        return withFiles { outbox, folder in
            counted(try await submitAtOnce(outbox, content(folder), callers))
        }
    },
]

/// An action with a folder for files of the app, which are gone when it is through.
private func withFiles(_ act: @escaping @Sendable (Outbox, URL) async throws -> JSON) -> Action {
    { turn in
        let outbox = try turn.handle().outbox
        let folder = turn.stage.folder.appending(path: "bodies")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        let result: Result<JSON, any Error>
        do {
            result = .success(try await act(outbox, folder))
        } catch {
            result = .failure(error)
        }
        try FileManager.default.removeItem(at: folder)
        return try result.get()
    }
}

/// From so many tasks, which wait for each other.
private func submitAtOnce(_ outbox: Outbox, _ submission: Submission, _ callers: Int) async throws -> [Receipt] {
    let line = StartingLine(callers)
    return try await withThrowingTaskGroup(of: Receipt.self) { group in
        for _ in 0..<callers {
            group.addTask {
                await line.reach()
                return try await outbox.submit(submission)
            }
        }
        return try await group.reduce(into: []) { $0.append($1) }
    }
}

/// Who reaches it goes on when all have.
private actor StartingLine {
    private var missing: Int
    private var here: [CheckedContinuation<Void, Never>] = []

    init(_ missing: Int) {
        self.missing = missing
    }

    func reach() async {
        missing -= 1
        if missing == 0 {
            for one in here {
                one.resume()
            }
        } else {
            await withCheckedContinuation { here.append($0) }
        }
    }
}

/// How many calls met what.
private func counted(_ receipts: [Receipt]) -> JSON {
    let all: [ReceiptKind] = [.accepted, .joined, .replayed]
    return .object(
        Dictionary(
            uniqueKeysWithValues: all.map { kind in
                (snakeCase(kind), JSON(receipts.filter { $0.kind == kind }.count))
            })
    )
}
