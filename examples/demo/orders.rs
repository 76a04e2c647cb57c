//! The orders to deliver: read once, strictly, before anything is started.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use submit_once::{Submission, SubmissionId, default_limits};
use url::Url;

use crate::args::shown;
use crate::failure::Failure;

/// One line of the file.
#[derive(Debug, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "one object with order, method, path, content_type and body"
)]
pub struct Order {
    /// The order's name, for people.
    pub order: String,
    pub method: String,
    /// A path of its own, by which the server tells the orders apart.
    pub path: String,
    #[serde(default)]
    pub content_type: Option<String>,
    /// Sent as UTF-8, byte for byte.
    pub body: String,
}

impl Order {
    /// What a tap on the order's button submits.
    pub fn submission(&self, id: SubmissionId) -> Submission {
        let submission = Submission::new(id, &self.method, &self.path);
        match self.content_type.as_deref() {
            None => submission,
            Some("application/json") => submission.json(self.body.as_str()),
            Some(content_type) => submission.bytes(content_type, self.body.as_bytes()),
        }
    }

    fn check(&self) -> Result<(), String> {
        let most = default_limits().inline_body_bytes as usize;
        if self.order.is_empty() || self.order.len() > 200 {
            return Err("“order” must be a name of 1 to 200 bytes".to_owned());
        }
        if !matches!(self.method.as_str(), "POST" | "PUT" | "PATCH" | "DELETE") {
            return Err(format!(
                "“method” must be POST, PUT, PATCH or DELETE, not “{}”",
                self.method
            ));
        }
        if !is_as_sent(&self.path) {
            return Err(
                "“path” must start with “/” and be spelled as it is sent: percent-encoded, without \
                 dots to resolve or a fragment"
                    .to_owned(),
            );
        }
        if self.body.len() > most {
            let bytes = self.body.len();
            return Err(format!("the body has {bytes} bytes, the most is {most}"));
        }
        match self.content_type.as_deref() {
            None if self.body.is_empty() => Ok(()),
            None => Err("a body needs a “content_type”".to_owned()),
            Some("application/json") => serde_json::from_str::<serde::de::IgnoredAny>(&self.body)
                .map(|_| ())
                .map_err(|error| format!("the body is not the JSON that it claims: {error}")),
            Some(content_type) => {
                let visible = |byte| matches!(byte, b' '..=b'~');
                if content_type.contains('/') && content_type.bytes().all(visible) {
                    Ok(())
                } else {
                    Err(format!("{content_type:?} is not a media type"))
                }
            }
        }
    }
}

/// Whether a URL's path and query come out of parsing as they went in. The server is to see them
/// so, or orders could not be told apart.
fn is_as_sent(path: &str) -> bool {
    path.starts_with('/')
        && Url::parse(&format!("http://localhost{path}")).is_ok_and(|url| {
            let query = url
                .query()
                .map_or(String::new(), |query| format!("?{query}"));
            url.fragment().is_none() && format!("{}{query}", url.path()) == path
        })
}

/// Reads all orders, or says in which line the file goes wrong.
pub fn read(path: &Path) -> Result<Vec<Order>, Failure> {
    let file = shown(path);
    let bytes =
        fs::read(path).map_err(|error| Failure::Input(format!("cannot read {file}: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let sound = error.as_bytes().get(..error.utf8_error().valid_up_to());
        let line = sound.map_or(1, |sound| sound.split(|byte| *byte == b'\n').count());
        Failure::Input(format!("{file}, line {line}: not UTF-8"))
    })?;
    let mut orders: Vec<Order> = Vec::new();
    let mut names = HashMap::new();
    let mut paths = HashMap::new();
    // A byte order mark is some editor's habit, not an order.
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    for (index, line) in text.split('\n').enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let number = index + 1;
        let wrong = |what: String| Failure::Input(format!("{file}, line {number}: {what}"));
        let order: Order = serde_json::from_str(line).map_err(|error| wrong(about(&error)))?;
        order.check().map_err(wrong)?;
        let twice = names.insert(order.order.clone(), number);
        if let Some(before) = twice {
            let name = &order.order;
            return Err(wrong(format!(
                "the order “{name}” is in line {before}, too"
            )));
        }
        if let Some(before) = paths.insert(order.path.clone(), number) {
            return Err(wrong(format!(
                "line {before} has the same path; each order needs its own"
            )));
        }
        orders.push(order);
    }
    if orders.is_empty() {
        return Err(Failure::Input(format!("{file} holds no orders")));
    }
    Ok(orders)
}

/// serde_json counts lines within the line.
fn about(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&place) {
        Some(what) => format!("{what}, at column {}", error.column()),
        None => text,
    }
}
