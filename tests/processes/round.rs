//! One round of processes that share a queue.

use std::fmt;
use std::time::Duration;

use submit_once_reference_server::history::Event;
use submit_once_reference_server::{Behaviour, Matcher, Options, RequestRecord};

use crate::common::Place;
use crate::common::agents::PATIENCE;
use crate::diary::{Diary, Figures};
use crate::dice::Dice;
use crate::session::{Order, Session};

/// What becomes of one of the two that drain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// At any moment.
    Killed,
    /// The server has its request.
    KilledOnTheWire,
    /// The server has its request; thawed after another took over.
    FrozenOnTheWire,
    /// The server has its request; thawed while its lease holds.
    FrozenBriefly,
    /// Thawed after another took over: it sends all the same.
    FrozenAfterItsLastLook,
    /// Thawed after another took over: it looks, and sends nothing.
    FrozenAfterItsClaim,
    /// The server has its request; its lease would hold long.
    FrozenAndKilled,
}

impl Kind {
    pub const ALL: [Self; 7] = [
        Self::Killed,
        Self::KilledOnTheWire,
        Self::FrozenOnTheWire,
        Self::FrozenBriefly,
        Self::FrozenAfterItsLastLook,
        Self::FrozenAfterItsClaim,
        Self::FrozenAndKilled,
    ];
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Killed => "with one killed at random",
            Self::KilledOnTheWire => "killed on the wire",
            Self::FrozenOnTheWire => "frozen on the wire",
            Self::FrozenBriefly => "frozen for less than a lease",
            Self::FrozenAfterItsLastLook => "frozen between last look and first byte",
            Self::FrozenAfterItsClaim => "frozen between claim and last look",
            Self::FrozenAndKilled => "killed while frozen",
        })
    }
}

/// As short as the rules allow where others must not time out on a busy machine.
const SHORT: &str = r#"{"request_timeout":500,"busy_timeout":400,"lease":1300,"backoff_first":20,"backoff_most":100,"quiet_time":300}"#;

/// The lease of the defaults, 120 s.
const LONG: &str = r#"{"backoff_first":20,"backoff_most":100,"quiet_time":300}"#;

const HOLD: &str = "hold";

pub struct Round {
    kind: Kind,
    place: Place,
    diary: Diary,
    dice: Dice,
    limits: &'static str,
}

impl Round {
    pub fn new(kind: Kind, seed: u64, part: u64, dice: Dice) -> Self {
        let limits = match kind {
            Kind::FrozenBriefly | Kind::FrozenAndKilled => LONG,
            Kind::Killed | Kind::KilledOnTheWire if dice.once_in(2) => LONG,
            Kind::Killed
            | Kind::KilledOnTheWire
            | Kind::FrozenOnTheWire
            | Kind::FrozenAfterItsLastLook
            | Kind::FrozenAfterItsClaim => SHORT,
        };
        let test = "processes_that_share_a_queue";
        Self {
            kind,
            place: Place::in_memory(),
            diary: Diary::new(Options::default(), test, seed, part),
            dice,
            limits,
        }
    }

    pub fn play(&self) -> Figures {
        match self.kind {
            Kind::Killed => self.killed(),
            Kind::KilledOnTheWire => self.killed_on_the_wire(),
            Kind::FrozenOnTheWire => self.frozen_on_the_wire(),
            Kind::FrozenBriefly => self.frozen_briefly(),
            Kind::FrozenAfterItsLastLook => self.frozen_after_its_last_look(),
            Kind::FrozenAfterItsClaim => self.frozen_after_its_claim(),
            Kind::FrozenAndKilled => self.frozen_and_killed(),
        }
        self.diary.judge()
    }

