//! The plans, life by life.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use submit_once::{AppStatement, Inbox, InboxDecision, Outbox, SqlValue};
use submit_once_reference_server::{Behaviour, Matcher, Options, ReferenceServer};

use crate::args::{AgentArgs, ChainArgs};
use crate::crew::{self, End};
use crate::failure::{Failure, trouble};
use crate::plan::{ROWS, Stage, TOOLS, all_stages, bell, config, confirmation_path};
use crate::verdict::Verdict;

/// What the user says of a bell that was heard.
const HEARD: &str = r#"{"rang":"the user heard it"}"#;

/// The app around the agents: it has the same file open, and asks its user.
struct App {
    inbox: Arc<Inbox>,
    folder: String,
    base_url: String,
    /// The first result of each step, as the first life that got one went on with it.
    first: HashMap<(usize, String), String>,
    verdict: Verdict,
}

pub fn live(args: &ChainArgs, folder: &Path) -> Result<Verdict, Failure> {
    let server = ReferenceServer::start(Options {
        database: Some(folder.join("server.sqlite3")),
        ..Options::default()
    })
    .map_err(|error| trouble("the reference server did not start", error))?;
    let folder = folder.to_string_lossy().into_owned();
    let outbox = Outbox::open(config(&folder, &server.url()))
        .map_err(|error| trouble("the outbox did not open", error))?;
    let mut app = App {
        inbox: Arc::clone(&outbox).inbox(),
        folder,
        base_url: server.url(),
        first: HashMap::new(),
        verdict: Verdict::default(),
    };
    for plan in 0..args.plans {
        // The first answer is always lost, after its effect.
        let path = Matcher::path(confirmation_path(plan));
        server.script(path, vec![Behaviour::CommitThenDrop]);
        for stage in all_stages() {
            app.kill_at(plan, stage)?;
        }
        app.run_to(plan, None, &End::Done)?;
    }
    app.count(&server)
}

impl App {
    /// Kills an agent at this point.
    fn kill_at(&mut self, plan: usize, stage: Stage) -> Result<(), Failure> {
        self.run_to(plan, Some(stage), &End::Killed)?;
        self.verdict.kills += 1;
        self.verdict.uncertain_expected += u64::from(stage.leaves_doubt());
        Ok(())
    }

    /// Starts agents until one ends like this. Where the user is asked, a new one is started after the
    /// answer.
    fn run_to(&mut self, plan: usize, stage: Option<Stage>, wanted: &End) -> Result<(), Failure> {
        let args = AgentArgs {
            folder: self.folder.clone(),
            base_url: self.base_url.clone(),
            plan,
            stage,
        };
        loop {
            let (life, end) = crew::live(&args)?;
            self.verdict.runs += 1;
            self.verdict.replayed += life.replayed;
            for (tool, result) in life.results {
                let first = self
                    .first
                    .entry((plan, tool))
                    .or_insert_with(|| result.clone());
                self.verdict.wrong_results += u64::from(*first != result);
            }
            match end {
                end if end == *wanted => return Ok(()),
                End::Uncertain => self.ask_the_user(plan)?,
                End::Killed | End::Done => {
                    return Err(trouble("an agent missed its stage", format!("{end:?}")));
                }
            }
        }
    }

    /// The user knows whether the bell rang, and nobody else does.
    fn ask_the_user(&mut self, plan: usize) -> Result<(), Failure> {
        let failed = |error| trouble("the question", error);
        let items = self.inbox.uncertain(None, 1_000).map_err(failed)?;
        if items.is_empty() {
            return Err(trouble(
                "the question",
                "an agent asked, and the list is empty",
            ));
        }
        let rang = self.rings(plan)? > 0;
        for item in items {
            self.verdict.uncertain += 1;
            let decision = if rang {
                InboxDecision::Happened {
                    result: Some(HEARD.as_bytes().to_vec()),
                }
            } else {
                InboxDecision::RunAgain
            };
            self.inbox
                .decide(item.scope, item.key, decision)
                .map_err(failed)?;
        }
        Ok(())
    }

    fn rings(&self, plan: usize) -> Result<u64, Failure> {
        let heard = match std::fs::read_to_string(bell(&self.folder)) {
            Ok(heard) => heard,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(trouble("the bell", error)),
        };
        let number = plan.to_string();
        let of_plan = |line: &&str| line.split(' ').next() == Some(number.as_str());
        Ok(heard.lines().filter(of_plan).count() as u64)
    }

    /// What happened, from those to whom it happened.
    fn count(mut self, server: &ReferenceServer) -> Result<Verdict, Failure> {
        let plans = self.first.len() / TOOLS.len();
        for plan in 0..plans {
            self.verdict.rings += self.rings(plan)?;
        }
        let rows = AppStatement::new(&format!("SELECT count(*) FROM {ROWS}"), []);
        let rows = self
            .inbox
            .query(rows)
            .map_err(|error| trouble("the rows", error))?;
        if let Some([SqlValue::Integer { value }]) = rows.first().map(|row| row.values.as_slice()) {
            self.verdict.rows = value.unsigned_abs();
        }
        let effects = server
            .effects()
            .map_err(|error| trouble("the server's effects", error))?;
        self.verdict.confirmations = effects
            .iter()
            .filter(|effect| effect.path.starts_with("/confirmations"))
            .count() as u64;
        let summary = server
            .summary()
            .map_err(|error| trouble("the server's summary", error))?;
        self.verdict.answers_lost = summary.answers_lost;
        Ok(self.verdict)
    }
}
