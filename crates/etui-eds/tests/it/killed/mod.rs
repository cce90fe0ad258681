//! The service is killed while clients write, and the bus starts it again: nothing acknowledged is
//! missing, and clients reconnect.
//!
//! ```text
//! ETUI_KILLS=20   number of kills (8; 100 with ETUI_TEST_LONG=1)
//! ```
//!
//! Two clients write to one address book, one to a calendar; a client follows each of the two by a
//! view. All reconnect as Evolution Data Server's client library lets programs do: a call without
//! an answer, or the loss of the bus name, is the end of the opened object; the source is opened again.

mod follower;
mod link;
mod writer;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use etui::Store;
use etui_testkit::rng::SplitMix64;
use etui_testkit::wait::{wait_for, wait_until};
use follower::Follower;
use link::{BOOK, CALENDAR, Link, SourceKind};
use rustix::process::{Pid, Signal, kill_process};
use writer::{Writer, WriterCounts};

use crate::support::Desktop;

/// Returns the number of kills.
fn kills() -> u32 {
    match std::env::var("ETUI_KILLS") {
        Ok(kills) => kills.parse().expect("ETUI_KILLS is a number"),
        Err(_) if std::env::var_os("ETUI_TEST_LONG").is_some() => 100,
        Err(_) => 8,
    }
}

#[test]
fn nothing_acknowledged_is_missing_after_kills() {
    let Some(desktop) = zbus::block_on(Desktop::start()) else {
        return;
    };
    let stop = Arc::new(AtomicBool::new(false));
    let address = desktop.bus.address();
    let seed = u64::from(std::process::id());
    println!("seed {seed}");
    let writers: Vec<(Arc<WriterCounts>, _)> = [(&BOOK, "ann"), (&BOOK, "bob"), (&CALENDAR, "cy")]
        .into_iter()
        .zip(0..)
        .map(|((kind, name), number)| {
            let counts = Arc::new(WriterCounts::default());
            let (shared, stop, address) = (counts.clone(), stop.clone(), address.to_owned());
            let rng = SplitMix64::stream(seed, number);
            let write = async move |link| Writer::new(link, name, rng, shared).run(&stop).await;
            let thread = thread::spawn(move || {
                zbus::block_on(async { write(Link::open(&address, kind).await).await });
            });
            (counts, thread)
        })
        .collect();
    let followers = [&BOOK, &CALENDAR].map(|kind| Follower::start(address, kind));

    let started = Instant::now();
    let mut rng = SplitMix64::stream(seed, 99);
    let mut killed = Vec::new();
    for round in 0..kills() {
        // Every third kill comes while the service starts; before the others, everyone has
        // reconnected and each writer got an answer.
        if round % 3 != 2 {
            let acknowledged = |counts: &WriterCounts| counts.acknowledged.load(Ordering::Acquire);
            let before: Vec<u64> = writers.iter().map(|(c, _)| acknowledged(c)).collect();
            wait_until("every writer got an answer", || {
                let now = writers.iter().map(|(counts, _)| acknowledged(counts));
                assert!(writers.iter().all(|(_, thread)| !thread.is_finished()));
                now.zip(&before).all(|(now, before)| now > *before)
            });
            wait_until("both followers have a view", || {
                followers.iter().all(Follower::is_following)
            });
        }
        // At a random moment, not after something.
        thread::sleep(Duration::from_millis(u64::from(rng.below(80))));
        let process = wait_for("the service is there", || {
            let process = zbus::block_on(desktop.client.service_process());
            process.filter(|process| killed.last() != Some(process))
        });
        kill_process(Pid::from_raw(process).unwrap(), Signal::KILL).unwrap();
        killed.push(process);
    }
    let elapsed = started.elapsed();
    stop.store(true, Ordering::Release);
    let (mut acknowledged, mut lost, mut landed) = (0, 0, 0);
    for (counts, thread) in writers {
        thread.join().unwrap();
        acknowledged += counts.acknowledged.load(Ordering::Acquire);
        lost += counts.lost.load(Ordering::Acquire);
        landed += counts.landed.load(Ordering::Acquire);
    }

    let contents = [&BOOK, &CALENDAR].map(|kind| stored(address, kind));
    for (follower, (kind, stored)) in followers.into_iter().zip(&contents) {
        assert!(
            stored.len() > 3,
            "{}: {} records",
            kind.interface,
            stored.len()
        );
        wait_until("a follower has the content of the store", || {
            follower.held().values().eq(stored.iter())
        });
        let opened = follower.join();
        assert!(
            opened > kills() / 3,
            "a follower reconnected {opened} times"
        );
    }
    let report = Store::open(desktop.store()).unwrap().check().unwrap();
    assert!(report.is_clean(), "{report:?}");
    println!(
        "{} kills in {elapsed:.0?}: {acknowledged} calls acknowledged, {lost} lost ({landed} of these saved), \
         {} contacts and {} calendar objects at the end",
        killed.len(),
        report.contacts,
        report.entries
    );
    assert!(lost > 0, "no kill interrupted a call");
}

/// Returns what a client lists at the end, sorted by UID.
fn stored(address: &str, kind: &'static SourceKind) -> (&'static SourceKind, Vec<String>) {
    let texts = zbus::block_on(async { Link::open(address, kind).await.list().await.unwrap() });
    (kind, texts.into_values().collect())
}
