//! Redirects, followed by the core: same origin only, the same request or a look at its result.

use std::time::Duration;

use submit_once::{HoldReason, RejectReason, Snapshot, SubmissionState, WireAnswer, WireRequest};

use crate::common::Place;
use crate::common::sim::{
    Play, World, answer, created, drain, header, lost, order, simulate, status, unreachable,
};

const MOMENT: Duration = Duration::from_millis(50);

const HELD: SubmissionState = SubmissionState::Held {
    reason: HoldReason::OutcomeUnknown,
};
const REFUSED: SubmissionState = SubmissionState::Rejected {
    reason: RejectReason::Configuration,
};

fn to(status: u16, location: &str) -> Play {
    Play::Answer(MOMENT, redirect(status, location))
}

fn redirect(status: u16, location: &str) -> WireAnswer {
    WireAnswer {
        status,
        headers: vec![header("location", location)],
        body: Vec::new(),
        complete: true,
    }
}

/// One order, and what became of it after one drain.
fn deliver(plays: Vec<Play>, then: impl FnOnce(&World, &Snapshot) + 'static) {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = world.open(&place);
        outbox.sign_in("ann".into()).unwrap();
        outbox
            .supply_credentials(
                "ann".into(),
                vec![header("authorization", "Bearer t")],
                None,
            )
            .unwrap();
        world.network.play(plays);
        let mut order = order(&outbox, "form").header("x-client", "shop/3");
        order.account = Some("ann".into());
        outbox.submit(order.clone()).unwrap();
        drain(&outbox).await;
        then(&world, &outbox.snapshot(order.id).unwrap());
    });
}

fn requests(world: &World) -> Vec<WireRequest> {
    let seen = world.network.seen();
    seen.into_iter().map(|seen| seen.request).collect()
}

fn value<'a>(request: &'a WireRequest, name: &str) -> Option<&'a str> {
    let found = request.headers.iter().find(|header| header.name == name)?;
    Some(&found.value)
}

/// F65.
#[test]
fn the_same_request_goes_to_where_307_and_308_point_in_the_same_attempt() {
    for status in [307, 308] {
        deliver(
            vec![
                to(status, "/v2/orders"),
                to(status, "/v3/orders#top"),
                created(),
            ],
            move |world, snapshot| {
                assert_eq!(snapshot.state, SubmissionState::Succeeded);
                assert_eq!(snapshot.attempts, 1);
                let sent = requests(world);
                let urls: Vec<_> = sent.iter().map(|request| request.url.as_str()).collect();
                assert_eq!(
                    urls,
                    [
                        "https://api.example.com/orders",
                        "https://api.example.com/v2/orders",
                        "https://api.example.com/v3/orders"
                    ]
                );
                for request in &sent {
                    assert_eq!(request.method, "POST");
                    assert_eq!(request.body, sent[0].body);
                    assert_eq!(request.headers, sent[0].headers);
                }
            },
        );
    }
}

#[test]
fn nothing_is_ever_sent_to_another_origin() {
    for status in [301, 302, 303, 307, 308] {
        for location in [
            "https://evil.example.net/orders",
            "//evil.example.net/orders",
            "http://api.example.com/orders",
            "https://api.example.com:8443/orders",
            "https://user:secret@api.example.com/orders",
        ] {
            deliver(vec![to(status, location)], move |world, snapshot| {
                assert_eq!(requests(world).len(), 1, "{status} {location}");
                let expected = if status == 303 { HELD } else { REFUSED };
                assert_eq!(snapshot.state, expected, "{status} {location}");
            });
        }
    }
}

/// F64: a POST that became a GET, whose 200 looks like success.
#[test]
fn moved_is_followed_by_nobody() {
    for status in [301, 302] {
        deliver(vec![to(status, "/v2/orders")], |world, snapshot| {
            assert_eq!(requests(world).len(), 1);
            assert_eq!(snapshot.state, REFUSED);
            assert!(!snapshot.in_doubt);
        });
    }
}

#[test]
fn a_loop_ends_after_three_hops() {
    let plays = (0..9).map(|_| to(307, "/orders")).collect();
    deliver(plays, |world, snapshot| {
        assert_eq!(requests(world).len(), 4);
        assert_eq!(snapshot.state, REFUSED);
    });
}

#[test]
fn a_result_elsewhere_is_fetched_with_get_and_judged() {
    let result = Play::Answer(MOMENT, answer(200, r#"{"order":7}"#));
    deliver(vec![to(303, "/orders/7"), result], |world, snapshot| {
        assert_eq!(snapshot.state, SubmissionState::Succeeded);
        let outcome = snapshot.outcome.clone().unwrap();
        assert_eq!(outcome.body.unwrap(), br#"{"order":7}"#);
        let fetch = &requests(world)[1];
        assert_eq!(fetch.method, "GET");
        assert_eq!(fetch.url, "https://api.example.com/orders/7");
        assert!(fetch.body.is_empty());
        assert_eq!(value(fetch, "idempotency-key"), None);
        assert_eq!(value(fetch, "content-type"), None);
        assert_eq!(value(fetch, "x-client"), Some("shop/3"));
        assert_eq!(value(fetch, "authorization"), Some("Bearer t"));
    });
}

/// Login pages redirect like this.
#[test]
fn a_result_elsewhere_that_is_no_answer_of_the_api_is_held() {
    let page = WireAnswer {
        headers: vec![header("content-type", "text/html")],
        ..answer(200, "<html>please log in</html>")
    };
    for second in [
        Play::Answer(MOMENT, page),
        status(404),
        status(401),
        status(500),
        to(303, "/again"),
        to(307, "/again"),
    ] {
        deliver(
            vec![to(303, "/login"), second.clone()],
            move |world, snapshot| {
                assert_eq!(requests(world).len(), 2, "{second:?}");
                assert_eq!(snapshot.state, HELD, "{second:?}");
                assert!(snapshot.in_doubt);
            },
        );
    }
    deliver(
        vec![Play::Answer(
            MOMENT,
            WireAnswer {
                headers: Vec::new(),
                ..answer(303, "")
            },
        )],
        |_, snapshot| assert_eq!(snapshot.state, HELD, "without a place"),
    );
}

/// P5: the server has answered, so nobody knows; the next attempt has the same key.
#[test]
fn a_fetch_that_fails_leaves_the_attempt_in_doubt() {
    for second in [lost(), unreachable()] {
        deliver(vec![to(303, "/orders/7"), second], |world, snapshot| {
            assert_eq!(snapshot.state, SubmissionState::Pending);
            assert!(snapshot.in_doubt);
            assert_eq!(requests(world).len(), 2);
        });
    }
}

/// P4: the lease is looked at before each hop, and what is stopped between two hops has sent nothing
/// after the first.
#[test]
fn each_hop_asks_again_whether_the_lease_holds() {
    let place = Place::new();
    simulate(2, |world| async move {
        let outbox = world.open(&place);
        world
            .network
            .play([to(307, "/v2"), Play::HandOver { confirm: false }]);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(Duration::from_secs(1)).await;
        let exchange = world.network.take();
        outbox.suspend().unwrap();
        assert!(!exchange.confirm(), "stopped");
        let snapshot = outbox.snapshot(order.id).unwrap();
        assert!(
            !snapshot.in_doubt,
            "the first was answered, the second never left"
        );
        assert_eq!(snapshot.state, SubmissionState::Pending);
    });
}
