//! The story of one database: process after process accepts and drains, and is killed; what they left
//! is driven to its end, and all of it judged.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use submit_once_reference_server::history::Event;
use submit_once_reference_server::{Behaviour, Faults, Matcher, Options};

use crate::common::Place;
use crate::diary::{Diary, Figures};
use crate::dice::Dice;
use crate::ends::End;
use crate::session::{Order, Session};

/// Times that are as short as the rules allow. The quiet time is that of servers which lock a key, and far
/// longer than this one works.
const LIMITS: &str = r#"{"request_timeout":4000,"busy_timeout":1500,"lease":7100,"backoff_first":20,"backoff_most":100,"quiet_time":1000,"inline_body_bytes":1024}"#;

const HOLD: &str = "hold";

/// As long as a server works on a request at most.
const SLOW: Duration = Duration::from_millis(200);

/// The latest moment of a kill: the time of a process that isn't waiting for a slow server.
const LATEST: Duration = Duration::from_millis(60);

/// Longer than this server closes a gate for.
const GATED: Duration = Duration::from_millis(1_500);

pub struct Story<'a> {
    place: Place,
    diary: &'a Diary,
    dice: Dice,
    /// What has been accepted.
    orders: Vec<Order>,
    /// What may have been: its submit has not returned.
    unsure: Vec<Order>,
    /// A slot and its ID, where no submit has been tried.
    begun: Option<(String, String)>,
    slots: u64,
    /// How long a process took to open, and then to do its work: the longest so far.
    pace: (Duration, Duration),
}

/// A server that misbehaves, as the dice have it.
pub fn server(dice: &Dice, seed: u64) -> Options {
    let faults = match dice.below(4) {
        0 => Faults::default(),
        1 => Faults {
            unavailable_503_retry_after: 0.3,
            retry_after_seconds: dice.below(2),
            ..Faults::default()
        },
        _ => Faults {
            commit_then_drop: 0.15,
            unavailable_503_retry_after: 0.05,
            retry_after_seconds: 0,
            late: 0.15,
            late_max_ms: 30,
            error_500_after_effect: 0.1,
            half: 0.1,
        },
    };
    Options {
        faults,
        seed,
        ..Options::default()
    }
}

impl<'a> Story<'a> {
    pub fn new(diary: &'a Diary, dice: Dice) -> Self {
        if dice.once_in(4) {
            let work = Behaviour::WorkLate(dice.moment(SLOW));
            diary.server.always(Matcher::Any, work);
        }
        Self {
            place: Place::in_memory(),
            diary,
            dice,
            orders: Vec::new(),
            unsure: Vec::new(),
            begun: None,
            slots: 0,
            pace: (Duration::ZERO, Duration::ZERO),
        }
    }

