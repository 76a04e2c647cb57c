//! Histories that break one promise each, which the checker must say, beside the whole one that keeps
//! them all.

use super::{Event, State, check};

fn accepted(key: &str) -> Event {
    accepted_as(key, "POST tea", None)
}

fn accepted_as(key: &str, request: &str, lane: Option<&str>) -> Event {
    Event::Accepted {
        by: "app".into(),
        key: key.into(),
        request: request.into(),
        lane: lane.map(str::to_owned),
    }
}

fn maybe(key: &str) -> Event {
    Event::MaybeAccepted {
        by: "app".into(),
        key: key.into(),
        request: "POST tea".into(),
    }
}

fn received(number: u64, key: &str) -> Event {
    received_as(number, key, "POST /orders tea", "alice")
}

fn received_as(number: u64, key: &str, request: &str, account: &str) -> Event {
    Event::Received {
        number,
        key: key.into(),
        request: request.into(),
        account: account.into(),
    }
}

fn ended(number: u64) -> Event {
    Event::Ended { number }
}

fn effect(key: &str) -> Event {
    Event::Effect { key: key.into() }
}

fn listed(states: &[(&str, State)]) -> Event {
    Event::Listed {
        by: "app".into(),
        states: states
            .iter()
            .map(|(key, state)| ((*key).to_owned(), *state))
            .collect(),
    }
}

fn read(by: &str, key: &str, state: State, result: &str) -> Event {
    Event::Read {
        by: by.into(),
        key: key.into(),
        state,
        result: result.into(),
    }
}

fn sent(number: u64, key: &str) -> Vec<Event> {
    vec![received(number, key), effect(key), ended(number)]
}

/// The promises that the history broke.
fn promises(history: &[Event]) -> Vec<&'static str> {
    check(history).iter().map(|broken| broken.promise).collect()
}

fn breaks(promise: &str, history: &[Event]) {
    assert_eq!(promises(history), [promise], "{:?}", check(history));
}

#[test]
fn a_whole_history_keeps_every_promise() {
    let history = [
        accepted_as("a", "POST tea", Some("till")),
        accepted("a"),
        maybe("b"),
        accepted_as("c", "POST cake", Some("till")),
        maybe("never"),
        received(1, "a"),
        effect("a"),
        Event::Crashed {
            by: Some("app".into()),
        },
        ended(1),
        listed(&[
            ("a", State::InFlight),
            ("b", State::Pending),
            ("c", State::Pending),
        ]),
        received(2, "a"),
        ended(2),
        read("app", "a", State::Succeeded, "1"),
        received_as(3, "c", "POST /orders cake", "alice"),
        effect("c"),
        ended(3),
        read("widget", "a", State::Succeeded, "1"),
        Event::Settled,
        listed(&[
            ("a", State::Succeeded),
            ("b", State::Held),
            ("c", State::Succeeded),
        ]),
    ];
    assert_eq!(check(&history), []);
}

#[test]
fn an_accepted_submission_that_is_gone_is_noticed() {
    breaks(
        "never lost",
        &[
            accepted("a"),
            accepted("b"),
            listed(&[("a", State::Pending)]),
        ],
    );
}

#[test]
fn one_that_was_perhaps_accepted_may_not_vanish_once_it_was_seen() {
    let seen = listed(&[("a", State::Pending)]);
    breaks("never lost", &[maybe("a"), seen, listed(&[])]);
}

#[test]
fn a_submission_that_never_ends_is_noticed() {
    let history = [
        accepted("a"),
        Event::Settled,
        listed(&[("a", State::Pending)]),
    ];
    breaks("an end for all", &history);
}

#[test]
fn two_effects_are_noticed_and_one_more_for_each_consent_is_not() {
    let mut history = vec![accepted("a")];
    history.extend(sent(1, "a"));
    history.push(Event::Consented { key: "a".into() });
    history.extend(sent(2, "a"));
    assert_eq!(check(&history), []);
    history.extend(sent(3, "a"));
    breaks("at most once", &history);
}

