//! The steps of the core.

use submit_once::SubmissionState;
use submit_once::rules::{
    AttemptMark, Decision, Ending, Event, Evidence, Judgement, Proof, Settles, State, Then,
};

use crate::rule::Rule;
use crate::server::Lifetime;
use crate::setting::{Delivery, Quiet};
use crate::world::{Attempt, Heard, Process, Run, Submission, Task, World};

impl Delivery {
    /// Carries an event out (`change` in `src/store/submissions.rs`). False if nothing was changed: the
    /// state function knows no such thing, or the database refuses to change what is final.
    pub(crate) fn change(&self, submission: &mut Submission, event: Event) -> bool {
        self.change_from(submission, submission.state(), event)
    }

    fn change_from(&self, submission: &mut Submission, state: State, event: Event) -> bool {
        let Some(transition) = self.next(&state, event) else {
            submission.illegal = true;
            return false;
        };
        let to = transition.next.visible;
        if submission.visible.is_final() && to != submission.visible {
            if self.has(Rule::FinalGuard) {
                return false;
            }
            submission.final_changed = true;
        }
        submission.visible = to;
        submission.cancel_requested = transition.next.cancel_requested;
        if transition.fresh_start {
            submission.used = 0;
            submission.expires &= !self.has(Rule::RetryClearsExpiry);
        }
        true
    }

    /// Nothing of a key can still be worked on, as far as the quiet time tells. It began when the attempt
    /// ended or was taken over, so that it knows nothing of a stray.
    pub(crate) fn is_quiet(attempts: &[Attempt], quiet: Quiet) -> bool {
        attempts.iter().all(|attempt| {
            let busy = match quiet {
                Quiet::Full => attempt.is_under_way(),
                Quiet::ServerOnly => attempt.run != Run::Nothing,
                Quiet::Off => false,
            };
            !busy || attempt.stray
        })
    }

    /// It is due (`src/store/settle.rs`, `takeover.rs` and `resolve.rs` set the floor).
    pub(crate) fn is_due(&self, submission: &Submission) -> bool {
        let hurries = submission.owes_retry && !self.has(Rule::DecisionWaitsQuiet);
        submission.doubt().unknown == 0
            || hurries
            || Self::is_quiet(submission.begun(), self.setting.quiet)
    }

    /// The server may not know the key of an attempt in doubt (`forgotten` in `src/store/claim.rs`).
    pub(crate) fn is_forgotten(&self, submission: &Submission, token: u8) -> bool {
        let mut doubtful = submission
            .begun()
            .iter()
            .filter(|attempt| attempt.mark != Some(AttemptMark::NotApplied))
            .peekable();
        let Some(earliest) = doubtful.peek() else {
            return false;
        };
        let over = match self.lifetime {
            Lifetime::Endless => false,
            Lifetime::Limited => earliest.old && self.has(Rule::LifetimeAsked),
            Lifetime::Zero => true,
        };
        let scoped = self.setting.server.per_token && self.has(Rule::OtherTokenOtherKey);
        over || (scoped && doubtful.any(|attempt| attempt.token != token))
    }

    /// `src/store/claim.rs`: what speaks against sending comes first.
    pub(crate) fn claim(&self, world: &mut World, process: u8, which: usize) {
        let token = world.token;
        let submission = &mut world.submissions[which];
        if submission.is_past_expiry && submission.expires {
            self.change(submission, Event::ExpiryPassed);
            return;
        }
        if !submission.consent && self.is_forgotten(submission, token) {
            self.change(submission, Event::KeyLifetimeOver);
            return;
        }
        if submission.used >= self.setting.budget || submission.begun >= self.setting.attempts {
            self.change(submission, Event::BudgetUsedUp);
            return;
        }
        if !self.change(submission, Event::Claimed) {
            return;
        }
        let number = submission.begun;
        let last = number.checked_sub(1).map(usize::from);
        if self.setting.server.per_token
            && last.is_some_and(|last| submission.attempts[last].token != token)
        {
            // Another token is another key to the server.
            submission.begin_epoch();
        }
        submission.attempts[usize::from(number)] = Attempt {
            mark: Some(AttemptMark::Open),
            owner: Some(process),
            task: Task::Claimed,
            consented: submission.consent,
            token,
            ..Attempt::NOT_BEGUN
        };
        submission.begun += 1;
        submission.used += 1;
        submission.fence = Some(number);
        submission.consent = false;
        self.forget_question(submission);
        submission.owes_retry = false;
        submission.sent_after_cancel |= submission.cancelled;
    }

    /// The last look, once the connection is chosen (`may_send` in `src/delivery/http.rs`).
    pub(crate) fn look(attempt: &mut Attempt, process: Process) {
        attempt.task = if process.lease_out {
            Task::Read(Heard::NotSent)
        } else {
            Task::Checked
        };
    }

    /// `src/store/settle.rs`: on time if the attempt has its submission in flight, else late.
    pub(crate) fn settle(&self, submission: &mut Submission, number: u8) {
        let place = usize::from(number);
        let Task::Read(heard) = submission.attempts[place].task else {
            return;
        };
        let judgement = self.judgement(heard);
        let fenced = submission.fence == Some(number);
        match submission.attempts[place].mark {
            _ if !self.has(Rule::Fence) => self.unfenced(submission, number, judgement),
            Some(AttemptMark::Open) if fenced => self.on_time(submission, number, judgement),
            Some(AttemptMark::Open | AttemptMark::Unknown) => {
                self.late(submission, number, judgement);
            }
            Some(AttemptMark::NotApplied | AttemptMark::Applied) | None => {}
        }
        let attempt = &mut submission.attempts[place];
        attempt.ended = true;
        let listens = heard == Heard::Nothing && self.setting.late;
        if self.setting.twice && heard != Heard::Nothing && attempt.answer.is_none() {
            attempt.answer = Some(heard);
        }
        attempt.task = if listens || self.setting.twice {
            Task::Listening
        } else {
            Task::Nobody
        };
    }

