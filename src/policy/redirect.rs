//! Redirects. The HTTP stack follows none; the core follows those that can't spoil anything, to the
//! same origin only, so that neither the request nor its credentials go anywhere else.

use url::Url;

use crate::weakness::{self, Weakness};

/// How often one attempt follows.
pub const MOST_HOPS: u32 = 3;

/// Where an attempt goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Follow {
    /// The same method, body and key to this URL.
    Same(String),
    /// A `GET` of this URL, whose answer tells what the request led to.
    Get(String),
}

/// What to do about a redirect; nothing if the answer is to be judged as it is.
///
/// 307 and 308 repeat the request (RFC 9110, sections 15.4.8 and 15.4.9). 303 shows the result
/// elsewhere (15.4.4). 301 and 302 would turn a `POST` into a `GET` whose 200 looks like success,
/// so they are followed by nobody. `hops` is how often this attempt has followed already.
pub fn follow(status: u16, location: Option<&str>, from: &str, hops: u32) -> Option<Follow> {
    if hops >= MOST_HOPS || !matches!(status, 303 | 307 | 308) {
        return None;
    }
    let to = same_origin(from, location?)?;
    Some(if status == 303 {
        Follow::Get(to)
    } else {
        Follow::Same(to)
    })
}

fn same_origin(from: &str, location: &str) -> Option<String> {
    let from = Url::parse(from).ok()?;
    let mut to = from.join(location.trim()).ok()?;
    let clean = to.username().is_empty() && to.password().is_none();
    let same = to.origin() == from.origin() || weakness::is_out(Weakness::RedirectsAnywhere);
    if !same || !clean {
        return None;
    }
    to.set_fragment(None);
    Some(to.into())
}
