import SubmitOnce

/// A limit: how it is shown, and how it is changed. Times are in milliseconds.
private struct Limit: Sendable {
    let name: String
    let shown: @Sendable (Limits) -> Int64?
    let change: @Sendable (inout Limits, JSON) throws -> Void

    static func count(_ name: String, _ path: WritableKeyPath<Limits, Int> & Sendable) -> Limit {
        Limit(name: name, shown: { Int64($0[keyPath: path]) }) {
            $0[keyPath: path] = Int(try $1.number(as: UInt32.self))
        }
    }

    static func time(_ name: String, _ path: WritableKeyPath<Limits, Duration> & Sendable) -> Limit {
        Limit(name: name, shown: { $0[keyPath: path].inMilliseconds }) {
            $0[keyPath: path] = try $1.millis()
        }
    }
}

private let all: [Limit] = [
    .count("max_in_flight", \.maxInFlight),
    .count("max_queued", \.maxQueued),
    Limit(name: "max_body_bytes", shown: \.maxBodyBytes) { $0.maxBodyBytes = try $1.natural() },
    .count("inline_body_bytes", \.inlineBodyBytes),
    .count("max_answer_bytes", \.maxAnswerBytes),
    .time("request_timeout", \.requestTimeout),
    .time("idle_timeout", \.idleTimeout),
    .time("connect_timeout", \.connectTimeout),
    .time("lease", \.lease),
    .time("busy_timeout", \.busyTimeout),
    .time("backoff_first", \.backoffFirst),
    .time("backoff_most", \.backoffMost),
    .time("server_wait_most", \.serverWaitMost),
    Limit(name: "quiet_time", shown: { $0.quietTime?.inMilliseconds }) {
        $0.quietTime = $1.isNull ? nil : try $1.millis()
    },
    .count("retry_attempts", \.retryAttempts),
    .time("retry_time", \.retryTime),
    .count("busy_attempts", \.busyAttempts),
    .time("busy_time", \.busyTime),
    .time("horizon", \.horizon),
    .time("keep_results", \.keepResults),
    .count("keep_results_count", \.keepResultsCount),
    Limit(name: "keep_results_bytes", shown: \.keepResultsBytes) { $0.keepResultsBytes = try $1.natural() },
    .time("keep_tombstones", \.keepTombstones),
    .count("keep_changes", \.keepChanges),
]

extension Limits {
    /// The default ones with these changed.
    init(changes: [String: JSON]) throws {
        self.init()
        for (name, value) in changes {
            guard let limit = all.first(where: { $0.name == name }) else {
                throw Broken("there is no limit \(name)")
            }
            try limit.change(&self, value)
        }
    }

    var form: JSON {
        .object(Dictionary(uniqueKeysWithValues: all.map { ($0.name, JSON($0.shown(self))) }))
    }
}

extension Duration {
    var inMilliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}
