//! P10: a submission is only sent with the credentials of its own account, and they are asked for
//! once, however many wait.

use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, SystemTime};

use submit_once::{
    Clock, CredentialsListener, CredentialsReason, DrainStop, Header, ListenerError, Outbox,
    Submission, SubmissionState, WaitingFor, WireRequest,
};

use crate::common::Place;
use crate::common::sim::{World, created, drain, header, order, simulate, status};

use CredentialsReason::{Expiring, Missing, Refused, RefusedAgain};

const HOUR: Duration = Duration::from_secs(3_600);
const SECOND: Duration = Duration::from_secs(1);

/// A host that writes down what it is asked, and answers with the next of its tokens.
#[derive(Default)]
pub struct Host {
    pub asked: Mutex<Vec<(String, CredentialsReason)>>,
    tokens: Mutex<Vec<String>>,
    /// The last one is given again and again.
    pub stubborn: bool,
    outbox: Mutex<Weak<Outbox>>,
}

impl Host {
    pub fn of(outbox: &Arc<Outbox>, tokens: &[&str]) -> Arc<Self> {
        Self::new(outbox, tokens, false)
    }

    fn new(outbox: &Arc<Outbox>, tokens: &[&str], stubborn: bool) -> Arc<Self> {
        let host = Arc::new(Self {
            tokens: Mutex::new(tokens.iter().rev().map(|&token| token.to_owned()).collect()),
            stubborn,
            outbox: Mutex::new(Arc::downgrade(outbox)),
            ..Self::default()
        });
        let listener: Arc<dyn CredentialsListener> = Arc::clone(&host) as _;
        outbox.set_credentials_listener(Some(listener)).unwrap();
        host
    }

    pub fn reasons(&self) -> Vec<CredentialsReason> {
        let asked = self.asked.lock().unwrap();
        asked.iter().map(|(_, reason)| *reason).collect()
    }
}

impl CredentialsListener for Host {
    fn credentials_needed(
        &self,
        account: String,
        reason: CredentialsReason,
    ) -> Result<(), ListenerError> {
        self.asked.lock().unwrap().push((account.clone(), reason));
        let mut tokens = self.tokens.lock().unwrap();
        let token = if self.stubborn && tokens.len() == 1 {
            tokens.last().cloned()
        } else {
            tokens.pop()
        };
        if let (Some(token), Some(outbox)) = (token, self.outbox.lock().unwrap().upgrade()) {
            supply(&outbox, &account, &token);
        }
        Ok(())
    }
}

pub fn bearer(token: &str) -> Vec<Header> {
    vec![header("Authorization", &format!("Bearer {token}"))]
}

pub fn supply(outbox: &Outbox, account: &str, token: &str) {
    outbox
        .supply_credentials(account.to_owned(), bearer(token), None)
        .unwrap();
}

/// What a request was sent with.
pub fn token(request: &WireRequest) -> Option<String> {
    let found = request.headers.iter().find(|h| h.name == "authorization")?;
    found.value.strip_prefix("Bearer ").map(str::to_owned)
}

/// A server that lets one token in.
pub fn lets_in(world: &World, good: &'static str) {
    world.network.always(move |request| {
        if token(request).as_deref() == Some(good) {
            created()
        } else {
            status(401)
        }
    });
}

pub fn of(account: &str, submission: Submission) -> Submission {
    Submission {
        account: Some(account.to_owned()),
        ..submission
    }
}

/// The device's wall clock.
fn wall(world: &World) -> SystemTime {
    let millis = u64::try_from(world.clock.now().wall.0).unwrap();
    SystemTime::UNIX_EPOCH + Duration::from_millis(millis)
}

fn waits_for(outbox: &Outbox, order: &Submission) -> Option<WaitingFor> {
    outbox.snapshot(order.id).unwrap().waiting_for
}

fn state(outbox: &Outbox, order: &Submission) -> SubmissionState {
    outbox.snapshot(order.id).unwrap().state
}

