//! How a process ends: at a moment that nobody chose, or at a point that has a name.

use std::time::Duration;

use crate::common::agents::PATIENCE;
use crate::dice::Dice;

/// Where the next process is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// This long after its start, whatever it does.
    Starting(Duration),
    /// This long after it was open.
    Working(Duration),
    /// When it comes by a point of its own for the n-th time.
    Point(&'static str, u64),
    /// `begin` has given an ID.
    Begun,
    /// The server has the request, and stands before or after its effect.
    OnTheWire { after_effect: bool },
    /// A drain has returned, and what it wrote down is told.
    Drained,
}

/// Points of the process's own, with the last passing that is drawn: a write to the disk of a call,
/// or a step of its transport.
const POINTS: [(&str, u64); 9] = [
    ("open", 12),
    ("submit", 8),
    ("submitted", 2),
    ("claimed", 3),
    ("checked", 4),
    ("answered", 2),
    ("settle", 12),
    ("suspend", 6),
    ("close", 6),
];

impl End {
    /// `pace` is how long an undisturbed process takes to open, and to do its work.
    pub fn draw(dice: &Dice, pace: (Duration, Duration)) -> Self {
        match dice.below(20) {
            0..=1 => Self::Starting(dice.moment(pace.0)),
            2..=11 => Self::Working(dice.moment(pace.1)),
            12 => Self::Begun,
            13 => Self::OnTheWire {
                after_effect: dice.once_in(2),
            },
            14 => Self::Drained,
            _ => {
                let (name, last) = dice.pick(&POINTS).unwrap();
                Self::Point(name, 1 + dice.below(*last))
            }
        }
    }

    /// The names of the points, and nothing for a moment.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Starting(_) | Self::Working(_) => None,
            Self::Point(name, _) => Some(name),
            Self::Begun => Some("begun"),
            Self::OnTheWire {
                after_effect: false,
            } => Some("on the wire"),
            Self::OnTheWire { after_effect: true } => Some("done on the wire"),
            Self::Drained => Some("drained"),
        }
    }

    /// All of the names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let own = POINTS.iter().map(|(name, _)| *name);
        own.chain(["begun", "on the wire", "done on the wire", "drained"])
    }

    /// Whether its time runs from its start, and how long it is.
    pub fn time(self) -> (bool, Duration) {
        match self {
            Self::Starting(time) => (true, time),
            Self::Working(time) => (false, time),
            Self::Point(..) | Self::Begun | Self::OnTheWire { .. } | Self::Drained => {
                (false, PATIENCE)
            }
        }
    }
}
