//! What a plan is made of: its steps, and the points of a step at which the agent is killed.

use std::path::PathBuf;
use std::time::Duration;

use submit_once::{InboxItem, InboxPolicy, Limits, OutboxConfig, default_limits};

/// A tool of the agent. Each plan calls each once, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tool {
    ReadMail,
    ExtractReceipt,
    WriteRow,
    Confirm,
    RingBell,
}

pub const TOOLS: [Tool; 5] = [
    Tool::ReadMail,
    Tool::ExtractReceipt,
    Tool::WriteRow,
    Tool::Confirm,
    Tool::RingBell,
];

impl Tool {
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadMail => "read-mail",
            Self::ExtractReceipt => "extract-receipt",
            Self::WriteRow => "write-row",
            Self::Confirm => "confirm",
            Self::RingBell => "ring-bell",
        }
    }

    /// Reading may be done twice; the row comes with its record; the confirmation is recognised by its ID.
    /// Only the bell can't be taken back, and nobody can tell a second ring from a first.
    fn policy(self) -> InboxPolicy {
        match self {
            Self::ReadMail | Self::ExtractReceipt | Self::WriteRow | Self::Confirm => {
                InboxPolicy::AtLeastOnce
            }
            Self::RingBell => InboxPolicy::AtMostOnce,
        }
    }

    /// A scope for each tool.
    pub fn scope(self) -> String {
        format!("tool/{}", self.name())
    }

    /// The step as the inbox knows it: the key is the step's place in the plan, which is the same however
    /// often it is planned, and the content is the tool's arguments.
    pub fn item(self, plan: usize, arguments: &[u8]) -> InboxItem {
        InboxItem::new(&self.scope(), &step_key(plan, self), self.policy()).content(arguments)
    }
}

/// What makes a step the same when it is planned again.
pub fn step_key(plan: usize, tool: Tool) -> String {
    format!("plan-{plan}/{}", tool.name())
}

/// A point of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Point {
    /// The inbox wasn't asked yet.
    BeforeBegin,
    /// It said `Run`, and nothing was done yet.
    AfterBegin,
    /// It was done, and not recorded yet. Where effect and record are one, neither has happened.
    BeforeFinish,
    /// It was recorded.
    AfterFinish,
}

pub const POINTS: [Point; 4] = [
    Point::BeforeBegin,
    Point::AfterBegin,
    Point::BeforeFinish,
    Point::AfterFinish,
];

impl Point {
    fn name(self) -> &'static str {
        match self {
            Self::BeforeBegin => "before-begin",
            Self::AfterBegin => "after-begin",
            Self::BeforeFinish => "before-finish",
            Self::AfterFinish => "after-finish",
        }
    }
}

/// Where an agent stands still until it is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stage {
    pub tool: Tool,
    pub point: Point,
}

impl Stage {
    pub fn spell(self) -> String {
        format!("{} {}", self.tool.name(), self.point.name())
    }

    pub fn parse(text: &str) -> Option<Self> {
        all_stages().find(|stage| stage.spell() == text)
    }

    /// A kill here leaves a step of which nobody can know whether it happened, and that must not happen
    /// twice.
    pub fn leaves_doubt(self) -> bool {
        self.tool.policy() == InboxPolicy::AtMostOnce
            && matches!(self.point, Point::AfterBegin | Point::BeforeFinish)
    }
}

/// Every point of every step, in the order in which an agent comes to them.
pub fn all_stages() -> impl Iterator<Item = Stage> {
    TOOLS
        .into_iter()
        .flat_map(|tool| POINTS.map(|point| Stage { tool, point }))
}

/// The table that the row goes to.
pub const ROWS: &str = "app_receipts";

/// Where confirmations go.
pub fn confirmation_path(plan: usize) -> String {
    format!("/confirmations?plan={plan}")
}

/// Where each ring of the bell is a line.
pub fn bell(folder: &str) -> PathBuf {
    PathBuf::from(folder).join("bell.txt")
}

/// The library's defaults, with some times shortened so that a lost answer costs less than a second.
pub fn config(folder: &str, base_url: &str) -> OutboxConfig {
    let database = PathBuf::from(folder).join("app").join("outbox.sqlite3");
    OutboxConfig::at(database.to_string_lossy())
        .base_url(base_url)
        .limits(Limits {
            quiet_time: Some(Duration::from_millis(300)),
            backoff_first: Duration::from_millis(100),
            backoff_most: Duration::from_millis(800),
            ..default_limits()
        })
}
