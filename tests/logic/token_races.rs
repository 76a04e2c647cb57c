//! P10 as a property: whatever comes in between, in two processes, nothing is sent with the credentials
//! of another account, nor of one that was purged.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use submit_once::{
    DrainBudget, NetworkKind, Outbox, OutboxError, SignOut, Submission, SubmissionId, WireRequest,
};

use crate::common::Place;
use crate::common::sim::{
    Play, World, answer, created, header, lost, simulate, status, unreachable,
};
use crate::credentials::{bearer, of, token};

/// Two, so that each often comes back.
const ACCOUNTS: [&str; 2] = ["ann", "bob"];

/// What one of the two processes does.
#[derive(Debug, Clone)]
enum Deed {
    SignIn(usize),
    Keep,
    Purge,
    /// New credentials, or some that were supplied before.
    Supply {
        account: usize,
        again: bool,
        answer: usize,
    },
    Submit(usize),
    Start,
    Suspend,
    Drain,
    /// The oldest answer that was held back comes now.
    Answer(u16),
    Network(bool),
    Pass(u16),
}

fn deeds() -> impl Strategy<Value = Vec<(usize, Deed)>> {
    let account = || 0..ACCOUNTS.len();
    let deed = prop_oneof![
        3 => account().prop_map(Deed::SignIn),
        1 => Just(Deed::Keep),
        2 => Just(Deed::Purge),
        5 => (account(), any::<bool>(), 0..7_usize)
            .prop_map(|(account, again, answer)| Deed::Supply { account, again, answer }),
        6 => account().prop_map(Deed::Submit),
        1 => Just(Deed::Start),
        1 => Just(Deed::Suspend),
        2 => Just(Deed::Drain),
        2 => prop_oneof![Just(201), Just(307), Just(401)].prop_map(Deed::Answer),
        1 => any::<bool>().prop_map(Deed::Network),
        6 => (0..20_000_u16).prop_map(Deed::Pass),
    ];
    proptest::collection::vec((0..2_usize, deed), 20..80)
}

/// What the world has seen of tokens, as it goes.
#[derive(Default)]
struct Watch {
    /// Of each account: its tokens so far, and how many of them a purge has made void.
    tokens: HashMap<String, (Vec<String>, usize)>,
    faults: Vec<String>,
}

impl Watch {
    fn note(&mut self, request: &WireRequest) {
        let owner = request.url.split('/').nth(3).unwrap_or_default();
        let Some(token) = token(request) else {
            self.faults.push(format!("{owner} without any"));
            return;
        };
        let (tokens, void) = self.tokens.entry(owner.to_owned()).or_default();
        match tokens.iter().position(|known| *known == token) {
            None => self.faults.push(format!("{owner} with {token}")),
            Some(place) if place < *void => {
                self.faults
                    .push(format!("{owner} with {token}, which is void"));
            }
            Some(_) => {}
        }
    }
}

/// The last letter of a token says what the server makes of it.
fn server(request: &WireRequest) -> Play {
    let seconds = |n| Play::Answer(Duration::from_secs(n), answer(201, "{}"));
    match token(request).and_then(|token| token.chars().last()) {
        Some('0') => status(401),
        Some('1') => lost(),
        Some('2') => unreachable(),
        Some('3') => Play::HandOver { confirm: true },
        Some('4') => seconds(9),
        _ => created(),
    }
}

struct Run {
    world: World,
    outboxes: [Arc<Outbox>; 2],
    watch: Arc<Mutex<Watch>>,
    step: usize,
    /// Drains go on while other things happen.
    drains: Vec<tokio::task::JoinHandle<()>>,
}

