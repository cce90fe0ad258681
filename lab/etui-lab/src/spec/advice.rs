//! Advice: a change that the reader can make, stated with what it brings on this machine.
//!
//! - here: its declaration;
//! - [`evaluation`]: whether results support it;
//! - [`gain`]: the words of a gain.

mod evaluation;
mod gain;

use super::Measure;
use crate::ArmRole;
use crate::results::{Figure, GroupKey, Results};

/// A change is worth making from this factor on, if the experiment does not say otherwise.
const LEAST_GAIN: f64 = 1.1;

/// A figure of the comparison: a measure of an arm.
#[derive(Debug, Clone, PartialEq)]
struct FigureRef {
    group: Option<GroupKey>,
    arm: String,
    measure: Measure,
}

impl FigureRef {
    fn new(group: Option<&GroupKey>, arm: impl Into<String>, measure: Measure) -> Self {
        Self {
            group: group.cloned(),
            arm: arm.into(),
            measure,
        }
    }

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
/// `KEEP: if you CHANGE, GAIN (...).` if it brings too little:
///
/// > Use SQLite's write-ahead log and keep its file: 6.1 times the inserts a second (1,820/s
/// > instead of 298/s).
#[derive(Debug, Clone, PartialEq)]
pub struct AdviceSpec {
    change: String,
    keep: String,
    how: &'static str,
    about_etui: bool,
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
            about_etui: false,
            measured: String::new(),
            gain: String::new(),
            least: LEAST_GAIN,
            before: None,
            after: None,
            etui: None,
            counted: None,
        }
    }

    setters! {
        /// Sets the imperative for a machine where the change brings too little. Without it the
        /// advice is then left out.
        or_else(keep: impl Into<String>);
        /// Sets how the change is made: settings, calls.
        how(how: &'static str);
        /// Sets what is measured, and where, e.g. `Durable inserts of 100 bytes, on ext4`.
        measured(measured: impl Into<String>);
        /// Sets what there is more or less of. For a rate or an amount its name in the plural:
        /// `inserts a second`, `flushes`; for a time the operation that takes it: `a batch`.
        gain(gain: impl Into<String>);
        /// Sets the least factor from which the change is worth making; 1.1 by default.
        worth_from(least: f64);
    }

    /// Marks advice for users of etui, or of a product that etui may replace. The report lists it
    /// after that for any program.
    #[must_use]
    pub fn about_etui(mut self) -> Self {
        self.about_etui = true;
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
        self.before = Some(FigureRef::new(group, arm, measure));
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
        self.after = Some(FigureRef::new(group, arm, measure));
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
        self.etui = Some(FigureRef::new(group, arm, measure));
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
}
