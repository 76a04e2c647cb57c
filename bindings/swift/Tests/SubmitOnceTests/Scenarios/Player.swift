import Foundation

/// Plays a scenario: its steps in order, each with what it must give, and the server's verdict.
///
/// - Returns: the steps that Swift can't express.
func play(_ scenario: Scenario) async throws -> [String] {
    let folder = FileManager.default.temporaryDirectory.appending(path: "scenario-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let server = try ReferenceServer(arguments: scenario.server)
    let stage = Stage(scenario, server, folder)
    var player = Player(stage)
    do {
        try await player.playAll()
    } catch {
        await stage.close()
        throw error
    }
    await stage.close()
    if let misfit = try await verdict(server, scenario.end) {
        throw Broken("\(scenario.name), the end:\n\(misfit)")
    }
    return player.notExpressible
}

private struct Player {
    private let stage: Stage
    private var known: [String: JSON]
    private(set) var notExpressible: [String] = []

    init(_ stage: Stage) {
        self.stage = stage
        known = ["server": .string(stage.server.url.absoluteString)]
    }

    mutating func playAll() async throws {
        for (index, step) in stage.scenario.steps.enumerated() {
            let title = "\(stage.scenario.name), step \(index + 1): \(step.kind)"
            do {
                try await play(step, title)
            } catch {
                throw Broken("\(title)\n\(error)")
            }
        }
    }

    private mutating func play(_ step: Step, _ title: String) async throws {
        guard let arguments = try resolvedArguments(of: step) else {
            notExpressible.append(title)
            return
        }
        let expect = try step.expect?.resolved(known)
        let error = try step.error?.resolved(known)
        guard let kind = kinds[step.kind] else { throw Broken("there is no step \(step.kind)") }
        let action = try arguments.members(kind)
        let result: JSON
        do {
            result = try await action(Turn(stage: stage, on: step.on, expect: expect))
        } catch let problem {
            guard let form = try errorForm(problem) else { throw problem }
            guard let error else { throw Broken("failed with \(form)") }
            return try compare(error, form)
        }
        if let error {
            throw Broken("expected \(error)\n     got \(result)")
        }
        if let expect {
            try compare(expect, result)
        }
        if let name = step.keepAs {
            known[name] = result
        }
    }

    /// Nothing if Swift can't express them, and the step says so.
    private func resolvedArguments(of step: Step) throws -> JSON? {
        let arguments: JSON?
        do {
            arguments = try step.arguments.resolved(known)
        } catch is NotExpressible {
            arguments = nil
        }
        guard (arguments == nil) == step.needsUTF16 else {
            throw Broken("a step needs UTF-16 strings if, and only if, there is half of a surrogate pair in it")
        }
        return arguments
    }

    private func compare(_ expected: JSON, _ actual: JSON) throws {
        if let misfit = try misfit(expected, actual) {
            throw Broken(misfit)
        }
    }
}

/// What the summary is when nothing is in flight any more, against what it should be: besides what is named, no
/// key has two effects, no path two keys, and no two requests of a key overlap.
func verdict(_ server: ReferenceServer, _ end: [String: JSON]) async throws -> String? {
    let arrived = try JSON(parsing: await server.get("summary")).object()["requests"] ?? .null
    let over: JSON = ["until": "over", "count": arrived, "timeout_ms": JSON(patience.inMilliseconds)]
    let waited = try JSON(parsing: await server.post("wait", over.written()))
    if let misfit = try misfit(["met": true], waited) {
        throw Broken("a request never ends: \(misfit)")
    }
    let everywhere: [String: JSON] = [
        "duplicate_effects": 0,
        "max_keys_per_path": ["$not": ["$more_than": 1]],
        "max_in_flight_per_key": ["$not": ["$more_than": 1]],
    ]
    let expected = everywhere.merging(end) { _, own in own }
    return try misfit(.object(expected), JSON(parsing: await server.get("summary")))
}
