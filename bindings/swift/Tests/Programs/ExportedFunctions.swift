import Foundation

/// Lists every function that the core exports, with whether the tests called it; fails if one was not. The
/// functions are read from the generated bindings, the calls from the coverage that `swift test` exports.
func listExportedFunctions(of generated: String, coverage: String, to list: String) throws {
    let exported = exportedFunctions(in: try String(contentsOfFile: generated, encoding: .utf8))
    let calls = try calledLines(coverage: Data(contentsOf: URL(filePath: coverage)), of: generated)
    let missing = exported.filter { !calls.contains($0.line) }.map(\.name)
    let lines = exported.sorted { $0.name < $1.name }.map { function in
        "- [\(calls.contains(function.line) ? "x" : " ")] `\(function.name)`"
    }
    let title = "# Exported functions, and whether the Swift tests called them\n\n"
    try (title + lines.joined(separator: "\n") + "\n").write(toFile: list, atomically: true, encoding: .utf8)
    say("exported functions: \(exported.count), called by the tests: \(exported.count - missing.count) (\(list))")
    // So few would mean that they weren't found.
    guard exported.count >= 30, missing.isEmpty else {
        FileHandle.standardError.write(Data("never called: \(missing.joined(separator: ", "))\n".utf8))
        exit(1)
    }
}

/// `Outbox.submit`, `newSubmissionId` and so on, with the line on which each begins.
private func exportedFunctions(in generated: String) -> [(name: String, line: Int)] {
    var functions: [(name: String, line: Int)] = []
    var type: String?
    for (index, line) in generated.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
        if let declared = line.firstMatch(of: /^open class (\w+)/) {
            // The others are listeners, which the app writes.
            type = ["Outbox", "Inbox", "Batch", "Cancellation"].first { $0 == declared.1 }
        } else if line.firstMatch(of: /^public (?:struct|protocol|enum)\b/) != nil {
            // A brace doesn't tell: the generated functions' are at the beginning of their lines too.
            type = nil
        } else if let type, let member = line.firstMatch(of: /^(?:open|public static) func `?(\w+)`?\(/) {
            functions.append(("\(type).\(member.1)", index + 1))
        } else if let type, line.firstMatch(of: /^public convenience init\(/) != nil {
            functions.append(("\(type).init", index + 1))
        } else if let function = line.firstMatch(of: /^public func (\w+)\(/),
            !function.1.hasPrefix("FfiConverter"), !function.1.hasPrefix("uniffi")
        {
            functions.append((String(function.1), index + 1))
        }
    }
    return functions
}

/// The lines of a file on which functions begin that were called.
private func calledLines(coverage: Data, of file: String) throws -> Set<Int> {
    struct Export: Decodable {
        struct Part: Decodable { let functions: [Function] }
        struct Function: Decodable {
            let count: Int
            let filenames: [String]
            let regions: [[Int]]
        }
        let data: [Part]
    }
    let name = URL(filePath: file).lastPathComponent
    let functions = try JSONDecoder().decode(Export.self, from: coverage).data.flatMap(\.functions)
    let called = functions.filter { $0.count > 0 && $0.filenames.first?.hasSuffix("/\(name)") == true }
    return Set(called.compactMap { $0.regions.first?.first })
}
