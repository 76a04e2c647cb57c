package dev.submitonce

/** What a repeat does at the server. */
public typealias Effect = dev.submitonce.internal.Effect

/** A header: a name and a value. */
public typealias Header = dev.submitonce.internal.Header

/** Why a submission waits for a decision. */
public typealias HoldReason = dev.submitonce.internal.HoldReason

/** Why a submission was rejected. */
public typealias RejectReason = dev.submitonce.internal.RejectReason

/** What a call of [Outbox.submit] met. */
public typealias ReceiptKind = dev.submitonce.internal.ReceiptKind

/** Which submissions to list: those that fit everything that is given. */
public typealias ListFilter = dev.submitonce.internal.ListFilter

/** A kind of state, to list. */
public typealias ListState = dev.submitonce.internal.ListState

/** What becomes of a lane when the submission whose turn it is doesn't succeed. */
public typealias LanePolicy = dev.submitonce.internal.LanePolicy

/** A question to the server whether a submission took effect: a `GET` without side effects. */
public typealias StatusProbe = dev.submitonce.internal.StatusProbe

/** What becomes of an account's submissions when it signs out. */
public typealias SignOut = dev.submitonce.internal.SignOut

/** Why a drain returned. */
public typealias DrainStop = dev.submitonce.internal.DrainStop

/** How winding down ended. */
public typealias WindDown = dev.submitonce.internal.WindDown

/** Why credentials are asked for. */
public typealias CredentialsReason = dev.submitonce.internal.CredentialsReason

/** What kind of network there is. */
public typealias NetworkKind = dev.submitonce.internal.NetworkKind

/** The network that a background run needs. */
public typealias RunNetwork = dev.submitonce.internal.RunNetwork

/** What opening found and did. */
public typealias OpenReport = dev.submitonce.internal.OpenReport

/** What was saved of a damaged database. */
public typealias Salvage = dev.submitonce.internal.Salvage

/** Numbers about an outbox. Totals count since the database was made. */
public typealias Stats = dev.submitonce.internal.Stats

/** How many submissions are held for a reason. */
public typealias HeldCount = dev.submitonce.internal.HeldCount

/** How many submissions took so long to settle. */
public typealias SettleTimes = dev.submitonce.internal.SettleTimes

/**
 * What to do when a run of the inbox was lost: a kill after the effect can't be told from one before it. If
 * the lost run began with another policy than is asked for now, [InboxPolicy.AT_MOST_ONCE] counts.
 */
public typealias InboxPolicy = dev.submitonce.internal.InboxPolicy

/** What a run that failed knows of its effect. */
public typealias InboxFailure = dev.submitonce.internal.InboxFailure

/** Names one run of an item of the inbox, and fences earlier ones off. */
public typealias InboxRun = dev.submitonce.internal.InboxRun

/** An item of the inbox that waits for a decision. */
public typealias UncertainItem = dev.submitonce.internal.UncertainItem

/** How long a scope of the inbox remembers. */
public typealias InboxScope = dev.submitonce.internal.InboxScope

/** Whom to trust over TLS. There is no way to trust everybody. */
public typealias TlsConfig = dev.submitonce.internal.TlsConfig

/** A public key that a host must show. */
public typealias CertificatePin = dev.submitonce.internal.CertificatePin

/** Where root certificates come from. */
public typealias TrustRoots = dev.submitonce.internal.TrustRoots

/** The numbers an app may tune. Copy [defaultLimits] and change what you must. */
public typealias Limits = dev.submitonce.internal.Limits

/** The limits that are right for most. */
public fun defaultLimits(): Limits = translated { dev.submitonce.internal.defaultLimits() }
