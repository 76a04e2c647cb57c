//! How a target is run (V13): first the corpus, then so many inputs that are made from it, the same ones
//! for the same seed.

use std::panic::{AssertUnwindSafe, RefUnwindSafe};
use std::path::PathBuf;

use bolero::bolero_engine::input::Bytes;
use bolero::bolero_engine::panic::{forward_panic, set_hook};
use bolero::generator::bolero_generator::driver::Options;
use bolero::{Engine, Test, TestTarget};

use crate::common::attack::Attack;
use crate::mutator::Mutator;

/// Runs a target on its corpus and on so many inputs, and reports it.
pub fn fuzz(target: &'static str, name: &'static str, in_ci: u64, run: impl FnMut(&[u8])) {
    let attack = Attack::begin("V13", name);
    let engine = Seeded {
        target,
        seed: attack.seed(),
        count: attack.count(in_ci),
    };
    let (saved, made) = TestTarget::new(engine).for_each(unwind_safe(run));
    attack.report(&format!("{made} inputs after {saved} saved ones, 0 panics"));
}

/// A target that fails is not used again, but to make its input smaller.
fn unwind_safe(run: impl FnMut(&[u8])) -> impl FnMut(&[u8]) + RefUnwindSafe {
    let mut run = AssertUnwindSafe(run);
    move |input| {
        let run = &mut run;
        (run.0)(input);
    }
}

struct Seeded {
    target: &'static str,
    seed: u64,
    count: u64,
}

impl<T: Test> Engine<T> for Seeded
where
    T::Value: std::fmt::Debug,
{
    /// Inputs of the corpus, and others.
    type Output = (u64, u64);

    fn run(self, mut test: T, options: Options) -> (u64, u64) {
        let saved = corpus(self.target);
        assert!(!saved.is_empty(), "{} has no corpus", self.target);
        set_hook();
        let forwarded = forward_panic(false);
        for (file, input) in &saved {
            self.try_one(&mut test, input, &options, file);
        }
        let saved: Vec<Vec<u8>> = saved.into_iter().map(|(_, input)| input).collect();
        let mut mutator = Mutator::new(self.seed, &saved);
        for _ in 0..self.count {
            let input = mutator.next();
            self.try_one(&mut test, &input, &options, "a new one");
        }
        forward_panic(forwarded);
        (saved.len() as u64, self.count)
    }
}

impl Seeded {
    fn try_one<T: Test>(&self, test: &mut T, input: &[u8], options: &Options, which: &str)
    where
        T::Value: std::fmt::Debug,
    {
        let Err(error) = test.test(&mut Bytes::new(input, options)) else {
            return;
        };
        let smaller = test.shrink(input.to_vec(), None, options);
        forward_panic(true);
        let smaller = smaller.map(|failure| format!("{:?}", failure.input));
        panic!(
            "{}: {error}\ninput ({which}): {:?}\nmade smaller: {}\nkeep it in tests/fuzz/corpus/{}, or \
             again: SUBMIT_ONCE_SEED={} cargo test --test fuzz {}",
            self.target,
            String::from_utf8_lossy(input),
            smaller.unwrap_or_default(),
            self.target,
            self.seed,
            self.target,
        );
    }
}

/// What is kept of a target, by name.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("tests/fuzz/corpus").join(target);
    let files = std::fs::read_dir(folder).unwrap();
    let mut kept: Vec<(String, Vec<u8>)> = files
        .map(|file| {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read(path).unwrap())
        })
        .collect();
    kept.sort();
    kept
}
