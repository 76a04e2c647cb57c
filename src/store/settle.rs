//! Settling: what an exchange meant is written to its attempt and its submission.
//!
//! Guarded by the fence: only the attempt that has the submission in flight moves it. An answer to
//! an earlier attempt is late; it is recorded on that attempt and may prove something.

use std::time::Duration;

use rusqlite::named_params;

use super::attempts::{self, End};
use super::batches::{split, splits};
use super::gates::{self, HostGate};
use super::probes;
use super::rows::{Want, spell_headers};
use super::submissions::{self, Due, Row, ask, change, note_problem, set_floor};
use super::totals;
use super::view::answer_checksum;
use super::writer::Tx;
use crate::clock::WallMs;
use crate::error::OutboxError;
use crate::model::state::{
    AttemptMark, Ending, Event, Evidence, Proof, RejectReason, SubmissionState, Then,
};
use crate::model::submission::Header;
use crate::policy::classify::{Closes, Counts, Judgement, Settles, Wait};
use crate::policy::limits::Limits;
use crate::weakness::{self, Weakness};

/// An exchange that has ended, judged.
#[derive(Clone)]
pub(crate) struct Finished {
    /// The submission's row.
    pub(crate) submission: i64,
    /// The attempt.
    pub(crate) attempt: i64,
    /// What it meant.
    pub(crate) judgement: Judgement,
    /// How long to wait before the next attempt, if there is one.
    pub(crate) delay: Duration,
    /// The part of it that can't be shortened.
    pub(crate) floor: Duration,
    /// A random share of a host's wait to add to it, in thousandths.
    pub(crate) spread: u32,
    /// What the wait is for want of.
    pub(crate) want: Want,
    /// It may have left the device, and got no answer.
    pub(crate) silent: bool,
    /// How it ended, in words without secrets.
    pub(crate) problem: Option<String>,
    /// The answer, where there was one.
    pub(crate) answer: Option<KeptAnswer>,
    /// The server's clock, where the answer told it.
    pub(crate) server_time: Option<WallMs>,
}

/// An answer, as it is kept.
#[derive(Clone)]
pub(crate) struct KeptAnswer {
    pub(crate) status: u16,
    pub(crate) content_type: Option<String>,
    pub(crate) headers: Vec<Header>,
    /// `None` if it didn't arrive whole.
    pub(crate) body: Option<Vec<u8>>,
}

/// Writes what an exchange meant. Returns the submission's state after it, if it is still there.
pub(super) fn settle(
    tx: &Tx<'_>,
    finished: &Finished,
    limits: &Limits,
) -> Result<Option<SubmissionState>, OutboxError> {
    if let Some(server_time) = finished.server_time {
        attempts::note_server_time(tx, server_time)?;
    }
    let Some(mark) = attempts::mark(tx.connection, finished.attempt)? else {
        // Retention has dropped the submission, and its tombstone says how it ended; or the attempt
        // was pruned, since it certainly had no effect.
        return Ok(None);
    };
    let mut row = submissions::by_seq(tx.connection, finished.submission)?;
    let unfenced = row.fence.is_some() && weakness::is_out(Weakness::NoFence);
    match mark {
        AttemptMark::Open if row.fence == Some(finished.attempt) => {
            on_time(tx, &mut row, finished, limits)?;
        }
        AttemptMark::Open | AttemptMark::Unknown if unfenced => {
            on_time(tx, &mut row, finished, limits)?;
        }
        AttemptMark::Open | AttemptMark::Unknown => late(tx, &mut row, finished, mark, limits)?,
        // A stored refusal said that it had no effect, and its own answer says otherwise.
        AttemptMark::NotApplied if finished.judgement.proves == Proof::Applied => {
            note_late_evidence(tx, &mut row, finished)?;
        }
        // The same answer twice: a host's transport may report one again.
        AttemptMark::NotApplied | AttemptMark::Applied => {}
    }
    Ok(Some(row.state))
}

