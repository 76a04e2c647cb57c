//! What the searches reach: a model that does nothing breaks nothing.

use std::collections::BTreeSet;

use submit_once_model::{Server, Setting};

use crate::holds::{all, pair};
use crate::search::{holds, visit};

#[test]
fn every_step_is_taken_and_every_state_is_reached() {
    let small = |server| Setting {
        kills: true,
        ..Setting::at(server)
    };
    let settings = [
        Setting {
            late: false,
            ..all(Server::FREEZING)
        },
        Setting {
            late: true,
            ..small(Server::FREEZING)
        },
        Setting {
            renews: true,
            ..small(Server::PER_TOKEN)
        },
        Setting {
            copies: true,
            ..small(Server::LOCKING)
        },
        small(Server::ABORTING),
        small(Server::FORGETTING),
        Setting {
            cancels: true,
            expires: true,
            decisions: true,
            ..small(Server::UNKEYED)
        },
        pair(Server::OVERWRITING),
    ];
    let mut seen = BTreeSet::new();
    for setting in settings {
        let states = visit(setting, |world, steps| {
            for step in steps {
                let text = format!("{step:?}");
                let name = text.split('(').next().unwrap_or_default();
                if !seen.contains(name) {
                    seen.insert(name.to_owned());
                }
            }
            for submission in &world.submissions {
                let text = match submission.visible {
                    submit_once::SubmissionState::Superseded { .. } => "Superseded".to_owned(),
                    state => format!("{state:?}"),
                };
                seen.insert(text);
                for attempt in submission.begun() {
                    seen.insert(format!("{:?}", attempt.task));
                }
            }
        });
        // The searches tell states apart by a hash alone.
        assert_eq!(states, holds("the same", setting), "{setting:?}");
    }
    let expected = BTreeSet::from(EVERYTHING.map(str::to_owned));
    assert_eq!(seen, expected);
}

/// Steps; states of submissions; and what processes do with attempts.
const EVERYTHING: [&str; 56] = [
    "Abort",
    "Accept",
    "Age",
    "Apply",
    "Arrive",
    "Ask",
    "Cancel",
    "CannotConnect",
    "Claim",
    "Copy",
    "Decide",
    "Expire",
    "Fail",
    "Finish",
    "Forget",
    "Freeze",
    "GiveUpWaiting",
    "Intercept",
    "Kill",
    "Lapse",
    "Learn",
    "Look",
    "Lose",
    "Read",
    "Refuse",
    "Renew",
    "Send",
    "Settle",
    "TakeOver",
    "Thaw",
    "Abandoned",
    "Cancelled",
    "Checked",
    "Claimed",
    "Expired",
    "Held { reason: CancelRequested }",
    "Held { reason: ExpiredInDoubt }",
    "Held { reason: OutcomeUnknown }",
    "InFlight",
    "Listening",
    "Nobody",
    "Pending",
    "Read(Applied)",
    "Read(InProgress)",
    "Read(NoConnection)",
    "Read(NotSent)",
    "Read(Nothing)",
    "Read(Refused)",
    "Read(ServerError)",
    "Read(StoredRefusal)",
    "Read(Wait)",
    "Rejected { reason: Configuration }",
    "Rejected { reason: GaveUp }",
    "Sent",
    "Succeeded",
    "Superseded",
];
