//! [`Place`]: one of the two sides of a history: a store, or a collection of a server that is asked over HTTP.

use std::collections::BTreeMap;

use etui::Store;
use etui::calendar::CalendarObject;
use etui::contacts::Card;
use etui::resource::{Resource, ResourceCondition, ResourceKey};
use etui::store::CollectionKey;
use etui_sync::SyncKind;

use super::dav::{Dav, values};

/// A kind of records in a history.
pub trait Edited: SyncKind {
    /// The line with the title begins so.
    const TITLE: &'static str;
    /// A property for text.
    const NOTE: &'static str;
    /// The line before which new ones are added.
    const END: &'static str;

    fn new_text(uid: &str, title: &str, note: &str) -> String;
}

impl Edited for Card {
    const TITLE: &'static str = "FN:";
    const NOTE: &'static str = "NOTE";
    const END: &'static str = "END:VCARD";

    fn new_text(uid: &str, title: &str, note: &str) -> String {
        format!(
            "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{uid}\r\nFN:{title}\r\nN:{title};;;;\r\n\
             NOTE;X-A=1:{note}\r\nEND:VCARD\r\n"
        )
    }
}

impl Edited for CalendarObject {
    const TITLE: &'static str = "SUMMARY:";
    const NOTE: &'static str = "DESCRIPTION";
    const END: &'static str = "END:VEVENT";

    fn new_text(uid: &str, title: &str, note: &str) -> String {
        format!(
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//t//EN\r\nBEGIN:VEVENT\r\nUID:{uid}\r\n\
             DTSTAMP:20261101T000000Z\r\nDTSTART:20261124T100000Z\r\nDTEND:20261124T110000Z\r\nSUMMARY:{title}\r\n\
             DESCRIPTION;X-A=1:{note}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
        )
    }
}

/// A side of a history.
pub trait Place {
    /// It keeps what an edit replaces or removes.
    const KEEPS: bool;

    /// The live texts by UID. Panics if a UID is there twice.
    fn texts<R: Edited>(&self) -> BTreeMap<String, String>;

    /// Adds a text whose UID is not there.
    fn add<R: Edited>(&self, uid: &str, text: &str);

    /// Replaces the text with this UID.
    fn change<R: Edited>(&self, uid: &str, text: &str);

    fn remove<R: Edited>(&self, uid: &str);

    /// Every text that it has: live, earlier, removed, and those that lost.
    fn kept_texts<R: Edited>(&self) -> String;

    /// What of a text has to be the same on both sides.
    fn essence<R: Edited>(text: &str) -> String {
        let names = [R::TITLE.trim_end_matches(':'), R::NOTE, "X-MARK", "DTSTART"];
        names
            .map(|name| format!("{name}: {}\n", values(text, name).join(", ")))
            .concat()
    }
}

impl Place for Store {
    const KEEPS: bool = true;

    fn texts<R: Edited>(&self) -> BTreeMap<String, String> {
        texts::<R>(self)
    }

    fn add<R: Edited>(&self, uid: &str, text: &str) {
        let collection = self.collection::<R>(CollectionKey::Default).unwrap();
        // Of one that was removed the name may be another's.
        for n in 0.. {
            let number = if n == 0 {
                String::new()
            } else {
                format!("-{n}")
            };
            let name = format!("{uid}{number}{}", R::EXTENSION);
            let made =
                collection.put_resource(&name, text.as_bytes(), &ResourceCondition::IfAbsent);
            match made {
                Ok(_) => return,
                Err(error) => assert!(n < 100, "{uid}: {error}"),
            }
        }
    }

    fn change<R: Edited>(&self, uid: &str, text: &str) {
        let collection = self.collection::<R>(CollectionKey::Default).unwrap();
        let found = collection.resource(ResourceKey::Uid(uid)).unwrap().unwrap();
        collection
            .put_resource(&found.name, text.as_bytes(), &ResourceCondition::Always)
            .unwrap();
    }

    fn remove<R: Edited>(&self, uid: &str) {
        let collection = self.collection::<R>(CollectionKey::Default).unwrap();
        let found = collection.resource(ResourceKey::Uid(uid)).unwrap().unwrap();
        collection
            .remove_resource(&found.name, &ResourceCondition::Always)
            .unwrap();
    }

    fn kept_texts<R: Edited>(&self) -> String {
        let collection = self.collection::<R>(CollectionKey::Default).unwrap();
        let live = texts::<R>(self);
        let removed = collection.trash().unwrap();
        let removed = removed.into_iter().map(|removed| removed.uid);
        let mut all: Vec<String> = live.values().cloned().collect();
        for uid in live.into_keys().chain(removed) {
            for version in collection.history(&uid).unwrap() {
                let record = collection.read_version(&version).unwrap();
                all.extend(record.map(|record| String::from_utf8_lossy(&record.text).into_owned()));
            }
        }
        for lost in self.refused().list().unwrap() {
            let text = self.refused().text(lost.id).unwrap().unwrap();
            all.push(String::from_utf8(text).unwrap());
        }
        all.concat()
    }

    /// All but the order of lines.
    fn essence<R: Edited>(text: &str) -> String {
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        lines.join("\n")
    }
}

impl Place for Dav {
    const KEEPS: bool = false;

    fn texts<R: Edited>(&self) -> BTreeMap<String, String> {
        let members = self.members(R::REMOTE).into_iter();
        members.map(|(uid, member)| (uid, member.text)).collect()
    }

    fn add<R: Edited>(&self, uid: &str, text: &str) {
        let name = format!("{uid}{}", R::EXTENSION);
        if !self.put_new(R::REMOTE, &name, text) {
            // The name is another's.
            let name = format!("{}{}", self.fresh_name(), R::EXTENSION);
            assert!(self.put_new(R::REMOTE, &name, text), "{name} is there");
        }
    }

    fn change<R: Edited>(&self, uid: &str, text: &str) {
        self.replace(R::REMOTE, uid, text);
    }

    fn remove<R: Edited>(&self, uid: &str) {
        self.delete(uid);
    }

    fn kept_texts<R: Edited>(&self) -> String {
        self.texts::<R>().into_values().collect()
    }
}

/// Returns the texts of a collection by UID.
pub fn texts<R: Resource>(store: &Store) -> BTreeMap<String, String> {
    let collection = store.collection::<R>(CollectionKey::Default).unwrap();
    let mut ids = Vec::new();
    let listed = collection.for_each_resource(|resource| {
        ids.push(resource.id);
        Ok(())
    });
    listed.unwrap();
    let mut all = BTreeMap::new();
    let read = collection.resources(ids, |_, resource| {
        let resource = resource.unwrap();
        let text = String::from_utf8(resource.bytes).unwrap();
        assert_eq!(all.insert(resource.uid, text), None, "a UID is there twice");
        Ok(())
    });
    read.unwrap();
    all
}
