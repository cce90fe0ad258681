//! Advice: a change that the reader can make, stated with what it brings on this machine.

use super::{Measure, capitalize};
use crate::ArmRole;
use crate::present::{Advice, AdviceFigure, BetterWhen, Unit};
use crate::report::numbers::{format_percent, format_times, format_value};
use crate::results::{Figure, GroupKey, Results};

/// A change is worth making from this factor on, if the experiment does not say otherwise.
const LEAST_GAIN: f64 = 1.1;
/// From here on a gain is written as a factor, below it in per cent.
const AS_FACTOR: f64 = 1.95;
/// Part of the repetitions that must agree for a difference to be clear.
const AGREEING: f64 = 0.8;
/// Differences up to this part are none.
const SAME: f64 = 0.02;

/// A figure of the comparison: a measure of an arm.
#[derive(Debug, Clone, PartialEq)]
struct FigureRef {
    group: Option<GroupKey>,
    arm: String,
    measure: Measure,
}

impl FigureRef {
    fn figure(&self, results: &Results) -> Option<Figure> {
        self.measure
            .figure(results, self.group.as_ref()?, &self.arm)
    }

    fn role(&self, results: &Results) -> Option<ArmRole> {
        let arms = results.arms(self.group.as_ref()?).into_iter();
        arms.filter(|(arm, _)| *arm == self.arm)
            .map(|(_, role)| role)
            .next()
    }
}

/// A change to a machine or a program, and the comparison that shows what it brings.
///
/// The sentence of the report is `CHANGE: GAIN (figure instead of figure).`, and
/// `KEEP: ...` if it brings too little:
///
/// > Use SQLite's write-ahead log and keep its file: 6.1 times the inserts a second (1,820/s
/// > instead of 298/s).
#[derive(Debug, Clone, PartialEq)]
pub struct AdviceSpec {
    change: String,
    keep: String,
    how: &'static str,
    measured: String,
    gain: String,
    least: f64,
    before: Option<FigureRef>,
    after: Option<FigureRef>,
    etui: Option<FigureRef>,
    counted: Option<Counted>,
}

/// A counter of the same change, which repeats where times vary.
#[derive(Debug, Clone, PartialEq)]
struct Counted {
    gain: String,
    before: FigureRef,
    after: FigureRef,
}

impl AdviceSpec {
    /// Advice to make a change: an imperative without a full stop, for a reader who does not know
    /// the study.
    pub fn new(change: impl Into<String>) -> Self {
        Self {
            change: change.into(),
            keep: String::new(),
            how: "",
            measured: String::new(),
            gain: String::new(),
            least: LEAST_GAIN,
            before: None,
            after: None,
            etui: None,
            counted: None,
        }
    }

    /// Sets the imperative for a machine where the change brings too little. Without it the
    /// advice is then left out.
    #[must_use]
    pub fn or_else(mut self, keep: impl Into<String>) -> Self {
        self.keep = keep.into();
        self
    }

    /// Sets how the change is made: settings, calls.
    #[must_use]
    pub fn how(mut self, how: &'static str) -> Self {
        self.how = how;
        self
    }

    /// Sets what is measured, and where, e.g. `Durable inserts of 100 bytes, on ext4`.
    #[must_use]
    pub fn measured(mut self, measured: impl Into<String>) -> Self {
        self.measured = measured.into();
        self
    }

    /// Sets what there is more or less of. For a rate or an amount its name in the plural:
    /// `inserts a second`, `flushes`; for a time the operation that takes it: `a batch`.
    #[must_use]
    pub fn gain(mut self, gain: impl Into<String>) -> Self {
        self.gain = gain.into();
        self
    }

    /// Sets the least factor from which the change is worth making; 1.1 by default.
    #[must_use]
    pub fn worth_from(mut self, factor: f64) -> Self {
        self.least = factor;
        self
    }

    /// Compares two arms of a group by a measure: as it is, and with the change.
    #[must_use]
    pub fn compare(
        self,
        group: Option<&GroupKey>,
        measure: &Measure,
        before: impl Into<String>,
        after: impl Into<String>,
    ) -> Self {
        self.before(group, before, measure.clone())
            .after(group, after, measure.clone())
    }

    /// Sets the figure as it is.
    #[must_use]
    pub fn before(
        mut self,
        group: Option<&GroupKey>,
        arm: impl Into<String>,
        measure: Measure,
    ) -> Self {
        self.before = figure_ref(group, arm, measure);
        self
    }

    /// Sets the figure with the change.
    #[must_use]
    pub fn after(
        mut self,
        group: Option<&GroupKey>,
        arm: impl Into<String>,
        measure: Measure,
    ) -> Self {
        self.after = figure_ref(group, arm, measure);
        self
    }

