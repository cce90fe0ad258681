//! Steps, and undoing them: compared with copies of the store's state.

use std::collections::BTreeMap;

use etui::contacts::Card;
use etui::{Condition, Error, Store, UndoEffect, label_step};
use etui_testkit::rng::SplitMix64;

fn card(uid: &str, name: &str) -> Card {
    Card::parse(format!(
        "BEGIN:VCARD\nVERSION:4.0\nUID:{uid}\nFN:{name}\nEND:VCARD\n"
    ))
    .unwrap()
}

fn open() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("s.etui")).unwrap();
    (dir, store)
}

/// All live records of all address books.
fn state(store: &Store) -> BTreeMap<(String, String), Vec<u8>> {
    let mut state = BTreeMap::new();
    for name in store.collections::<Card>().names().unwrap() {
        let book = store.collection::<Card>(&name).unwrap();
        let texts = book.all().unwrap();
        for (id, text) in texts.iter() {
            let uid = book.get(id).unwrap().unwrap().uid;
            state.insert((name.clone(), uid), text.to_vec());
        }
    }
    state
}

/// Random steps of several changes, undone one by one in reverse order, and done again.
#[test]
fn each_state_comes_back() {
    let (_dir, store) = open();
    store.collections::<Card>().create("Work").unwrap();
    let mut rng = SplitMix64::new(26);
    let mut states = vec![state(&store)];
    let first = store.steps().unwrap().len();
    for step in 0..60 {
        let _step = label_step("test", "random");
        // A command removes or restores a collection alone.
        if step % 8 == 7 {
            match step % 16 {
                7 => drop(store.collections::<Card>().remove("Work").unwrap()),
                _ => drop(store.collections::<Card>().restore("Work").unwrap()),
            }
            states.push(state(&store));
            continue;
        }
        for _ in 0..1 + rng.below(6) {
            let books = store.collections::<Card>().names().unwrap();
            let name = &books[rng.below(books.len() as u32) as usize];
            let book = store.collection::<Card>(name).unwrap();
            let uid = format!("u{}", rng.below(12));
            match rng.below(10) {
                0..=4 => {
                    let name = format!("Name {step} {}", rng.below(1000));
                    book.save(&card(&uid, &name)).unwrap();
                }
                5..=6 => drop(book.remove(&uid)),
                7 => drop(book.restore(&uid)),
                8 => {
                    let other = books.iter().find(|other| *other != name);
                    if let Some(other) = other {
                        let other = store.collection::<Card>(other).unwrap();
                        drop(book.move_all_if(&[(uid, Condition::Always)], &other));
                    }
                }
                _ => {
                    book.save(&card(&uid, "Again")).unwrap();
                }
            }
        }
        states.push(state(&store));
    }
    let steps = store.steps().unwrap();
    let made = steps.len() - first;
    assert!(made > 40);
    // A step that changed nothing is none.
    states.dedup();
    let mut undos = Vec::new();
    for _ in 0..made {
        let steps = store.steps().unwrap();
        let next = steps
            .iter()
            .find(|s| !s.is_undo && s.undone_by.is_none())
            .unwrap();
        let report = store.undo_steps(&[next.id]).unwrap();
        let kept = |effect| matches!(effect, UndoEffect::Kept | UndoEffect::TooOld);
        assert!(!report.records.iter().any(|r| kept(r.effect)), "{report:?}");
        undos.extend(report.step);
        assert!(store.check().unwrap().is_clean());
        let now = state(&store);
        let at = states.iter().rposition(|state| *state == now);
        assert!(at.is_some(), "a state that never was: {next:?}");
    }
    assert_eq!(state(&store), states[0]);
    for undo in undos.iter().rev() {
        store.undo_steps(&[*undo]).unwrap();
    }
    assert_eq!(&state(&store), states.last().unwrap());
    assert!(store.check().unwrap().is_clean());
}

#[test]
fn several_steps_are_undone_at_once() {
    let (_dir, store) = open();
    let contacts = store.contacts().unwrap();
    for name in ["A", "B", "C"] {
        contacts.save(&card("a", name)).unwrap();
    }
    let steps = store.steps().unwrap();
    let ids: Vec<i64> = steps.iter().take(2).map(|step| step.id).collect();
    let report = store.undo_steps(&ids).unwrap();
    assert_eq!(
        contacts.get("a").unwrap().unwrap().text,
        card("a", "A").text()
    );
    assert_eq!(report.records.len(), 2);
    store.undo_steps(&[report.step.unwrap()]).unwrap();
    assert_eq!(
        contacts.get("a").unwrap().unwrap().text,
        card("a", "C").text()
    );
    assert!(matches!(store.undo_steps(&[77]), Err(Error::NoStep(77))));
}