fn on_time(
    tx: &Tx<'_>,
    row: &mut Row,
    finished: &Finished,
    limits: &Limits,
) -> Result<(), OutboxError> {
    let judgement = &finished.judgement;
    let since = match judgement.settles {
        _ if weakness::is_out(Weakness::DoubtClearedByAny)
            && judgement.proves == Proof::NotApplied =>
        {
            Some(0)
        }
        Settles::Nothing => None,
        Settles::SinceConsent => Some(row.epoch),
        Settles::Everything => Some(0),
    };
    let closes_earlier = match since {
        None => 0,
        Some(epoch) => attempts::unknown_since(tx.connection, row, epoch, finished.attempt)?,
    };
    let ended = |then| {
        Event::AttemptEnded(Ending {
            proves: judgement.proves,
            closes_earlier,
            then,
        })
    };
    let mut transition = ask(tx, row, ended(judgement.then))?;
    let asks = probes::instead_of(row, &transition.next);
    if asks {
        transition = ask(tx, row, ended(Then::Retry))?;
    }
    let halves = splits(tx, row, finished, &transition.next.visible, limits)?;
    if halves.is_some() {
        transition = ask(tx, row, ended(Then::Refuse(RejectReason::Split)))?;
    }
    end_attempt(tx, finished)?;
    match finished.judgement.proves {
        Proof::Unknown => tx.count(totals::DOUBTS_RAISED, 1),
        Proof::NotApplied if finished.silent => attempts::note_silent(tx, finished.attempt)?,
        Proof::NotApplied | Proof::Applied => {}
    }
    if let Some(epoch) = since {
        attempts::close_unknown_since(tx, row, epoch, finished.attempt)?;
    }
    gate(tx, row, finished, limits)?;
    count(tx, row, finished)?;
    let unsent = matches!(
        finished.judgement.counts,
        Counts::Transport | Counts::Nothing
    ) && finished.judgement.proves == Proof::NotApplied;
    if unsent && attempts::had_consent(tx.connection, finished.attempt)? {
        // Nothing left the device, so the consent still stands.
        row.consent = true;
    }
    row.owner = None;
    row.fence = None;
    if let Some(problem) = &finished.problem {
        note_problem(tx, row, problem)?;
    }
    keep_result(tx, row, finished, &transition.next.visible)?;
    if asks || matches!(transition.next.visible, SubmissionState::Held { .. }) {
        set_floor(tx, row, finished.floor)?;
    }
    if asks {
        change(tx, row, &transition, Due::Unchanged)?;
        return probes::ask_first(tx, row);
    }
    let due = Due::In {
        delay: finished.delay,
        floor: finished.floor,
    };
    change(tx, row, &transition, due)?;
    match halves {
        Some(halves) => split(tx, row, &halves),
        None => Ok(()),
    }
}

fn end_attempt(tx: &Tx<'_>, finished: &Finished) -> rusqlite::Result<()> {
    attempts::end(
        tx,
        finished.attempt,
        &End {
            mark: finished.judgement.proves.mark(),
            ended: true,
            status: finished.answer.as_ref().map(|answer| answer.status),
            problem: finished.problem.as_deref(),
        },
    )
}

/// What the answer says of the host and of the credentials.
fn gate(tx: &Tx<'_>, row: &Row, finished: &Finished, limits: &Limits) -> rusqlite::Result<()> {
    if finished.judgement.proves == Proof::Applied {
        return gates::note_success(tx, row.seq, finished.attempt);
    }
    match finished.judgement.closes {
        Closes::Nothing => Ok(()),
        Closes::Host => gates::close_host(
            tx,
            row.seq,
            &HostGate {
                asked: matches!(finished.judgement.wait, Wait::Server(_)).then_some(finished.delay),
                spread: finished.spread,
            },
            limits,
        ),
        Closes::Account => gates::close_account(tx, row.seq, finished.attempt),
    }
}

/// The errors that a server is known to freeze under a key.
fn may_be_frozen(status: u16) -> bool {
    matches!(status, 401 | 429 | 500 | 501 | 503)
}

/// Counts the same error in a row. What never was an answer says nothing of it.
fn count_same(tx: &Tx<'_>, row: &mut Row, finished: &Finished) -> rusqlite::Result<()> {
    let Some(status) = finished.answer.as_ref().map(|answer| answer.status) else {
        return Ok(());
    };
    if row.same_status == Some(status) {
        row.same = row.same.saturating_add(1);
        row.same_for = row.same_for.saturating_add(finished.delay);
        return Ok(());
    }
    let counts = may_be_frozen(status) || finished.judgement.closes == Closes::Account;
    row.same_status = counts.then_some(status);
    row.same = u32::from(row.same_status.is_some());
    row.same_for = finished.delay;
    if row.same_status.is_some() {
        row.same_well = gates::successes(tx, row.seq)?;
    }
    Ok(())
}

/// The budgets, which count answers, and the backoff, which counts failures in a row.
fn count(tx: &Tx<'_>, row: &mut Row, finished: &Finished) -> rusqlite::Result<()> {
    count_same(tx, row, finished)?;
    row.want = finished.want;
    if finished.judgement.counts != Counts::Nothing {
        row.failures = row.failures.saturating_add(1);
    }
    match finished.judgement.counts {
        Counts::Answered => {
            row.answered = row.answered.saturating_add(1);
            row.answered_for = row.answered_for.saturating_add(finished.delay);
            row.busy = 0;
            row.busy_for = Duration::ZERO;
        }
        Counts::Busy => {
            row.busy = row.busy.saturating_add(1);
            row.busy_for = row.busy_for.saturating_add(finished.delay);
        }
        Counts::Transport | Counts::Nothing => {}
    }
    Ok(())
}

