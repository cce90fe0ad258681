//! [`crash`]: the disks that a power cut can leave, at every point of a history.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::ControlFlow;

use etui_vfs::device::Role;

use super::history::{DiskEvent, DiskFiles, DiskHistory};
use super::pending::{CrashUnit, PendingState};
use super::platform::RecordingDisk;
use crate::rng::SplitMix64;

/// Up to this number of uncertain writes, all subsets are made.
const ALL_SUBSETS: usize = 6;

/// Parameters for the selection of images.
#[derive(Debug, Clone)]
pub struct CrashPlan {
    /// Bytes that the device writes atomically: 512 or 4096.
    pub sector: u64,
    /// Approximate maximum of images for one point of the history.
    pub per_point: usize,
    /// Points between flushes that are tried too, per mille.
    pub between: u32,
    /// The role of files in which, in some images, one unflushed sector is damaged:
    /// neither old nor new.
    pub torn: Option<Role>,
    /// Seed of the selection.
    pub seed: u64,
}

/// A disk after a power cut.
#[derive(Debug)]
pub struct CrashImage<'a> {
    /// Number of events before the cut.
    pub after: usize,
    /// The files on the disk.
    pub files: DiskFiles,
    atoms: &'a [CrashUnit],
    kept: Vec<bool>,
    torn: Option<&'a CrashUnit>,
}

impl CrashImage<'_> {
    /// Returns a disk with these files, on which a new history begins.
    pub fn disk(&self) -> RecordingDisk {
        RecordingDisk::from_files(self.files.clone())
    }

    /// Returns the number of unflushed writes that are present, and their total.
    pub fn kept(&self) -> (usize, usize) {
        let kept = self.kept.iter().filter(|kept| **kept).count();
        (kept, self.kept.len())
    }
}

impl fmt::Display for CrashImage<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kept, all) = self.kept();
        write!(
            to,
            "after {} events; of {all} unflushed changes {kept} are there",
            self.after
        )?;
        let mut last = None;
        for (atom, kept) in self.atoms.iter().zip(&self.kept) {
            if last != Some(atom.event()) {
                write!(to, "\n  event {}:", atom.event())?;
                last = Some(atom.event());
            }
            let kept = match kept {
                _ if self.torn == Some(atom) => '#',
                true => '+',
                false => '-',
            };
            match atom {
                CrashUnit::Sector { sector, .. } => write!(to, " {kept}{sector}")?,
                CrashUnit::Size { .. } => write!(to, " {kept}size")?,
                CrashUnit::Name { path, .. } => write!(to, " {kept}{}", path.display())?,
            }
        }
        Ok(())
    }
}

/// Makes images of the history and passes each to `visit`, until it returns a break.
/// Points: before every flush, after every mark, and a share of the other events ([`CrashPlan::between`]).
pub fn crash(
    history: &DiskHistory,
    plan: &CrashPlan,
    mut visit: impl FnMut(&CrashImage) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut pending = PendingState::new(&history.start, plan.sector);
    let mut rng = SplitMix64::new(plan.seed);
    for after in 0..=history.events.len() {
        let next = history.events.get(after);
        let last = after.checked_sub(1).and_then(|at| history.events.get(at));
        let is_point = matches!(
            next,
            None | Some(DiskEvent::Sync { .. } | DiskEvent::SyncDirectory { .. })
        ) || matches!(last, Some(DiskEvent::Mark(_)));
        if is_point || rng.chance(plan.between) {
            point(history, &pending, after, plan, &mut rng, &mut visit)?;
        }
        if let Some(event) = next {
            pending.apply(after, event);
        }
    }
    ControlFlow::Continue(())
}

