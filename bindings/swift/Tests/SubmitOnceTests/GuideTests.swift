import Foundation
import SubmitOnce
import XCTest

/// What `docs/swift.md` shows, run. Its code blocks are the marked parts of this file, word for word.
final class GuideTests: OutboxTestCase {
    func testEightLines() async throws {
        let server = try ReferenceServer()
        let url = server.url.appending(path: "orders")
        let order = ["item": "tea"]
        var shown = ""
        // guide: eight lines
        let outbox = try await Outbox.open(at: folder.appending(path: "outbox.sqlite3"))
        let id = try await outbox.begin("new-order-form")
        try await outbox.submit(Submission(id, to: url, body: .json(order)))
        try await outbox.start()
        switch try await outbox.wait(for: id, upTo: .seconds(30)) {
        case .settled(let end): shown = "\(end.state): \(end.outcome?.text ?? "")"
        case .held, .timedOut: shown = "not yet, and not lost"
        }
        // end
        await outbox.close()
        XCTAssert(shown.contains("succeeded: {\"effect\":1"), shown)
    }

    // guide: double tap
    func testAButtonThatIsHammeredOrdersOnce() async throws {
        let server = try ReferenceServer()
        let outbox = try await Outbox.open(at: database, baseURL: server.url)
        let taps = try await withThrowingTaskGroup(of: Receipt.self) { group in
            for _ in 0..<16 {
                group.addTask { try await outbox.orderTea() }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        _ = try await outbox.drain(for: .seconds(30))
        XCTAssertEqual(taps.filter { $0.kind == .accepted }.count, 1)
        let summary = try await server.summary()
        XCTAssertEqual(summary.effects, 1)
        await outbox.close()
    }
    // end

    // guide: lost response
    func testAnAnswerThatIsLostIsAskedForAgainWithTheSameKey() async throws {
        let server = try ReferenceServer()
        try await server.script(#""commit_then_drop""#)
        // The quiet time keeps the repeat back while the server may still be working.
        var limits = Limits()
        limits.quietTime = .milliseconds(50)
        limits.backoffFirst = .milliseconds(50)
        let outbox = try await Outbox.open(at: database, baseURL: server.url, limits: limits)
        let id = try await outbox.orderTea().id
        try await outbox.start()
        let end = try await outbox.wait(for: id, upTo: .seconds(30))
        XCTAssertEqual(end.snapshot.state, .succeeded)
        let summary = try await server.summary()
        XCTAssertEqual(summary.requests, 2)
        XCTAssertEqual(summary.effects, 1)
        XCTAssertEqual(summary.keys, 1)
        await outbox.close()
    }
    // end

    func testStatesListsAndChanges() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let id = try await outbox.orderTea().id
        try await outbox.start()
        var shown: [SubmissionState] = []
        // guide: updates
        for try await snapshot in outbox.updates(of: id) {  // ends with the final state
            shown.append(snapshot.state)
        }
        let held = try await outbox.updates(of: .held).first { _ in true }
        let change = try await outbox.changes(after: 0).first { _ in true }
        // end
        XCTAssertEqual(shown.last, .succeeded)
        XCTAssertEqual(held, [])
        guard case .change(let first) = change else { return XCTFail("\(String(describing: change))") }
        XCTAssertEqual(first.state, .pending)
    }

    func testAHeldSubmissionIsDecided() async throws {
        let server = try ReferenceServer("--optional-key")
        try await server.script(#""commit_then_drop""#)
        // A server that doesn't recognise repeats: after doubt nothing is sent again by itself.
        let outbox = try await open(server, profile: ServerProfile(.unkeyed))
        let id = try await outbox.orderTea().id
        try await outbox.start()
        let held = try await outbox.wait(for: id, upTo: .seconds(30)).snapshot
        XCTAssertEqual(held.state, .held(.outcomeUnknown))
        let decided: Snapshot
        // guide: decisions
        do {
            decided = try await outbox.resolve(id, revision: held.revision, as: .retrySameKey())
        } catch let error as SubmitOnceError {
            guard case .needsConsent(let current) = error.reason else { throw error }
            // The server may perform it a second time. Ask the user, who has looked, and then:
            decided = try await outbox.resolve(
                id, revision: current.revision, as: .itHappened(result: #"{"order":7}"#))
        }
        // end
        XCTAssertEqual(decided.state, .succeeded)
        XCTAssertEqual(decided.outcome?.text, #"{"order":7}"#)
    }

    func testWhatHangsTogether() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let (first, second, draft) = (try SubmissionID.new(), try SubmissionID.new(), try SubmissionID.new())
        let (order, photo) = (try SubmissionID.new(), try SubmissionID.new())
        let jpeg = Data([0xff, 0xd8, 0xff])
        // guide: order
        // Within a lane, one after the other, in the order of acceptance.
        try await outbox.submit(Submission(first, to: "/chats/7", body: .json("Hello!"), lane: "chat/7"))
        try await outbox.submit(Submission(second, to: "/chats/7", body: .json("Tea?"), lane: "chat/7"))
        // Of a latest-wins key only the last counts: an older one that wasn't sent is superseded.
        try await outbox.submit(
            Submission(
                draft, to: "/drafts/42", body: .json("Dear"), method: "PUT", effect: .overwrite, replaces: "draft/42"))
        // A child is sent after its parent has succeeded, with a part of the parent's result.
        try await outbox.submit(Submission(order, to: "/orders", body: .json(["item": "tea"])))
        try await outbox.submit(
            Submission(photo, to: "/orders/{order}/photo", body: .bytes(jpeg, contentType: "image/jpeg"))
                .part(of: order, from: .jsonPointer(pointer: "/effect"), into: .path(placeholder: "{order}")))
        // end
        _ = try await outbox.drain(for: .seconds(30))
        for id in [first, second, draft, order, photo] {
            try await outbox.settled(id)
        }
        let number = try await outbox.snapshot(of: order).effectNumber()
        let paths = try await server.records().map(\.path)
        XCTAssertTrue(paths.contains("/orders/\(number)/photo"), "\(paths)")
    }

    func testTheServerIsAskedWhatBecameOfOne() async throws {
        let server = try ReferenceServer("--optional-key")
        try await server.script(#""commit_then_drop""#, path: "/orders")
        try await server.always(
            #"{"respond":{"status":200,"body":"[{\"order\":7}]","content_type":"application/json"}}"#,
            path: "/mine"
        )
        let outbox = try await open(server, profile: ServerProfile(.unkeyed))
        let id = try SubmissionID.new()
        // guide: probes
        // Asked where nothing else can tell. The first of the list is the effect; without one, there is none.
        let probe = StatusProbe(url: "/mine?client_id={id}", pointer: "/0")
        try await outbox.submit(Submission(id, to: "/orders", body: .json(["item": "tea"]), probe: probe))
        // end
        try await outbox.start()
        let settled = try await outbox.settled(id)
        XCTAssertEqual(settled.outcome?.text, #"{"order":7}"#)
    }

    func testCredentialsAreAskedForAndNeverStored() async throws {
        let server = try ReferenceServer("--accept-token", "Bearer good")
        let tokens = TokenStore()
        // guide: credentials
        let outbox = try await Outbox.open(
            at: database,
            baseURL: server.url,
            credentials: { account, reason in
                .bearer(reason == .missing ? try await tokens.current(account) : try await tokens.refresh(account))
            }
        )
        try await outbox.signIn("ada")
        let id = try await outbox.begin("form")
        try await outbox.submit(Submission(id, to: "/orders", body: .jsonText("{}"), account: "ada"))
        // end
        _ = try await outbox.drain(for: .seconds(30))
        let summary = try await server.summary()
        XCTAssertEqual(summary.effects, 1)
        let asked = await tokens.asked
        XCTAssertEqual(asked, ["current", "refresh"])
        await outbox.close()
    }

    private actor TokenStore {
        var asked: [String] = []

        func current(_ account: String) throws -> String {
            asked.append("current")
            return "stale"
        }

        func refresh(_ account: String) throws -> String {
            asked.append("refresh")
            return "good"
        }
    }

    func testSigningOutAndWhatIsHeldInACopy() async throws {
        let outbox = try await open(ReferenceServer())
        try await outbox.signIn("ada")
        try await outbox.submit(order(account: "ada"))
        // guide: signing out
        let report = try await outbox.signOut(.purge)
        print("\(report.cancelled) never happened, \(report.abandoned) may have")
        // end
        XCTAssertEqual([report.cancelled, report.abandoned], [1, 0])
        // guide: copies
        if outbox.openReport.restored {
            // The user has looked at what the original sent, and wants all of it sent from here.
            try await outbox.resolveAll(heldFor: .restored, as: .retrySameKey(acceptSecondEffect: true))
        }
        // end
    }

    func testAPushMessageIsShownOnce() async throws {
        let outbox = try await open()
        let (messageID, text) = ("m1", "Tea is ready")
        let notifications = Counter()
        for _ in 0..<2 {
            // guide: push
            try await outbox.inbox.once("push", messageID) {
                try await notifications.show(text, id: messageID)
            }
            // end
        }
        let shown = await notifications.count
        XCTAssertEqual(shown, 1)
    }

    func testAMessageAndItsRowAreOne() async throws {
        let outbox = try await open()
        let inbox = outbox.inbox
        let (messageID, text) = ("m1", "Tea is ready")
        // guide: rows
        if case .run(let run) = try await inbox.begin(InboxItem("schema", "1", policy: .atLeastOnce)) {
            try await inbox.finish(run, with: [AppStatement("CREATE TABLE app_message (id TEXT, text TEXT)")])
        }
        if case .run(let run) = try await inbox.begin(InboxItem("message", messageID, policy: .atLeastOnce)) {
            let insert = AppStatement("INSERT INTO app_message VALUES (?1, ?2)", .text(messageID), .text(text))
            try await inbox.finish(run, with: [insert])
        }
        let messages = try await inbox.query(AppStatement("SELECT text FROM app_message"))
        // end
        XCTAssertEqual(messages, [[.text("Tea is ready")]])
    }

    func testWhatBackgroundTasksDo() async throws {
        let server = try ReferenceServer()
        try await server.script(
            #"{"respond":{"status":200,"body":"{\"theme\":\"dark\"}","content_type":"application/json"}}"#,
            path: "/config"
        )
        let outbox = try await open(server)
        // guide: logs
        let logs = try await outbox.batch(BatchConfig("logs", to: "/logs", format: .ndjson, maxAge: .seconds(300)))
        try await logs.append(["level": "info", "text": "started"])
        // end
        let draft = try SubmissionID.new()
        // guide: drafts
        try await outbox.submit(
            Submission(
                draft, to: "/drafts/42", body: .json("Dear Ada"), method: "PUT", effect: .overwrite,
                replaces: "draft/42"))
        // end
        // guide: configuration
        try await outbox.submit(Submission(SubmissionID.new(), to: "/config", method: "GET", replaces: "config"))
        let config = try await outbox.current("config")?.json(as: Config.self) ?? Config.standard
        // end
        XCTAssertEqual(config.theme, "light")
        let flushed = try await logs.flush()
        _ = try await outbox.drain(for: .seconds(30))
        let sent = try await outbox.snapshot(of: XCTUnwrap(flushed)).state
        XCTAssertEqual(sent, .succeeded)
        let fetched = try await outbox.current("config")?.json(as: Config.self)
        XCTAssertEqual(fetched?.theme, "dark")
    }

    private struct Config: Decodable {
        let theme: String
        static let standard = Config(theme: "light")
    }

    func testTheCacheIsCleanedOnceADay() async throws {
        let outbox = try await open()
        let cache = Counter()
        for _ in 0..<2 {
            // guide: once a day
            let today = Date.now.formatted(.iso8601.year().month().day())
            try await outbox.inbox.once("clean the cache", today) { try await cache.clean() }
            // end
        }
        let cleaned = await cache.count
        XCTAssertEqual(cleaned, 1)
    }

    func testAToolIsCalledOnce() async throws {
        let outbox = try await open()
        let mail = Counter()
        let (stepID, arguments) = ("plan 7, step 3", Data(#"{"to":"ada"}"#.utf8))
        var answers: [String?] = []
        for _ in 0..<2 {
            var answer: String?
            // guide: tool calls
            let call = try await outbox.inbox.once("send_mail", stepID, content: arguments, policy: .atMostOnce) {
                guard await mail.canBeSent else { throw NothingHappened() }
                return try await mail.send(arguments)
            }
            switch call {
            case .ran, .before: answer = call.text
            case .busy: answer = "it is under way; ask again later"
            case .uncertain: answer = "nobody knows whether it was sent; ask the user, then decide"
            }
            // end
            answers.append(answer)
        }
        XCTAssertEqual(answers, ["sent: 1", "sent: 1"])
        // guide: uncertain
        for item in try await outbox.inbox.uncertain(in: "send_mail") {
            // The user has looked, and it was sent. If it wasn't: `.runAgain`.
            try await outbox.inbox.decide(item.scope, item.key, as: .happened(result: Data("sent".utf8)))
        }
        // end
    }

    /// The app's own parts, which count.
    private actor Counter {
        private(set) var count = 0
        var canBeSent: Bool { true }

        func show(_ text: String, id: String) throws { count += 1 }

        func clean() throws { count += 1 }

        func send(_ arguments: Data) throws -> String {
            count += 1
            return "sent: \(count)"
        }
    }

    /// The page shows this file's marked parts, and nothing else that is marked as tested; the README the
    /// first of them.
    func testTheGuideShowsWhatRuns() throws {
        let source = try String(contentsOf: URL(filePath: #filePath), encoding: .utf8)
        let marked = source.matches(of: /(?m)^ *\/\/ guide: .*\n((?s:.*?))^ *\/\/ end$/)
            .map { Self.trimmed(String($0.1)) }
        XCTAssertEqual(marked.count, 18)
        XCTAssertEqual(Set(try shown(in: "docs/swift.md")), Set(marked))
        XCTAssertEqual(try shown(in: "README.md"), Array(marked.prefix(1)))
    }

    private func shown(in page: String) throws -> [String] {
        var repository = URL(filePath: #filePath)
        for _ in 0..<5 { repository.deleteLastPathComponent() }
        let text = try String(contentsOf: repository.appending(path: page), encoding: .utf8)
        return text.matches(of: /(?s)```swift\n(.*?)\n```/).map { String($0.1) }
    }

    /// Without the indent that all lines share.
    private static func trimmed(_ code: String) -> String {
        let lines = code.split(separator: "\n", omittingEmptySubsequences: false)
        let indents = lines.filter { !$0.allSatisfy(\.isWhitespace) }.map { $0.prefix { $0 == " " }.count }
        let indent = indents.min() ?? 0
        return lines.map { String($0.dropFirst(indent)) }.joined(separator: "\n")
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
