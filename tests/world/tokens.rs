//! P10 over real sockets: what each request was sent with, as the server saw it.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::time::Duration;

use sha2::{Digest, Sha256};
use submit_once::{
    CredentialsListener, CredentialsReason, DrainBudget, DrainStop, Header, Limits, ListenerError,
    Outbox, OutboxConfig, Submission, SubmissionId, SubmissionState, WaitingFor,
};
use submit_once_reference_server::{Behaviour, Matcher};

use crate::agents::{Agent, PATIENCE, assert_converged, server};
use crate::common::Place;
use crate::sockets::{block_on, limits, open, wait};

pub fn supply(outbox: &Outbox, account: &str, token: &str) {
    let header = Header {
        name: "Authorization".to_owned(),
        value: format!("Bearer {token}"),
    };
    outbox
        .supply_credentials(account.to_owned(), vec![header], None)
        .unwrap();
}

pub fn submit_as(outbox: &Outbox, account: &str, path: &str) -> SubmissionId {
    let id = SubmissionId::new().unwrap();
    let order = Submission {
        account: Some(account.to_owned()),
        ..Submission::post(id, path).json(r#"{"item":"tea"}"#)
    };
    outbox.submit(order).unwrap();
    id
}

/// What the server keeps of a token.
fn principal(token: &str) -> String {
    let digest = Sha256::digest(format!("Bearer {token}"));
    digest.iter().take(8).map(|b| format!("{b:02x}")).collect()
}

/// A host that answers each question with the next of its tokens.
struct Host {
    asked: Mutex<Vec<CredentialsReason>>,
    told: Condvar,
    tokens: Mutex<Vec<&'static str>>,
    outbox: Weak<Outbox>,
}

impl Host {
    fn of(outbox: &Arc<Outbox>, tokens: &[&'static str]) -> Arc<Self> {
        let host = Arc::new(Self {
            asked: Mutex::default(),
            told: Condvar::new(),
            tokens: Mutex::new(tokens.iter().rev().copied().collect()),
            outbox: Arc::downgrade(outbox),
        });
        let listener: Arc<dyn CredentialsListener> = Arc::clone(&host) as _;
        outbox.set_credentials_listener(Some(listener)).unwrap();
        host
    }

    fn asked(&self) -> Vec<CredentialsReason> {
        self.asked.lock().unwrap().clone()
    }

    /// The first questions, so many: a drain doesn't wait until the last has arrived.
    fn first_asked(&self, count: usize) -> Vec<CredentialsReason> {
        let asked = self.asked.lock().unwrap();
        let asked = self
            .told
            .wait_timeout_while(asked, PATIENCE, |asked| asked.len() < count);
        asked.unwrap().0.clone()
    }
}

impl CredentialsListener for Host {
    fn credentials_needed(
        &self,
        account: String,
        reason: CredentialsReason,
    ) -> Result<(), ListenerError> {
        self.asked.lock().unwrap().push(reason);
        self.told.notify_all();
        let token = self.tokens.lock().unwrap().pop();
        if let (Some(token), Some(outbox)) = (token, self.outbox.upgrade()) {
            supply(&outbox, &account, token);
        }
        Ok(())
    }
}

/// F09, F76: the token is replaced, the key is not; what was queued under the old one heals.
#[test]
fn a_refused_token_is_renewed_once_and_the_key_stays() {
    let (place, server) = (Place::new(), server());
    server.accept_tokens(["Bearer second"]);
    let outbox = open(&place, &server.url());
    outbox.sign_in("ann".into()).unwrap();
    let host = Host::of(&outbox, &["second"]);
    supply(&outbox, "ann", "first");
    let id = submit_as(&outbox, "ann", "/orders");
    outbox.start().unwrap();
    assert_eq!(wait(&outbox, id).state, SubmissionState::Succeeded);
    assert_eq!(host.asked(), [CredentialsReason::Refused]);
    let records = server.records();
    let seen: Vec<_> = records
        .iter()
        .map(|r| r.principal.clone().unwrap())
        .collect();
    assert_eq!(seen, [principal("first"), principal("second")]);
    assert!(
        records
            .iter()
            .all(|record| record.key == Some(id.to_string()))
    );
    assert_converged(&server, 1);
}

/// F78: twenty requests are refused at once. The host is asked once.
#[test]
fn many_refusals_at_once_are_one_question() {
    let (place, server) = (Place::new(), server());
    server.accept_tokens(["Bearer second"]);
    let limits = Limits {
        max_in_flight: 20,
        ..limits()
    };
    let config = OutboxConfig::at(place.path()).base_url(server.url());
    let outbox = Outbox::open(config.limits(limits)).unwrap();
    outbox.sign_in("ann".into()).unwrap();
    let host = Host::of(&outbox, &["second", "third"]);
    supply(&outbox, "ann", "first");
    let ids: Vec<_> = (0..20)
        .map(|number| submit_as(&outbox, "ann", &format!("/orders/{number}")))
        .collect();
    outbox.start().unwrap();
    for id in ids {
        assert_eq!(
            wait(&outbox, id).state,
            SubmissionState::Succeeded,
            "{:?}",
            host.asked()
        );
    }
    assert_eq!(host.asked(), [CredentialsReason::Refused]);
    assert_converged(&server, 20);
    let summary = server.summary().unwrap();
    assert_eq!((summary.keys, summary.max_keys_per_path), (20, 1));
    let records = server.records();
    let refused = records.iter().filter(|record| record.status == Some(401));
    assert!(refused.count() <= 20, "at most one for each");
}

/// F78: the host has nothing better. After the second refusal nothing of the account is sent any more,
/// no attempt is used up, and new credentials open the way again.
#[test]
fn credentials_that_stay_bad_close_the_account() {
    let (place, server) = (Place::new(), server());
    server.accept_tokens(["Bearer good"]);
    let outbox = open(&place, &server.url());
    outbox.sign_in("ann".into()).unwrap();
    let host = Host::of(&outbox, &["second"]);
    supply(&outbox, "ann", "first");
    let ids: Vec<_> = (0..10)
        .map(|number| submit_as(&outbox, "ann", &format!("/orders/{number}")))
        .collect();
    let budget = DrainBudget::of(PATIENCE);
    let report = block_on(outbox.drain(budget)).unwrap();
    assert_eq!(report.stopped, DrainStop::CredentialsNeeded);
    let sent = server.records().len();
    assert!(sent <= 20, "{sent} requests");
    let (first, again) = (CredentialsReason::Refused, CredentialsReason::RefusedAgain);
    assert_eq!(host.first_asked(2), [first, again]);
    for &id in &ids {
        let snapshot = outbox.snapshot(id).unwrap();
        assert_eq!(snapshot.state, SubmissionState::Pending);
        assert_eq!(snapshot.waiting_for, Some(WaitingFor::Credentials));
    }
    block_on(outbox.drain(budget)).unwrap();
    assert_eq!(server.records().len(), sent, "the gate is closed");
    supply(&outbox, "ann", "good");
    outbox.start().unwrap();
    for id in ids {
        assert_eq!(wait(&outbox, id).state, SubmissionState::Succeeded);
    }
    assert_converged(&server, 10);
}

/// P10: two accounts take turns while requests and refusals are under way and answers are lost. Each
/// key arrives with tokens of its own account, and no others.
#[test]
fn no_key_ever_arrives_with_the_token_of_another_account() {
    const ROUNDS: usize = 120;
    let (place, server) = (Place::new(), server());
    let accounts = ["ann", "bob"];
    let mut owners: HashMap<String, &str> = HashMap::new();
    let mut tokens: HashMap<String, &str> = HashMap::new();
    // Every fifth answer is lost, and one token of each account is refused: two of them, and whatever
    // meets both while others get through would be taken for refused itself.
    const REFUSED: [usize; 2] = [40, 41];
    let token = |account: &str, round: usize| format!("{account}-{round}");
    let good = (0..=ROUNDS).filter(|round| !REFUSED.contains(round));
    server.accept_tokens(
        good.flat_map(|round| accounts.map(|a| format!("Bearer {}", token(a, round)))),
    );
    for number in (0..ROUNDS * 4).step_by(5) {
        server.script(
            Matcher::path(format!("/{number}/")),
            vec![Behaviour::CommitThenDrop],
        );
    }
    let outbox = open(&place, &server.url());
    outbox.start().unwrap();
    let mut ids = Vec::new();
    for round in 0..ROUNDS {
        let account = accounts[round % 2];
        outbox.sign_in(account.into()).unwrap();
        for number in round * 4..round * 4 + 4 {
            let owner = accounts[number % 2];
            let id = submit_as(&outbox, owner, &format!("/{number}/"));
            owners.insert(id.to_string(), owner);
            ids.push((id, owner));
        }
        let token = token(account, round);
        supply(&outbox, account, &token);
        tokens.insert(principal(&token), account);
        if round % 4 > 0 {
            // The next one comes while this one is being claimed.
            continue;
        }
        // Something of this account is on its way when the next one comes.
        let seen = |records: &[submit_once_reference_server::RequestRecord]| {
            records
                .iter()
                .any(|r| r.principal == Some(principal(&token)))
        };
        server.wait_for(seen, Duration::from_secs(2));
    }
    for account in accounts {
        outbox.sign_in(account.into()).unwrap();
        let token = token(account, ROUNDS);
        supply(&outbox, account, &token);
        tokens.insert(principal(&token), account);
        for (id, _) in ids.iter().filter(|(_, owner)| *owner == account) {
            assert_eq!(wait(&outbox, *id).state, SubmissionState::Succeeded);
        }
    }
    assert_converged(&server, ids.len() as u64);
    for record in server.records() {
        let key = record.key.unwrap();
        let with = record.principal.expect("never without credentials");
        assert_eq!(tokens[&with], owners[&key]);
    }
}

/// P10: credentials die with the process. The next one sends nothing before it is given some, and finds
/// none on the disk.
#[test]
fn a_process_killed_after_its_host_supplied_credentials() {
    let (place, server) = (Place::new(), server());
    let mut first = Agent::start(&place, &["--mute", "--base", &server.url()]);
    first.ask("sign-in ann");
    first.ask("supply ann canary-token");
    let id = first.ask("begin form");
    assert_eq!(
        first.ask(&format!("submit-as ann {id} /orders tea")),
        "Accepted"
    );
    // Claimed, with its credentials in hand, and not one byte sent.
    assert_eq!(first.ask("start"), "started");
    assert_eq!(first.read(), "claimed");
    first.kill();
    crate::canaries::assert_not_on_disk(&place, &["canary-token"]);
    let mut next = Agent::for_server(&place, &server);
    // The killed attempt counts as sent, so the quiet time comes first.
    while !next.ask("drain 5000").contains("CredentialsNeeded") {
        assert_eq!(next.ask(&format!("wait {id} 100")), "TimedOut");
    }
    assert!(server.records().is_empty());
    next.ask("supply ann second-token");
    next.ask("start");
    assert_eq!(next.ask(&format!("wait {id} 60000")), "Settled");
    assert_converged(&server, 1);
    assert_eq!(
        server.records()[0].principal,
        Some(principal("second-token"))
    );
    next.kill();
    crate::canaries::assert_not_on_disk(&place, &["canary-token", "second-token"]);
}
