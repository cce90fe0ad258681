//! The rule of `app-start`'s verdict, and its sentences.

use super::methods::Method;
use super::present::{COLD, WARM, key, middle, sizes};
use super::screen::Who;
use super::{READ, SCREEN, WRITTEN};
use crate::report::numbers;
use crate::{Results, Shown, Unit, Verdict, stacks};

/// A saving of time counts from here on: half of what the study's mmap saved.
const TIME: f64 = 0.05;
/// A saving of faults counts from here on: half of what the study's takeover saved.
const FAULTS: f64 = 0.18;

/// What the verdict is made from.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Figures {
    /// By the part used, per cent: what mapping on demand, and mapping with the used part asked
    /// for, take of the time of reading all, cold and warm.
    mapped: Vec<Mapped>,
    /// The part used, per cent, that the following are for.
    part: u64,
    /// Minor faults of data that is written later, warm: read then written, taken over.
    faults: Option<(f64, f64)>,
    /// Time taken over as a ratio to read then written: cold, warm.
    taken_over: Option<(f64, f64)>,
    /// Read from the device, cold, bytes: mapped on demand, what is used asked for.
    read_from_device: Option<(f64, f64)>,
    /// squashfs as a ratio to the current file system, cold, mapped on demand.
    squashfs: Option<f64>,
    /// The first screen, nanoseconds: by name, cold and warm.
    screens: Vec<(&'static str, f64, f64)>,
    /// Read from the device for it, cold, bytes: etui, plain SQLite.
    screens_read: Option<(f64, f64)>,
}

/// Ratios to reading all into memory.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Mapped {
    part: u64,
    cold: f64,
    warm: f64,
    asked_cold: Option<f64>,
}

impl Figures {
    pub(super) fn of(results: &Results) -> Self {
        let here = stacks::HERE;
        let ratio = |work, part, method: Method, against: Method, measure| {
            let group = key(work, here, part);
            let ratio = results.ratio(&group, method.name(), against.name(), measure)?;
            Some(ratio.median)
        };
        let parts = sizes(results, READ, here);
        let mapped = parts
            .iter()
            .filter_map(|part| {
                let read = |method, measure| ratio(READ, *part, method, Method::ReadAll, measure);
                Some(Mapped {
                    part: *part,
                    cold: read(Method::Map, COLD)?,
                    warm: read(Method::Map, WARM)?,
                    asked_cold: read(Method::MapUsedPopulated, COLD),
                })
            })
            .collect();
        let part = middle(&parts).unwrap_or(0);
        let median = |work, method: Method, measure: &str| {
            results.median(&key(work, here, part), method.name(), measure)
        };
        let pair = |a: Option<f64>, b: Option<f64>| Some((a?, b?));
        let (first, taken) = (Method::PrivateReadFirst, Method::UsedTakenOver);
        let squashfs = results.median(&key(READ, "squashfs", part), Method::Map.name(), COLD);
        Self {
            mapped,
            part,
            faults: pair(
                median(WRITTEN, first, "warm/minor_faults"),
                median(WRITTEN, taken, "warm/minor_faults"),
            ),
            taken_over: pair(
                ratio(WRITTEN, part, taken, first, COLD),
                ratio(WRITTEN, part, taken, first, WARM),
            ),
            read_from_device: pair(
                median(READ, Method::Map, "cold/block_read_bytes"),
                median(READ, Method::MapUsedPopulated, "cold/block_read_bytes"),
            ),
            squashfs: pair(squashfs, median(READ, Method::Map, COLD))
                .filter(|(_, base)| *base > 0.0)
                .map(|(squashfs, base)| squashfs / base),
            screens: screens(results),
            screens_read: pair(
                screen_read(results, Who::Etui),
                screen_read(results, Who::Plain),
            ),
        }
    }
}

fn screen_read(results: &Results, who: Who) -> Option<f64> {
    let size = sizes(results, SCREEN, stacks::HERE).first().copied()?;
    let group = key(SCREEN, stacks::HERE, size);
    results.median(&group, who.name(), "cold/block_read_bytes")
}

