use std::collections::HashSet;

use super::id::{IdError, SubmissionId};
use crate::clock::WallMs;

const TEXT: &str = "0191e2a4-7c1e-7d3b-9a52-3f1f6a1c0b55";

#[test]
fn a_new_id_is_a_version_7_uuid_in_36_lower_case_characters() {
    let text = SubmissionId::new().unwrap().to_string();
    assert_eq!(text.len(), 36);
    for (place, character) in text.chars().enumerate() {
        let fits = match place {
            8 | 13 | 18 | 23 => character == '-',
            14 => character == '7',
            19 => "89ab".contains(character),
            _ => character.is_ascii_digit() || ('a'..='f').contains(&character),
        };
        assert!(fits, "{text} at {place}");
    }
}

#[test]
fn a_new_id_carries_its_time_and_all_its_random_bits() {
    let at = WallMs(1_726_000_000_123);
    let zeros = SubmissionId::from_parts(at, [0; 10]);
    let ones = SubmissionId::from_parts(at, [0xff; 10]);
    // RFC 9562: 48 bits of milliseconds, version 7, variant 10.
    assert_eq!(zeros.to_string(), "0191dd9d-ec7b-7000-8000-000000000000");
    assert_eq!(ones.to_string(), "0191dd9d-ec7b-7fff-bfff-ffffffffffff");
    assert_eq!(zeros.minted_at(), Some(at));
    assert_eq!(ones.minted_at(), Some(at));
}

#[test]
fn ids_of_later_milliseconds_sort_later_as_bytes_and_as_text() {
    let start = 1_726_000_000_000;
    // The earlier one with the greatest random part, the later one with the least.
    for step in [1, 255, 256, 65_536, 86_400_000] {
        let earlier = SubmissionId::from_parts(WallMs(start), [0xff; 10]);
        let later = SubmissionId::from_parts(WallMs(start + step), [0; 10]);
        assert!(earlier < later);
        assert!(earlier.as_bytes() < later.as_bytes());
        assert!(earlier.to_string() < later.to_string());
    }
}

#[test]
fn new_ids_differ() {
    let ids: HashSet<_> = (0..1_000).map(|_| SubmissionId::new().unwrap()).collect();
    assert_eq!(ids.len(), 1_000);
}

#[test]
fn a_clock_before_1970_still_gives_an_id() {
    let id = SubmissionId::from_parts(WallMs(-5), [1; 10]);
    assert_eq!(id.minted_at(), Some(WallMs(0)));
}

#[test]
fn upper_case_is_read_and_becomes_lower_case() {
    let id = SubmissionId::parse(TEXT).unwrap();
    assert_eq!(id.to_string(), TEXT);
    assert_eq!(SubmissionId::parse(&TEXT.to_uppercase()), Ok(id));
    assert_eq!(TEXT.parse(), Ok(id));
    assert_eq!(SubmissionId::try_from(TEXT.to_owned()), Ok(id));
    assert_eq!(String::from(id), TEXT);
    assert_eq!(format!("{id:?}"), TEXT);
    assert_eq!(SubmissionId::from_bytes(*id.as_bytes()), id);
}

#[test]
fn an_id_of_another_version_is_taken_as_it_is() {
    for (text, derived) in [
        ("3b241101-e2bb-4255-8caf-4136c566a962", false),
        ("6fa459ea-ee8a-3ca4-894e-db77e160355e", false),
        ("2ed6657d-e927-568b-95e1-2665a8aea6a2", true),
    ] {
        let id = SubmissionId::parse(text).unwrap();
        assert_eq!(id.to_string(), text);
        assert_eq!(id.minted_at(), None, "only version 7 tells its time");
        assert_eq!(id.is_derived(), derived);
    }
    assert!(!SubmissionId::parse(TEXT).unwrap().is_derived());
}

#[test]
fn only_the_hyphenated_form_is_an_id() {
    let simple = TEXT.replace('-', "");
    let moved = "0191e2a47-c1e-7d3b-9a52-3f1f6a1c0b55";
    for text in [
        simple.clone(),
        format!("{{{TEXT}}}"),
        format!("urn:uuid:{TEXT}"),
        format!(" {TEXT}"),
        format!("{TEXT}\n"),
        format!("{TEXT}\0"),
        format!("{simple}----"),
        moved.to_owned(),
        TEXT.replace('-', "_"),
        TEXT.replace('0', "g"),
        TEXT.replacen('0', "\u{660}", 1),
        "\u{ff10}".repeat(12),
        TEXT[..35].to_owned(),
        String::new(),
        "order-42".to_owned(),
        "-".repeat(36),
        "x".repeat(100_000),
    ] {
        assert_eq!(
            SubmissionId::parse(&text),
            Err(IdError::Malformed),
            "{text:.60}"
        );
    }
}

#[test]
fn the_nil_and_the_max_uuid_are_refused() {
    for text in [
        "00000000-0000-0000-0000-000000000000",
        "ffffffff-ffff-ffff-ffff-ffffffffffff",
        "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
    ] {
        assert_eq!(SubmissionId::parse(text), Err(IdError::Nil));
    }
}

/// P3, across devices and versions of the library: these values are in databases and at servers, so
/// they can't change. They were computed apart from this code, from RFC 9562.
#[test]
fn a_derived_id_is_the_same_for_ever() {
    for (account, action, key, id) in [
        (
            None,
            "create-order",
            "2026-000417",
            "a3caf7ae-5bab-5d43-bd22-3342953e4df7",
        ),
        (
            Some(""),
            "create-order",
            "2026-000417",
            "554c00cc-b7e3-5cf0-a652-be67a5cb53d5",
        ),
        (
            Some("alice"),
            "create-order",
            "2026-000417",
            "4d3986ab-0a3e-5e6f-b706-5c316324f95e",
        ),
        (
            Some("ünï"),
            "größe",
            "🛒",
            "9ce2c330-70ad-5aac-b062-a673d51b0244",
        ),
        (None, "", "", "104aad0c-a956-5c72-aaa7-c146200db39a"),
    ] {
        let derived = SubmissionId::derived(account, action, key);
        assert_eq!(derived.to_string(), id);
        assert!(derived.is_derived());
        assert_eq!(derived.minted_at(), None);
    }
}

#[test]
fn derived_ids_differ_wherever_their_parts_do() {
    let parts = [
        (None, "ab", "c"),
        (None, "a", "bc"),
        (None, "abc", ""),
        (None, "", "abc"),
        (Some(""), "ab", "c"),
        (Some("a"), "b", "c"),
        (Some("ab"), "", "c"),
        (Some("ab"), "c", ""),
        (None, "AB", "c"),
        (None, "ab", "c\0"),
    ];
    let ids: HashSet<_> = parts
        .iter()
        .map(|(account, action, key)| SubmissionId::derived(*account, action, key))
        .collect();
    assert_eq!(ids.len(), parts.len());
}
