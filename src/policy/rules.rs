//! Rules of a server profile: what an answer means where its status alone doesn't say. Data, asked
//! before the table of statuses.

use crate::model::state::RejectReason;
use crate::model::submission::is_token;

use super::answer::Seen;

/// What one kind of answer means. All conditions that are named must hold.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, uniffi::Record)]
pub struct AnswerRule {
    /// The first status that it is about.
    pub first_status: u16,
    /// The last one.
    pub last_status: u16,
    /// A header that the answer has.
    #[serde(default)]
    #[uniffi(default = None)]
    pub header: Option<HeaderCondition>,
    /// A member that the JSON body has: `type` of a problem document (RFC 9457), an error code.
    #[serde(default)]
    #[uniffi(default = None)]
    pub member: Option<MemberCondition>,
    /// What it means.
    pub verdict: RuleVerdict,
    /// It speaks for all attempts so far, and not for the last one alone: what the server says here
    /// it would not say if an earlier attempt had taken effect.
    #[serde(default)]
    #[uniffi(default = false)]
    pub settles: bool,
}

/// A header of the answer.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, uniffi::Record)]
pub struct HeaderCondition {
    /// Its name, in any case.
    pub name: String,
    /// Its value, in any case; left out, any.
    #[serde(default)]
    #[uniffi(default = None)]
    pub value: Option<String>,
}

/// A member of the answer's JSON body.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, uniffi::Record)]
pub struct MemberCondition {
    /// Where it is, by RFC 6901 pointer, for example `/errors/0/code`.
    pub pointer: String,
    /// Its value, as text: a string as it is, a number or a boolean as JSON writes it. Left out,
    /// any but `null`, `false`, and an empty list, object or string.
    #[serde(default)]
    #[uniffi(default = None)]
    pub value: Option<String>,
}

/// What a rule says that an answer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, uniffi::Enum)]
#[serde(rename_all = "snake_case")]
pub enum RuleVerdict {
    /// It took effect, now or earlier, and this is the result.
    Applied,
    /// It was refused, and had no effect.
    Refused {
        /// Why.
        reason: RejectReason,
    },
    /// The credentials were refused, and it had no effect.
    Credentials,
    /// An earlier attempt with this key is still being worked on.
    Busy,
    /// Try again; this attempt had no effect.
    Retry,
    /// Try again; this attempt may have had an effect.
    RetryInDoubt,
    /// Wait, as everybody who sends to this host; this attempt had no effect.
    Wait,
    /// Nobody can tell whether it took effect, and asking again won't help.
    Held,
    /// A precondition no longer holds; this attempt had no effect.
    Conflict,
}

impl AnswerRule {
    /// A rule for one status.
    pub fn on(status: u16, verdict: RuleVerdict) -> Self {
        Self::between(status, status, verdict)
    }

    /// A rule for the statuses from `first` to `last`.
    pub fn between(first: u16, last: u16, verdict: RuleVerdict) -> Self {
        Self {
            first_status: first,
            last_status: last,
            header: None,
            member: None,
            verdict,
            settles: false,
        }
    }

    /// Adds a condition on a member of the JSON body. With no value: any that says something.
    #[must_use]
    pub fn member(mut self, pointer: &str, value: Option<&str>) -> Self {
        self.member = Some(MemberCondition {
            pointer: pointer.to_owned(),
            value: value.map(str::to_owned),
        });
        self
    }

    /// Adds a condition on a header. With no value: any.
    #[must_use]
    pub fn header(mut self, name: &str, value: Option<&str>) -> Self {
        self.header = Some(HeaderCondition {
            name: name.to_owned(),
            value: value.map(str::to_owned),
        });
        self
    }

    /// Makes it speak for all attempts so far.
    #[must_use]
    pub fn settles(mut self) -> Self {
        self.settles = true;
        self
    }

    /// What is wrong with it.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        if self.first_status < 100 || self.last_status > 599 || self.first_status > self.last_status
        {
            return Err("a rule's statuses go from 100 to 599, the first before the last");
        }
        if self.header.as_ref().is_some_and(|h| !is_token(&h.name)) {
            return Err("a rule's header has a name of letters, digits and hyphens");
        }
        if self
            .member
            .as_ref()
            .is_some_and(|m| !is_pointer(&m.pointer))
        {
            return Err("a rule's member is a JSON pointer (RFC 6901), such as /error/code");
        }
        if self.settles
            && !matches!(
                self.verdict,
                RuleVerdict::Applied | RuleVerdict::Refused { .. }
            )
        {
            return Err("only applied and refused say something of all attempts");
        }
        Ok(())
    }

    pub(super) fn is_about(&self, status: u16) -> bool {
        (self.first_status..=self.last_status).contains(&status)
    }

    /// It names a refusal. Where its body is cut, its status says as much.
    pub(super) fn refuses(&self) -> bool {
        matches!(
            self.verdict,
            RuleVerdict::Refused { .. } | RuleVerdict::Conflict
        )
    }

    pub(super) fn fits(&self, seen: &Seen<'_>) -> bool {
        self.is_about(seen.answer.status)
            && self.header.as_ref().is_none_or(|wanted| wanted.fits(seen))
            && self.member.as_ref().is_none_or(|wanted| wanted.fits(seen))
    }
}

/// RFC 6901, section 3: empty, or reference tokens that each begin with a slash; `~` only in `~0`
/// and `~1`.
pub(crate) fn is_pointer(text: &str) -> bool {
    let escapes = |token: &str| {
        token
            .split('~')
            .skip(1)
            .all(|rest| rest.starts_with('0') || rest.starts_with('1'))
    };
    text.is_empty() || (text.starts_with('/') && escapes(text))
}

impl HeaderCondition {
    fn fits(&self, seen: &Seen<'_>) -> bool {
        let name = self.name.to_ascii_lowercase();
        seen.answer.headers.iter().any(|header| {
            header.name == name
                && self
                    .value
                    .as_ref()
                    .is_none_or(|value| value.eq_ignore_ascii_case(header.value.trim()))
        })
    }
}

impl MemberCondition {
    fn fits(&self, seen: &Seen<'_>) -> bool {
        use serde_json::Value;
        let Some(found) = seen.member(&self.pointer) else {
            return false;
        };
        match (&self.value, found) {
            (Some(wanted), Value::String(text)) => wanted == text,
            (Some(wanted), Value::Number(number)) => number.to_string() == *wanted,
            (Some(wanted), Value::Bool(is)) => is.to_string() == *wanted,
            (Some(_), Value::Null | Value::Array(_) | Value::Object(_)) => false,
            (None, found) => says_something(found),
        }
    }
}

/// `errors: []` and `error: null` mean that there is none.
pub(super) fn says_something(value: &serde_json::Value) -> bool {
    use serde_json::Value;
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(list) => !list.is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::String(text) => !text.is_empty(),
        Value::Bool(true) | Value::Number(_) => true,
    }
}
