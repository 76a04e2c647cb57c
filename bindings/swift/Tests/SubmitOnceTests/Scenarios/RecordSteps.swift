import SubmitOnce

/// Batches, and fetched values.
let recordSteps: [String: Kind] = [
    "batch": { members in
        let name = try members.text("name")
        let config = try batchConfig(members.json("config"))
        return { turn in
            let handle = try turn.handle()
            handle.name(try await handle.outbox.batch(config), name)
            return .null
        }
    },
    "append": { members in
        let record = try members.text("record")
        return try onBatch(members) { try await $0.append(jsonText: record).form }
    },
    "append_all": { members in
        let records = try members.json("records").items().map { try $0.text() }
        return try onBatch(members) { .list(try await $0.appendAll(jsonTexts: records).map(\.form)) }
    },
    "flush": { members in try onBatch(members) { try await $0.flush().map { JSON($0) } ?? .null } },
    "current": { members in
        let account = try members.textIfAny("account")
        let key = try members.text("key")
        return onOutbox { try await $0.current(key, account: account)?.form() ?? .null }
    },
]

private func onBatch(_ members: Members, _ act: @escaping @Sendable (Batch) async throws -> JSON) throws -> Action {
    let name = try members.text("batch")
    return { turn in try await act(turn.handle().batch(name)) }
}

/// With the library's defaults for what is left out.
private func batchConfig(_ json: JSON) throws -> BatchConfig {
    try json.members { members in
        var config = BatchConfig(try members.text("key"), to: try members.text("url"))
        config.account = try members.textIfAny("account")
        config.method = try members.textIfAny("method") ?? config.method
        config.effect = try members.jsonIfAny("effect").map { try namedEffect($0) }
        config.headers = try members.jsonIfAny("headers")?.headers() ?? []
        config.format = try members.jsonIfAny("format").map { try batchFormat($0) }
        config.idMember = try members.textIfAny("id_member") ?? config.idMember
        config.maxRecords = try members.jsonIfAny("max_records")?.number() ?? config.maxRecords
        config.maxBytes = try members.jsonIfAny("max_bytes")?.number() ?? config.maxBytes
        config.maxAge = try members.jsonIfAny("max_age_ms")?.millis()
        config.priority = try members.jsonIfAny("priority")?.number() ?? config.priority
        config.unmeteredOnly = try members.jsonIfAny("unmetered_only")?.flag() ?? config.unmeteredOnly
        return config
    }
}

private func batchFormat(_ json: JSON) throws -> BatchFormat {
    if case .string = json {
        return try json.constant(of: [.jsonArray, .ndjson])
    }
    return try json.members { format in
        try format.json("json_object").members { .jsonObject(member: try $0.text("member")) }
    }
}

extension RecordReceipt {
    fileprivate var form: JSON { ["record_id": .string(recordID), "batch": JSON(batch)] }
}

extension Fetched {
    fileprivate func form() throws -> JSON {
        [
            "id": JSON(id),
            "status": JSON(status),
            "content_type": JSON(contentType),
            "headers": .list(headers.map { JSON([$0.name, $0.value]) }),
            "body": .string(try utf8Text(body)),
        ]
    }
}
