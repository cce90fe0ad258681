//! Power cuts of one arm on one file system: [`cut_arm`].

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::machine::CutMachine;
use super::points::{
    CutPoint, FlushMode, apply_events, apply_survivors, draw_points, durable_length, is_write,
    list_marks,
};
use super::port::CheckedStore;
use super::record::CutRecord;
use crate::device::{DeviceEvent, OverlayDisk, SECTOR_BYTES};
use crate::{Arm, ArmSettings, Error};

/// Findings that are described.
const MAX_FINDINGS: usize = 20;

/// The outcome of the power cuts of an arm.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
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
    /// Points with a file system that was repaired before it could be mounted.
    pub repaired: u64,
    /// Points with a file system that cannot be mounted, or has no repair here.
    pub unmounted: u64,
    /// Writes in doubt, over all points.
    pub in_doubt: u64,
    /// Writes of the recorded run.
    pub writes: u64,
    /// Flushes of the recorded run.
    pub flushes: u64,
    /// The first findings that an arm should not have, in words.
    pub findings: Vec<String>,
}

/// Records a run of an arm, cuts the power at points of it, and checks the store after each. If a point
/// breaks the arm's promise, the record is kept in `records`.
pub fn cut_arm(
    machine: &CutMachine,
    arm: &Arm,
    saves: u64,
    records: &Path,
) -> Result<ArmOutcome, Error> {
    let log = machine.record(&arm.settings, saves)?;
    let mut cuts = Cuts::new(machine, arm, saves, &log)?;
    cuts.check_whole()?;
    let mut outcome = ArmOutcome {
        writes: log.iter().filter(|event| is_write(event)).count() as u64,
        flushes: log
            .iter()
            .filter(|event| **event == DeviceEvent::Flush)
            .count() as u64,
        ..ArmOutcome::default()
    };
    for point in list_points(arm, &log)? {
        let cut = cuts.cut(&point)?;
        outcome.add(&point, &cut, arm);
    }
    if outcome.breaks_promise(arm) {
        let file_system = machine.file_system().name;
        let words = arm.name.split(|c: char| !c.is_ascii_alphanumeric());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let path = records.join(format!("{file_system}-{}.record", words.join("-")));
        let base = machine.base().as_ref();
        CutRecord::new(file_system, arm, saves, base, log)?.write(&path)?;
        let mut text = outcome.findings.join("\n");
        text.push_str("\nTo repeat a point: etui-lab power-cut-repeat FILE.record NUMBER\n");
        let path = path.with_extension("txt");
        fs::write(&path, text).map_err(|e| Error::file(&path, e))?;
    }
    Ok(outcome)
}

pub fn list_points(arm: &Arm, log: &[DeviceEvent]) -> Result<Vec<CutPoint>, Error> {
    let (points, seed) = (arm.settings.number("points")?, arm.settings.number("seed")?);
    Ok(draw_points(log, points, seed))
}

/// A recorded run that is cut, at one point after the other.
pub struct Cuts<'m> {
    machine: &'m CutMachine,
    settings: &'m ArmSettings,
    saves: u64,
    log: &'m [DeviceEvent],
    marks: Vec<(usize, u64)>,
    flushes: FlushMode,
    tear_unit: u64,
    /// The durable events at the latest point, and their number.
    durable: (Arc<OverlayDisk>, usize),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Cut {
    /// Saves that were acknowledged.
    pub acknowledged: u64,
    /// Writes in doubt.
    pub in_doubt: u64,
    pub checked: CheckedStore,
}

impl<'m> Cuts<'m> {
    /// A recorded run of an arm.
    pub fn new(
        machine: &'m CutMachine,
        arm: &'m Arm,
        saves: u64,
        log: &'m [DeviceEvent],
    ) -> Result<Self, Error> {
        let marks = list_marks(log);
        if marks.last().map(|(_, number)| *number) != Some(saves) {
            return Err(Error::other("the record lacks acknowledgements"));
        }
        let flushes = match arm.settings.is("dropped") {
            true => FlushMode::Dropped,
            false => FlushMode::Honoured,
        };
        let tear_unit = match arm.settings.number("tear")? {
            0 => machine.file_system().tear_unit,
            unit => unit.next_multiple_of(SECTOR_BYTES),
        };
        Ok(Self {
            machine,
            settings: &arm.settings,
            saves,
            log,
            marks,
            flushes,
            tear_unit,
            durable: (Arc::new(OverlayDisk::new(machine.base().clone())), 0),
        })
    }

    /// Looks at the store at the end of the run.
    fn check_whole(&self) -> Result<(), Error> {
        let whole = Arc::new(OverlayDisk::new(self.machine.base().clone()));
        apply_events(self.log, whole.as_ref()).map_err(applied)?;
        let clean = self.machine.check(whole, self.settings, self.saves)?;
        match clean.saves == Some(self.saves) && clean.damage.is_none() {
            true => Ok(()),
            false => Err(Error::other(format!("without a cut: {clean:?}"))),
        }
    }

