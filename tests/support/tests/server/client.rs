//! A client with no opinion: it sends bytes, reads bytes, and can hang up at any moment.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// Longer than anything here takes; a test that reaches it has failed.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// One connection.
pub struct Client {
    stream: BufReader<TcpStream>,
}

/// An answer as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Whether as many bytes came as were declared.
    pub complete: bool,
}

impl Client {
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self {
            stream: BufReader::new(stream),
        }
    }

    /// Sends a request and does not wait.
    pub fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) {
        let mut text = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n");
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        self.send_raw(text.as_bytes());
    }

    pub fn send_raw(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).unwrap();
    }

    /// Reads one answer; `None` when the connection ends before its first byte.
    pub fn receive(&mut self) -> Option<Answer> {
        let first = self.line()?;
        let status = first.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = Vec::new();
        loop {
            let line = self.line().unwrap();
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').unwrap();
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let declared = headers.iter().find(|(name, _)| name == "content-length");
        let length: usize = declared.map_or(0, |(_, value)| value.parse().unwrap());
        let mut body = Vec::new();
        let mut rest = (&mut self.stream).take(length as u64);
        match rest.read_to_end(&mut body) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
            Err(error) => panic!("{error}"),
        }
        let complete = body.len() == length;
        Some(Answer {
            status,
            headers,
            body,
            complete,
        })
    }

    /// Reads everything up to the end of the connection, and says how it ended: `None` for a FIN.
    pub fn drain(&mut self) -> (Vec<u8>, Option<ErrorKind>) {
        let mut bytes = Vec::new();
        let end = self.stream.read_to_end(&mut bytes).err();
        (bytes, end.map(|error| error.kind()))
    }

    /// Sends and receives.
    pub fn call(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Option<Answer> {
        self.send(method, path, headers, body);
        self.receive()
    }

    /// `POST` with a key.
    pub fn post(&mut self, path: &str, key: &str, body: &str) -> Option<Answer> {
        self.call("POST", path, &[("Idempotency-Key", key)], body)
    }

    /// Ends the connection as a killed process does.
    pub fn hang_up(self) {
        self.stream.get_ref().shutdown(Shutdown::Both).unwrap();
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.stream.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => Some(line.trim_end().to_owned()),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => None,
            Err(error) => panic!("{error}"),
        }
    }
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let wanted = name.to_ascii_lowercase();
        self.headers
            .iter()
            .find(|(name, _)| *name == wanted)
            .map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn is_replay(&self) -> bool {
        self.header("Idempotency-Replayed") == Some("true")
    }
}
