import Foundation
import SubmitOnceGenerated

/// What can be watched. A nudge says only that something has changed; what it was is read from the
/// database, so that nothing depends on a nudge being delivered in time, or once.
final class Observing: Sendable {
    let changes: Nudges
    let progress: Nudges
    let latest: LatestUploads

    init(_ raw: RawOutbox) {
        let latest = LatestUploads()
        self.latest = latest
        // A listener must not keep alive who listens: the core has it as long as it is set.
        let changeEar = ChangeEar()
        changes = Nudges { on in
            try translated { try raw.setListener(listener: on ? changeEar : nil) }
        }
        let progressEar = ProgressEar(latest)
        progress = Nudges { on in
            if on {
                // What was told before nobody listened any more is out of date.
                latest.forget()
            }
            try translated { try raw.setProgressListener(listener: on ? progressEar : nil) }
        }
        changeEar.nudges.withLock { $0 = Weak(changes) }
        progressEar.nudges.withLock { $0 = Weak(progress) }
    }

    /// The outbox was closed: every loop ends.
    func close() {
        changes.close()
        progress.close()
    }
}

private struct Weak: Sendable {
    weak var nudges: Nudges?

    init(_ nudges: Nudges) {
        self.nudges = nudges
    }
}

private final class ChangeEar: ChangeListener {
    let nudges = Locked<Weak?>(nil)

    func changed() {
        nudges.withLock { $0?.nudges }?.nudge()
    }
}

private final class ProgressEar: ProgressListener {
    let nudges = Locked<Weak?>(nil)
    private let latest: LatestUploads

    init(_ latest: LatestUploads) {
        self.latest = latest
    }

    func progressed(progress: [RawProgress]) {
        latest.note(progress)
        nudges.withLock { $0?.nudges }?.nudge()
    }
}

/// The progress of the uploads that moved last. It isn't kept anywhere else, so it is collected as it comes:
/// the latest of each submission.
final class LatestUploads: Sendable {
    /// Uploads that are remembered.
    private static let most = 1000

    private struct State {
        var count = 0
        var uploads: [String: (number: Int, progress: RawProgress)] = [:]
    }

    private let state = Locked(State())

    func forget() {
        state.withLock { $0.uploads = [:] }
    }

    func note(_ progress: [RawProgress]) {
        state.withLock { state in
            for upload in progress {
                state.count += 1
                state.uploads[upload.id] = (state.count, upload)
                if state.uploads.count > Self.most,
                    let oldest = state.uploads.min(by: { $0.value.number < $1.value.number })
                {
                    state.uploads[oldest.key] = nil
                }
            }
        }
    }

    /// What moved first after a number.
    func next(after number: Int) -> (number: Int, progress: RawProgress)? {
        state.withLock { state in
            state.uploads.values.filter { $0.number > number }.min { $0.number < $1.number }
        }
    }
}
