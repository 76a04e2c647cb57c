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

/// What was saved of a damaged database.
public typealias Salvage = SubmitOnceGenerated.Salvage

/// What becomes of a lane when the submission whose turn it is doesn't succeed.
public typealias LanePolicy = SubmitOnceGenerated.LanePolicy

/// Where in a parent's result a part is found.
public typealias PartSource = SubmitOnceGenerated.PartSource

/// Where in a request a part goes.
public typealias PartTarget = SubmitOnceGenerated.PartTarget

/// A part that the app supplies, since the parent's result lacks it.
public typealias PartValue = SubmitOnceGenerated.PartValue

extension SubmitOnceGenerated.PartValue: CustomReflectable {
    /// Without the value.
    public var customMirror: Mirror { Mirror(self, children: ["into": into]) }
}

/// A question to the server whether a submission took effect.
public typealias StatusProbe = SubmitOnceGenerated.StatusProbe

extension SubmitOnceGenerated.StatusProbe: CustomReflectable {
    /// Without the URL, which may name a person.
    public var customMirror: Mirror { Mirror(self, children: ["pointer": pointer as Any]) }
}

/// What to do when a run of the inbox was lost: its process was killed, or its time was over. A kill after the
/// effect can't be told from one before it. Where the run that was lost began with the other policy than is asked
/// for now, `atMostOnce` counts.
public typealias InboxPolicy = SubmitOnceGenerated.InboxPolicy

/// What ``Inbox/begin(_:)`` answers.
public typealias InboxAnswer = SubmitOnceGenerated.InboxAnswer

extension SubmitOnceGenerated.InboxAnswer: CustomReflectable {
    /// Without the result.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Names one run of an item, and fences earlier ones off.
public typealias InboxRun = SubmitOnceGenerated.InboxRun

extension SubmitOnceGenerated.InboxRun: CustomReflectable {
    /// Without the key, which may name a person.
    public var customMirror: Mirror { Mirror(self, children: ["scope": scope, "number": number]) }
}

/// What a run that failed knows of its effect.
public typealias InboxFailure = SubmitOnceGenerated.InboxFailure

/// An item of the inbox that waits for a decision.
public typealias UncertainItem = SubmitOnceGenerated.UncertainItem

extension SubmitOnceGenerated.UncertainItem: CustomReflectable {
    /// Without the key, which may name a person.
    public var customMirror: Mirror { Mirror(self, children: ["scope": scope, "since": since, "runs": runs]) }
}

/// How records stand in a batch's body.
public typealias BatchFormat = SubmitOnceGenerated.BatchFormat

/// What becomes of an account's submissions when it signs out.
public typealias SignOut = SubmitOnceGenerated.SignOut

/// Which submissions to list: those that fit everything that is given.
public typealias ListFilter = SubmitOnceGenerated.ListFilter

/// A kind of state, to list.
public typealias ListState = SubmitOnceGenerated.ListState

extension SubmitOnceGenerated.ListFilter {
    /// All.
    public static let all = ListFilter()
    /// Those that are neither settled nor held.
    public static let moving = ListFilter(state: .moving)
    /// Those that wait for a decision.
    public static let held = ListFilter(state: .held)
    /// Those that are settled.
    public static let settled = ListFilter(state: .settled)
}

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
typealias RawParentPart = SubmitOnceGenerated.ParentPart
typealias RawResolvedAll = SubmitOnceGenerated.ResolvedAll
typealias RawSignedOutReport = SubmitOnceGenerated.SignedOutReport
typealias RawStats = SubmitOnceGenerated.Stats
typealias RawProfile = SubmitOnceGenerated.ServerProfile
typealias RawLimits = SubmitOnceGenerated.Limits
typealias RawInbox = SubmitOnceGenerated.Inbox
typealias RawInboxItem = SubmitOnceGenerated.InboxItem
typealias RawInboxDecision = SubmitOnceGenerated.InboxDecision
typealias RawInboxScope = SubmitOnceGenerated.InboxScope
typealias RawStatement = SubmitOnceGenerated.AppStatement
typealias RawValue = SubmitOnceGenerated.SqlValue
typealias RawBatch = SubmitOnceGenerated.Batch
typealias RawBatchConfig = SubmitOnceGenerated.BatchConfig
typealias RawRecordReceipt = SubmitOnceGenerated.RecordReceipt
typealias RawFetched = SubmitOnceGenerated.Fetched
