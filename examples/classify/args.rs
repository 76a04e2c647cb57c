//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use submit_once::classification::Case;
use submit_once::{BuiltInProfile, Effect, Header, ServerProfile, built_in_profile};
use submit_once::{WireAnswer, profile_from_json};

pub const HELP: &str = "\
Says what a server's answers would mean, without sending anything.

usage: classify --table
       classify --check [PAGE]
       classify --status NUMBER [--profile NAME] [--in-doubt] [--account] [--safe] [--cut]
                [--header 'NAME: VALUE']… [--body TEXT]

  --table             print the tables of docs/classification.md as the code decides them
  --check [PAGE]      compare them with the page, by default docs/classification.md; print each
                      line that differs
  --status NUMBER     say what one answer would mean; 100 to 599
  --profile NAME      standard (the default), ietf, stripe, paypal, adyen, square, google_aip155,
                      matrix, plain_put or unkeyed, or the path of a profile as JSON (*.json)
  --in-doubt          an earlier attempt may have taken effect
  --account           the submission belongs to an account
  --safe              the request is a GET, which changes nothing
  --cut               the connection was lost in the middle of the body
  --header LINE       a header of the answer; may be repeated
  --body TEXT         the body of the answer; it is JSON unless a header says otherwise
  -h, --help          print this

exit status: 0 fine, 1 the page and the code differ, 2 bad arguments or a page that can't be read
";

/// The page. The path is the one of the build, so that `cargo run` finds it from any folder.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/classification.md");

pub enum Command {
    Help,
    Table,
    Check(PathBuf),
    One(Box<Question>),
}

/// One answer, and what it is an answer to.
pub struct Question {
    pub case: Case,
    pub answer: WireAnswer,
}

pub fn parse(args: impl Iterator<Item = OsString>) -> Result<Command, String> {
    let args: Vec<String> = args.map(|arg| arg.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => Ok(Command::Help),
        words if words.contains(&"-h") || words.contains(&"--help") => Ok(Command::Help),
        ["--table"] => Ok(Command::Table),
        ["--check"] => Ok(Command::Check(PathBuf::from(PAGE))),
        ["--check", page] => Ok(Command::Check(PathBuf::from(page))),
        ["--table" | "--check", ..] => Err("too many arguments; see --help".to_owned()),
        words => Ok(Command::One(Box::new(question(words)?))),
    }
}

fn question(words: &[&str]) -> Result<Question, String> {
    let mut case = Case::of(ServerProfile::standard());
    let mut status = None;
    let mut safe = false;
    let mut answer = WireAnswer {
        status: 0,
        headers: Vec::new(),
        body: Vec::new(),
        complete: true,
    };
    let mut words = words.iter();
    while let Some(name) = words.next() {
        let mut value = || {
            let value = words.next().copied();
            value.ok_or_else(|| format!("{name} needs a value; see --help"))
        };
        match *name {
            "--status" => status = Some(read_status(value()?)?),
            "--profile" => {
                let profile = profile(value()?)?;
                case = Case {
                    effect: profile.effect,
                    profile,
                    ..case
                };
            }
            "--in-doubt" => case.in_doubt = true,
            "--account" => case.account = true,
            "--safe" => safe = true,
            "--cut" => answer.complete = false,
            "--header" => answer.headers.push(header(value()?)?),
            "--body" => answer.body = value()?.as_bytes().to_vec(),
            _ => return Err(format!("“{name}” is not an argument; see --help")),
        }
    }
    if safe {
        case.effect = Effect::Safe;
    }
    let typed = |header: &Header| header.name == "content-type";
    if !answer.body.is_empty() && !answer.headers.iter().any(typed) {
        answer.headers.push(Header {
            name: "content-type".to_owned(),
            value: "application/json".to_owned(),
        });
    }
    answer.status = status.ok_or("--status is missing; see --help")?;
    Ok(Question { case, answer })
}

fn read_status(text: &str) -> Result<u16, String> {
    let status = text
        .parse()
        .ok()
        .filter(|status| (100..600).contains(status));
    status.ok_or_else(|| format!("--status takes a number from 100 to 599, not “{text}”"))
}

fn header(line: &str) -> Result<Header, String> {
    let (name, value) = line
        .split_once(':')
        .ok_or_else(|| format!("--header takes 'NAME: VALUE', not “{line}”"))?;
    Ok(Header {
        name: name.trim().to_ascii_lowercase(),
        value: value.trim().to_owned(),
    })
}

fn profile(name: &str) -> Result<ServerProfile, String> {
    if name.ends_with(".json") {
        let text = std::fs::read_to_string(name)
            .map_err(|error| format!("{name} can't be read: {error}"))?;
        return profile_from_json(&text).map_err(|error| format!("{name}: {error}"));
    }
    BuiltInProfile::ALL
        .into_iter()
        .map(built_in_profile)
        .find(|profile| profile.name == name)
        .ok_or_else(|| format!("there is no profile “{name}”; see --help"))
}