/// Steps of several writers at the same time are apart.
#[test]
fn the_steps_of_threads_are_apart() {
    let (_dir, store) = open();
    std::thread::scope(|scope| {
        for who in ["Phone", "Tablet"] {
            let store = &store;
            scope.spawn(move || {
                let _step = label_step(who, "sync");
                let contacts = store.contacts().unwrap();
                for n in 0..50 {
                    contacts.save(&card(&format!("{who}{n}"), who)).unwrap();
                }
            });
        }
    });
    let steps = store.steps().unwrap();
    let of = |who: &str| steps.iter().find(|step| step.who == who).unwrap();
    assert_eq!(
        (steps.len(), of("Phone").changes, of("Tablet").changes),
        (2, 50, 50)
    );
    store.undo_steps(&[of("Phone").id]).unwrap();
    let left = state(&store);
    assert!(left.len() == 50 && left.keys().all(|(_, uid)| uid.starts_with("Tablet")));
}

/// A step that was rolled back is none, and the next ones are not joined to it.
#[test]
fn a_failed_write_is_no_step() {
    let (_dir, store) = open();
    let contacts = store.contacts().unwrap();
    let _step = label_step("test", "");
    let a = card("a", "A");
    let (once, twice) = ((&a, Condition::IfAbsent), (&a, Condition::IfAbsent));
    assert!(contacts.save_many([once, twice]).is_err());
    assert!(store.steps().unwrap().is_empty());
    contacts.save(&a).unwrap();
    assert_eq!(store.steps().unwrap()[0].changes, 1);
}

/// What other programs write with SQL is a step of its own, whoever applies it, and the last one at once.
#[test]
fn sql_writes_are_a_step_of_their_own() {
    let (dir, store) = open();
    let contacts = store.contacts().unwrap();
    contacts.save(&card("a", "A")).unwrap();
    contacts.save(&card("b", "B")).unwrap();
    let sql = |statement: &str| {
        let conn = rusqlite::Connection::open(dir.path().join("s.etui")).unwrap();
        conn.execute(statement, []).unwrap();
    };
    // Applied by a command that does something else.
    sql("DELETE FROM item WHERE uid = 'a'");
    {
        let _step = label_step("etui", "addressbooks rename");
        store
            .collections::<Card>()
            .rename("Contacts", "People")
            .unwrap();
    }
    let steps = store.steps().unwrap();
    let who: Vec<&str> = steps.iter().take(2).map(|step| step.who.as_str()).collect();
    assert_eq!((who, steps.len()), (vec!["etui", "SQL"], 4));
    store.undo_steps(&[steps[0].id]).unwrap();
    assert!(contacts.get("a").unwrap().is_none());
    assert_eq!(store.collections::<Card>().names().unwrap(), ["Contacts"]);
    // Waiting when the last step is asked for.
    sql("DELETE FROM item WHERE uid = 'b'");
    let last = store.steps().unwrap().remove(0);
    assert_eq!((last.who.as_str(), last.changes), ("SQL", 1));
    store.undo_steps(&[last.id]).unwrap();
    assert_eq!(contacts.count().unwrap(), 1);
    // Waiting while another step is undone: it is no part of the undo.
    sql("DELETE FROM item WHERE uid = 'b'");
    let undo = store.undo_steps(&[steps[1].id]).unwrap().step.unwrap();
    assert_eq!(contacts.count().unwrap(), 1);
    let undo = store
        .steps()
        .unwrap()
        .into_iter()
        .find(|step| step.id == undo)
        .unwrap();
    assert_eq!((undo.is_undo, undo.changes), (true, 1));
    store.undo_steps(&[undo.id]).unwrap();
    assert_eq!(contacts.count().unwrap(), 0);
    assert!(store.check().unwrap().is_clean());
}

/// Steps whose records were changed by many later ones: each record is judged by its own changes.
#[test]
fn a_step_below_later_ones_keeps_what_they_changed() {
    let (_dir, store) = open();
    let contacts = store.contacts().unwrap();
    let cards = |name: &str| -> Vec<Card> {
        let cards = (0..50).map(|n| card(&format!("u{n}"), &format!("{name} {n}")));
        cards.collect()
    };
    contacts.save_many(&cards("First")).unwrap();
    contacts.save_many(&cards("Second")).unwrap();
    let second = store.steps().unwrap()[0].id;
    contacts.save_many(&cards("Third")[..20]).unwrap();
    // Changed and changed back: as the second step left it.
    contacts.save_many(&cards("Third")[30..40]).unwrap();
    contacts.save_many(&cards("Second")[30..40]).unwrap();
    contacts.remove("u45").unwrap();
    let report = store.undo_steps(&[second]).unwrap();
    let kept = report
        .records
        .iter()
        .filter(|r| r.effect == UndoEffect::Kept);
    assert_eq!(kept.count(), 21);
    let now = state(&store);
    let count = |name: &str| {
        let has = |text: &&Vec<u8>| String::from_utf8_lossy(text).contains(name);
        now.values().filter(has).count()
    };
    assert_eq!(
        (count("First"), count("Second"), count("Third")),
        (29, 0, 20)
    );
    // A removed collection comes back with the versions that its records had.
    store.collections::<Card>().create("Empty").unwrap();
    let name = "Contacts";
    store.collections::<Card>().remove(name).unwrap();
    let removal = store.steps().unwrap()[0].id;
    let back = store.undo_steps(&[removal]).unwrap();
    assert_eq!(state(&store), now);
    store.undo_steps(&[back.step.unwrap()]).unwrap();
    assert!(state(&store).is_empty());
    assert!(store.check().unwrap().is_clean());
}
