//! The tables: what is judged in each. The titles are the headings of the page.

use submit_once::classification::Case;
use submit_once::{Effect, Fault, Header, KeyScope, Reported, ServerProfile, WireAnswer};

/// One table.
#[derive(Clone)]
pub struct Scenario {
    pub title: &'static str,
    pub case: Case,
    /// Show only the rows that differ from this one's.
    pub differs_from: Option<Box<Self>>,
    exchanges: Exchanges,
}

#[derive(Clone)]
enum Exchanges {
    /// Every status, dressed like this.
    Answers {
        headers: Vec<(&'static str, &'static str)>,
        body: &'static str,
        complete: bool,
    },
    /// Everything that happens instead of an answer.
    Faults,
}

/// What happens instead of an answer, as the page names it.
const FAULTS: [(&str, Fault); 13] = [
    ("no network", Fault::Offline),
    ("no connection", Fault::Unreachable),
    ("certificate refused", Fault::Tls),
    ("certificate not valid at this time", Fault::TlsClock),
    ("not begun with", Fault::NotProcessed),
    ("stopped before the first byte", Fault::NotSent),
    ("stored body unreadable", Fault::BodyUnreadable),
    ("stored body gone", Fault::BodyMissing),
    ("stored body changed", Fault::BodyChanged),
    ("no answer in time", Fault::TimedOut),
    ("connection lost", Fault::Lost),
    ("stopped in flight", Fault::Stopped),
    ("unreadable answer", Fault::BadAnswer),
];

const JSON: (&str, &str) = ("content-type", "application/json");

impl Scenario {
    fn answers(title: &'static str, profile: ServerProfile) -> Self {
        Self {
            title,
            case: Case::of(profile),
            differs_from: None,
            exchanges: Exchanges::Answers {
                headers: vec![JSON],
                body: "{}",
                complete: true,
            },
        }
    }

    fn faults(title: &'static str, profile: ServerProfile) -> Self {
        Self {
            exchanges: Exchanges::Faults,
            ..Self::answers(title, profile)
        }
    }

    fn only_what_differs(self) -> Self {
        let standard = ServerProfile::standard();
        let other = match self.exchanges {
            Exchanges::Answers { .. } => Self::answers("", standard),
            Exchanges::Faults => Self::faults("", standard),
        };
        Self {
            differs_from: Some(Box::new(other)),
            ..self
        }
    }

    fn with(mut self, name: &'static str, value: &'static str) -> Self {
        if let Exchanges::Answers { headers, .. } = &mut self.exchanges {
            headers.push((name, value));
        }
        self
    }

    fn saying(mut self, text: &'static str) -> Self {
        if let Exchanges::Answers { body, .. } = &mut self.exchanges {
            *body = text;
        }
        self
    }

    fn cut(mut self) -> Self {
        if let Exchanges::Answers { complete, .. } = &mut self.exchanges {
            *complete = false;
        }
        self
    }

    fn page(mut self) -> Self {
        if let Exchanges::Answers { headers, .. } = &mut self.exchanges {
            *headers = vec![("content-type", "text/html")];
        }
        self.saying("<html></html>")
    }

    fn case(mut self, change: impl FnOnce(&mut Case)) -> Self {
        change(&mut self.case);
        self
    }

    /// What is judged, by the name of its row.
    pub fn exchanges(&self) -> Vec<(String, Reported)> {
        match &self.exchanges {
            Exchanges::Faults => FAULTS
                .iter()
                .map(|(name, fault)| ((*name).to_owned(), Reported::Failed(*fault)))
                .collect(),
            Exchanges::Answers {
                headers,
                body,
                complete,
            } => (100..600)
                .map(|status| {
                    let answer = WireAnswer {
                        status,
                        headers: headers.iter().copied().map(header).collect(),
                        body: body.as_bytes().to_vec(),
                        complete: *complete,
                    };
                    (status.to_string(), Reported::Answered(answer))
                })
                .collect(),
        }
    }
}

