import Foundation

// What files, scenarios and steps are made of: see `tests/conformance/README.md`.

/// A story with one server.
struct Scenario: Sendable {
    let name: String
    /// Arguments of the server's process.
    let server: [String]
    /// What outboxes are opened with.
    let outbox: Config
    let steps: [Step]
    /// What the server's summary is in the end.
    let end: [String: JSON]

    init(_ json: JSON) throws {
        self = try json.members { members in
            guard try !members.json("guards").items().map({ try $0.text() }).isEmpty else {
                throw Broken("it guards nothing: \(json)")
            }
            return try Scenario(
                name: members.text("name"),
                server: members.jsonIfAny("server")?.items().map { try $0.text() } ?? [],
                outbox: members.jsonIfAny("outbox").map { try Config($0) } ?? Config(),
                steps: members.json("steps").items().map { try Step($0) },
                end: members.json("end").object()
            )
        }
    }

    private init(name: String, server: [String], outbox: Config, steps: [Step], end: [String: JSON]) {
        self.name = name
        self.server = server
        self.outbox = outbox
        self.steps = steps
        self.end = end
    }

    /// All files, in order.
    static func files() throws -> [URL] {
        var root = URL(filePath: #filePath)
        for _ in ["file", "Scenarios", "SubmitOnceTests", "Tests", "swift", "bindings"] {
            root.deleteLastPathComponent()
        }
        let folder = root.appending(path: "tests/conformance")
        return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "json" }
            .sorted { $0.path < $1.path }
    }

    static func all(in file: URL) throws -> [Scenario] {
        try JSON(parsing: Data(contentsOf: file)).members { members in
            // What they are about, for readers.
            _ = try members.text("about")
            return try members.json("scenarios").items().map { try Scenario($0) }
        }
    }
}

/// One step: a member named by its kind, with the arguments, and these around it.
struct Step: Sendable {
    let kind: String
    let arguments: JSON
    let on: String
    let keepAs: String?
    let expect: JSON?
    let error: JSON?
    /// Some text of it is UTF-16 that no UTF-8 can hold.
    let needsUTF16: Bool

    init(_ json: JSON) throws {
        self = try json.members { members in
            let on = try members.textIfAny("on") ?? "main"
            let keepAs = try members.textIfAny("as")
            let (expect, error) = (members.given("expect"), members.given("error"))
            let needs = try members.textIfAny("needs")
            let kind = try members.sole("a step")
            guard kinds[kind] != nil else { throw Broken("there is no step \(kind)") }
            guard expect == nil || error == nil else { throw Broken("it both succeeds and fails: \(json)") }
            guard needs == nil || (needs == "utf16_strings" && error != nil) else {
                throw Broken("it can't need \(needs ?? ""): \(json)")
            }
            return Step(kind, try members.json(kind), on, keepAs, expect, error, needsUTF16: needs != nil)
        }
    }

    private init(
        _ kind: String, _ arguments: JSON, _ on: String, _ keepAs: String?, _ expect: JSON?, _ error: JSON?,
        needsUTF16: Bool
    ) {
        self.kind = kind
        self.arguments = arguments
        self.on = on
        self.keepAs = keepAs
        self.expect = expect
        self.error = error
        self.needsUTF16 = needsUTF16
    }
}
