import Foundation
import SubmitOnce

// What the tests start as a process of its own: because it is killed, or because it has to be
// another process.

let words = Array(CommandLine.arguments.dropFirst())
switch words.first {
case "order" where words.count == 3: try await order(words[1], words[2])
case "try-locks" where words.count == 2: tryLocks(words[1])
default:
    FileHandle.standardError.write(Data("order DATABASE URL | try-locks DATABASE\n".utf8))
    exit(2)
}

/// An app that orders tea, to be killed while it does.
func order(_ database: String, _ address: String) async throws {
    let outbox = try await Outbox.open(at: URL(filePath: database), baseURL: URL(string: address))
    let id = try await outbox.begin("new-order-form")
    try await outbox.submit(Submission(id, to: "/orders", body: .jsonText(#"{"item":"tea"}"#)))
    _ = try await outbox.drain(for: .seconds(300))
}

/// For each line of the input, takes all the locks that SQLite takes for reading, writing and checkpoints
/// (bytes 120 to 127 of the log's index), as another process that wants the database for itself now, and
/// prints whether they could be had at once.
func tryLocks(_ database: String) {
    while readLine() != nil {
        let file = open(database + "-shm", O_RDWR)
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = 120
        lock.l_len = 8
        let free = file >= 0 && fcntl(file, F_SETLK, &lock) == 0
        close(file)
        FileHandle.standardOutput.write(Data((free ? "free\n" : "held\n").utf8))
    }
}
