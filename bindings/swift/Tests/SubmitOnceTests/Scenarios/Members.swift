/// The scenario fails, or can't be understood, which is the same.
struct Broken: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// The members of an object, each to be read: those that nobody asks for are unknown.
final class Members {
    private let members: [String: JSON]
    /// Those that nobody has asked for.
    private(set) var unread: Set<String>

    fileprivate init(_ members: [String: JSON]) {
        self.members = members
        unread = Set(members.keys)
    }

    /// As it is, a null too; nothing if there is no such member.
    func given(_ name: String) -> JSON? {
        unread.remove(name)
        return members[name]
    }

    func json(_ name: String) throws -> JSON {
        guard let value = given(name) else { throw Broken("there is no \(name) in \(JSON.object(members))") }
        return value
    }

    /// A member that may be left out, or be null, which is the same.
    func jsonIfAny(_ name: String) -> JSON? { given(name).flatMap { $0.isNull ? nil : $0 } }

    func text(_ name: String) throws -> String { try json(name).text() }
    func textIfAny(_ name: String) throws -> String? { try jsonIfAny(name)?.text() }
    func whole(_ name: String) throws -> Int64 { try json(name).whole() }
    func wholeIfAny(_ name: String) throws -> Int64? { try jsonIfAny(name)?.whole() }
    func flag(_ name: String) throws -> Bool { try json(name).flag() }

    /// The name of the only one that is left.
    func sole(_ what: String) throws -> String {
        guard unread.count == 1, let name = unread.first else {
            throw Broken("\(what) has one kind, and members it knows: \(JSON.object(members))")
        }
        return name
    }
}

extension JSON {
    /// Reads an object to the last member.
    func members<T>(_ read: (Members) throws -> T) throws -> T {
        let members = Members(try object())
        let result = try read(members)
        guard members.unread.isEmpty else {
            throw Broken("nothing is known of \(members.unread.sorted()) in \(self)")
        }
        return result
    }

    func object() throws -> [String: JSON] {
        guard case .object(let members) = self else { throw Broken("\(self) is no object") }
        return members
    }

    func items() throws -> [JSON] {
        guard case .list(let items) = self else { throw Broken("\(self) is no list") }
        return items
    }

    func text() throws -> String {
        guard case .string(let text) = self else { throw Broken("\(self) is no text") }
        return text
    }

    func whole() throws -> Int64 {
        guard case .whole(let number) = self else { throw Broken("\(self) is no whole number") }
        return number
    }

    func flag() throws -> Bool {
        guard case .bool(let flag) = self else { throw Broken("\(self) is neither true nor false") }
        return flag
    }

    func natural() throws -> Int64 {
        let number = try whole()
        guard number >= 0 else { throw Broken("\(self) is less than nothing") }
        return number
    }

    func millis() throws -> Duration { .milliseconds(try natural()) }

    func number<N: FixedWidthInteger>(as type: N.Type = N.self) throws -> N {
        guard let number = N(exactly: try whole()) else { throw Broken("\(self) is too much or too little") }
        return number
    }

    /// The one of these with this name.
    func constant<E>(of all: [E]) throws -> E {
        let text = try text()
        guard let found = all.first(where: { snakeCase($0) == text }) else {
            throw Broken("\(self) is none of \(all.map { snakeCase($0) })")
        }
        return found
    }
}

/// The name of an enumeration's case.
func snakeCase(_ value: some Any) -> String {
    String(describing: value).reduce(into: "") { name, letter in
        name += letter.isUppercase ? "_" + letter.lowercased() : String(letter)
    }
}
