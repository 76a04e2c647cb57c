//! The pure rules, for the model that searches all that they allow (`tests/model`). No part of the API:
//! they change whenever a rule does.

pub use crate::model::state::{
    AttemptMark, Decision, Doubt, Ending, Event, Evidence, IllegalTransition, Proof, State, Then,
    Transition,
};
pub use crate::model::transition::next;
pub use crate::policy::age::key_lifetime;
pub use crate::policy::classify::{
    Answer, Circumstances, History, Judgement, Settles, answer, fault,
};
