// What may stand in a step in place of a value: the name of an earlier one, a long text, a text in UTF-16.

/// No string of Swift can hold this text.
struct NotExpressible: Error {}

extension JSON {
    /// Puts values in place of their notations. `known` is what earlier steps gave, by name.
    ///
    /// - Throws: ``NotExpressible`` if there is half of a surrogate pair in it.
    func resolved(_ known: [String: JSON]) throws -> JSON {
        switch self {
        case .null, .bool, .whole, .fraction: return self
        case .string(let text): return text.hasPrefix("$") ? try lookUp(text, known) : self
        case .list(let items): return .list(try items.map { try $0.resolved(known) })
        case .object(let members):
            if members.count == 1, let (name, value) = members.first {
                switch name {
                case "$utf16": return .string(try utf16(value))
                case "$repeat": return .string(try repeated(value))
                default: break
                }
            }
            return .object(try members.mapValues { try $0.resolved(known) })
        }
    }
}

/// `$name`, or `$name.member.member`.
private func lookUp(_ path: String, _ known: [String: JSON]) throws -> JSON {
    let names = path.dropFirst().split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    let found = names.dropFirst().reduce(known[names[0]]) { value, name in
        guard case .object(let members) = value else { return nil }
        return members[name]
    }
    guard let found else { throw Broken("nothing is known as \(path)") }
    return found
}

private func utf16(_ units: JSON) throws -> String {
    let units = try units.items().map { try $0.number(as: UInt16.self) }
    let text = String(decoding: units, as: UTF16.self)
    // Decoding mends what is broken.
    guard text.utf16.elementsEqual(units) else { throw NotExpressible() }
    return text
}

private func repeated(_ pair: JSON) throws -> String {
    let parts = try pair.items()
    guard parts.count == 2 else { throw Broken("\(pair) is no text and number") }
    return String(repeating: try parts[0].text(), count: Int(try parts[1].natural()))
}
