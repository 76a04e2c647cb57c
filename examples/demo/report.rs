//! The verdict for people, and for programs.

use std::time::Duration;

use crate::app::THREADS;
use crate::verdict::Verdict;

pub fn print(verdict: &Verdict, took: Duration, as_json: bool) {
    let server = &verdict.server;
    let kills = verdict.kills;
    let retries = server.requests.saturating_sub(server.keys);
    println!();
    row(
        "taps",
        verdict.taps,
        &format!("calls of submit, from {THREADS} threads"),
    );
    row("submissions", verdict.submissions, "one for each order");
    row(
        "requests",
        server.requests,
        &format!(
            "that reached the server, {} of them from workers",
            verdict.requests_of_workers
        ),
    );
    row("retries", retries, "repeats, each with the same key");
    row(
        "answers lost",
        server.answers_lost,
        "effects and replays whose answer never came through",
    );
    row("refusals", server.errors_503, "503, come back in a second");
    row(
        "workers killed",
        kills.killed,
        &format!(
            "{} of them while the server had a request of theirs",
            kills.killed_with_request_on_wire
        ),
    );
    row("effects", verdict.effects, "at the server");
    row("duplicate effects", server.duplicate_effects, "");
    row("lost", verdict.lost, "submissions");
    row("held", verdict.held, "submissions that wait for a decision");
    row("keys", server.max_keys_per_path, "per submission, at most");
    row(
        "in flight",
        server.max_in_flight_per_key,
        "requests with one key at once, at most",
    );
    row(
        "too soon",
        verdict.too_soon,
        "requests within the quiet time after a lost answer",
    );
    row(
        "results replayed",
        verdict.replayed_receipts,
        "taps that met the first result, byte for byte",
    );
    println!("  {:<18} {:>7.1}", "seconds", took.as_secs_f64());
    println!();
    if verdict.broken.is_empty() {
        println!("Every order took effect exactly once.");
    } else {
        println!(
            "Promises were broken: {}, each named on standard error.",
            verdict.broken.len()
        );
    }
    if as_json {
        println!("{}", figures(verdict, retries, took));
    }
}

/// One JSON object, in the table's order.
fn figures(verdict: &Verdict, retries: u64, took: Duration) -> String {
    let server = &verdict.server;
    let numbers = [
        ("submissions", verdict.submissions),
        ("taps", verdict.taps),
        ("requests", server.requests),
        ("requests_of_workers", verdict.requests_of_workers),
        ("retries", retries),
        ("answers_lost", server.answers_lost),
        ("processes_killed", verdict.kills.killed),
        (
            "killed_with_request_on_wire",
            verdict.kills.killed_with_request_on_wire,
        ),
        ("effects", verdict.effects),
        ("duplicate_effects", server.duplicate_effects),
        ("lost", verdict.lost),
        ("held", verdict.held),
        ("unsettled", verdict.unsettled),
        ("max_keys_per_submission", server.max_keys_per_path),
        ("max_in_flight_per_key", server.max_in_flight_per_key),
        ("within_quiet_time", verdict.too_soon),
        ("replayed_receipts", verdict.replayed_receipts),
        ("broken", verdict.broken.len() as u64),
    ];
    let members: String = numbers
        .iter()
        .map(|(name, number)| format!("\"{name}\":{number},"))
        .collect();
    format!("{{{members}\"seconds\":{:.2}}}", took.as_secs_f64())
}

fn row(name: &str, number: u64, meaning: &str) {
    println!("  {name:<18} {number:>7}   {meaning}");
}
