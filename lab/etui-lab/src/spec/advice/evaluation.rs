//! Whether results support a piece of advice, and the figures that it compares.

use super::gain::FigureChange;
use super::{AdviceSpec, FigureRef};
use crate::report::content::{Advice, AdviceFigure, BetterWhen};
use crate::results::Results;
use crate::spec::capitalize;

/// Part of the repetitions that must agree for a difference to be clear.
const AGREEING: f64 = 0.8;

impl AdviceSpec {
    /// Returns the advice; none without results, or if the change brings too little and there is
    /// nothing else to say.
    pub(in crate::spec) fn evaluate(&self, results: &Results) -> Option<Advice> {
        let (before, after) = (self.before.as_ref()?, self.after.as_ref()?);
        let (was, now) = (before.figure(results)?, after.figure(results)?);
        let main = FigureChange::between(&was, &now, &after.measure)?;
        let clear = is_clear(results, before, after, main.factor > 1.0);
        let counted = self.counted.as_ref().and_then(|counted| {
            let (was, now) = (
                counted.before.figure(results)?,
                counted.after.figure(results)?,
            );
            let change = FigureChange::between(&was, &now, &counted.after.measure)?;
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
        let gain = match (clear, &by_counter) {
            (true, None) => main.words(&self.gain),
            (true, Some(counted)) => format!("{}; {counted}", main.words(&self.gain)),
            (false, None) => main.unclear_words(),
            (false, Some(counted)) => format!("{counted}; {}", main.unclear_words()),
        };
        // The figures are those of the change, not of the advice to leave it.
        let gain = match worth || (!clear && by_counter.is_none()) {
            true => gain,
            false => format!("if you {}, {gain}", self.change),
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
            about_etui: self.about_etui,
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::ArmRole;
    use crate::report::content::Unit;
    use crate::spec::Measure;
    use crate::spec::evaluate::tests::{Run, results};

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
            "Leave the journal as it is: if you use the log, a save takes 3 % less time (5.80 ms instead of \
             6.00 ms)."
        );
        assert_eq!(advice(&[]), None);
    }
}
