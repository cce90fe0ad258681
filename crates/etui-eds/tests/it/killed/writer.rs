//! [`Writer`]: a client that writes, and knows what the store has to have.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use etui_testkit::rng::SplitMix64;

use super::link::{Link, Lost};

/// Records of one writer; below this it creates more.
const MIN_RECORDS: usize = 10;
/// Records of one writer; above this it removes more than it creates.
const MAX_RECORDS: usize = 30;

/// The counts of a writer, for the thread that kills.
#[derive(Default)]
pub struct WriterCounts {
    /// Calls that were acknowledged.
    pub acknowledged: AtomicU64,
    /// Calls without an answer.
    pub lost: AtomicU64,
    /// Calls without an answer whose changes are in the store.
    pub landed: AtomicU64,
}

/// Records by UID, as they were written.
type Records = BTreeMap<String, String>;

/// A client that creates, modifies and removes records of its own.
pub struct Writer {
    link: Link,
    name: &'static str,
    rng: SplitMix64,
    counts: Arc<WriterCounts>,
    /// The acknowledged state.
    records: Records,
    /// Counts records and versions; each is written once.
    number: u64,
}

/// One call: the method, and the state if it succeeds.
struct Change {
    kind: ChangeKind,
    uids: Vec<String>,
    texts: Vec<String>,
    after: Records,
}

#[derive(Clone, Copy, PartialEq)]
enum ChangeKind {
    Create,
    Modify,
    Remove,
}

impl Writer {
    pub fn new(link: Link, name: &'static str, rng: SplitMix64, counts: Arc<WriterCounts>) -> Self {
        Self {
            link,
            name,
            rng,
            counts,
            records: Records::new(),
            number: 0,
        }
    }

    /// Writes until it is stopped; reconnects and compares after each loss of the service, and at
    /// the end.
    pub async fn run(mut self, stop: &AtomicBool) {
        while !stop.load(Ordering::Acquire) {
            let change = self.next_change();
            match self.send(&change).await {
                Ok(()) => {
                    self.records = change.after;
                    self.counts.acknowledged.fetch_add(1, Ordering::AcqRel);
                }
                Err(Lost) => {
                    let stored = self.stored_after_reopening().await;
                    self.counts.lost.fetch_add(1, Ordering::AcqRel);
                    if carries(&stored, &change.after) {
                        self.records = change.after;
                        self.counts.landed.fetch_add(1, Ordering::AcqRel);
                    } else {
                        // Nothing of it: neither a part of it, nor less than before.
                        self.expect_records(&stored);
                    }
                }
            }
        }
        let stored = self.stored_after_reopening().await;
        self.expect_records(&stored);
    }

    fn expect_records(&self, stored: &Records) {
        assert!(
            carries(stored, &self.records),
            "{}: acknowledged: {:#?}\nstored: {stored:#?}",
            self.name,
            self.records
        );
    }

    /// Opens the source again and returns this writer's records.
    async fn stored_after_reopening(&mut self) -> Records {
        loop {
            self.link.reopen().await;
            if let Ok(mut records) = self.link.list().await {
                let prefix = format!("{}-", self.name);
                records.retain(|uid, _| uid.starts_with(&prefix));
                return records;
            }
        }
    }

    fn next_change(&mut self) -> Change {
        let kind = match self.rng.below(10) {
            _ if self.records.len() < MIN_RECORDS => ChangeKind::Create,
            0..4 if self.records.len() < MAX_RECORDS => ChangeKind::Create,
            4..7 => ChangeKind::Modify,
            _ => ChangeKind::Remove,
        };
        let count = 1 + self.rng.below(3) as usize;
        let mut after = self.records.clone();
        let uids: Vec<String> = match kind {
            ChangeKind::Create => (0..count).map(|_| self.next_uid()).collect(),
            _ => {
                let first = self.rng.below(self.records.len() as u32) as usize;
                let uids = self.records.keys().skip(first).take(count);
                uids.cloned().collect()
            }
        };
        let texts: Vec<String> = match kind {
            ChangeKind::Remove => Vec::new(),
            _ => uids.iter().map(|uid| self.next_text(uid)).collect(),
        };
        for (at, uid) in uids.iter().enumerate() {
            match texts.get(at) {
                Some(text) => after.insert(uid.clone(), text.clone()),
                None => after.remove(uid),
            };
        }
        Change {
            kind,
            uids,
            texts,
            after,
        }
    }

    fn next_uid(&mut self) -> String {
        self.number += 1;
        format!("{}-{:06}", self.name, self.number)
    }

    fn next_text(&mut self, uid: &str) -> String {
        self.number += 1;
        let number = self.number;
        let extra: String = (0..self.rng.below(40))
            .map(|line| format!("X-LINE:{line} of version {number}\r\n"))
            .collect();
        if self.link.kind.is_book() {
            format!(
                "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{uid}\r\nFN:Version {number}\r\n\
                 N:{number};Version\r\n{extra}END:VCARD\r\n"
            )
        } else {
            format!(
                "BEGIN:VEVENT\r\nUID:{uid}\r\nDTSTAMP:20260101T000000Z\r\n\
                 DTSTART:20261201T090000Z\r\nSUMMARY:Version {number}\r\n{extra}END:VEVENT\r\n"
            )
        }
    }

    async fn send(&self, change: &Change) -> Result<(), Lost> {
        const ALL: &str = "this:this-and-prior:this-and-future";
        let (uids, texts) = (&change.uids, &change.texts);
        let link = &self.link;
        let sent = match (change.kind, link.kind.is_book()) {
            (ChangeKind::Create, true) => link.call("CreateContacts", &(texts, 0_u32)).await,
            (ChangeKind::Modify, true) => link.call("ModifyContacts", &(texts, 0_u32)).await,
            (ChangeKind::Remove, true) => link.call("RemoveContacts", &(uids, 0_u32)).await,
            (ChangeKind::Create, false) => link.call("CreateObjects", &(texts, 0_u32)).await,
            (ChangeKind::Modify, false) => link.call("ModifyObjects", &(texts, ALL, 0_u32)).await,
            (ChangeKind::Remove, false) => {
                let ids: Vec<(&str, &str)> = uids.iter().map(|uid| (uid.as_str(), "")).collect();
                link.call("RemoveObjects", &(ids, ALL, 0_u32)).await
            }
        };
        sent.map(|_| ())
    }
}

/// Returns true if the stored records are exactly those, each with every line as it was written.
fn carries(stored: &Records, written: &Records) -> bool {
    let has_lines = |stored: &str, written: &str| {
        let lines: Vec<&str> = stored.lines().collect();
        written.lines().all(|line| lines.contains(&line))
    };
    stored.len() == written.len()
        && written
            .iter()
            .all(|(uid, text)| stored.get(uid).is_some_and(|s| has_lines(s, text)))
}
