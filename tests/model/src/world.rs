//! What there is in the model.

use submit_once::SubmissionState;
use submit_once::rules::{AttemptMark, Doubt, State};

/// Attempts of one submission at most.
pub const MOST: usize = 3;

/// Processes at most.
pub const PROCESSES: usize = 3;

/// The older one of a pair, or the only one.
pub const OLDER: usize = 0;
/// The newer one of a pair.
pub const NEWER: usize = 1;

/// What a process hears of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Heard {
    /// A 2xx, of this execution or replayed.
    Applied,
    /// A refusal, by the handler or by anything before it.
    Refused,
    /// A stored refusal, with a replay marker.
    StoredRefusal,
    /// "Come again", by anything before the handler.
    Wait,
    /// "In progress".
    InProgress,
    /// A 500.
    ServerError,
    /// No connection.
    NoConnection,
    /// The last look at the lease failed.
    NotSent,
    /// No answer within the time, or it was stopped.
    Nothing,
}

/// All that can be heard.
pub const HEARD: [Heard; 9] = [
    Heard::Applied,
    Heard::Refused,
    Heard::StoredRefusal,
    Heard::Wait,
    Heard::InProgress,
    Heard::ServerError,
    Heard::NoConnection,
    Heard::NotSent,
    Heard::Nothing,
];

/// How far a process is with an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Task {
    /// Nobody works on it.
    Nobody,
    /// Claimed and committed.
    Claimed,
    /// The last look at the lease was well; the next thing is the first byte.
    Checked,
    /// On the wire.
    Sent,
    /// Something was heard, and isn't written down yet.
    Read(Heard),
    /// It was given up, and its transport may still bring an answer.
    Listening,
}

/// What a request does at the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Run {
    /// Nothing.
    Nothing,
    /// Its handler runs.
    Running,
    /// Its handler has made the effect and not stored the key yet.
    Effected,
}

/// One attempt, its request, and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// What the database knows of it; nothing if it hasn't begun.
    pub mark: Option<AttemptMark>,
    /// The process that works on it; nothing if that is dead, or done with it.
    pub owner: Option<u8>,
    /// How far that is.
    pub task: Task,
    /// Its process was frozen between its last look and its first byte.
    pub was_frozen: bool,
    /// Its own process has said that it ended.
    pub ended: bool,
    /// The key's lifetime, counted from it, is over.
    pub old: bool,
    /// It consumed a consent to a second effect.
    pub consented: bool,
    /// A consent was given since, or the credentials were changed: an epoch of the store has ended.
    pub before_consent: bool,
    /// With which credentials it was sent.
    pub token: u8,
    /// Copies of its request that travel.
    pub travelling: u8,
    /// A gateway has made its copy.
    pub copied: bool,
    /// It was sent after its submission had been taken over.
    pub stray: bool,
    /// What it does at the server.
    pub run: Run,
    /// An answer that travels.
    pub answer: Option<Heard>,
}

/// A record of the key at the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Record {
    /// None.
    Nothing,
    /// The effect was made, by this attempt.
    Done(u8),
    /// A refusal is stored, by this attempt.
    Refused(u8),
}

/// A status probe that was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Question {
    /// Attempts begun then.
    pub begun: u8,
    /// Nothing could still be under way then.
    pub settled: bool,
    /// It found the effect.
    pub found: bool,
}

/// One submission, with what the server knows of its key and what the invariants remember.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Submission {
    /// It exists.
    pub accepted: bool,
    /// Its visible state.
    pub visible: SubmissionState,
    /// Cancelled while an attempt was open.
    pub cancel_requested: bool,
    /// Its attempts.
    pub attempts: [Attempt; MOST],
    /// So many have begun.
    pub begun: u8,
    /// So many of the retry budget are used.
    pub used: u8,
    /// The attempt that has it in flight.
    pub fence: Option<u8>,
    /// It can still expire.
    pub expires: bool,
    /// Its time is over, and an earlier wording didn't forget that.
    pub is_past_expiry: bool,
    /// A consent to a second effect that the next claim consumes.
    pub consent: bool,
    /// A question under way.
    pub question: Option<Question>,
    /// What the server has stored under the key, for each credentials.
    pub records: [Record; 2],
    /// Effects, two at most.
    pub effects: u8,
    /// A cancel was accepted, and no decision has lifted it.
    pub cancelled: bool,
    /// An attempt began after that.
    pub sent_after_cancel: bool,
    /// A second effect was accepted.
    pub accepts_second: bool,
    /// It ended by a decision, not by evidence.
    pub decided: bool,
    /// A decision to retry was accepted, and nothing was sent since.
    pub owes_retry: bool,
    /// A final state has changed.
    pub final_changed: bool,
    /// The state function was asked for what can't happen.
    pub illegal: bool,
}

