//! [`Workload`]: the resources that every server has, those that are saved during a run, and the answers
//! that are expected.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;

use etui::Store;
use etui::calendar::time::TimeZone;
use etui_testkit::calendars::{Entry, write_entries};
use etui_testkit::people::{Version, person};
use serde::{Deserialize, Serialize};

use super::super::calendar::data::{RangeQuery, generate_events, query_ranges};
use etui_lab::Error;
use etui_lab::experiments::common::people_options;

/// The book of people that is used.
const SEED: u64 = 24;
/// Resources of each kind that are new during a run, at most.
const MAX_NEW: usize = 128;
/// A part of names: letters without marks, on which all servers agree.
pub const NAME_PART: &str = "mar";
/// Resources of a multiget.
const MANY: usize = 50;

/// Contacts or events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResourceKind {
    Contact,
    Event,
}

impl ResourceKind {
    pub const BOTH: [Self; 2] = [Self::Contact, Self::Event];

    pub fn content_type(self) -> &'static str {
        match self {
            Self::Contact => "text/vcard; charset=utf-8",
            Self::Event => "text/calendar; charset=utf-8",
        }
    }
}

/// A text under the name that a client gave it.
#[derive(Debug, Clone)]
pub struct NamedText {
    /// The last segment of its URL.
    pub name: String,
    pub uid: String,
    pub text: String,
}

impl NamedText {
    /// Returns a name whose text is not known.
    pub fn of_name(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            uid: String::new(),
            text: String::new(),
        }
    }

    /// Returns it with one more property, before the end of its first component.
    pub fn changed(&self, kind: ResourceKind, round: usize) -> Self {
        let end = match kind {
            ResourceKind::Contact => "END:VCARD\r\n",
            ResourceKind::Event => "END:VEVENT\r\n",
        };
        let line = format!("X-ETUI-LAB:change {round}\r\n{end}");
        Self {
            text: self.text.replacen(end, &line, 1),
            ..self.clone()
        }
    }
}

/// The resources of a kind: those that are there, then [`MAX_NEW`] new ones.
#[derive(Debug)]
pub struct NamedTexts {
    all: Vec<NamedText>,
    there: usize,
}

impl NamedTexts {
    pub fn there(&self) -> &[NamedText] {
        self.all.get(..self.there).unwrap_or_default()
    }

    pub fn new_ones(&self) -> &[NamedText] {
        self.all.get(self.there..).unwrap_or_default()
    }

    /// Returns those that are there in an order in which neighbours are far apart.
    pub fn spread(&self) -> impl Iterator<Item = &NamedText> {
        let there = self.there();
        // A prime, so that each comes once unless their number is a multiple of it.
        let at = |n: usize| there.get(n * 37 % there.len().max(1));
        (0..there.len()).filter_map(at)
    }

    /// Returns the 50 of a multiget.
    pub fn many(&self) -> impl Iterator<Item = &NamedText> {
        self.spread().take(MANY)
    }
}

/// Everything that a run sends.
#[derive(Debug)]
pub struct Workload {
    contacts: NamedTexts,
    events: NamedTexts,
    /// Names of the contacts with [`NAME_PART`] in their names.
    pub with_name_part: BTreeSet<String>,
}

impl Workload {
    /// Generates it. There are 10,000 events to 12,800 contacts.
    pub fn generate(contacts: u64) -> Result<Self, Error> {
        let there = usize::try_from(contacts).map_err(|e| Error::other(e.to_string()))?;
        let mut with_name_part = BTreeSet::new();
        let mut texts = Vec::with_capacity(there + MAX_NEW);
        for number in 0..there + MAX_NEW {
            let person = person(SEED, number as u64);
            // Cyrus takes no 2.1.
            let version = match person.version {
                Version::V21 => Version::V3,
                version => version,
            };
            let name = format!("contact-{number:06}.vcf");
            if number < there && person.formatted.to_lowercase().contains(NAME_PART) {
                with_name_part.insert(name.clone());
            }
            texts.push(NamedText {
                name,
                text: person.to_vcard(version),
                uid: person.uid,
            });
        }
        let contacts = NamedTexts { all: texts, there };
        let there = count_events(there);
        let head = ObjectHead::of_generator()?;
        let entries = generate_events().take(there + MAX_NEW).enumerate();
        let all = entries.map(|(number, entry)| NamedText {
            name: format!("event-{number:06}.ics"),
            text: head.object(&entry),
            uid: entry.uid,
        });
        let events = NamedTexts {
            all: all.collect(),
            there,
        };
        Ok(Self {
            contacts,
            events,
            with_name_part,
        })
    }

    pub fn of(&self, kind: ResourceKind) -> &NamedTexts {
        match kind {
            ResourceKind::Contact => &self.contacts,
            ResourceKind::Event => &self.events,
        }
    }
}

fn count_events(contacts: usize) -> usize {
    contacts * 25 / 32
}

/// The lines before the components of an object: those of the calendar, and the zones by name.
struct ObjectHead {
    calendar: String,
    zones: Vec<(String, String)>,
}