    fn open(&self, name: &str, more: &[&str]) -> Session<'_> {
        let options = [&["--limits", self.limits], more].concat();
        Session::open(name, &self.place, &self.diary, &options)
    }

    /// It waits for the others' transactions as long as an app does.
    fn open_accepter(&self, name: &str) -> Session<'_> {
        let options = ["--limits", LONG];
        Session::open(name, &self.place, &self.diary, &options)
    }

    fn begin(&self, accepter: &mut Session<'_>, number: u64) -> Order {
        Order {
            id: accepter.ask(&format!("begin form-{number}")).unwrap(),
            path: format!("/orders/{number}"),
            lane: None,
            large: None,
        }
    }

    /// The third process accepts one more.
    fn accept(&self, accepter: &mut Session<'_>, number: u64) -> Order {
        let order = self.begin(accepter, number);
        assert_eq!(accepter.submit(&order).unwrap(), "Accepted");
        order
    }

    /// The requests of a key so far.
    fn requests(&self, order: &Order) -> usize {
        let of = |record: &&RequestRecord| record.key.as_deref() == Some(&order.id);
        self.diary.server.records().iter().filter(of).count()
    }

    fn wait_for_requests(&self, order: &Order, count: usize) {
        let came = |records: &[RequestRecord]| {
            let of = |record: &&RequestRecord| record.key.as_deref() == Some(&order.id);
            records.iter().filter(of).count() >= count
        };
        assert!(self.diary.server.wait_for(came, PATIENCE));
    }

    fn crashed(&self, session: Session<'_>) {
        let by = Some(session.name);
        session.agent.kill();
        self.diary.note(Event::Crashed { by });
    }

    /// Both submit the same at the same time: one of them accepts it.
    fn accept_together(&self, accepters: &mut [Session<'_>; 2], number: u64) {
        let order = self.begin(&mut accepters[0], number);
        let told = std::thread::scope(|scope| {
            let submit = |accepter: &mut Session<'_>| accepter.submit(&order).unwrap();
            let both = accepters
                .each_mut()
                .map(|accepter| scope.spawn(move || submit(accepter)));
            both.map(|told| told.join().unwrap())
        });
        let accepted = told.iter().filter(|kind| *kind == "Accepted").count();
        assert_eq!(accepted, 1, "{told:?}");
    }

    /// Two drain while two more accept; one that drains is killed meanwhile.
    fn killed(&self) {
        // Slow while its client is there: what lives may take longer than the quiet time.
        let slow = Behaviour::AnswerLate(self.dice.moment(Duration::from_millis(450)));
        self.diary.server.always(Matcher::Any, slow);
        let mut accepters = [
            self.open_accepter("accepter"),
            self.open_accepter("another"),
        ];
        let mut dying = Some(self.open("dying", &[]));
        let mut other = self.open("other", &[]);
        let last = self.dice.below(6);
        for number in 0..8 {
            self.accept_together(&mut accepters, number);
            for drainer in dying.iter_mut().chain([&mut other]) {
                drain(drainer);
            }
            if number == last
                && let Some(dying) = dying.take()
            {
                // Any moment of what it does now.
                std::thread::sleep(self.dice.moment(Duration::from_millis(30)));
                self.crashed(dying);
            }
        }
        other.finish();
        accepters.iter_mut().for_each(Session::read_all);
    }

    /// Whichever of the two has it on the wire is killed.
    fn killed_on_the_wire(&self) {
        let mut accepter = self.open_accepter("accepter");
        let mut drainers = vec![self.open("one", &[]), self.open("two", &[])];
        let order = self.accept(&mut accepter, 0);
        self.hold(&order);
        drainers.iter_mut().for_each(drain);
        let held = self.diary.server.wait_until_held(HOLD, PATIENCE).unwrap();
        let agent = held.user_agent.unwrap();
        let has_it = |drainer: &Session<'_>| agent == format!("agent/{}", drainer.agent.id());
        let dying = drainers.iter().position(has_it).unwrap();
        self.crashed(drainers.remove(dying));
        self.diary.server.release(HOLD);
        self.accept(&mut accepter, 1);
        drainers[0].finish();
        accepter.read_all();
        assert!(self.requests(&order) >= 2);
    }

    /// The server stands before or after its effect when this comes first.
    fn hold(&self, order: &Order) {
        let hold = match self.dice.once_in(2) {
            true => Behaviour::HoldAfter(HOLD.to_owned()),
            false => Behaviour::HoldBefore(HOLD.to_owned()),
        };
        let key = Matcher::key(&order.id);
        self.diary.server.script(key, vec![hold]);
    }

    /// One that accepts, and one that is frozen with the order's request on the wire.
    fn freeze_on_the_wire(&self) -> (Session<'_>, Session<'_>, Order) {
        let mut accepter = self.open_accepter("accepter");
        let mut frozen = self.open("frozen", &[]);
        let order = self.accept(&mut accepter, 0);
        self.hold(&order);
        drain(&mut frozen);
        self.diary.server.wait_until_held(HOLD, PATIENCE).unwrap();
        frozen.agent.freeze(&self.place);
        (accepter, frozen, order)
    }

    fn note_frozen(&self) {
        let by = "frozen".to_owned();
        self.diary.note(Event::Frozen { by });
    }

    fn thaw(&self, frozen: &Session<'_>) {
        let by = "frozen".to_owned();
        self.diary.note(Event::Thawed { by });
        frozen.agent.thaw();
    }

    /// All three see the same end.
    fn see(&self, sessions: [&mut Session<'_>; 3], order: &Order) {
        let [frozen, other, accepter] = sessions;
        settled(frozen, order);
        other.finish();
        frozen.read_all();
        accepter.read_all();
    }

    fn frozen_on_the_wire(&self) {
        let (mut accepter, mut frozen, order) = self.freeze_on_the_wire();
        self.note_frozen();
        let mut other = self.open("other", &[]);
        drain(&mut other);
        self.accept(&mut accepter, 1);
        if self.dice.once_in(2) {
            // The server is still at work when the next request of the key comes.
            other.ask("start").unwrap();
            self.wait_for_requests(&order, 2);
        }
        self.diary.server.release(HOLD);
        settled(&mut other, &order);
        self.thaw(&frozen);
        self.see([&mut frozen, &mut other, &mut accepter], &order);
        assert!(self.requests(&order) >= 2);
    }

    /// Nobody knows that it is frozen: its lease holds, and nothing excuses a second request.
    fn frozen_briefly(&self) {
        let (mut accepter, mut frozen, order) = self.freeze_on_the_wire();
        let mut other = self.open("other", &[]);
        let another = self.accept(&mut accepter, 1);
        settled(&mut other, &another);
        // Longer than the quiet time and a look at who is dead.
        let waited = other.ask(&format!("wait {} 1500", order.id)).unwrap();
        assert_eq!(waited, "TimedOut");
        if self.requests(&order) == 1 {
            self.diary.server.release(HOLD);
            frozen.agent.thaw();
            self.see([&mut frozen, &mut other, &mut accepter], &order);
        } else {
            // The judge has a word for this.
            self.diary.server.release_all();
        }
    }

    fn frozen_after_its_last_look(&self) {
        let mut accepter = self.open_accepter("accepter");
        let mut frozen = self.open("frozen", &["--stand", "checked:2"]);
        let order = self.accept(&mut accepter, 0);
        // Both lines, in the order that they come.
        frozen.agent.say("drain-in-background 60000");
        let mut said = [frozen.agent.read(), frozen.agent.read()];
        said.sort();
        assert_eq!(said, ["at checked", "draining"]);
        frozen.agent.freeze(&self.place);
        self.note_frozen();
        assert_eq!(self.requests(&order), 0);
        let mut other = self.open("other", &[]);
        let together = self.dice.once_in(2);
        if together {
            self.hold(&order);
        }
        other.ask("start").unwrap();
        match together {
            true => drop(self.diary.server.wait_until_held(HOLD, PATIENCE).unwrap()),
            false => settled(&mut other, &order),
        }
        frozen.agent.say("go");
        self.thaw(&frozen);
        assert_eq!(frozen.agent.read(), "going");
        self.wait_for_requests(&order, 2);
        self.diary.server.release_all();
        self.see([&mut frozen, &mut other, &mut accepter], &order);
    }

    fn frozen_after_its_claim(&self) {
        let mut accepter = self.open_accepter("accepter");
        let mut frozen = self.open("frozen", &["--mute"]);
        let order = self.accept(&mut accepter, 0);
        frozen.agent.say("drain-in-background 60000");
        let mut said = [frozen.agent.read(), frozen.agent.read()];
        said.sort();
        assert_eq!(said, ["claimed", "draining"]);
        frozen.agent.freeze(&self.place);
        let mut other = self.open("other", &[]);
        settled(&mut other, &order);
        frozen.agent.thaw();
        assert_eq!(frozen.ask("unmute").unwrap(), "1");
        settled(&mut frozen, &order);
        assert_eq!(frozen.ask("suspend").unwrap(), "suspended");
        self.see([&mut frozen, &mut other, &mut accepter], &order);
        assert_eq!(self.requests(&order), 1);
    }

    /// Its lock goes with it, however long its lease is.
    fn frozen_and_killed(&self) {
        let (mut accepter, frozen, order) = self.freeze_on_the_wire();
        let mut other = self.open("other", &[]);
        if self.dice.once_in(2) {
            other.ask("start").unwrap();
        }
        self.crashed(frozen);
        self.diary.server.release(HOLD);
        settled(&mut other, &order);
        other.finish();
        accepter.read_all();
        assert!(self.requests(&order) >= 2);
    }
}

/// It delivers what is due now.
fn drain(session: &mut Session<'_>) {
    let told = session.ask("drain-in-background 60000").unwrap();
    assert_eq!(told, "draining");
}

fn settled(session: &mut Session<'_>, order: &Order) {
    assert_eq!(session.ask("start").unwrap(), "started");
    let patience = PATIENCE.min(Duration::from_secs(60)).as_millis();
    let waited = session.ask(&format!("wait {} {patience}", order.id));
    assert_eq!(waited.as_deref(), Some("Settled"), "{}", session.name);
}
