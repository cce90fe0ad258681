//! The VFS `etui` in the matrix: what it counted itself, and inserts while flushes are slow, beside
//! what one block and one flush cost.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::contact::PLAIN_REDO;
use super::present::{BYTES, EXT4, FLUSHES, KIB, Matrix, WALL, title};
use super::rows::{ROW, THERE, content, id_of};
use super::{
    CONTACT, CURED, DELETE, INSERT, MODES, Mode, REDO, SLOW, SLOW_FLUSH, THUMBNAILS, UPDATE,
};
use crate::{
    Arm, Better, Case, Cell, Column, Error, Meter, Role, Row, Settings, Table, Unit, stacks,
};

/// Not SQLite: what a durable commit costs at least.
pub(super) const FLOOR: &str = "a block and a flush, no database";

const BLOCK: usize = 4096;

/// What waits for flushes: a journal, logs, and the floor.
pub(super) fn slow_arms() -> Vec<Arm> {
    let modes = MODES.iter().filter(|mode| mode.always && !mode.fsync);
    let mut arms: Vec<Arm> = modes.map(Mode::arm).collect();
    arms.push(Arm::new(FLOOR, Role::Peer, Settings::new()));
    arms
}

/// For each row a block, written in place over zeros and flushed.
pub(super) fn floor(case: &Case, meter: &mut Meter) -> Result<(), Error> {
    let path = meter.dir().join("blocks.db");
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
    meter.phase("work", || {
        for at in 0..case.size {
            block[..ROW].copy_from_slice(&content(THERE + at, ROW));
            file.write_all_at(&block, at * BLOCK as u64)
                .map_err(failed)?;
            file.sync_data().map_err(failed)?;
            std::thread::sleep(SLOW_FLUSH);
        }
        Ok(())
    })?;
    meter.record("work/asked_flushes", case.size as f64);
    // The rows that a database has beforehand, and those that were written.
    for id in 0..THERE + case.size {
        let mut row = content(id, ROW);
        if let Some(at) = id.checked_sub(THERE) {
            file.read_exact_at(&mut row, at * BLOCK as u64)
                .map_err(failed)?;
        }
        meter.answer(id_of(id).to_le_bytes());
        meter.answer(&row);
    }
    Ok(())
}

impl Matrix<'_> {
    /// Inserts while flushes are slow.
    pub(super) fn slow(&self) -> Table {
        let groups = [stacks::RAM, stacks::HERE];
        let Some(group) = groups.iter().find_map(|stack| self.group(SLOW, stack)) else {
            return Table::default();
        };
        let rows = self.results.arms(&group).into_iter();
        let rows = rows.map(|(label, role)| {
            let ratio = self.results.ratio(&group, &label, FLOOR, WALL);
            Row {
                cells: vec![
                    self.per_second(&group, &label),
                    Cell::of(self.each(&group, &label, "work/asked_flushes")),
                    Cell {
                        range: ratio.map(|ratio| (ratio.low, ratio.high)),
                        ..Cell::of(ratio.map(|ratio| ratio.median))
                    },
                ],
                label,
                role,
            }
        });
        Table {
            title: title(SLOW).to_owned(),
            caption: format!(
                "On the stack `{}`; each flush takes {} ms longer than it does. The last column \
                 is the time, as so many times that of writing one block in place and flushing \
                 it as slowly.",
                group.stack,
                SLOW_FLUSH.as_millis()
            ),
            columns: vec![
                Column::new("a second", Unit::PerSecond, Better::More),
                Column::count("flushes, each"),
                Column::new("of one flush's time", Unit::Ratio, Better::Less),
            ],
            rows: rows.collect(),
        }
    }

    /// What the VFS counted, for each transaction of a work.
    pub(super) fn counted(&self) -> Table {
        const SHOWN: [(&str, &str); 9] = [
            ("pages compared", "work/vfs_pages_compared"),
            ("pages whole", "work/vfs_pages_whole"),
            ("logged", "work/vfs_logged_bytes"),
            ("blocks of 4 KiB", "work/vfs_blocks"),
            ("log writes", "work/vfs_log_writes"),
            ("log flushes", "work/vfs_log_flushes"),
            ("checkpoints", "work/vfs_checkpoints"),
            ("database bytes", "work/vfs_database_write_bytes"),
            (
                "then checkpoint bytes",
                "checkpoint/vfs_database_write_bytes",
            ),
        ];
        let works = [INSERT, UPDATE, DELETE, THUMBNAILS, CONTACT];
        let rows = works.into_iter().filter_map(|work| {
            let group = [EXT4, stacks::HERE, stacks::RAM]
                .iter()
                .find_map(|stack| self.group(work, stack))?;
            let arm = match work {
                CONTACT => PLAIN_REDO,
                _ => REDO,
            };
            let cells: Vec<Cell> = SHOWN
                .iter()
                .map(|(_, measure)| Cell::of(self.each(&group, arm, measure)))
                .collect();
            let counted = cells.iter().any(|cell| cell.value.is_some());
            counted.then(|| Row {
                label: title(work).to_owned(),
                role: Role::Etui,
                cells,
            })
        });
        Table {
            title: "What the VFS etui counted, each".to_owned(),
            caption: "Its own counters, on ext4 where that was run. A page is compared with the \
                one before it and its differences are logged; one that has none before it is \
                logged whole. The redo log's first epoch of the work has a flush of its own. \
                Contacts are checkpointed by SQLite itself, within the work; all else after it."
                .to_owned(),
            columns: SHOWN
                .iter()
                .map(|(name, measure)| {
                    Column::new(*name, crate::measure::about(measure).0, Better::Less)
                })
                .collect(),
            rows: rows.collect(),
        }
    }

    /// The VFS beside the recycled log, in a sentence.
    pub(super) fn redo(&self) -> Option<String> {
        let mut parts = Vec::new();
        for work in [INSERT, UPDATE, DELETE] {
            let Some(group) = self.group(work, EXT4) else {
                continue;
            };
            let each = |arm, measure| self.each(&group, arm, measure);
            let (Some(bytes), Some(flushes), Some(stock)) =
                (each(REDO, BYTES), each(REDO, FLUSHES), each(CURED, BYTES))
            else {
                continue;
            };
            parts.push(format!(
                "{work} {:.1} KiB and {flushes:.2} flushes against {:.1} KiB",
                bytes / KIB,
                stock / KIB
            ));
        }
        let here = self
            .group(INSERT, EXT4)
            .or_else(|| self.group(INSERT, stacks::HERE));
        let time = here.and_then(|group| {
            let ratio = self.results.ratio(&group, CURED, REDO, WALL)?;
            Some(format!(
                "{:.2} times as many inserts a second on {} ({:.2} to {:.2})",
                ratio.median, group.stack, ratio.low, ratio.high
            ))
        });
        parts.extend(time);
        (!parts.is_empty()).then(|| {
            format!(
                "SQLite's WAL through etui's VFS (`{REDO}`) beside `{CURED}`: {}.",
                parts.join(", ")
            )
        })
    }
}
