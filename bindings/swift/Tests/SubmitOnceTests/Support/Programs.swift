import Foundation

/// Programs that the tests start: their paths, and how they end.
enum Programs {
    static let folder = variable("SUBMIT_ONCE_PROGRAMS", "the folder of the native library and the reference server")

    /// The folder in which `swift build` puts this package's executables.
    #if os(Linux)
        // Foundation crashes here when all bundles are asked for.
        static let built = Bundle.main.bundleURL
    #else
        static let built =
            Bundle.allBundles.map(\.bundleURL).first { $0.pathExtension == "xctest" }?
            .deletingLastPathComponent() ?? Bundle.main.bundleURL
    #endif

    /// A program, with what it prints on standard output. What it says on standard error is lost.
    static func start(_ program: URL, _ arguments: [String]) throws -> (process: Process, output: FileHandle) {
        let process = Process()
        let output = Pipe()
        process.executableURL = program
        process.arguments = arguments
        process.standardOutput = output
        // It may outlive tests that crash, and who started those waits for whoever can write to their streams.
        process.standardError = FileHandle.nullDevice
        try process.run()
        return (process, output.fileHandleForReading)
    }

    private static func variable(_ name: String, _ what: String) -> URL {
        guard let value = ProcessInfo.processInfo.environment[name] else {
            fatalError("\(name) is not set: \(what). Start the tests with tests/run swift.")
        }
        return URL(filePath: value)
    }
}

/// A failure of a test's own means.
struct Trouble: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
