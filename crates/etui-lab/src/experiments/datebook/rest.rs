//! Opening a date book, and closing it with nothing changed: once, and again and again.

use std::time::{Duration, Instant};

use super::aims::met;
use super::book::Book;
use super::present::{ARMS, Asked, CLOSE, OPEN, key, place};
use super::{Opened, PLAIN, Test};
use crate::report::numbers::{one, whole};
use crate::{Column, Error, Meter, Row, Table, Unit, stacks};

/// Opening, and closing with nothing changed, are meant to take at most so long.
const AIM_NS: f64 = 0.4e6;
/// How often it is opened again, unless that takes longer than this.
const ROUNDS: usize = 25;
const LONG: Duration = Duration::from_millis(500);

const OPEN_AGAIN: &str = "again/open_ns";
const CLOSE_AGAIN: &str = "again/close_ns";

/// Opens a book and closes it: the time of each.
pub(super) fn round<'b>(open: impl FnOnce() -> Opened<'b>) -> Result<(Duration, Duration), Error> {
    let begun = Instant::now();
    let book: Box<dyn Book + 'b> = open()?;
    let opening = begun.elapsed();
    let begun = Instant::now();
    book.close()?;
    Ok((opening, begun.elapsed()))
}

/// Records the medians of many rounds.
pub(super) fn again(
    meter: &mut Meter,
    mut round: impl FnMut() -> Result<(Duration, Duration), Error>,
) -> Result<(), Error> {
    let begun = Instant::now();
    let (mut opened, mut closed) = (Vec::new(), Vec::new());
    while opened.is_empty() || (opened.len() < ROUNDS && begun.elapsed() < LONG) {
        let (opening, closing) = round()?;
        opened.push(opening);
        closed.push(closing);
    }
    for (measure, mut times) in [(OPEN_AGAIN, opened), (CLOSE_AGAIN, closed)] {
        times.sort_unstable();
        if let Some(median) = times.get(times.len() / 2) {
            meter.record(measure, median.as_nanos() as f64);
        }
    }
    Ok(())
}

/// Opening and closing at every size, with what repeats exactly.
pub(super) fn table(asked: &Asked<'_>) -> Table {
    let mut rows = Vec::new();
    for size in &asked.sizes {
        for (arm, role) in ARMS {
            let group = key(Test::Nothing, stacks::HERE, *size);
            let time = |measure| asked.results.cell(&group, arm, measure, Some(PLAIN));
            let count = |measure| asked.results.cell(&group, arm, measure, None);
            let row = Row {
                label: format!("{}: {arm}", whole(*size)),
                role,
                cells: vec![
                    time(OPEN),
                    time(OPEN_AGAIN),
                    time(CLOSE),
                    time(CLOSE_AGAIN),
                    count("open/instructions"),
                    count("open/calls"),
                ],
            };
            if row.cells.iter().any(|cell| cell.value.is_some()) {
                rows.push(row);
            }
        }
    }
    Table {
        title: "Opening, and closing with nothing changed".to_owned(),
        caption: format!(
            "By the number of records, on {}: behind a copy of the file, one opening and a flush, \
             which leaves the processor's caches to others; and the median of up to {ROUNDS} times \
             right after that. Instructions are the process's own. Ratios are to plain SQLite with \
             one table.",
            place(stacks::HERE)
        ),
        columns: vec![
            Column::time("open behind a flush"),
            Column::time("open again"),
            Column::time("close behind it"),
            Column::time("close again"),
            Column::count("instructions to open"),
            Column::count("system calls to open"),
        ],
        rows,
    }
}

/// What an arm takes to open and to close at the smallest and the largest size, and whether that is
/// what is meant.
pub(super) fn note(asked: &Asked<'_>, arm: &str) -> Option<String> {
    let (small, large) = (*asked.sizes.first()?, *asked.sizes.last()?);
    let both = |arm: &str, measure| {
        let at = |size| asked.median(Test::Nothing, stacks::HERE, size, arm, measure);
        Some([at(small)?, at(large)?])
    };
    let told = |[small, large]: [f64; 2]| {
        let [small, large] = [small, large].map(|ns| one(ns, Unit::Nanoseconds));
        format!("{small} and {large}")
    };
    let held = |times: &[[f64; 2]]| met(times.iter().flatten().all(|ns| *ns <= AIM_NS));
    let (open, close) = (both(arm, OPEN_AGAIN)?, both(arm, CLOSE_AGAIN)?);
    let (cold, closed) = (both(arm, OPEN)?, both(arm, CLOSE)?);
    let mut note = format!(
        "{arm}: opening takes {} at {} and {} records, closing with nothing changed {} (at most \
         {} each is meant: {}); behind a flush, with cold caches, {} and {} (the \
         same: {})",
        told(open),
        whole(small),
        whole(large),
        told(close),
        one(AIM_NS, Unit::Nanoseconds),
        held(&[open, close]),
        told(cold),
        told(closed),
        held(&[cold, closed]),
    );
    if let (Some(again), Some(behind)) = (both(PLAIN, OPEN_AGAIN), both(PLAIN, OPEN)) {
        note.push_str(&format!(
            "; plain SQLite opens one table in {}, and cold in {}",
            told(again),
            told(behind)
        ));
    }
    note.push('.');
    Some(note)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Pass, Place};

    #[test]
    fn rounds_are_many_or_one_that_is_long() {
        let of = |each: Duration| {
            let place = Place {
                dir: "/".into(),
                shared: "/".into(),
                devices: Vec::new(),
                traced: false,
            };
            let mut meter = Meter::new(place, Pass::Timed);
            let mut rounds = 0;
            let round = || {
                rounds += 1;
                std::thread::sleep(each);
                Ok((Duration::from_nanos(rounds), Duration::from_nanos(7)))
            };
            again(&mut meter, round).unwrap();
            let (measures, _) = meter.finish();
            assert_eq!(measures[CLOSE_AGAIN], 7.0);
            (rounds, measures[OPEN_AGAIN])
        };
        assert_eq!(of(Duration::ZERO), (25, 13.0));
        assert_eq!(of(LONG), (1, 1.0));
    }
}
