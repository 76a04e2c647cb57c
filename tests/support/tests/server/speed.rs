//! How fast the judge is. Ignored, because a figure is no promise on somebody else's machine:
//! `cargo test --release -p submit-once-reference-server -- --ignored --nocapture speed`.

use std::time::Instant;

use crate::{client, server};

const REQUESTS: usize = 5_000;

#[test]
#[ignore = "a measurement, not a test"]
fn speed_of_keyed_writes_on_kept_connections() {
    for clients in [1, 8, 64] {
        let server = server();
        let start = Instant::now();
        std::thread::scope(|scope| {
            for number in 0..clients {
                let server = &server;
                scope.spawn(move || {
                    let mut client = client(server);
                    for n in 0..REQUESTS / clients {
                        let key = format!("{number}-{n}");
                        assert_eq!(client.post("/orders", &key, "{}").unwrap().status, 201);
                    }
                });
            }
        });
        let rate = server.records().len() as f64 / start.elapsed().as_secs_f64();
        println!("{clients:2} clients: {rate:.0} requests/s");
        assert_eq!(server.summary().unwrap().duplicate_effects, 0);
    }
}
