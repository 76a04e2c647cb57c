//! Random walks through the API (V10).

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};

use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use proptest_state_machine::ReferenceStateMachine;

use crate::common::attack::{Attack, assert_noticed, is_weakened};
use crate::common::sim::simulate;
use crate::model::Model;
use crate::steps::Calls;
use crate::subject::Subject;
use crate::terms::{Answer, State};

const STEPS: usize = 50;
/// Milliseconds for a walk that went wrong.
const SHRINKING: u32 = 10_000;
/// As many as a small machine has cores.
const THREADS: u64 = 2;

/// What a walk has met, of all that there is.
#[derive(Default)]
struct Met(Mutex<BTreeMap<&'static str, u64>>);

impl Met {
    fn count(&self, name: &'static str) {
        *self.0.lock().unwrap().entry(name).or_default() += 1;
    }

    fn note(&self, answer: &Answer) {
        if let Answer::Several(answers) = answer {
            answers.iter().for_each(|answer| self.note(answer));
        }
        self.count(answer.name());
    }

    fn note_states(&self, model: &Model) {
        for entry in model.entries.iter().flatten() {
            entry
                .history
                .iter()
                .for_each(|state| self.count(state.name()));
        }
    }

    /// A walk that never gets somewhere shows nothing of it.
    fn check(&self) {
        let met = self.0.lock().unwrap();
        for name in Answer::NAMES.iter().chain(&State::NAMES) {
            let times = met.get(name).copied().unwrap_or_default();
            assert!(times >= 5, "{name}: met {times} times only");
        }
    }
}

/// Walks so many times. A walk that goes wrong is made smaller, and told.
fn walk(seed: u64, walks: u64, met: &Met) {
    let config = Config {
        cases: u32::try_from(walks).unwrap(),
        failure_persistence: None,
        max_shrink_time: if is_weakened() { 500 } else { SHRINKING },
        ..Config::default()
    };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let calls = Calls::sequential_strategy(STEPS..=STEPS);
    let walked = runner.run(&calls, |(mut model, steps, counter)| {
        simulate(1, |world| async move {
            let mut subject = Subject::new(world);
            for step in &steps {
                if let Some(counter) = &counter {
                    counter.fetch_add(1, SeqCst);
                }
                let before = model.clone();
                model = Calls::apply(model, step);
                subject.take(step, &before, &model).await;
                met.note(&model.answer);
            }
            subject.check_feed(&model);
            met.note_states(&model);
        });
        Ok(())
    });
    match walked {
        Ok(()) => {}
        Err(TestError::Fail(reason, (_, steps, _))) => {
            panic!("{reason}\nthe fewest steps to it: {steps:#?}");
        }
        Err(aborted) => panic!("{aborted}"),
    }
}

#[test]
fn every_answer_is_that_of_the_reference() {
    let attack = Attack::begin("V10", "the API against a reference");
    let walks = attack.count(2_000);
    let seed = attack.seed();
    let met = Arc::new(Met::default());
    let run = |thread: u64| {
        let met = Arc::clone(&met);
        std::thread::spawn(move || walk(seed * THREADS + thread, walks / THREADS, &met))
    };
    for (thread, walked) in (0..THREADS)
        .map(run)
        .collect::<Vec<_>>()
        .into_iter()
        .enumerate()
    {
        assert!(
            walked.join().is_ok(),
            "thread {thread} went wrong; again: SUBMIT_ONCE_SEED={seed} cargo test --test machine"
        );
    }
    met.check();
    attack.report(&format!(
        "{walks} walks of {STEPS} calls, each answer and every submission compared"
    ));
}

#[test]
fn a_final_state_that_may_change_is_found() {
    assert_noticed(
        "no-terminal-guard",
        "walks::every_answer_is_that_of_the_reference",
        "the fewest steps to it",
    );
}
