//! The saves of a run, drawn from a seed, and the state after each.

use std::collections::BTreeMap;

use etui_testkit::calendars::{Span, entry};
use etui_testkit::people::{Version, person};
use etui_testkit::rng::SplitMix64;
use strum::{AsRefStr, Display, EnumString, VariantArray};

use crate::Error;

/// Contacts, and events, that are in use at a time.
const RECORDS: u32 = 16;
/// Tracks of the library.
const TRACKS: u32 = 10;
const SEED: u64 = 0x706f_7765_7220_6375;

/// Where a store has records of all kinds together, the name of the kind is with each.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, AsRefStr, Display, EnumString, VariantArray,
)]
#[strum(serialize_all = "lowercase")]
pub enum SaveKind {
    Contact,
    /// An event.
    Event,
    /// A track of the media library.
    Track,
}

impl SaveKind {
    pub fn named(name: &str) -> Result<Self, Error> {
        let kind = name.parse();
        kind.map_err(|_| Error::other(format!("there is no kind of record `{name}`")))
    }
}

/// A change of one record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaveStep {
    pub kind: SaveKind,
    /// The record: a UID, or the title of a track.
    pub name: String,
    /// Its new text; none if it is removed. Of a track it is the number of plays.
    pub text: Option<Vec<u8>>,
}

/// Contents of a store: the text of each record by kind and name.
pub type StoreState = BTreeMap<(SaveKind, String), Vec<u8>>;

/// Draws the steps of a run. Every step changes the state.
pub fn draw_steps(count: u64) -> Vec<SaveStep> {
    let mut rng = SplitMix64::new(SEED);
    let mut plays: Vec<u64> = Vec::new();
    let mut live: BTreeMap<(SaveKind, u32), ()> = BTreeMap::new();
    let mut steps = Vec::new();
    for version in 0..count {
        if rng.chance(250) {
            let tracks = plays.len() as u32;
            let step = if tracks < TRACKS && (tracks == 0 || rng.chance(300)) {
                plays.push(0);
                track_step(tracks, 0)
            } else {
                let track = rng.below(tracks);
                plays[track as usize] += 1;
                track_step(track, plays[track as usize])
            };
            steps.push(step);
            continue;
        }
        let kind = match rng.chance(500) {
            true => SaveKind::Contact,
            false => SaveKind::Event,
        };
        let record = rng.below(RECORDS);
        let name = format!(
            "{}-{record}",
            if kind == SaveKind::Contact {
                "contact"
            } else {
                "event"
            }
        );
        let removes = rng.chance(150) && live.remove(&(kind, record)).is_some();
        if !removes {
            live.insert((kind, record), ());
        }
        let text = (!removes).then(|| match kind {
            SaveKind::Contact => contact_text(&name, version),
            _ => event_text(&name, version),
        });
        steps.push(SaveStep { kind, name, text });
    }
    steps
}

fn track_step(track: u32, plays: u64) -> SaveStep {
    SaveStep {
        kind: SaveKind::Track,
        name: format!("Track {track}"),
        text: Some(plays.to_string().into_bytes()),
    }
}

pub fn contact_text(uid: &str, version: u64) -> Vec<u8> {
    let mut person = person(SEED, version);
    person.uid = uid.to_owned();
    person.version = Version::V3;
    person.to_text().into_bytes()
}

fn event_text(uid: &str, version: u64) -> Vec<u8> {
    let entry = entry(SEED, Span::years(2), version);
    entry.text.replace(&entry.uid, uid).into_bytes()
}

/// Returns the states after no step, after the first, and so on.
pub fn list_states(steps: &[SaveStep]) -> Vec<StoreState> {
    let mut states = vec![StoreState::new()];
    for step in steps {
        let mut state = states.last().cloned().unwrap_or_default();
        let key = (step.kind, step.name.clone());
        match &step.text {
            Some(text) => state.insert(key, text.clone()),
            None => state.remove(&key),
        };
        states.push(state);
    }
    states
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_changes_the_state_and_all_kinds_occur() {
        let steps = draw_steps(200);
        assert_eq!(steps, draw_steps(200));
        assert_eq!(steps[..50], draw_steps(50));
        let states = list_states(&steps);
        assert_eq!(states.len(), 201);
        for pair in states.windows(2) {
            assert_ne!(pair[0], pair[1]);
        }
        let distinct: std::collections::BTreeSet<_> = states.iter().collect();
        assert_eq!(distinct.len(), 201);
        let of = |kind| steps.iter().filter(move |step| step.kind == kind);
        for kind in [SaveKind::Contact, SaveKind::Event, SaveKind::Track] {
            assert!(of(kind).count() > 20, "{kind:?}");
        }
        assert!(steps.iter().filter(|step| step.text.is_none()).count() > 5);
    }
}
