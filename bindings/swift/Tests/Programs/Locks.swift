import Foundation

#if canImport(Glibc)
    import Glibc
#endif

/// Takes the locks of SQLite as another process would see them: byte ranges of the database and of its
/// `-shm` file. Reads orders from standard input, and prints a line for each.
///
/// `try` takes and gives back, without waiting, what an exclusive transaction and a whole checkpoint take:
/// `free`, or the ranges that somebody holds. `hold` keeps the writer's lock until the next `release`.
func answerOrders(ofLocksOn database: String) throws {
    let log = LockFile(database + "-shm")
    let main = LockFile(database)
    while let order = readLine() {
        switch order {
        case "try":
            // Pending and reserved, as a rollback journal's writer has them; writer, checkpointer, recovery
            // and all readers' marks, as the write-ahead log has them.
            let held = [
                main.isFree(from: 0x4000_0000, count: 2) ? nil : "the database's writer",
                log.isFree(from: 120, count: 1) ? nil : "the log's writer",
                log.isFree(from: 121, count: 2) ? nil : "the checkpointer",
                log.isFree(from: 123, count: 5) ? nil : "a reader",
            ].compactMap { $0 }
            say(held.isEmpty ? "free" : held.joined(separator: ", "))
        case "hold": say(log.set(Int16(F_WRLCK), from: 120, count: 1) ? "held" : "busy")
        case "read": say(log.set(Int16(F_RDLCK), from: 123, count: 1) ? "held" : "busy")
        case "release": say(log.set(Int16(F_UNLCK), from: 120, count: 8) ? "released" : "busy")
        default: fatalError("there is no such order: \(order)")
        }
    }
}

/// Prints a line at once, whoever reads it.
func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}

/// A file whose bytes are locked.
private struct LockFile {
    private let descriptor: Int32

    init(_ path: String) {
        descriptor = open(path, O_RDWR)
        guard descriptor >= 0 else { fatalError("\(path) can't be opened") }
    }

    /// Whether nobody holds any of them: they are taken and given back.
    func isFree(from start: Int, count: Int) -> Bool {
        set(Int16(F_WRLCK), from: start, count: count) && set(Int16(F_UNLCK), from: start, count: count)
    }

    /// Doesn't wait.
    func set(_ kind: Int16, from start: Int, count: Int) -> Bool {
        var lock = flock()
        lock.l_type = kind
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = off_t(start)
        lock.l_len = off_t(count)
        return fcntl(descriptor, F_SETLK, &lock) == 0
    }
}