    fn on_time(&self, submission: &mut Submission, number: u8, judgement: &Judgement) {
        let settles = |attempt: &Attempt| match judgement.settles {
            Settles::Nothing => false,
            Settles::SinceConsent => !attempt.before_consent,
            Settles::Everything => true,
        };
        let closes = |attempt: &Attempt| attempt.is_unknown() && settles(attempt);
        let closes_earlier = submission.begun().iter().filter(|attempt| closes(attempt));
        let ending = Ending {
            proves: judgement.proves,
            closes_earlier: u32::try_from(closes_earlier.count()).unwrap_or(u32::MAX),
            then: judgement.then,
        };
        if !self.change(submission, Event::AttemptEnded(ending)) {
            return;
        }
        for attempt in &mut submission.attempts {
            let one_bit = !self.has(Rule::DoubtPerAttempt) && judgement.proves == Proof::NotApplied;
            if closes(attempt) || (one_bit && attempt.is_unknown()) {
                attempt.mark = Some(AttemptMark::NotApplied);
            }
        }
        let attempt = &mut submission.attempts[usize::from(number)];
        attempt.mark = Some(judgement.proves.mark());
        if attempt.consented
            && matches!(
                attempt.task,
                Task::Read(Heard::NoConnection | Heard::NotSent)
            )
        {
            // Nothing left the device, so the consent still stands.
            submission.consent = !submission.visible.is_final();
        }
        submission.fence = None;
    }

    fn late(&self, submission: &mut Submission, number: u8, judgement: &Judgement) {
        let evidence = match judgement.proves {
            Proof::Applied => Evidence::Applied,
            Proof::NotApplied => Evidence::NotApplied(match (judgement.settles, judgement.then) {
                (Settles::SinceConsent | Settles::Everything, Then::Refuse(reason)) => Some(reason),
                _ => None,
            }),
            Proof::Unknown => return,
        };
        if self.change(submission, Event::LateProof(evidence)) {
            submission.attempts[usize::from(number)].mark = Some(judgement.proves.mark());
        }
    }

    /// Without a fence, what ends is taken for what is in flight.
    fn unfenced(&self, submission: &mut Submission, number: u8, judgement: &Judgement) {
        let place = usize::from(number);
        let mut state = submission.state();
        state.visible = SubmissionState::InFlight;
        state.doubt.unknown -= u32::from(submission.attempts[place].is_unknown());
        state.doubt.open = true;
        let ending = Ending {
            proves: judgement.proves,
            closes_earlier: 0,
            then: judgement.then,
        };
        if self.change_from(submission, state, Event::AttemptEnded(ending)) {
            submission.attempts[place].mark = Some(judgement.proves.mark());
            submission.fence = None;
        }
    }

    /// It can be taken over: its owner is dead, or another's lease is out (`src/store/takeover.rs`).
    pub(crate) fn is_lost(&self, world: &World, by: u8, which: usize) -> bool {
        let submission = &world.submissions[which];
        let Some(fence) = submission.fence else {
            return false;
        };
        match submission.attempts[usize::from(fence)].owner {
            None => true,
            Some(owner) if owner == by && self.has(Rule::NotFromOneself) => false,
            Some(owner) => world.processes[usize::from(owner)].lease_out,
        }
    }

    pub(crate) fn take_over(&self, world: &mut World, by: u8, which: usize) {
        let submission = &mut world.submissions[which];
        let Some(fence) = submission.fence else {
            return;
        };
        if !self.change(submission, Event::LeaseLost) {
            return;
        }
        let attempt = &mut submission.attempts[usize::from(fence)];
        attempt.mark = Some(AttemptMark::Unknown);
        attempt.ended |= !self.has(Rule::OwnerLock);
        submission.fence = None;
        if attempt.owner == Some(by) {
            // It believes that this one is over, and goes on with a new lease.
            world.processes[usize::from(by)].lease_out = false;
        }
    }

    /// It dies, and is there again as another owner.
    pub(crate) fn kill(&self, world: &mut World, process: u8) {
        for submission in &mut world.submissions {
            let open = submission.fence.map(usize::from);
            for (number, attempt) in submission.attempts.iter_mut().enumerate() {
                if attempt.owner != Some(process) {
                    continue;
                }
                attempt.owner = None;
                attempt.task = Task::Nobody;
                if !self.has(Rule::RowBeforeSend) && open == Some(number) {
                    // Nothing was written down of it.
                    attempt.mark = Some(AttemptMark::NotApplied);
                    submission.visible = SubmissionState::Pending;
                    submission.cancel_requested = false;
                    submission.fence = None;
                }
            }
        }
        world.processes[usize::from(process)] = Process::default();
    }

    /// A decision to retry needs a consent to a second effect (`retry` in `src/store/resolve.rs`).
    pub(crate) fn needs_consent(&self, world: &World, which: usize) -> bool {
        self.is_forgotten(&world.submissions[which], world.token)
    }

    pub(crate) fn decide(&self, world: &mut World, which: usize, decision: Decision) {
        let consents = decision == Decision::Retry && self.needs_consent(world, which);
        let submission = &mut world.submissions[which];
        if !self.change(submission, Event::Decided(decision)) {
            return;
        }
        submission.decided |= decision == Decision::Happened;
        self.forget_question(submission);
        if decision == Decision::Retry {
            submission.cancelled = false;
            submission.owes_retry = true;
        }
        if consents {
            submission.consent = self.has(Rule::ConsentIsStored);
            submission.begin_epoch();
            submission.accepts_second = true;
        }
    }
}
