import Foundation
import SubmitOnceGenerated

/// Runs a call of the core, and gives what it throws the form that apps see.
func translated<T>(_ call: () throws -> T) throws -> T {
    do {
        return try call()
    } catch {
        throw error.translated
    }
}

/// The same for a call that waits.
func translated<T: Sendable>(_ call: @Sendable () async throws -> T) async throws -> T {
    do {
        return try await call()
    } catch {
        throw error.translated
    }
}

extension Error {
    /// The error that apps see. The core's own say what they are; anything else that comes through the
    /// border is a defect.
    fileprivate var translated: any Error {
        switch self {
        case let error as OutboxError: error.lifted
        case let error as InboxError: error.lifted
        case let error as OpenError: error.lifted
        case let error as StorageError: error.lifted
        case let error as IdError: error.lifted
        case is SubmitOnceError, is CancellationError: self
        default: SubmitOnceError(.internal, String(describing: self))
        }
    }
}

extension OutboxError {
    fileprivate var lifted: SubmitOnceError {
        if case .Storage(let storage) = self {
            return storage.lifted
        }
        do {
            return SubmitOnceError(try reason, description)
        } catch {
            return SubmitOnceError(.internal, String(describing: error))
        }
    }

    private var reason: SubmitOnceError.Reason {
        get throws {
            switch self {
            case .Closed: .closed
            case .MalformedId: .malformedID
            case .Invalid(let field, let problem): .invalid(field: field, problem: problem)
            case .HeaderRefused(let name, let reason): .headerRefused(name: name, reason: reason)
            case .BodyTooLarge(let bytes, let most):
                .bodyTooLarge(bytes: Int64(clamping: bytes), most: Int64(clamping: most))
            case .UnknownParent(let id): .unknownParent(try id.lifted())
            case .KeyReused(let id, let existing, let differs):
                .keyReused(id: try id.lifted(), existing: try existing.lifted(), differs: differs)
            case .IdTooOld(let id): .idTooOld(try id.lifted())
            case .QueueFull(let most): .queueFull(most: Int(most))
            case .NotSignedIn(let account): .notSignedIn(account: account)
            case .UnknownId(let id): .unknownID(try id.lifted())
            case .Stale(let current): .stale(current: try current.lifted())
            case .NotHeld(let current): .notHeld(current: try current.lifted())
            case .NeedsConsent(let current): .needsConsent(current: try current.lifted())
            case .CannotRetry(let current): .cannotRetry(current: try current.lifted())
            case .Storage(let storage): storage.lifted.reason
            }
        }
    }
}

extension InboxError {
    fileprivate var lifted: SubmitOnceError {
        switch self {
        case .Closed: SubmitOnceError(.closed, description)
        case .Invalid(let field, let problem): SubmitOnceError(.invalid(field: field, problem: problem), description)
        case .KeyReused(let scope, let key): SubmitOnceError(.inboxKeyReused(scope: scope, key: key), description)
        case .RunLost(let scope, let key): SubmitOnceError(.runLost(scope: scope, key: key), description)
        case .NotUncertain(let scope, let key): SubmitOnceError(.notUncertain(scope: scope, key: key), description)
        case .Statement(let number, let problem):
            SubmitOnceError(.statementRefused(number: Int(number), problem: problem), description)
        case .Storage(let storage): storage.lifted
        }
    }
}

extension OpenError {
    fileprivate var lifted: SubmitOnceError {
        switch self {
        case .InvalidConfig(let field, let problem):
            SubmitOnceError(.cannotOpen(.invalidConfig(field: field, problem: problem)), description)
        case .IsDirectory: SubmitOnceError(.cannotOpen(.isDirectory), description)
        case .ReadOnly: SubmitOnceError(.cannotOpen(.readOnly), description)
        case .NotAnOutbox: SubmitOnceError(.cannotOpen(.notAnOutbox), description)
        case .SchemaTooNew(let found, let known):
            SubmitOnceError(.cannotOpen(.schemaTooNew(found: found, known: known)), description)
        case .AlreadyOpen: SubmitOnceError(.cannotOpen(.alreadyOpen), description)
        case .Setup: SubmitOnceError(.cannotOpen(.setup), description)
        case .Storage(let storage): storage.lifted
        }
    }
}

extension StorageError {
    fileprivate var lifted: SubmitOnceError {
        let reason: SubmitOnceError.Reason =
            switch self {
            case .Full: .storage(.full)
            case .Busy: .storage(.busy)
            case .Unavailable: .storage(.unavailable)
            case .Corrupt: .storage(.corrupt)
            case .Moved: .storage(.moved)
            case .Indeterminate: .storage(.indeterminate)
            case .Internal: .internal
            }
        return SubmitOnceError(reason, description)
    }
}

extension IdError {
    fileprivate var lifted: SubmitOnceError {
        switch self {
        case .NoRandomness: SubmitOnceError(.internal, description)
        case .Malformed, .Nil: SubmitOnceError(.malformedID, description)
        }
    }
}
