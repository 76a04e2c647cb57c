//! The life that the disk is attacked in: small, and everything happens in it once.

use std::time::Duration;

use submit_once::{
    Effect, Header, OutboxError, Resolution, SignOut, Submission, SubmissionId, SubmissionState,
};

use super::app::{ACCOUNT, App};
use super::server::Note;

const SECOND: Duration = Duration::from_secs(1);

/// The parts of the life, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// A new file is made and closed.
    Create,
    Accept,
    Send,
    Decide,
    Gather,
    Account,
    Keep,
    /// A file that a killed process left is opened and closed.
    Reopen,
}

impl Stage {
    pub const ALL: [Self; 8] = [
        Self::Create,
        Self::Accept,
        Self::Send,
        Self::Decide,
        Self::Gather,
        Self::Account,
        Self::Keep,
        Self::Reopen,
    ];

    /// What it is about is the opening itself.
    pub fn opens(self) -> bool {
        matches!(self, Self::Create | Self::Reopen)
    }

    /// It ends with a kill, so that the next finds a log.
    pub fn is_killed(self) -> bool {
        self == Self::Keep
    }

    /// Plays the part. The app has its outbox open, unless this opens it.
    pub async fn play(self, app: &App) {
        match self {
            Self::Create | Self::Reopen => {
                app.open();
                app.list();
            }
            Self::Accept => accept(app),
            Self::Send => send(app).await,
            Self::Decide => decide(app).await,
            Self::Gather => gather(app).await,
            Self::Account => account(app).await,
            Self::Keep => keep(app),
        }
        if !self.is_killed() {
            app.close();
        }
    }
}

/// The same ID at every run.
pub fn id(name: &str) -> SubmissionId {
    SubmissionId::derived(None, "life", name)
}

/// What is submitted, by name. One more has an ID from a slot.
pub const NAMES: [&str; 19] = [
    "big",
    "first",
    "second",
    "lost",
    "refused",
    "busy",
    "cancelled",
    "old",
    "new",
    "happened",
    "given up",
    "anns first",
    "anns second",
    "last",
    "last big",
    // In files of older versions.
    "golden waiting",
    "golden doubt",
    "golden settled",
    "golden cancelled",
];

pub fn submission(name: &str) -> Submission {
    let id = id(name);
    match name {
        "big" | "last big" => order("orders", id).bytes("text/plain", "b".repeat(2_000)),
        "first" | "second" => order("orders", id).lane("till"),
        "lost" | "refused" | "busy" => order(name, id),
        "old" | "new" => Submission::new(id, "PUT", &format!("/drafts/{id}"))
            .json("{}")
            .effect(Effect::Overwrite)
            .replaces("draft"),
        "happened" | "given up" => order("unkeyed", id).effect(Effect::Unkeyed),
        "anns first" | "anns second" => order("orders", id).account(ACCOUNT),
        _ => order("orders", id),
    }
}

/// A submission of the kind that the server knows by the first part of its path.
pub fn order(kind: &str, id: SubmissionId) -> Submission {
    Submission::post(id, &format!("/{kind}/{id}")).json(format!(r#"{{"order":"{id}"}}"#))
}

fn accept(app: &App) {
    app.begin("draft");
    if let Some(id) = app.begin("form") {
        app.submit(order("orders", id));
        // A double tap.
        app.submit(order("orders", id));
    }
    for name in ["big", "first", "second"] {
        app.submit(submission(name));
    }
    app.append("r1");
    app.list();
}

async fn send(app: &App) {
    for name in ["lost", "refused", "busy"] {
        app.submit(submission(name));
    }
    app.deliver(90 * SECOND).await;
    for name in ["big", "second", "lost", "refused", "busy"] {
        app.read(id(name));
    }
}

async fn decide(app: &App) {
    app.submit(submission("cancelled"));
    if app.read(id("cancelled")).is_some() {
        app.call(|outbox| outbox.cancel(id("cancelled")));
        app.read(id("cancelled"));
    }
    for name in ["old", "new", "happened", "given up"] {
        app.submit(submission(name));
    }
    app.deliver(20 * SECOND).await;
    let decisions = [
        ("happened", Resolution::ItHappened { result: None }),
        ("given up", Resolution::GiveUp),
    ];
    for (name, decision) in decisions {
        if let Some(one) = app.read(id(name))
            && matches!(one.state, SubmissionState::Held { .. })
        {
            app.call(|outbox| outbox.resolve(one.id, one.revision, decision));
        }
    }
    app.list();
}

async fn gather(app: &App) {
    app.append("r2");
    if let Some(batch) = app.batch() {
        app.call(|_| batch.flush());
    }
    app.append("r3");
    app.run("m1", false);
    app.run("m2", true);
    app.deliver(40 * SECOND).await;
    app.list();
}

/// Signs the account in, with its credentials.
pub fn sign_in(app: &App) {
    app.call(|outbox| outbox.sign_in(ACCOUNT.to_owned()));
    let token = Header {
        name: "authorization".to_owned(),
        value: "anns".to_owned(),
    };
    app.call(|outbox| {
        match outbox.supply_credentials(ACCOUNT.to_owned(), vec![token], None) {
            // It could not be signed in.
            Err(OutboxError::NotSignedIn { .. }) if app.is_faulty() => Ok(()),
            supplied => supplied,
        }
    });
}

async fn account(app: &App) {
    app.submit(submission("anns first"));
    sign_in(app);
    app.deliver(5 * SECOND).await;
    app.submit(submission("anns second"));
    app.log.add(Note::Purging);
    app.call(|outbox| outbox.sign_out(SignOut::Purge));
    app.list();
}

fn keep(app: &App) {
    while app.call(|outbox| outbox.retain()) == Some(true) {}
    app.log.add(Note::Discarding);
    app.call(|outbox| outbox.discard("draft".to_owned()));
    for name in ["last", "last big"] {
        app.submit(submission(name));
    }
    app.list();
}
