//! Opening a date book, and closing it with nothing changed: once, and again and again.

use std::time::{Duration, Instant};

use super::Opened;
use super::book::DatebookBackend;
use crate::{Error, Recorder};

/// How often it is opened again, unless that takes longer than this.
const ROUNDS: usize = 25;
const LONG: Duration = Duration::from_millis(500);

pub(super) const OPEN_AGAIN: &str = "again/open_ns";
pub(super) const CLOSE_AGAIN: &str = "again/close_ns";

/// Opens a book and closes it: the time of each.
pub(super) fn time_round<'b>(
    open: impl FnOnce() -> Opened<'b>,
) -> Result<(Duration, Duration), Error> {
    let begun = Instant::now();
    let book: Box<dyn DatebookBackend + 'b> = open()?;
    let opening = begun.elapsed();
    let begun = Instant::now();
    book.close()?;
    Ok((opening, begun.elapsed()))
}

/// Records the medians of many rounds.
pub(super) fn repeat_rounds(
    recorder: &mut Recorder,
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
            recorder.record(measure, median.as_nanos() as f64);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MeasurePass, RunLocation};

    #[test]
    fn rounds_are_many_or_one_that_is_long() {
        let of = |each: Duration| {
            let place = RunLocation {
                dir: "/".into(),
                shared: "/".into(),
                devices: Vec::new(),
                traced: false,
            };
            let mut recorder = Recorder::new(place, MeasurePass::Timed);
            let mut rounds = 0;
            let round = || {
                rounds += 1;
                std::thread::sleep(each);
                Ok((Duration::from_nanos(rounds), Duration::from_nanos(7)))
            };
            repeat_rounds(&mut recorder, round).unwrap();
            let (measures, _) = recorder.finish();
            assert_eq!(measures[CLOSE_AGAIN], 7.0);
            (rounds, measures[OPEN_AGAIN])
        };
        assert_eq!(of(Duration::ZERO), (25, 13.0));
        assert_eq!(of(LONG), (1, 1.0));
    }
}