#[test]
fn a_submission_waits_for_its_account_and_for_credentials_and_goes_when_they_come() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = world.open(&place);
        let host = Host::of(&outbox, &[]);
        lets_in(&world, "good");
        let order = of("ann", order(&outbox, "form"));
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(HOUR).await;
        assert_eq!(waits_for(&outbox, &order), Some(WaitingFor::SignedOut));
        assert_eq!(host.reasons(), [], "nobody is signed in");
        outbox.sign_in("ann".into()).unwrap();
        world.pass(SECOND).await;
        assert_eq!(waits_for(&outbox, &order), Some(WaitingFor::Credentials));
        assert_eq!(host.reasons(), [Missing]);
        assert_eq!(world.network.seen().len(), 0);
        supply(&outbox, "ann", "good");
        world.pass(SECOND).await;
        assert_eq!(state(&outbox, &order), SubmissionState::Succeeded);
        assert_eq!(
            token(&world.network.seen()[0].request).as_deref(),
            Some("good")
        );
    });
}

/// F78: parallel refusals rotate one token once.
#[test]
fn any_number_of_refusals_asks_once_and_uses_the_same_keys() {
    let place = Place::new();
    simulate(2, |world| async move {
        let mut config = world.config(&place);
        config.limits = Some(submit_once::Limits {
            max_in_flight: 20,
            ..Default::default()
        });
        let outbox = world.open_with(config);
        outbox.sign_in("ann".into()).unwrap();
        let host = Host::of(&outbox, &["new"]);
        supply(&outbox, "ann", "old");
        lets_in(&world, "new");
        for number in 0..20 {
            let order = of("ann", order(&outbox, &format!("form-{number}")));
            outbox.submit(order).unwrap();
        }
        let report = drain(&outbox).await;
        assert_eq!(
            (report.succeeded, report.stopped),
            (20, DrainStop::NothingDue)
        );
        assert_eq!(host.reasons(), [Refused]);
        let seen = world.network.seen();
        assert_eq!(seen.len(), 40);
        let keys: std::collections::HashSet<_> = seen
            .iter()
            .map(|seen| {
                let key = |h: &&Header| h.name == "idempotency-key";
                seen.request.headers.iter().find(key).unwrap().value.clone()
            })
            .collect();
        assert_eq!(keys.len(), 20, "F09: a key doesn't depend on the token");
    });
}

/// F78: a dead refresh token is no loop. The account's gate closes, and the host is told.
#[test]
fn refused_again_the_account_waits_until_the_host_does_something() {
    let place = Place::new();
    simulate(3, |world| async move {
        let outbox = world.open(&place);
        outbox.sign_in("ann".into()).unwrap();
        let host = Host::of(&outbox, &["dead", "dead too"]);
        lets_in(&world, "good");
        let order = of("ann", order(&outbox, "form"));
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(HOUR * 24).await;
        assert_eq!(host.reasons(), [Missing, Refused, RefusedAgain]);
        assert_eq!(world.network.seen().len(), 2);
        let snapshot = outbox.snapshot(order.id).unwrap();
        assert_eq!(snapshot.waiting_for, Some(WaitingFor::Credentials));
        assert_eq!(snapshot.state, SubmissionState::Pending);
        // The closed gate is remembered; a new process tells its host, and sends nothing.
        outbox.close();
        let outbox = world.open(&place);
        let host = Host::of(&outbox, &[]);
        outbox.start().unwrap();
        world.pass(HOUR * 24).await;
        assert_eq!(host.reasons(), [RefusedAgain]);
        assert_eq!(world.network.seen().len(), 2);
        outbox.sign_in("ann".into()).unwrap();
        supply(&outbox, "ann", "good");
        world.pass(SECOND).await;
        assert_eq!(state(&outbox, &order), SubmissionState::Succeeded);
        assert_eq!(world.network.seen().len(), 3);
    });
}

/// A host that answers each question with the same dead token makes fewer and fewer requests.
#[test]
fn a_host_that_always_has_a_dead_token_makes_no_loop() {
    let place = Place::new();
    simulate(4, |world| async move {
        let outbox = world.open(&place);
        outbox.sign_in("ann".into()).unwrap();
        let host = Host::new(&outbox, &["dead"], true);
        lets_in(&world, "good");
        let order = of("ann", order(&outbox, "form"));
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(HOUR * 24).await;
        let requests = world.network.seen().len();
        assert!(
            (3..=120).contains(&requests),
            "{requests} requests in a day"
        );
        assert!(host.reasons().len() <= requests + 2);
        let snapshot = outbox.snapshot(order.id).unwrap();
        assert_eq!(snapshot.state, SubmissionState::Pending);
    });
}

