//! Calls to an address book, and their answers in comparable form.

use std::collections::{BTreeMap, BTreeSet};

use zbus::{Message, OwnedObjectPath};

use super::compare::{Answer, LOOK, Session};
use super::lines::{comparable_lines, value_of};
use super::pair::Peer;
use super::views::Views;
use crate::support::BOOKS;

const FACTORY: &str = "/org/gnome/evolution/dataserver/AddressBookFactory";

/// A call to an address book. UIDs that the service makes are written `made-N-` and replaced.
#[derive(Debug, Clone)]
pub enum BookCall {
    /// Cards and their UIDs.
    Create(Vec<(String, String)>),
    Modify(Vec<String>),
    Remove(Vec<String>),
    Get(String),
    List(String),
    Uids(String),
    ContainsEmail(String),
    OpenView {
        slot: usize,
        query: String,
        fields: Vec<&'static str>,
        initial: bool,
    },
    CloseView(usize),
    OpenCursor {
        slot: usize,
        query: String,
        keys: Vec<&'static str>,
        types: Vec<&'static str>,
    },
    Step {
        slot: usize,
        stale: bool,
        flags: i32,
        origin: i32,
        count: i32,
    },
    Letter {
        slot: usize,
        index: u32,
        other_locale: bool,
    },
    CursorQuery(usize, String),
    CloseCursor(usize),
}

/// One side of a round with an address book.
pub struct BookSession<'a> {
    peer: &'a Peer,
    path: String,
    /// What the service made for `made-N-`.
    made: BTreeMap<String, String>,
    views: Views,
    cursors: BTreeMap<usize, String>,
}

impl<'a> BookSession<'a> {
    pub fn open(peer: &'a Peer, source: &str) -> Self {
        let interface = "AddressBookFactory";
        let opened = peer.call(BOOKS, FACTORY, interface, "OpenAddressBook", &(source,));
        let opened =
            opened.unwrap_or_else(|e| panic!("{}: {source}: {e}\n{}", peer.name, peer.log()));
        let (path, _): (String, String) = opened.body().deserialize().unwrap();
        peer.call(BOOKS, &path, "AddressBook", "Open", &()).unwrap();
        Self {
            peer,
            path,
            made: BTreeMap::new(),
            views: Views::default(),
            cursors: BTreeMap::new(),
        }
    }

    fn book<B>(&self, method: &str, body: &B) -> Result<Message, String>
    where
        B: serde::Serialize + zbus::DynamicType,
    {
        self.peer
            .call(BOOKS, &self.path, "AddressBook", method, body)
    }

    fn cursor<B>(&self, slot: usize, method: &str, body: &B) -> Result<Message, String>
    where
        B: serde::Serialize + zbus::DynamicType,
    {
        let path = self.cursors.get(&slot).ok_or("no cursor here")?;
        self.peer
            .call(BOOKS, path, "AddressBookCursor", method, body)
    }

    /// Writes the UIDs that the service made into a text.
    fn to_real(&self, text: &str) -> String {
        let mut text = text.to_owned();
        if text.contains("made-") {
            for (logical, real) in &self.made {
                text = text.replace(logical, real);
            }
        }
        text
    }

    fn to_logical(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (logical, real) in &self.made {
            if text.contains(real.as_str()) {
                text = text.replace(real, logical);
            }
        }
        text
    }

    fn real_list(&self, texts: &[String]) -> Vec<String> {
        texts.iter().map(|text| self.to_real(text)).collect()
    }

    fn card_lines(&self, card: &str) -> Vec<String> {
        let uid = self.to_logical(&value_of(card, "UID").unwrap_or_default());
        let mut lines: Vec<String> = comparable_lines(card)
            .iter()
            .map(|line| format!("{uid} ¦ {}", self.to_logical(line)))
            .collect();
        lines.sort();
        lines.insert(0, uid);
        lines
    }

