import Foundation

/// Where an outbox is kept on a device: in a folder of its own, which is protected, and not backed up, as a
/// whole.
struct OutboxFolder: Sendable, Hashable {
    let url: URL

    var database: URL { url.appending(path: "outbox.sqlite3", directoryHint: .notDirectory) }

    /// - Parameters:
    ///   - support: the Application Support folder of this process. That of an extension is its own, and never
    ///     the app's. Not one of an App Group: the system kills who holds a lock in one when it is suspended.
    ///   - name: of the outbox: letters, digits, `-` and `_`.
    init(in support: URL, name: String) throws {
        guard !name.isEmpty, name.utf8.allSatisfy(Self.isPlain) else {
            throw SubmitOnceError.invalid(field: "name", problem: "only letters, digits, - and _ can be in it")
        }
        guard !support.pathComponents.contains("AppGroup") else {
            throw SubmitOnceError.invalid(field: "support", problem: "it is in an App Group: use a private folder")
        }
        url =
            support
            .appending(path: "submit-once", directoryHint: .isDirectory)
            .appending(path: name, directoryHint: .isDirectory)
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default:
            false
        }
    }
}
