//! Closing a store that handles and views share.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use etui::contacts::Card;
use etui::{Error, Store};
use tempfile::TempDir;

fn card(uid: &str) -> Card {
    let text = format!("BEGIN:VCARD\r\nVERSION:4.0\r\nUID:{uid}\r\nFN:Ada {uid}\r\nEND:VCARD\r\n");
    Card::parse(text).unwrap()
}

#[test]
fn what_uses_a_closed_store_is_told() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("personal.etui");
    let store = Store::open(&path).unwrap();
    let contacts = store.contacts().unwrap();
    contacts.save(&card("1")).unwrap();
    let mut view = contacts.view(&"*".parse().unwrap()).unwrap();
    store.close().unwrap();
    // Nothing of this process has it open: one plain file is left.
    let left = std::fs::read_dir(dir.path()).unwrap();
    let left: Vec<_> = left.map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left, ["personal.etui"]);

    let closed = |error: Option<Error>| matches!(error, Some(Error::Closed(p)) if p == path);
    assert!(closed(contacts.get("1").err()));
    assert!(closed(contacts.count().err()));
    assert!(closed(contacts.save(&card("2")).err()));
    assert!(closed(contacts.remove("1").err()));
    assert!(closed(contacts.clone().view(&"*".parse().unwrap()).err()));
    assert!(closed(view.changes().err()));
    assert!(closed(view.wait(None).err()));
    drop(view);
    assert_eq!(
        Store::open(&path)
            .unwrap()
            .contacts()
            .unwrap()
            .count()
            .unwrap(),
        1
    );
}

#[test]
fn a_view_that_waits_learns_that_the_store_is_closed() {
    let dir = TempDir::new().unwrap();
    let store = Store::open(dir.path().join("personal.etui")).unwrap();
    let view = store.contacts().unwrap().view(&"*".parse().unwrap());
    let mut view = view.unwrap();
    let (send, begun) = mpsc::channel();
    let waiting = thread::spawn(move || {
        send.send(()).unwrap();
        view.wait(None)
    });
    begun.recv().unwrap();
    store.close().unwrap();
    assert!(matches!(waiting.join().unwrap(), Err(Error::Closed(_))));
}

#[test]
fn a_dropped_store_stays_open_for_its_handles() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("personal.etui");
    let contacts = Store::open(&path).unwrap().contacts().unwrap();
    contacts.save(&card("1")).unwrap();
    assert_eq!(contacts.count().unwrap(), 1);
    drop(contacts);
    assert!(!dir.path().join("personal.etui-wal").exists());
}

/// Threads save in groups while the store is closed: what was acknowledged is in the file, and nothing else.
#[test]
fn saves_at_the_moment_of_closing_are_whole() {
    for round in 0..20 {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("personal.etui");
        let store = Store::open(&path).unwrap();
        let contacts = store.contacts().unwrap();
        let saved = AtomicUsize::new(0);
        thread::scope(|scope| {
            for thread in 0..4 {
                let (contacts, saved) = (contacts.clone(), &saved);
                scope.spawn(move || {
                    for n in 0.. {
                        match contacts.save(&card(&format!("{thread}-{n}"))) {
                            Ok(_) => saved.fetch_add(1, Ordering::SeqCst),
                            Err(Error::Closed(_)) => return,
                            Err(e) => panic!("{e}"),
                        };
                    }
                });
            }
            while saved.load(Ordering::SeqCst) < round {
                thread::yield_now();
            }
            store.close().unwrap();
        });
        let again = Store::open(&path).unwrap();
        let count = again.contacts().unwrap().count().unwrap();
        assert_eq!(count, saved.into_inner() as u64);
        assert!(again.check().unwrap().is_clean());
    }
}
