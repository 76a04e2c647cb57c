import Foundation
import SubmitOnce

let openingSteps: [String: Kind] = [
    "open": { members in
        let file = try members.textIfAny("file")
        let with = try members.jsonIfAny("with").map { try Config($0) } ?? Config()
        return { turn in
            let config = with.over(turn.stage.scenario.outbox)
            let outbox = try await open(turn.stage, file ?? "\(turn.on).sqlite3", config)
            turn.stage.open(turn.on, outbox)
            return outbox.openReport.form
        }
    },
    "open_report": { _ in onOutbox { $0.openReport.form } },
    "close": { _ in doingOnOutbox { await $0.close() } },
]

private func open(_ stage: Stage, _ file: String, _ config: Config) async throws -> Outbox {
    try await Outbox.open(
        at: stage.folder.appending(path: file),
        baseURL: config.baseURL.map { try url($0) } ?? stage.server.url,
        profile: config.profile.map { try ServerProfile($0) },
        limits: Limits(changes: config.limits),
        userAgent: config.userAgent
    )
}

private func url(_ text: String) throws -> URL {
    guard let url = URL(string: text) else { throw Broken("\(text) is no URL") }
    return url
}
