//! Calls to a calendar or task list, and their answers in comparable form.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use zbus::{Message, OwnedObjectPath};

use super::compare::{Answer, LOOK, Session};
use super::lines::{comparable_lines, value_of};
use super::pair::Peer;
use super::views::{Views, component_key};
use crate::support::CALENDARS;

/// After so many looks the stock server has reported a change to views that it has answered.
const NOTIFIED: u32 = 10;
/// The title of the components that make the stock server tell views what it has gathered.
const PROBE: &str = "ev-probe";
pub const ALL: &str = "this:this-and-prior:this-and-future";
const FACTORY: &str = "/org/gnome/evolution/dataserver/CalendarFactory";

/// A call to a calendar.
#[derive(Debug, Clone)]
pub enum CalendarCall {
    AddTimezone(String),
    GetTimezone(String),
    Create(Vec<String>),
    Modify(Vec<String>, &'static str),
    /// UIDs and RECURRENCE-IDs.
    Remove(Vec<(String, String)>, &'static str),
    Receive(String),
    Get(String, String),
    List(String),
    OpenView {
        slot: usize,
        query: String,
    },
}

/// One side of a round with a calendar.
pub struct CalendarSession<'a> {
    peer: &'a Peer,
    path: String,
    /// `VEVENT` or `VTODO`.
    component: &'static str,
    probes: usize,
    views: Views,
    /// Names for the UIDs of series that were split off, by the UIDs that the service made.
    split: RefCell<BTreeMap<String, String>>,
}

impl<'a> CalendarSession<'a> {
    pub fn open(peer: &'a Peer, source: &str, method: &str, component: &'static str) -> Self {
        let opened = peer.call(CALENDARS, FACTORY, "CalendarFactory", method, &(source,));
        let opened =
            opened.unwrap_or_else(|e| panic!("{}: {source}: {e}\n{}", peer.name, peer.log()));
        let (path, _): (String, String) = opened.body().deserialize().unwrap();
        peer.call(CALENDARS, &path, "Calendar", "Open", &())
            .unwrap();
        Self {
            peer,
            path,
            component,
            probes: 0,
            views: Views::default(),
            split: RefCell::default(),
        }
    }

    fn calendar<B>(&self, method: &str, body: &B) -> Result<Message, String>
    where
        B: serde::Serialize + zbus::DynamicType,
    {
        self.peer
            .call(CALENDARS, &self.path, "Calendar", method, body)
    }

    /// Lines of each component of a text, after its UID and RECURRENCE-ID.
    fn component_lines(&self, text: &str) -> Vec<String> {
        let mut lines = Vec::new();
        for component in components(text) {
            let uid = value_of(&component, "UID").unwrap_or_default();
            if !uid.is_empty() && !uid.starts_with("ev-") {
                let start = value_of(&component, "DTSTART").unwrap_or_default();
                let title = value_of(&component, "SUMMARY").unwrap_or_default();
                let mut split = self.split.borrow_mut();
                split.entry(uid).or_insert(format!("split-{start}-{title}"));
            }
            let key = component_key(&component);
            lines.push(self.to_logical(&key));
            let own = comparable_lines(&component);
            lines.extend(
                own.iter()
                    .map(|line| self.to_logical(&format!("{key} ¦ {line}"))),
            );
        }
        if text.starts_with("BEGIN:VCALENDAR") {
            lines.push("in a VCALENDAR".to_owned());
        }
        lines
    }

    fn to_logical(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (real, logical) in self.split.borrow().iter() {
            text = text.replace(real, logical);
        }
        text
    }

    fn try_perform(&mut self, call: &CalendarCall) -> Result<Answer, String> {
        match call {
            CalendarCall::AddTimezone(zone) => {
                self.calendar("AddTimezone", &(zone,))?;
                Ok(Answer::default())
            }
            CalendarCall::GetTimezone(id) => {
                let reply = self.calendar("GetTimezone", &(id,))?;
                let zone: String = reply.body().deserialize().unwrap();
                // What the system knows of a zone depends on its library.
                Ok(Answer::of_list(
                    value_of(&zone, "TZID").into_iter().collect(),
                ))
            }
            CalendarCall::Create(objects) => {
                let reply = self.calendar("CreateObjects", &(objects, 0u32))?;
                Ok(Answer::of_list(reply.body().deserialize().unwrap()))
            }
            CalendarCall::Modify(objects, mod_type) => {
                self.calendar("ModifyObjects", &(objects, mod_type, 0u32))?;
                Ok(Answer::default())
            }
            CalendarCall::Remove(ids, mod_type) => {
                self.calendar("RemoveObjects", &(ids, mod_type, 0u32))?;
                Ok(Answer::default())
            }
            CalendarCall::Receive(text) => {
                self.calendar("ReceiveObjects", &(text, 0u32))?;
                Ok(Answer::default())
            }
            CalendarCall::Get(uid, rid) => {
                let reply = self.calendar("GetObject", &(uid, rid))?;
                let text: String = reply.body().deserialize().unwrap();
                Ok(Answer::of_set(self.component_lines(&text)))
            }
            CalendarCall::List(query) => {
                let reply = self.calendar("GetObjectList", &(query,))?;
                let texts: Vec<String> = reply.body().deserialize().unwrap();
                let lines = texts.iter().flat_map(|text| self.component_lines(text));
                Ok(Answer::of_set(lines.collect()))
            }
            CalendarCall::OpenView { slot, query } => {
                self.close_view(*slot);
                // The stock server answers a change before it reports it to views, also to one that is
                // opened in between.
                for _ in 0..NOTIFIED {
                    self.look();
                }
                let query = match query.as_str() {
                    "#t" => query.clone(),
                    query => format!("(or (contains? \"summary\" \"{PROBE}\") {query})"),
                };
                let reply = self.calendar("GetView", &(query,))?;
                let path: OwnedObjectPath = reply.body().deserialize().unwrap();
                self.views.add(*slot, path.to_string(), false, true);
                self.peer
                    .call(CALENDARS, &path, "CalendarView", "Start", &())?;
                let told = self.views.wait_for_content(self.peer, *slot);
                // The stock server tells it of changes before, too.
                self.probe();
                let lines = told.lines.iter().map(|line| self.to_logical(line));
                Ok(match told.error {
                    Some(_) => told,
                    None => Answer::of_set(lines.collect()),
                })
            }
        }
    }

