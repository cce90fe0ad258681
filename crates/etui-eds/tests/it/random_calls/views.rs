//! [`Views`]: the views of one session and what they told.

use std::collections::BTreeMap;

use etui_testkit::wait::wait_until;
use zbus::Message;

use super::compare::Answer;
use super::lines::{comparable_lines, value_of};
use super::pair::Peer;

/// What one view told.
#[derive(Debug, Default)]
struct View {
    path: String,
    /// Objects come in pairs of card and UID.
    in_pairs: bool,
    /// The view tells what there is at the start.
    is_initial: bool,
    content: BTreeMap<String, Vec<String>>,
    events: Vec<String>,
    completions: usize,
}

/// The views of one session, by slot.
#[derive(Debug, Default)]
pub struct Views {
    views: BTreeMap<usize, View>,
}

impl Views {
    /// Follows a view that is not started yet.
    pub fn add(&mut self, slot: usize, path: String, in_pairs: bool, is_initial: bool) {
        let view = View {
            path,
            in_pairs,
            is_initial,
            ..View::default()
        };
        self.views.insert(slot, view);
    }

    pub fn remove(&mut self, slot: usize) -> Option<String> {
        Some(self.views.remove(&slot)?.path)
    }

    pub fn is_empty(&self) -> bool {
        self.views.is_empty()
    }

    /// Waits until a started view has told its content.
    pub fn wait_for_content(&mut self, peer: &Peer, slot: usize) -> Answer {
        wait_until(&format!("{}: the view is complete", peer.name), || {
            self.read_signals(peer);
            self.views[&slot].completions > 0
        });
        Answer::of_set(self.views[&slot].content_lines())
    }

    /// Waits until every view has told an event.
    pub fn wait_for(&mut self, peer: &Peer, event: &str) {
        let what = format!("{}: every view tells {event:?}", peer.name);
        wait_until(&what, || {
            self.read_signals(peer);
            let heard = |view: &View| view.events.iter().any(|told| told == event);
            self.views.values().all(heard)
        });
    }

    /// What the views have told since the last call of `forget`.
    pub fn observe(&mut self, peer: &Peer) -> Vec<String> {
        self.read_signals(peer);
        let mut told = Vec::new();
        for (slot, view) in &self.views {
            let mut events = view.events.clone();
            events.sort();
            told.extend(events.iter().map(|event| format!("view {slot} {event}")));
        }
        told
    }

    pub fn forget(&mut self, peer: &Peer) {
        self.read_signals(peer);
        for view in self.views.values_mut() {
            view.events.clear();
        }
    }

    fn read_signals(&mut self, peer: &Peer) {
        for signal in peer.take_signals() {
            let header = signal.header();
            let Some(path) = header.path() else { continue };
            let mut views = self.views.values_mut();
            if let Some(view) = views.find(|view| view.path == path.as_str()) {
                view.hear(&signal);
            }
        }
    }
}

impl View {
    fn hear(&mut self, signal: &Message) {
        let header = signal.header();
        let member = header.member().map(|m| m.to_string()).unwrap_or_default();
        let texts = || signal.body().deserialize::<Vec<String>>().unwrap();
        match member.as_str() {
            "ObjectsAdded" | "ObjectsModified" => {
                let added = member == "ObjectsAdded";
                for (uid, lines) in self.objects(texts()) {
                    let told = lines.iter().map(|line| format!("tells {uid} ¦ {line}"));
                    self.events.extend(told);
                    let old = self.content.insert(uid.clone(), lines);
                    self.events.push(match (added, old.is_some()) {
                        (true, false) => format!("adds {uid}"),
                        (false, false) if self.is_initial => {
                            format!("modifies {uid}, which it never added")
                        }
                        (false, _) => format!("modifies {uid}"),
                        (true, true) => format!("adds {uid} again"),
                    });
                }
            }
            "ObjectsRemoved" => {
                for uid in texts() {
                    let uid = uid.replace('\n', " at ");
                    self.events.push(match self.content.remove(&uid) {
                        None if self.is_initial => format!("removes {uid}, which it never added"),
                        _ => format!("removes {uid}"),
                    });
                }
            }
            "Complete" => {
                self.completions += 1;
                let (name, _): (String, String) = signal.body().deserialize().unwrap();
                if !name.is_empty() {
                    self.events.push(format!("fails: {name}"));
                }
            }
            _ => {}
        }
    }

    /// Returns the objects of a signal: UID (and RECURRENCE-ID) and comparable lines.
    fn objects(&self, texts: Vec<String>) -> Vec<(String, Vec<String>)> {
        let is_text = |text: &String| text.starts_with("BEGIN:");
        let mut objects = Vec::new();
        match self.in_pairs && texts.first().is_some_and(is_text) {
            true => {
                for pair in texts.chunks(2) {
                    let uid = pair.get(1).cloned().unwrap_or_default();
                    objects.push((uid, comparable_lines(&pair[0])));
                }
            }
            false => {
                for text in texts {
                    match text.starts_with("BEGIN:") {
                        true => objects.push((component_key(&text), comparable_lines(&text))),
                        false => objects.push((text, Vec::new())),
                    }
                }
            }
        }
        objects
    }

    fn content_lines(&self) -> Vec<String> {
        let mut all = Vec::new();
        for (uid, lines) in &self.content {
            all.push(uid.clone());
            all.extend(lines.iter().map(|line| format!("{uid} ¦ {line}")));
        }
        all.sort();
        all
    }
}

/// Names a component: its UID, and its RECURRENCE-ID if it is a changed instance.
pub fn component_key(text: &str) -> String {
    let uid = value_of(text, "UID").unwrap_or_default();
    match value_of(text, "RECURRENCE-ID") {
        Some(rid) => format!("{uid} at {rid}"),
        None => uid,
    }
}
