//! The rules that are taken out by hand, and the test that notices each.

use crate::common::attack::{Attack, assert_noticed, is_weakened};

/// The rule, the test, and where the test fails.
const MUTANTS: [(&str, &str, &str); 11] = [
    (
        "cancel-forgets-doubt",
        "doubt::a_cancel_with_an_earlier_attempt_in_doubt_is_held_when_the_open_one_fails",
        "tests/logic/doubt.rs",
    ),
    (
        "refusal-forgets-doubt",
        "doubt::a_refusal_without_doubt_is_final_and_with_doubt_is_held",
        "tests/logic/doubt.rs",
    ),
    (
        "lost-lease-proves",
        "lapses::an_attempt_whose_lease_was_lost_stays_in_doubt",
        "tests/logic/lapses.rs",
    ),
    (
        "unknown-age-is-young",
        "lifetime::the_age_counts_across_reboots_and_a_clock_that_was_set_back_makes_it_over",
        "tests/logic/lifetime.rs",
    ),
    (
        "stored-error-is-retried",
        "classifier::the_page_says_what_the_classifier_decides",
        "A replay marker",
    ),
    (
        "no-key-lifetime",
        "lifetime::after_a_day_offline_what_is_in_doubt_is_held_and_what_was_never_sent_goes",
        "tests/logic/lifetime.rs",
    ),
    (
        "consent-stays",
        "lifetime::past_the_lifetime_a_retry_needs_consent_for_each_send",
        "tests/logic/lifetime.rs",
    ),
    (
        "no-fence",
        "doubt::a_late_success_beats_the_refusal_of_the_next_attempt",
        "tests/logic/doubt.rs",
    ),
    (
        "result-is-dropped",
        "replay::the_first_result_survives_a_restart_byte_for_byte",
        "tests/logic/replay.rs",
    ),
    (
        "no-quiet-time",
        "takeovers::what_a_dead_process_had_on_the_wire_waits_the_quiet_time",
        "tests/mutants/takeovers.rs",
    ),
    (
        "held-lock-is-dead",
        "takeovers::what_a_living_process_has_on_the_wire_is_left_to_it",
        "tests/mutants/takeovers.rs",
    ),
];

#[test]
fn each_seeded_mutant_is_caught() {
    if is_weakened() {
        return;
    }
    let attack = Attack::begin("V17", "seeded mutants");
    for (weakness, test, complaint) in MUTANTS {
        assert_noticed(weakness, test, complaint);
    }
    let count = MUTANTS.len();
    attack.report(&format!("{count} of {count} caught"));
}
