import Foundation
import XCTest

@testable import SubmitOnce

/// Which of the core's questions reach the provider, and when.
final class CredentialsDeskTests: XCTestCase {
    private struct Question: Equatable {
        let account: String
        let reason: CredentialsReason
    }

    private let questions = Signal<Question>()
    private let asked = Locked(0)
    private let supplied = Locked<[String]>([])
    private let reported = Locked<[any Error]>([])

    private func makeDesk(
        _ answer: @escaping @Sendable (String, CredentialsReason) async throws -> Credentials?
    ) -> CredentialsDesk {
        let (questions, asked, supplied, reported) = (questions, asked, supplied, reported)
        let inside = Locked(0)
        return CredentialsDesk(
            provider: { account, reason in
                let together = inside.withLock { inside in
                    inside += 1
                    return inside
                }
                XCTAssertEqual(together, 1, "one question at a time")
                defer { inside.withLock { $0 -= 1 } }
                asked.withLock { $0 += 1 }
                questions.send(Question(account: account, reason: reason))
                return try await answer(account, reason)
            },
            supply: { account, _ in supplied.withLock { $0.append(account) } },
            onError: { error in reported.withLock { $0.append(error) } }
        )
    }

    func testAQuestionThatIsBeingAnsweredIsntAskedAgain() async throws {
        let go = Signal<Void>()
        let desk = makeDesk { _, _ in
            try await go.next()
            return .bearer("any")
        }
        for _ in 0..<10 {
            desk.credentialsNeeded(account: "ann", reason: .missing)
        }
        // Whatever was asked before it is answered before it.
        desk.credentialsNeeded(account: "ann", reason: .refused)
        go.send()
        go.send()
        let all = [try await questions.next(), try await questions.next()]
        XCTAssertEqual(all.map(\.reason), [.missing, .refused])
        let supplied = supplied
        try await eventually("the answers") { supplied.withLock { $0 } == ["ann", "ann"] }
        // Answered, it may be asked again; until the desk knows that it was, it isn't.
        let asked = asked
        try await eventually("the next question") {
            desk.credentialsNeeded(account: "ann", reason: .missing)
            return asked.withLock { $0 } == 3
        }
        desk.close()
    }

    // What it gave may have been refused before it returned; the core says so once.
    func testAnotherReasonIsAskedAfterTheAnswerToTheFirst() async throws {
        let go = Signal<Void>()
        let desk = makeDesk { _, reason in
            if reason == .missing { try await go.next() }
            return nil
        }
        for reason in [CredentialsReason.missing, .refused, .refusedAgain] {
            desk.credentialsNeeded(account: "ann", reason: reason)
        }
        let first = try await questions.next()
        XCTAssertEqual(asked.withLock { $0 }, 1)
        go.send()
        let later = [try await questions.next(), try await questions.next()]
        XCTAssertEqual(([first] + later).map(\.reason), [.missing, .refused, .refusedAgain])
        XCTAssertTrue(reported.withLock { $0.isEmpty })
    }

    // P10 account isolation: the next account doesn't wait for the answer to the last one's question.
    func testAProviderThatHangsForOneAccountIsAskedForTheNextAtOnce() async throws {
        let desk = makeDesk { account, _ in
            if account == "ann" { try await Task.sleep(for: hours) }
            return .bearer(account)
        }
        desk.credentialsNeeded(account: "ann", reason: .missing)
        _ = try await questions.next()
        desk.credentialsNeeded(account: "ann", reason: .refused)
        desk.credentialsNeeded(account: "bob", reason: .missing)
        let next = try await questions.next()
        XCTAssertEqual(next.account, "bob")
        let supplied = supplied
        try await eventually("the answer") { supplied.withLock { $0 } == ["bob"] }
        XCTAssertEqual(asked.withLock { $0 }, 2)
        XCTAssertTrue(reported.withLock { $0.isEmpty })
    }

    func testAProviderThatThrowsIsAskedTheNextTimeAllTheSame() async throws {
        let desk = makeDesk { _, reason in throw Trouble("\(reason)") }
        for (count, reason) in [CredentialsReason.missing, .refused, .missing].enumerated() {
            desk.credentialsNeeded(account: "ann", reason: reason)
            _ = try await questions.next()
            let reported = reported
            try await eventually("the report") { reported.withLock { $0.count } == count + 1 }
        }
    }

    func testNothingIsAskedAfterClosing() async throws {
        weak var left: CredentialsDesk?
        do {
            let desk = makeDesk { _, _ in
                try await Task.sleep(for: hours)
                return .bearer("late")
            }
            left = desk
            desk.credentialsNeeded(account: "ann", reason: .missing)
            _ = try await questions.next()
            desk.close()
            desk.credentialsNeeded(account: "ann", reason: .refused)
        }
        // Each question holds the desk until it has been answered.
        try await eventually("the last question ends") { left == nil }
        XCTAssertEqual(asked.withLock { $0 }, 1)
        XCTAssertTrue(supplied.withLock { $0.isEmpty } && reported.withLock { $0.isEmpty })
    }
}
