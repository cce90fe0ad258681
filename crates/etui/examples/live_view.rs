//! A live view in a thread: owned handles in one struct, and a list that follows every change.
//!
//! `cargo run --example live_view`

use std::error::Error;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use etui::Store;
use etui::contacts::{Card, Contacts, View, ViewChanges};

fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    for line in run(&dir.path().join("personal.etui"))? {
        println!("{line}");
    }
    Ok(())
}

/// A program's state: the store, a handle and a view of it.
struct App {
    view: View,
    contacts: Contacts,
    store: Store,
}

impl App {
    fn open(path: &Path) -> etui::Result<Self> {
        let store = Store::open(path)?;
        let contacts = store.contacts()?;
        Ok(Self {
            view: contacts.view(&"name:ex*".parse()?)?,
            contacts,
            store,
        })
    }
}

/// Returns the lines to print.
fn run(path: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let App {
        mut view,
        contacts,
        store,
    } = App::open(path)?;
    let (send, changes) = mpsc::channel();
    // The view moves to a thread, which sends each change on: to a window, to a socket.
    let follower = thread::spawn(move || -> etui::Result<()> {
        while let Some(found) = view.wait(Some(Duration::from_secs(10)))? {
            if let ViewChanges::Since(all) = found {
                for change in all {
                    let line = format!("{:?} {}", change.kind, change.summary.name);
                    if send.send(line).is_err() {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    });

    // Saves on this thread, or in any other process, reach it.
    let mut lines = Vec::new();
    let mut card = Card::new("Ada Example")?;
    contacts.save(&card)?;
    contacts.save(&Card::new("Bo Other")?)?; // not in the view
    lines.push(changes.recv()?);
    card.set("NOTE", "likes tea")?;
    contacts.save(&card)?;
    lines.push(changes.recv()?);
    drop(changes);
    contacts.remove(card.uid().unwrap_or_default())?;
    follower.join().map_err(|_| "the thread panicked")??;

    // The last owned handle goes, then the store closes.
    drop(contacts);
    store.close()?;
    Ok(lines)
}

#[test]
fn prints_what_it_promises() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(
        run(&dir.path().join("personal.etui")).unwrap(),
        ["Added Ada Example", "Changed Ada Example"]
    );
}
