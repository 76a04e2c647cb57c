import Foundation
import XCTest

@testable import SubmitOnce

/// Effects on this side: what comes again isn't done again.
final class InboxTests: OutboxTestCase {
    /// Counts what really happened.
    private actor Screen {
        private(set) var shown = 0

        func show() { shown += 1 }
    }

    private let screen = Screen()

    private func assertShown(_ count: Int, line: UInt = #line) async {
        let shown = await screen.shown
        XCTAssertEqual(shown, count, line: line)
    }

    private func begun(_ inbox: Inbox, _ item: InboxItem) async throws -> InboxRun {
        guard case .run(let run) = try await inbox.begin(item) else { throw Trouble("it isn't to do") }
        return run
    }

    func testAMessageThatComesTwiceIsShownOnce() async throws {
        let inbox = try await open().inbox
        let first = try await inbox.once("push", "m1") { await screen.show() }
        XCTAssertEqual(first, .ran(result: nil))
        let second = try await inbox.once("push", "m1") { await screen.show() }
        guard case .before(nil, dropped: false, _) = second else { return XCTFail("\(second)") }
        await assertShown(1)
        let other = try await inbox.once("reminder", "m1") { await screen.show() }
        XCTAssertTrue(other.isDone)
        await assertShown(2)
    }

    func testTheFirstResultIsGivenAgainAlsoAfterARestart() async throws {
        let outbox = try await open()
        let text = try await outbox.inbox.once("tool", "1") { "it's 21 °C" }
        XCTAssertEqual(text.text, "it's 21 °C")
        let bytes = Data([0xff, 0])
        let data = try await outbox.inbox.once("tool", "2") { bytes }
        XCTAssertEqual(data, .ran(result: bytes))
        XCTAssertNil(data.text)
        await outbox.close()
        let inbox = try await open().inbox
        let textAgain = try await inbox.once("tool", "1") { "something else" }
        XCTAssertEqual(textAgain.text, "it's 21 °C")
        guard case .before(bytes, dropped: false, let at) = try await inbox.once("tool", "2", { Data() }) else {
            return XCTFail("it wasn't known")
        }
        XCTAssertEqual(at.timeIntervalSinceNow, 0, accuracy: 60)
    }