    /// Cuts at a point, not before the latest.
    pub fn cut(&mut self, point: &CutPoint) -> Result<Cut, Error> {
        let (durable, done) = &mut self.durable;
        let length = durable_length(self.log, point.position, self.flushes).max(*done);
        apply_events(&self.log[*done..length], durable.as_ref()).map_err(applied)?;
        *done = length;
        let disk = Arc::new(OverlayDisk::new(durable.clone()));
        let in_doubt =
            apply_survivors(self.log, point, self.flushes, self.tear_unit, disk.as_ref());
        let in_doubt = in_doubt.map_err(applied)? as u64;
        let before = self.marks.iter();
        let before = before.take_while(|(position, _)| *position <= point.position);
        Ok(Cut {
            acknowledged: before.last().map_or(0, |(_, number)| *number),
            in_doubt,
            checked: self.machine.check(disk, self.settings, self.saves)?,
        })
    }
}

fn applied(error: std::io::Error) -> Error {
    Error::file("the device's contents", error)
}

impl Cut {
    /// Acknowledged saves that the store lacks.
    pub fn lost(&self) -> u64 {
        match self.checked.saves {
            Some(saves) => self.acknowledged.saturating_sub(saves),
            None => 0,
        }
    }

    /// Describes losses, damage and repairs; none if there are none.
    pub fn describe(&self) -> Option<String> {
        let checked = &self.checked;
        let mut words = Vec::new();
        if let Some(reason) = &checked.unmounted {
            words.push(format!("not mounted: {reason}"));
        }
        if checked.repaired {
            words.push("repaired before it could be mounted".to_owned());
        }
        if let Some(reason) = &checked.damage {
            words.push(format!("damaged: {reason}"));
        } else if self.lost() > 0 {
            let (lost, all) = (self.lost(), self.acknowledged);
            words.push(format!("{lost} of {all} acknowledged saves lost"));
        }
        (!words.is_empty()).then(|| words.join("; "))
    }
}

impl ArmOutcome {
    fn add(&mut self, point: &CutPoint, cut: &Cut, arm: &Arm) {
        self.points += 1;
        self.acknowledged += cut.acknowledged;
        self.in_doubt += cut.in_doubt;
        let checked = &cut.checked;
        self.repaired += u64::from(checked.repaired);
        match (&checked.unmounted, &checked.damage, cut.lost()) {
            (Some(_), ..) => self.unmounted += 1,
            (None, Some(_), _) => self.damaged += 1,
            (None, None, 0) => {}
            (None, None, lost) => {
                self.lossy_points += 1;
                self.lost += lost;
            }
        }
        // Losses that an arm does not exclude are no findings.
        let is_intact = !checked.repaired && checked.damage.is_none();
        let is_expected = !arm.settings.is("durable") && is_intact && cut.lost() > 0;
        if let Some(finding) = cut.describe()
            && !is_expected
            && self.findings.len() < MAX_FINDINGS
        {
            self.findings.push(format!("{point}: {finding}"));
        }
    }

    /// Returns true if the arm broke its promise, or its file system was refused.
    fn breaks_promise(&self, arm: &Arm) -> bool {
        let settings = &arm.settings;
        let loses = self.lossy_points > 0 && settings.is("durable");
        (loses || self.damaged + self.unmounted + self.repaired > 0) && !settings.is("dropped")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_and_damage_are_counted_apart() {
        let points = draw_points(&[DeviceEvent::Flush], 5, 1);
        let found = |saves| CheckedStore {
            saves,
            ..CheckedStore::default()
        };
        let damaged = CheckedStore {
            damage: Some("bad".to_owned()),
            ..found(Some(1))
        };
        let unmounted = CheckedStore {
            unmounted: Some("no".to_owned()),
            ..found(None)
        };
        let stores = [
            found(Some(7)),
            found(Some(8)),
            found(Some(5)),
            damaged,
            unmounted,
        ];
        let durable = Arm::new("arm", crate::ArmRole::Etui, "durable");
        let mut outcomes = Vec::new();
        let mut outcome = ArmOutcome::default();
        for (point, checked) in points.iter().zip(stores) {
            let cut = Cut {
                acknowledged: 7,
                in_doubt: 2,
                checked,
            };
            outcome.add(point, &cut, &durable);
            outcomes.push(outcome.clone());
        }
        assert_eq!(
            (outcome.points, outcome.acknowledged, outcome.in_doubt),
            (5, 35, 10)
        );
        assert_eq!((outcome.lossy_points, outcome.lost), (1, 2));
        assert_eq!((outcome.damaged, outcome.unmounted), (1, 1));
        assert_eq!(outcome.findings.len(), 3);
        assert!(outcome.findings[0].ends_with("2 of 7 acknowledged saves lost"));
        let breaks = |settings: &str| {
            let arm = Arm::new("arm", crate::ArmRole::Etui, settings);
            let broken = outcomes
                .iter()
                .position(|outcome| outcome.breaks_promise(&arm));
            broken.unwrap_or(outcomes.len())
        };
        assert_eq!(
            (breaks("durable"), breaks(""), breaks("durable dropped")),
            (2, 3, 5)
        );
    }
}