#[test]
fn a_success_without_an_effect_is_noticed() {
    let history = [accepted("a"), read("app", "a", State::Succeeded, "1")];
    breaks("the truth", &history);
}

#[test]
fn a_rejection_of_what_was_done_is_noticed_before_and_after() {
    let rejected = read("app", "a", State::Rejected, "no");
    let mut history = vec![accepted("a")];
    history.extend(sent(1, "a"));
    history.push(rejected.clone());
    breaks("the truth", &history);
    let mut late = vec![accepted("a"), rejected];
    late.extend(sent(1, "a"));
    breaks("the truth", &late);
}

#[test]
fn another_body_account_or_url_under_the_same_key_is_noticed() {
    let first = [accepted("a"), received(1, "a"), ended(1)];
    for other in [
        received_as(2, "a", "POST /orders cake", "alice"),
        received_as(2, "a", "POST /orders tea", "bob"),
        received_as(2, "a", "PUT /orders tea", "alice"),
    ] {
        let mut history = first.to_vec();
        history.push(other);
        breaks("the same request", &history);
    }
}

#[test]
fn another_result_is_noticed() {
    let mut history = vec![accepted("a")];
    history.extend(sent(1, "a"));
    history.push(read("app", "a", State::Succeeded, "1"));
    history.push(read("widget", "a", State::Succeeded, "2"));
    breaks("the same result", &history);
}

#[test]
fn a_final_state_that_changes_is_noticed_across_a_crash_too() {
    let end = read("app", "a", State::Rejected, "no");
    let crash = Event::Crashed { by: None };
    let open = listed(&[("a", State::Pending)]);
    breaks("final is final", &[accepted("a"), end.clone(), crash, open]);
    let other = read("app", "a", State::Expired, "no");
    breaks("final is final", &[accepted("a"), end, other]);
}

#[test]
fn one_id_for_two_requests_or_twice_in_the_list_is_noticed() {
    let other = accepted_as("a", "POST cake", None);
    breaks("one submission per ID", &[accepted("a"), other]);
    let twice = listed(&[("a", State::Pending), ("a", State::Pending)]);
    breaks("one submission per ID", &[maybe("a"), twice]);
}

#[test]
fn ghosts_are_noticed() {
    breaks("no ghosts", &[received(1, "a")]);
    breaks("no ghosts", &[listed(&[("a", State::Pending)])]);
    let cancelled = read("app", "a", State::Cancelled, "");
    breaks("no ghosts", &[accepted("a"), cancelled, received(1, "a")]);
}

#[test]
fn effects_out_of_order_are_noticed() {
    let mut history = vec![
        accepted_as("a", "1", Some("till")),
        accepted_as("b", "2", Some("till")),
    ];
    history.extend(sent(1, "b"));
    history.extend(sent(2, "a"));
    breaks("order", &history);
}

#[test]
fn two_requests_on_the_wire_are_noticed_unless_a_process_was_frozen() {
    let twice = [accepted("a"), received(1, "a"), received(2, "a")];
    breaks("single flight", &twice);
    let mut thawed = twice.to_vec();
    thawed.insert(2, Event::Frozen { by: "app".into() });
    assert_eq!(check(&thawed), []);
}

#[test]
fn what_a_thawed_process_sends_is_excused_and_what_comes_after_is_not() {
    let by = || "app".to_owned();
    let mut history = vec![accepted("a"), Event::Frozen { by: by() }];
    history.push(received(1, "a"));
    let mut early = history.clone();
    early.push(received(2, "a"));
    breaks("single flight", &early);
    history.push(Event::Thawed { by: by() });
    history.push(received(2, "a"));
    assert_eq!(check(&history), []);
    history.push(received(3, "a"));
    breaks("single flight", &history);
}

#[test]
fn a_history_that_contradicts_itself_is_noticed() {
    breaks("a sound history", &[ended(1)]);
    breaks(
        "a sound history",
        &[accepted("a"), read("app", "a", State::Held, "")],
    );
    let twice = [accepted("a"), received(1, "a"), ended(1), received(1, "a")];
    breaks("a sound history", &twice);
}
