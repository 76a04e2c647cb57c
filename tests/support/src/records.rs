//! What the server saw: one record per request, one per effect.
//!
//! A *flight* is the time in which a request may still do something or still be answered: from the
//! arrival of its head to the end of its answer or of its handler, whichever is later. A client
//! that hangs up ends the wait for the answer, but not the handler.

use serde::{Deserialize, Serialize};

use crate::behaviour::Behaviour;

/// One request, from its head on.
///
/// All `…_ns` times are nanoseconds of one monotonic clock that starts with the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestRecord {
    /// The arrival number. It grows with each request and is never given twice.
    pub number: u64,
    /// The value of the key header as it came.
    pub key: Option<String>,
    /// The method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The SHA-256 of the body in hex, once it is complete.
    pub body_sha256: Option<String>,
    /// How many bytes of the body have come.
    pub body_bytes: u64,
    /// Whether the body came to its end. A request that was cut before has no effect.
    pub body_complete: bool,
    /// Who asked: the first 16 hex digits of the SHA-256 of the `Authorization` header. The header
    /// itself is not kept.
    pub principal: Option<String>,
    /// The `User-Agent` header.
    pub user_agent: Option<String>,
    /// The number of the connection it came on, from 1 in the order of their acceptance.
    #[serde(default)]
    pub connection: u64,
    /// Which request of that connection it is, from 1: above it, the connection was reused.
    #[serde(default)]
    pub nth_on_connection: u64,
    /// When the head arrived.
    pub arrived_at_ns: u64,
    /// When the head arrived, in milliseconds since 1970.
    pub arrived_wall_ms: u64,
    /// When the last byte of the answer was given to the operating system. `None` while there is
    /// no answer, and for good when it was lost.
    pub answered_at_ns: Option<u64>,
    /// When the connection ended before the whole answer was on its way, by a script or because
    /// the client was gone.
    pub lost_at_ns: Option<u64>,
    /// When the handler ended.
    pub handler_done_at_ns: Option<u64>,
    /// The status of the answer, as soon as it is sent. `None` when not one byte was sent.
    pub status: Option<u16>,
    /// The behaviour that was applied, without the body of a `Respond` or the pieces of a `Raw`; `Normal` for a refusal of
    /// the server itself.
    pub behaviour: Behaviour,
    /// The effect that this request made, or whose stored answer it got.
    pub effect: Option<u64>,
    /// When that was known: right after the commit, and before anything of an answer.
    #[serde(default)]
    pub effect_at_ns: Option<u64>,
    /// Whether the answer is one stored earlier under the key.
    pub replayed: bool,
    /// Whether there is an effect whose true answer never reached this client: the connection
    /// ended first, or [`Behaviour::ErrorAfter`] covered it with an error.
    ///
    /// An answer counts as arrived once the operating system has taken all of it.
    pub answer_lost: bool,
    /// The name of the hold, or [`HANG`](crate::HANG), at which the request stands right now.
    pub held_at: Option<String>,
}

impl RequestRecord {
    /// Whether this request made a new effect, as opposed to replaying one.
    #[must_use]
    pub fn made_effect(&self) -> bool {
        self.effect.is_some() && !self.replayed
    }

    /// When the flight ended: the later one of the answer's end and the handler's end. `None`
    /// while the request is in flight.
    #[must_use]
    pub fn flight_ended_at_ns(&self) -> Option<u64> {
        let answer = self.answered_at_ns.or(self.lost_at_ns)?;
        Some(answer.max(self.handler_done_at_ns?))
    }

    /// Whether the request can still do something or be answered.
    #[must_use]
    pub fn in_flight(&self) -> bool {
        self.flight_ended_at_ns().is_none()
    }

    /// Restores what follows from other fields.
    pub(crate) fn settle(&mut self) {
        self.answer_lost |= self.effect.is_some() && self.lost_at_ns.is_some();
        if !self.in_flight() {
            self.held_at = None;
        }
    }
}

/// One effect: what an idempotency key exists to make happen once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectRecord {
    /// The number of the effect, from 1. It is the `effect` of the 201.
    pub effect: u64,
    /// The key it was made under; `None` without a key.
    pub key: Option<String>,
    /// The method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The SHA-256 of the body in hex.
    pub body_sha256: String,
    /// The length of the body.
    pub body_bytes: u64,
    /// Whether it was a `PUT` without a key, which may be repeated.
    pub overwrite: bool,
    /// When it was committed, in milliseconds since 1970.
    pub wall_ms: u64,
}

/// The body of an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectBody {
    /// The number of the effect.
    pub effect: u64,
    /// Its body as it came.
    pub body: Vec<u8>,
}
