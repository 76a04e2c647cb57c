//! What can happen next.

use stateright::{Model, Property};

use crate::invariants;
use crate::setting::Delivery;
use crate::tidy::tidy;
use crate::world::{Heard, NEWER, OLDER, World};

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
