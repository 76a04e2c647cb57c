//! What each step does.

use submit_once::rules::{Decision, Event};

use crate::rule::Rule;
use crate::setting::Delivery;
use crate::step::{Resolve, Step};
use crate::world::{Heard, Run, Task, World};

impl Delivery {
    pub(crate) fn take(&self, world: &mut World, step: Step) {
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