    /// A process, from its start to its kill. Gives the point's name if that was at one.
    pub fn live(&mut self, number: u64) -> Option<&'static str> {
        // The first shows how long it takes on this machine.
        let end = match number {
            0 => End::Drained,
            _ => End::draw(&self.dice, self.pace),
        };
        let mut options = vec!["--limits", LIMITS];
        let point = match end {
            End::Point(name, passing) => format!("{name}:{passing}"),
            _ => String::new(),
        };
        if !point.is_empty() {
            options.extend(["--die", &point]);
        }
        let name = format!("process {number}");
        let began = Instant::now();
        let mut session = Session::launch(name.clone(), &self.place, self.diary, &options);
        let pid = Pid::from_raw(i32::try_from(session.agent.id()).unwrap()).unwrap();
        let (opened, hears) = channel::<()>();
        let chosen = std::thread::scope(|scope| {
            let (from_start, time) = end.time();
            scope.spawn(move || {
                let is_open = from_start || hears.recv().is_ok();
                // Neither a word nor the end of the story: its time is over. The process isn't waited
                // for before this thread has ended, so its number is still its own.
                if is_open && hears.recv_timeout(time) == Err(RecvTimeoutError::Timeout) {
                    kill_process(pid, Signal::KILL).unwrap();
                }
            });
            let reached = session.read().is_some_and(|open| {
                assert_eq!(open, "open");
                self.pace.0 = self.pace.0.max(began.elapsed());
                if !from_start {
                    opened.send(()).unwrap();
                }
                self.work(&mut session, end) == Some(true)
            });
            drop(opened);
            reached
        });
        let named = chosen || session.at_point;
        session.agent.kill();
        self.diary.server.release_all();
        self.diary.note(Event::Crashed { by: Some(name) });
        end.name().filter(|_| named)
    }

    /// What the app does. Ends with the process; true if it is at the point that it is to end at.
    fn work(&mut self, session: &mut Session<'_>, end: End) -> Option<bool> {
        let began = Instant::now();
        if self.dice.once_in(2) {
            session.ask("start")?;
        }
        if self.dice.once_in(2) {
            self.submit_again(session, None)?;
        }
        for _ in 0..=self.dice.below(3) {
            self.order(session)?;
        }
        for _ in 0..2 {
            let Some(order) = self.dice.pick(&self.orders).cloned() else {
                break;
            };
            if self.dice.once_in(12) && order.lane.is_none() {
                session.cancel(&order.id)?;
            }
            session.look(&order.id)?;
        }
        if self.dice.once_in(6) {
            session.list()?;
        }
        match end {
            End::Begun => {
                self.begin(session)?;
                return Some(true);
            }
            End::OnTheWire { after_effect } => {
                self.send(session, after_effect)?;
                let server = &self.diary.server;
                return Some(server.wait_until_held(HOLD, GATED).is_some());
            }
            End::Drained => {
                session.ask("drain 20000")?;
                self.pace.1 = self.pace.1.max(began.elapsed().min(LATEST));
                return Some(true);
            }
            End::Point("suspend", _) => {
                session.ask("start")?;
                session.ask("suspend")?;
            }
            End::Point("close", _) => {
                session.ask("start")?;
                session.ask("close")?;
            }
            End::Point(..) => {
                session.ask("drain 20000")?;
            }
            End::Starting(_) | End::Working(_) => {
                session.ask("drain 20000")?;
                session.rest();
            }
        }
        // It didn't come by so often, and is killed where it is.
        Some(false)
    }

    /// An order of which the server shall not answer the first request.
    fn send(&mut self, session: &mut Session<'_>, after_effect: bool) -> Option<()> {
        let order = self.order(session)?;
        let hold = match after_effect {
            true => Behaviour::HoldAfter(HOLD.to_owned()),
            false => Behaviour::HoldBefore(HOLD.to_owned()),
        };
        self.diary
            .server
            .script(Matcher::key(&order.id), vec![hold]);
        session.ask("start")?;
        Some(())
    }

    /// Opens a form. The ID is the one of the process before, if that got no further.
    fn begin(&mut self, session: &mut Session<'_>) -> Option<String> {
        let slot = match &self.begun {
            Some((slot, _)) => slot.clone(),
            None => {
                self.slots += 1;
                format!("form-{}", self.slots)
            }
        };
        let id = session.ask(&format!("begin {slot}"))?;
        if let Some((_, before)) = &self.begun {
            assert_eq!(id, *before, "{slot} has another ID after a kill");
        }
        self.begun = Some((slot, id.clone()));
        Some(id)
    }

    /// As the recipe for an app's own tables has it: begin, keep the ID, submit.
    fn order(&mut self, session: &mut Session<'_>) -> Option<Order> {
        let (lane, large) = match self.dice.below(6) {
            lane @ 0..=1 => (Some(format!("till-{lane}")), None),
            2 => (None, Some(2_000)),
            _ => (None, None),
        };
        if lane.is_some() {
            // Who isn't sure of one in a lane doesn't put another behind it.
            self.submit_again(session, lane.as_deref())?;
        }
        let id = self.begin(session)?;
        self.begun = None;
        let path = format!("/orders/{}", self.slots);
        let order = Order {
            id,
            path,
            lane,
            large,
        };
        self.unsure.push(order.clone());
        let told = session.submit(&order)?;
        assert_eq!(told, "Accepted", "{} is new", order.id);
        self.unsure.pop();
        self.orders.push(order.clone());
        Some(order)
    }

    /// What no process has said to have accepted: all of it, or that of one lane.
    fn submit_again(&mut self, session: &mut Session<'_>, lane: Option<&str>) -> Option<()> {
        let (again, others): (Vec<Order>, Vec<Order>) = std::mem::take(&mut self.unsure)
            .into_iter()
            .partition(|order| lane.is_none() || order.lane.as_deref() == lane);
        self.unsure = others;
        self.unsure.extend(again.iter().cloned());
        for order in again {
            session.submit(&order)?;
            self.unsure.retain(|unsure| unsure.id != order.id);
            self.orders.push(order);
        }
        Some(())
    }

    /// The last processes, which nobody kills.
    pub fn end(mut self) -> Figures {
        self.diary.server.clear_scripts();
        let limits = ["--limits", LIMITS];
        let mut last = Session::open("the last process", &self.place, self.diary, &limits);
        if self.dice.once_in(2) {
            self.submit_again(&mut last, None).unwrap();
        }
        last.finish();
        let mut other = Session::open("another process", &self.place, self.diary, &limits);
        other.read_all();
        self.diary.judge()
    }
}
