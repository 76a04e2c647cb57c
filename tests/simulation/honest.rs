//! The simulated network and server are honest: what happens to one submission there happens to it over
//! real sockets, too, with the reference server and the default transport.

use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use submit_once::{
    Clock, DrainBudget, Limits, Now, Outbox, OutboxConfig, Seams, ServerProfile, Submission,
    SubmissionId, SystemClock, UptimeMs, WallMs, WireAnswer,
};
use submit_once_reference_server::{Behaviour, Matcher, Options, ReferenceServer};

use crate::common::attack::Attack;
use crate::common::sim::{answer, header, simulate};
use crate::device::{Device, fresh_folder};
use crate::dice::Dice;
use crate::kinds::Setting;
use crate::log::Log;
use crate::server::{Says, Server};
use crate::wire::{Fate, Net};

const FINE: Fate = Fate::Answered {
    cut: false,
    twice: false,
    late: false,
};

/// The same exchange in both worlds.
type Exchange = (Behaviour, Fate, Option<Says>);

fn before(status: u16) -> Exchange {
    let real = Behaviour::respond(status, "application/json", "{}");
    (real, FINE, Some(Says::Before(answer(status, "{}"))))
}

fn with(status: u16, name: &str, value: &str) -> Exchange {
    let real = Behaviour::ErrorBefore {
        status,
        headers: vec![(name.to_owned(), value.to_owned())],
    };
    let mut said = answer(status, "{}");
    said.headers.push(header(name, value));
    (real, FINE, Some(Says::Before(said)))
}

fn page() -> WireAnswer {
    let mut page = answer(200, "<html>hello</html>");
    page.headers[0].value = "text/html".to_owned();
    page
}

fn exchanges() -> Vec<Exchange> {
    let broken = Fate::Breaks(Duration::from_secs(1));
    vec![
        (Behaviour::Normal, FINE, None),
        (Behaviour::CommitThenDrop, broken, None),
        (
            Behaviour::reset_after_read().without_effect(),
            Fate::Lost,
            None,
        ),
        (Behaviour::Hang { commit: true }, Fate::Silent, None),
        (
            Behaviour::AnswerHalf,
            Fate::Answered {
                cut: true,
                twice: false,
                late: false,
            },
            None,
        ),
        (
            Behaviour::ErrorAfter { status: 500 },
            FINE,
            Some(Says::After(500)),
        ),
        (
            Behaviour::ErrorAfter { status: 504 },
            FINE,
            Some(Says::After(504)),
        ),
        (
            Behaviour::FreezeError { status: 500 },
            FINE,
            Some(Says::Freezes(500)),
        ),
        (
            Behaviour::FreezeError { status: 422 },
            FINE,
            Some(Says::Freezes(422)),
        ),
        with(503, "retry-after", "600"),
        with(429, "retry-after", "600"),
        with(302, "location", "/login"),
        before(500),
        before(502),
        before(400),
        before(404),
        before(409),
        before(412),
        before(425),
        (
            Behaviour::respond(200, "text/html", "<html>hello</html>"),
            FINE,
            Some(Says::Before(page())),
        ),
    ]
}

/// What goes on after the exchange.
#[derive(Debug, Clone, Copy)]
enum Then {
    /// All is well again.
    Well,
    /// The same again, and then all is well.
    Again,
    /// It is cancelled.
    Cancelled,
}

/// What the core concluded, and what the server saw.
#[derive(Debug, PartialEq)]
struct Concluded {
    after: String,
    marks: Vec<String>,
    end: String,
    requests: usize,
    effects: u64,
}

fn limits() -> Limits {
    Limits {
        request_timeout: Duration::from_millis(400),
        busy_timeout: Duration::from_secs(1),
        lease: Duration::from_secs(8),
        ..Limits::default()
    }
}

fn profile() -> ServerProfile {
    ServerProfile::standard()
}

fn look(outbox: &Outbox, id: SubmissionId) -> String {
    let snapshot = outbox.snapshot(id).unwrap();
    let outcome = snapshot
        .outcome
        .map(|outcome| (outcome.status, outcome.result_missing));
    format!(
        "{:?}, in doubt {}, {} attempts, {outcome:?}",
        snapshot.state, snapshot.in_doubt, snapshot.attempts
    )
}

fn marks(database: &Path) -> Vec<String> {
    let sql = rusqlite::Connection::open(database).unwrap();
    let mut rows = sql
        .prepare("SELECT mark FROM attempt ORDER BY number")
        .unwrap();
    rows.query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect()
}

fn submit(outbox: &Outbox) -> SubmissionId {
    let id = outbox.begin("form".to_owned()).unwrap();
    let order = Submission::post(id, "/orders")
        .json("{}")
        .header("x-sim", &id.to_string());
    outbox.submit(order).unwrap();
    id
}

const LATER: Duration = Duration::from_secs(7_200);
const BUDGET: Duration = Duration::from_secs(30);

