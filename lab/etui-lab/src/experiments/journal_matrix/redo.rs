//! The VFS `etui` in the matrix: inserts while flushes are slow, beside
//! the cost of one block and one flush.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::rows::{ROW, THERE, id_of, row_content};
use super::{SLOW_FLUSH, UPDATE, mode_arms};
use crate::{Arm, ArmRole, Error, Recorder, RunCase};

/// Not SQLite: the lower bound of a durable commit.
pub(super) const FLOOR: &str = "a block and a flush, no database";

const BLOCK: usize = 4096;

/// Returns the arms that wait for flushes: a journal, logs, and the floor.
pub(super) fn slow_arms() -> Vec<Arm> {
    let mut arms = mode_arms(UPDATE);
    arms.retain(|arm| !arm.settings.is("fsync"));
    arms.push(Arm::new(FLOOR, ArmRole::Peer, ""));
    arms
}

/// For each row a block, written in place over zeros and flushed.
pub(super) fn write_floor(case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
    let path = recorder.dir().join("blocks.db");
    let failed = |e| Error::file(&path, e);
    let mut file = File::options();
    let file = file.read(true).write(true).create_new(true).open(&path);
    let file = file.map_err(failed)?;
    let mut block = [0; BLOCK];
    for at in 0..case.size {
        file.write_all_at(&block, at * BLOCK as u64)
            .map_err(failed)?;
    }
    file.sync_all().map_err(failed)?;
    recorder.phase("work", || {
        for at in 0..case.size {
            block[..ROW].copy_from_slice(&row_content(THERE + at, ROW));
            file.write_all_at(&block, at * BLOCK as u64)
                .map_err(failed)?;
            file.sync_data().map_err(failed)?;
            std::thread::sleep(SLOW_FLUSH);
        }
        Ok(())
    })?;
    recorder.record("work/asked_flushes", case.size as f64);
    // The rows that a database has beforehand, and those that were written.
    for id in 0..THERE + case.size {
        let mut row = row_content(id, ROW);
        if let Some(at) = id.checked_sub(THERE) {
            file.read_exact_at(&mut row, at * BLOCK as u64)
                .map_err(failed)?;
        }
        recorder.answer(id_of(id).to_le_bytes());
        recorder.answer(&row);
    }
    Ok(())
}