    fn try_perform(&mut self, call: &BookCall) -> Result<Answer, String> {
        match call {
            BookCall::Create(cards) => {
                let texts: Vec<String> = cards.iter().map(|(_, text)| self.to_real(text)).collect();
                let reply = self.book("CreateContacts", &(texts, 0u32))?;
                let uids: Vec<String> = reply.body().deserialize().unwrap();
                for ((logical, _), real) in cards.iter().zip(&uids) {
                    if logical.starts_with("made-") {
                        self.made.insert(logical.clone(), real.clone());
                    }
                }
                Ok(Answer::of_list(
                    uids.iter().map(|uid| self.to_logical(uid)).collect(),
                ))
            }
            BookCall::Modify(cards) => {
                self.book("ModifyContacts", &(self.real_list(cards), 0u32))?;
                Ok(Answer::default())
            }
            BookCall::Remove(uids) => {
                self.book("RemoveContacts", &(self.real_list(uids), 0u32))?;
                Ok(Answer::default())
            }
            BookCall::Get(uid) => {
                let reply = self.book("GetContact", &(self.to_real(uid),))?;
                let card: String = reply.body().deserialize().unwrap();
                Ok(Answer::of_list(self.card_lines(&card)))
            }
            BookCall::List(query) => {
                let reply = self.book("GetContactList", &(self.to_real(query),))?;
                let cards: Vec<String> = reply.body().deserialize().unwrap();
                let lines = cards.iter().flat_map(|card| self.card_lines(card));
                Ok(Answer::of_set(lines.collect()))
            }
            BookCall::Uids(query) => {
                let reply = self.book("GetContactListUids", &(self.to_real(query),))?;
                let uids: Vec<String> = reply.body().deserialize().unwrap();
                Ok(Answer::of_set(
                    uids.iter().map(|uid| self.to_logical(uid)).collect(),
                ))
            }
            BookCall::ContainsEmail(address) => {
                let reply = self.book("ContainsEmail", &(address,))?;
                let found: bool = reply.body().deserialize().unwrap();
                Ok(Answer::of_list(vec![found.to_string()]))
            }
            BookCall::OpenView {
                slot,
                query,
                fields,
                initial,
            } => {
                self.close_view(*slot);
                let reply = self.book("GetView", &(self.to_real(query),))?;
                let path: OwnedObjectPath = reply.body().deserialize().unwrap();
                self.views.add(*slot, path.to_string(), true, *initial);
                let view = "AddressBookView";
                self.peer
                    .call(BOOKS, &path, view, "SetFieldsOfInterest", &(fields,))?;
                let flags = u32::from(*initial);
                self.peer.call(BOOKS, &path, view, "SetFlags", &(flags,))?;
                self.peer.call(BOOKS, &path, view, "Start", &())?;
                let told = self.views.wait_for_content(self.peer, *slot);
                let lines = told.lines.iter().map(|line| self.to_logical(line));
                Ok(match told.error {
                    Some(_) => told,
                    None => Answer::of_set(lines.collect()),
                })
            }
            BookCall::CloseView(slot) => {
                self.close_view(*slot);
                Ok(Answer::default())
            }
            BookCall::OpenCursor {
                slot,
                query,
                keys,
                types,
            } => {
                self.close_cursor(*slot);
                let reply = self.book("GetCursor", &(self.to_real(query), keys, types))?;
                let path: OwnedObjectPath = reply.body().deserialize().unwrap();
                self.cursors.insert(*slot, path.to_string());
                Ok(Answer::of_list(self.totals(*slot)))
            }
            BookCall::Step {
                slot,
                stale,
                flags,
                origin,
                count,
            } => {
                let mut guard = self
                    .peer
                    .property(BOOKS, &self.path, "AddressBook", "Revision");
                if *stale {
                    guard.push_str(" of yesterday");
                }
                let reply = self.cursor(*slot, "Step", &(guard, flags, origin, count))?;
                let (stepped, cards, total, position): (i32, Vec<String>, u32, u32) =
                    reply.body().deserialize().unwrap();
                let uids: Vec<String> = cards
                    .iter()
                    .map(|card| self.to_logical(&value_of(card, "UID").unwrap_or_default()))
                    .collect();
                let mut lines = vec![
                    format!("{stepped} stepped, {total} in all, at {position}"),
                    format!("in this order: {}", uids.join(" ")),
                ];
                lines.extend(cards.iter().flat_map(|card| self.card_lines(card)));
                Ok(Answer::of_list(lines))
            }
            BookCall::Letter {
                slot,
                index,
                other_locale,
            } => {
                let locale = match other_locale {
                    true => "xx_YY.UTF-8".to_owned(),
                    false => self
                        .peer
                        .property(BOOKS, &self.path, "AddressBook", "Locale"),
                };
                let reply = self.cursor(*slot, "SetAlphabeticIndex", &(index, locale))?;
                let (total, position): (u32, u32) = reply.body().deserialize().unwrap();
                Ok(Answer::of_list(vec![format!(
                    "{total} in all, at {position}"
                )]))
            }
            BookCall::CursorQuery(slot, query) => {
                let reply = self.cursor(*slot, "SetQuery", &(self.to_real(query),))?;
                let (total, position): (u32, u32) = reply.body().deserialize().unwrap();
                Ok(Answer::of_list(vec![format!(
                    "{total} in all, at {position}"
                )]))
            }
            BookCall::CloseCursor(slot) => {
                self.close_cursor(*slot);
                Ok(Answer::default())
            }
        }
    }

