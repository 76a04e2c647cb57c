import Foundation
import XCTest

@testable import SubmitOnce

/// Numbers to tune and profiles of servers: each that is changed reaches the core.
final class LimitsTests: OutboxTestCase {
    func testLimitsGoOverAndBack() throws {
        let limits = Limits()
        XCTAssertEqual(Limits(try limits.lowered()), limits)
        XCTAssertEqual(limits.maxInFlight > 0, true)
    }

    func testEachLimitThatIsChangedReachesTheCoreAndNoOther() throws {
        let changes: [(inout Limits) -> Void] = [
            { $0.maxInFlight += 1 }, { $0.maxQueued += 1 }, { $0.maxBodyBytes += 1 }, { $0.inlineBodyBytes += 1 },
            { $0.maxAnswerBytes += 1 }, { $0.requestTimeout += .milliseconds(1) },
            { $0.idleTimeout += .milliseconds(1) }, { $0.connectTimeout += .milliseconds(1) },
            { $0.lease += .milliseconds(1) }, { $0.busyTimeout += .milliseconds(1) },
            { $0.backoffFirst += .milliseconds(1) }, { $0.backoffMost += .milliseconds(1) },
            { $0.serverWaitMost += .milliseconds(1) }, { $0.quietTime = .milliseconds(1) },
            { $0.retryAttempts += 1 }, { $0.retryTime += .milliseconds(1) }, { $0.busyAttempts += 1 },
            { $0.busyTime += .milliseconds(1) }, { $0.horizon += .milliseconds(1) },
            { $0.keepResults += .seconds(1) }, { $0.keepResultsCount += 1 }, { $0.keepResultsBytes += 1 },
            { $0.keepTombstones += .seconds(1) }, { $0.keepChanges += 1 },
        ]
        XCTAssertEqual(changes.count, Mirror(reflecting: Limits()).children.count)
        try assertEachReachesTheCore(Limits(), changes, { try $0.lowered() }, { Limits($0) })
    }

    func testEachPartOfAProfileThatIsChangedReachesTheCoreAndNoOther() throws {
        let changes: [(inout ServerProfile) -> Void] = [
            { $0.name += "!" }, { $0.keyPlace = .query(name: "key") }, { $0.keySpelling = .sfString },
            { $0.effect = .overwrite }, { $0.retention = nil }, { $0.quietTime += .milliseconds(1) },
            { $0.locks.toggle() }, { $0.abortsHandlers.toggle() }, { $0.gatewayMayResend.toggle() },
            { $0.latestWins.toggle() },
            { $0.keyScope = $0.keyScope == .device ? .account : .device }, { $0.replaysSuccess.toggle() },
            { $0.errorsAreReplayed = $0.errorsAreReplayed == .all ? .nothing : .all },
        ]
        // The rest are rules, which come from JSON.
        XCTAssertEqual(changes.count, Mirror(reflecting: ServerProfile(.standard)).children.count - 1)
        let raw = try changes.map { change in
            var profile = ServerProfile(.standard)
            change(&profile)
            return try profile.lowered()
        }
        let before = try ServerProfile(.standard).lowered()
        for (number, changed) in raw.enumerated() {
            XCTAssertEqual(differences(before, changed).count, 1, "\(number): \(differences(before, changed))")
        }
        XCTAssertEqual(Set(raw).count, changes.count)
    }

    func testEveryBuiltInProfileIsItselfAfterAChangeAndItsOpposite() throws {
        let builtIn: [BuiltInProfile] = [
            .standard, .ietf, .stripe, .paypal, .adyen, .square, .googleAip155, .matrix, .plainPut,
        ]
        XCTAssertEqual(Set(builtIn.map(ServerProfile.init)).count, builtIn.count)
        for which in builtIn {
            var profile = ServerProfile(which)
            XCTAssertFalse(profile.name.isEmpty)
            profile.locks.toggle()
            XCTAssertNotEqual(profile, ServerProfile(which))
            profile.locks.toggle()
            XCTAssertEqual(profile, ServerProfile(which))
        }
    }

    // P3: the key goes where the profile says.
    func testAProfileThatIsChangedIsTheOneThatIsUsed() async throws {
        let server = try ReferenceServer()
        var profile = ServerProfile(.standard)
        profile.keyPlace = .query(name: "tea_key")
        let outbox = try await open(server, profile: profile)
        let order = try order()
        try await outbox.submit(order)
        _ = try await outbox.drain(for: long)
        let paths = try await server.records().map(\.path)
        XCTAssertEqual(paths, ["\(order.url)&tea_key=\(order.id.uuidString.lowercased())"])
    }

    func testAProfileThatMakesNoSenseSaysWhatIsWrong() async throws {
        let nonsense = try await refused { _ = try ServerProfile(json: #"{"nonsense":1}"#) }
        guard case .invalid(_, let problem) = nonsense else { return XCTFail("\(nonsense)") }
        XCTAssertTrue(problem.contains("nonsense"), problem)
        let broken = try await refused { _ = try ServerProfile(json: "{") }
        guard case .invalid = broken else { return XCTFail("\(broken)") }
    }

    private func assertEachReachesTheCore<Value: Hashable, Raw: Hashable>(
        _ standard: Value,
        _ changes: [(inout Value) -> Void],
        _ lower: (Value) throws -> Raw,
        _ lift: (Raw) -> Value
    ) throws {
        let before = try lower(standard)
        var all: Set<Raw> = [before]
        for (number, change) in changes.enumerated() {
            var value = standard
            change(&value)
            let raw = try lower(value)
            XCTAssertEqual(differences(before, raw).count, 1, "\(number): \(differences(before, raw))")
            XCTAssertEqual(lift(raw), value, "\(number)")
            all.insert(raw)
        }
        XCTAssertEqual(all.count, changes.count + 1)
    }

    /// The names of the members that differ.
    private func differences(_ one: Any, _ other: Any) -> [String] {
        zip(Mirror(reflecting: one).children, Mirror(reflecting: other).children)
            .filter { String(reflecting: $0.value) != String(reflecting: $1.value) }
            .map { $0.0.label ?? "" }
    }
}
