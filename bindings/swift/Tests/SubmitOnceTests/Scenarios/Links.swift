import SubmitOnce

// How submissions hang together, as scenarios write it.

/// A part of a submission, to be made when its turn comes.
func part(_ json: JSON) throws -> @Sendable () throws -> ParentPart {
    try json.members { members in
        let parent = try members.text("parent")
        let source = try partSource(members.json("from"))
        let target = try partTarget(members.json("into"))
        return { ParentPart(of: try SubmissionID.parse(parent), from: source, into: target) }
    }
}

private func partSource(_ json: JSON) throws -> PartSource {
    try json.members { members in
        let kind = try members.sole("a source")
        let text = try members.text(kind)
        return switch kind {
        case "json_pointer": .jsonPointer(pointer: text)
        case "header": .header(name: text)
        default: throw Broken("there is no source \(kind)")
        }
    }
}

func partTarget(_ json: JSON) throws -> PartTarget {
    try json.members { members in
        let kind = try members.sole("a target")
        let text = try members.text(kind)
        return switch kind {
        case "path": .path(placeholder: text)
        case "query": .query(name: text)
        case "header": .header(name: text)
        case "json": .json(pointer: text)
        default: throw Broken("there is no target \(kind)")
        }
    }
}

/// With the library's defaults for what is left out.
func statusProbe(_ json: JSON) throws -> StatusProbe {
    try json.members { members in
        let standard = StatusProbe(url: try members.text("url"))
        return StatusProbe(
            url: standard.url,
            pointer: try members.textIfAny("pointer") ?? standard.pointer,
            missingMeansNotApplied: try members.jsonIfAny("missing_means_not_applied")?.flag()
                ?? standard.missingMeansNotApplied,
            ofKeyRecord: try members.jsonIfAny("of_key_record")?.flag() ?? standard.ofKeyRecord
        )
    }
}

extension JSON {
    func holdReason() throws -> HoldReason {
        try constant(of: [
            .outcomeUnknown, .conflict, .cancelRequested, .expiredInDoubt, .restored, .damaged,
            .parentResultMissing, .keyUsedElsewhere,
        ])
    }
}
