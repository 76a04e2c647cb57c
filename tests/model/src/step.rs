//! What can happen next.

use stateright::{Model, Property};
use submit_once::SubmissionState;
use submit_once::rules::{AttemptMark, Decision, Event};

use crate::invariants;
use crate::rule::Rule;
use crate::setting::Delivery;
use crate::tidy::tidy;
use crate::world::{Attempt, Heard, NEWER, OLDER, Run, Task, World};

/// One step. The first number is that of a process or of a submission, as its name says; of an attempt's
/// steps it is the submission's, and the second the attempt's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// A process claims a submission, or finds out why not to.
    Claim(u8, u8),
    /// There is no connection.
    CannotConnect(u8, u8),
    /// The connection is there; the last look at the lease.
    Look(u8, u8),
    /// The first byte.
    Send(u8, u8),
    /// The answer is read.
    Read(u8, u8),
    /// No answer within the time, or stopped.
    GiveUpWaiting(u8, u8),
    /// What was heard is written down.
    Settle(u8, u8),
    /// A process dies, and is started again.
    Kill(u8),
    /// A process is frozen by the system.
    Freeze(u8),
    /// It goes on.
    Thaw(u8),
    /// Its lease runs out.
    Lapse(u8),
    /// A process takes a submission over.
    TakeOver(u8, u8),
    /// The app cancels.
    Cancel(u8),
    /// Its time is over.
    Expire(u8),
    /// The newer one is accepted.
    Accept,
    /// The app decides.
    Decide(u8, Resolve),
    /// A status probe is asked, and the server looks.
    Ask(u8),
    /// Its answer is used.
    Learn(u8),
    /// A copy of a request is lost on its way.
    Lose(u8, u8),
    /// A gateway copies a request.
    Copy(u8, u8),
    /// Something before the handler answers.
    Intercept(u8, u8, Heard),
    /// A copy reaches the server.
    Arrive(u8, u8),
    /// The handler makes the effect.
    Apply(u8, u8),
    /// A handler that doesn't store both at once stores the key.
    Finish(u8, u8),
    /// The handler refuses.
    Refuse(u8, u8),
    /// The handler fails, and what it did is rolled back.
    Fail(u8, u8),
    /// The handler is ended with the connection.
    Abort(u8, u8),
    /// The key's lifetime, counted from the next attempt, is over.
    Age(u8),
    /// The server forgets the key.
    Forget(u8),
    /// The credentials are renewed.
    Renew,
}

/// A decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Resolve {
    /// The same key again, with a consent where that is needed.
    Retry,
    /// It happened.
    Happened,
    /// Stop asking.
    GiveUp,
}

impl Step {
    /// Time and the work of those that are well, and no fault.
    pub fn is_faultless(self) -> bool {
        match self {
            Self::Claim(..)
            | Self::Look(..)
            | Self::Send(..)
            | Self::Read(..)
            | Self::GiveUpWaiting(..)
            | Self::Settle(..)
            | Self::Lapse(..)
            | Self::TakeOver(..)
            | Self::Expire(..)
            | Self::Decide(..)
            | Self::Ask(..)
            | Self::Learn(..)
            | Self::Arrive(..)
            | Self::Apply(..)
            | Self::Finish(..)
            | Self::Age(..)
            | Self::Forget(..) => true,
            Self::CannotConnect(..)
            | Self::Kill(..)
            | Self::Freeze(..)
            | Self::Thaw(..)
            | Self::Cancel(..)
            | Self::Accept
            | Self::Lose(..)
            | Self::Copy(..)
            | Self::Intercept(..)
            | Self::Refuse(..)
            | Self::Fail(..)
            | Self::Abort(..)
            | Self::Renew => false,
        }
    }
}