fn header((name, value): (&str, &str)) -> Header {
    Header {
        name: name.to_owned(),
        value: value.to_owned(),
    }
}

/// All tables, in the order of the page.
pub fn all() -> Vec<Scenario> {
    let standard = ServerProfile::standard;
    let answers = Scenario::answers;
    let faults = Scenario::faults;
    let full = [
        answers("Every status", standard()),
        faults("No answer", standard()),
    ];
    let differing = [
        answers("A page for people", standard()).page(),
        answers("A body that was cut", standard()).cut(),
        answers(
            "A body that was cut, where a success is replayed",
            replaying(),
        )
        .cut(),
        answers("Every member succeeded", standard()).saying(r#"[{"status":201}]"#),
        answers("A body that speaks of the key", standard()).saying(KEY_USED),
        answers(
            "A body that speaks of the key, and a derived ID",
            standard(),
        )
        .saying(KEY_USED)
        .case(|case| case.derived_id = true),
        answers("`Retry-After`", standard()).with("retry-after", "60"),
        answers("A rate limit that is used up", standard()).with("ratelimit", r#""a";r=0;t=60"#),
        answers("A replay marker", standard()).with("idempotency-replayed", "true"),
        answers(
            "A replay marker, where the server locks",
            ServerProfile::ietf(),
        )
        .with("idempotency-replayed", "true"),
        answers("`Stripe-Should-Retry: true`", standard()).with("stripe-should-retry", "true"),
        answers("`Stripe-Should-Retry: false`", standard()).with("stripe-should-retry", "false"),
        answers("With an account", standard()).case(|case| case.account = true),
        answers("With an account, where keys belong to tokens", by_token())
            .case(|case| case.account = true),
        answers("A safe method", standard()).case(|case| case.effect = Effect::Safe),
        faults("A safe method without an answer", standard())
            .case(|case| case.effect = Effect::Safe),
        answers("Behind a gateway that resends", behind_a_gateway()),
        answers("`ietf`", ServerProfile::ietf()),
        answers("`plain_put`", ServerProfile::plain_put()),
        answers("`unkeyed`", ServerProfile::unkeyed()),
        faults("`unkeyed` without an answer", ServerProfile::unkeyed()),
        answers("`stripe`", ServerProfile::stripe()),
        answers("`paypal`", ServerProfile::paypal()),
        answers("`adyen`", ServerProfile::adyen()),
        answers("`square`", ServerProfile::square()),
        answers("`google_aip155`", ServerProfile::google_aip155()),
        answers("`matrix`", ServerProfile::matrix()),
        answers("`stripe`: `idempotency_error`", ServerProfile::stripe())
            .saying(r#"{"error":{"type":"idempotency_error"}}"#),
        answers("`paypal`: the key was used", ServerProfile::paypal())
            .saying(r#"{"name":"DUPLICATE_REQUEST_ID"}"#),
        answers("`adyen`: `transient-error: true`", ServerProfile::adyen())
            .with("transient-error", "true"),
        answers("`adyen`: error 704", ServerProfile::adyen()).saying(r#"{"errorCode":"704"}"#),
        answers(
            "`square`: `IDEMPOTENCY_KEY_REUSED`",
            ServerProfile::square(),
        )
        .saying(r#"{"errors":[{"code":"IDEMPOTENCY_KEY_REUSED"}]}"#),
    ];
    full.into_iter()
        .chain(differing.into_iter().map(Scenario::only_what_differs))
        .collect()
}

const KEY_USED: &str = r#"{"title":"Idempotency-Key is already used"}"#;

fn replaying() -> ServerProfile {
    ServerProfile {
        replays_success: true,
        ..ServerProfile::standard()
    }
}

fn by_token() -> ServerProfile {
    ServerProfile {
        key_scope: KeyScope::Token,
        ..ServerProfile::standard()
    }
}

fn behind_a_gateway() -> ServerProfile {
    ServerProfile {
        gateway_may_resend: true,
        ..ServerProfile::standard()
    }
}
