import SubmitOnce

import enum SubmitOnceGenerated.IdError

/// The form of an error that a scenario may expect; nothing for any other. The reasons are named like the Rust
/// variants. A defect of the library, and a failed storage of which nothing is known, are one reason here:
/// neither is ever expected.
func errorForm(_ error: any Error) throws -> JSON? {
    switch error {
    case let error as IdError:
        switch error {
        case .Malformed: ["name": "Malformed"]
        case .Nil: ["name": "Nil"]
        case .NoRandomness: ["name": "NoRandomness"]
        }
    case let error as SubmitOnceError: try error.form()
    default: nil
    }
}

extension SubmitOnceError {
    fileprivate func form() throws -> JSON? {
        switch reason {
        case .closed: ["name": "Closed"]
        case .malformedID: ["name": "MalformedId"]
        case .invalid(let field, let problem):
            ["name": "Invalid", "field": .string(field), "problem": .string(problem)]
        case .headerRefused(let name, let reason):
            ["name": "HeaderRefused", "header": .string(name), "reason": .string(reason)]
        case .bodyTooLarge(let bytes, let most):
            ["name": "BodyTooLarge", "bytes": JSON(bytes), "most": JSON(most)]
        case .unknownParent(let id): ["name": "UnknownParent", "id": JSON(id)]
        case .keyReused(let id, let existing, let differs):
            ["name": "KeyReused", "id": JSON(id), "existing": try existing.form(), "differs": JSON(differs)]
        case .idTooOld(let id): ["name": "IdTooOld", "id": JSON(id)]
        case .queueFull(let most): ["name": "QueueFull", "most": JSON(most)]
        case .notSignedIn(let account): ["name": "NotSignedIn", "account": .string(account)]
        case .unknownID(let id): ["name": "UnknownId", "id": JSON(id)]
        case .stale(let current): ["name": "Stale", "current": try current.form()]
        case .notHeld(let current): ["name": "NotHeld", "current": try current.form()]
        case .needsConsent(let current): ["name": "NeedsConsent", "current": try current.form()]
        case .cannotRetry(let current): ["name": "CannotRetry", "current": try current.form()]
        case .inboxKeyReused(let scope, let key): ["name": "KeyReused", "scope": .string(scope), "key": .string(key)]
        case .runLost(let scope, let key): ["name": "RunLost", "scope": .string(scope), "key": .string(key)]
        case .notUncertain(let scope, let key):
            ["name": "NotUncertain", "scope": .string(scope), "key": .string(key)]
        case .statementRefused(let number, let problem):
            ["name": "Statement", "number": JSON(number), "problem": .string(problem)]
        case .storage(let storage): ["name": "Storage", "storage": .string(snakeCase(storage))]
        case .cannotOpen(let why): form(of: why)
        case .internal: nil
        }
    }

    private func form(of opening: Opening) -> JSON {
        switch opening {
        case .invalidConfig(let field, let problem):
            ["name": "InvalidConfig", "field": .string(field), "problem": .string(problem)]
        case .isDirectory: ["name": "IsDirectory"]
        case .readOnly: ["name": "ReadOnly"]
        case .notAnOutbox: ["name": "NotAnOutbox", "detail": .string(description)]
        case .schemaTooNew(let found, let known):
            ["name": "SchemaTooNew", "found": JSON(found), "known": JSON(known)]
        case .alreadyOpen: ["name": "AlreadyOpen"]
        case .setup: ["name": "Setup", "detail": .string(description)]
        }
    }
}
