//! A transport with one flaw fails exactly the point that speaks of it, and one without passes.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that panics has failed, and says where"
)]

#[path = "flaws/reading.rs"]
mod reading;
#[path = "flaws/transport.rs"]
mod transport;

use std::sync::Arc;

use submit_once_transport_conformance::points;

use transport::{Flaw, Plain};

/// The names of the points that a transport with this flaw fails.
fn failed(flaw: Flaw) -> Vec<&'static str> {
    let checks = points().into_iter().map(|point| {
        std::thread::spawn(move || {
            let result = (point.check)(&|| Arc::new(Plain::new(flaw)));
            result.err().map(|problem| {
                println!("{flaw:?} fails {}: {problem}", point.name);
                point.name
            })
        })
    });
    let checks: Vec<_> = checks.collect();
    checks
        .into_iter()
        .filter_map(|check| check.join().unwrap())
        .collect()
}

#[test]
fn a_transport_without_a_flaw_passes() {
    assert_eq!(failed(Flaw::None), [""; 0]);
}

#[test]
fn each_point_is_failed_by_a_flaw_of_its_own() {
    let mut unfailed: Vec<&str> = points().iter().map(|point| point.name).collect();
    let mut others = Vec::new();
    // Several at once: those that hang wait for the suite's patience.
    for some in FLAWS.chunks(AT_ONCE) {
        let running = some
            .iter()
            .map(|(flaw, _)| std::thread::spawn(|| failed(*flaw)));
        let running: Vec<_> = running.collect();
        for ((flaw, expected), running) in some.iter().zip(running) {
            let failed = running.join().unwrap();
            if failed != *expected {
                others.push(format!("{flaw:?} fails {failed:?}"));
            }
            unfailed.retain(|name| !failed.contains(name));
        }
    }
    assert_eq!(others, [""; 0]);
    assert_eq!(unfailed, [""; 0], "points that no flaw fails");
}

const AT_ONCE: usize = 6;

const FLAWS: &[(Flaw, &[&str])] = &[
    // Those that take their time, all at once.
    (Flaw::BlocksInStart, &["start_returns_at_once"]),
    (Flaw::IgnoresFailedLook, &["look_with_a_body"]),
    (Flaw::IgnoresStopBeforeAnswer, &["stop_before_the_answer"]),
    (Flaw::IgnoresStopWithinAnswer, &["stop_within_the_answer"]),
    (Flaw::IgnoresPauses, &["pauses"]),
    // Having looked, it can't say any more that nothing has left.
    (
        Flaw::LooksBeforeConnecting,
        &["refused_connection", "look_after_connecting"],
    ),
    (Flaw::TidiesUrls, &["as_given"]),
    (Flaw::AddsHeader, &["nothing_added"]),
    (Flaw::CutsLargeBodies, &["large_body"]),
    (Flaw::CutsLargeFiles, &["file_body"]),
    (Flaw::TellsNoProgress, &["progress"]),
    (Flaw::PadsFiles, &["file_ended_early"]),
    (Flaw::OmitsLengthZero, &["empty_body_has_length_zero"]),
    (Flaw::FollowsRedirects, &["no_redirect"]),
    (Flaw::RepeatsAfterReset, &["no_repeat_unread"]),
    (Flaw::RepeatsAfterEnd, &["no_repeat_read"]),
    (Flaw::KeepsCookies, &["no_cookie"]),
    (Flaw::KeepsAnswers, &["no_cache"]),
    (Flaw::TakesRefusedForLost, &["refused_connection"]),
    (Flaw::TakesLostForUnbegun, &["left_without_answer"]),
    (Flaw::LooksLateWithBody, &["look_with_a_body"]),
    (Flaw::LooksLateWithoutBody, &["look_without_a_body"]),
    (Flaw::LooksLateIfSafe, &["look_of_a_safe_method"]),
    (Flaw::LooksLateWithFile, &["look_with_a_file"]),
    (Flaw::KeepsCase, &["names_in_lower_case"]),
    (Flaw::TakesInterim, &["interim_answers"]),
    (Flaw::ChokesOnChunks, &["body_in_chunks"]),
    (Flaw::WantsLength, &["body_until_the_end"]),
    (Flaw::WantsBodyOfHead, &["no_body_after_head"]),
    (Flaw::DecodesWrongly, &["decoded"]),
    (Flaw::CutsOneEarly, &["as_large_as_allowed"]),
    (Flaw::IgnoresSize, &["larger_than_allowed"]),
    (Flaw::IgnoresDecodedSize, &["larger_when_decoded"]),
    (Flaw::TakesShortForWhole, &["cut_before_its_length"]),
    (Flaw::TakesOpenChunksForWhole, &["cut_within_chunks"]),
    (Flaw::TakesBadGzipForWhole, &["cut_when_encoded"]),
    (Flaw::TakesAnything, &["not_an_answer"]),
    (Flaw::ReportsTwice, &["one_report"]),
];
