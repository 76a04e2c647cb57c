//! Push messages come more than once, to two processes at once, and processes are killed: the inbox says
//! who handles one, and what is known of it after a kill (F121). Effects are lines in a file, and counted
//! there.

use crate::agents::{Agent, PATIENCE};
use crate::common::Place;

/// Where the process that handles a message is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Point {
    Nowhere,
    BeforeBegin,
    AfterBegin,
    /// The kill and the effect race: nobody can say which came first.
    InsideEffect,
    BeforeFinish,
    AfterFinish,
}

const POINTS: [Point; 6] = [
    Point::Nowhere,
    Point::BeforeBegin,
    Point::AfterBegin,
    Point::InsideEffect,
    Point::BeforeFinish,
    Point::AfterFinish,
];

/// Two processes of one app that get the same messages.
struct App {
    place: Place,
    pair: Vec<Agent>,
    policy: &'static str,
}

impl App {
    fn new(policy: &'static str) -> Self {
        let place = Place::new();
        let pair = (0..2).map(|_| Agent::start(&place, &[])).collect();
        Self {
            place,
            pair,
            policy,
        }
    }

    /// Delivers a message to both at once: the one that is to handle it, if any, and all answers.
    fn deliver(&mut self, message: &str) -> (Option<usize>, Vec<String>) {
        let command = format!("inbox begin {} push {message}", self.policy);
        for agent in &mut self.pair {
            agent.say(&command);
        }
        let answers: Vec<String> = self.pair.iter_mut().map(Agent::read).collect();
        let mut runners = (0..2).filter(|agent| answers[*agent].starts_with("Run "));
        let runner = runners.next();
        assert_eq!(runners.next(), None, "{message} runs twice: {answers:?}");
        (runner, answers)
    }

    /// Starts another process in the place of one that is killed.
    fn kill(&mut self, agent: usize) {
        self.pair.remove(agent).kill();
        self.pair.insert(agent, Agent::start(&self.place, &[]));
    }

    /// Lets a process that was told to run go on until the point, and kills it there.
    fn handle(&mut self, agent: usize, run: &str, message: &str, point: Point) {
        let number = run.strip_prefix("Run ").unwrap();
        let effect = format!("inbox effect {} {message}", self.effects_file());
        if point == Point::AfterBegin {
            return self.kill(agent);
        }
        self.pair[agent].say(&effect);
        if point == Point::InsideEffect {
            return self.kill(agent);
        }
        assert_eq!(self.pair[agent].read(), "happened");
        if point == Point::BeforeFinish {
            return self.kill(agent);
        }
        let result = if number == "1" { "first" } else { "later" };
        let finish = format!("inbox finish push {message} {number} {result}");
        assert_eq!(self.pair[agent].ask(&finish), "finished");
        if point == Point::AfterFinish {
            self.kill(agent);
        }
    }

    fn effects_file(&self) -> String {
        let file = self.place.folder().join("effects.txt");
        file.to_str().unwrap().to_owned()
    }

    fn effects(&self, message: &str) -> usize {
        let text = std::fs::read_to_string(self.effects_file()).unwrap_or_default();
        text.lines().filter(|line| *line == message).count()
    }
}

/// The ten messages, and where their first handling is killed.
fn messages() -> impl Iterator<Item = (String, Point)> {
    let points = POINTS.into_iter().cycle();
    (0..10)
        .zip(points)
        .map(|(message, point)| (format!("message-{message}"), point))
}

/// F121
#[test]
fn at_most_once_a_kill_between_begin_and_finish_is_uncertain_and_every_other_handles_it_once() {
    let mut app = App::new("most");
    let mut staged = Vec::new();
    for (message, point) in messages() {
        if point == Point::BeforeBegin {
            app.kill(0);
        }
        let (runner, answers) = app.deliver(&message);
        let runner = runner.unwrap();
        assert_eq!(answers[1 - runner], "Busy", "{message}");
        app.handle(runner, &answers[runner], &message, point);
        let lost = matches!(
            point,
            Point::AfterBegin | Point::InsideEffect | Point::BeforeFinish
        );
        for _ in 0..2 {
            let (runner, answers) = app.deliver(&message);
            assert_eq!(runner, None, "{point:?}: {answers:?}");
            let wanted = if lost { "Uncertain" } else { "Done first" };
            assert_eq!(answers, [wanted, wanted], "{point:?}");
        }
        match point {
            Point::AfterBegin => assert_eq!(app.effects(&message), 0),
            Point::InsideEffect => assert!(app.effects(&message) <= 1),
            _ => assert_eq!(app.effects(&message), 1, "{point:?}"),
        }
        if lost {
            staged.push(message);
        }
    }
    assert_eq!(staged.len(), 5);
    for agent in &mut app.pair {
        assert_eq!(agent.ask("inbox uncertain push"), staged.join(" "));
    }
}

