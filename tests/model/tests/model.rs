//! V7: all states of the model, and each rule taken out once.

#[allow(dead_code, reason = "shared with other attacks, which use the rest")]
#[path = "../../common/attack.rs"]
mod attack;

#[path = "model/holds.rs"]
mod holds;
#[path = "model/liveness.rs"]
mod liveness;
#[path = "model/needed.rs"]
mod needed;
#[path = "model/reached.rs"]
mod reached;
#[path = "model/search.rs"]
mod search;
