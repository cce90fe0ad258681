//! Random writes match a simple model, and clients that follow only the pages of changes end with
//! the listing.
//!
//! `ETUI_TEST_SEED` sets the seed. A failure prints it.

use std::collections::BTreeMap;

use etui::contacts::Contacts;
use etui::resource::{ListedResource, ResourceChanges, ResourceCondition, ResourceTag};
use etui::{Durability, Error, Store, SyncToken};
use etui_testkit::rng::SplitMix64;

use super::put;
use crate::support::{card, clean, directory, german, vcard};

const NAMES: [&str; 5] = ["a.vcf", "b.vcf", "c d.vcf", "100%.vcf", "e"];
const UIDS: [&str; 6] = ["1", "2", "3", "4", "5", "6"];

/// A record of the model.
#[derive(Debug, Clone)]
struct Modelled {
    id: i64,
    /// `None`: another record took its name over, and it has another one that is not modelled.
    name: Option<String>,
    text: Option<String>,
}

/// The records of an address book by UID; a removed one has no text.
#[derive(Debug, Clone, Default)]
struct Model(BTreeMap<&'static str, Modelled>);

impl Model {
    fn named(&self, name: &str) -> Option<&'static str> {
        let mut all = self.0.iter();
        let found = all.find(|(_, record)| record.name.as_deref() == Some(name));
        found.map(|(uid, _)| *uid)
    }

    fn live(&self, uid: &str) -> Option<&Modelled> {
        self.0.get(uid).filter(|record| record.text.is_some())
    }

    /// Returns the expected result of a put: `Err` is the name of the resource that has the UID.
    fn expect_put(&self, name: &str, uid: &str) -> Result<(), String> {
        match self.named(name) {
            Some(there) if there != uid && self.live(there).is_some() => Err(name.to_owned()),
            Some(there) if there == uid => Ok(()),
            _ => match self.live(uid) {
                Some(live) => Err(live.name.clone().unwrap_or_default()),
                None => Ok(()),
            },
        }
    }

    fn give_name(&mut self, uid: &str, name: &str) {
        if let Some(former) = self.named(name)
            && former != uid
        {
            self.0.get_mut(former).unwrap().name = None;
        }
        self.0.get_mut(uid).unwrap().name = Some(name.to_owned());
    }
}

/// A client that knows nothing but pages of changes.
#[derive(Default)]
struct Client {
    token: Option<SyncToken>,
    known: BTreeMap<String, ResourceTag>,
    /// False while its listing goes on.
    is_complete: bool,
}

impl Client {
    fn follow(&mut self, contacts: &Contacts, limit: Option<u64>) {
        match contacts
            .resource_changes(self.token.as_ref(), limit)
            .unwrap()
        {
            ResourceChanges::Since {
                changes,
                token,
                is_complete,
            } => {
                assert!(limit.is_none_or(|limit| changes.len() as u64 <= limit));
                for change in changes {
                    match change.tag {
                        Some(tag) => self.known.insert(change.name, tag),
                        None => self.known.remove(&change.name),
                    };
                }
                // A token goes over the wire.
                self.token = Some(token.to_string().parse().unwrap());
                self.is_complete = is_complete;
            }
            ResourceChanges::Resynchronise => *self = Self::default(),
        }
    }
}

fn listing(contacts: &Contacts) -> BTreeMap<String, ResourceTag> {
    let mut all = BTreeMap::new();
    let visit = |entry: ListedResource<'_>| {
        assert_eq!(all.insert(entry.name.into_owned(), entry.tag), None);
        Ok(())
    };
    contacts.for_each_resource(visit).unwrap();
    all
}

