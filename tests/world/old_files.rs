//! A database of the first schema, written by hand as the first version wrote it: it opens, is
//! delivered, and replays. Checksums and fingerprints are computed here once more, since a persisted
//! form never changes.

use std::sync::Arc;

use rusqlite::{Connection, named_params};
use sha2::{Digest, Sha256};
use submit_once::{Outbox, OutboxConfig, ReceiptKind, Submission, SubmissionId, SubmissionState};

use crate::agents::{assert_converged, server};
use crate::common::Place;
use crate::sockets::{limits, wait};

const BODY: &[u8] = br#"{"item":"tea"}"#;
const ANSWER: &[u8] = br#"{"order":7}"#;

/// As the first version wrote it: without what profiles have learnt since.
const PROFILE: &str = r#"{"name":"standard","key_place":{"header":{"name":"Idempotency-Key"}},"key_spelling":"raw","effect":"keyed","retention":86400000,"quiet_time":15000,"locks":false,"aborts_handlers":false,"gateway_may_resend":false,"expected_content_types":[]}"#;

/// SHA-256 over parts, each behind its length; `None` and `Some` behind a 0 and a 1.
#[derive(Default)]
struct Parts(Sha256);

impl Parts {
    fn part(mut self, bytes: &[u8]) -> Self {
        self.0.update((bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
        self
    }

    fn none(mut self) -> Self {
        self.0.update([0]);
        self
    }

    fn some(mut self, bytes: &[u8]) -> Self {
        self.0.update([1]);
        self.part(bytes)
    }

    fn digest(self) -> Vec<u8> {
        self.0.finalize().to_vec()
    }
}

fn id_bytes(id: SubmissionId) -> Vec<u8> {
    let hex = id.to_string().replace('-', "");
    let byte = |n: usize| u8::from_str_radix(&hex[n * 2..n * 2 + 2], 16).unwrap();
    (0..16).map(byte).collect()
}

fn fingerprint(url: &str) -> Vec<u8> {
    let digest = Parts::default()
        .none()
        .part(b"POST")
        .part(url.as_bytes())
        .some(b"application/json")
        .part(b"header:idempotency-key:raw")
        .part(&Sha256::digest(BODY))
        .digest();
    [vec![1], digest].concat()
}

fn insert(sql: &Connection, id: SubmissionId, url: &str) -> i64 {
    sql.execute(
        "INSERT INTO submission (id, fingerprint, profile, channel, effect, priority, accepted_wall,
             state, revision, ready)
         VALUES (:id, :fingerprint, 1, 1, 'keyed', 0, 1750000000000, 'pending', 1, 1)",
        named_params! {
            ":id": id_bytes(id),
            ":fingerprint": fingerprint(url),
        },
    )
    .unwrap();
    let seq = sql.last_insert_rowid();
    let checksum = Parts::default()
        .part(&id_bytes(id))
        .part(id.to_string().as_bytes())
        .none()
        .part(b"POST")
        .part(url.as_bytes())
        .some(b"application/json")
        .part(b"x-shop")
        .part(b"north")
        .part(PROFILE.as_bytes())
        .part(b"keyed")
        .part(&Sha256::digest(BODY))
        .part(&fingerprint(url))
        .digest();
    sql.execute(
        "INSERT INTO request (seq, wire_key, method, url, content_type, headers, checksum,
             body_digest, body)
         VALUES (:seq, :key, 'POST', :url, 'application/json',
             '[{\"name\":\"x-shop\",\"value\":\"north\"}]', :checksum, :digest, :body)",
        named_params! {
            ":seq": seq,
            ":key": id.to_string(),
            ":url": url,
            ":checksum": checksum,
            ":digest": Sha256::digest(BODY).to_vec(),
            ":body": BODY,
        },
    )
    .unwrap();
    seq
}

