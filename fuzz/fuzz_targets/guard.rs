//! Any bytes in a database's header, beside a log that belongs to it, one that does not, or
//! none: the log is replayed, or refused without a change, or ignored.

#![no_main]

use etui_fuzz::killed::{check, killed, seal_headers, seal_records};
use etui_fuzz::reference::{BLOCK, guard, u64_at};
use libfuzzer_sys::fuzz_target;

/// Bits of the second byte.
const JOURNAL: u8 = 1 << 3;
const WAL: u8 = 1 << 4;
const WHOLE: u8 = 1 << 5;

fuzz_target!(|data: &[u8]| {
    let [which, how, edits @ ..] = data else {
        return;
    };
    let all = killed();
    let of = |n: u8| &all[usize::from(n) % all.len()];
    let killed = of(*which);
    let mut database = killed.database.clone();
    if how & WHOLE != 0 {
        // The whole file, or a prefix.
        let len = edits.len().min(database.len());
        database[..len].copy_from_slice(&edits[..len]);
        if which & 0x80 != 0 {
            database.truncate(len);
        }
    } else {
        for edit in edits.chunks_exact(2) {
            database[usize::from(edit[0]) % 100] = edit[1];
        }
    }
    let mut log = killed.log.clone();
    match how & 7 {
        // Missing, foreign, ended.
        1 => log.clear(),
        2 => log = of(which.wrapping_add(1)).log.clone(),
        3 => fill(&mut log, 44, &[0; 4]),
        // The database's own, whatever the lineage in its header.
        4 => {
            if let Some(lineage) = guard(&database) {
                fill(&mut log, 24, &lineage);
                seal_records(&mut log, &database, true);
            }
        }
        // With another page size.
        5 => {
            let size = edits
                .iter()
                .fold(0_u32, |size, byte| size.rotate_left(5) ^ u32::from(*byte));
            fill(&mut log, 40, &size.to_le_bytes());
        }
        // Without a header.
        6 => log[..2 * BLOCK].fill(0),
        // Used by a later session, which ended it.
        7 => {
            let at = usize::from(edits.first().copied().unwrap_or(0)) % 2 * BLOCK;
            let epoch = u64_at(&log, at + 16).max(u64_at(&log, BLOCK - at + 16));
            log[at + 16..at + 24].copy_from_slice(&epoch.to_le_bytes());
            log[at + 44..at + 48].fill(0);
            let other = BLOCK - at;
            log[other + 16..other + 24].copy_from_slice(&(epoch + 1).to_le_bytes());
            log[other + 24..other + 40].fill(7);
            if which & 0x40 != 0 {
                log[2 * BLOCK + 8..2 * BLOCK + 16].copy_from_slice(&(epoch + 1).to_le_bytes());
            }
            seal_headers(&mut log);
            seal_records(&mut log, &database, true);
        }
        _ => {}
    }
    let log = (how & 7 != 1).then_some(&log[..]);
    check(&database, log, how & JOURNAL != 0, how & WAL != 0);
});

/// Sets a field in both headers of the log.
fn fill(log: &mut [u8], at: usize, field: &[u8]) {
    for slot in [0, BLOCK] {
        log[slot + at..slot + at + field.len()].copy_from_slice(field);
    }
    seal_headers(log);
}
