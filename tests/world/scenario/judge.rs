//! The reference server as a process, and what it counts.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::{Map, Value, json};

use super::matching::misfit;
use crate::agents::{PATIENCE, binary};

pub struct Judge {
    process: Child,
    url: String,
}

impl Judge {
    pub fn start(arguments: &[String]) -> Self {
        let mut process = Command::new(binary("reference-server"))
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        let output = process.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut url).unwrap();
        let url = url.trim_end().to_owned();
        assert!(url.starts_with("http://"), "no address but {url:?}");
        Self { process, url }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Asks or orders over the control API. The answer is a 200 with JSON.
    pub fn ask(&self, method: &str, command: &str, body: Option<&Value>) -> Value {
        let address = self.url.strip_prefix("http://").unwrap();
        let mut socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let body = body.map(Value::to_string).unwrap_or_default();
        let length = body.len();
        write!(
            socket,
            "{method} /_control/{command} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{command}: {answer}");
        serde_json::from_str(body).unwrap()
    }

    /// What the summary is when nothing is in flight any more, against what it should be: besides what
    /// is named, no key has two effects, no path two keys, and no two requests of a key overlap.
    pub fn verdict(&self, end: &Map<String, Value>) -> Option<String> {
        let arrived = self.ask("GET", "summary", None)["requests"].clone();
        let timeout = PATIENCE.as_millis();
        let over = json!({"until": "over", "count": arrived, "timeout_ms": timeout});
        let waited = self.ask("POST", "wait", Some(&over));
        assert_eq!(waited["met"], true, "a request never ends: {waited}");
        let mut summary = self.ask("GET", "summary", None);
        let mut expected = json!({"duplicate_effects": 0});
        for (name, value) in end {
            expected[name] = value.clone();
        }
        for at_most_one in ["max_in_flight_per_key", "max_keys_per_path"] {
            // No request at all is fine, too.
            if !end.contains_key(at_most_one) && summary[at_most_one] == 0 {
                summary[at_most_one] = json!(1);
            }
            expected[at_most_one] = end.get(at_most_one).cloned().unwrap_or(json!(1));
        }
        misfit(&expected, &summary)
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
