//! What a single answer would mean, in a few sentences.

use std::time::SystemTime;

use submit_once::classification::{Proof, judge};
use submit_once::{Effect, Reported, WallMs};

use crate::args::Question;
use crate::words;

pub fn sentence(question: &Question) -> String {
    let Question { case, answer } = question;
    let wall = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| {
            i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
        });
    let meaning = judge(case, &Reported::Answered(answer.clone()), WallMs(wall));
    let what = match case.effect {
        Effect::Safe => "a request that changes nothing",
        _ if case.in_doubt => "a submission in doubt",
        _ => "a first attempt",
    };
    let proof = match meaning.proves {
        Proof::Applied => "that it took effect",
        Proof::NotApplied => "that this attempt had no effect",
        Proof::Unknown => "nothing about this attempt",
    };
    let asked = meaning.asked.map_or_else(String::new, |wait| {
        format!(" The server asked to wait {} s.", wait.as_secs())
    });
    format!(
        "{} to {what} under the profile “{}” proves {proof}. The submission is {}. {}{asked}",
        answer.status,
        case.profile.name,
        words::verdict(&meaning),
        words::advice(&meaning),
    )
}
