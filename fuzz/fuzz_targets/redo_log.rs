//! Any bytes as a redo log, or a good log with changed bytes and corrected
//! hashes: the database is recovered as the log specifies, or refused and unchanged.

#![no_main]

use etui_fuzz::killed::{check, killed, seal_headers, seal_records};
use etui_fuzz::reference::{BLOCK, Outcome, RECORDS};
use libfuzzer_sys::fuzz_target;

/// Bits of the first byte.
const RAW: u8 = 1 << 2;
const SEAL_HEADERS: u8 = 1 << 3;
const SEAL_RECORDS: u8 = 1 << 4;
const SEAL_PAGES: u8 = 1 << 5;
const HALF_CHECKPOINTED: u8 = 1 << 6;

/// Maximum length of a log.
const LONGEST: usize = 1 << 18;

fuzz_target!(|data: &[u8]| {
    let [how, edits @ ..] = data else {
        return;
    };
    let killed = &killed()[usize::from(how & 3) % 3];
    if how & RAW != 0 {
        check(&killed.database, Some(edits), false, false);
        return;
    }
    let mut edits = Edits(edits);
    let mut database = match how & HALF_CHECKPOINTED {
        0 => killed.database.clone(),
        _ => killed.half_checkpointed(edits.number(8)),
    };
    let mut log = killed.log.clone();
    let in_database = edits.apply(&mut log, &mut database);
    if how & SEAL_HEADERS != 0 {
        seal_headers(&mut log);
    }
    if how & SEAL_RECORDS != 0 {
        seal_records(&mut log, &database, how & SEAL_PAGES != 0);
    }
    let whole = log == killed.log;
    let outcome = check(&database, Some(&log), false, false);
    let Outcome::Is(after) = outcome else {
        assert!(!whole || in_database, "a good log is refused");
        return;
    };
    // Damage without corrected hashes: a transaction is applied as a whole or not at all.
    let sealed = how & (SEAL_HEADERS | SEAL_RECORDS) != 0 && !whole;
    if sealed || in_database || (how & HALF_CHECKPOINTED != 0 && !whole) {
        return;
    }
    let state = killed.states.iter().position(|state| *state == after);
    assert!(state.is_some(), "half a transaction");
    assert!(!whole || state == Some(killed.states.len() - 1));
});

/// The changes, read from the front.
struct Edits<'a>(&'a [u8]);

impl Edits<'_> {
    fn number(&mut self, bytes: usize) -> u64 {
        let (taken, rest) = self.0.split_at(bytes.min(self.0.len()));
        self.0 = rest;
        taken
            .iter()
            .rev()
            .fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    /// Returns true if the database was changed.
    fn apply(&mut self, log: &mut Vec<u8>, database: &mut [u8]) -> bool {
        let mut in_database = false;
        for _ in 0..64 {
            if self.0.is_empty() {
                break;
            }
            let what = self.number(1);
            let at = self.number(2) as usize;
            match what % 8 {
                // One or more bytes.
                0 => {
                    let byte = self.number(1) as u8;
                    if let Some(to) = log.get_mut(at) {
                        *to = byte;
                    }
                }
                1 => {
                    let len = self.number(1) as usize % 64;
                    for n in 0..len {
                        let byte = self.number(1) as u8;
                        if let Some(to) = log.get_mut(at + n) {
                            *to = byte;
                        }
                    }
                }
                // A field of a block's head, where records begin, or of a header.
                2 | 3 => {
                    let begin = at % 16 * BLOCK + (at / 16 % 18) * 4;
                    let wide = what & 8 != 0;
                    let value = self.number(if wide { 8 } else { 4 }).to_le_bytes();
                    let len = if wide { 8 } else { 4 };
                    if let Some(to) = log.get_mut(begin..begin + len) {
                        to.copy_from_slice(&value[..len]);
                    }
                }
                // A number near a record's start, incremented or decremented.
                4 => {
                    let begin = RECORDS + at % 16 * BLOCK + at / 16 % 256;
                    let by = self.number(1) as u8;
                    if let Some(to) = log.get_mut(begin) {
                        *to = to.wrapping_add(by);
                    }
                }
                // One block copied over another.
                5 => {
                    let (from, to) = (at % 32 * BLOCK, at / 32 % 32 * BLOCK);
                    if from + BLOCK <= log.len() && to + BLOCK <= log.len() {
                        log.copy_within(from..from + BLOCK, to);
                    }
                }
                // Truncated or extended.
                6 => log.resize((at * 4).min(LONGEST), self.number(1) as u8),
                _ => {
                    let byte = self.number(1) as u8;
                    // The header belongs to the other target.
                    if at >= 100
                        && let Some(to) = database.get_mut(at)
                        && *to != byte
                    {
                        *to = byte;
                        in_database = true;
                    }
                }
            }
        }
        in_database
    }
}
