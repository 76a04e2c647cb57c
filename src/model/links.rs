//! How submissions hang together: lanes, and what a child takes from its parents' results.

use super::id::SubmissionId;
use super::request::{check_name, invalid};
use super::submission::Effect;
use crate::error::OutboxError;
use crate::policy::limits::MAX_PARENTS;
use crate::policy::profile::ServerProfile;

/// What becomes of a lane when the submission whose turn it is doesn't succeed.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Default,
    serde::Serialize,
    serde::Deserialize,
    uniffi::Enum,
)]
#[serde(rename_all = "snake_case")]
pub enum LanePolicy {
    /// While it is held, the lane waits for the decision. If it is rejected or given up, the lane
    /// stops until `release_lane`. The default.
    #[default]
    Block,
    /// The others go on: past one that is held, and after one that ended without success.
    Continue,
    /// While it is held, the lane waits for the decision. If it is rejected or given up, everything
    /// that waits behind it in the lane is rejected, too.
    RejectRest,
}

/// A part of a request that is taken from the result of another submission, its parent. It is put in
/// when the parent has succeeded, once, and is frozen then.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, uniffi::Record)]
pub struct ParentPart {
    /// Whose result it is taken from. It needs no mention in `after`.
    pub parent: SubmissionId,
    /// Where in the parent's result it is found.
    pub from: PartSource,
    /// Where in the request it goes.
    pub into: PartTarget,
}

/// Where in a parent's result a part is found.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, uniffi::Enum)]
#[serde(rename_all = "snake_case")]
pub enum PartSource {
    /// In its JSON body, by RFC 6901 pointer.
    JsonPointer {
        /// The pointer, for example `/id`.
        pointer: String,
    },
    /// In one of the kept headers: `Content-Location`, `ETag`, `Last-Modified`, `Link`, `Location`,
    /// `Request-Id`, `X-Correlation-Id`, `X-Request-Id`.
    Header {
        /// The header's name, in any case.
        name: String,
    },
}

/// Headers of an answer that are kept with the result: where the new thing is, which version of it,
/// and what support asks for. Never a cookie.
pub(crate) const KEPT_HEADERS: [&str; 8] = [
    "content-location",
    "etag",
    "last-modified",
    "link",
    "location",
    "request-id",
    "x-correlation-id",
    "x-request-id",
];

/// Where in a request a part goes.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, uniffi::Enum)]
#[serde(rename_all = "snake_case")]
pub enum PartTarget {
    /// A placeholder in the path of the URL, there once, for example `{order}` in
    /// `/orders/{order}/photos`. A text or a number, percent-encoded; not empty, and never dots that
    /// would change the path.
    Path {
        /// The placeholder, with its braces.
        placeholder: String,
    },
    /// A query parameter, added behind those that are there. A text or a number.
    Query {
        /// The parameter's name.
        name: String,
    },
    /// A header that the submission doesn't store itself. A text or a number.
    Header {
        /// The header's name.
        name: String,
    },
    /// A member of the JSON body, added to an object that is there. Any JSON value, as it is written
    /// in the result; a null there counts as missing, and can be supplied. The body is neither from a
    /// file nor larger than `inline_body_bytes`.
    Json {
        /// The member's RFC 6901 pointer, for example `/order_id`.
        pointer: String,
    },
}

/// A part that the app supplies, since the parent's result lacks it.
#[derive(Clone, PartialEq, Eq, uniffi::Record)]
#[uniffi::export(Debug)]
pub struct PartValue {
    /// Where it goes: the `into` of one of the submission's parts.
    pub into: PartTarget,
    /// The value as JSON, for example `"A-17"` with its quotes, or `17`.
    pub json: String,
}

impl std::fmt::Debug for PartValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PartValue")
            .field("into", &self.into)
            .field("json_bytes", &self.json.len())
            .finish()
    }
}

/// How a frozen request hangs together with others of its account.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FrozenLinks {
    /// Its lane, and what becomes of that if it doesn't succeed.
    pub lane: Option<(String, LanePolicy)>,
    /// Its latest-wins key.
    pub replaces: Option<String>,
    /// All its parents, each once, those of its parts too.
    pub after: Vec<SubmissionId>,
    /// What it takes from their results. As long as they aren't in it, the request is a template.
    pub parts: Vec<ParentPart>,
}

pub(super) fn read_lane(
    lane: Option<String>,
    policy: Option<LanePolicy>,
) -> Result<Option<(String, LanePolicy)>, OutboxError> {
    match (lane, policy) {
        (Some(lane), policy) => {
            check_name("lane", &lane)?;
            Ok(Some((lane, policy.unwrap_or_default())))
        }
        (None, Some(_)) => Err(invalid("lane_policy", "it needs a lane")),
        (None, None) => Ok(None),
    }
}

pub(super) fn read_replaces(
    replaces: Option<String>,
    method: &str,
    effect: Effect,
    profile: &ServerProfile,
) -> Result<Option<String>, OutboxError> {
    let Some(replaces) = replaces else {
        return Ok(None);
    };
    check_name("replaces", &replaces)?;
    if replaces.starts_with(char::is_control) {
        return Err(invalid(
            "replaces",
            "begin it with something that can be seen",
        ));
    }
    let latest_wins = match effect {
        Effect::Safe => method == "GET",
        Effect::Overwrite => true,
        Effect::Keyed => profile.latest_wins,
        Effect::Unkeyed => false,
    };
    if !latest_wins {
        return Err(invalid(
            "replaces",
            "only what overwrites can be replaced, and a GET without an effect: use the effect \
             overwrite, or a server profile with latest_wins",
        ));
    }
    Ok(Some(replaces))
}

/// All parents, each once, in their order.
pub(super) fn read_parents(
    after: Vec<SubmissionId>,
    parts: &[ParentPart],
) -> Result<Vec<SubmissionId>, OutboxError> {
    if parts.len() > MAX_PARENTS {
        return Err(invalid("parts", "at most 16"));
    }
    let mut parents: Vec<SubmissionId> = Vec::new();
    for parent in after
        .into_iter()
        .chain(parts.iter().map(|part| part.parent))
    {
        if !parents.contains(&parent) {
            parents.push(parent);
        }
        if parents.len() > MAX_PARENTS {
            return Err(invalid("after", "at most 16 parents"));
        }
    }
    Ok(parents)
}
