import Foundation
import SubmitOnce

let openingSteps: [String: Kind] = [
    "open": { members in
        let file = try members.textIfAny("file")
        let with = try members.jsonIfAny("with").map { try Config($0) } ?? Config()
        return { turn in
            let config = with.over(turn.stage.scenario.outbox)
            let file = file ?? "\(turn.on).sqlite3"
            let outbox = try await open(turn.stage, file, config)
            turn.stage.open(turn.on, outbox, file)
            return outbox.openReport.form
        }
    },
    "open_report": { _ in onOutbox { $0.openReport.form } },
    "close": { _ in
        { turn in
            try await turn.handle().closeOutbox()
            return .null
        }
    },
    "copy_files": { members in
        let from = try members.text("from")
        let to = try members.text("to")
        return { turn in
            guard !turn.stage.hasOpen(from) else { throw Broken("\(from) is open") }
            try copyDatabase(in: turn.stage.folder, from, to)
            return .null
        }
    },
]

/// What a backup or a cloned device does to an outbox: its files are there a second time, with all that is kept
/// beside them, under a name that nothing has yet.
private func copyDatabase(in folder: URL, _ from: String, _ to: String) throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    guard !names.contains(where: { $0.hasPrefix(to) }) else { throw Broken("\(to) is there") }
    guard names.contains(from) else { throw Broken("\(from) isn't there") }
    for name in names where name.hasPrefix(from) {
        let copy = to + name.dropFirst(from.count)
        try FileManager.default.copyItem(at: folder.appending(path: name), to: folder.appending(path: copy))
    }
}

private func open(_ stage: Stage, _ file: String, _ config: Config) async throws -> Outbox {
    try await Outbox.open(
        at: stage.folder.appending(path: file),
        baseURL: config.baseURL.map { try url($0) } ?? stage.server.url,
        profile: config.profile.map { try ServerProfile($0) },
        limits: Limits(changes: config.limits),
        userAgent: config.userAgent,
        installID: config.installID,
        inboxScopes: config.inboxScopes ?? []
    )
}

private func url(_ text: String) throws -> URL {
    guard let url = URL(string: text) else { throw Broken("\(text) is no URL") }
    return url
}
