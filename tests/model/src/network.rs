//! The steps of the network and of the server.

use crate::rule::Rule;
use crate::setting::Delivery;
use crate::world::{Attempt, Heard, MOST, Process, Record, Run, Submission, Task, World};

impl Delivery {
    /// The first byte leaves.
    pub(crate) fn send(&self, world: &mut World, which: usize, number: usize) {
        let fence = world.submissions[which].fence;
        let attempt = &mut world.submissions[which].attempts[number];
        attempt.task = Task::Sent;
        attempt.travelling = 1;
        let taken_over = fence.map(usize::from) != Some(number);
        attempt.stray = taken_over && attempt.was_frozen;
        attempt.was_frozen = false;
        let stray = attempt.stray;
        world.exception |= stray;
    }

    /// A copy reaches the server, which looks at the key.
    pub(crate) fn arrive(&self, submission: &mut Submission, number: usize) {
        let server = &self.setting.server;
        let token = usize::from(submission.attempts[number].token);
        let in_use = submission
            .begun()
            .iter()
            .any(|other| other.run != Run::Nothing && usize::from(other.token) == token);
        let record = submission.records[token];
        let attempt = &mut submission.attempts[number];
        attempt.travelling -= 1;
        match record {
            Record::Done(_) if server.keyed => attempt.answer = Some(Heard::Applied),
            Record::Refused(_) if server.keyed => attempt.answer = Some(Heard::StoredRefusal),
            _ if server.keyed && server.locks && in_use => {
                attempt.answer = Some(Heard::InProgress);
            }
            _ => attempt.run = Run::Running,
        }
    }

    /// The handler makes the effect; most servers store the key with it.
    pub(crate) fn apply(&self, world: &mut World, which: usize, number: usize) {
        let server = &self.setting.server;
        // How often the same is overwritten doesn't matter.
        let most = if server.overwrites { 1 } else { 2 };
        let submission = &mut world.submissions[which];
        submission.effects = most.min(submission.effects + 1);
        submission.attempts[number].run = Run::Effected;
        world.written_last = self.setting.pair.then_some(which as u8);
        if !server.aborts {
            self.finish(submission, number);
        }
    }

    /// The handler stores the key and answers.
    pub(crate) fn finish(&self, submission: &mut Submission, number: usize) {
        let attempt = &mut submission.attempts[number];
        attempt.run = Run::Nothing;
        attempt.answer = Some(Heard::Applied);
        if self.setting.server.keyed {
            submission.records[usize::from(attempt.token)] = Record::Done(maker(number, attempt));
        }
    }

    /// The handler refuses.
    pub(crate) fn refuse(&self, submission: &mut Submission, number: usize) {
        let attempt = &mut submission.attempts[number];
        attempt.run = Run::Nothing;
        attempt.answer = Some(Heard::Refused);
        if self.setting.server.freezes_errors {
            submission.records[usize::from(attempt.token)] =
                Record::Refused(maker(number, attempt));
        }
    }

    /// Nobody waits for the answer of this attempt any more.
    pub(crate) fn hung_up(submission: &Submission, number: usize) -> bool {
        submission.attempts[number].task != Task::Sent
    }

    /// The server may forget the key now: the lifetime of the attempt that made the record is over, and
    /// the margin of the lifetime lets nothing that counted on the record be under way. What a stray made
    /// later than that is kept.
    pub(crate) fn may_forget(&self, world: &World, which: usize) -> bool {
        let submission = &world.submissions[which];
        let record = submission.records[0];
        let by = match record {
            Record::Nothing => return false,
            Record::Done(by) | Record::Refused(by) if by < KEPT => usize::from(by),
            Record::Done(_) | Record::Refused(_) => return false,
        };
        let counts_on_it = submission.begun().iter().any(|attempt| {
            let about_to_send = matches!(attempt.task, Task::Claimed | Task::Checked)
                && !is_frozen(&world.processes, attempt.owner);
            let under_way = attempt.is_under_way() && self.has(Rule::LifetimeMargin);
            !attempt.consented && (about_to_send || under_way)
        });
        submission.attempts[by].old && !counts_on_it
    }

    pub(crate) fn forget(&self, world: &mut World, which: usize) {
        let processes = world.processes;
        for process in &mut world.processes {
            // The margin is longer than any lease.
            process.lease_out |= process.frozen;
        }
        let submission = &mut world.submissions[which];
        submission.records[0] = Record::Nothing;
        for attempt in &mut submission.attempts {
            let frozen = is_frozen(&processes, attempt.owner);
            if attempt.task == Task::Checked && frozen && self.has(Rule::LookAfterConnect) {
                // The connection is dead by then; with the next one it looks again.
                attempt.task = Task::Claimed;
                attempt.was_frozen = false;
            }
        }
    }
}

/// Stands for the maker of a record that is kept for the rest of the search.
const KEPT: u8 = MOST as u8;

fn maker(number: usize, attempt: &Attempt) -> u8 {
    if attempt.old { KEPT } else { number as u8 }
}

fn is_frozen(processes: &[Process], owner: Option<u8>) -> bool {
    owner.is_some_and(|owner| processes[usize::from(owner)].frozen)
}