fn screens(results: &Results) -> Vec<(&'static str, f64, f64)> {
    let Some(size) = sizes(results, SCREEN, stacks::HERE).first().copied() else {
        return Vec::new();
    };
    let group = key(SCREEN, stacks::HERE, size);
    Who::ALL
        .iter()
        .filter_map(|who| {
            let cold = results.median(&group, who.name(), COLD)?;
            Some((who.name(), cold, results.median(&group, who.name(), WARM)?))
        })
        .collect()
}

/// The rule: the study's effect shows if mapping saves at least 5 % of a cold start on reading
/// all, on demand at the largest part used and with what is used asked for at the middle one, and taking over saves at least 18 % of
/// the faults and 5 % of the warm time of data that is written later; in part if one does.
pub(super) fn verdict(figures: &Figures) -> Verdict {
    let (Some(last), Some(at)) = (
        figures.mapped.last(),
        figures.mapped.iter().find(|m| m.part == figures.part),
    ) else {
        return Verdict {
            sentence: "Too little was run to tell.".to_owned(),
            ..Verdict::default()
        };
    };
    let saves = |ratio: f64| ratio <= 1.0 - TIME;
    let faults = figures
        .faults
        .filter(|(first, _)| *first > 0.0)
        .map(|(first, taken)| taken / first);
    let warm = figures.taken_over.map(|(_, warm)| warm);
    let signs = [
        saves(last.cold),
        at.asked_cold.is_some_and(saves),
        faults.is_some_and(|ratio| ratio <= 1.0 - FAULTS),
        warm.is_some_and(saves),
    ];
    let shown = match signs.iter().filter(|sign| **sign).count() {
        4 => Shown::Yes,
        0 => Shown::No,
        _ => Shown::Partly,
    };

    let mut sentence = format!(
        "Cold, mapping on demand takes {} of the time of reading all into memory with {} % \
         used, {} with {} % used (the study: 90 %)",
        percent(at.cold),
        at.part,
        percent(last.cold),
        last.part,
    );
    if let Some(asked) = at.asked_cold {
        sentence.push_str(&format!(
            ", and {} with {} % used if just that is asked for",
            percent(asked),
            at.part
        ));
    }
    if let (Some(faults), Some((cold, warm))) = (faults, figures.taken_over) {
        sentence.push_str(&format!(
            "; for data that is written later, taking over takes {} of the page faults of \
             mapping, reading and writing (the study: 64 %) and {} of its time cold, {} warm",
            percent(faults),
            percent(cold),
            percent(warm),
        ));
    }
    sentence.push('.');
    Verdict {
        shown,
        sentence,
        notes: notes(figures, last, signs),
    }
}

fn notes(figures: &Figures, last: &Mapped, signs: [bool; 4]) -> Vec<String> {
    let mut notes = Vec::new();
    let warm: Vec<String> = figures
        .mapped
        .iter()
        .map(|m| format!("{} at {} % used", percent(m.warm), m.part))
        .collect();
    notes.push(format!(
        "Warm, mapping takes {} of the time of reading: nothing is copied.",
        warm.join(", ")
    ));
    if let Some((map, asked)) = figures.read_from_device {
        notes.push(format!(
            "With {} % used, mapping on demand reads {} from the device, for each fault reads \
             what lies around it; asking for what is used, and nothing else, reads {}. \
             This is the control over a mapping that the study wished for (madvise).",
            figures.part,
            numbers::one(map, Unit::Bytes),
            numbers::one(asked, Unit::Bytes),
        ));
    }
    if !signs[0] {
        notes.push(format!(
            "With {} % used the study's saving does not show here: mapping takes {} of the time \
             of reading all.",
            last.part,
            percent(last.cold)
        ));
    }
    if !signs[2]
        && let Some((first, taken)) = figures.faults
    {
        notes.push(format!(
            "The study's saving in faults no longer shows: {} read then written, {} taken over. \
             Today's kernel maps up to 16 pages of the cache at a read fault, so what is left is \
             the copying fault of each written page, and a page that is populated counts as one, \
             too; what taking over saves is the stop for each of them.",
            numbers::whole(first as u64),
            numbers::whole(taken as u64),
        ));
    }
    if let Some(ratio) = figures.squashfs {
        notes.push(format!(
            "squashfs takes {} the time of the current directory's file system, cold{} (the \
             study, on CompactFlash: as fast).",
            numbers::ratio(ratio),
            match ratio {
                1.1.. => ": decompressing costs more than this device",
                _ => "",
            }
        ));
    }
    notes.extend(first_screen(&figures.screens, figures.screens_read));
    notes
}

