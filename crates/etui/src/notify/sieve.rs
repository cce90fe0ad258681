//! [`Sieve`]: most views a change does not concern, told without a comparison.
//!
//! A filter that looks for a text needs every pair of adjacent bytes that the text has. What
//! pairs a record's keys have is noted once, in a Bloom filter of one hash; a view whose text has
//! a pair that is not noted is left out. With 1,000 filters open that makes the difference
//! between falling behind an import and keeping up with it (`cargo bench -p etui --bench views`).

/// Bits of the noted pairs. Keys of the usual length (200 to 300 bytes) fill a sixth of them.
const BITS: u32 = 1_024;
/// Pairs asked for at the most: after these next to nothing is left.
const ASKED: usize = 8;

/// The bit of a pair (Fibonacci hashing).
fn bit(a: u8, b: u8) -> u16 {
    let pair = u32::from(a) << 8 | u32::from(b);
    (pair.wrapping_mul(0x9e37_79b1) >> (32 - BITS.trailing_zeros())) as u16
}

/// Which pairs of adjacent bytes some keys have; perhaps more of them.
pub(super) struct Pairs([u64; (BITS / 64) as usize]);

impl Pairs {
    pub(super) fn of(keys: &[u8]) -> Self {
        let mut bits = [0; (BITS / 64) as usize];
        for (&a, &b) in keys.iter().zip(keys.iter().skip(1)) {
            let bit = bit(a, b);
            bits[usize::from(bit / 64)] |= 1u64 << (bit % 64);
        }
        Self(bits)
    }

    fn have(&self, bit: u16) -> bool {
        self.0[usize::from(bit / 64)] >> (bit % 64) & 1 == 1
    }
}

/// What keys need to have so that a comparison is worth while: all pairs of one of several texts.
pub(crate) struct Sieve(Vec<Vec<u16>>);

impl Sieve {
    /// Nothing passes.
    pub(crate) const NOTHING: Self = Self(Vec::new());

    /// Everything passes.
    pub(crate) fn everything() -> Self {
        Self(vec![Vec::new()])
    }

    /// Keys that have this text in them pass.
    pub(crate) fn text(text: &[u8]) -> Self {
        let mut bits: Vec<u16> = text
            .iter()
            .zip(text.iter().skip(1))
            .map(|(&a, &b)| bit(a, b))
            .take(ASKED)
            .collect();
        bits.dedup();
        Self(vec![bits])
    }

    /// What passes one of these passes.
    pub(crate) fn any(sieves: impl IntoIterator<Item = Self>) -> Self {
        Self(sieves.into_iter().flat_map(|s| s.0).collect())
    }

    /// How much it keeps back: pairs asked for in the least of its texts.
    pub(crate) fn fineness(&self) -> usize {
        self.0.iter().map(Vec::len).min().unwrap_or(usize::MAX)
    }

    /// Whether these keys have to be compared.
    #[cfg(test)]
    pub(crate) fn passes_keys(&self, keys: &[u8]) -> bool {
        self.passes(&Pairs::of(keys))
    }

    /// Whether keys with these pairs have to be compared.
    pub(super) fn passes(&self, pairs: &Pairs) -> bool {
        self.0
            .iter()
            .any(|text| text.iter().all(|&b| pairs.have(b)))
    }
}
