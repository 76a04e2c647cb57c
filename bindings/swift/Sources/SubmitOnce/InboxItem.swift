import Foundation
import SubmitOnceGenerated

/// Something that came in, or is to be done on this side, once: a push message, a local notification, a period of
/// a periodic worker, a step of an agent.
public struct InboxItem: Sendable, Hashable {
    /// What kind of thing it is, for example `push`. Keys of different scopes never meet. 1 to 1,024 bytes.
    public var scope: String
    /// What makes it the same when it comes again: the message's ID, the step's, the date of the day. 1 to 1,024
    /// bytes.
    public var key: String
    /// The content that comes with the key, for example a tool's arguments: with another one under the same key,
    /// ``Inbox/begin(_:)`` refuses with the reason `inboxKeyReused`. Only a hash of it is kept. Left out: the key
    /// alone tells.
    public var content: Data?
    /// What to do when nobody can know whether it happened.
    public var policy: InboxPolicy
    /// How long a run may take. After that it counts as lost, whether its process lives or not, and the policy
    /// decides. Time counts while the device sleeps, too. Left out: ten minutes. See ``Inbox/extend(_:lease:)``.
    public var lease: Duration?

    public init(
        _ scope: String,
        _ key: String,
        content: Data? = nil,
        policy: InboxPolicy,
        lease: Duration? = nil
    ) {
        self.scope = scope
        self.key = key
        self.content = content
        self.policy = policy
        self.lease = lease
    }
}

extension InboxItem: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Without the key and the content, which may name a person.
    public var description: String { "InboxItem(scope: \(scope), policy: \(policy))" }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: ["scope": scope, "policy": policy]) }
}

/// A decision about an item that is uncertain.
public enum InboxDecision: Sendable, Hashable {
    /// It happened, as the app or its user found out in another way. The result is what is given from now on, if
    /// one is known.
    case happened(result: Data? = nil)
    /// It didn't happen, or may happen again: the next ``Inbox/begin(_:)`` runs it.
    case runAgain
}

extension InboxDecision: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Without the result.
    public var description: String {
        switch self {
        case .happened(let result): "happened(\(result?.count ?? 0) bytes)"
        case .runAgain: "runAgain"
        }
    }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// How long a scope remembers. An age only counts by the `Date` of a server that answered since the boot, as for
/// submissions.
public struct InboxScope: Sendable, Hashable {
    /// The scope.
    public var name: String
    /// How long results are kept after their item was done.
    public var keepResults: Duration
    /// How long it is remembered after that that it was done: what comes again later runs again. Left out: for
    /// ever. Choose it longer than anything can come again.
    public var keepKeys: Duration?

    public init(_ name: String, keepResults: Duration, keepKeys: Duration? = nil) {
        self.name = name
        self.keepResults = keepResults
        self.keepKeys = keepKeys
    }
}

/// One SQL statement of the app, for tables of its own in the outbox's file. It may make, change and read tables,
/// indexes, views and triggers whose names begin with `app_`, and nothing else.
public struct AppStatement: Sendable, Hashable {
    public var sql: String
    /// The values of its parameters `?1`, `?2`, ….
    public var parameters: [SQLValue]

    public init(_ sql: String, _ parameters: SQLValue...) {
        self.init(sql, parameters: parameters)
    }

    public init(_ sql: String, parameters: [SQLValue]) {
        self.sql = sql
        self.parameters = parameters
    }
}

extension AppStatement: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Without the parameters' values.
    public var description: String { "AppStatement(\(sql), \(parameters.count) parameters)" }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: ["sql": sql]) }
}

/// A value of SQLite's.
public enum SQLValue: Sendable, Hashable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob(Data)
}

extension SQLValue: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// What kind of value it is.
    public var description: String {
        switch self {
        case .null: "null"
        case .integer: "integer"
        case .real: "real"
        case .text: "text"
        case .blob: "blob"
        }
    }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: []) }
}
