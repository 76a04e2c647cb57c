//! How far an upload has come: told in few calls, the last of them never lost, and nobody waits for
//! the listener.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use submit_once::{
    ListenerError, Outbox, ProgressListener, Submission, SubmissionId, UploadProgress,
};
use tokio::time::Instant;

use crate::common::Place;
use crate::common::sim::{Play, World, answer, simulate};

/// Writes down what it is told, and when.
#[derive(Default)]
struct Diary {
    told: Mutex<Vec<(Duration, Vec<UploadProgress>)>>,
    began: Mutex<Option<Instant>>,
    throws: AtomicBool,
}

impl ProgressListener for Diary {
    fn progressed(&self, progress: Vec<UploadProgress>) -> Result<(), ListenerError> {
        let began = *self.began.lock().unwrap().get_or_insert_with(Instant::now);
        self.told.lock().unwrap().push((began.elapsed(), progress));
        if self.throws.load(Ordering::SeqCst) {
            Err(ListenerError::Failed)
        } else {
            Ok(())
        }
    }
}

impl Diary {
    fn entries(&self) -> Vec<(Duration, Vec<UploadProgress>)> {
        self.told.lock().unwrap().clone()
    }
}

const TOTAL: u64 = 1_000_000;

fn upload(outbox: &Outbox, slot: &str, bytes: u64) -> SubmissionId {
    let id = outbox.begin(slot.to_owned()).unwrap();
    let body = vec![7; usize::try_from(bytes).unwrap()];
    let upload = Submission::post(id, "/photos").bytes("image/jpeg", body);
    outbox.submit(upload).unwrap().id
}

fn hand_over() -> Play {
    Play::HandOver { confirm: true }
}

async fn soon(world: &World) {
    world.pass(Duration::from_millis(1)).await;
}

#[test]
fn the_latest_of_each_is_told_about_ten_times_a_second_and_the_last_is_not_lost() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = world.open(&place);
        let diary = Arc::new(Diary::default());
        diary.throws.store(true, Ordering::SeqCst);
        outbox
            .set_progress_listener(Some(Arc::clone(&diary) as _))
            .unwrap();
        world.network.play([hand_over(), hand_over()]);
        let (first, second) = (upload(&outbox, "a", TOTAL), upload(&outbox, "b", TOTAL));
        outbox.start().unwrap();
        soon(&world).await;
        let (one, two) = (world.network.take(), world.network.take());
        for n in 1..=1_000 {
            one.progress(n * 1_000);
            two.progress(n * 500);
            soon(&world).await;
        }
        world.pass(Duration::from_secs(1)).await;
        let told = diary.entries();
        assert!((8..=12).contains(&told.len()), "{}", told.len());
        for pair in told.windows(2) {
            assert!(pair[1].0 - pair[0].0 >= Duration::from_millis(100));
        }
        let (_, last) = told.last().unwrap();
        let progress = |id, sent| UploadProgress {
            id,
            sent,
            total: TOTAL,
        };
        assert!(last.contains(&progress(first, TOTAL)), "{last:?}");
        assert!(last.contains(&progress(second, TOTAL / 2)), "{last:?}");
        for (_, entries) in &told {
            assert!(
                entries.len() <= 2,
                "the latest of each, not all: {entries:?}"
            );
        }
        one.answered(answer(201, "{}"));
        two.answered(answer(201, "{}"));
        soon(&world).await;
        assert_eq!(outbox.stats().unwrap().in_flight, 0);
    });
}

