import Foundation
import XCTest

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A player that passes over what it doesn't know would say that all is well.
final class ScenarioStrictnessTests: XCTestCase {
    private func parsed(_ json: String) throws -> JSON { try JSON(parsing: Data(json.utf8)) }

    /// Each must be refused with words of the player's: not because the test itself is written wrongly.
    private func assertBroken(_ cases: [String], _ read: (JSON) throws -> Void) throws {
        for json in cases {
            let value = try parsed(json)
            XCTAssertThrowsError(try read(value), json) { XCTAssertTrue($0 is Broken, "\(json): \($0)") }
        }
    }

    private func read(_ json: JSON) throws {
        let step = try Step(json)
        _ = try step.arguments.members(XCTUnwrap(kinds[step.kind]))
    }

    func testAStepHasOneKnownKindAndKnownMembers() throws {
        _ = try Step(parsed(#"{"begin": {}, "on": "a", "as": "b", "expect": 1}"#))
        _ = try Step(parsed(#"{"begin": {}, "error": {}, "needs": "utf16_strings"}"#))
        let others = [
            #"{}"#,
            #"{"on": "a"}"#,
            #"{"begun": {}}"#,
            #"{"begin": {}, "discard": {}}"#,
            #"{"begin": {}, "exepct": 1}"#,
            #"{"begin": {}, "expect": 1, "error": 2}"#,
            #"{"begin": {}, "as": 1}"#,
            #"{"begin": {}, "error": {}, "needs": "time"}"#,
            #"{"begin": {}, "needs": "utf16_strings"}"#,
        ]
        try assertBroken(others) { _ = try Step($0) }
    }

    func testAnotherScenarioIsRefused() throws {
        let others = [
            #"{"guards": ["P1"], "steps": [], "end": {}}"#,
            #"{"name": "n", "guards": [], "steps": [], "end": {}}"#,
            #"{"name": "n", "guards": ["P1"], "steps": []}"#,
            #"{"name": "n", "guards": ["P1"], "steps": [], "end": {}, "skip": true}"#,
            #"{"name": "n", "guards": ["P1"], "steps": [], "end": {}, "outbox": {"profil": "ietf"}}"#,
        ]
        try assertBroken(others) { _ = try Scenario($0) }
    }

    func testArgumentsThatNobodyKnowsAreRefusedAtAnyDepth() throws {
        let body = #"{"bytes": {"content_type": "c", "hex": ""}}"#
        try read(
            parsed(#"{"submit": {"submission": {"id": "a", "url": "b", "account": null, "body": \#(body)}}}"#)
        )
        let submissions = [
            #"{"id": "a", "url": "b", "uri": "c"}"#,
            #"{"id": "a"}"#,
            #"{"id": "a", "url": "b", "effect": "some"}"#,
            #"{"id": "a", "url": "b", "headers": [["a"]]}"#,
            #"{"id": "a", "url": "b", "body": {"jsno": "c"}}"#,
            #"{"id": "a", "url": "b", "body": {"bytes": {"content_type": "c", "text": "d", "hexx": ""}}}"#,
            #"{"id": "a", "url": "b", "body": {"bytes": {"content_type": "c", "text": "d", "hex": ""}}}"#,
            #"{"id": "a", "url": "b", "priority": 4294967296}"#,
            #"{"id": "a", "url": "b", "lane_policy": "stop"}"#,
            #"{"id": "a", "url": "b", "probe": "c"}"#,
            #"{"id": "a", "url": "b", "probe": {"url": "c", "path": "/0"}}"#,
            #"{"id": "a", "url": "b", "parts": [{"parent": "c", "from": {"pointer": "/i"}, "into": {"json": "/a"}}]}"#,
            #"{"id": "a", "url": "b", "parts": [{"parent": "c", "from": {"header": "d"}, "into": {"body": "/a"}}]}"#,
            #"{"id": "a", "url": "b", "parts": [{"from": {"header": "d"}, "into": {"json": "/a"}}]}"#,
        ]
        try assertBroken(submissions.map { #"{"submit": {"submission": \#($0)}}"# }, read)
        let value = #"{"into": {"body": "/a"}, "json": "1"}"#
        let steps = [
            #"{"submit": {"submission": {"id": "a", "url": "b"}, "times": 2}}"#,
            #"{"begin": {"slot": "a", "account": "b"}}"#,
            #"{"begin": {"slot": 7}}"#,
            #"{"begin": []}"#,
            #"{"start": {"now": true}}"#,
            #"{"wait": {"id": "a", "timeout": 1}}"#,
            #"{"wait": {"id": "a", "timeout_ms": -1}}"#,
            #"{"resolve": {"id": "a", "revision": 1, "decision": {"give_up": {"now": true}}}}"#,
            #"{"resolve": {"id": "a", "revision": 1, "decision": {"retry": {}}}}"#,
            #"{"list": {"filter": "held"}}"#,
            #"{"list": {"filter": {"state": "some"}}}"#,
            #"{"list": {"filter": {"reason": "held"}}}"#,
            #"{"list": {"filter": {"lanes": "a"}}}"#,
            #"{"resolve_all": {"reason": "some", "decision": {"give_up": {}}}}"#,
            #"{"resolve_all": {"reason": "damaged", "decision": {"fill_parts": {"values": [\#(value)]}}}}"#,
            #"{"release_lane": {"lane": "a", "now": true}}"#,
            #"{"release_lane": {}}"#,
            #"{"sign_out": {"how": "keeps"}}"#,
            #"{"copy_files": {"from": "a", "to": "b", "all": true}}"#,
            #"{"set_listener": {}}"#,
            #"{"set_listener": {"listening": 1}}"#,
            #"{"heard": {"by": "nobody"}}"#,
            #"{"open": {"path": "a"}}"#,
            #"{"open": {"with": {"profil": "ietf"}}}"#,
            #"{"inbox_begin": {"item": {"scope": "a", "key": "b"}}}"#,
            #"{"inbox_begin": {"item": {"scope": "a", "key": "b", "policy": "once"}}}"#,
            #"{"inbox_begin": {"item": {"scope": "a", "key": "b", "policy": "at_most_once", "lease": 1}}}"#,
            #"{"inbox_finish": {"run": {"scope": "a", "key": "b"}}}"#,
            #"{"inbox_fail": {"run": {"scope": "a", "key": "b", "number": 1}, "failure": "some"}}"#,
            #"{"inbox_decide": {"scope": "a", "key": "b", "decision": "happened"}}"#,
            #"{"inbox_query": {"statement": {"sql": "a", "parameters": [1]}}}"#,
            #"{"inbox_query": {"statement": {"sql": "a", "parameters": [{"number": 1}]}}}"#,
            #"{"open": {"with": {"inbox_scopes": [{"name": "a"}]}}}"#,
            #"{"batch": {"name": "a", "config": {"key": "b", "url": "c", "max_record": 1}}}"#,
            #"{"batch": {"name": "a", "config": {"key": "b", "url": "c", "format": "json_object"}}}"#,
            #"{"append": {"record": "{}"}}"#,
            #"{"flush": {}}"#,
            #"{"current": {"name": "a"}}"#,
            #"{"server": {"get": "a", "put": "b"}}"#,
            #"{"server": {"get": "a", "post": "b"}}"#,
            #"{"server": {"get": "a", "body": {}}}"#,
        ]
        try assertBroken(steps, read)
    }

    private let actual = """
        {"state": "held", "attempts": 2, "in": [{"a": 1}, {"b": null}], "text": "abc", "sure": true, "e": "\\u00e9"}
        """

    func testWhatIsThereFits() throws {
        for expected in [
            #"{}"#,
            #"{"state": "held", "attempts": 2.0, "sure": true}"#,
            #"{"in": [{"a": 1}, {"b": null}]}"#,
            #"{"in": {"$contains": {"b": null}}, "text": {"$contains": "bc"}}"#,
            #"{"in": {"$length": 2}, "attempts": {"$at_least": 2}, "state": {"$not": "pending"}}"#,
            #"{"attempts": {"$more_than": 1}, "text": {"$present": true}}"#,
            #"{"attempts": {"$more_than": 1.5}, "e": "\u00e9"}"#,
        ] {
            XCTAssertNil(try misfit(parsed(expected), parsed(actual)), expected)
        }
    }

    func testWhatIsExpectedAndNotThereIsAMisfit() throws {
        for expected in [
            #"[]"#,
            #"null"#,
            #"{"stat": "held"}"#,
            #"{"stat": null}"#,
            #"{"stat": {"$not": "held"}}"#,
            #"{"state": "hel"}"#,
            #"{"state": null}"#,
            #"{"state": {}}"#,
            #"{"attempts": "2"}"#,
            #"{"attempts": true}"#,
            #"{"sure": "true"}"#,
            #"{"sure": 1}"#,
            #"{"sure": false}"#,
            #"{"text": true}"#,
            #"{"in": [{"a": 1}]}"#,
            #"{"in": [{"a": true}, {"b": null}]}"#,
            #"{"in": [{"a": 1}, {"b": {"$present": true}}]}"#,
            #"{"in": {"$contains": {"c": null}}, "text": {"$contains": "bc"}}"#,
            #"{"text": {"$contains": "cb"}}"#,
            #"{"in": {"$length": 3}}"#,
            #"{"attempts": {"$at_least": 3}}"#,
            #"{"attempts": {"$more_than": 2}}"#,
            #"{"state": {"$not": "held"}}"#,
            #"{"state": {"$more_than": 2}}"#,
            // The same letter, written with two.
            #"{"e": "e\u0301"}"#,
            #"{"e": {"$contains": "e\u0301"}}"#,
        ] {
            XCTAssertNotNil(try misfit(parsed(expected), parsed(actual)), expected)
        }
        try assertBroken([#"{"state": {"$at_most": 2}}"#]) { _ = try misfit($0, parsed(actual)) }
    }

    /// A double can't tell them apart.
    func testLargeNumbersAreNotBlurred() throws {
        XCTAssertNotNil(try misfit(parsed("9007199254740993"), parsed("9007199254740992")))
        XCTAssertEqual(try parsed("9007199254740993").written(), "9007199254740993")
        XCTAssertThrowsError(try parsed("9223372036854775808"))
    }

    func testNotationsStandForWhatTheySay() throws {
        let known = ["order": try parsed(#"{"id": 7, "in": {"a": "b"}}"#)]
        let written = #"[{"of": "$order.in.a"}, {"$repeat": ["ab", 3]}, {"$utf16": [55357, 56832]}, "a$order"]"#
        let meant = #"[{"of": "b"}, "ababab", "😀", "a$order"]"#
        XCTAssertEqual(try parsed(written).resolved(known).written(), try parsed(meant).written())
        let others = [#""$other""#, #""$order.at""#, #"{"$utf16": [65536]}"#, #"{"$repeat": ["a"]}"#]
        try assertBroken(others) { _ = try $0.resolved(known) }
        XCTAssertThrowsError(try parsed(#"{"$utf16": [55358]}"#).resolved(known)) {
            XCTAssertTrue($0 is NotExpressible)
        }
    }

    private func failure(_ steps: String, end: String = "{}") async throws -> String {
        let json = #"{"name": "n", "guards": ["P1"], "steps": \#(steps), "end": \#(end)}"#
        do {
            _ = try await play(Scenario(parsed(json)))
        } catch {
            return String(describing: error)
        }
        return "it did not fail"
    }

    /// The end is looked at, and what counts everywhere with it.
    func testAScenarioThatEndsOtherwiseFails() async throws {
        let steps = """
            [{"open": {}}, {"begin": {"slot": "form"}, "as": "order"},
            {"submit": {"submission": {"id": "$order", "url": "/orders"}}}, {"drain": {}}]
            """
        for end in [#"{"effects": 2}"#, #"{"efects": 1}"#, #"{"max_keys_per_path": 2}"#] {
            let failure = try await failure(steps, end: end)
            XCTAssertTrue(failure.hasPrefix("n, the end:"), failure)
        }
    }

    func testAStepThatGoesOtherwiseFailsAndSaysWhere() async throws {
        let steps = [
            #"{"begin": {"slot": ""}}"#: "failed with",
            #"{"begin": {"slot": "a"}, "error": {}}"#: "expected",
            #"{"begin": {"slot": "a"}, "expect": "b"}"#: "expected",
            #"{"begin": {"slot": ""}, "error": {"name": "Closed"}}"#: "expected",
            #"{"begin": {"slot": "$a"}}"#: "nothing is known as $a",
            #"{"begin": {"slot": "a"}, "expect": "$a"}"#: "nothing is known as $a",
            #"{"begin": {"slot": {"$utf16": [55358]}}, "error": {}}"#: "if, and only if",
            #"{"begin": {"slot": ""}, "error": {}, "needs": "utf16_strings"}"#: "if, and only if",
            #"{"begin": {"slot": "a"}, "on": "b"}"#: "b is not open",
            #"{"snapshot": {"id": 7}}"#: "7 is no text",
            #"{"open": {"with": {"limits": {"max_in_flihgt": 1}}}, "on": "b"}"#: "there is no limit",
            #"{"open": {"with": {"profile": "amazon"}}, "on": "b"}"#: #""amazon" is none of"#,
            #"{"copy_files": {"from": "main.sqlite3", "to": "b"}}"#: "main.sqlite3 is open",
            #"{"copy_files": {"from": "a", "to": "b"}}"#: "a isn't there",
            #"{"copy_files": {"from": "a", "to": "main.sqlite3"}}"#: "main.sqlite3 is there",
            #"{"heard": {"by": "listener"}}"#: "no listener listens",
            #"{"flush": {"batch": "logs"}}"#: "there is no batch logs",
            #"{"server": {"get": "nothing"}}"#: "the control API says",
        ]
        for (step, problem) in steps {
            let failure = try await failure(#"[{"open": {}}, \#(step)]"#)
            XCTAssertTrue(failure.hasPrefix("n, step 2: ") && failure.contains(problem), "\(step): \(failure)")
        }
    }

    /// Two effects of one key, two keys on one path: a client that does this fails whatever else it says.
    func testTheVerdictKnowsASecondEffectAndASecondKey() async throws {
        let server = try ReferenceServer()
        try await assertVerdict(server, isGood: true)
        try await order(server, key: "a")
        try await assertVerdict(server, isGood: true)
        try await server.post("forget-keys", "")
        try await order(server, key: "a")
        try await assertVerdict(server, isGood: false)
        try await server.post("reset", "")
        try await order(server, key: "b")
        try await assertVerdict(server, isGood: true)
        try await order(server, key: "c")
        try await assertVerdict(server, isGood: false)
    }

    private func assertVerdict(_ server: ReferenceServer, isGood: Bool, line: UInt = #line) async throws {
        let misfit = try await verdict(server, [:])
        XCTAssertEqual(misfit == nil, isGood, misfit ?? "it fits", line: line)
    }

    private func order(_ server: ReferenceServer, key: String) async throws {
        var request = URLRequest(url: server.url.appending(path: "orders"))
        request.httpMethod = "POST"
        request.setValue(key, forHTTPHeaderField: "Idempotency-Key")
        _ = try await URLSession.shared.data(for: request)
    }
}
