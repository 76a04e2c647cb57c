//! Status probes: asked in one step, and used in another.

use submit_once::rules::{AttemptMark, Event, Evidence};

use crate::rule::Rule;
use crate::setting::{Delivery, Probe, Quiet};
use crate::table::is_for_doubt;
use crate::world::{Attempt, Question, Record, Submission, World};

impl Delivery {
    /// Nothing that was sent can still be under way (`src/store/probes/horizon.rs`).
    fn is_past_horizon(&self, submission: &Submission) -> bool {
        if !self.has(Rule::ProbeWaitsHorizon) {
            return Self::is_quiet(submission.begun(), Quiet::ServerOnly);
        }
        submission
            .begun()
            .iter()
            .enumerate()
            .all(|(number, attempt)| {
                let counts = attempt.is_unknown() || number + 1 == usize::from(submission.begun);
                !counts || (attempt.has_ended() && !attempt.is_under_way())
            })
    }

    /// The question that a probe would bring back now, if it is worth asking.
    pub(crate) fn question(&self, world: &World, which: usize) -> Option<Question> {
        let submission = &world.submissions[which];
        let asks = is_for_doubt(submission.visible) && submission.question.is_none();
        if !asks || self.setting.probe == Probe::Nothing {
            return None;
        }
        let found = match self.setting.probe {
            Probe::Nothing => false,
            Probe::Effect => submission.effects > 0,
            Probe::KeyRecord => matches!(
                submission.records[usize::from(world.token)],
                Record::Done(_)
            ),
        };
        let settled = self.is_past_horizon(submission);
        let worth = found || settled || !self.has(Rule::ProbeJudgedWhenAsked);
        worth.then_some(Question {
            begun: submission.begun,
            settled,
            found,
        })
    }

    /// Another attempt begins, or a decision is made: what is found then is of the past.
    pub(crate) fn forget_question(&self, submission: &mut Submission) {
        if self.has(Rule::ProbeBoundToAttempts) {
            submission.question = None;
        }
    }

    /// `settle` in `src/store/probes/mod.rs`.
    pub(crate) fn learn(&self, world: &mut World, which: usize) {
        let token = world.token;
        let submission = &mut world.submissions[which];
        let Some(question) = submission.question.take() else {
            return;
        };
        let unknown = submission.attempts.iter().position(Attempt::is_unknown);
        if question.found {
            if let Some(earliest) = unknown
                && self.change(submission, Event::LateProof(Evidence::Applied))
            {
                submission.attempts[earliest].mark = Some(AttemptMark::Applied);
            }
            return;
        }
        if question.begun != submission.begun && self.has(Rule::ProbeBoundToAttempts) {
            return;
        }
        let of_record = self.setting.probe == Probe::KeyRecord;
        if of_record
            && self.has(Rule::ForgottenRecordSaysNothing)
            && self.is_forgotten(submission, token)
        {
            return;
        }
        let settled = if self.has(Rule::ProbeJudgedWhenAsked) {
            question.settled
        } else {
            self.is_past_horizon(submission)
        };
        if !settled {
            return;
        }
        while let Some(unknown) = submission.attempts.iter().position(Attempt::is_unknown) {
            if !self.change(submission, Event::LateProof(Evidence::NotApplied(None))) {
                return;
            }
            submission.attempts[unknown].mark = Some(AttemptMark::NotApplied);
        }
    }
}