/// The first screen in a sentence; where others are quicker, it says so.
fn first_screen(screens: &[(&'static str, f64, f64)], read: Option<(f64, f64)>) -> Option<String> {
    let time = |ns| numbers::one(ns, Unit::Nanoseconds);
    let (name, cold, warm) = screens.iter().find(|(who, ..)| *who == Who::Etui.name())?;
    let mut words = format!(
        "First screen: {name} {} cold, {} warm",
        time(*cold),
        time(*warm)
    );
    let mut lost = Vec::new();
    for (who, their_cold, their_warm) in screens {
        if who == name {
            continue;
        }
        words.push_str(&format!(
            "; {who} {} cold, {} warm",
            time(*their_cold),
            time(*their_warm)
        ));
        for (state, theirs, ours) in [("cold", their_cold, cold), ("warm", their_warm, warm)] {
            if theirs < ours {
                lost.push(format!("{state} to {who}"));
            }
        }
    }
    words.push('.');
    if !lost.is_empty() {
        words.push_str(&format!(
            " Lost: {}; etui opens two connections and checks schema, identity and locale \
             before it answers.",
            lost.join("; ")
        ));
        if let Some((ours, plain)) = read
            && ours > plain
        {
            words.push_str(&format!(
                " Cold, it reads {} from the device, plain SQLite {}: it maps the store, and a \
                 fault reads as much around it as the device's read-ahead says.",
                numbers::one(ours, Unit::Bytes),
                numbers::one(plain, Unit::Bytes),
            ));
        }
    }
    Some(words)
}

fn percent(ratio: f64) -> String {
    format!("{:.0} %", ratio * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shows() -> Figures {
        let mapped = |part, cold| Mapped {
            part,
            cold,
            warm: 0.1,
            asked_cold: Some(0.3),
        };
        Figures {
            mapped: vec![mapped(10, 0.4), mapped(50, 0.7), mapped(100, 0.9)],
            part: 50,
            faults: Some((496.0, 317.0)),
            taken_over: Some((0.99, 0.5)),
            read_from_device: Some((67e6, 33e6)),
            squashfs: Some(2.0),
            screens: vec![
                (Who::Etui.name(), 20e6, 5e6),
                (Who::Plain.name(), 10e6, 6e6),
            ],
            screens_read: Some((22e6, 5e6)),
        }
    }

    #[test]
    fn the_effect_shows_in_full_in_part_or_not() {
        assert_eq!(verdict(&shows()).shown, Shown::Yes);
        let same_faults = Figures {
            faults: Some((8_672.0, 8_500.0)),
            ..shows()
        };
        let told = verdict(&same_faults);
        assert_eq!(told.shown, Shown::Partly);
        assert!(told.notes.iter().any(|note| note.contains("8,672 read")));
        let mut none = Figures {
            faults: None,
            taken_over: Some((1.0, 1.0)),
            ..shows()
        };
        for mapped in &mut none.mapped {
            mapped.cold = 1.2;
            mapped.asked_cold = Some(1.1);
        }
        assert_eq!(verdict(&none).shown, Shown::No);
        assert!(verdict(&none).sentence.contains("takes 120 % of the time"));
    }

    #[test]
    fn the_sentence_has_the_figures() {
        let sentence = verdict(&shows()).sentence;
        assert!(sentence.contains("takes 70 % of the time"), "{sentence}");
        assert!(
            sentence.contains("takes 64 % of the page faults"),
            "{sentence}"
        );
        let notes = verdict(&shows()).notes.join("\n");
        assert!(notes.contains("Lost: cold to plain SQLite"), "{notes}");
        assert!(notes.contains("22.0 MB from the device"), "{notes}");
    }

    #[test]
    fn partial_results_are_open() {
        assert_eq!(verdict(&Figures::default()).shown, Shown::Open);
        let empty = super::super::present::present(&Results::default());
        assert!(empty.tables.is_empty() && empty.charts.is_empty());
    }
}
