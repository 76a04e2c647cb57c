//! Bodies that are kept, and bodies that are too large.

use submit_once_reference_server::{Options, ReferenceServer};

use crate::post;

#[test]
fn the_bodies_of_effects_are_kept_once_and_only_where_they_are_asked_for() {
    let server = ReferenceServer::start(Options {
        keep_bodies: true,
        ..Options::default()
    })
    .unwrap();
    for (key, body) in [("k", "one"), ("k", "one"), ("k", "other"), ("l", "two")] {
        post(&server, "/logs", key, body).unwrap();
    }
    let bodies = server.bodies().unwrap();
    let bodies: Vec<(u64, &[u8])> = bodies.iter().map(|of| (of.effect, &of.body[..])).collect();
    assert_eq!(bodies, [(1, &b"one"[..]), (2, b"two")]);
    server.reset().unwrap();
    assert!(server.bodies().unwrap().is_empty());

    let forgetful = crate::server();
    post(&forgetful, "/logs", "k", "one").unwrap();
    assert!(forgetful.bodies().unwrap().is_empty());
}

#[test]
fn a_body_above_the_limit_is_refused_without_an_effect_whatever_its_key() {
    let server = ReferenceServer::start(Options {
        max_body_bytes: Some(4),
        ..Options::default()
    })
    .unwrap();
    assert_eq!(post(&server, "/logs", "k", "four").unwrap().status, 201);
    for key in ["k", "l"] {
        let refused = post(&server, "/logs", key, "fiver").unwrap();
        assert_eq!(refused.status, 413);
        let text = String::from_utf8(refused.body).unwrap();
        assert!(text.contains(r#""code":"body_too_large""#), "{text}");
    }
    assert_eq!(server.summary().unwrap().effects, 1);
}
