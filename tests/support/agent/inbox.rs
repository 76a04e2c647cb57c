//! Commands about the inbox, one call each, so that a test can kill the process between any two.

use std::error::Error;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use submit_once::{
    Inbox, InboxAnswer, InboxDecision, InboxFailure, InboxItem, InboxPolicy, InboxRun, Outbox,
};

/// `inbox …`, without the first word.
pub fn run(outbox: &Arc<Outbox>, words: &[&str]) -> Result<String, Box<dyn Error>> {
    let inbox = Arc::clone(outbox).inbox();
    Ok(match words {
        ["begin", policy, scope, key] => {
            answer(inbox.begin(InboxItem::new(scope, key, self::policy(policy)?))?)
        }
        ["begin", policy, scope, key, lease] => {
            let item = InboxItem::new(scope, key, self::policy(policy)?);
            answer(inbox.begin(item.lease(Duration::from_millis(lease.parse()?)))?)
        }
        ["finish", scope, key, number, result] => {
            inbox.finish(named(scope, key, number)?, Some(result.as_bytes().to_vec()))?;
            "finished".to_owned()
        }
        ["fail", scope, key, number] => {
            inbox.fail(named(scope, key, number)?, InboxFailure::NothingHappened)?;
            "failed".to_owned()
        }
        ["decide-again", scope, key] => {
            inbox.decide(
                (*scope).to_owned(),
                (*key).to_owned(),
                InboxDecision::RunAgain,
            )?;
            "decided".to_owned()
        }
        ["uncertain", scope] => {
            let items = inbox.uncertain(Some((*scope).to_owned()), 1_000)?;
            let keys: Vec<String> = items.into_iter().map(|item| item.key).collect();
            keys.join(" ")
        }
        ["effect", file, text] => {
            effect(file, text)?;
            "happened".to_owned()
        }
        ["handle", policy, scope, key, file] => {
            let item = InboxItem::new(scope, key, self::policy(policy)?);
            handle(&inbox, item, file)?
        }
        _ => return Err(format!("unknown command of the inbox {words:?}").into()),
    })
}

/// What an app does with a push message: all of it, without a stop.
fn handle(inbox: &Inbox, item: InboxItem, file: &str) -> Result<String, Box<dyn Error>> {
    let begun = inbox.begin(item)?;
    if let InboxAnswer::Run { run } = &begun {
        effect(file, &run.key)?;
        inbox.finish(run.clone(), Some(b"handled".to_vec()))?;
    }
    Ok(answer(begun))
}

/// A line in a file, in one write: whoever counts lines counts effects.
fn effect(file: &str, text: &str) -> std::io::Result<()> {
    std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)?
        .write_all(format!("{text}\n").as_bytes())
}

fn named(scope: &str, key: &str, number: &str) -> Result<InboxRun, std::num::ParseIntError> {
    Ok(InboxRun {
        scope: scope.to_owned(),
        key: key.to_owned(),
        number: number.parse()?,
    })
}

fn policy(name: &str) -> Result<InboxPolicy, String> {
    match name {
        "most" => Ok(InboxPolicy::AtMostOnce),
        "least" => Ok(InboxPolicy::AtLeastOnce),
        _ => Err(format!("unknown policy {name}")),
    }
}

fn answer(answer: InboxAnswer) -> String {
    match answer {
        InboxAnswer::Run { run } => format!("Run {}", run.number),
        InboxAnswer::Busy { .. } => "Busy".to_owned(),
        InboxAnswer::Done { result, .. } => {
            let result = result.unwrap_or_default();
            format!("Done {}", String::from_utf8_lossy(&result))
        }
        InboxAnswer::Uncertain { .. } => "Uncertain".to_owned(),
    }
}