const ZONE: &str = "BEGIN:VTIMEZONE\r\n";
const END: &str = "END:VCALENDAR\r\n";

impl ObjectHead {
    /// Takes the head of the generator's objects apart, which has all zones.
    fn of_generator() -> Result<Self, Error> {
        let mut bytes = Vec::new();
        let written = write_entries(&mut bytes, std::iter::empty());
        written.map_err(|e| Error::other(e.to_string()))?;
        let text = String::from_utf8_lossy(&bytes);
        let mut parts = text.trim_end_matches(END).split(ZONE);
        // The name is that of a whole calendar.
        let calendar = parts.next().unwrap_or_default().lines();
        let calendar = calendar.filter(|line| !line.starts_with("X-WR-CALNAME"));
        let zones = parts.map(|part| {
            let name = part.lines().next().unwrap_or_default();
            let name = name.trim_start_matches("TZID:").to_owned();
            (name, format!("{ZONE}{part}"))
        });
        Ok(Self {
            calendar: calendar.map(|line| format!("{line}\r\n")).collect(),
            zones: zones.collect(),
        })
    }

    /// Returns the object of an entry, with the zones that it names.
    fn object(&self, entry: &Entry) -> String {
        let named = |zone: &str| entry.text.contains(&format!("TZID={zone}"));
        let zones = self.zones.iter().filter(|(name, _)| named(name));
        let zones: String = zones.map(|(_, text)| text.as_str()).collect();
        format!("{}{zones}{}{END}", self.calendar, entry.text)
    }
}

/// Returns the week of the calendar queries.
pub fn queried_week() -> RangeQuery {
    let [week, _] = query_ranges();
    week
}

/// The events of the week, as the library has them.
#[derive(Debug, Serialize, Deserialize)]
pub struct ExpectedWeek {
    pub names: BTreeSet<String>,
    pub occurrences: u64,
}

impl ExpectedWeek {
    const FILE: &'static str = "week.json";

    /// Computes it from a store of its own, and writes it into a directory.
    pub fn compute(workload: &Workload, dir: &Path) -> Result<(), Error> {
        let path = dir.join("week.etui");
        let store = Store::open_with(&path, &people_options())?;
        let calendar = store.calendar()?;
        let there = workload.events.there();
        let objects: String = there.iter().map(|event| event.text.as_str()).collect();
        calendar.import(objects.as_bytes(), &mut |_| ControlFlow::Continue(()))?;
        let found = calendar.between(queried_week().to_instants(), &TimeZone::UTC)?;
        let occurrences = found.len() as u64;
        let mut uids = BTreeSet::new();
        for one in &found {
            uids.extend(calendar.get(one.record)?.map(|record| record.uid));
        }
        let names = there.iter().filter(|event| uids.contains(&event.uid));
        let week = Self {
            names: names.map(|event| event.name.clone()).collect(),
            occurrences,
        };
        store.close()?;
        let file = dir.join(Self::FILE);
        let json = serde_json::to_vec(&week).map_err(|e| Error::other(e.to_string()))?;
        std::fs::write(&file, json).map_err(|e| Error::file(&file, e))
    }

    pub fn read(dir: &Path) -> Result<Self, Error> {
        let file = dir.join(Self::FILE);
        let json = std::fs::read(&file).map_err(|e| Error::file(&file, e))?;
        serde_json::from_slice(&json).map_err(|e| Error::other(e.to_string()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn resources_are_whole_and_have_names_of_their_own() {
        let workload = Workload::generate(64).unwrap();
        for (kind, count) in [(ResourceKind::Contact, 64), (ResourceKind::Event, 50)] {
            let texts = workload.of(kind);
            assert_eq!(
                (texts.there().len(), texts.new_ones().len()),
                (count, MAX_NEW)
            );
            let names: BTreeSet<&str> = texts.all.iter().map(|one| one.name.as_str()).collect();
            assert_eq!(names.len(), count + MAX_NEW);
            let spread: BTreeSet<&str> = texts.spread().map(|one| one.name.as_str()).collect();
            assert_eq!(spread.len(), count);
            for one in &texts.all {
                let is_uid = |line: &str| line.starts_with("UID:") && line.ends_with(&one.uid);
                assert!(one.text.lines().any(is_uid), "{}", one.text);
                let changed = one.changed(kind, 7).text;
                assert_eq!(
                    changed.len(),
                    one.text.len() + "X-ETUI-LAB:change 7\r\n".len()
                );
            }
        }
        for event in &workload.events.all {
            let zones = event.text.matches("BEGIN:VTIMEZONE").count();
            let named = ["Europe/Berlin", "America/New_York"].into_iter();
            let named = named.filter(|zone| event.text.contains(&format!("TZID={zone}")));
            assert_eq!(zones, named.count(), "{}", event.text);
            assert!(event.text.starts_with("BEGIN:VCALENDAR\r\n") && event.text.ends_with(END));
        }
        assert!(!workload.with_name_part.is_empty());
    }
}