fn simulated((_, fate, says): &Exchange, then: Then) -> Concluded {
    let concluded = Arc::new(Mutex::new(None));
    let out = Arc::clone(&concluded);
    let (fate, says) = (*fate, says.clone());
    simulate(1, |world| async move {
        let log = Log::new(&world.clock);
        let setting = Setting {
            profile: profile(),
            limits: limits(),
            names_boots: true,
            marks: true,
            trouble: 0,
        };
        let mut server = Server::new(setting, &world.clock, &log, Dice::new(1));
        server.calm = true;
        let times = if matches!(then, Then::Again) { 2 } else { 1 };
        for _ in 0..times {
            server.fates.push_back(fate);
            server.script.extend(says.clone());
        }
        let net = Net::new(server, &world.clock, &log);
        let config = OutboxConfig::at("")
            .base_url("https://api.example.com")
            .profile(profile())
            .limits(limits());
        let mut device = Device::new(&world, &net, config);
        device.open().unwrap();
        let outbox = Arc::clone(&device.app().outbox);
        let id = submit(&outbox);
        outbox.drain(DrainBudget::of(BUDGET)).await.unwrap();
        let (after, marks) = (look(&outbox, id), marks(&device.database()));
        if matches!(then, Then::Cancelled) {
            outbox.cancel(id).unwrap();
        }
        for _ in 0..4 {
            world.pass(LATER).await;
            outbox.drain(DrainBudget::of(BUDGET)).await.unwrap();
        }
        let end = look(&outbox, id);
        let effects = net.server().effects_of(&id.to_string());
        let requests = log
            .lines()
            .iter()
            .filter(|line| line.contains("on the way"))
            .count();
        device.close(0);
        *out.lock().unwrap() = Some(Concluded {
            after,
            marks,
            end,
            requests,
            effects,
        });
    });
    concluded.lock().unwrap().take().unwrap()
}

/// The system's clocks, moved ahead by hand.
struct Hands(SystemClock, AtomicI64);

impl Clock for Hands {
    fn now(&self) -> Now {
        let ahead = self.1.load(Ordering::SeqCst);
        let now = self.0.now();
        Now {
            wall: WallMs(now.wall.0 + ahead),
            uptime: UptimeMs(now.uptime.0 + ahead),
            boot: now.boot,
        }
    }
}

fn real((behaviour, _, _): &Exchange, then: Then) -> Concluded {
    let server = ReferenceServer::start(Options::default()).unwrap();
    let times = if matches!(then, Then::Again) { 2 } else { 1 };
    server.script(Matcher::Any, vec![behaviour.clone(); times]);
    let folder = fresh_folder();
    let database = folder.path().join("outbox.sqlite3");
    let hands = Arc::new(Hands(SystemClock::new(None), AtomicI64::new(0)));
    let config = OutboxConfig::at(database.to_str().unwrap())
        .base_url(server.url())
        .profile(profile())
        .limits(limits());
    let seams = Seams {
        clock: Some(Arc::clone(&hands) as Arc<dyn Clock>),
        ..Seams::default()
    };
    let outbox = Outbox::open_with(config, seams).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let drain = || {
        runtime
            .block_on(outbox.drain(DrainBudget::of(BUDGET)))
            .unwrap()
    };
    let id = submit(&outbox);
    drain();
    let (after, marks) = (look(&outbox, id), marks(&database));
    server.release_all();
    if matches!(then, Then::Cancelled) {
        outbox.cancel(id).unwrap();
    }
    for _ in 0..4 {
        hands
            .1
            .fetch_add(LATER.as_millis() as i64, Ordering::SeqCst);
        drain();
    }
    let end = look(&outbox, id);
    let effects = server.summary().unwrap().effects;
    let requests = server.records().len();
    outbox.close();
    Concluded {
        after,
        marks,
        end,
        requests,
        effects,
    }
}

/// V9.
#[test]
fn the_simulated_network_is_honest() {
    let attack = Attack::begin("V9", "honesty");
    let mut scenarios = Vec::new();
    for (number, exchange) in exchanges().into_iter().enumerate() {
        for then in [Then::Well, Then::Again, Then::Cancelled] {
            scenarios.push((number, exchange.clone(), then));
        }
    }
    let next = Mutex::new(scenarios.iter());
    let differ = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                loop {
                    let Some((number, exchange, then)) = next.lock().unwrap().next() else {
                        return;
                    };
                    let (simulated, real) = (simulated(exchange, *then), real(exchange, *then));
                    if simulated != real {
                        let name = format!("{number} {:?} {then:?}", exchange.0);
                        differ.lock().unwrap().push((name, simulated, real));
                    }
                }
            });
        }
    });
    let differ = differ.lock().unwrap();
    assert!(differ.is_empty(), "simulated, real: {differ:#?}");
    attack.report(&format!(
        "{} scenarios, the same over real sockets",
        scenarios.len()
    ));
}