    func testOfManyTasksOneDoesIt() async throws {
        let inbox = try await open().inbox
        let met = try await withThrowingTaskGroup(of: Once.self) { group in
            for _ in 0..<16 {
                group.addTask { [screen] in try await inbox.once("push", "m1") { await screen.show() } }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        XCTAssertEqual(met.filter { $0 == .ran(result: nil) }.count, 1)
        await assertShown(1)
    }

    func testWhileOneDoesItTheOthersAreToldSo() async throws {
        let outbox = try await open()
        let (began, goOn) = (Signal<Void>(), Signal<Void>())
        let first = Task {
            try await outbox.inbox.once("push", "m1", policy: .atMostOnce) {
                began.send()
                try await goOn.next()
            }
        }
        try await began.next()
        let second = try await outbox.inbox.once("push", "m1", policy: .atMostOnce) { await screen.show() }
        guard case .busy(let since) = second else { return XCTFail("\(second)") }
        XCTAssertEqual(since.timeIntervalSinceNow, 0, accuracy: 60)
        XCTAssertFalse(second.isDone)
        goOn.send()
        let end = try await first.end.get()
        XCTAssertEqual(end, .ran(result: nil))
        await assertShown(0)
    }

    func testAnEffectThatFailsMayHaveHappenedAndThePolicyDecides() async throws {
        let inbox = try await open().inbox
        for policy in [InboxPolicy.atLeastOnce, .atMostOnce] {
            do {
                try await inbox.once("pay", "\(policy)", policy: policy) { throw Trouble("the line went dead") }
                XCTFail("the error is the caller's")
            } catch let error as Trouble {
                XCTAssertEqual(error.description, "the line went dead")
            }
        }
        try await inbox.once("pay", "\(InboxPolicy.atLeastOnce)") { await screen.show() }
        await assertShown(1)
        let other = try await inbox.once("pay", "\(InboxPolicy.atMostOnce)", policy: .atMostOnce) {
            await screen.show()
        }
        guard case .uncertain = other else { return XCTFail("\(other)") }
        await assertShown(1)
    }

    func testAnEffectThatKnowsThatItDidntHappenRunsAgainByEitherPolicy() async throws {
        let inbox = try await open().inbox
        do {
            try await inbox.once("pay", "1", policy: .atMostOnce) { throw NothingHappened(Trouble("no network")) }
            XCTFail("the error is the caller's")
        } catch let error as NothingHappened {
            XCTAssertEqual((error.cause as? Trouble)?.description, "no network")
            XCTAssertTrue(error.localizedDescription.contains("nothing happened"), error.localizedDescription)
        }
        let again = try await inbox.once("pay", "1", policy: .atMostOnce) { await screen.show() }
        XCTAssertEqual(again, .ran(result: nil))
    }

    func testATaskThatIsCancelledInTheMidstOfItsEffectRecordsThat() async throws {
        let inbox = try await open().inbox
        let began = Signal<Void>()
        let task = Task {
            try await inbox.once("pay", "1", policy: .atMostOnce) {
                began.send()
                try await Task.sleep(for: hours)
            }
        }
        try await began.next()
        task.cancel()
        let end = try await task.end
        XCTAssertTrue(end.isCancelled, "\(end)")
        // At once, and not when its time is over.
        let next = try await inbox.begin(InboxItem("pay", "1", policy: .atMostOnce))
        guard case .uncertain = next else { return XCTFail("\(next)") }
    }

    func testATaskThatIsCancelledBeforeItsEffectHasDoneNothing() async throws {
        let inbox = try await open().inbox
        let task = Task { [screen] in
            withUnsafeCurrentTask { $0?.cancel() }
            return try await inbox.once("pay", "1", policy: .atMostOnce) { await screen.show() }
        }
        let end = try await task.end
        XCTAssertTrue(end.isCancelled, "\(end)")
        await assertShown(0)
        let next = try await inbox.once("pay", "1", policy: .atMostOnce) { await screen.show() }
        XCTAssertEqual(next, .ran(result: nil))
    }

    func testAnEffectThatComesToItsEndCountsThoughItsTaskWasCancelled() async throws {
        let inbox = try await open().inbox
        let task = Task {
            try await inbox.once("pay", "1", policy: .atMostOnce) {
                withUnsafeCurrentTask { $0?.cancel() }
                return "paid"
            }
        }
        let end = try await task.end.get()
        XCTAssertEqual(end.text, "paid")
        let next = try await inbox.once("pay", "1", policy: .atMostOnce) { "paid again" }
        XCTAssertEqual(next.text, "paid")
    }

    func testTheEffectRunsOnTheActorOfItsCaller() async throws {
        try await Self.onTheMainActor(open().inbox)
    }

    // It compiles: neither the counter nor the closure may leave the actor.
    @MainActor
    private static func onTheMainActor(_ inbox: Inbox) async throws {
        final class Counter { var count = 0 }
        let counter = Counter()
        try await inbox.once("push", "m1") {
            MainActor.assertIsolated()
            counter.count += 1
        }
        let text = try await inbox.once("push", "m2") { () -> String in
            counter.count += 1
            return "two"
        }
        XCTAssertEqual(text.text, "two")
        XCTAssertEqual(counter.count, 2)
    }

    func testAKeyWithAnotherContentIsRefused() async throws {
        let inbox = try await open().inbox
        try await inbox.once("tool", "1", content: Data("tea".utf8)) { await screen.show() }
        let refusal = try await refused {
            try await inbox.once("tool", "1", content: Data("coffee".utf8)) { await screen.show() }
        }
        XCTAssertEqual(refusal, .inboxKeyReused(scope: "tool", key: "1"))
        await assertShown(1)
    }

    func testWhatIsUncertainIsListedAndDecidedOnce() async throws {
        let inbox = try await open().inbox
        for key in ["1", "2"] {
            let run = try await begun(inbox, InboxItem("pay", key, policy: .atMostOnce))
            try await inbox.fail(run, .mayHaveHappened)
        }
        let items = try await inbox.uncertain(in: "pay")
        XCTAssertEqual(items.map(\.key), ["1", "2"])
        XCTAssertEqual(items.map(\.runs), [1, 1])
        let (first, others) = (try await inbox.uncertain(limit: 1), try await inbox.uncertain(in: "push"))
        XCTAssertEqual(first, Array(items.prefix(1)))
        XCTAssertEqual(others, [])
        try await inbox.decide("pay", "1", as: .happened(result: Data("receipt 7".utf8)))
        try await inbox.decide("pay", "2", as: .runAgain)
        let refusal = try await refused { try await inbox.decide("pay", "1", as: .runAgain) }
        XCTAssertEqual(refusal, .notUncertain(scope: "pay", key: "1"))
        let paid = try await inbox.once("pay", "1", policy: .atMostOnce) { "paid again" }
        XCTAssertEqual(paid.text, "receipt 7")
        let run = try await begun(inbox, InboxItem("pay", "2", policy: .atMostOnce))
        XCTAssertGreaterThan(run.number, 1)
        try await inbox.finish(run)
    }

    func testARunWhoseTimeIsOverIsLostAndOneThatIsExtendedIsNot() async throws {
        let outbox = try await open()
        let inbox = outbox.inbox
        let short = InboxItem("sync", "day 1", policy: .atLeastOnce, lease: .milliseconds(1))
        let lost = try await begun(inbox, short)
        var second: InboxRun?
        try await eventually("the next run") {
            if case .run(let run) = try await inbox.begin(short) { second = run }
            return second != nil
        }
        XCTAssertEqual(second?.number, 2)
        for call in [{ try await inbox.finish(lost) }, { try await inbox.extend(lost, lease: hours) }] {
            let refusal = try await refused(call)
            XCTAssertEqual(refusal, .runLost(scope: "sync", key: "day 1"))
        }
        let long = try await begun(inbox, InboxItem("sync", "day 2", policy: .atLeastOnce, lease: hours))
        try await inbox.extend(long, lease: .milliseconds(1))
        try await eventually("its new time is over") {
            let answer = try await inbox.begin(InboxItem("sync", "day 2", policy: .atLeastOnce))
            return if case .run = answer { true } else { false }
        }
        let stats = try await outbox.stats()
        XCTAssertGreaterThanOrEqual(stats.inboxRuns, 4)
        XCTAssertEqual(stats.inboxUncertain, 0)
    }

    func testARunAndItsRowsAreOne() async throws {
        let inbox = try await open().inbox
        let table = try await begun(inbox, InboxItem("schema", "1", policy: .atLeastOnce))
        let create = AppStatement("CREATE TABLE app_note (id INTEGER PRIMARY KEY, text TEXT, size REAL, raw BLOB)")
        try await inbox.finish(table, with: [create])
        let insert = "INSERT INTO app_note VALUES (?1, ?2, ?3, ?4)"
        let run = try await begun(inbox, InboxItem("push", "m1", policy: .atMostOnce))
        let row: [SQLValue] = [.integer(7), .text("hi"), .real(1.5), .blob(Data([0, 1]))]
        let refusal = try await refused {
            try await inbox.finish(
                run, with: [AppStatement(insert, parameters: row), AppStatement("INSERT INTO submission VALUES (1)")])
        }
        guard case .statementRefused(number: 2, _) = refusal else { return XCTFail("\(refusal)") }
        let select = AppStatement("SELECT id, text, size, raw FROM app_note WHERE id >= ?1 ORDER BY id", .integer(0))
        let none = try await inbox.query(select)
        XCTAssertEqual(none, [])
        try await inbox.finish(
            run,
            result: Data("7".utf8),
            with: [
                AppStatement(insert, parameters: row),
                AppStatement(insert, .integer(8), .null, .null, .null),
            ])
        let rows = try await inbox.query(select)
        XCTAssertEqual(rows, [row, [.integer(8), .null, .null, .null]])
        let again = try await inbox.once("push", "m1", policy: .atMostOnce) { await screen.show() }
        XCTAssertEqual(again.text, "7")
        let writing = try await refused { _ = try await inbox.query(AppStatement("DELETE FROM app_note")) }
        guard case .statementRefused = writing else { return XCTFail("\(writing)") }
    }

    func testWhatCantBeCarriedIsRefusedByName() async throws {
        let inbox = try await open().inbox
        let run = InboxRun(scope: "a", key: "b", number: 1)
        let negative = InboxItem("a", "b", policy: .atMostOnce, lease: .seconds(-1))
        let calls: [(String, () async throws -> Void)] = [
            ("lease", { _ = try await inbox.begin(negative) }),
            ("lease", { try await inbox.extend(run, lease: .seconds(-1)) }),
            ("scope", { try await inbox.once("", "b") {} }),
            ("key", { try await inbox.once("a", "") {} }),
        ]
        for (field, call) in calls {
            let refusal = try await refused(call)
            guard case .invalid(field, _) = refusal else { return XCTFail("\(field): \(refusal)") }
        }
    }

    func testAScopeRemembersAsLongAsItIsTold() async throws {
        let database = database
        let scope = InboxScope("push", keepResults: .seconds(60), keepKeys: .seconds(3600))
        let refusal = try await refused {
            _ = try await Outbox.open(at: database, inboxScopes: [scope, scope])
        }
        guard case .cannotOpen(.invalidConfig) = refusal else { return XCTFail("\(refusal)") }
        let negative = InboxScope("push", keepResults: .seconds(-1))
        let other = try await refused { _ = try await Outbox.open(at: database, inboxScopes: [negative]) }
        guard case .invalid("inboxScopes", _) = other else { return XCTFail("\(other)") }
        let outbox = try await Outbox.open(at: database, inboxScopes: [scope, InboxScope("tool", keepResults: hours)])
        try await outbox.inbox.once("push", "m1") { await screen.show() }
        await outbox.close()
        await assertShown(1)
    }
}