    fn totals(&self, slot: usize) -> Vec<String> {
        let Some(path) = self.cursors.get(&slot) else {
            return Vec::new();
        };
        let get = |name| self.peer.property(BOOKS, path, "AddressBookCursor", name);
        vec![format!(
            "cursor {slot}: {} in all, at {}",
            get("Total"),
            get("Position")
        )]
    }

    fn close_view(&mut self, slot: usize) {
        if let Some(path) = self.views.remove(slot) {
            let _ = self
                .peer
                .call(BOOKS, &path, "AddressBookView", "Dispose", &());
        }
    }

    fn close_cursor(&mut self, slot: usize) {
        if let Some(path) = self.cursors.remove(&slot) {
            let _ = self
                .peer
                .call(BOOKS, &path, "AddressBookCursor", "Dispose", &());
        }
    }
}

impl Session for BookSession<'_> {
    type Call = BookCall;
    const QUIET: u32 = 40;
    const REMOVES: bool = false;

    fn perform(&mut self, call: &BookCall) -> Answer {
        self.try_perform(call).unwrap_or_else(Answer::of_error)
    }

    fn look(&self) {
        std::thread::sleep(LOOK);
        self.peer
            .property(BOOKS, &self.path, "AddressBook", "Revision");
    }

    fn observe(&mut self) -> Vec<String> {
        let mut told: Vec<String> = self.views.observe(self.peer);
        told = told.iter().map(|line| self.to_logical(line)).collect();
        told.sort();
        for slot in self.cursors.keys() {
            told.extend(self.totals(*slot));
        }
        told
    }

    fn forget(&mut self) {
        self.views.forget(self.peer);
    }

    fn changes(call: &BookCall) -> bool {
        matches!(
            call,
            BookCall::Create(_) | BookCall::Modify(_) | BookCall::Remove(_)
        )
    }

    fn state(&mut self) -> Vec<String> {
        let all = self.perform(&BookCall::List(String::new()));
        assert_eq!(all.error, None);
        all.lines
    }

    fn remove_records(&mut self, _: &BTreeSet<String>) {}

    fn note_query(call: &BookCall, queries: &mut BTreeMap<String, String>) {
        match call {
            BookCall::OpenView {
                slot,
                query,
                fields,
                ..
            } => {
                queries.insert(format!("view {slot}"), query.clone());
                queries.insert(format!("fields of view {slot}"), fields.join(" "));
            }
            BookCall::OpenCursor {
                slot, query, types, ..
            } => {
                queries.insert(format!("cursor {slot}"), query.clone());
                queries.insert(format!("order of cursor {slot}"), types.join(" "));
                queries.remove(&format!("place of cursor {slot}"));
            }
            BookCall::CursorQuery(slot, query) => {
                queries.insert(format!("cursor {slot}"), query.clone());
            }
            BookCall::Letter { slot, .. } => {
                queries.insert(format!("place of cursor {slot}"), "letter".to_owned());
            }
            // Refused: they do not move the cursor.
            BookCall::Step { stale: true, .. } => {}
            BookCall::Step { origin, count, .. }
                if matches!((origin, count.signum()), (1, -1) | (2, 1)) => {}
            BookCall::Step {
                slot,
                flags,
                origin,
                count,
                ..
            } if flags & 1 != 0 => {
                let place = format!("place of cursor {slot}");
                match queries.get(&place).map(String::as_str) {
                    Some("letter") if *origin == 0 && *count < 0 => {
                        queries.insert(place, "back from a letter".to_owned());
                    }
                    Some("back from a letter") if *origin == 0 => {}
                    _ => drop(queries.remove(&place)),
                }
            }
            _ => {}
        }
    }
}

impl Drop for BookSession<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        for slot in 0..4 {
            self.close_view(slot);
            self.close_cursor(slot);
        }
        let _ = self.book("Close", &());
    }
}
