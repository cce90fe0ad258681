//! The guard: the mark in a database's header while its log is needed to read it.
//!
//! ```text
//! 18  u8        write version  \  0xE7 instead of 2: SQLite that does not know better refuses
//! 19  u8        read version   /  a database whose versions are above 2
//! 24  u32       change counter       \  both one higher than before, when the guard is set and
//! 92  u32       version valid for    /  when it is cleared, so that others notice
//! 72  16 bytes  lineage: the same stands in the log that belongs to it
//! 88  4 bytes   "etui"
//! ```
//!
//! These numbers are big-endian, as all of SQLite's. Bytes 72 to 91 are reserved by SQLite and
//! zero in every other database. SQLite itself never sees the guard: [`hide`] takes it out of
//! what is read, [`keep`] puts it into what is written.

const MARK: u8 = 0xe7;
const TAG: &[u8; 4] = b"etui";
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The length of a database's header.
pub(crate) const HEADER: usize = 100;

/// The header's first bytes.
pub(crate) type Bytes = [u8; HEADER];

/// Whether a file that begins so is a database; others are not touched.
pub(crate) fn is_database(begin: &[u8]) -> bool {
    begin.starts_with(MAGIC)
}

/// The lineage of the log that belongs to a guarded database; `None`: it has no guard.
pub(crate) fn lineage(header: &Bytes) -> Option<[u8; 16]> {
    let marked = header[18] == MARK && header[19] == MARK;
    let set = is_database(header) && marked && header[88..92] == *TAG;
    set.then(|| {
        let mut lineage = [0; 16];
        lineage.copy_from_slice(&header[72..88]);
        lineage
    })
}

/// Whether the guard was being set when the write failed: it is there in part. There is no
/// record yet then.
pub(crate) fn is_torn(header: &Bytes) -> bool {
    let marked = header[18] == MARK || header[19] == MARK;
    is_database(header) && lineage(header).is_none() && marked
}

fn count(header: &mut Bytes) {
    let mut counter = [0; 4];
    counter.copy_from_slice(&header[24..28]);
    let counter = u32::from_be_bytes(counter).wrapping_add(1).to_be_bytes();
    header[24..28].copy_from_slice(&counter);
    header[92..96].copy_from_slice(&counter);
}

/// Sets the guard; `counted`: with the change counters.
pub(crate) fn set(header: &mut Bytes, lineage: [u8; 16], counted: bool) {
    keep(header, lineage);
    if counted {
        count(header);
    }
}

/// Clears the guard, also one that is there in part.
pub(crate) fn clear(header: &mut Bytes) {
    hide(header, 0);
    header[72..92].fill(0);
    count(header);
}

/// Takes the guard out of what was read of the database at an offset.
pub(crate) fn hide(bytes: &mut [u8], offset: u64) {
    if offset != 0 {
        return;
    }
    if let Some(versions) = bytes.get_mut(18..20) {
        for version in versions {
            if *version == MARK {
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

/// Puts the guard into a first page that is about to be written.
pub(crate) fn keep(page: &mut [u8], lineage: [u8; 16]) {
    if let Some(header) = page.get_mut(..HEADER) {
        header[18..20].fill(MARK);
        header[72..88].copy_from_slice(&lineage);
        header[88..92].copy_from_slice(TAG);
    }
}

/// The size of the database in pages as its header tells it, if it does.
pub(crate) fn pages(header: &Bytes) -> Option<u32> {
    let mut pages = [0; 4];
    pages.copy_from_slice(&header[28..32]);
    (header[24..28] == header[92..96]).then(|| u32::from_be_bytes(pages))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Bytes {
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
        assert_eq!((lineage(&plain), pages(&plain)), (None, Some(9)));
        let mut guarded = plain;
        set(&mut guarded, [7; 16], true);
        assert_eq!(lineage(&guarded), Some([7; 16]));
        assert!(guarded[18] > 2 && guarded[19] > 2);
        assert_eq!(
            (guarded[26], guarded[27], guarded[94], guarded[95]),
            (1, 0, 1, 0)
        );
        let mut seen = guarded;
        hide(&mut seen, 0);
        assert_eq!((seen[18], seen[19], &seen[72..92]), (2, 2, &[0; 20][..]));
        clear(&mut guarded);
        assert_eq!((lineage(&guarded), guarded[27]), (None, 1));
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
        assert!(lineage(&foreign).is_none() && !is_torn(&foreign));
        let mut bytes = [0xe7; 200];
        hide(&mut bytes, 4096);
        assert_eq!(bytes, [0xe7; 200]);
        let mut short = [0xe7; 10];
        hide(&mut short, 0);
        assert_eq!(short, [0xe7; 10]);
    }
}
