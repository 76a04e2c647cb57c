//! The agent: one process, one life. It plans everything from the beginning and asks the inbox before each
//! step.

use std::io::{Read, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use submit_once::{
    AppStatement, Inbox, InboxAnswer, Outbox, SqlValue, Submission, SubmissionId, Waited,
};

use crate::args::AgentArgs;
use crate::failure::{Failure, trouble};
use crate::plan::{Point, ROWS, Stage, TOOLS, Tool, bell, config, confirmation_path, step_key};

/// How long a confirmation may take.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn run(args: &AgentArgs) -> ExitCode {
    match Agent::open(args).and_then(|agent| agent.work()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("agent: {failure}");
            ExitCode::from(3)
        }
    }
}

struct Agent<'a> {
    args: &'a AgentArgs,
    outbox: Arc<Outbox>,
    inbox: Arc<Inbox>,
}

impl<'a> Agent<'a> {
    fn open(args: &'a AgentArgs) -> Result<Self, Failure> {
        let outbox = Outbox::open(config(&args.folder, &args.base_url))
            .map_err(|error| trouble("the outbox did not open", error))?;
        let inbox = Arc::clone(&outbox).inbox();
        Ok(Self {
            args,
            outbox,
            inbox,
        })
    }

    /// Each step's arguments are the result of the one before: a replay that differed would be found out
    /// as another content under the same key, too.
    fn work(&self) -> Result<(), Failure> {
        let mut last = format!(r#"{{"mail":{}}}"#, self.args.plan).into_bytes();
        for tool in TOOLS {
            match self.step(tool, &last)? {
                Some(result) => last = result,
                None => return say(&format!("uncertain {}", tool.name())),
            }
        }
        say("done")
    }

    /// The step's first result, or nothing where the user has to be asked.
    fn step(&self, tool: Tool, arguments: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
        let failed = |error| trouble(tool.name(), error);
        self.stand(tool, Point::BeforeBegin)?;
        let answer = self
            .inbox
            .begin(tool.item(self.args.plan, arguments))
            .map_err(failed)?;
        let result = match answer {
            InboxAnswer::Run { run } => {
                self.stand(tool, Point::AfterBegin)?;
                let (result, row) = self.act(tool, arguments)?;
                self.stand(tool, Point::BeforeFinish)?;
                self.inbox
                    .finish_with(run, Some(result.clone()), row)
                    .map_err(failed)?;
                result
            }
            InboxAnswer::Done { result, .. } => {
                say(&format!("replayed {}", tool.name()))?;
                result.ok_or_else(|| trouble(tool.name(), "its result is gone"))?
            }
            InboxAnswer::Uncertain { .. } => return Ok(None),
            InboxAnswer::Busy { .. } => {
                return Err(trouble(
                    tool.name(),
                    "another agent does it, and none is there",
                ));
            }
        };
        let text = String::from_utf8_lossy(&result).into_owned();
        say(&format!("result {} {text}", tool.name()))?;
        self.stand(tool, Point::AfterFinish)?;
        Ok(Some(result))
    }

    /// Does the step. What it gives is never the same twice, as with a model: only the record can give the
    /// first result again. The row is left to the transaction of the record.
    fn act(&self, tool: Tool, arguments: &[u8]) -> Result<(Vec<u8>, Vec<AppStatement>), Failure> {
        let plan = self.args.plan;
        let life = life();
        let text = match tool {
            Tool::ReadMail => format!(r#"{{"mail":{plan},"text":"tea, 17.50","read":"{life}"}}"#),
            Tool::ExtractReceipt => format!(r#"{{"item":"tea","cents":1750,"by":"{life}"}}"#),
            Tool::WriteRow => {
                let result = format!(r#"{{"receipt":{plan},"written":"{life}"}}"#);
                return Ok((result.into_bytes(), insert(plan, arguments)));
            }
            Tool::Confirm => return Ok((self.confirm(arguments)?, Vec::new())),
            Tool::RingBell => {
                self.ring(&life)?;
                format!(r#"{{"rang":"{life}"}}"#)
            }
        };
        Ok((text.into_bytes(), Vec::new()))
    }

    /// A submission that every life names alike: a second one joins the first, or replays its result.
    fn confirm(&self, arguments: &[u8]) -> Result<Vec<u8>, Failure> {
        let failed = |error| trouble("the confirmation", error);
        let plan = self.args.plan;
        let id = SubmissionId::derived(None, "confirm", &step_key(plan, Tool::Confirm));
        let confirmation =
            Submission::post(id, &confirmation_path(plan)).json(String::from_utf8_lossy(arguments));
        self.outbox.submit(confirmation).map_err(failed)?;
        self.outbox.start().map_err(failed)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .map_err(|error| trouble("no runtime", error))?;
        match runtime
            .block_on(self.outbox.wait(id, PATIENCE))
            .map_err(failed)?
        {
            Waited::Settled { snapshot } => snapshot
                .outcome
                .and_then(|outcome| outcome.body)
                .ok_or_else(|| trouble("the confirmation", "it has no result")),
            other => Err(trouble("the confirmation", format!("{other:?}"))),
        }
    }

    /// One line for each ring, in one write.
    fn ring(&self, life: &str) -> Result<(), Failure> {
        std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(bell(&self.args.folder))
            .and_then(|mut bell| bell.write_all(format!("{} {life}\n", self.args.plan).as_bytes()))
            .map_err(|error| trouble("the bell", error))
    }

    /// Stands still where it is to be killed. It ends by itself only with its parent.
    fn stand(&self, tool: Tool, point: Point) -> Result<(), Failure> {
        if self.args.stage != Some(Stage { tool, point }) {
            return Ok(());
        }
        say("standing")?;
        // Nothing is ever written to it: an end or an error, the parent is gone.
        let _ = std::io::stdin().read(&mut [0]);
        Err(trouble("the parent", "it is gone"))
    }
}

/// The receipt's row. Nothing in the table would refuse a second one.
fn insert(plan: usize, receipt: &[u8]) -> Vec<AppStatement> {
    let table = format!("CREATE TABLE IF NOT EXISTS {ROWS} (plan INTEGER, receipt TEXT) STRICT");
    let row = format!("INSERT INTO {ROWS} (plan, receipt) VALUES (?1, ?2)");
    let receipt = String::from_utf8_lossy(receipt);
    let plan = i64::try_from(plan).unwrap_or(i64::MAX);
    vec![
        AppStatement::new(&table, []),
        AppStatement::new(&row, [SqlValue::from(plan), SqlValue::from(&*receipt)]),
    ]
}

/// What no other life has.
fn life() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanos = since.map_or(0, |since| since.as_nanos());
    format!("{}-{nanos}", std::process::id())
}

fn say(line: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .map_err(|error| trouble("the parent does not listen", error))
}