/// F121
#[test]
fn at_least_once_every_message_is_done_in_the_end_and_only_a_kill_after_its_effect_repeats_it() {
    let mut app = App::new("least");
    for (message, point) in messages() {
        if point == Point::BeforeBegin {
            app.kill(0);
        }
        let (runner, answers) = app.deliver(&message);
        let runner = runner.unwrap();
        app.handle(runner, &answers[runner], &message, point);
        let lost = matches!(
            point,
            Point::AfterBegin | Point::InsideEffect | Point::BeforeFinish
        );
        let (runner, answers) = app.deliver(&message);
        if let Some(runner) = runner {
            assert!(lost, "{point:?}: {answers:?}");
            later_run(&answers[runner]);
            assert_eq!(answers[1 - runner], "Busy", "{point:?}");
            app.handle(runner, &answers[runner], &message, Point::Nowhere);
        } else {
            assert!(!lost, "{point:?}: {answers:?}");
        }
        let (runner, answers) = app.deliver(&message);
        assert_eq!(runner, None, "{point:?}: {answers:?}");
        let wanted = if lost { "Done later" } else { "Done first" };
        assert_eq!(answers, [wanted, wanted], "{point:?}");
        match point {
            Point::BeforeFinish => assert_eq!(app.effects(&message), 2),
            Point::InsideEffect => assert!((1..=2).contains(&app.effects(&message))),
            _ => assert_eq!(app.effects(&message), 1, "{point:?}"),
        }
    }
    assert_eq!(app.pair[0].ask("inbox uncertain push"), "");
}

/// F121: nobody is killed; both processes work through all deliveries as fast as they can.
#[test]
fn thirty_deliveries_to_two_processes_at_once_handle_each_of_ten_messages_once() {
    for policy in ["most", "least"] {
        let mut app = App::new(policy);
        let file = app.effects_file();
        let deliveries: Vec<String> = (0..30)
            .map(|delivery| {
                format!(
                    "inbox handle {policy} push message-{} {file}",
                    delivery % 10
                )
            })
            .collect();
        for command in &deliveries {
            for agent in &mut app.pair {
                agent.say(command);
            }
        }
        let mut runs = 0;
        for agent in &mut app.pair {
            for _ in &deliveries {
                let answer = agent.read();
                runs += usize::from(answer == "Run 1");
                let known = ["Run 1", "Busy", "Done handled"];
                assert!(known.contains(&answer.as_str()), "{answer}");
            }
        }
        assert_eq!(runs, 10, "{policy}");
        for (message, _) in messages() {
            assert_eq!(app.effects(&message), 1, "{policy}: {message}");
        }
    }
}

/// How long a run of the frozen process may take, in milliseconds.
const LEASE: u64 = 1_000;

/// The number of a run that isn't the first.
fn later_run(answer: &str) -> i64 {
    let number = answer.strip_prefix("Run ").unwrap().parse().unwrap();
    assert!(number > 1, "{answer}");
    number
}

/// A process that was told to run, and is frozen until its time is over. Gives the other one's answer.
fn outlive(place: &Place, policy: &str) -> (Agent, Agent, String) {
    let begin = format!("inbox begin {policy} push message {LEASE}");
    let (mut frozen, mut other) = (Agent::start(place, &[]), Agent::start(place, &[]));
    assert_eq!(frozen.ask(&begin), "Run 1");
    frozen.freeze(place);
    assert_eq!(other.ask(&begin), "Busy");
    let since = std::time::Instant::now();
    let answer = loop {
        let answer = other.ask(&begin);
        if answer != "Busy" {
            break answer;
        }
        assert!(since.elapsed() < PATIENCE, "the lease never ends");
    };
    (frozen, other, answer)
}

/// F121
#[test]
fn at_least_once_a_frozen_process_loses_its_run_to_the_one_that_took_over() {
    let place = Place::new();
    let (mut frozen, mut other, answer) = outlive(&place, "least");
    let number = later_run(&answer);
    frozen.thaw();
    let late = frozen.ask("inbox finish push message 1 late");
    assert!(late.contains("was lost"), "{late}");
    let finish = format!("inbox finish push message {number} mine");
    assert_eq!(other.ask(&finish), "finished");
    let late = frozen.ask("inbox finish push message 1 late");
    assert!(late.contains("was lost"), "{late}");
    assert_eq!(frozen.ask("inbox begin least push message"), "Done mine");
}

/// F121: nobody took over and nobody decided, so the late word is the truth.
#[test]
fn at_most_once_a_frozen_process_ends_the_doubt_when_it_comes_back_before_a_decision() {
    let place = Place::new();
    let (mut frozen, mut other, answer) = outlive(&place, "most");
    assert_eq!(answer, "Uncertain");
    assert_eq!(other.ask("inbox uncertain push"), "message");
    frozen.thaw();
    assert_eq!(frozen.ask("inbox finish push message 1 late"), "finished");
    assert_eq!(other.ask("inbox begin most push message"), "Done late");
    assert_eq!(other.ask("inbox uncertain push"), "");
}

/// F121
#[test]
fn at_most_once_a_frozen_process_that_comes_back_after_a_decision_has_lost_its_run() {
    let place = Place::new();
    let (mut frozen, mut other, answer) = outlive(&place, "most");
    assert_eq!(answer, "Uncertain");
    assert_eq!(other.ask("inbox decide-again push message"), "decided");
    frozen.thaw();
    let late = frozen.ask("inbox finish push message 1 late");
    assert!(late.contains("was lost"), "{late}");
    let number = later_run(&other.ask("inbox begin most push message"));
    let late = frozen.ask("inbox finish push message 1 late");
    assert!(late.contains("was lost"), "{late}");
    let finish = format!("inbox finish push message {number} mine");
    assert_eq!(other.ask(&finish), "finished");
    assert_eq!(frozen.ask("inbox begin most push message"), "Done mine");
}
