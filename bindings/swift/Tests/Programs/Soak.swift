import Foundation
import SubmitOnce

/// Submits and drains, and prints the resident memory of this process after a tenth and after all of it, in
/// KiB.
func soak(_ database: String, _ url: URL, submits: Int, drains: Int) async throws {
    let outbox = try await Outbox.open(at: URL(filePath: database), baseURL: url)
    let perDrain = submits / drains
    for tenth in 0..<10 {
        for _ in 0..<drains / 10 {
            try await submit(perDrain, to: outbox)
            _ = try await outbox.drain(for: .seconds(300))
        }
        if tenth == 0 {
            say("after a tenth: \(try residentKiB())")
        }
    }
    say("after all: \(try residentKiB())")
    let stats = try await outbox.stats()
    say("accepted: \(stats.accepted), pending: \(stats.pending), attempts: \(stats.attempts)")
    await outbox.close()
}

private func submit(_ count: Int, to outbox: Outbox) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<count {
            group.addTask {
                let body = Body.jsonText(#"{"item":"tea"}"#)
                try await outbox.submit(Submission(SubmissionID.new(), to: "/orders", body: body))
            }
        }
        try await group.waitForAll()
    }
}

private func residentKiB() throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
    guard let line, let kib = Int(line.filter(\.isNumber)) else { fatalError("no VmRSS") }
    return kib
}
