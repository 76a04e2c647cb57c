//! Status probes: a `GET` that tells whether an effect exists.

/// A question to the server whether a submission took effect: a `GET` without side effects, asked
/// with its account's credentials when nothing else can tell, so that no person has to be asked.
///
/// An answer "it is there" settles the submission as succeeded. "It isn't there" counts only if the
/// last attempt had ended at least `Limits.horizon` before the question was asked, and none began
/// since: a request may still be on its way. Anything else is no answer, and is asked again a few
/// times before a person decides.
#[derive(Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, uniffi::Record)]
#[uniffi::export(Debug)]
pub struct StatusProbe {
    /// A path or URL at the same origin as the submission's, for example `/orders?client_id={id}`.
    /// `{id}` becomes the submission ID.
    pub url: String,
    /// Where in the JSON body of a 2xx the effect is found, by RFC 6901 pointer, for example `/0` for
    /// the first of a list. A value that is there, and isn't `null`, `false` or empty, means applied,
    /// and becomes the result; else it isn't there. Left out, a 2xx means applied, and its body is the
    /// result.
    #[uniffi(default = None)]
    pub pointer: Option<String>,
    /// A 404 or 410 means "it isn't there". Otherwise they are no answer.
    #[uniffi(default = true)]
    pub missing_means_not_applied: bool,
    /// It asks for the key's record, which the server forgets, and not for the effect itself. Past the
    /// key's lifetime "it isn't there" means nothing then.
    #[uniffi(default = false)]
    pub of_key_record: bool,
}

impl StatusProbe {
    /// A probe where a 2xx means applied, and a 404 or 410 not.
    pub fn at(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            pointer: None,
            missing_means_not_applied: true,
            of_key_record: false,
        }
    }

    /// Sets where in the answer's JSON the effect is found.
    #[must_use]
    pub fn pointer(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = Some(pointer.into());
        self
    }
}

impl std::fmt::Debug for StatusProbe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without the URL, which may name a person.
        f.debug_struct("StatusProbe")
            .field("pointer", &self.pointer)
            .finish_non_exhaustive()
    }
}
