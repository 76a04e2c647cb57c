//! Texts that come over the bindings: IDs, profiles, names.

use submit_once::{
    ListFilter, Outbox, OutboxConfig, OutboxError, PageRequest, SubmissionId, derive_submission_id,
    parse_submission_id, profile_from_json,
};

use crate::common::Place;
use crate::engine::fuzz;

#[test]
fn texts_are_refused_or_mean_one_thing() {
    let place = Place::in_memory();
    let outbox = Outbox::open(OutboxConfig::at(place.path())).unwrap();
    let mut count = 0_u64;
    fuzz("strings", "malformed texts", 150_000, |input| {
        let text = String::from_utf8_lossy(input).into_owned();
        check_id(&text);
        check_profile(&text);
        count += 1;
        if count.is_multiple_of(16) {
            check_names(&outbox, &text);
        }
    });
}

/// What is read prints the same, but for case; and so do derived ones.
fn check_id(text: &str) {
    if let Ok(id) = parse_submission_id(text.to_owned()) {
        assert_eq!(id.to_string(), text.to_ascii_lowercase());
        assert_eq!(SubmissionId::parse(&id.to_string()), Ok(id));
    }
    let derived = derive_submission_id(None, "buy".to_owned(), text.to_owned());
    assert_eq!(derived, SubmissionId::derived(None, "buy", text));
    assert_eq!(SubmissionId::parse(&derived.to_string()), Ok(derived));
    let mut halves = text.char_indices().map(|(at, _)| text.split_at(at)).skip(1);
    if let Some((action, key)) = halves.next() {
        let split = SubmissionId::derived(None, action, key);
        assert_ne!(
            split,
            SubmissionId::derived(None, "", text),
            "parts run together"
        );
        assert_ne!(split, SubmissionId::derived(Some(""), action, key));
    }
}

/// A profile that is read is written and read as the same.
fn check_profile(text: &str) {
    match profile_from_json(text) {
        Ok(profile) => {
            let written = serde_json::to_string(&profile).unwrap();
            assert_eq!(profile_from_json(&written).unwrap(), profile);
        }
        Err(OutboxError::Invalid { field, .. }) => assert!(!field.is_empty()),
        Err(other) => panic!("{other:?}"),
    }
}

/// Names are refused, or work.
fn check_names(outbox: &Outbox, text: &str) {
    match outbox.begin(text.to_owned()) {
        Ok(id) => assert_eq!(outbox.begin(text.to_owned()), Ok(id)),
        Err(OutboxError::Invalid { .. }) => {
            assert!(text.is_empty() || text.len() > 1_024, "{text:?}");
        }
        Err(other) => panic!("{other:?}"),
    }
    let name = || Some(text.to_owned());
    for filter in [
        ListFilter {
            account: name(),
            ..ListFilter::all()
        },
        ListFilter {
            lane: name(),
            ..ListFilter::all()
        },
        ListFilter {
            replaces: name(),
            ..ListFilter::all()
        },
    ] {
        let page = outbox.list(filter, PageRequest::default()).unwrap();
        assert!(page.snapshots.is_empty());
    }
    assert_eq!(outbox.release_lane(name(), text.to_owned()), Ok(false));
    match outbox.sign_in(text.to_owned()) {
        Ok(()) => assert_eq!(outbox.signed_in().unwrap(), name()),
        Err(OutboxError::Invalid { .. }) => assert!(text.is_empty() || text.len() > 1_024),
        Err(other) => panic!("{other:?}"),
    }
}
