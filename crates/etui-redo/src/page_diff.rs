//! [`differing_ranges`]: the ranges in which two images of a page differ. Most of the CPU time of a
//! commit is spent here.

/// The minimum gap between two ranges. A range header takes at least two bytes in a record, so that
/// shorter gaps are logged as part of a range.
const MIN_GAP: u32 = 4;

/// The size of a chunk. Equal chunks are skipped.
const CHUNK: usize = 256;

/// Returns a mask of the bytes that differ, the first byte in the lowest bit.
fn differing_bytes(before: &[u8; 64], after: &[u8; 64]) -> u64 {
    const LOW_BITS: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let (before, after) = (before.as_chunks::<8>().0, after.as_chunks::<8>().0);
    let mut mask = 0;
    for (word, (before, after)) in before.iter().zip(after).enumerate() {
        let changed = u64::from_le_bytes(*before) ^ u64::from_le_bytes(*after);
        // Sets the high bit of each byte that is not zero, then gathers these bits in one byte.
        let high = (((changed & LOW_BITS) + LOW_BITS) | changed) & !LOW_BITS;
        let bits = (high >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        mask |= bits << (8 * word);
    }
    mask
}

/// Closes gaps of up to three zeros between ones, except next to the highest bit.
fn close_gaps(bits: u64) -> u64 {
    // Sets the three bits above each one, then clears a bit unless the three above it are set.
    let mut wide = bits | bits << 1;
    wide |= wide << 2;
    let mut narrow = wide & wide >> 1;
    narrow &= narrow >> 2;
    bits | narrow
}

/// Stores the ranges in which two pages of equal size differ, as begin and end. Page sizes are
/// multiples of 256.
pub(crate) fn differing_ranges(before: &[u8], after: &[u8], ranges: &mut Vec<(u32, u32)>) {
    ranges.clear();
    // A range that begins before this offset is merged with the last one.
    let mut merge_limit = 0_u32;
    let chunks = before
        .as_chunks::<CHUNK>()
        .0
        .iter()
        .zip(after.as_chunks::<CHUNK>().0);
    for (chunk, (before, after)) in chunks.enumerate() {
        if before == after {
            continue;
        }
        let mut offset = (chunk * CHUNK) as u32;
        for (before, after) in before.as_chunks().0.iter().zip(after.as_chunks().0) {
            // `close_gaps` leaves some gaps next to the highest bit; `merge_limit` closes them.
            let mut mask = close_gaps(differing_bytes(before, after));
            while mask != 0 {
                let begin = offset + mask.trailing_zeros();
                // Adding the lowest one carries through its run of ones to the first zero after it.
                let carried = mask.wrapping_add(mask & mask.wrapping_neg());
                let end = offset + carried.trailing_zeros();
                mask &= carried;
                match ranges.last_mut() {
                    Some(last) if begin < merge_limit => last.1 = end,
                    _ => ranges.push((begin, end)),
                }
                merge_limit = end + MIN_GAP;
            }
            offset += 64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The reference: byte by byte.
    fn reference(before: &[u8], after: &[u8]) -> Vec<(u32, u32)> {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for at in (0..before.len()).filter(|at| before[*at] != after[*at]) {
            let at = at as u32;
            match ranges.last_mut() {
                Some((_, end)) if at < *end + MIN_GAP => *end = at + 1,
                _ => ranges.push((at, at + 1)),
            }
        }
        ranges
    }

    #[test]
    fn largest_pages_are_compared_to_their_ends() {
        let page = vec![3; 65_536];
        let mut after = page.clone();
        let expected = [(0, 1), (16_380, 16_390), (40_000, 40_700), (65_535, 65_536)];
        for (begin, end) in expected {
            after[begin as usize..end as usize].fill(4);
        }
        let mut ranges = Vec::new();
        differing_ranges(&page, &after, &mut ranges);
        assert_eq!(ranges, expected);
    }

    proptest! {
        #[test]
        fn matches_the_reference(
            page in proptest::collection::vec(any::<u8>(), 1024),
            writes in proptest::collection::vec((0..1024_usize, 1..300_usize, 1..9_usize), 0..30),
        ) {
            let mut after = page.clone();
            for (begin, len, step) in writes {
                let offsets = (begin..begin + len).step_by(step).filter(|at| *at < 1024);
                offsets.for_each(|at| after[at] = page[at].wrapping_add(begin as u8));
            }
            let mut ranges = Vec::new();
            differing_ranges(&page, &after, &mut ranges);
            prop_assert_eq!(&ranges, &reference(&page, &after));
        }
    }
}
