import Foundation

@testable import SubmitOnce

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The reference server as a process of its own, controlled over HTTP. It counts what really happened.
final class ReferenceServer: Sendable {
    let url: URL
    private let process: Locked<Process>
    private static let session = URLSession(configuration: .ephemeral)

    /// Starts one on a free port. It ends with its last owner.
    convenience init(_ arguments: String...) throws {
        try self.init(arguments: arguments)
    }

    /// The same with arguments that come from elsewhere.
    init(arguments: [String]) throws {
        let program = Programs.folder.appending(path: "reference-server")
        let (process, output) = try Programs.start(program, arguments)
        self.process = Locked(process)
        guard let line = output.readLine(), let url = URL(string: line) else {
            throw Trouble("the reference server did not start")
        }
        self.url = url
    }

    deinit {
        // Not a signal that can be blocked: it inherits the mask of the thread that started it.
        _ = process.withLock { kill($0.processIdentifier, SIGKILL) }
    }

    /// The verdict.
    func summary() async throws -> Summary {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(Summary.self, from: await get("summary"))
    }

    /// One behaviour per request under the path, in order; then normal again. Behaviours in JSON.
    func script(_ behaviours: String..., path: String = "/") async throws {
        let list = behaviours.joined(separator: ",")
        try await post("script", #"{"match":{"path_prefix":"\#(path)"},"behaviours":[\#(list)]}"#)
    }

    /// This behaviour for each request under the path that has no script.
    func always(_ behaviour: String, path: String = "/") async throws {
        try await post("script", #"{"match":{"path_prefix":"\#(path)"},"always":\#(behaviour)}"#)
    }

    /// Waits, at the server, until so many requests are that far: `"arrived"`, `{"held":"gate"}`…
    func await(_ until: String = #""arrived""#, count: Int = 1, path: String = "/") async throws {
        let order = """
            {"match":{"path_prefix":"\(path)"},"until":\(until),"count":\(count),"timeout_ms":20000}
            """
        struct Answer: Decodable { let met: Bool }
        let answer = try await JSONDecoder().decode(Answer.self, from: post("wait", order))
        guard answer.met else { throw Trouble("it never came: \(until)") }
    }

    func release(_ name: String) async throws {
        try await post("release/\(name)", "")
    }

    /// Orders something over the control API. The body is JSON, or empty.
    @discardableResult
    func post(_ order: String, _ body: String) async throws -> Data {
        var request = URLRequest(url: url.appending(path: "_control/\(order)"))
        request.httpMethod = "POST"
        request.httpBody = Data(body.utf8)
        return try await send(request)
    }

    /// Asks the control API.
    func get(_ order: String) async throws -> Data {
        try await send(URLRequest(url: url.appending(path: "_control/\(order)")))
    }

    private func send(_ request: URLRequest) async throws -> Data {
        let (data, response) = try await Self.session.data(for: request)
        guard let status = (response as? HTTPURLResponse)?.statusCode, status == 200 else {
            throw Trouble("the control API says: \(String(decoding: data, as: UTF8.self))")
        }
        return data
    }

    struct Summary: Decodable {
        let requests: Int
        let effects: Int
        let keys: Int
        let duplicateEffects: Int
        let maxEffectsPerKey: Int
        let maxKeysPerPath: Int
        let maxInFlightPerKey: Int
        let answersLost: Int
    }
}

extension FileHandle {
    /// The next line, without its end. Nil at the end of the file.
    func readLine() -> String? {
        var line = Data()
        while let byte = try? read(upToCount: 1), let first = byte.first {
            if first == UInt8(ascii: "\n") {
                return String(decoding: line, as: UTF8.self)
            }
            line.append(first)
        }
        return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
    }
}
