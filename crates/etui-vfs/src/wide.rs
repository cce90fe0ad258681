//! Many bytes at a time.

/// In which of 64 bytes two pages differ, a bit for each, the lowest first.
#[cfg(target_arch = "x86_64")]
pub(crate) fn differing(old: &[u8; 64], new: &[u8; 64]) -> u64 {
    use std::arch::x86_64::{__m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8};
    let part = |part: usize| {
        // SAFETY: every x86-64 processor has SSE2. With `part` below 4 the 16 bytes lie in the
        // 64; they need no alignment.
        unsafe {
            let old: __m128i = _mm_loadu_si128(old.as_ptr().cast::<__m128i>().add(part));
            let new: __m128i = _mm_loadu_si128(new.as_ptr().cast::<__m128i>().add(part));
            u64::from(_mm_movemask_epi8(_mm_cmpeq_epi8(old, new)) as u32) << (16 * part)
        }
    };
    !(part(0) | part(1) | part(2) | part(3))
}

/// The same for other processors.
#[cfg(any(not(target_arch = "x86_64"), test))]
fn differing_by_words(old: &[u8; 64], new: &[u8; 64]) -> u64 {
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

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use differing_by_words as differing;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_byte_that_differs_has_its_bit(
            old in proptest::array::uniform32(any::<u8>()),
            bits in any::<u64>(),
            change in 1..=255_u8,
        ) {
            let mut before = [0; 64];
            before[..32].copy_from_slice(&old);
            let mut after = before;
            for (at, byte) in after.iter_mut().enumerate() {
                if bits >> at & 1 == 1 {
                    *byte ^= change;
                }
            }
            prop_assert_eq!(differing(&before, &after), bits);
            prop_assert_eq!(differing_by_words(&before, &after), bits);
        }
    }
}
