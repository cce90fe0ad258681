//! Arms whose SQLite goes through the VFS `etui`, and what that counted of their saves.

use std::time::Duration;

use etui_vfs::Vfs;

use super::Shelf;
use crate::error::Error;
use crate::present::{Cell, Column, Row, Table};
use crate::report::numbers::whole;
use crate::results::{GroupKey, Results};
use crate::{Meter, Role, Settings, redo, stats};

/// Bytes in a block of the redo log.
const BLOCK: f64 = 4096.0;

/// The VFS of an arm of plain SQLite that asks for it.
pub fn of(settings: &Settings) -> Result<Option<Vfs>, Error> {
    match settings.is("redo") {
        true => Ok(Some(redo::register(redo::options(), Duration::ZERO)?)),
        false => Ok(None),
    }
}

/// Saves records singly; records what the VFS counted of all, and what a save took of the log.
pub fn saves(
    meter: &mut Meter,
    vfs: &Vfs,
    shelf: &mut dyn Shelf,
    from: u64,
    count: u64,
) -> Result<(), Error> {
    let before = vfs.counters();
    let mut blocks = Vec::new();
    for at in from..from + count {
        let earlier = vfs.counters();
        shelf.singles(at, 1)?;
        blocks.push(vfs.counters().since(&earlier).blocks as f64 * BLOCK);
    }
    redo::record(meter, "saves", &vfs.counters().since(&before));
    if let Some(median) = stats::median(&blocks) {
        meter.record("save_one/vfs_median_block_bytes", median);
    }
    Ok(())
}

/// What the VFS counted of an arm's saves into so many records.
pub fn counted(results: &Results, group: &GroupKey, arm: &str, records: &str) -> Table {
    const SHOWN: [(&str, &str); 8] = [
        ("pages compared", "saves/vfs_pages_compared"),
        ("pages whole", "saves/vfs_pages_whole"),
        ("bytes compared", "saves/vfs_compared_bytes"),
        ("logged", "saves/vfs_logged_bytes"),
        ("log bytes", "saves/vfs_log_write_bytes"),
        ("log flushes", "saves/vfs_log_flushes"),
        ("database bytes", "saves/vfs_database_write_bytes"),
        ("database flushes", "saves/vfs_database_flushes"),
    ];
    let saves = results
        .setting(group, arm, "saves")
        .and_then(|saves| saves.as_f64())
        .unwrap_or(1.0)
        .max(1.0);
    let figure = |measure: &str| results.median(group, arm, measure);
    let Some(median) = figure("save_one/vfs_median_block_bytes") else {
        return Table::default();
    };
    let mut columns = vec![Column::bytes("blocks, median")];
    let mut cells = vec![Cell::of(Some(median))];
    for (title, measure) in SHOWN {
        let bytes = measure.ends_with("_bytes");
        columns.push(if bytes {
            Column::bytes(title)
        } else {
            Column::count(title)
        });
        cells.push(Cell::of(figure(measure).map(|value| value / saves)));
    }
    Table {
        title: format!(
            "What the VFS etui counted of a save into {} {records}",
            whole(group.size)
        ),
        caption: "Means but for the first; what checkpoints wrote meanwhile is in the database's \
                  bytes and flushes."
            .to_owned(),
        columns,
        rows: vec![Row {
            label: arm.to_owned(),
            role: Role::Peer,
            cells,
        }],
    }
}
