//! What makes no difference is forgotten, so that states that behave alike are one.

use submit_once::rules::AttemptMark;

use crate::world::{Attempt, Record, Submission, Task, World};

/// Forgets what makes no difference any more, and gives the processes an order, since they are alike.
pub(crate) fn tidy(world: &mut World) {
    for submission in &mut world.submissions {
        for attempt in &mut submission.attempts {
            tidy_attempt(attempt);
        }
        if submission.visible.is_final() {
            tidy_settled(submission);
        }
    }
    for process in 0..2u8 {
        let busy = world.is_busy(process);
        let state = &mut world.processes[usize::from(process)];
        state.frozen &= busy;
        state.lease_out &= busy;
    }
    if weight(world, 0) < weight(world, 1) {
        world.processes.swap(0, 1);
        for submission in &mut world.submissions {
            for attempt in &mut submission.attempts {
                attempt.owner = attempt.owner.map(|owner| 1 - owner);
            }
        }
    }
}

fn tidy_attempt(attempt: &mut Attempt) {
    if attempt.mark.is_none() {
        return;
    }
    let under_way = attempt.is_under_way();
    if attempt.task == Task::Listening && !under_way && attempt.answer.is_none() {
        attempt.task = Task::Nobody;
    }
    if attempt.task == Task::Nobody {
        attempt.owner = None;
        attempt.answer = None;
        attempt.was_frozen = false;
        attempt.ended = true;
    }
    if !under_way {
        attempt.stray = false;
        attempt.copied = false;
        let closed = attempt.mark == Some(AttemptMark::NotApplied);
        if closed && attempt.task == Task::Nobody {
            attempt.before_consent = false;
            attempt.consented = false;
        }
    }
}

fn tidy_settled(submission: &mut Submission) {
    submission.consent = false;
    submission.expires = false;
    submission.question = None;
    submission.owes_retry = false;
    submission.used = 0;
    let over = |attempt: &Attempt| {
        let sends = matches!(attempt.task, Task::Claimed | Task::Checked);
        !sends && !attempt.is_under_way()
    };
    if submission.begun().iter().all(over) {
        submission.records = [Record::Nothing; 2];
    }
}

/// Tells two processes apart by what they do.
fn weight(world: &World, process: u8) -> u32 {
    let state = world.processes[usize::from(process)];
    let mut weight = u32::from(state.frozen) << 1 | u32::from(state.lease_out);
    for submission in &world.submissions {
        for attempt in &submission.attempts {
            weight = weight << 1 | u32::from(attempt.owner == Some(process));
        }
    }
    weight
}