impl Run {
    async fn carry_out(&mut self, n: usize, deed: &Deed) {
        self.step += 1;
        let outbox = &self.outboxes[n];
        match deed {
            Deed::SignIn(account) => outbox.sign_in(ACCOUNTS[*account].to_owned()).unwrap(),
            Deed::Keep => drop(outbox.sign_out(SignOut::Keep).unwrap()),
            Deed::Purge => {
                let purged = outbox.sign_out(SignOut::Purge).unwrap().account;
                if let Some(account) = purged {
                    let mut watch = self.watch.lock().unwrap();
                    let (tokens, void) = watch.tokens.entry(account).or_default();
                    *void = tokens.len();
                }
            }
            Deed::Supply {
                account,
                again,
                answer,
            } => self.supply(n, *account, *again, *answer),
            Deed::Submit(account) => {
                let account = ACCOUNTS[*account];
                let name = format!("{}", self.step);
                let id = SubmissionId::derived(Some(account), "order", &name);
                let order = Submission::post(id, &format!("/{account}/{name}")).json("{}");
                outbox.submit(of(account, order)).unwrap();
            }
            Deed::Start => outbox.start().unwrap(),
            Deed::Suspend => outbox.suspend().unwrap(),
            Deed::Drain => {
                let outbox = Arc::clone(outbox);
                self.drains.push(tokio::spawn(async move {
                    drop(outbox.drain(DrainBudget::of(Duration::from_secs(5))).await);
                }));
            }
            Deed::Answer(status) => {
                if self.world.network.held() > 0 {
                    let mut answer = answer(*status, "{}");
                    answer.headers.push(header("location", "elsewhere"));
                    self.world.network.take().answered(answer);
                }
            }
            Deed::Network(there) => outbox
                .network_available(match there {
                    true => NetworkKind::Metered,
                    false => NetworkKind::Offline,
                })
                .unwrap(),
            Deed::Pass(millis) => {
                self.world
                    .pass(Duration::from_millis((*millis).into()))
                    .await;
            }
        }
    }

    fn supply(&self, n: usize, account: usize, again: bool, answer: usize) {
        let account = ACCOUNTS[account];
        let outbox = &self.outboxes[n];
        let mut watch = self.watch.lock().unwrap();
        let (tokens, void) = watch.tokens.entry(account.to_owned()).or_default();
        let new = format!("{account}-{}-{answer}", self.step);
        // What its host gives again is its host's affair, unless it was before a purge.
        let token = match tokens.get(*void..).and_then(<[String]>::first) {
            Some(old) if again => old.clone(),
            _ => new,
        };
        if !tokens.contains(&token) {
            tokens.push(token.clone());
        }
        // The network looks at the same book.
        drop(watch);
        let supplied = outbox.supply_credentials(account.to_owned(), bearer(&token), None);
        let signed_in = outbox.signed_in().unwrap();
        match supplied {
            Ok(()) => assert_eq!(signed_in.as_deref(), Some(account)),
            Err(error) => {
                assert_ne!(signed_in.as_deref(), Some(account));
                assert!(matches!(error, OutboxError::NotSignedIn { .. }), "{error}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn no_race_of_tokens_and_accounts_sends_with_the_wrong_ones(
        seed in any::<u64>(),
        deeds in deeds(),
    ) {
        let place = Place::new();
        let watch = Arc::new(Mutex::new(Watch::default()));
        let seen = Arc::clone(&watch);
        simulate(seed, |world| async move {
            let book = Arc::clone(&watch);
            world.network.always(move |request| {
                book.lock().unwrap().note(request);
                server(request)
            });
            let outboxes = [world.open(&place), world.open_apart(&place)];
            for outbox in &outboxes {
                outbox.start().unwrap();
            }
            let mut run = Run { world, outboxes, watch, step: 0, drains: Vec::new() };
            for (n, deed) in &deeds {
                run.carry_out(*n, deed).await;
            }
            for drain in run.drains {
                drain.await.unwrap();
            }
        });
        let watch = seen.lock().unwrap();
        prop_assert!(watch.faults.is_empty(), "{:?}", watch.faults);
    }
}

/// What the property relies on.
#[test]
fn the_watch_finds_tokens_of_others_and_void_ones() {
    let mut watch = Watch::default();
    let request = |owner: &str, token: &str| WireRequest {
        method: "POST".into(),
        url: format!("https://api.example.com/{owner}/1"),
        headers: vec![header("authorization", &format!("Bearer {token}"))],
        body: submit_once::WireBody::Bytes(Vec::new().into()),
        max_answer_bytes: 1,
        idle_timeout: Duration::ZERO,
        fresh_connection: false,
    };
    let of_ann = vec!["old".to_owned(), "new".to_owned()];
    watch.tokens.insert("ann".into(), (of_ann, 1));
    watch.note(&request("ann", "new"));
    assert!(watch.faults.is_empty());
    watch.note(&request("ann", "old"));
    watch.note(&request("bob", "new"));
    assert_eq!(watch.faults.len(), 2);
}
