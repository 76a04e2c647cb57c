import Foundation

/// A JSON value. Foundation's own blurs what a scenario tells apart: whole numbers that a double can't hold,
/// numbers and truth values, and texts that look alike.
enum JSON: Sendable {
    case null
    case bool(Bool)
    case whole(Int64)
    case fraction(Double)
    case string(String)
    case list([JSON])
    case object([String: JSON])

    init(parsing data: Data) throws {
        self = try JSONDecoder().decode(JSON.self, from: data)
    }

    /// As text.
    func written() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }

    var isNull: Bool {
        if case .null = self { true } else { false }
    }
}

extension JSON: Codable {
    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let bool = try? value.decode(Bool.self) {
            self = .bool(bool)
        } else if let whole = try? value.decode(Int64.self) {
            self = .whole(whole)
        } else if let fraction = try? value.decode(Double.self) {
            // Between two whole numbers, or beyond all that can be told apart: no file has such a one.
            guard fraction.magnitude < 9e15 else {
                throw DecodingError.dataCorruptedError(in: value, debugDescription: "\(fraction) is not exact")
            }
            self = .fraction(fraction)
        } else if let string = try? value.decode(String.self) {
            self = .string(string)
        } else if let list = try? value.decode([JSON].self) {
            self = .list(list)
        } else {
            self = .object(try value.decode([String: JSON].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        switch self {
        case .null: try value.encodeNil()
        case .bool(let bool): try value.encode(bool)
        case .whole(let whole): try value.encode(whole)
        case .fraction(let fraction): try value.encode(fraction)
        case .string(let string): try value.encode(string)
        case .list(let list): try value.encode(list)
        case .object(let members): try value.encode(members)
        }
    }
}

extension JSON: CustomStringConvertible {
    var description: String { (try? written()) ?? "a value that can't be written" }
}

// Not by `nil`, which would be taken for an absent value where one is meant.
extension JSON: ExpressibleByBooleanLiteral, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    init(booleanLiteral value: Bool) { self = .bool(value) }
    init(stringLiteral value: String) { self = .string(value) }
    init(integerLiteral value: Int64) { self = .whole(value) }
    init(arrayLiteral elements: JSON...) { self = .list(elements) }
    init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(Dictionary(uniqueKeysWithValues: elements))
    }
}

extension JSON {
    init(_ text: String?) { self = text.map(JSON.string) ?? .null }
    init(_ id: UUID) { self = .string(id.uuidString.lowercased()) }
    init(_ number: (some BinaryInteger)?) { self = number.map { .whole(Int64($0)) } ?? .null }
    init(_ texts: [String]) { self = .list(texts.map(JSON.string)) }
}
