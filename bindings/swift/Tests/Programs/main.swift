import Foundation
import SubmitOnce

// What the tests start as a process of its own, because it is killed, or because its memory is measured.

let arguments = CommandLine.arguments.dropFirst()
switch arguments.first {
case "order":
    // An app that orders tea, to be killed while it does.
    let words = Array(arguments)
    guard words.count == 3, let url = URL(string: words[2]) else { fatalError("order DATABASE URL") }
    let outbox = try await Outbox.open(at: URL(filePath: words[1]), baseURL: url)
    let id = try await outbox.begin("new-order-form")
    try await outbox.submit(Submission(id, to: "/orders", body: .jsonText(#"{"item":"tea"}"#)))
    _ = try await outbox.drain(for: .seconds(300))
case "locks":
    // Another process, which tries the locks of the database.
    let words = Array(arguments)
    guard words.count == 2 else { fatalError("locks DATABASE") }
    try answerOrders(ofLocksOn: words[1])
case "soak":
    // An app that lives long.
    let words = Array(arguments)
    guard words.count == 5, let url = URL(string: words[2]), let submits = Int(words[3]), let drains = Int(words[4])
    else { fatalError("soak DATABASE URL SUBMITS DRAINS") }
    try await soak(words[1], url, submits: submits, drains: drains)
case "drain":
    // A background run of another process.
    let words = Array(arguments)
    guard words.count == 3, let url = URL(string: words[2]) else { fatalError("drain DATABASE URL") }
    let outbox = try await Outbox.open(at: URL(filePath: words[1]), baseURL: url)
    say("succeeded: \(try await outbox.drain(for: .seconds(300)).succeeded)")
case "push":
    // An app that shows a message, to be killed before it can record that.
    let words = Array(arguments)
    guard words.count == 4 else { fatalError("push DATABASE SCREEN POLICY") }
    let policies: [InboxPolicy] = [.atMostOnce, .atLeastOnce]
    guard let policy = policies.first(where: { "\($0)" == words[3] }) else { fatalError("\(words[3])?") }
    let outbox = try await Outbox.open(at: URL(filePath: words[1]))
    try await outbox.inbox.once("push", "m1", policy: policy) {
        try Data("there\n".utf8).write(to: URL(filePath: words[2]))
        say("shown")
        _ = readLine()
    }
case "exported-functions":
    let words = Array(arguments)
    guard words.count == 4 else { fatalError("exported-functions GENERATED COVERAGE LIST") }
    try listExportedFunctions(of: words[1], coverage: words[2], to: words[3])
default:
    fatalError("there is no program of this name")
}
