//! The header marker: a mark in the database header while the database needs its log.
//!
//! ```text
//! 18  u8        write version  \  0xE7 instead of 2: plain SQLite refuses a database whose versions
//! 19  u8        read version   /  are above 2
//! 24  u32       change counter       \  both one higher than before, when the marker is set and when
//! 92  u32       version valid for    /  it is cleared, so that other connections notice
//! 72  16 bytes  lineage: equal to that in the log of the database
//! 88  4 bytes   "etui"
//! ```
//!
//! The numbers are big-endian, like all of SQLite's. SQLite reserves bytes 72 to 91, which are zero
//! in all other databases. Connections of the redo log never see the marker: [`hide`] removes it from bytes
//! read, [`keep`] adds it to bytes written.

use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;

use libsqlite3_sys as ffi;

use crate::sqlite_file::SqliteFile;

/// The beginning of each of the two headers of a log, and the length of a header's block.
const LOG_MAGIC: &[u8; 16] = b"etui redo log 1\n";
const LOG_BLOCK: u64 = 4096;

const MARK: u8 = 0xe7;
const TAG: &[u8; 4] = b"etui";
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Bytes of a database header.
pub const HEADER: usize = 100;

/// The bytes of a database header.
pub type HeaderBytes = [u8; HEADER];

/// Returns true if a file with this header is a database; others are not changed.
pub fn is_database(begin: &[u8]) -> bool {
    begin.starts_with(MAGIC)
}

/// Returns the lineage of a marked database's log; `None`: there is no marker.
pub fn log_lineage(header: &HeaderBytes) -> Option<[u8; 16]> {
    let marked = header[18] == MARK && header[19] == MARK;
    let set = is_database(header) && marked && header[88..92] == *TAG;
    set.then(|| {
        let mut lineage = [0; 16];
        lineage.copy_from_slice(&header[72..88]);
        lineage
    })
}

/// Returns true if the marker is incomplete, as a write of it failed. There is no record then.
pub fn is_torn(header: &HeaderBytes) -> bool {
    let marked = header[18] == MARK || header[19] == MARK;
    is_database(header) && log_lineage(header).is_none() && marked
}

fn count(header: &mut HeaderBytes) {
    let mut counter = [0; 4];
    counter.copy_from_slice(&header[24..28]);
    let counter = u32::from_be_bytes(counter).wrapping_add(1).to_be_bytes();
    header[24..28].copy_from_slice(&counter);
    // SQLite takes the size in the header for valid only if this equals the change counter.
    header[92..96].copy_from_slice(&counter);
}

/// Sets the marker; with `counted`, also the change counters.
pub fn set(header: &mut HeaderBytes, lineage: [u8; 16], counted: bool) {
    keep(header, lineage);
    if counted {
        count(header);
    }
}

/// Clears the marker, also an incomplete one.
pub fn clear(header: &mut HeaderBytes) {
    hide(header, 0);
    header[72..92].fill(0);
    count(header);
}

/// Removes the marker from bytes that were read from the database at an offset.
pub fn hide(bytes: &mut [u8], offset: u64) {
    if offset != 0 {
        return;
    }
    if let Some(versions) = bytes.get_mut(18..20) {
        for version in versions {
            if *version == MARK {
                // 2: a database in WAL mode.
                *version = 2;
            }
        }
    }
    if let Some(reserved) = bytes.get_mut(72..92)
        && reserved.ends_with(TAG)
    {
        reserved.fill(0);
    }
}

/// Adds the marker to a first page before it is written.
pub fn keep(page: &mut [u8], lineage: [u8; 16]) {
    if let Some(header) = page.get_mut(..HEADER) {
        header[18..20].fill(MARK);
        header[72..88].copy_from_slice(&lineage);
        header[88..92].copy_from_slice(TAG);
    }
}

/// Returns the size of the database in pages by its header, if the header has it.
pub fn pages(header: &HeaderBytes) -> Option<u32> {
    let mut pages = [0; 4];
    pages.copy_from_slice(&header[28..32]);
    (header[24..28] == header[92..96]).then(|| u32::from_be_bytes(pages))
}

