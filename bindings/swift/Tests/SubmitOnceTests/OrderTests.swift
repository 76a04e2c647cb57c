import Foundation
import SubmitOnce
import XCTest

/// Submissions that wait for others: lanes, latest-wins keys, parents. And those that the server is asked about.
final class OrderTests: OutboxTestCase {
    func testALaneGoesOneAfterTheOtherInTheOrderOfAcceptance() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        var messages = try orders(3)
        for number in messages.indices {
            messages[number].lane = "chat/7"
        }
        try await server.script(#"{"hold_before":"gate"}"#, path: messages[0].url)
        try await outbox.submitAll(messages)
        try await outbox.start()
        try await server.await(#"{"held":"gate"}"#)
        let second = try await outbox.snapshot(of: messages[1].id)
        XCTAssertEqual(second.waitingFor, .lane(messages[0].id))
        XCTAssertEqual(second.lane, "chat/7")
        try await server.release("gate")
        for message in messages {
            try await outbox.settled(message.id)
        }
        let paths = try await server.records().map(\.path)
        XCTAssertEqual(paths, messages.map(\.url))
    }

    func testALaneThatStoppedGoesOnWhenItIsReleased() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        var messages = try orders(2)
        messages[0].lane = "chat/7"
        messages[1].lane = "chat/7"
        try await server.script(#"{"error_before":{"status":422}}"#, path: messages[0].url)
        try await outbox.submitAll(messages)
        _ = try await outbox.drain(for: long)
        let first = try await outbox.snapshot(of: messages[0].id)
        XCTAssertEqual(first.state, .rejected(.invalid))
        let second = try await outbox.snapshot(of: messages[1].id)
        XCTAssertEqual(second.waitingFor, .lane(first.id))
        let others = try await outbox.releaseLane("chat/7", of: "ann")
        XCTAssertFalse(others)
        let released = try await outbox.releaseLane("chat/7")
        XCTAssertTrue(released)
        let report = try await outbox.drain(for: long)
        XCTAssertEqual(report.succeeded, 1)
        let again = try await outbox.releaseLane("chat/7")
        XCTAssertFalse(again)
    }

    func testWhoeverWaitsBehindARejectedOneGoesWithItWhereTheLaneSaysSo() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        var messages = try orders(2)
        messages[0].lane = "chat/7"
        messages[0].lanePolicy = .rejectRest
        messages[1].lane = "chat/7"
        try await server.script(#"{"error_before":{"status":422}}"#, path: messages[0].url)
        try await outbox.submitAll(messages)
        _ = try await outbox.drain(for: long)
        let second = try await outbox.snapshot(of: messages[1].id)
        XCTAssertEqual(second.state, .rejected(.dependency))
    }

    func testOnlyTheLatestVersionIsSent() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        var versions = try orders(3)
        for number in versions.indices {
            versions[number].method = "PUT"
            versions[number].effect = .overwrite
            versions[number].replaces = "draft/42"
        }
        try await outbox.submitAll(versions)
        let report = try await outbox.drain(for: long)
        XCTAssertEqual(report.succeeded, 1)
        let first = try await outbox.snapshot(of: versions[0].id)
        XCTAssertEqual(first.replaces, "draft/42")
        guard case .superseded = first.state else { return XCTFail("\(first)") }
        let second = try await outbox.snapshot(of: versions[1].id)
        XCTAssertEqual(second.state, .superseded(by: versions[2].id))
        let summary = try await server.summary()
        XCTAssertEqual(summary.requests, 1)
    }

