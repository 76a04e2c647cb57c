// Whether what came is what was expected. Only what is named is looked at; what is named must be there.

/// What doesn't fit, if something doesn't.
func misfit(_ expected: JSON, _ actual: JSON) throws -> String? {
    try fits(expected, actual) ? nil : "expected \(expected)\n     got \(actual)"
}

private func fits(_ expected: JSON, _ actual: JSON) throws -> Bool {
    switch (expected, actual) {
    case (.object(let members), _):
        if members.count == 1, let (pattern, value) = members.first, pattern.hasPrefix("$") {
            return try matches(pattern, value, actual)
        }
        guard case .object(let found) = actual else { return false }
        return try members.allSatisfy { name, value in try found[name].map { try fits(value, $0) } ?? false }
    case (.list(let items), .list(let found)):
        return try items.count == found.count && zip(items, found).allSatisfy { try fits($0, $1) }
    // Letter by letter: for Swift's own `==` a composed "é" and a decomposed one are the same.
    case (.string(let text), .string(let found)): return text.utf8.elementsEqual(found.utf8)
    case (.bool(let flag), .bool(let found)): return flag == found
    case (.null, .null): return true
    default: return compare(actual, expected).map { $0 == 0 } ?? false
    }
}

private func matches(_ pattern: String, _ value: JSON, _ actual: JSON) throws -> Bool {
    switch pattern {
    case "$at_least": return compare(actual, try numeric(value)).map { $0 >= 0 } ?? false
    case "$more_than": return compare(actual, try numeric(value)).map { $0 > 0 } ?? false
    case "$present": return try value.flag() == !actual.isNull
    case "$not": return try !fits(value, actual)
    case "$length":
        guard case .list(let items) = actual else { return false }
        return try items.count == value.whole()
    case "$contains":
        switch actual {
        case .list(let items): return try items.contains { try fits(value, $0) }
        case .string(let text): return try Array(text.utf8).contains(Array(value.text().utf8))
        default: return false
        }
    default: throw Broken("there is no pattern \(pattern)")
    }
}

private func numeric(_ json: JSON) throws -> JSON {
    guard compare(json, json) != nil else { throw Broken("\(json) is no number") }
    return json
}

/// Less than, equal to or more than nothing, as the first number is to the second. Nothing for what is no
/// number.
private func compare(_ one: JSON, _ other: JSON) -> Int? {
    switch (one, other) {
    case (.whole(let one), .whole(let other)): one < other ? -1 : one > other ? 1 : 0
    case (.whole(let one), .fraction(let other)): sign(Double(one), other)
    case (.fraction(let one), .whole(let other)): sign(one, Double(other))
    case (.fraction(let one), .fraction(let other)): sign(one, other)
    default: nil
    }
}

private func sign(_ one: Double, _ other: Double) -> Int { one < other ? -1 : one > other ? 1 : 0 }