/// Returns the lineage of the log of a database file; `None`: it has no marker, or cannot be read.
pub fn of_file(database: &CStr) -> Option<[u8; 16]> {
    let path = Path::new(OsStr::from_bytes(database.to_bytes()));
    let flags = ffi::SQLITE_OPEN_MAIN_DB | ffi::SQLITE_OPEN_READONLY;
    // By SQLite's own VFS, which keeps its locks of this process when the file is closed.
    let file = SqliteFile::open_by(c"unix", path, flags).ok()?;
    let mut header = [0; HEADER];
    let read = file.read_at(&mut header, 0).ok()?;
    log_lineage(&header).filter(|_| read == HEADER)
}

/// Returns the reason why a database with a marker is not opened without its redo log, and the remedy.
pub fn refusal(lineage: [u8; 16], log: &Path) -> String {
    let name = log.display();
    let Ok(file) = File::open(log) else {
        return if log.exists() {
            format!("its last changes are in {name}, which cannot be read")
        } else {
            format!(
                "its last changes are in {name}, which is not there; put it back, or restore a backup"
            )
        };
    };
    let is_of_lineage = |slot: u64| {
        let mut header = [0; 40];
        let read = file.read_exact_at(&mut header, slot * LOG_BLOCK);
        read.is_ok() && header.starts_with(LOG_MAGIC) && header[24..] == lineage
    };
    match is_of_lineage(0) || is_of_lineage(1) {
        true => format!(
            "its last changes are in {name}, a redo log; recover it by SQLite with etui's extension \
             (`SELECT etui_recover('FILE')`), or open it with a program that has the redo log"
        ),
        false => format!(
            "its last changes are not in {name}, which is damaged, or belongs to another database or to \
             another copy of this one; put the log that belongs to it there, or restore a backup"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> HeaderBytes {
        let mut header = [0; HEADER];
        header[..16].copy_from_slice(MAGIC);
        header[18..20].fill(2);
        header[24..28].copy_from_slice(&[0, 0, 0, 255]);
        header[28..32].copy_from_slice(&[0, 0, 0, 9]);
        header[92..96].copy_from_slice(&[0, 0, 0, 255]);
        header
    }

    #[test]
    fn a_guard_is_set_hidden_and_cleared() {
        let plain = header();
        assert_eq!((log_lineage(&plain), pages(&plain)), (None, Some(9)));
        let mut guarded = plain;
        set(&mut guarded, [7; 16], true);
        assert_eq!(log_lineage(&guarded), Some([7; 16]));
        assert!(guarded[18] > 2 && guarded[19] > 2);
        assert_eq!(
            (guarded[26], guarded[27], guarded[94], guarded[95]),
            (1, 0, 1, 0)
        );
        let mut seen = guarded;
        hide(&mut seen, 0);
        assert_eq!((seen[18], seen[19], &seen[72..92]), (2, 2, &[0; 20][..]));
        clear(&mut guarded);
        assert_eq!((log_lineage(&guarded), guarded[27]), (None, 1));
    }

    #[test]
    fn a_guard_that_is_there_in_part_is_cleared() {
        let plain = header();
        let mut guarded = plain;
        set(&mut guarded, [7; 16], true);
        assert!(!is_torn(&plain) && !is_torn(&guarded));
        for written in [19, 50, 80, 90] {
            let mut torn = plain;
            torn[..written].copy_from_slice(&guarded[..written]);
            assert!(is_torn(&torn), "{written}");
            clear(&mut torn);
            assert_eq!((torn[18], torn[19], &torn[72..92]), (2, 2, &[0; 20][..]));
            assert_eq!(pages(&torn), Some(9));
        }
    }

    #[test]
    fn other_bytes_are_let_alone() {
        let foreign = [MARK; HEADER];
        assert!(log_lineage(&foreign).is_none() && !is_torn(&foreign));
        let mut bytes = [0xe7; 200];
        hide(&mut bytes, 4096);
        assert_eq!(bytes, [0xe7; 200]);
        let mut short = [0xe7; 10];
        hide(&mut short, 0);
        assert_eq!(short, [0xe7; 10]);
    }
}
