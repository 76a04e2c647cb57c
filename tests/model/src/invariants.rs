//! What must hold in every state that can be reached.

use stateright::Property;
use submit_once::SubmissionState;

use crate::setting::{Delivery, Quiet};
use crate::table::is_for_doubt;
use crate::world::{Attempt, NEWER, OLDER, Run, Submission, World};

/// I1.
pub const ONE_EFFECT: &str = "I1 one effect per key";
/// I2.
pub const SUCCESS_HAPPENED: &str = "I2 what succeeded has its effect";
/// I3.
pub const UNDONE_IS_UNDONE: &str = "I3 what is called undone has no effect, now or later";
/// I4.
pub const FINAL_IS_FINAL: &str = "I4 a final state never changes";
/// I5.
pub const SINGLE_FLIGHT: &str = "I5 one request per key at once";
/// I6.
pub const CANCEL_STOPS: &str = "I6 nothing begins after a cancel";
/// I7.
pub const NEWEST_WINS: &str = "I7 the newest that succeeded was written last";
/// I8.
pub const HELD_IN_DOUBT: &str = "I8 what is held for doubt is in doubt";
/// I9.
pub const RETRY_IS_SENT: &str = "I9 a decision to retry needs no other decision";
/// No step asks the state function for what can't happen.
pub const NOTHING_ILLEGAL: &str = "the state function knows every event";

/// All of them.
pub(crate) fn properties() -> Vec<Property<Delivery>> {
    vec![
        Property::always(ONE_EFFECT, |of, world| {
            each(world, |one| one_effect(of, world, one))
        }),
        Property::always(SUCCESS_HAPPENED, |_, world| each(world, success_happened)),
        Property::always(UNDONE_IS_UNDONE, |_, world| each(world, undone_is_undone)),
        Property::always(FINAL_IS_FINAL, |_, world| {
            each(world, |one| !one.final_changed)
        }),
        Property::always(SINGLE_FLIGHT, |of, world| {
            each(world, |one| single_flight(of, world, one))
        }),
        Property::always(CANCEL_STOPS, |_, world| {
            each(world, |one| !one.sent_after_cancel)
        }),
        Property::always(NEWEST_WINS, newest_wins),
        Property::always(HELD_IN_DOUBT, |_, world| {
            each(world, |one| {
                !is_for_doubt(one.visible) || one.doubt().in_doubt()
            })
        }),
        Property::always(RETRY_IS_SENT, |_, world| {
            each(world, |one| !one.owes_retry || !is_for_doubt(one.visible))
        }),
        Property::always(NOTHING_ILLEGAL, |_, world| each(world, |one| !one.illegal)),
    ]
}

fn each(world: &World, holds: impl Fn(&Submission) -> bool) -> bool {
    world.submissions.iter().all(holds)
}

/// A server that doesn't store key and effect together under a lock can be made to do it twice by the
/// documented exception; and only by that.
fn one_effect(of: &Delivery, world: &World, one: &Submission) -> bool {
    let server = &of.setting.server;
    let together = server.keyed && server.locks && !server.aborts;
    let exempt = is_excused(of, world) && !together;
    one.effects <= 1 || one.accepts_second || exempt
}

fn is_excused(of: &Delivery, world: &World) -> bool {
    world.exception && !of.setting.strict
}

fn success_happened(one: &Submission) -> bool {
    one.visible != SubmissionState::Succeeded || one.decided || one.effects > 0
}

fn undone_is_undone(one: &Submission) -> bool {
    match one.visible {
        SubmissionState::Rejected { .. }
        | SubmissionState::Cancelled
        | SubmissionState::Expired => one.effects == 0,
        // Its doubt is recorded, and so is what ends it.
        SubmissionState::Superseded { .. } => {
            one.effects == 0 || one.doubt().in_doubt() || one.doubt().applied
        }
        SubmissionState::Pending
        | SubmissionState::InFlight
        | SubmissionState::Held { .. }
        | SubmissionState::Succeeded
        | SubmissionState::Abandoned => true,
    }
}

/// Asked where the quiet time covers the network, and no gateway makes copies.
fn single_flight(of: &Delivery, world: &World, one: &Submission) -> bool {
    if of.setting.quiet != Quiet::Full || of.setting.copies || is_excused(of, world) {
        return true;
    }
    let at_once =
        |attempt: &Attempt| u32::from(attempt.travelling) + u32::from(attempt.run != Run::Nothing);
    one.begun().iter().map(at_once).sum::<u32>() <= 1
}

fn newest_wins(of: &Delivery, world: &World) -> bool {
    let newer = &world.submissions[NEWER];
    let succeeded = newer.visible == SubmissionState::Succeeded && !newer.decided;
    !succeeded || is_excused(of, world) || world.written_last != Some(OLDER as u8)
}
