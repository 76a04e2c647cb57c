//! The command line.

use crate::failure::Failure;
use crate::plan::Stage;

pub const HELP: &str = "\
Lets an agent do the five steps of a plan through the inbox, kills it at every step and at every point of a
step, starts it anew each time, and counts what happened.

usage: agent-chain [--plans NUMBER] [--json]

  --plans NUMBER  mails to be worked on, one after the other; default: 1
  --json          print the figures as one JSON object
  -h, --help      print this

exit status: 0 the figures are as promised, 1 they are not or the program failed, 2 bad arguments
";

/// The argument that makes this program the agent. Not for people.
const AGENT: &str = "--be-the-agent";

pub enum Command {
    Help,
    Chain(ChainArgs),
    Agent(AgentArgs),
}

pub struct ChainArgs {
    pub plans: usize,
    pub json: bool,
}

/// What an agent is told: where it lives, what it is to work on, and where it is to be killed.
pub struct AgentArgs {
    pub folder: String,
    pub base_url: String,
    pub plan: usize,
    pub stage: Option<Stage>,
}

impl AgentArgs {
    /// As [`parse`] reads it.
    pub fn spell(&self) -> [String; 5] {
        [
            AGENT.to_owned(),
            self.folder.clone(),
            self.base_url.clone(),
            self.plan.to_string(),
            self.stage.map_or_else(String::new, Stage::spell),
        ]
    }
}

pub fn parse(args: impl Iterator<Item = String>) -> Result<Command, Failure> {
    let mut chain = ChainArgs {
        plans: 1,
        json: false,
    };
    let mut args = args;
    while let Some(name) = args.next() {
        let mut value = || {
            args.next()
                .ok_or_else(|| refuse(format!("{name} needs a value")))
        };
        match name.as_str() {
            "-h" | "--help" => return Ok(Command::Help),
            "--json" => chain.json = true,
            "--plans" => chain.plans = number(&value()?)?,
            AGENT => {
                return Ok(Command::Agent(AgentArgs {
                    folder: value()?,
                    base_url: value()?,
                    plan: number(&value()?)?,
                    stage: Stage::parse(&value()?),
                }));
            }
            _ => return Err(refuse(format!("“{name}” is not an argument"))),
        }
    }
    if chain.plans == 0 {
        return Err(refuse("--plans takes at least one".to_owned()));
    }
    Ok(Command::Chain(chain))
}

fn number(text: &str) -> Result<usize, Failure> {
    text.parse()
        .map_err(|_| refuse(format!("“{text}” is not a whole number")))
}

fn refuse(sentence: String) -> Failure {
    Failure::Input(format!("{sentence}; see --help"))
}
