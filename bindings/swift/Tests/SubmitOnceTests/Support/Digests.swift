import Foundation

/// SHA-256 in hexadecimal digits, by the system's program: CryptoKit isn't everywhere.
func sha256(_ data: Data) throws -> String {
    let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try data.write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let path = file.path(percentEncoded: false)
    #if os(Linux)
        let (_, output) = try Programs.start(URL(filePath: "/usr/bin/sha256sum"), [path])
    #else
        let (_, output) = try Programs.start(URL(filePath: "/usr/bin/shasum"), ["-a", "256", path])
    #endif
    let said = try output.readToEnd() ?? Data()
    return String(decoding: said.prefix(64), as: UTF8.self)
}
