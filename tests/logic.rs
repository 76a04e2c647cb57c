//! The rules, on the real core in a simulated world: time, randomness, network and executor are
//! fake, the database files are real.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that panics has failed, and says where"
)]

mod common;

#[path = "logic/attacks.rs"]
mod attacks;
#[path = "logic/attacks_credentials.rs"]
mod attacks_credentials;
#[path = "logic/batches.rs"]
mod batches;
#[path = "logic/batches_kept.rs"]
mod batches_kept;
#[path = "logic/batches_late.rs"]
mod batches_late;
#[path = "logic/batches_random.rs"]
mod batches_random;
#[path = "logic/batches_split.rs"]
mod batches_split;
#[path = "logic/bodies.rs"]
mod bodies;
#[path = "logic/bodies_kept.rs"]
mod bodies_kept;
#[path = "logic/bodies_lost.rs"]
mod bodies_lost;
#[path = "logic/bodies_orphans.rs"]
mod bodies_orphans;
#[path = "logic/budgets.rs"]
mod budgets;
#[path = "logic/cases.rs"]
mod cases;
#[path = "logic/convergence.rs"]
mod convergence;
#[path = "logic/credentials.rs"]
mod credentials;
#[path = "logic/decisions.rs"]
mod decisions;
#[path = "logic/determinism.rs"]
mod determinism;
#[path = "logic/disk.rs"]
mod disk;
#[path = "logic/doubt.rs"]
mod doubt;
#[path = "logic/drains.rs"]
mod drains;
#[path = "logic/feeds.rs"]
mod feeds;
#[path = "logic/fetched.rs"]
mod fetched;
#[path = "logic/fetched_kept.rs"]
mod fetched_kept;
#[path = "logic/fetched_order.rs"]
mod fetched_order;
#[path = "logic/fetched_random.rs"]
mod fetched_random;
#[path = "logic/gates.rs"]
mod gates;
#[path = "logic/guards.rs"]
mod guards;
#[path = "logic/histories.rs"]
mod histories;
#[path = "logic/inbox.rs"]
mod inbox;
#[path = "logic/inbox_kept.rs"]
mod inbox_kept;
#[path = "logic/inbox_random.rs"]
mod inbox_random;
#[path = "logic/inbox_statements.rs"]
mod inbox_statements;
#[path = "logic/intents.rs"]
mod intents;
#[path = "logic/isolation.rs"]
mod isolation;
#[path = "logic/key_places.rs"]
mod key_places;
#[path = "logic/key_scopes.rs"]
mod key_scopes;
#[path = "logic/lanes.rs"]
mod lanes;
#[path = "logic/lanes_policies.rs"]
mod lanes_policies;
#[path = "logic/lapses.rs"]
mod lapses;
#[path = "logic/latest.rs"]
mod latest;
#[path = "logic/latest_waits.rs"]
mod latest_waits;
#[path = "logic/lifetime.rs"]
mod lifetime;
#[path = "logic/lists.rs"]
mod lists;
#[path = "logic/model_cases.rs"]
mod model_cases;
#[path = "logic/moved.rs"]
mod moved;
#[path = "logic/networks.rs"]
mod networks;
#[path = "logic/observing.rs"]
mod observing;
#[path = "logic/order_kept.rs"]
mod order_kept;
#[path = "logic/parents.rs"]
mod parents;
#[path = "logic/parents_parts.rs"]
mod parents_parts;
#[path = "logic/parents_random.rs"]
mod parents_random;
#[path = "logic/probes.rs"]
mod probes;
#[path = "logic/probes_frozen.rs"]
mod probes_frozen;
#[path = "logic/probes_horizon.rs"]
mod probes_horizon;
#[path = "logic/probes_shared.rs"]
mod probes_shared;
#[path = "logic/progress.rs"]
mod progress;
#[path = "logic/purges.rs"]
mod purges;
#[path = "logic/redirects.rs"]
mod redirects;
#[path = "logic/replay.rs"]
mod replay;
#[path = "logic/restored.rs"]
mod restored;
#[path = "logic/retention.rs"]
mod retention;
#[path = "logic/retention_life.rs"]
mod retention_life;
#[path = "logic/retries.rs"]
mod retries;
#[path = "logic/runs.rs"]
mod runs;
#[path = "logic/salvaged.rs"]
mod salvaged;
#[path = "logic/salvaged_openings.rs"]
mod salvaged_openings;
#[path = "logic/stats.rs"]
mod stats;
#[path = "logic/telling.rs"]
mod telling;
#[path = "logic/token_races.rs"]
mod token_races;
#[path = "logic/winding_down.rs"]
mod winding_down;
