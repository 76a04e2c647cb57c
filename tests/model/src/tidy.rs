//! What makes no difference is forgotten, so that states that behave alike are one.

use submit_once::rules::AttemptMark;

use crate::world::{Attempt, PROCESSES, Record, Submission, Task, World};

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
    for process in 0..PROCESSES as u8 {
        let busy = world.is_busy(process);
        let state = &mut world.processes[usize::from(process)];
        state.frozen &= busy;
        state.lease_out &= busy;
    }
    // Three of them are in order after three such looks.
    for process in [0, 1, 0] {
        if weight(world, process) < weight(world, process + 1) {
            swap(world, process);
        }
    }
}

/// Two neighbours change their numbers.
fn swap(world: &mut World, process: u8) {
    let next = process + 1;
    world
        .processes
        .swap(usize::from(process), usize::from(next));
    for submission in &mut world.submissions {
        for attempt in &mut submission.attempts {
            attempt.owner = match attempt.owner {
                Some(owner) if owner == process => Some(next),
                Some(owner) if owner == next => Some(process),
                owner => owner,
            };
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