/// A process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Process {
    /// The system has frozen it.
    pub frozen: bool,
    /// Its lease is out, as far as what it has under way is concerned.
    pub lease_out: bool,
}

/// Everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct World {
    /// The older and the newer one, or one alone.
    pub submissions: [Submission; 2],
    /// The processes on one database. Where a setting has fewer, the others do nothing.
    pub processes: [Process; PROCESSES],
    /// The credentials that are sent now.
    pub token: u8,
    /// Whose effect was the last.
    pub written_last: Option<u8>,
    /// A process that was frozen between its last look and its first byte has sent: the documented
    /// exception.
    pub exception: bool,
}

impl Attempt {
    /// One that hasn't begun.
    pub const NOT_BEGUN: Self = Self {
        mark: None,
        owner: None,
        task: Task::Nobody,
        was_frozen: false,
        ended: false,
        old: false,
        consented: false,
        before_consent: false,
        token: 0,
        travelling: 0,
        copied: false,
        stray: false,
        run: Run::Nothing,
        answer: None,
    };

    /// Something of it travels to the server or runs there.
    pub fn is_under_way(&self) -> bool {
        self.travelling > 0 || self.run != Run::Nothing
    }

    /// Its process said that it ended, or is dead (`src/store/probes/horizon.rs`).
    pub fn has_ended(&self) -> bool {
        self.ended || self.owner.is_none()
    }

    /// Nobody knows whether it took effect.
    pub fn is_unknown(&self) -> bool {
        self.mark == Some(AttemptMark::Unknown)
    }
}

impl Submission {
    /// One that wasn't accepted yet.
    pub const UNKNOWN: Self = Self {
        accepted: false,
        visible: SubmissionState::Pending,
        cancel_requested: false,
        attempts: [Attempt::NOT_BEGUN; MOST],
        begun: 0,
        used: 0,
        fence: None,
        expires: false,
        is_past_expiry: false,
        consent: false,
        question: None,
        records: [Record::Nothing; 2],
        effects: 0,
        cancelled: false,
        sent_after_cancel: false,
        accepts_second: false,
        decided: false,
        owes_retry: false,
        final_changed: false,
        illegal: false,
    };

    /// The attempts that have begun.
    pub fn begun(&self) -> &[Attempt] {
        &self.attempts[..usize::from(self.begun)]
    }

    /// Doubt, derived from the attempts (`src/store/attempts.rs`).
    pub fn doubt(&self) -> Doubt {
        let mut doubt = Doubt::default();
        for attempt in self.begun() {
            match attempt.mark {
                Some(AttemptMark::Open) => doubt.open = true,
                Some(AttemptMark::Unknown) => doubt.unknown += 1,
                Some(AttemptMark::Applied) => doubt.applied = true,
                Some(AttemptMark::NotApplied) | None => {}
            }
        }
        doubt
    }

    /// What a stored refusal says from now on is about later attempts.
    pub fn begin_epoch(&mut self) {
        for attempt in &mut self.attempts {
            attempt.before_consent = attempt.mark.is_some();
        }
    }

    /// What the state function looks at.
    pub fn state(&self) -> State {
        State {
            visible: self.visible,
            doubt: self.doubt(),
            cancel_requested: self.cancel_requested,
        }
    }

    /// It is accepted and hasn't ended.
    pub fn is_unsettled(&self) -> bool {
        self.accepted && !self.visible.is_final()
    }
}

impl World {
    /// Before anything has happened.
    pub fn new(expires: bool) -> Self {
        let mut world = Self {
            submissions: [Submission::UNKNOWN; 2],
            processes: [Process::default(); PROCESSES],
            token: 0,
            written_last: None,
            exception: false,
        };
        world.submissions[OLDER].accepted = true;
        world.submissions[OLDER].expires = expires;
        world
    }

    /// The attempts that a process works on.
    pub fn tasks(&self, process: u8) -> impl Iterator<Item = &Attempt> {
        self.submissions
            .iter()
            .flat_map(|submission| submission.begun())
            .filter(move |attempt| attempt.owner == Some(process) && attempt.task != Task::Nobody)
    }

    /// True if one of those has it busy: not one that it only listens for.
    pub fn is_busy(&self, process: u8) -> bool {
        self.tasks(process)
            .any(|attempt| attempt.task != Task::Listening)
    }
}