/// One submission that waits, and one that succeeded with its result.
fn first_version(place: &Place, origin: &str, waiting: SubmissionId, settled: SubmissionId) {
    let sql = place.sql();
    sql.execute_batch(include_str!("../../src/store/schema/0001_outbox.sql"))
        .unwrap();
    sql.execute_batch(
        "INSERT INTO meta (one, database_id, highest_wall, unsettled, accepted)
         VALUES (1, x'000102030405060708090a0b0c0d0e0f', 1750000001000, 1, 2);
         INSERT INTO boot (token, first_uptime, first_wall)
         VALUES ('a boot of long ago', 1000, 1750000000000);",
    )
    .unwrap();
    sql.execute("INSERT INTO profile (id, json) VALUES (1, ?1)", [PROFILE])
        .unwrap();
    let channel = "INSERT INTO channel (id, account, origin) VALUES (1, '', ?1)";
    sql.execute(channel, [origin]).unwrap();
    insert(&sql, waiting, &format!("{origin}/waiting"));
    let seq = insert(&sql, settled, &format!("{origin}/settled"));
    let checksum = Parts::default()
        .part(&201_u16.to_be_bytes())
        .some(b"application/json")
        .some(ANSWER)
        .digest();
    sql.execute(
        "INSERT INTO attempt (id, submission, number, mark, owner, epoch, boot, began_uptime,
             began_device, began_wall, ended_wall, status)
         VALUES (1, ?1, 1, 'applied', 1, 0, 1, 2000, 1750000000500, 1750000000500, 1750000001000, 201)",
        [seq],
    )
    .unwrap();
    sql.execute(
        "INSERT INTO answer (attempt, submission, status, content_type, headers, missing, checksum, body)
         VALUES (1, ?1, 201, 'application/json', '[]', 0, ?2, ?3)",
        rusqlite::params![seq, checksum, ANSWER],
    )
    .unwrap();
    sql.execute(
        "UPDATE submission SET state = 'succeeded', revision = 3, ready = 0, attempts = 1, result = 1,
             settled_wall = 1750000001000 WHERE seq = ?1",
        [seq],
    )
    .unwrap();
    sql.execute_batch("PRAGMA application_id = 0x5375624f; PRAGMA user_version = 1;")
        .unwrap();
}

fn order(id: SubmissionId, path: &str) -> Submission {
    Submission::post(id, path)
        .json(std::str::from_utf8(BODY).unwrap())
        .header("X-Shop", "north")
}

/// F97, F98: an update of the app finds what an older version left, whoever it was, and sends it.
#[test]
fn a_database_of_the_first_schema_opens_is_delivered_and_replays() {
    let (place, server) = (Place::new(), server());
    let waiting = SubmissionId::parse("01977420-0000-7000-8000-000000000001").unwrap();
    let settled = SubmissionId::parse("01977420-0000-7000-8000-000000000002").unwrap();
    first_version(&place, &server.url(), waiting, settled);
    let open = || -> Arc<Outbox> {
        let config = OutboxConfig::at(place.path()).base_url(server.url());
        Outbox::open(config.limits(limits())).unwrap()
    };
    let outbox = open();
    assert!(!outbox.open_report().created);
    let replayed = outbox.submit(order(settled, "/settled")).unwrap();
    assert_eq!(replayed.kind, ReceiptKind::Replayed);
    let outcome = replayed.snapshot.outcome.unwrap();
    assert_eq!(outcome.status, Some(201));
    assert_eq!(outcome.body.as_deref(), Some(ANSWER));
    assert!(!outcome.result_missing);
    let joined = outbox.submit(order(waiting, "/waiting")).unwrap();
    assert_eq!(joined.kind, ReceiptKind::Joined);
    outbox.start().unwrap();
    assert_eq!(wait(&outbox, waiting).state, SubmissionState::Succeeded);
    assert_converged(&server, 1);
    let records = server.records();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].key, Some(waiting.to_string()));
    let digest: String = Sha256::digest(BODY)
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    assert_eq!(records[0].body_sha256, Some(digest));
    // And it is a database like any other from now on.
    outbox.close();
    let outbox = open();
    assert_eq!(
        outbox.submit(order(waiting, "/waiting")).unwrap().kind,
        ReceiptKind::Replayed
    );
    let version: i64 = place
        .sql()
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap();
    assert!(version >= 2);
}