    /// Waits until the views are told everything. Every view has the probe; the stock server gathers
    /// changes of one kind for up to two seconds, unless one of another kind comes.
    fn probe(&mut self) {
        if self.views.is_empty() {
            return;
        }
        self.probes += 1;
        let uid = format!("{PROBE}-{}", self.probes);
        let text = |more: &str| {
            let kind = self.component;
            format!("BEGIN:{kind}\r\nUID:{uid}\r\nSUMMARY:{PROBE}\r\n{more}END:{kind}\r\n")
        };
        let (made, changed) = (text(""), text("LOCATION:x\r\n"));
        let created = self.calendar("CreateObjects", &(vec![made], 0u32));
        created.expect("the probe is made");
        let changed = self.calendar("ModifyObjects", &(vec![changed], "this", 0u32));
        changed.expect("the probe is changed");
        self.views.wait_for(self.peer, &format!("adds {uid}"));
        let removed = self.calendar("RemoveObjects", &(vec![(uid, "")], "this", 0u32));
        removed.expect("the probe is removed");
    }

    fn close_view(&mut self, slot: usize) {
        if let Some(path) = self.views.remove(slot) {
            let _ = self
                .peer
                .call(CALENDARS, &path, "CalendarView", "Dispose", &());
        }
    }
}

/// The components of a text: those of a VCALENDAR, or the one that it is.
fn components(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut name = String::new();
    let mut lines = String::new();
    for line in text.lines() {
        if name.is_empty() {
            let begun = line.strip_prefix("BEGIN:").filter(|n| *n != "VCALENDAR");
            match begun {
                Some(begun) => name = begun.to_owned(),
                None => continue,
            }
        }
        lines.push_str(line);
        lines.push('\n');
        if line.strip_prefix("END:") == Some(&name) {
            name.clear();
            found.push(std::mem::take(&mut lines));
        }
    }
    found
}

impl Session for CalendarSession<'_> {
    type Call = CalendarCall;
    /// Nothing comes after the probe.
    const QUIET: u32 = 2;
    const REMOVES: bool = true;

    fn perform(&mut self, call: &CalendarCall) -> Answer {
        self.try_perform(call).unwrap_or_else(Answer::of_error)
    }

    fn look(&self) {
        std::thread::sleep(LOOK);
        self.peer
            .property(CALENDARS, &self.path, "Calendar", "Revision");
    }

    fn observe(&mut self) -> Vec<String> {
        let mut told = self.views.observe(self.peer);
        told.retain(|line| !line.contains(PROBE));
        // The order of signals of one change means nothing.
        let mut told: Vec<String> = told.iter().map(|line| self.to_logical(line)).collect();
        told.sort();
        told
    }

    fn forget(&mut self) {
        self.views.forget(self.peer);
    }

    fn changes(call: &CalendarCall) -> bool {
        matches!(
            call,
            CalendarCall::Create(_)
                | CalendarCall::Modify(..)
                | CalendarCall::Remove(..)
                | CalendarCall::Receive(_)
        )
    }

    fn state(&mut self) -> Vec<String> {
        let all = self.perform(&CalendarCall::List("#t".to_owned()));
        self.probe();
        assert_eq!(all.error, None);
        all.lines
    }

    fn remove_records(&mut self, uids: &BTreeSet<String>) {
        let split = self.split.borrow().clone();
        let mut all: Vec<String> = uids.iter().cloned().collect();
        all.extend(
            split
                .into_iter()
                .filter(|(_, name)| uids.contains(name))
                .map(|(real, _)| real),
        );
        for uid in all {
            // One of the sides may not have it.
            let _ = self.calendar("RemoveObjects", &(vec![(uid, "")], ALL, 0u32));
        }
        self.probe();
    }

    fn note_query(call: &CalendarCall, queries: &mut BTreeMap<String, String>) {
        if let CalendarCall::OpenView { slot, query } = call {
            queries.insert(format!("view {slot}"), query.clone());
        }
    }
}

impl Drop for CalendarSession<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        for slot in 0..2 {
            self.close_view(slot);
        }
        let _ = self.calendar("Close", &());
    }
}
