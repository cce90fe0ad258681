//! Trials of proposed changes: each alone, after the others, all together, and with etui's VFS.

use serde::Serialize;

use super::indexes::ScanFinding;
use super::place::Location;
use super::proposals::Proposal;
use super::setup::{JournalMode, Layer, Setup, Synchronous};
use super::trial::{Trial, Trials};
use super::workload::WorkloadSource;
use crate::error::Error;

#[derive(Debug, Clone, Serialize)]
pub struct Measurement {
    pub location: Location,
    pub workload: WorkloadUse,
    pub found: Trial,
    /// Each proposed change alone.
    pub advice: Vec<Advice>,
    /// All changes that are worthwhile, if there are several.
    pub all: Option<Trial>,
    /// All changes, and `synchronous = NORMAL`, which is less durable.
    pub normal: Option<Trial>,
    /// The setup as found, but in WAL mode on etui's VFS; none if several processes used the database at
    /// once.
    pub etui: Option<Trial>,
    /// All changes on etui's VFS.
    pub all_etui: Option<Trial>,
}

/// The workload that was repeated.
#[derive(Debug, Clone, Serialize)]
pub struct WorkloadUse {
    pub source: WorkloadSource,
    pub transactions: u64,
    /// Those that were repeated.
    pub repeated: u64,
    pub rounds: usize,
}

/// A proposal and its measurement.
#[derive(Debug, Clone, Serialize)]
pub struct Advice {
    #[serde(flatten)]
    pub proposal: Proposal,
    pub trial: Trial,
    /// It is worth doing: it gains enough, or it is for safety.
    pub worthwhile: bool,
    /// It gains only when the other changes are made; the trial is compared with those.
    pub after_others: bool,
}

/// Tries each change alone. None if nothing was measured.
pub(super) fn try_alone(
    trials: &mut Trials<'_, '_>,
    found: &Setup,
    proposals: Vec<Proposal>,
    step: &mut dyn FnMut(),
) -> Result<Option<Vec<Advice>>, Error> {
    let mut setups = vec![found.clone()];
    setups.extend(proposals.iter().map(|proposal| proposal.setup.clone()));
    let mut measured = trials.run(&setups, step)?.into_iter();
    let Some(of_found) = measured.next() else {
        return Ok(None);
    };
    let advice = proposals
        .into_iter()
        .zip(measured)
        .map(|(proposal, trial)| {
            let worthwhile = trial.is_worthwhile() || is_for_safety(&proposal);
            Advice {
                worthwhile: worthwhile || saves_space(&proposal, &trial, &of_found),
                after_others: false,
                proposal,
                trial,
            }
        });
    let mut advice: Vec<Advice> = advice.collect();
    advice.sort_by(|a, b| b.trial.ratio.total_cmp(&a.trial.ratio));
    Ok(Some(advice))
}

/// Tries the changes that gain nothing alone again, after the others: the size of pages, say, counts
/// once a commit has many rows.
pub(super) fn try_after_others(
    trials: &mut Trials<'_, '_>,
    found: &Setup,
    advice: &mut [Advice],
    scans: &[ScanFinding],
    step: &mut dyn FnMut(),
) -> Result<(), Error> {
    let Some(all) = Combined::of(found, advice, scans, true).all else {
        return Ok(());
    };
    let mut setups = vec![all.clone()];
    for rejected in advice.iter().filter(|advice| !advice.worthwhile) {
        let mut setup = all.clone();
        (rejected.proposal.apply)(&mut setup, &rejected.proposal.setup);
        setups.push(setup);
    }
    if setups.len() == 1 {
        return Ok(());
    }
    // The first setup of these rounds is that of the other changes, so all are compared with it.
    let measured = trials.run(&setups, step)?;
    let rejected = advice.iter_mut().filter(|advice| !advice.worthwhile);
    for (rejected, trial) in rejected.zip(measured.into_iter().skip(1)) {
        if trial.is_worthwhile() {
            rejected.worthwhile = true;
            rejected.after_others = true;
            rejected.trial = trial;
        }
    }
    Ok(())
}

fn is_for_safety(proposal: &Proposal) -> bool {
    matches!(proposal.id, "safe-journal" | "synchronous")
}

fn saves_space(proposal: &Proposal, trial: &Trial, found: &Trial) -> bool {
    proposal.id == "vacuum" && trial.file_bytes * 10 < found.file_bytes * 9
}

/// The worthwhile changes together, and with etui's VFS.
pub(super) struct Combined {
    pub all: Option<Setup>,
    pub normal: Option<Setup>,
    pub etui: Option<Setup>,
    pub all_etui: Option<Setup>,
}

impl Combined {
    /// With `shared`, several processes use the database at once, which etui's VFS refuses.
    pub fn of(found: &Setup, advice: &[Advice], scans: &[ScanFinding], shared: bool) -> Self {
        let mut all = found.clone();
        let worthwhile: Vec<&Advice> = advice.iter().filter(|advice| advice.worthwhile).collect();
        for advice in &worthwhile {
            (advice.proposal.apply)(&mut all, &advice.proposal.setup);
        }
        let indexes = scans.iter().filter_map(|scan| scan.index.as_ref());
        all.schema.extend(indexes.map(|index| index.sql.clone()));
        let changed = all != *found;
        let on_etui = |setup: &Setup| Setup {
            journal_mode: JournalMode::Wal,
            layer: Layer::Etui,
            pragmas: without_locking(&setup.pragmas),
            ..setup.clone()
        };
        let wal_full = all.journal_mode == JournalMode::Wal && all.synchronous >= Synchronous::Full;
        Self {
            normal: wal_full.then(|| Setup {
                synchronous: Synchronous::Normal,
                ..all.clone()
            }),
            etui: (!shared).then(|| on_etui(found)),
            all_etui: (changed && !shared).then(|| on_etui(&all)),
            all: changed.then_some(all),
        }
    }

    pub fn setups(&self, found: &Setup) -> Vec<Setup> {
        let mut setups = vec![found.clone()];
        setups.extend(self.all.clone());
        setups.extend(self.normal.clone());
        setups.extend(self.etui.clone());
        setups.extend(self.all_etui.clone());
        setups
    }
}

/// etui's VFS has the database alone in any case, and shares it within the process.
fn without_locking(pragmas: &[(String, String)]) -> Vec<(String, String)> {
    let keeps = |pragma: &&(String, String)| pragma.0 != "locking_mode";
    pragmas.iter().filter(keeps).cloned().collect()
}