/// F79: a host that can't refresh while it is offline says nothing, and is asked again later.
#[test]
fn a_host_without_an_answer_is_asked_again_the_later_the_more_often() {
    let place = Place::new();
    simulate(5, |world| async move {
        let outbox = world.open(&place);
        outbox.sign_in("ann".into()).unwrap();
        let host = Host::of(&outbox, &[]);
        let order = of("ann", order(&outbox, "form"));
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(HOUR).await;
        let asked = host.reasons().len();
        assert!((5..=10).contains(&asked), "{asked} times in an hour");
        assert!(host.reasons().iter().all(|reason| *reason == Missing));
        assert_eq!(state(&outbox, &order), SubmissionState::Pending);
        assert_eq!(world.network.seen().len(), 0, "no attempt is burned");
    });
}

/// A worker's process has no credentials when it starts: the drain waits for its host.
#[test]
fn a_drain_waits_for_credentials_that_are_on_their_way_and_says_when_they_dont_come() {
    let place = Place::new();
    simulate(6, |world| async move {
        let outbox = world.open(&place);
        outbox.sign_in("ann".into()).unwrap();
        let order = of("ann", order(&outbox, "form"));
        outbox.submit(order.clone()).unwrap();
        // Nobody listens: there is nothing to wait for.
        let report = drain(&outbox).await;
        assert_eq!(report.stopped, DrainStop::CredentialsNeeded);
        let host = Host::of(&outbox, &[]);
        let report = drain(&outbox).await;
        assert_eq!(report.stopped, DrainStop::CredentialsNeeded);
        assert_eq!(host.reasons(), [Missing]);
        let late = Arc::clone(&outbox);
        let draining = tokio::spawn(async move { drain(&late).await });
        world.pass(SECOND * 5).await;
        supply(&outbox, "ann", "good");
        let report = draining.await.unwrap();
        assert_eq!(
            (report.succeeded, report.stopped),
            (1, DrainStop::NothingDue)
        );
    });
}

#[test]
fn credentials_are_renewed_before_they_expire() {
    let place = Place::new();
    simulate(7, |world| async move {
        let outbox = world.open(&place);
        outbox.sign_in("ann".into()).unwrap();
        let host = Host::of(&outbox, &["second"]);
        let now = wall(&world);
        outbox
            .supply_credentials("ann".into(), bearer("first"), Some(now + HOUR))
            .unwrap();
        outbox.start().unwrap();
        world.pass(HOUR - SECOND * 90).await;
        outbox.submit(of("ann", order(&outbox, "in time"))).unwrap();
        world.pass(SECOND).await;
        assert_eq!(host.reasons(), []);
        world.pass(SECOND * 45).await;
        outbox
            .submit(of("ann", order(&outbox, "too late")))
            .unwrap();
        world.pass(SECOND).await;
        assert_eq!(host.reasons(), [Expiring]);
        let sent: Vec<_> = world
            .network
            .seen()
            .iter()
            .map(|s| token(&s.request))
            .collect();
        assert_eq!(sent, [Some("first".into()), Some("second".into())]);
    });
}

/// A time that has passed says that a clock is wrong, not that the token is: the server decides.
#[test]
fn an_expiry_in_the_past_is_not_believed() {
    let place = Place::new();
    simulate(8, |world| async move {
        let outbox = world.open(&place);
        outbox.sign_in("ann".into()).unwrap();
        let host = Host::of(&outbox, &[]);
        let past = wall(&world) - HOUR;
        outbox
            .supply_credentials("ann".into(), bearer("good"), Some(past))
            .unwrap();
        outbox.submit(of("ann", order(&outbox, "form"))).unwrap();
        assert_eq!(drain(&outbox).await.succeeded, 1);
        assert_eq!(host.reasons(), []);
    });
}

/// Two parts of an app open the same path: one of them is asked, and when it goes, the other.
#[test]
fn when_the_handle_that_is_asked_goes_the_other_one_is() {
    let place = Place::new();
    simulate(31, |world| async move {
        let (first, second) = (world.open(&place), world.open(&place));
        let one = Host::of(&first, &["old"]);
        let two = Host::of(&second, &["other"]);
        lets_in(&world, "old");
        first.sign_in("ann".to_owned()).unwrap();
        first.submit(of("ann", order(&first, "a"))).unwrap();
        second.close();
        assert_eq!(drain(&first).await.succeeded, 1);
        assert_eq!(one.reasons(), [Missing]);
        assert_eq!(two.reasons(), []);
        assert_eq!(Arc::strong_count(&two), 1);
    });
}
