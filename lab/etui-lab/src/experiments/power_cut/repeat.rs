//! The command that repeats points of a recorded run.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use super::file_systems::{DEVICE_BYTES, FileSystem};
use super::machine::CutMachine;
use super::outcome::{Cuts, list_points};
use super::points::apply_events;
use super::record::CutRecord;
use crate::device::FileDisk;
use crate::{Error, output};

/// Arguments of the command.
#[derive(Debug, clap::Args)]
pub struct RepeatCutArgs {
    /// A record that `power-cut` has kept
    record: PathBuf,
    /// Numbers of points; without any: all
    points: Vec<u64>,
}

impl RepeatCutArgs {
    /// Repeats the points; exit code 3 if one has losses or damage.
    pub fn run(&self) -> Result<ExitCode, Error> {
        let record = CutRecord::read(&self.record)?;
        let header = &record.header;
        let file_system = FileSystem::by_name(&header.file_system)?;
        let mut points = list_points(&header.arm, &record.log)?;
        if !self.points.is_empty() {
            points.retain(|point| self.points.contains(&point.number));
        }
        let dir = tempfile::tempdir().map_err(|e| Error::file("a temporary directory", e))?;
        let base = FileDisk::create(&dir.path().join("base"), DEVICE_BYTES)?;
        apply_events(&record.base, &base).map_err(|e| Error::file(&self.record, e))?;
        let machine = CutMachine::boot(file_system, Arc::new(base), dir.path())?;
        let mut cuts = Cuts::new(&machine, &header.arm, header.saves, &record.log)?;
        let mut code = ExitCode::SUCCESS;
        for point in points {
            let cut = cuts.cut(&point)?;
            let finding = cut.describe();
            if finding.is_some() {
                code = ExitCode::from(3);
            }
            output::print_line(format_args!(
                "{point}: {} acknowledged, {} writes in doubt: {}",
                cut.acknowledged,
                cut.in_doubt,
                finding.as_deref().unwrap_or("all there")
            ))?;
        }
        Ok(code)
    }
}
