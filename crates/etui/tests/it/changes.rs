//! Changes since any moment, compared with a model.

use std::collections::BTreeMap;

use crate::support::german;
use etui::contacts::Card;
use etui::{ChangeKind, Changes, RecordChange, RecordId, Store, SyncToken};
use etui_testkit::rng::SplitMix64;

fn card(uid: &str, name: &str) -> Card {
    Card::parse(format!(
        "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{uid}\r\nFN:{name}\r\nEND:VCARD\r\n"
    ))
    .unwrap()
}

/// The model of a contact: its id, its latest change, its current and previous text (the number of
/// its name).
#[derive(Debug, Clone, Copy)]
struct Known {
    id: i64,
    changed: i64,
    live: bool,
    text: u32,
    former: Option<u32>,
}

#[derive(Debug, Clone, Default)]
struct Book {
    last: i64,
    contacts: BTreeMap<u32, Known>,
}

impl Book {
    fn save(&mut self, uid: u32, text: u32) {
        let number = self.last + 1;
        let known = self.contacts.entry(uid).or_insert(Known {
            id: number,
            changed: 0,
            live: false,
            text,
            former: None,
        });
        if known.changed != 0 {
            if known.live && known.text == text {
                return;
            }
            known.former = Some(known.text);
        }
        (known.changed, known.live, known.text) = (number, true, text);
        self.last = number;
    }

    fn remove(&mut self, uid: u32) {
        if let Some(known) = self.contacts.get_mut(&uid).filter(|k| k.live) {
            self.last += 1;
            (known.changed, known.live) = (self.last, false);
        }
    }

    fn restore(&mut self, uid: u32) {
        let text = self
            .contacts
            .get(&uid)
            .and_then(|k| if k.live { k.former } else { Some(k.text) });
        if let Some(text) = text {
            self.save(uid, text);
        }
    }

    /// Returns the change from `then` to now.
    fn since(&self, then: &Self) -> Vec<RecordChange> {
        let mut changes = Vec::new();
        for (uid, now) in &self.contacts {
            let before = then.contacts.get(uid);
            let kind = match (before.is_some_and(|b| b.live), now.live) {
                _ if before.is_some_and(|b| b.changed == now.changed) => continue,
                (false, false) => continue,
                (false, true) => ChangeKind::Added,
                (true, false) => ChangeKind::Removed,
                (true, true) => ChangeKind::Changed,
            };
            changes.push(RecordChange {
                seq: now.changed,
                id: RecordId(now.id),
                uid: format!("uid-{uid}"),
                kind,
            });
        }
        changes.sort_by_key(|c| c.seq);
        changes
    }
}

#[test]
fn what_was_changed_since_any_moment() {
    for seed in 0..6 {
        let mut rng = SplitMix64::new(seed);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("personal.etui");
        let mut options = german();
        options.durability = etui::Durability::Deferred;
        let store = Store::open_with(&path, &options).unwrap();
        let contacts = store.contacts().unwrap();
        let mut model = Book::default();
        let mut moments = vec![(store.token().unwrap(), model.clone())];
        for step in 0..120 {
            let uids: Vec<u32> = (0..1 + rng.below(3)).map(|_| rng.below(8)).collect();
            let names: Vec<_> = uids.iter().map(|u| format!("uid-{u}")).collect();
            match rng.below(4) {
                0 | 1 => {
                    // Few texts, so that some saves change nothing.
                    let new: Vec<_> = uids.iter().map(|&u| (u, rng.below(4))).collect();
                    let cards: Vec<_> = new
                        .iter()
                        .map(|(u, t)| card(&format!("uid-{u}"), &format!("Name {t}")))
                        .collect();
                    contacts.save_many(&cards).unwrap();
                    new.into_iter().for_each(|(u, t)| model.save(u, t));
                }
                2 => {
                    contacts.remove_many(&names).unwrap();
                    uids.into_iter().for_each(|u| model.remove(u));
                }
                _ => {
                    contacts.restore_many(&names).unwrap();
                    uids.into_iter().for_each(|u| model.restore(u));
                }
            }
            if rng.chance(50) {
                store.maintenance().merge_index().unwrap();
            }
            let token = store.token().unwrap();
            assert_eq!(token.seq, model.last, "seed {seed}, step {step}");
            moments.push((token, model.clone()));
        }
        for (token, then) in &moments {
            let token: SyncToken = token.to_string().parse().unwrap();
            let expected = Changes::Since(model.since(then));
            assert_eq!(
                contacts.changes_since(&token).unwrap(),
                expected,
                "seed {seed}, {token}"
            );
        }
        let (mut token, _) = moments[0];
        token.seq = model.last + 1;
        assert_eq!(
            contacts.changes_since(&token).unwrap(),
            Changes::Resynchronise
        );
        // Changes of another address book are not reported for this one.
        let (now, _) = moments[moments.len() - 1];
        store
            .collections::<Card>()
            .create("Other")
            .unwrap()
            .save(&card("uid-0", "Other"))
            .unwrap();
        assert_eq!(
            contacts.changes_since(&now).unwrap(),
            Changes::Since(Vec::new())
        );
        let report = store.check().unwrap();
        assert!(report.is_clean(), "{:?}", report.problems);
    }
}
