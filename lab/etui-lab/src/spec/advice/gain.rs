//! The effect of a change on a figure, in words.

use crate::report::content::{BetterWhen, Unit};
use crate::report::numbers::{format_percent, format_times, format_value};
use crate::results::Figure;
use crate::spec::Measure;

/// From here on a gain is written as a factor, below it in per cent.
const AS_FACTOR: f64 = 1.95;
/// Differences up to this part are none.
const SAME: f64 = 0.02;

pub(super) struct FigureChange {
    /// Above 1 if it is a gain.
    pub(super) factor: f64,
    was: f64,
    now: f64,
    better: BetterWhen,
    pub(super) unit: Unit,
}

impl FigureChange {
    pub(super) fn between(was: &Figure, now: &Figure, measure: &Measure) -> Option<Self> {
        let (was, now) = (was.median, now.median);
        let (better, unit) = (measure.better, measure.unit);
        let factor = match better {
            BetterWhen::More => divide(now, was)?,
            BetterWhen::Less | BetterWhen::Neither => divide(was, now)?,
        };
        Some(Self {
            factor,
            was,
            now,
            better,
            unit,
        })
    }

    /// Returns `6.1 times the inserts a second (1,820/s instead of 298/s)`.
    pub(super) fn words(&self, of: &str) -> String {
        let [now, was] = [self.now, self.was].map(|of| format_value(of, self.unit));
        let gain = gain_words(self.factor, self.better, self.unit, of);
        format!("{gain} ({now} instead of {was})")
    }

    pub(super) fn unclear_words(&self) -> String {
        let [now, was] = [self.now, self.was].map(|of| format_value(of, self.unit));
        let varying = match self.unit {
            Unit::Nanoseconds => "times",
            Unit::PerSecond => "rates",
            _ => "figures",
        };
        format!("the {varying} vary too much to tell ({now} and {was})")
    }
}

/// Writes a gain in words; `factor` is above 1 if it is one.
fn gain_words(factor: f64, better: BetterWhen, unit: Unit, of: &str) -> String {
    let (times, percent) = (format_times, format_percent);
    let more = better == BetterWhen::More;
    let less = if unit == Unit::Count || unit == Unit::PerSecond {
        "fewer"
    } else {
        "less"
    };
    if (1.0 / factor - 1.0).abs() <= SAME {
        return match unit {
            Unit::Nanoseconds => format!("{of} takes as long"),
            Unit::Bytes => format!("as much {of}"),
            _ => format!("as many {of}"),
        };
    }
    let gained = factor > 1.0;
    let size = if gained { factor } else { 1.0 / factor };
    match (unit, gained) {
        (_, true) if !size.is_finite() => format!("no {of} any more"),
        (Unit::Nanoseconds, true) if size >= AS_FACTOR => {
            format!("{of} is {} as fast", times(size))
        }
        (Unit::Nanoseconds, true) => {
            format!("{of} takes {} less time", percent(1.0 - 1.0 / size))
        }
        (Unit::Nanoseconds, false) if size >= AS_FACTOR => {
            format!("{of} takes {} the time", times(size))
        }
        (Unit::Nanoseconds, false) => format!("{of} takes {} more time", percent(size - 1.0)),
        // An amount that grows: better where more is better, worse where less is.
        _ if gained == more => match size {
            size if size >= AS_FACTOR => format!("{} the {of}", times(size)),
            size => format!("{} more {of}", percent(size - 1.0)),
        },
        _ => match size {
            size if size >= AS_FACTOR => format!("{} {less} {of}", times(size)),
            size => format!("{} {less} {of}", percent(1.0 - 1.0 / size)),
        },
    }
}

/// Divides; infinite by zero, and 1 if both are zero.
fn divide(above: f64, below: f64) -> Option<f64> {
    match (above > 0.0, below > 0.0) {
        (_, true) => Some(above / below),
        (true, false) => Some(f64::INFINITY),
        (false, false) if above == 0.0 && below == 0.0 => Some(1.0),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gain_is_said_in_plain_words() {
        use BetterWhen::{Less, More};
        for (factor, better, unit, of, words) in [
            (
                6.1,
                More,
                Unit::PerSecond,
                "inserts a second",
                "6.1 times the inserts a second",
            ),
            (
                1.3,
                More,
                Unit::PerSecond,
                "inserts a second",
                "30 % more inserts a second",
            ),
            (
                0.8,
                More,
                Unit::PerSecond,
                "inserts a second",
                "20 % fewer inserts a second",
            ),
            (
                1.25,
                Less,
                Unit::Nanoseconds,
                "a batch",
                "a batch takes 20 % less time",
            ),
            (
                282.3,
                Less,
                Unit::Nanoseconds,
                "a read",
                "a read is 282 times as fast",
            ),
            (
                0.5,
                Less,
                Unit::Nanoseconds,
                "a read",
                "a read takes 2.0 times the time",
            ),
            (
                1.01,
                Less,
                Unit::Nanoseconds,
                "a read",
                "a read takes as long",
            ),
            (4.0, Less, Unit::Count, "flushes", "4.0 times fewer flushes"),
            (1.25, Less, Unit::Bytes, "memory", "20 % less memory"),
            (1.01, Less, Unit::Bytes, "memory", "as much memory"),
            (
                f64::INFINITY,
                Less,
                Unit::Count,
                "flushes",
                "no flushes any more",
            ),
        ] {
            assert_eq!(gain_words(factor, better, unit, of), words);
        }
    }
}
