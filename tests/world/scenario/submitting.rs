//! The three ways to submit. Files of bodies are the app's, and gone when the call returns.

use std::sync::Barrier;

use serde_json::{Value, json};
use submit_once::{Outbox, OutboxError, Receipt, Submission};

use super::format::Content;
use super::{forms, read};
use crate::common::Place;

pub fn one(outbox: &Outbox, content: &Content, place: &Place) -> Result<Value, OutboxError> {
    let receipt = with_files(place, || outbox.submit(read::submission(content, place)?))?;
    Ok(forms::receipt(&receipt))
}

pub fn all(outbox: &Outbox, contents: &[Content], place: &Place) -> Result<Value, OutboxError> {
    let read = |content| read::submission(content, place);
    let receipts = with_files(place, || {
        outbox.submit_all(contents.iter().map(read).collect::<Result<_, _>>()?)
    })?;
    Ok(receipts.iter().map(forms::receipt).collect())
}

/// The same from several threads; how many calls met what.
pub fn at_once(
    outbox: &Outbox,
    content: &Content,
    callers: usize,
    place: &Place,
) -> Result<Value, OutboxError> {
    let receipts = with_files(place, || {
        call_at_once(outbox, &read::submission(content, place)?, callers)
    })?;
    let mut counts = json!({"accepted": 0, "joined": 0, "replayed": 0});
    for receipt in &receipts {
        let kind = forms::receipt(receipt)["kind"].clone();
        let count = &mut counts[kind.as_str().unwrap()];
        *count = json!(count.as_u64().unwrap() + 1);
    }
    Ok(counts)
}

fn call_at_once(
    outbox: &Outbox,
    submission: &Submission,
    callers: usize,
) -> Result<Vec<Receipt>, OutboxError> {
    let start = Barrier::new(callers);
    let call = || {
        start.wait();
        outbox.submit(submission.clone())
    };
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..callers).map(|_| scope.spawn(call)).collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    })
}

fn with_files<T>(
    place: &Place,
    call: impl FnOnce() -> Result<T, OutboxError>,
) -> Result<T, OutboxError> {
    std::fs::create_dir(place.folder().join(read::BODIES)).unwrap();
    let result = call();
    std::fs::remove_dir_all(place.folder().join(read::BODIES)).unwrap();
    result
}
