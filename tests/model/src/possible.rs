//! Which steps are possible.

use submit_once::SubmissionState;
use submit_once::rules::AttemptMark;

use crate::rule::Rule;
use crate::setting::Delivery;
use crate::step::{Resolve, Step};
use crate::world::{Attempt, Heard, Run, Task, World};

impl Delivery {
    pub(crate) fn of_processes(&self, world: &World, steps: &mut Vec<Step>) {
        let setting = &self.setting;
        for process in 0..setting.processes {
            let state = world.processes[usize::from(process)];
            let busy = world.is_busy(process);
            if setting.kills && world.tasks(process).next().is_some() {
                steps.push(Step::Kill(process));
            }
            let may_lapse = state.frozen || (setting.lapses && self.lease_may_end(world, process));
            if busy && !state.lease_out && may_lapse {
                steps.push(Step::Lapse(process));
            }
            if state.frozen {
                steps.push(Step::Thaw(process));
                continue;
            }
            if setting.freezes && busy {
                steps.push(Step::Freeze(process));
            }
            for which in 0..2u8 {
                let place = usize::from(which);
                let submission = &world.submissions[place];
                if self.is_lost(world, process, place) {
                    steps.push(Step::TakeOver(process, which));
                }
                let claims = submission.accepted
                    && submission.visible == SubmissionState::Pending
                    && !state.lease_out
                    && self.is_due(submission)
                    && !self.is_blocked(world, place);
                if claims {
                    steps.push(Step::Claim(process, which));
                }
            }
        }
    }

    /// A lease is longer than the way from the last look to the first byte.
    fn lease_may_end(&self, world: &World, process: u8) -> bool {
        !self.has(Rule::LeaseOutlastsSend)
            || world
                .tasks(process)
                .all(|attempt| attempt.task != Task::Checked)
    }

    pub(crate) fn of_submission(&self, world: &World, which: u8, steps: &mut Vec<Step>) {
        let setting = &self.setting;
        let place = usize::from(which);
        let submission = &world.submissions[place];
        if submission.is_unsettled() {
            if setting.cancels && !submission.cancelled {
                steps.push(Step::Cancel(which));
            }
            if submission.expires && submission.visible != SubmissionState::InFlight {
                steps.push(Step::Expire(which));
            }
            if matches!(submission.visible, SubmissionState::Held { .. }) {
                if setting.retries && submission.begun < setting.attempts {
                    steps.push(Step::Decide(which, Resolve::Retry));
                }
                if setting.decisions {
                    steps.push(Step::Decide(which, Resolve::Happened));
                    steps.push(Step::Decide(which, Resolve::GiveUp));
                }
            }
            if self.question(world, place).is_some() {
                steps.push(Step::Ask(which));
            }
            if submission.question.is_some() {
                steps.push(Step::Learn(which));
            }
        }
        if setting.server.forgets {
            let ages =
                |attempt: &Attempt| !attempt.old && attempt.mark != Some(AttemptMark::NotApplied);
            if submission.begun().iter().any(ages) {
                steps.push(Step::Age(which));
            }
            if self.may_forget(world, place) {
                steps.push(Step::Forget(which));
            }
        }
        for number in 0..submission.begun {
            self.of_attempt(world, which, number, steps);
        }
    }

    fn of_attempt(&self, world: &World, which: u8, number: u8, steps: &mut Vec<Step>) {
        let setting = &self.setting;
        let submission = &world.submissions[usize::from(which)];
        let attempt = &submission.attempts[usize::from(number)];
        let works = attempt
            .owner
            .is_some_and(|owner| !world.processes[usize::from(owner)].frozen);
        if works {
            match attempt.task {
                Task::Claimed => {
                    if setting.faults {
                        steps.push(Step::CannotConnect(which, number));
                    }
                    steps.push(Step::Look(which, number));
                }
                Task::Checked => steps.push(Step::Send(which, number)),
                Task::Sent => {
                    if attempt.answer.is_some() {
                        steps.push(Step::Read(which, number));
                    }
                    steps.push(Step::GiveUpWaiting(which, number));
                }
                Task::Listening if attempt.answer.is_some() => {
                    steps.push(Step::Read(which, number));
                }
                Task::Read(_) => steps.push(Step::Settle(which, number)),
                Task::Nobody | Task::Listening => {}
            }
        }
        if attempt.travelling > 0 {
            steps.push(Step::Lose(which, number));
            if setting.copies && !attempt.copied {
                steps.push(Step::Copy(which, number));
            }
            if setting.refusals {
                steps.push(Step::Intercept(which, number, Heard::Refused));
                steps.push(Step::Intercept(which, number, Heard::Wait));
            }
            if attempt.run == Run::Nothing {
                steps.push(Step::Arrive(which, number));
            }
        }
        let hung_up = Self::hung_up(submission, usize::from(number));
        match attempt.run {
            Run::Nothing => {}
            Run::Running => {
                steps.push(Step::Apply(which, number));
                if setting.refusals {
                    steps.push(Step::Refuse(which, number));
                }
                if setting.faults {
                    steps.push(Step::Fail(which, number));
                }
            }
            Run::Effected => {
                steps.push(Step::Finish(which, number));
                if hung_up {
                    steps.push(Step::Abort(which, number));
                }
            }
        }
    }
}