    /// Shows etui's figure of the same work beside the two: the arm that is as durable as they are.
    #[must_use]
    pub fn etui(
        mut self,
        group: Option<&GroupKey>,
        arm: impl Into<String>,
        measure: Measure,
    ) -> Self {
        self.etui = figure_ref(group, arm, measure);
        self
    }

    /// Adds a counter of the same two arms, maybe from another group. It decides where the times do
    /// not: where repetitions disagree.
    #[must_use]
    pub fn counted(
        mut self,
        gain: impl Into<String>,
        group: Option<&GroupKey>,
        measure: &Measure,
    ) -> Self {
        let in_group = |of: &FigureRef| FigureRef {
            group: group.cloned(),
            arm: of.arm.clone(),
            measure: measure.clone(),
        };
        if let (Some(before), Some(after)) = (&self.before, &self.after) {
            self.counted = Some(Counted {
                gain: gain.into(),
                before: in_group(before),
                after: in_group(after),
            });
        }
        self
    }

    /// Returns the advice; none without results, or if the change brings too little and there is
    /// nothing else to say.
    pub(super) fn evaluate(&self, results: &Results) -> Option<Advice> {
        let (before, after) = (self.before.as_ref()?, self.after.as_ref()?);
        let (was, now) = (before.figure(results)?, after.figure(results)?);
        let main = Change::between(&was, &now, &after.measure)?;
        let clear = is_clear(results, before, after, main.factor > 1.0);
        let counted = self.counted.as_ref().and_then(|counted| {
            let (was, now) = (
                counted.before.figure(results)?,
                counted.after.figure(results)?,
            );
            let change = Change::between(&was, &now, &counted.after.measure)?;
            Some((change, counted))
        });
        // What is unclear by the clock is decided by the counter, if there is one.
        let factor = match (clear, &counted) {
            (true, _) => main.factor,
            (false, Some((change, _))) => change.factor,
            (false, None) => 1.0,
        };
        let worth = factor >= self.least;
        let imperative = if worth { &self.change } else { &self.keep };
        if imperative.is_empty() {
            return None;
        }
        let by_counter = counted
            .as_ref()
            .map(|(change, counted)| change.words(&counted.gain));
        let gain = match (clear, by_counter) {
            (true, None) => main.words(&self.gain),
            (true, Some(counted)) => format!("{}; {counted}", main.words(&self.gain)),
            (false, None) => main.unclear_words(),
            (false, Some(counted)) => format!("{counted}; {}", main.unclear_words()),
        };
        let (unit, measured, figures) = match &counted {
            Some((change, counted)) if !clear => {
                let etui = self.etui.as_ref().map(|etui| FigureRef {
                    arm: etui.arm.clone(),
                    ..counted.after.clone()
                });
                let figures = advice_figures(results, &counted.before, &counted.after, &etui);
                let measured = format!("{}: {}", self.measured, counted.gain);
                (change.unit, measured, figures)
            }
            _ => {
                let figures = advice_figures(results, before, after, &self.etui);
                (main.unit, self.measured.clone(), figures)
            }
        };
        Some(Advice {
            worth,
            clear,
            factor,
            change: capitalize(imperative),
            gain,
            how: if worth { self.how } else { "" }.to_owned(),
            measured,
            unit,
            figures,
        })
    }
}

/// Returns the figures of a comparison, for those arms that have them.
fn advice_figures(
    results: &Results,
    before: &FigureRef,
    after: &FigureRef,
    etui: &Option<FigureRef>,
) -> Vec<AdviceFigure> {
    let figures = [
        ("Before", Some(before)),
        ("After", Some(after)),
        ("etui", etui.as_ref()),
    ];
    let figures = figures.into_iter().filter_map(|(title, of)| {
        let of = of?;
        let figure = of.figure(results)?;
        let work = of.group.as_ref().filter(|_| before.group != after.group);
        Some(AdviceFigure {
            title,
            arm: of.arm.clone(),
            work: work.map_or(String::new(), |group| group.work.clone()),
            role: of.role(results)?,
            value: figure.median,
            range: (figure.count > 1).then_some((figure.low, figure.high)),
        })
    });
    figures.collect()
}