    // P2: what comes from the parent is put in once.
    func testAChildTakesAPartOfItsParentsResult() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let order = try order()
        let photo = Submission(try SubmissionID.new(), to: "/orders/{order}/photos", body: .jsonText(#"{"of":{}}"#))
            .part(of: order.id, from: .jsonPointer(pointer: "/effect"), into: .path(placeholder: "{order}"))
            .part(of: order.id, from: .jsonPointer(pointer: "/effect"), into: .query(name: "of"))
            .part(of: order.id, from: .jsonPointer(pointer: "/effect"), into: .header(name: "X-Order"))
            .part(of: order.id, from: .jsonPointer(pointer: "/effect"), into: .json(pointer: "/of/order"))
        try await outbox.submitAll([order, photo])
        let waiting = try await outbox.snapshot(of: photo.id)
        XCTAssertEqual(waiting.waitingFor, .parent(order.id))
        _ = try await outbox.drain(for: long)
        let number = try await outbox.settled(order.id).effectNumber()
        try await outbox.settled(photo.id)
        let record = try await server.records().last
        XCTAssertEqual(record?.path, "/orders/\(number)/photos?of=\(number)")
        let digest = try sha256(Data(#"{"of":{"order":\#(number)}}"#.utf8))
        XCTAssertEqual(record?.bodySha256, digest)
    }

    func testAChildOfOneThatEndedWithoutSuccessIsRejected() async throws {
        let outbox = try await open(ReferenceServer())
        let parent = try order()
        let child = try order().after(parent.id)
        try await outbox.submitAll([parent, child])
        _ = try await outbox.cancel(parent.id)
        let snapshot = try await outbox.snapshot(of: child.id)
        XCTAssertEqual(snapshot.state, .rejected(.dependency))
    }

    func testAPartThatTheResultLacksCanBeSupplied() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let order = try order()
        let photo = Submission(try SubmissionID.new(), to: "/orders/{order}/photos")
            .part(of: order.id, from: .jsonPointer(pointer: "/number"), into: .path(placeholder: "{order}"))
        try await outbox.submitAll([order, photo])
        _ = try await outbox.drain(for: long)
        let held = try await outbox.snapshot(of: photo.id)
        XCTAssertEqual(held.state, .held(.parentResultMissing))
        let refusal = try await refused {
            try await outbox.resolve(photo.id, revision: held.revision, as: .retrySameKey())
        }
        XCTAssertEqual(refusal, .cannotRetry(current: held))
        let value = PartValue(into: .path(placeholder: "{order}"), json: #""A-17""#)
        try await outbox.resolve(photo.id, revision: held.revision, as: .fillParts([value]))
        _ = try await outbox.drain(for: long)
        try await outbox.settled(photo.id)
        let paths = try await server.records().map(\.path)
        XCTAssertEqual(paths.last, "/orders/A-17/photos")
    }

    // P5, P13: nothing is sent a second time where asking tells.
    func testAQuestionToTheServerSettlesWhatWouldBeHeld() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        var order = try order(effect: .unkeyed)
        order.probe = StatusProbe(url: "/mine?id={id}", pointer: "/0")
        try await server.script(#""commit_then_drop""#, path: order.url)
        try await server.always(
            #"{"respond":{"status":200,"body":"[{\"order\":7}]","content_type":"application/json"}}"#,
            path: "/mine?id=\(order.id.uuidString.lowercased())"
        )
        try await outbox.submit(order)
        try await outbox.start()
        let settled = try await outbox.settled(order.id)
        XCTAssertEqual(settled.state, .succeeded)
        let result = try settled.outcome?.json(as: [String: Int].self)
        XCTAssertEqual(result, ["order": 7])
        let methods = try await server.records().map(\.method)
        XCTAssertEqual(methods, ["POST", "GET"])
    }

    func testAListCanBeOfALaneOrAKeyAlone() async throws {
        let outbox = try await open(ReferenceServer())
        var all = try orders(4)
        all[1].lane = "chat/7"
        all[2].lane = "chat/8"
        all[3].effect = .overwrite
        all[3].replaces = "draft/42"
        try await outbox.submitAll(all)
        let filters: [(ListFilter, [UUID])] = [
            (.all, all.map(\.id)),
            (ListFilter(lane: "chat/7"), [all[1].id]),
            (ListFilter(state: .moving, lane: "chat/8"), [all[2].id]),
            (ListFilter(state: .settled, lane: "chat/8"), []),
            (ListFilter(replaces: "draft/42"), [all[3].id]),
            (ListFilter(account: "ann"), []),
        ]
        for (filter, ids) in filters {
            let page = try await outbox.list(filter)
            XCTAssertEqual(page.snapshots.map(\.id), ids, "\(filter)")
        }
    }

    // A page looks at so many, and may show none of them.
    func testAListThatIsWatchedFindsWhatStandsFarBehind() async throws {
        let outbox = try await open(ReferenceServer())
        for _ in 0..<6 {
            try await outbox.submitAll(orders(1000))
        }
        let last = try order()
        try await outbox.submit(last)
        _ = try await outbox.cancel(last.id)
        let page = try await outbox.list(.settled)
        XCTAssertEqual(page.snapshots.count, 0, "the first page is not to show it")
        XCTAssertNotNil(page.next)
        let lists = try await outbox.updates(of: .settled).first(1)
        XCTAssertEqual(lists.map(\.count), [1])
        XCTAssertEqual(lists.first?.first?.id, last.id)
    }
}