/// Keeps the answer if it is, or may become, the result: that of an applied attempt, and the
/// refusal that a submission ends with.
fn keep_result(
    tx: &Tx<'_>,
    row: &Row,
    finished: &Finished,
    to: &SubmissionState,
) -> rusqlite::Result<()> {
    let applied = finished.judgement.proves == Proof::Applied;
    let refused = matches!(to, SubmissionState::Rejected { .. })
        && matches!(finished.judgement.then, Then::Refuse(_));
    if (applied || refused)
        && !weakness::is_out(Weakness::ResultIsDropped)
        && let Some(answer) = &finished.answer
    {
        keep_answer(
            tx,
            row,
            finished.attempt,
            answer,
            finished.judgement.keeps_result,
        )?;
    }
    Ok(())
}

pub(super) fn keep_answer(
    tx: &Tx<'_>,
    row: &Row,
    attempt: i64,
    answer: &KeptAnswer,
    whole: bool,
) -> rusqlite::Result<()> {
    let body = answer.body.as_deref().filter(|_| whole);
    let content_type = answer.content_type.as_deref();
    tx.connection
        .prepare_cached(
            "INSERT INTO answer (attempt, submission, status, content_type, headers, missing,
                checksum, body)
             VALUES (:attempt, :submission, :status, :content_type, :headers, :missing,
                :checksum, :body)
             ON CONFLICT (attempt) DO NOTHING",
        )?
        .execute(named_params! {
            ":attempt": attempt,
            ":submission": row.seq,
            ":status": answer.status,
            ":content_type": content_type,
            ":headers": spell_headers(&answer.headers),
            ":missing": body.is_none(),
            ":checksum": answer_checksum(Some(answer.status), content_type, &answer.headers, body),
            ":body": body,
        })?;
    Ok(())
}

/// An answer to an attempt that is no longer the one in flight.
fn late(
    tx: &Tx<'_>,
    row: &mut Row,
    finished: &Finished,
    mark: AttemptMark,
    limits: &Limits,
) -> Result<(), OutboxError> {
    let evidence = match finished.judgement.proves {
        Proof::Applied => Evidence::Applied,
        Proof::NotApplied => Evidence::NotApplied(match finished.judgement {
            Judgement {
                settles: Settles::SinceConsent | Settles::Everything,
                then: Then::Refuse(reason),
                ..
            } => Some(reason),
            _ => None,
        }),
        Proof::Unknown => {
            // Nothing is proven; but the attempt has ended now, which probes ask for.
            tx.count(totals::DOUBTS_RAISED, i64::from(mark == AttemptMark::Open));
            return Ok(end_attempt(tx, finished)?);
        }
    };
    let mut transition = ask(tx, row, Event::LateProof(evidence))?;
    let halves = match row.state.is_final() {
        true => None,
        false => splits(tx, row, finished, &transition.next.visible, limits)?,
    };
    if halves.is_some() {
        let split = Evidence::NotApplied(Some(RejectReason::Split));
        transition = ask(tx, row, Event::LateProof(split))?;
    }
    end_attempt(tx, finished)?;
    if !row.state.is_final() && mark == AttemptMark::Unknown {
        tx.count(totals::DOUBTS_SETTLED, 1);
    }
    if transition.late {
        return note_late_evidence(tx, row, finished);
    }
    if finished.judgement.proves == Proof::Applied
        && let Some(answer) = &finished.answer
    {
        keep_answer(
            tx,
            row,
            finished.attempt,
            answer,
            finished.judgement.keeps_result,
        )?;
    }
    let reopened = transition.next.visible == SubmissionState::Pending
        && row.state != SubmissionState::Pending;
    let due = if reopened { Due::Now } else { Due::Unchanged };
    change(tx, row, &transition, due)?;
    match &halves {
        Some(halves) => split(tx, row, halves),
        None => Ok(()),
    }
}

/// The end never changes; what came after it is shown beside it.
fn note_late_evidence(tx: &Tx<'_>, row: &mut Row, finished: &Finished) -> Result<(), OutboxError> {
    let evidence = match finished.judgement.proves {
        Proof::Applied => "an attempt took effect, as a later answer shows",
        Proof::NotApplied | Proof::Unknown => "an attempt had no effect, as a later answer shows",
    };
    row.revision += 1;
    tx.connection
        .prepare_cached("UPDATE submission SET late_evidence = ?2, revision = ?3 WHERE seq = ?1")?
        .execute((row.seq, evidence, row.revision))?;
    submissions::feed(tx, row)
}
