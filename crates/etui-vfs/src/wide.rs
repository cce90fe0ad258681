//! Comparing pages, many bytes at a time: this is most of what a commit costs the processor.

/// Ranges closer than this are one: in a record the head of a range takes at least two bytes.
const NEAR: u32 = 4;

/// What is skipped at once where it is equal.
const SKIPPED: usize = 256;

/// How bytes are compared.
trait Compare {
    /// Whether two pieces of a page are the same.
    fn same(old: &[u8; SKIPPED], new: &[u8; SKIPPED]) -> bool;

    /// In which bytes they differ: a bit for each, the lowest first.
    fn differing(old: &[u8; 64], new: &[u8; 64]) -> u64;
}

/// For all processors.
struct Words;

impl Compare for Words {
    fn same(old: &[u8; SKIPPED], new: &[u8; SKIPPED]) -> bool {
        old == new
    }

    fn differing(old: &[u8; 64], new: &[u8; 64]) -> u64 {
        const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
        let (old, new) = (old.as_chunks::<8>().0, new.as_chunks::<8>().0);
        let mut all = 0;
        for word in 0..8 {
            let changed = u64::from_le_bytes(old[word]) ^ u64::from_le_bytes(new[word]);
            // The high bit of each byte that is not zero, and then these bits side by side.
            let high = (((changed & LOW) + LOW) | changed) & !LOW;
            let bits = (high >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
            all |= bits << (8 * word);
        }
        all
    }
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::{
        __m256i, _mm256_and_si256, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8,
    };

    use super::{Compare, SKIPPED, search};

    /// For processors with AVX2.
    struct Avx2;

    /// Which of 32 bytes are the same, all bits of a byte set if it is.
    ///
    /// # Safety
    ///
    /// The processor has AVX2, and both have 32 bytes from `at` on.
    #[inline(always)]
    unsafe fn equal(old: &[u8], new: &[u8], at: usize) -> __m256i {
        // SAFETY: as the caller promises; these reads need no alignment.
        unsafe {
            let old = _mm256_loadu_si256(old.as_ptr().add(at).cast());
            let new = _mm256_loadu_si256(new.as_ptr().add(at).cast());
            _mm256_cmpeq_epi8(old, new)
        }
    }

    impl Compare for Avx2 {
        #[inline(always)]
        fn same(old: &[u8; SKIPPED], new: &[u8; SKIPPED]) -> bool {
            // SAFETY: this is only used by `differences`, where there is AVX2; 256 bytes are
            // eight times 32.
            unsafe {
                let mut all = equal(old, new, 0);
                for part in 1..SKIPPED / 32 {
                    all = _mm256_and_si256(all, equal(old, new, 32 * part));
                }
                _mm256_movemask_epi8(all) == -1
            }
        }

        #[inline(always)]
        fn differing(old: &[u8; 64], new: &[u8; 64]) -> u64 {
            // SAFETY: as above; 64 bytes are two times 32.
            let (low, high) = unsafe {
                (
                    _mm256_movemask_epi8(equal(old, new, 0)) as u32,
                    _mm256_movemask_epi8(equal(old, new, 32)) as u32,
                )
            };
            !(u64::from(low) | u64::from(high) << 32)
        }
    }

    /// As [`super::differences`].
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    pub(super) fn differences(before: &[u8], after: &[u8], ranges: &mut Vec<(u32, u32)>) {
        search::<Avx2>(before, after, ranges);
    }

    /// Whether this processor has what [`differences`] needs.
    pub(super) fn is_there() -> bool {
        is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
    }
}

/// Closes the gaps of up to three zeros between ones, except near the highest bit.
#[inline(always)]
fn closed(bits: u64) -> u64 {
    // Each one with the three above it, and then of these what the three above have as well.
    let mut wide = bits | bits << 1;
    wide |= wide << 2;
    let mut narrow = wide & wide >> 1;
    narrow &= narrow >> 2;
    bits | narrow
}

/// The ranges in which two pages of one size differ, as begin and end. Sizes are multiples of
/// 256.
pub(crate) fn differences(before: &[u8], after: &[u8], ranges: &mut Vec<(u32, u32)>) {
    #[cfg(target_arch = "x86_64")]
    if x86_64::is_there() {
        // SAFETY: the processor has what it needs.
        unsafe { x86_64::differences(before, after, ranges) };
        return;
    }
    search::<Words>(before, after, ranges);
}

#[inline(always)]
fn search<C: Compare>(before: &[u8], after: &[u8], ranges: &mut Vec<(u32, u32)>) {
    ranges.clear();
    // What begins before here belongs to the last range.
    let mut near = 0_u32;
    let (before, _) = before.as_chunks::<SKIPPED>();
    let (after, _) = after.as_chunks::<SKIPPED>();
    let mut begin = 0_u32;
    for (before, after) in before.chunks(64).zip(after.chunks(64)) {
        // First all that is equal is skipped: a bit for each piece that is not.
        let mut pieces = 0_u64;
        for (piece, (old, new)) in before.iter().zip(after).enumerate() {
            pieces |= u64::from(!C::same(old, new)) << piece;
        }
        while pieces != 0 {
            let piece = pieces.trailing_zeros();
            pieces &= pieces - 1;
            let (Some(old), Some(new)) = (before.get(piece as usize), after.get(piece as usize))
            else {
                break;
            };
            let mut at = begin + piece * SKIPPED as u32;
            for (old, new) in old.as_chunks().0.iter().zip(new.as_chunks().0) {
                let bits = C::differing(old, new);
                // Gaps that this leaves are closed below, one by one.
                let mut left = if bits == 0 { 0 } else { closed(bits) };
                while left != 0 {
                    let first = at + left.trailing_zeros();
                    let behind = left.wrapping_add(left & left.wrapping_neg());
                    let end = at + behind.trailing_zeros();
                    left &= behind;
                    match ranges.last_mut() {
                        Some(last) if first < near => last.1 = end,
                        _ => ranges.push((first, end)),
                    }
                    near = end + NEAR;
                }
                at += 64;
            }
        }
        begin += 64 * SKIPPED as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What is found, byte by byte.
    fn plainly(before: &[u8], after: &[u8]) -> Vec<(u32, u32)> {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for at in (0..before.len()).filter(|at| before[*at] != after[*at]) {
            let at = at as u32;
            match ranges.last_mut() {
                Some((_, end)) if at < *end + NEAR => *end = at + 1,
                _ => ranges.push((at, at + 1)),
            }
        }
        ranges
    }

    #[test]
    fn the_largest_pages_are_searched_to_their_ends() {
        let page = vec![3; 65_536];
        let mut after = page.clone();
        let ranges = [(0, 1), (16_380, 16_390), (40_000, 40_700), (65_535, 65_536)];
        for (begin, end) in ranges {
            after[begin as usize..end as usize].fill(4);
        }
        let mut found = Vec::new();
        differences(&page, &after, &mut found);
        assert_eq!(found, ranges);
        search::<Words>(&page, &after, &mut found);
        assert_eq!(found, ranges);
    }

    proptest! {
        #[test]
        fn all_ways_find_the_same(
            page in proptest::collection::vec(any::<u8>(), 1024),
            writes in proptest::collection::vec((0..1024_usize, 1..300_usize, 1..9_usize), 0..30),
        ) {
            let mut after = page.clone();
            for (begin, len, step) in writes {
                let places = (begin..begin + len).step_by(step).filter(|at| *at < 1024);
                places.for_each(|at| after[at] = page[at].wrapping_add(begin as u8));
            }
            let expected = plainly(&page, &after);
            let mut ranges = Vec::new();
            differences(&page, &after, &mut ranges);
            prop_assert_eq!(&ranges, &expected);
            search::<Words>(&page, &after, &mut ranges);
            prop_assert_eq!(&ranges, &expected);
        }
    }
}
