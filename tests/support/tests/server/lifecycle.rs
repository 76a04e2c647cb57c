//! Starting, stopping, and the network in between.

use std::io::ErrorKind;
use std::net::TcpStream;

use submit_once_reference_server::{
    Behaviour, Faults, KeyPlace, Matcher, Options, ReferenceServer, StartError,
};

use crate::client::PATIENCE;
use crate::{client, post, server};

const KEY: [(&str, &str); 1] = [("Idempotency-Key", "k")];

#[test]
fn offline_means_refused_and_online_means_the_same_port_again() {
    let server = server();
    let mut open = client(&server);
    assert_eq!(open.post("/orders", "k", "{}").unwrap().status, 201);
    for _ in 0..3 {
        server.go_offline();
        server.go_offline();
        let refused = TcpStream::connect(server.addr()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        server.go_online().unwrap();
        server.go_online().unwrap();
        assert!(post(&server, "/orders", "k", "{}").unwrap().is_replay());
    }
    assert_eq!(open.receive(), None);
}

#[test]
fn going_offline_loses_the_answer_and_not_the_work() {
    let server = server();
    server.script(
        Matcher::key("k"),
        vec![Behaviour::HoldBefore("work".into())],
    );
    let mut cut = client(&server);
    cut.send("POST", "/orders", &KEY, "{}");
    server.wait_until_held("work", PATIENCE).unwrap();
    server.go_offline();
    assert_eq!(cut.receive(), None);
    server.release("work");
    assert!(server.wait_until_quiet(PATIENCE));
    assert!(server.records()[0].answer_lost);
    server.go_online().unwrap();
    assert!(post(&server, "/orders", "k", "{}").unwrap().is_replay());
    assert_eq!(server.summary().unwrap().max_in_flight_per_key, 1);
}

#[test]
fn a_dropped_server_is_gone_and_its_database_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        database: Some(folder.path().join("judge.sqlite")),
        ..Options::default()
    };
    let first = ReferenceServer::start(options.clone()).unwrap();
    let answer = post(&first, "/orders", "k", "{}").unwrap();
    first.script(Matcher::Any, vec![Behaviour::HoldBefore("for good".into())]);
    let mut waiting = client(&first);
    waiting.send("POST", "/orders", &[("Idempotency-Key", "k-2")], "{}");
    first.wait_until_held("for good", PATIENCE).unwrap();
    let address = first.addr();
    drop(first);
    assert_eq!(waiting.receive(), None);
    assert!(TcpStream::connect(address).is_err());

    // Both requests are in the table, the unfinished one too.
    let database = rusqlite::Connection::open(folder.path().join("judge.sqlite")).unwrap();
    let rows: Vec<(u64, Option<u16>)> = database
        .prepare("SELECT number, status FROM requests ORDER BY number")
        .unwrap()
        .query_map([], |row| Ok((row.get::<_, u32>(0)?.into(), row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(rows, [(1, Some(201)), (2, None)]);

    let second = ReferenceServer::start(options).unwrap();
    let repeat = post(&second, "/orders", "k", "{}").unwrap();
    assert!(repeat.is_replay() && repeat.body == answer.body);
    post(&second, "/orders", "k-3", "{}").unwrap();
    let summary = second.summary().unwrap();
    assert_eq!((summary.requests, summary.effects), (2, 2));
    assert_eq!(summary.max_keys_per_path, 2);
}

#[test]
fn a_start_that_cannot_work_says_why() {
    let running = server();
    let start = |options| ReferenceServer::start(options).map(drop).unwrap_err();
    let taken = Options {
        listen: running.addr(),
        ..Options::default()
    };
    assert!(matches!(start(taken), StartError::AddressInUse(address) if address == running.addr()));

    let folder = tempfile::tempdir().unwrap();
    let junk = folder.path().join("junk");
    std::fs::write(&junk, "this is no database, and it is long enough to tell").unwrap();
    for path in [junk, folder.path().join("no/such/folder/db")] {
        let error = start(Options {
            database: Some(path.clone()),
            ..Options::default()
        });
        assert!(matches!(&error, StartError::Database { path: named, .. } if *named == path));
        assert!(error.to_string().contains(&path.display().to_string()));
    }
    let header = Options {
        key_header: "no header".into(),
        ..Options::default()
    };
    assert!(matches!(start(header), StartError::HeaderName(_)));
    for place in [
        KeyPlace::JsonPointer("key".into()),
        KeyPlace::Query(String::new()),
        KeyPlace::PathSegment("orders/".into()),
    ] {
        let error = start(Options {
            key_place: place,
            ..Options::default()
        });
        assert!(matches!(error, StartError::KeyPlace(_)));
    }
    let faults = Faults {
        half: 2.0,
        ..Faults::default()
    };
    assert!(matches!(
        start(Options {
            faults,
            ..Options::default()
        }),
        StartError::Faults(_)
    ));
}

#[test]
fn the_server_may_live_in_an_async_test() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let server = server();
        assert_eq!(post(&server, "/orders", "k", "{}").unwrap().status, 201);
        server.go_offline();
        assert_eq!(server.summary().unwrap().effects, 1);
    });
}
