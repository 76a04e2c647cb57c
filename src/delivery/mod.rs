//! Moving what is due: one *pump* per database and process claims, hands requests to the transport,
//! judges what comes back and settles it.
//!
//! The pump runs only while somebody wants it: a `drain` within its budget, or after `start`. It
//! sleeps until something becomes due, an exchange ends or it is nudged; it doesn't poll, but
//! for a look once a second while another process has something in flight and may die.
//!
//! If the process dies at any point, the attempts that it had open are found by the next one, which
//! marks them unknown and waits the quiet time before it sends the same key again.

mod body;
pub(crate) mod credentials;
pub(crate) mod drain;
pub(crate) mod engine;
mod gate;
pub mod http;
mod http_body;
#[cfg(test)]
mod http_certs;
mod http_faults;
mod http_pins;
#[cfg(test)]
mod http_rig;
mod http_tls;
pub(crate) mod lease;
mod purge;
pub mod transport;
pub(crate) mod wind_down;

mod judge;
mod probe;
