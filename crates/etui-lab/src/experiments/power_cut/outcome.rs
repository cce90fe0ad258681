//! Power cuts of one arm on one file system: [`cut_arm`].

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::machine::CutMachine;
use super::points::{
    CutPoint, FlushMode, apply_events, apply_survivors, draw_points, durable_length, list_marks,
};
use super::port::CheckedStore;
use crate::device::{DeviceEvent, OverlayDisk};
use crate::{Arm, Error};

/// Findings that are described.
const MAX_FINDINGS: usize = 20;

/// What power cuts left.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ArmOutcome {
    /// Points at which the power failed.
    pub points: u64,
    /// Acknowledged saves, over all points.
    pub acknowledged: u64,
    /// Points at which acknowledged saves were lost.
    pub lossy_points: u64,
    /// Acknowledged saves that were lost, over all points; those of damaged stores are not counted.
    pub lost: u64,
    /// Points with a damaged store.
    pub damaged: u64,
    /// Points with a file system that cannot be mounted.
    pub unmounted: u64,
    /// Writes in doubt, over all points.
    pub in_doubt: u64,
    /// Writes of the recorded run.
    pub writes: u64,
    /// Flushes of the recorded run.
    pub flushes: u64,
    /// The first findings, in words.
    pub findings: Vec<String>,
}

/// Records a run of an arm, cuts the power at points of it, and looks at what is left. `only` is the
/// number of a single point.
pub fn cut_arm(
    machine: &CutMachine,
    arm: &Arm,
    saves: u64,
    progress: &mut dyn FnMut(&CutPoint, &CheckedStore),
) -> Result<ArmOutcome, Error> {
    let settings = &arm.settings;
    let log = machine.record(settings, saves)?;
    let marks = list_marks(&log);
    if marks.last().map(|(_, number)| *number) != Some(saves) {
        return Err(Error::other("the log lacks acknowledgements"));
    }
    let applied = |e: std::io::Error| Error::file("the device's contents", e);
    let whole = Arc::new(OverlayDisk::new(machine.base().clone()));
    apply_events(&log, whole.as_ref()).map_err(applied)?;
    let clean = machine.check(whole, settings, saves)?;
    if clean.saves != Some(saves) || clean.damage.is_some() {
        return Err(Error::other(format!("without a cut: {clean:?}")));
    }
    let flushes = match settings.is("dropped") {
        true => FlushMode::Dropped,
        false => FlushMode::Honoured,
    };
    let mut outcome = ArmOutcome {
        writes: log
            .iter()
            .filter(|event| matches!(event, DeviceEvent::Write { .. }))
            .count() as u64,
        flushes: log
            .iter()
            .filter(|event| **event == DeviceEvent::Flush)
            .count() as u64,
        ..ArmOutcome::default()
    };
    let durable = Arc::new(OverlayDisk::new(machine.base().clone()));
    let mut done = 0;
    for point in draw_points(&log, settings.number("points")?, settings.number("seed")?) {
        let length = durable_length(&log, point.position, flushes).max(done);
        apply_events(&log[done..length], durable.as_ref()).map_err(applied)?;
        done = length;
        let disk = Arc::new(OverlayDisk::new(durable.clone()));
        let in_doubt = apply_survivors(&log, &point, flushes, disk.as_ref()).map_err(applied)?;
        let checked = machine.check(disk, settings, saves)?;
        progress(&point, &checked);
        let before = marks
            .iter()
            .take_while(|(position, _)| *position <= point.position);
        let acknowledged = before.last().map_or(0, |(_, number)| *number);
        outcome.in_doubt += in_doubt as u64;
        outcome.add(&point, acknowledged, &checked);
    }
    Ok(outcome)
}

impl ArmOutcome {
    /// Adds a point.
    fn add(&mut self, point: &CutPoint, acknowledged: u64, checked: &CheckedStore) {
        self.points += 1;
        self.acknowledged += acknowledged;
        let finding = match checked {
            CheckedStore {
                unmounted: Some(reason),
                ..
            } => {
                self.unmounted += 1;
                reason.clone()
            }
            CheckedStore {
                damage: Some(reason),
                ..
            } => {
                self.damaged += 1;
                reason.clone()
            }
            CheckedStore { saves, .. } => {
                let lost = acknowledged.saturating_sub(saves.unwrap_or(0));
                if lost == 0 {
                    return;
                }
                self.lossy_points += 1;
                self.lost += lost;
                format!("{lost} of {acknowledged} acknowledged saves lost")
            }
        };
        if self.findings.len() < MAX_FINDINGS {
            let CutPoint {
                number,
                position,
                survivors,
                ..
            } = point;
            self.findings.push(format!(
                "point {number} (event {position}, {survivors:?}): {finding}"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_and_damage_are_counted_apart() {
        let points = draw_points(&[DeviceEvent::Flush], 4, 1);
        let found = |saves| CheckedStore {
            saves,
            ..CheckedStore::default()
        };
        let mut outcome = ArmOutcome::default();
        outcome.add(&points[0], 7, &found(Some(7)));
        outcome.add(&points[1], 7, &found(Some(8)));
        assert_eq!((outcome.lossy_points, outcome.findings.len()), (0, 0));
        outcome.add(&points[2], 7, &found(Some(5)));
        let damaged = CheckedStore {
            damage: Some("bad".to_owned()),
            ..found(Some(1))
        };
        outcome.add(&points[3], 7, &damaged);
        let unmounted = CheckedStore {
            unmounted: Some("no".to_owned()),
            ..found(None)
        };
        outcome.add(&points[3], 7, &unmounted);
        assert_eq!((outcome.points, outcome.acknowledged), (5, 35));
        assert_eq!((outcome.lossy_points, outcome.lost), (1, 2));
        assert_eq!((outcome.damaged, outcome.unmounted), (1, 1));
        assert!(outcome.findings[0].ends_with("2 of 7 acknowledged saves lost"));
    }
}
