//! The rules of delivery as a model, searched exhaustively.
//!
//! The state function, the judgement of answers and the key's lifetime are the core's own
//! ([`submit_once::rules`]), so that the search attacks the rules that are shipped. What needs a database
//! or a network there is told here in the model's own words, beside the name of the file that does it.
//!
//! * [`world`]: what there is: one submission, or an older and a newer one of a latest-wins key, with
//!   their attempts; two or three processes; a server and the network before it.
//! * [`step`]: what can happen next. `client` has the steps of the core, `network` those of the network
//!   and the server, `latest` the turns of a pair.
//! * [`setting`]: how much of that is searched, and against which server.
//! * [`invariants`]: what must hold in every state, and [`liveness`]: what must stay possible.
//! * [`rule`]: rules that can be taken out, each with the sequence of steps that breaks a promise then.
//!
//! Time is any order of steps that the guards allow. Not in the model: parents, lanes, gates, restored
//! copies, faults of the disk, clocks, redirects, portals, and the retention of results.

mod client;
mod hash;
pub mod invariants;
mod latest;
pub mod liveness;
mod network;
mod possible;
mod probe;
pub mod rule;
pub mod server;
pub mod setting;
pub mod step;
mod table;
mod take;
mod tidy;
pub mod world;

pub use rule::Rule;
pub use server::Server;
pub use setting::{Delivery, Probe, Quiet, Setting};