fn figure_ref(
    group: Option<&GroupKey>,
    arm: impl Into<String>,
    measure: Measure,
) -> Option<FigureRef> {
    Some(FigureRef {
        group: group.cloned(),
        arm: arm.into(),
        measure,
    })
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

/// Whether nearly all repetitions agree that there is a gain, or that there is none. The two arms
/// of a group are compared within each repetition.
fn is_clear(results: &Results, before: &FigureRef, after: &FigureRef, gain: bool) -> bool {
    let (Some(was), Some(now)) = (&before.group, &after.group) else {
        return false;
    };
    if was != now || before.measure != after.measure {
        return true;
    }
    let was = before.measure.read_values(results, was, &before.arm);
    let now = after.measure.read_values(results, now, &after.arm);
    let pairs = now
        .iter()
        .filter_map(|(at, now)| Some((*was.get(at)?, *now)));
    let more_is_gain = after.measure.better == BetterWhen::More;
    let (mut agree, mut differ) = (0, 0);
    for (was, now) in pairs.filter(|(was, now)| was != now) {
        match ((now > was) == more_is_gain) == gain {
            true => agree += 1,
            false => differ += 1,
        }
    }
    f64::from(agree) >= f64::from(agree + differ) * AGREEING
}

/// What a change does to a figure.
struct Change {
    /// Above 1 if it is a gain.
    factor: f64,
    was: f64,
    now: f64,
    better: BetterWhen,
    unit: Unit,
}

impl Change {
    fn between(was: &Figure, now: &Figure, measure: &Measure) -> Option<Self> {
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
    fn words(&self, of: &str) -> String {
        let [now, was] = [self.now, self.was].map(|of| format_value(of, self.unit));
        let gain = gain_words(self.factor, self.better, self.unit, of);
        format!("{gain} ({now} instead of {was})")
    }

    fn unclear_words(&self) -> String {
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::evaluate::tests::{Run, results};
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
            (1.25, Less, Unit::Bytes, "bytes", "20 % less bytes"),
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

    fn advice(runs: &[Run<'_>]) -> Option<Advice> {
        let results = results(runs);
        let group = results.groups().into_iter().next();
        AdviceSpec::new("use the log")
            .or_else("leave the journal as it is")
            .how("a setting")
            .gain("a save")
            .compare(group.as_ref(), &Measure::wall_time("", "a"), "old", "new")
            .etui(group.as_ref(), "ours", Measure::wall_time("", "a"))
            .evaluate(&results)
    }

    #[test]
    fn a_counter_decides_where_times_disagree() {
        let of = |ns: f64, flushes: f64| [("a/wall_ns", ns), ("a/flush_calls", flushes)];
        let (old, fast, slow) = (of(4e6, 8.0), of(2e6, 2.0), of(7e6, 2.0));
        let runs: Vec<Run<'_>> = (0..2)
            .flat_map(|_| {
                [
                    ("old", 1, ArmRole::AsFound, &old[..]),
                    ("new", 1, ArmRole::Cure, &fast),
                    ("old", 1, ArmRole::AsFound, &old),
                    ("new", 1, ArmRole::Cure, &slow),
                ]
            })
            .collect();
        let results = results(&runs);
        let group = results.groups().into_iter().next();
        let spec = AdviceSpec::new("use the log").gain("a save").compare(
            group.as_ref(),
            &Measure::wall_time("", "a"),
            "old",
            "new",
        );
        assert_eq!(
            spec.evaluate(&results),
            None,
            "unclear, and nothing else to say"
        );
        let flushes = Measure::new("", "a/flush_calls");
        let counted = spec.counted("flushes", group.as_ref(), &flushes);
        let advice = counted.evaluate(&results).unwrap();
        assert!(advice.worth && !advice.clear);
        assert_eq!(
            advice.sentence(),
            "Use the log: 4.0 times fewer flushes (2 instead of 8); the times vary too much to tell \
             (4.50 ms and 4.00 ms)."
        );
        // The figures are those that decide.
        assert_eq!((advice.unit, advice.figures[1].value), (Unit::Count, 2.0));
    }

    #[test]
    fn advice_is_to_change_only_what_gains() {
        let time = |ns: f64| [("a/wall_ns", ns)];
        let gains = |now: f64| {
            advice(&[
                ("old", 1, ArmRole::AsFound, &time(6e6)),
                ("new", 1, ArmRole::Cure, &time(now)),
                ("ours", 1, ArmRole::Etui, &time(1e6)),
            ])
            .unwrap()
        };
        let change = gains(2e6);
        assert!(change.worth);
        assert_eq!(
            change.sentence(),
            "Use the log: a save is 3.0 times as fast (2.00 ms instead of 6.00 ms)."
        );
        assert_eq!(
            (change.how.as_str(), change.figures.len()),
            ("a setting", 3)
        );
        assert_eq!(change.figures[2].value, 1e6);
        let keep = gains(5.8e6);
        assert!(!keep.worth && keep.how.is_empty());
        assert_eq!(
            keep.sentence(),
            "Leave the journal as it is: a save takes 3 % less time (5.80 ms instead of 6.00 ms)."
        );
        assert_eq!(advice(&[]), None);
    }
}
