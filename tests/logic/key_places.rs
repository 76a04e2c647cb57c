//! Keys elsewhere than in a header: frozen with the request, the same at every attempt (P2, P6).

use submit_once::{
    KeyPlace, OutboxError, ReceiptKind, ServerProfile, Submission, SubmissionState, WireRequest,
};

use crate::common::Place;
use crate::common::sim::{World, drain, lost, simulate};

/// What goes to the wire at two attempts, for a profile with this place.
async fn sent(world: &World, key_place: KeyPlace, url: &str) -> (String, WireRequest) {
    let place = Place::new();
    let profile = ServerProfile {
        key_place,
        ..ServerProfile::standard()
    };
    let outbox = world.open_with(world.config(&place).profile(profile));
    let id = outbox.begin("form".into()).unwrap();
    let order = || Submission::post(id, url).json("{ \"item\": \"tea\" }");
    world.network.play([lost()]);
    let before = world.network.seen().len();
    outbox.submit(order()).unwrap();
    outbox.start().unwrap();
    let waited = outbox.wait(id, std::time::Duration::from_secs(3_600)).await;
    drop(waited.unwrap());
    assert_eq!(
        outbox.snapshot(id).unwrap().state,
        SubmissionState::Succeeded
    );
    // The tap that comes late writes the same key into the same place.
    assert_eq!(outbox.submit(order()).unwrap().kind, ReceiptKind::Replayed);
    let other = Submission::post(id, url).json("{}");
    let reused = outbox.submit(other).unwrap_err();
    assert!(matches!(reused, OutboxError::KeyReused { .. }));
    drain(&outbox).await;
    outbox.close();
    let seen = world.network.seen().split_off(before);
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0].request, seen[1].request);
    (id.to_string(), seen[0].request.clone())
}

#[test]
fn the_key_goes_where_the_profile_says_and_nowhere_else() {
    simulate(1, |world| async move {
        let header = KeyPlace::Header {
            name: "Idempotency-Key".to_owned(),
        };
        let pointer = KeyPlace::JsonPointer {
            pointer: "/request_id".to_owned(),
        };
        let query = KeyPlace::Query {
            name: "request_id".to_owned(),
        };
        let path = KeyPlace::Path {
            placeholder: "{key}".to_owned(),
        };
        for (place, url) in [
            (header, "/orders"),
            (pointer, "/orders"),
            (query, "/orders"),
            (path, "/orders/{key}"),
        ] {
            let (id, request) = sent(&world, place.clone(), url).await;
            let in_headers = request.headers.iter().any(|header| header.value == id);
            let body = String::from_utf8(request.body.as_bytes().unwrap().to_vec()).unwrap();
            let found = (in_headers, body.contains(&id), request.url.contains(&id));
            let expected = match place {
                KeyPlace::Header { .. } => (true, false, false),
                KeyPlace::JsonPointer { .. } => (false, true, false),
                _ => (false, false, true),
            };
            assert_eq!(found, expected, "{place:?}");
        }
    });
}
