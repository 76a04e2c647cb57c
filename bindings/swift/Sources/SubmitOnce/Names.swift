import SubmitOnceGenerated

// The plain types of the core, under the names that apps use.

/// What a repeat does at the server.
public typealias Effect = SubmitOnceGenerated.Effect

/// A header: a name and a value.
public typealias Header = SubmitOnceGenerated.Header

extension SubmitOnceGenerated.Header: CustomReflectable {
    /// Without the value.
    public var customMirror: Mirror { Mirror(self, children: ["name": name]) }
}

/// Why a submission waits for a decision.
public typealias HoldReason = SubmitOnceGenerated.HoldReason

/// Why a submission was rejected.
public typealias RejectReason = SubmitOnceGenerated.RejectReason

/// What a call of ``Outbox/submit(_:)`` met.
public typealias ReceiptKind = SubmitOnceGenerated.ReceiptKind

/// Which submissions to list.
public typealias ListFilter = SubmitOnceGenerated.ListFilter

/// Why a drain returned.
public typealias DrainStop = SubmitOnceGenerated.DrainStop

/// How winding down ended.
public typealias WindDown = SubmitOnceGenerated.WindDown

/// Why credentials are asked for.
public typealias CredentialsReason = SubmitOnceGenerated.CredentialsReason

/// What kind of network there is.
public typealias NetworkKind = SubmitOnceGenerated.NetworkKind

/// The network that a background run needs.
public typealias RunNetwork = SubmitOnceGenerated.RunNetwork

/// What opening found and did.
public typealias OpenReport = SubmitOnceGenerated.OpenReport

/// Numbers about an outbox. Totals count since the database was made.
public typealias Stats = SubmitOnceGenerated.Stats

/// What this version doesn't deliver yet.
public typealias Feature = SubmitOnceGenerated.Feature

/// Whom to trust over TLS. There is no way to trust everybody.
public typealias TLSConfig = SubmitOnceGenerated.TlsConfig

/// A public key that a host must show.
public typealias CertificatePin = SubmitOnceGenerated.CertificatePin

/// Where root certificates come from.
public typealias TrustRoots = SubmitOnceGenerated.TrustRoots

/// A profile that comes with the library.
public typealias BuiltInProfile = SubmitOnceGenerated.BuiltInProfile

/// Where the key goes.
public typealias KeyPlace = SubmitOnceGenerated.KeyPlace

/// How a key is written.
public typealias KeySpelling = SubmitOnceGenerated.KeySpelling

/// For whom the server remembers a key.
public typealias KeyScope = SubmitOnceGenerated.KeyScope

/// Which errors a server keeps under the key and gives again for ever.
public typealias ReplayedErrors = SubmitOnceGenerated.ReplayedErrors

// Those of the core that have a type of their own here.
typealias RawOutbox = SubmitOnceGenerated.Outbox
typealias RawSubmission = SubmitOnceGenerated.Submission
typealias RawBody = SubmitOnceGenerated.Body
typealias RawSnapshot = SubmitOnceGenerated.Snapshot
typealias RawState = SubmitOnceGenerated.SubmissionState
typealias RawWaitingFor = SubmitOnceGenerated.WaitingFor
typealias RawOutcome = SubmitOnceGenerated.Outcome
typealias RawReceipt = SubmitOnceGenerated.Receipt
typealias RawWaited = SubmitOnceGenerated.Waited
typealias RawCancelOutcome = SubmitOnceGenerated.CancelOutcome
typealias RawResolution = SubmitOnceGenerated.Resolution
typealias RawDrainReport = SubmitOnceGenerated.DrainReport
typealias RawChange = SubmitOnceGenerated.Change
typealias RawProgress = SubmitOnceGenerated.UploadProgress
typealias RawProfile = SubmitOnceGenerated.ServerProfile
typealias RawLimits = SubmitOnceGenerated.Limits
