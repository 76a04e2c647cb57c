//! Real processes that use the library, for tests that kill, freeze and race them.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use submit_once_reference_server::{Options, ReferenceServer};

use super::Place;

/// Long enough for a loaded machine, short enough to notice a hang.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Times of a test that waits for real: as short as the rules allow.
pub const QUICK: &str = r#"{"request_timeout":4000,"busy_timeout":1500,"lease":7100,"backoff_first":50,"backoff_most":400,"quiet_time":300}"#;

pub fn server() -> ReferenceServer {
    ReferenceServer::start(Options::default()).unwrap()
}

/// Where cargo has put the example, beside this test's own binary.
pub fn binary(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().unwrap().parent().unwrap();
    let path = profile.join("examples").join(name);
    assert!(
        path.exists(),
        "{} is missing: build the examples of this profile first",
        path.display()
    );
    path
}

/// One process with an open outbox.
pub struct Agent {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Agent {
    pub fn start(place: &Place, options: &[&str]) -> Self {
        Self::spawn(Command::new(binary("agent")), place, options)
    }

    /// With another program around it, such as strace.
    pub fn spawn(command: Command, place: &Place, options: &[&str]) -> Self {
        let mut agent = Self::launch(command, place, options);
        let first = agent.read();
        assert_eq!(first, "open");
        agent
    }

    /// One that may be dead before it is open.
    pub fn launch(mut command: Command, place: &Place, options: &[&str]) -> Self {
        let mut child = command
            .arg(place.path())
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            input,
            output,
        }
    }

    /// For delivery to this server, with short times.
    pub fn for_server(place: &Place, server: &ReferenceServer) -> Self {
        Self::start(place, &["--base", &server.url(), "--limits", QUICK])
    }

    /// Sends a command without waiting for its answer.
    pub fn say(&mut self, command: &str) {
        writeln!(self.input, "{command}").unwrap();
        self.input.flush().unwrap();
    }

    pub fn read(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub fn ask(&mut self, command: &str) -> String {
        self.say(command);
        self.read()
    }

    /// The next line, of a process that may die. `None` once it is dead.
    pub fn try_read(&mut self) -> Option<String> {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.strip_suffix('\n').map(str::to_owned)
    }

    pub fn try_ask(&mut self, command: &str) -> Option<String> {
        // One that is dead has no input any more.
        writeln!(self.input, "{command}").ok()?;
        self.try_read()
    }

    /// SIGKILL, and waits for the end.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(i32::try_from(self.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Freezes the process outside of every write transaction. A process that the system freezes
    /// inside of one keeps the others waiting, and that is another story.
    pub fn freeze(&self, place: &Place) {
        let lock = place.sql();
        lock.execute_batch("BEGIN IMMEDIATE").unwrap();
        self.signal(rustix::process::Signal::STOP);
        while !self.is_frozen() {
            std::thread::yield_now();
        }
        lock.execute_batch("ROLLBACK").unwrap();
    }

    fn is_frozen(&self) -> bool {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.id())).unwrap();
        threads.into_iter().all(|thread| {
            let stat = std::fs::read_to_string(thread.unwrap().path().join("stat"));
            // The state follows the name, which is in brackets.
            stat.is_ok_and(|stat| stat.rsplit(')').next().unwrap().starts_with(" T"))
        })
    }

    pub fn thaw(&self) {
        self.signal(rustix::process::Signal::CONT);
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // Ended already, or it ends now; a test that fails leaves no process behind.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The promises that the server can judge: one effect for each key, one request at a time.
pub fn assert_converged(server: &ReferenceServer, effects: u64) {
    assert!(server.wait_until_quiet(PATIENCE));
    let summary = server.summary().unwrap();
    assert_eq!(summary.effects, effects, "{summary:?}");
    assert_eq!(summary.duplicate_effects, 0, "{summary:?}");
    assert!(summary.max_in_flight_per_key <= 1, "{summary:?}");
}
