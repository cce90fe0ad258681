//! The write-ahead log stays bounded, also while readers overlap without a gap.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use etui::contacts::Card;
use etui::{Durability, Options, Store};
use etui_testkit::people::People;

#[test]
fn readers_who_never_pause_do_not_make_the_log_grow() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("personal.etui");
    let mut options = Options::default();
    options.durability = Durability::Deferred;
    let store = Store::open_with(&path, &options).unwrap();
    let contacts = store.contacts().unwrap();
    let done = AtomicBool::new(false);
    let largest = std::thread::scope(|scope| {
        scope.spawn(|| {
            // There is always a snapshot older than the latest change.
            let mut before = store.snapshot().unwrap();
            while !done.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(2));
                let next = store.snapshot().unwrap();
                next.contacts().unwrap().count().unwrap();
                before = next;
            }
            drop(before);
        });
        let log = dir.path().join("personal.etui-wal");
        let mut largest = 0;
        for (n, text) in People::new(4).take(8_000).enumerate() {
            contacts.save(&Card::parse(text).unwrap()).unwrap();
            if n % 64 == 0 {
                largest = largest.max(std::fs::metadata(&log).unwrap().len());
            }
        }
        done.store(true, Ordering::Relaxed);
        largest
    });
    println!("the log had {largest} bytes at the most");
    // 41 to 50 MB with forced restarts; without them 169 MB.
    assert!(largest < 80 << 20, "the log grew to {largest} bytes");
    assert_eq!(contacts.count().unwrap(), 8_000);
}
