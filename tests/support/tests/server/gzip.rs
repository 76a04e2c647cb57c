//! Compressed answers, right and wrong.

use std::io::Read;

use flate2::read::GzDecoder;
use submit_once_reference_server::{Behaviour, Gzip, Matcher};

use crate::client::{Answer, PATIENCE};
use crate::{client, post, server};

/// The compressed answer, the true body, and whether the record says that the answer was lost.
fn compressed(behaviour: Behaviour) -> (Answer, Vec<u8>, bool) {
    let server = server();
    server.script(Matcher::Any, vec![behaviour]);
    let answer = post(&server, "/orders", "k", "{}").unwrap();
    assert_eq!(
        (answer.status, answer.header("content-encoding")),
        (201, Some("gzip"))
    );
    // Nothing but the decoder can find a fault.
    assert!(answer.complete);
    let truth = post(&server, "/orders", "k", "{}").unwrap();
    assert!(truth.is_replay() && truth.header("content-encoding").is_none());
    assert!(server.wait_until_quiet(PATIENCE));
    let lost = server.records()[0].answer_lost;
    (answer, truth.body, lost)
}

fn inflate(bytes: &[u8]) -> (Vec<u8>, bool) {
    let mut plain = Vec::new();
    let whole = GzDecoder::new(bytes).read_to_end(&mut plain).is_ok();
    (plain, whole)
}

#[test]
fn a_compressed_answer_is_the_true_one() {
    let (answer, truth, lost) = compressed(Behaviour::gzip());
    assert_eq!(inflate(&answer.body), (truth, true));
    assert!(!lost);
}

#[test]
fn without_its_trailer_a_compressed_answer_is_whole_but_for_the_proof() {
    let (answer, truth, lost) = compressed(Behaviour::gzip_truncated());
    assert_eq!(inflate(&answer.body), (truth, false));
    assert!(lost);
}

#[test]
fn a_compressed_answer_can_end_anywhere() {
    let (answer, truth, lost) = compressed(Behaviour::Gzip(Gzip::Truncated(40)));
    let (plain, whole) = inflate(&answer.body);
    assert!(plain.len() < truth.len() && !whole);
    assert!(lost);
}

#[test]
fn a_bomb_is_small_on_the_wire_and_large_behind_it() {
    const INFLATED: usize = 32 * 1024 * 1024;
    let (answer, truth, _) = compressed(Behaviour::gzip_bomb(INFLATED as u64));
    assert!(answer.body.len() < 64 * 1024, "{}", answer.body.len());
    let (plain, whole) = inflate(&answer.body);
    assert_eq!((plain.len(), whole), (INFLATED, true));
    assert!(plain.starts_with(&truth));
    // Valid JSON: nothing but its size is a reason to refuse it.
    assert_eq!(plain.trim_ascii_end(), truth);
}

#[test]
fn a_bomb_that_would_hurt_the_server_is_refused() {
    let server = server();
    let order = r#"{"always": {"gzip": {"bomb": 18446744073709551615}}}"#;
    let mut control = client(&server);
    let refused = control.call("POST", "/_control/script", &[], order);
    assert_eq!(refused.unwrap().status, 400);
    server.always(Matcher::Any, Behaviour::gzip_bomb(u64::MAX));
    assert_eq!(post(&server, "/orders", "k", "{}").unwrap().status, 500);
}

#[test]
fn behaviours_have_the_expected_json() {
    for (text, behaviour) in [
        (r#"{"gzip":"whole"}"#, Behaviour::gzip()),
        (r#"{"gzip":{"truncated":8}}"#, Behaviour::gzip_truncated()),
        (r#"{"gzip":{"bomb":1000}}"#, Behaviour::gzip_bomb(1000)),
        (r#""close_after_read""#, Behaviour::CloseAfterRead),
        (
            r#"{"cut_request":{"after_bytes":10}}"#,
            Behaviour::cut_request(10),
        ),
        (
            r#"{"error_early":{"status":413}}"#,
            Behaviour::ErrorEarly {
                status: 413,
                headers: vec![],
            },
        ),
    ] {
        let parsed: Behaviour = serde_json::from_str(text).unwrap();
        assert_eq!(parsed, behaviour);
    }
}

#[test]
fn portals_answer_in_place_of_the_server() {
    for (portal, status) in [
        (Behaviour::portal_511(), 511),
        (Behaviour::portal_html_200(), 200),
    ] {
        let server = server();
        server.always(Matcher::Any, portal);
        let answer = post(&server, "/orders", "k", "{}").unwrap();
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (status, Some("text/html"))
        );
        assert!(answer.body.starts_with(b"<!DOCTYPE html>"));
        assert_eq!(server.summary().unwrap().effects, 0);
    }
}