impl Delivery {
    fn of_processes(&self, world: &World, steps: &mut Vec<Step>) {
        let setting = &self.setting;
        for process in 0..2u8 {
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

    fn of_submission(&self, world: &World, which: u8, steps: &mut Vec<Step>) {
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

    fn take(&self, world: &mut World, step: Step) {
        match step {
            Step::Claim(process, which) => self.claim(world, process, usize::from(which)),
            Step::TakeOver(by, which) => self.take_over(world, by, usize::from(which)),
            Step::Kill(process) => self.kill(world, process),
            Step::Freeze(process) => {
                world.processes[usize::from(process)].frozen = true;
                for submission in &mut world.submissions {
                    for attempt in &mut submission.attempts {
                        let checked = attempt.task == Task::Checked;
                        attempt.was_frozen |= checked && attempt.owner == Some(process);
                    }
                }
            }
            Step::Thaw(process) => world.processes[usize::from(process)].frozen = false,
            Step::Lapse(process) => world.processes[usize::from(process)].lease_out = true,
            Step::Accept => self.accept(world),
            Step::Renew => {
                world.token = 1;
                for submission in &mut world.submissions {
                    submission.owes_retry = false;
                }
            }
            Step::Cancel(which) => {
                let submission = &mut world.submissions[usize::from(which)];
                self.change(submission, Event::Cancel);
                submission.cancelled = true;
                submission.owes_retry = false;
            }
            Step::Expire(which) => {
                let submission = &mut world.submissions[usize::from(which)];
                submission.is_past_expiry = !self.has(Rule::RetryClearsExpiry);
                submission.expires = submission.is_past_expiry;
                self.change(submission, Event::ExpiryPassed);
            }
            Step::Decide(which, resolve) => {
                let decision = match resolve {
                    Resolve::Retry => Decision::Retry,
                    Resolve::Happened => Decision::Happened,
                    Resolve::GiveUp => Decision::GiveUp,
                };
                self.decide(world, usize::from(which), decision);
            }
            Step::Ask(which) => {
                let question = self.question(world, usize::from(which));
                world.submissions[usize::from(which)].question = question;
            }
            Step::Learn(which) => self.learn(world, usize::from(which)),
            Step::Age(which) => {
                let submission = &mut world.submissions[usize::from(which)];
                submission.owes_retry = false;
                if let Some(next) = submission.attempts.iter_mut().find(|next| !next.old) {
                    next.old = true;
                }
            }
            Step::Forget(which) => self.forget(world, usize::from(which)),
            Step::Send(which, number) => self.send(world, usize::from(which), usize::from(number)),
            Step::Apply(which, number) => {
                self.apply(world, usize::from(which), usize::from(number));
            }
            step => self.take_by_attempt(world, step),
        }
    }

    fn take_by_attempt(&self, world: &mut World, step: Step) {
        let (Step::CannotConnect(which, number)
        | Step::Look(which, number)
        | Step::Read(which, number)
        | Step::GiveUpWaiting(which, number)
        | Step::Settle(which, number)
        | Step::Lose(which, number)
        | Step::Copy(which, number)
        | Step::Intercept(which, number, _)
        | Step::Arrive(which, number)
        | Step::Finish(which, number)
        | Step::Refuse(which, number)
        | Step::Fail(which, number)
        | Step::Abort(which, number)) = step
        else {
            unreachable!("{step:?} is taken elsewhere");
        };
        let processes = world.processes;
        let submission = &mut world.submissions[usize::from(which)];
        let place = usize::from(number);
        let attempt = &mut submission.attempts[place];
        match step {
            Step::CannotConnect(..) => attempt.task = Task::Read(Heard::NoConnection),
            Step::Look(..) => {
                let owner = attempt.owner.map_or(0, usize::from);
                Self::look(attempt, processes[owner]);
            }
            Step::Read(..) => {
                if let Some(heard) = attempt.answer.take() {
                    attempt.task = Task::Read(heard);
                }
            }
            Step::GiveUpWaiting(..) => attempt.task = Task::Read(Heard::Nothing),
            Step::Settle(..) => self.settle(submission, number),
            Step::Lose(..) => attempt.travelling -= 1,
            Step::Copy(..) => {
                attempt.travelling += 1;
                attempt.copied = true;
            }
            Step::Intercept(_, _, heard) => {
                attempt.travelling -= 1;
                attempt.answer = Some(heard);
            }
            Step::Arrive(..) => self.arrive(submission, place),
            Step::Finish(..) => self.finish(submission, place),
            Step::Refuse(..) => self.refuse(submission, place),
            Step::Fail(..) => {
                attempt.run = Run::Nothing;
                attempt.answer = Some(Heard::ServerError);
            }
            _ => attempt.run = Run::Nothing,
        }
    }
}

impl Model for Delivery {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(self.setting.expires)]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        self.of_processes(world, steps);
        self.of_submission(world, OLDER as u8, steps);
        if self.setting.pair {
            if world.submissions[NEWER].accepted {
                self.of_submission(world, NEWER as u8, steps);
            } else {
                steps.push(Step::Accept);
            }
        }
        if self.setting.renews && world.token == 0 {
            steps.push(Step::Renew);
        }
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        let mut next = *world;
        self.take(&mut next, step);
        self.supersede(&mut next);
        tidy(&mut next);
        (next != *world).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        invariants::properties()
    }
}
