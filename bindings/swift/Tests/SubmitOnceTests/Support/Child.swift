import Foundation

@testable import SubmitOnce

/// The test's own program as a process, with what it is told and what it says. Killed with its last owner.
final class Child: Sendable {
    private let process: Locked<Process>
    private let input: FileHandle
    private let output: FileHandle

    init(_ arguments: String...) throws {
        let process = Process()
        let (input, output) = (Pipe(), Pipe())
        process.executableURL = Programs.built.appending(path: "submit-once-programs")
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        self.process = Locked(process)
        self.input = input.fileHandleForWriting
        self.output = output.fileHandleForReading
    }

    deinit { kill() }

    /// Not a signal that can be blocked: it inherits the mask of the thread that started it.
    func kill() {
        _ = process.withLock { Foundation.kill($0.processIdentifier, SIGKILL) }
    }

    /// Tells it something, and gives its answer.
    func ask(_ order: String) throws -> String {
        try input.write(contentsOf: Data((order + "\n").utf8))
        return try line()
    }

    func line() throws -> String {
        guard let line = output.readLine() else { throw Trouble("the program has ended") }
        return line
    }

    /// All that it says, up to its end.
    func rest() throws -> String {
        String(decoding: try output.readToEnd() ?? Data(), as: UTF8.self)
    }
}
