import XCTest

/// The scenarios that every language plays, in Swift: see `tests/conformance/README.md`.
final class ScenariosTests: XCTestCase {
    func testEveryScenarioOfEveryFile() async throws {
        var played: [String] = []
        for file in try Scenario.files() {
            let name = file.deletingPathExtension().lastPathComponent
            do {
                for scenario in try Scenario.all(in: file) {
                    played.append(scenario.name)
                    await playOne(scenario, of: name)
                }
            } catch {
                // The other files are played all the same.
                XCTFail("\(name) can't be read: \(error)")
            }
        }
        print("\(played.count) scenarios played")
        XCTAssertGreaterThanOrEqual(played.count, 120)
        XCTAssertEqual(Set(played).count, played.count, "two scenarios have one name")
    }

    private func playOne(_ scenario: Scenario, of file: String) async {
        do {
            for step in try await play(scenario) {
                print("not expressible in Swift: \(file): \(step)")
            }
        } catch {
            XCTFail("\(file): \(error)")
        }
    }

    func testEveryKindOfStepIsInAScenario() throws {
        let scenarios = try Scenario.files().flatMap { try Scenario.all(in: $0) }
        XCTAssertEqual(Set(scenarios.flatMap(\.steps).map(\.kind)), Set(kinds.keys))
    }
}
