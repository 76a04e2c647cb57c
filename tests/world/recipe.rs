//! The recipe for an app's own database: begin, save the ID in your own row, submit, and at the
//! start reconcile the IDs of your unsettled rows and submit again what is unknown. Killed between
//! any two steps, there is one effect, and the app's row knows its ID.

use rusqlite::Connection;
use submit_once_reference_server::ReferenceServer;

use crate::agents::{Agent, assert_converged, server};
use crate::common::Place;

/// The app's own table of orders, in a file of its own.
struct App {
    rows: Connection,
}

impl App {
    fn open(place: &Place) -> Self {
        let rows = Connection::open(place.folder().join("app.sqlite3")).unwrap();
        rows.execute_batch(
            "CREATE TABLE IF NOT EXISTS orders (name TEXT PRIMARY KEY, submission TEXT, result TEXT)",
        )
        .unwrap();
        Self { rows }
    }

    fn save_id(&self, id: &str) {
        self.rows
            .execute(
                "INSERT INTO orders (name, submission) VALUES ('tea', ?1)
                 ON CONFLICT (name) DO UPDATE SET submission = excluded.submission",
                [id],
            )
            .unwrap();
    }

    fn unsettled(&self) -> Option<String> {
        self.rows
            .query_row(
                "SELECT submission FROM orders WHERE result IS NULL",
                [],
                |row| row.get(0),
            )
            .ok()
    }

    fn save_result(&self, result: &str) {
        self.rows
            .execute("UPDATE orders SET result = ?1", [result])
            .unwrap();
    }
}

/// What the app does at its start, and what a tap on the button does then. Ends after `steps`.
fn run(place: &Place, server: &ReferenceServer, steps: usize) -> Agent {
    let app = App::open(place);
    let mut agent = Agent::for_server(place, server);
    let mut left = steps;
    let mut step = || {
        let go = left > 0;
        left = left.saturating_sub(1);
        go
    };
    // At the start: what do my unsettled rows know?
    if let Some(id) = app.unsettled()
        && agent.ask(&format!("reconcile {id}")) == "None"
    {
        agent.ask(&format!("submit {id} /orders tea"));
    }
    // The form opens: the same intent gives the same ID.
    if !step() {
        return agent;
    }
    let id = app.unsettled().unwrap_or_else(|| agent.ask("begin tea"));
    if !step() {
        return agent;
    }
    app.save_id(&id);
    if !step() {
        return agent;
    }
    agent.ask(&format!("submit {id} /orders tea"));
    if !step() {
        return agent;
    }
    agent.ask("start");
    agent.ask(&format!("wait {id} 30000"));
    if !step() {
        return agent;
    }
    app.save_result(&agent.ask(&format!("result {id}")));
    agent
}

#[test]
fn killed_between_any_two_steps_there_is_one_effect_and_the_app_knows_it() {
    for steps in 0..=5 {
        let (place, server) = (Place::new(), server());
        run(&place, &server, steps).kill();
        if steps < 5 {
            run(&place, &server, 5).kill();
        }
        assert_converged(&server, 1);
        let app = App::open(&place);
        assert_eq!(app.unsettled(), None, "killed after {steps} steps");
    }
}
