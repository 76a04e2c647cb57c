//! The shares are met, the checks refuse nonsense.

use super::*;

#[test]
fn shares_are_met_over_many_keys() {
    let faults = Faults {
        commit_then_drop: 0.2,
        half: 0.1,
        ..Faults::default()
    };
    let drawn: Vec<Behaviour> = (0..10_000)
        .map(|n| faults.draw(7, &format!("key-{n}"), 0))
        .collect();
    let count = |wanted: &Behaviour| drawn.iter().filter(|b| *b == wanted).count();
    assert!((1_800..2_200).contains(&count(&Behaviour::CommitThenDrop)));
    assert!((850..1_150).contains(&count(&Behaviour::AnswerHalf)));
}

#[test]
fn a_draw_depends_on_seed_key_and_arrival_only() {
    let faults = Faults {
        late: 1.0,
        late_max_ms: 1_000_000,
        ..Faults::default()
    };
    assert_eq!(faults.draw(1, "a", 0), faults.draw(1, "a", 0));
    assert_ne!(faults.draw(1, "a", 0), faults.draw(1, "a", 1));
    assert_ne!(faults.draw(1, "a", 0), faults.draw(2, "a", 0));
    assert_ne!(faults.draw(1, "a", 0), faults.draw(1, "b", 0));
}

#[test]
fn impossible_shares_are_refused() {
    let negative = Faults {
        late: -0.1,
        ..Faults::default()
    };
    assert_eq!(negative.check(), Err(FaultsError::Share("late")));
    let not_a_number = Faults {
        half: f64::NAN,
        ..Faults::default()
    };
    assert_eq!(not_a_number.check(), Err(FaultsError::Share("half")));
    let too_much = Faults {
        half: 0.6,
        late: 0.6,
        ..Faults::default()
    };
    assert_eq!(too_much.check(), Err(FaultsError::Sum));
    let everything = Faults {
        half: 0.7,
        late: 0.2,
        commit_then_drop: 0.1,
        ..Faults::default()
    };
    assert_eq!(everything.check(), Ok(()));
}
