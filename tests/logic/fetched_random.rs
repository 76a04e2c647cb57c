//! Random fetches by two processes, with random answers, changes at the server and kills, against a plain
//! reading of what succeeded.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use submit_once::{Outbox, Submission, SubmissionState, WireAnswer, WireRequest};

use super::fetched::{current, get, plays, tagged, text, unchanged};
use crate::common::Place;
use crate::common::sim::{Play, World, drain, lost, simulate, status};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Luck {
    /// The server answers as it should.
    Fine,
    /// It answers, and the answer is lost.
    Lost,
    Refused,
    Failing,
    /// It is cut, each time that it is asked for.
    Cut,
    /// It has no tags.
    Untagged,
}

#[derive(Debug, Clone, Copy)]
enum Deed {
    Fetch(Luck),
    /// Several are accepted before the last of them goes.
    Burst(u32),
    /// Another request under the same key.
    FetchOther,
    Changes,
    /// The process ends with a fetch on the wire.
    Killed,
    /// All of what is settled goes.
    Retain,
}

fn deeds() -> impl Strategy<Value = Vec<(usize, Deed)>> {
    let luck = prop_oneof![
        6 => Just(Luck::Fine),
        1 => Just(Luck::Lost),
        1 => Just(Luck::Refused),
        1 => Just(Luck::Failing),
        1 => Just(Luck::Cut),
        1 => Just(Luck::Untagged),
    ];
    let deed = prop_oneof![
        6 => luck.prop_map(Deed::Fetch),
        1 => (2..4_u32).prop_map(Deed::Burst),
        1 => Just(Deed::FetchOther),
        2 => Just(Deed::Changes),
        1 => Just(Deed::Killed),
        1 => Just(Deed::Retain),
    ];
    prop::collection::vec((0..2_usize, deed), 5..30)
}

/// What a server with this version answers.
fn serve(version: u32, luck: Luck, request: &WireRequest) -> Play {
    let tag = format!("\"{version}\"");
    let body = format!("{} {version}", request.url);
    let asks = |name: &str| {
        request
            .headers
            .iter()
            .any(|header| header.name == name && header.value == tag)
    };
    match luck {
        Luck::Lost => lost(),
        Luck::Refused => status(404),
        Luck::Failing => status(500),
        Luck::Cut => plays(WireAnswer {
            complete: false,
            ..tagged(200, &body, &tag)
        }),
        Luck::Untagged => plays(crate::common::sim::answer(200, &body)),
        Luck::Fine if asks("if-none-match") => unchanged(),
        Luck::Fine => plays(tagged(200, &body, &tag)),
    }
}

struct Story {
    world: World,
    place: Place,
    outboxes: [Arc<Outbox>; 2],
    version: Arc<AtomicU32>,
    asked: u32,
    /// What must be current.
    model: Option<String>,
    unsettled: Vec<Submission>,
}

impl Story {
    fn new(world: World) -> Self {
        let place = Place::new();
        let outboxes = [world.open_apart(&place), world.open_apart(&place)];
        Self {
            world,
            place,
            outboxes,
            version: Arc::default(),
            asked: 0,
            model: None,
            unsettled: Vec::new(),
        }
    }

    fn luck(&self, luck: Luck) {
        let version = Arc::clone(&self.version);
        self.world
            .network
            .always(move |request| serve(version.load(Ordering::SeqCst), luck, request));
    }

    fn submit(&mut self, who: usize, change: impl Fn(&mut Submission)) {
        self.asked += 1;
        let mut submission = get(&self.outboxes[who], self.asked);
        change(&mut submission);
        self.outboxes[who].submit(submission.clone()).unwrap();
        self.unsettled.push(submission);
    }

    /// Reads what has ended, in the order in which it was accepted.
    fn read(&mut self, who: usize) {
        let version = self.version.load(Ordering::SeqCst);
        let outbox = &self.outboxes[who];
        self.unsettled.retain(|submission| {
            let snapshot = outbox.snapshot(submission.id).unwrap();
            if !snapshot.state.is_final() {
                return true;
            }
            let outcome = snapshot.outcome.unwrap();
            if snapshot.state == SubmissionState::Succeeded && !outcome.result_missing {
                let path = &submission.url;
                let now = format!("https://api.example.com{path} {version}");
                match outcome.status {
                    Some(200) => self.model = Some(now),
                    // It is only asked by what stands, and is right.
                    Some(304) => assert_eq!(self.model.as_ref(), Some(&now)),
                    other => panic!("{other:?}"),
                }
            }
            false
        });
    }

    fn check_end(&self) {
        let version = self.version.load(Ordering::SeqCst);
        let now = format!("https://api.example.com/config {version}");
        assert_eq!(text(&self.outboxes[0]), Some(now));
        assert!(self.unsettled.is_empty());
        assert!(current(&self.outboxes[1]).is_some());
    }

    async fn deed(&mut self, who: usize, deed: Deed) {
        match deed {
            Deed::Fetch(luck) => {
                self.luck(luck);
                self.submit(who, |_| {});
                let budget = submit_once::DrainBudget::of(Duration::from_secs(30));
                self.outboxes[who].drain(budget).await.unwrap();
            }
            Deed::Burst(count) => {
                self.luck(Luck::Fine);
                for n in 0..count {
                    self.submit((who + n as usize) % 2, |_| {});
                }
                drain(&self.outboxes[who]).await;
            }
            Deed::FetchOther => {
                self.luck(Luck::Fine);
                self.submit(who, |other| other.url = "/other".to_owned());
                drain(&self.outboxes[who]).await;
            }
            Deed::Changes => drop(self.version.fetch_add(1, Ordering::SeqCst)),
            Deed::Killed => {
                self.world.network.always(|_| Play::Silence);
                self.submit(who, |_| {});
                self.outboxes[who].start().unwrap();
                self.world.pass(Duration::from_millis(100)).await;
                self.outboxes[who].close();
                self.luck(Luck::Fine);
                self.outboxes[who] = self.world.open_apart(&self.place);
            }
            Deed::Retain => while self.outboxes[who].retain().unwrap() {},
        }
        self.read(who);
        for outbox in &self.outboxes {
            assert_eq!(text(outbox), self.model, "after {deed:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    /// The value is that of the newest that succeeded, and what a 304 says of it is true.
    #[test]
    fn the_value_is_the_newest_that_succeeded(deeds in deeds(), seed in any::<u64>()) {
        simulate(seed, |world| async move {
            let mut story = Story::new(world);
            for (who, deed) in deeds {
                story.deed(who, deed).await;
            }
            // In the end all that waits has its turn, and what is current is what the server has.
            story.luck(Luck::Fine);
            story.submit(0, |_| {});
            drain(&story.outboxes[0]).await;
            story.read(0);
            story.check_end();
        });
    }
}
