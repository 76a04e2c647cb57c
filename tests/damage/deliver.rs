//! What is done with a database once it is open: everything is delivered, with and without decisions,
//! and what left is judged.

use std::sync::Arc;
use std::time::Duration;

use submit_once::{
    DrainBudget, Effect, ListFilter, ListState, Outbox, PageRequest, Resolution, Snapshot,
    SubmissionState,
};

use crate::base::Base;
use crate::common::sim::World;
use crate::judge::Judge;

/// All that is due, and what becomes due by waiting. A damaged database may say no: it is said.
async fn rounds(world: &World, outbox: &Outbox) {
    let budget = || DrainBudget::of(Duration::from_secs(3_600));
    outbox.drain(budget()).await.ok();
    world.pass(Duration::from_secs(120)).await;
    outbox.drain(budget()).await.ok();
}

/// A person says "once more" to everything, whatever the risk.
fn retry_everything(outbox: &Outbox) {
    let held = outbox.list(ListFilter::of(ListState::Held), PageRequest::default());
    for one in held.map(|page| page.snapshots).unwrap_or_default() {
        let retry = Resolution::RetrySameKey {
            accept_second_effect: true,
        };
        outbox.resolve(one.id, one.revision, retry).ok();
    }
}

impl Base {
    /// Delivers all that can be delivered after damage of an unknown kind.
    pub async fn deliver(&self, world: &World, outbox: &Arc<Outbox>) -> Judge {
        let judge = Judge::beside(world, &self.accepted);
        rounds(world, outbox).await;
        self.is_once(&judge);
        self.decide_and_deliver(world, outbox, judge).await
    }

    /// Nothing happened to it: what waited is sent, once, without a decision.
    pub async fn deliver_whole(&self, world: &World, outbox: &Arc<Outbox>) {
        let judge = Judge::beside(world, &self.accepted);
        rounds(world, outbox).await;
        self.is_once(&judge);
        for was in &self.all {
            if was.state == SubmissionState::Pending {
                let now = outbox.snapshot(was.id).unwrap().state;
                assert_eq!(now, SubmissionState::Succeeded, "{}", was.url);
                assert!(judge.sent().contains(&was.id.to_string()), "{}", was.url);
            }
        }
        judge.is_content();
        self.results_are_whole(outbox);
    }

    /// Something was lost: without a decision only what overwrites is sent.
    pub async fn deliver_after_decisions(&self, world: &World, outbox: &Arc<Outbox>) -> Judge {
        let judge = Judge::beside(world, &self.accepted);
        rounds(world, outbox).await;
        for key in judge.sent() {
            let was = self.all.iter().find(|one| one.id.to_string() == key);
            let effect = was.map(|was| was.effect);
            assert_eq!(
                effect,
                Some(Effect::Overwrite),
                "{key}: sent without a decision"
            );
        }
        self.decide_and_deliver(world, outbox, judge).await
    }

    async fn decide_and_deliver(&self, world: &World, outbox: &Outbox, judge: Judge) -> Judge {
        retry_everything(outbox);
        rounds(world, outbox).await;
        judge.is_content();
        self.results_are_whole(outbox);
        judge
    }

    /// Without a decision nothing that was settled is sent again, and nothing twice. What overwrites may
    /// be: where the newer version is lost, the older one counts.
    fn is_once(&self, judge: &Judge) {
        let mut sent = judge.sent();
        let is_settled = |key: &String| {
            let was = self.all.iter().find(|one| one.id.to_string() == *key);
            let final_before = |was: &Snapshot| was.state != SubmissionState::Pending;
            was.is_some_and(|was| final_before(was) && was.effect != Effect::Overwrite)
        };
        let again: Vec<_> = sent.iter().filter(|key| is_settled(key)).collect();
        assert!(again.is_empty(), "settled, and sent again: {again:?}");
        let count = sent.len();
        sent.sort();
        sent.dedup();
        assert_eq!(sent.len(), count, "sent twice without a decision");
    }

    /// A result is given as it was, or not at all.
    fn results_are_whole(&self, outbox: &Outbox) {
        for was in &self.all {
            let old = was
                .outcome
                .as_ref()
                .and_then(|outcome| outcome.body.as_ref());
            let now = outbox.snapshot(was.id).ok().and_then(|now| now.outcome);
            if let (Some(old), Some(now)) = (old, now.and_then(|outcome| outcome.body)) {
                assert_eq!(&now, old, "another result of {}", was.id);
            }
        }
    }
}