fn point(
    history: &DiskHistory,
    pending: &PendingState,
    after: usize,
    plan: &CrashPlan,
    rng: &mut SplitMix64,
    visit: &mut impl FnMut(&CrashImage) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let atoms = pending.atoms();
    let mut seen = BTreeSet::new();
    for kept in choices(&atoms, plan.per_point, rng) {
        if seen.contains(&kept) {
            continue;
        }
        visit(&CrashImage {
            after,
            files: pending.files(&atoms, &kept),
            atoms: &atoms,
            kept: kept.clone(),
            torn: None,
        })?;
        seen.insert(kept);
    }
    let may_tear = |atom: &&CrashUnit| match atom {
        CrashUnit::Sector { file, .. } => {
            plan.torn.is_some()
                && history.roles.get(file).copied() == plan.torn
                && pending.is_under_way(atom)
        }
        _ => false,
    };
    let torn: Vec<&CrashUnit> = atoms.iter().filter(may_tear).collect();
    if torn.is_empty() {
        return ControlFlow::Continue(());
    }
    for kept in seen.into_iter().take(1 + plan.per_point / 4) {
        let torn = torn[rng.below(torn.len() as u32) as usize];
        let mut files = pending.files(&atoms, &kept);
        pending.tear(&mut files, torn);
        visit(&CrashImage {
            after,
            files,
            atoms: &atoms,
            kept,
            torn: Some(torn),
        })?;
    }
    ControlFlow::Continue(())
}

/// Returns the subsets to try: all of them if few; else none, all, and samples that are likely to
/// expose mistakes.
fn choices(atoms: &[CrashUnit], limit: usize, rng: &mut SplitMix64) -> Vec<Vec<bool>> {
    let count = atoms.len();
    if count <= ALL_SUBSETS {
        let subset = |bits: u32| (0..count).map(|at| bits >> at & 1 == 1).collect();
        return (0..1_u32 << count).map(subset).collect();
    }
    let mut all = vec![vec![false; count], vec![true; count]];
    let files = groups(atoms, |atom| match atom {
        CrashUnit::Sector { file, .. } | CrashUnit::Size { file, .. } => u64::from(*file),
        CrashUnit::Name { .. } => u64::MAX,
    });
    if files.len() > 1 {
        for group in &files {
            all.push(only(count, group));
            all.push(without(count, group));
        }
    }
    let events = groups(atoms, |atom| atom.event() as u64);
    while all.len() < limit {
        all.push(sample(count, &events, rng));
    }
    all
}

/// Draws one subset of a random kind.
fn sample(count: usize, events: &[Vec<usize>], rng: &mut SplitMix64) -> Vec<bool> {
    let half = |group: &[usize], second: bool| -> Vec<usize> {
        let (first, last) = group.split_at(group.len() / 2);
        if second { last } else { first }.to_vec()
    };
    let group = &events[rng.below(events.len() as u32) as usize];
    let first = group.first().copied().unwrap_or(0);
    let last = group.last().copied().unwrap_or(0);
    match rng.below(10) {
        // A prefix of the writes.
        0 => (0..count).map(|at| at <= last).collect(),
        // A prefix, whose last write is torn.
        1 => {
            let torn = half(group, rng.chance(500));
            (0..count)
                .map(|at| at < first || torn.contains(&at))
                .collect()
        }
        // One write missing, alone present, or torn with or without everything else.
        2 => without(count, group),
        3 => only(count, group),
        4 => without(count, &half(group, rng.chance(500))),
        5 => only(count, &half(group, rng.chance(500))),
        // One sector, size or name: alone missing, alone present.
        6 => without(count, &[rng.below(count as u32) as usize]),
        7 => only(count, &[rng.below(count as u32) as usize]),
        // Random subsets, dense or sparse.
        8 => (0..count).map(|_| rng.chance(500)).collect(),
        _ => {
            let density = if rng.chance(500) { 100 } else { 900 };
            (0..count).map(|_| rng.chance(density)).collect()
        }
    }
}

fn groups(atoms: &[CrashUnit], key: impl Fn(&CrashUnit) -> u64) -> Vec<Vec<usize>> {
    let mut groups = std::collections::BTreeMap::<u64, Vec<usize>>::new();
    for (at, atom) in atoms.iter().enumerate() {
        groups.entry(key(atom)).or_default().push(at);
    }
    groups.into_values().collect()
}

fn only(count: usize, group: &[usize]) -> Vec<bool> {
    let mut kept = vec![false; count];
    for at in group {
        kept[*at] = true;
    }
    kept
}

fn without(count: usize, group: &[usize]) -> Vec<bool> {
    only(count, group).iter().map(|kept| !kept).collect()
}
