import Foundation
import XCTest

@testable import SubmitOnce

/// An order that goes to a path of its own, so that the server can count keys per submission.
func order(
    _ id: UUID? = nil,
    item: String = "tea",
    account: String? = nil,
    effect: Effect? = nil
) throws -> Submission {
    let id = try id ?? SubmissionID.new()
    let body = Body.jsonText(#"{"item":"\#(item)"}"#)
    return Submission(id, to: "/orders?id=\(id.lowered())", body: body, account: account, effect: effect)
}

func orders(_ count: Int, account: String? = nil) throws -> [Submission] {
    try (0..<count).map { _ in try order(account: account) }
}

/// A body that is large enough for its progress to be told.
func photo() throws -> Submission {
    var photo = try order()
    photo.body = .bytes(Data((0..<(1 << 20)).map { UInt8(truncatingIfNeeded: $0) }), contentType: "image/jpeg")
    return photo
}

extension Outbox {
    /// Settled, or the test has failed.
    @discardableResult
    func settled(_ id: UUID) async throws -> Snapshot {
        guard case .settled(let snapshot) = try await wait(for: id, upTo: long) else {
            throw Trouble("it isn't settled")
        }
        return snapshot
    }

    /// One order whose effect exists and whose answer is lost, and which nothing repeats by itself.
    func heldOrder(_ server: ReferenceServer) async throws -> Snapshot {
        let order = try order(effect: .unkeyed)
        try await server.script(#""commit_then_drop""#, path: order.url)
        try await submit(order)
        try await start()
        guard case .held(let held) = try await wait(for: order.id, upTo: long) else {
            throw Trouble("it isn't held")
        }
        try await suspendDelivery()
        return held
    }

    /// An order whose request stands before its effect, at the gate, until the server releases it.
    func orderOnTheWire(_ server: ReferenceServer) async throws -> Submission {
        let order = try order()
        try await server.script(#"{"hold_before":"gate"}"#, path: order.url)
        try await submit(order)
        try await start()
        try await server.await(#"{"held":"gate"}"#)
        return order
    }
}

extension Snapshot {
    /// The number of the effect that the reference server answered with.
    func effectNumber() throws -> Int {
        struct Answer: Decodable { let effect: Int }
        guard let answer = try outcome?.json(as: Answer.self) else { throw Trouble("there is no answer") }
        return answer.effect
    }
}

extension ReferenceServer {
    /// What it knows of one request.
    struct Record: Decodable {
        let method: String
        let path: String
        let bodySha256: String?
        let bodyBytes: Int?
        let principal: String?
    }

    /// Each request, in the order of their coming.
    func records() async throws -> [Record] {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode([Record].self, from: await get("records"))
    }

    /// What is on the wire of the tokens: others are refused.
    func accept(tokens: String...) async throws {
        let list = tokens.map { "\"Bearer \($0)\"" }.joined(separator: ",")
        try await post("accept-tokens", #"{"tokens":[\#(list)]}"#)
    }
}

extension AsyncSequence {
    /// The first so many.
    func first(_ count: Int) async throws -> [Element] {
        var elements: [Element] = []
        for try await element in prefix(count) {
            elements.append(element)
        }
        return elements
    }

    func all() async throws -> [Element] {
        var elements: [Element] = []
        for try await element in self {
            elements.append(element)
        }
        return elements
    }
}