/// One random write, on the store and on the model.
fn write(contacts: &Contacts, model: &mut Model, rng: &mut SplitMix64, version: u32) {
    let uid = UIDS[rng.below(UIDS.len() as u32) as usize];
    let text = vcard(uid, &format!("Version {version}"));
    // A name of the pool, or that of some record, which may be computed.
    let own = model.0.values().nth(rng.below(6) as usize);
    let name = match (rng.below(3), own.and_then(|record| record.name.clone())) {
        (0, Some(name)) => name,
        _ => NAMES[rng.below(NAMES.len() as u32) as usize].to_owned(),
    };
    match rng.below(12) {
        0..5 => {
            let expected = model.expect_put(&name, uid);
            match (put(contacts, &name, &text), expected) {
                (Ok(saved), Ok(())) => {
                    let id = saved.id.0;
                    let record = model.0.entry(uid).or_insert(Modelled {
                        id,
                        name: None,
                        text: None,
                    });
                    assert_eq!(record.id, id);
                    record.text = Some(text);
                    model.give_name(uid, &name);
                }
                (Err(Error::UidTaken { name: taken, .. }), Err(expected)) => {
                    assert!(expected.is_empty() || taken == expected);
                }
                (saved, expected) => panic!("{saved:?}, not {expected:?}: {uid} as {name}"),
            }
        }
        5 | 6 => {
            let saved = contacts
                .save(&card(uid, &format!("Version {version}")))
                .unwrap();
            let record = model.0.entry(uid).or_insert(Modelled {
                id: saved.id.0,
                name: Some(format!("etui-{}.vcf", saved.id)),
                text: None,
            });
            record.text = Some(text);
        }
        7 => {
            let removed = contacts.remove(uid);
            assert_eq!(removed.is_ok(), model.live(uid).is_some());
            model.0.entry(uid).and_modify(|record| record.text = None);
        }
        8 => {
            let there = model.named(&name).filter(|uid| model.live(uid).is_some());
            let removed = contacts.remove_resource(&name, &ResourceCondition::IfExists);
            // The name of a record that lost its own is not modelled.
            assert!(removed.is_ok() == there.is_some() || there.is_none());
            match (there, removed) {
                (Some(uid), _) => model.0.get_mut(uid).unwrap().text = None,
                (None, Ok(())) => panic!("{name} was not there"),
                (None, Err(_)) => {}
            }
        }
        9 => {
            // A removed one comes back; an edited one has some text that it had before.
            if contacts.restore(uid).is_ok() {
                let text = contacts.get(uid).unwrap().map(|contact| contact.text);
                let text = text.map(|text| String::from_utf8(text).unwrap());
                model.0.get_mut(uid).unwrap().text = text;
            }
        }
        _ => {
            let Some(from) = model.live(uid).and_then(|record| record.name.clone()) else {
                return;
            };
            let overwrite = rng.chance(500);
            let there = model.named(&name).filter(|uid| model.live(uid).is_some());
            let always = ResourceCondition::Always;
            let moved = contacts.move_resource(&from, &always, contacts, &name, overwrite);
            match there {
                Some(other) if other != uid => {
                    let is_expected = match overwrite {
                        true => matches!(moved, Err(Error::UidTaken { .. })),
                        false => matches!(moved, Err(Error::ConditionFailed { .. })),
                    };
                    assert!(is_expected, "{moved:?}");
                }
                _ => {
                    moved.unwrap();
                    model.give_name(uid, &name);
                }
            }
        }
    }
}

fn compare(contacts: &Contacts, model: &Model) {
    let all = listing(contacts);
    let live = model.0.values().filter(|record| record.text.is_some());
    assert_eq!(all.len(), live.clone().count());
    for record in live {
        let found = match &record.name {
            Some(name) => contacts.resource(name).unwrap(),
            None => contacts.resource(etui::RecordId(record.id)).unwrap(),
        };
        let found = found.unwrap_or_else(|| panic!("{record:?} is missing in {all:?}"));
        assert_eq!(found.id.0, record.id);
        assert_eq!(
            Some(found.bytes),
            record.text.clone().map(String::into_bytes)
        );
        assert_eq!(all.get(&found.name), Some(&found.tag));
    }
}

#[test]
fn clients_that_follow_the_changes_end_with_the_listing() {
    let seed = match std::env::var("ETUI_TEST_SEED") {
        Ok(seed) => seed.parse().expect("ETUI_TEST_SEED is a number"),
        Err(_) => 7,
    };
    let rounds = if std::env::var_os("ETUI_TEST_LONG").is_some() {
        400
    } else {
        12
    };
    for seed in seed..seed + rounds {
        println!("seed {seed}");
        let mut rng = SplitMix64::new(seed);
        let (_dir, path) = directory();
        let mut options = german();
        options.durability = Durability::Deferred;
        let store = Store::open_with(&path, &options).unwrap();
        let contacts = store.contacts().unwrap();
        let other = store
            .collections::<etui::contacts::Card>()
            .create("Other")
            .unwrap();
        let mut model = Model::default();
        let mut clients: Vec<Client> = (0..4).map(|_| Client::default()).collect();
        for version in 0..120 {
            write(&contacts, &mut model, &mut rng, version);
            if rng.chance(300) {
                other.save(&card("other", &format!("{version}"))).unwrap();
            }
            let limit = match rng.below(4) {
                0 => None,
                limit => Some(limit.into()),
            };
            let client = rng.below(8) as usize;
            if let Some(client) = clients.get_mut(client) {
                client.follow(&contacts, limit);
                if client.is_complete {
                    assert_eq!(client.known, listing(&contacts), "seed {seed}");
                }
            }
            if version % 10 == 0 {
                compare(&contacts, &model);
            }
        }
        compare(&contacts, &model);
        let token = contacts.collection_token().unwrap();
        for client in &mut clients {
            for _ in 0..500 {
                client.follow(&contacts, Some(1));
                if client.is_complete {
                    break;
                }
            }
            assert!(client.is_complete);
            assert_eq!(client.known, listing(&contacts), "seed {seed}");
            assert_eq!(client.token, Some(token));
        }
        clean(&store);
    }
}