#[test]
fn small_bodies_tell_nothing_and_nobody_is_told_after_a_change_of_listeners() {
    let place = Place::new();
    simulate(2, |world| async move {
        let outbox = world.open(&place);
        let (old, new) = (Arc::new(Diary::default()), Arc::new(Diary::default()));
        outbox
            .set_progress_listener(Some(Arc::clone(&old) as _))
            .unwrap();
        world.network.play([hand_over(), hand_over()]);
        upload(&outbox, "small", 65_535);
        upload(&outbox, "large", 65_536);
        outbox.start().unwrap();
        soon(&world).await;
        let (small, large) = (world.network.take(), world.network.take());
        small.progress(65_535);
        world.pass(Duration::from_secs(1)).await;
        assert_eq!(old.entries().len(), 0);
        large.progress(10);
        world.pass(Duration::from_secs(1)).await;
        assert_eq!(old.entries().len(), 1);

        outbox
            .set_progress_listener(Some(Arc::clone(&new) as _))
            .unwrap();
        // More than there is can't have gone.
        large.progress(70_000);
        world.pass(Duration::from_secs(1)).await;
        assert_eq!(old.entries().len(), 1);
        let told = new.entries();
        assert_eq!(told.len(), 1);
        assert_eq!((told[0].1[0].sent, told[0].1[0].total), (65_536, 65_536));

        outbox.set_progress_listener(None).unwrap();
        large.progress(65_536);
        world.pass(Duration::from_secs(1)).await;
        assert_eq!((old.entries().len(), new.entries().len()), (1, 1));
        outbox
            .set_progress_listener(Some(Arc::clone(&new) as _))
            .unwrap();
        outbox.close();
        large.progress(65_536);
        world.pass(Duration::from_secs(1)).await;
        assert_eq!(new.entries().len(), 1);
        assert!(outbox.set_progress_listener(None).is_err());
        assert_eq!(Arc::strong_count(&new), 1, "nothing holds it any more");
        assert_eq!(Arc::strong_count(&old), 1);
    });
}

/// A screen that opens in the middle of an upload shows where it is, whether anybody listens or not.
#[test]
fn a_snapshot_shows_how_far_a_body_has_come_while_it_is_on_the_wire() {
    let place = Place::new();
    simulate(4, |world| async move {
        let (outbox, other) = (world.open(&place), world.open_apart(&place));
        world.network.play([hand_over(), hand_over()]);
        let (large, small) = (
            upload(&outbox, "large", TOTAL),
            upload(&outbox, "small", 10),
        );
        let progress = |outbox: &Outbox, id| outbox.snapshot(id).unwrap().progress;
        assert_eq!(progress(&outbox, large), None, "not on the wire");
        outbox.start().unwrap();
        soon(&world).await;
        let sent = |sent| {
            Some(UploadProgress {
                id: large,
                sent,
                total: TOTAL,
            })
        };
        assert_eq!(progress(&outbox, large), sent(0));
        let (one, two) = (world.network.take(), world.network.take());
        one.progress(7_000);
        two.progress(5);
        assert_eq!(progress(&outbox, large), sent(7_000));
        assert_eq!(progress(&outbox, small), None, "not worth a bar");
        assert_eq!(progress(&other, large), None, "another process");
        let listed = outbox
            .list(submit_once::ListFilter::all(), Default::default())
            .unwrap();
        assert_eq!(listed.snapshots[0].progress, sent(7_000));
        // It begins anew, and so does the bar.
        world.network.play([hand_over()]);
        one.failed(submit_once::Fault::Lost);
        soon(&world).await;
        assert_eq!(progress(&outbox, large), None);
        world.pass(Duration::from_secs(60)).await;
        assert_eq!(progress(&outbox, large), sent(0));
        one.progress(9_000);
        assert_eq!(
            progress(&outbox, large),
            sent(0),
            "of an attempt that is over"
        );
        outbox.suspend().unwrap();
        assert_eq!(progress(&outbox, large), None);
    });
}

#[test]
fn each_handle_of_a_path_has_a_listener_of_its_own() {
    let place = Place::new();
    simulate(3, |world| async move {
        let (first, second) = (world.open(&place), world.open(&place));
        let diaries = [&first, &second].map(|outbox| {
            let diary = Arc::new(Diary::default());
            outbox
                .set_progress_listener(Some(Arc::clone(&diary) as _))
                .unwrap();
            diary
        });
        world.network.play([hand_over()]);
        upload(&first, "a", TOTAL);
        second.start().unwrap();
        soon(&world).await;
        let exchange = world.network.take();
        exchange.progress(10);
        world.pass(Duration::from_secs(1)).await;
        first.close();
        exchange.progress(20);
        world.pass(Duration::from_secs(1)).await;
        assert_eq!(
            diaries.each_ref().map(|diary| diary.entries().len()),
            [1, 2]
        );
        assert_eq!(Arc::strong_count(&diaries[0]), 1);
    });
}
