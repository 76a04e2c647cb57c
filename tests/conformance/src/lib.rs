//! The conformance suite for transports of submit-once: everything that the documentation of
//! [`Transport`] demands, one [`Point`] each, shown on plain sockets.
//!
//! Hand [`points`] a function that makes your transport, in a test:
//!
//! ```no_run
//! # use std::sync::Arc;
//! # use submit_once::Transport;
//! # fn make_my_transport() -> Arc<dyn Transport> { unimplemented!() }
//! for point in submit_once_transport_conformance::points() {
//!     if let Err(problem) = (point.check)(&make_my_transport) {
//!         panic!("{}: {problem}\n{}", point.name, point.about);
//!     }
//! }
//! ```
//!
//! The servers speak HTTP/1.1 on the loopback interface. Nothing waits for a time to pass, but for
//! what the transport itself waits for; a transport that does nothing at all fails a point after
//! [`PATIENCE`].

mod answers;
mod looks;
mod requests;
mod rig;

use std::sync::Arc;

use submit_once::Transport;

pub use rig::PATIENCE;

/// Makes the transport that is to be checked, a new one each time.
pub type Make<'a> = &'a dyn Fn() -> Arc<dyn Transport>;

/// One demand.
#[derive(Clone, Copy)]
pub struct Point {
    /// A short name.
    pub name: &'static str,
    /// What is demanded, and why.
    pub about: &'static str,
    /// Checks it. The error says what happened instead.
    pub check: fn(Make<'_>) -> Result<(), String>,
}

/// All that is demanded.
pub fn points() -> Vec<Point> {
    [requests::POINTS, looks::POINTS, answers::POINTS].concat()
}
