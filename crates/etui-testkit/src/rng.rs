//! [`SplitMix64`]: a small pseudo-random sequence that is the same everywhere.

/// The SplitMix64 generator of Steele, Lea and Flood, "Fast Splittable
/// Pseudorandom Number Generators" (OOPSLA 2014), with the constants of
/// Vigna's public-domain reference (prng.di.unimi.it/splitmix64.c).
///
/// Only integer arithmetic, so a seed gives the same sequence on every
/// machine. Not for secrets.
#[derive(Debug, Clone)]
pub struct SplitMix64 {
    state: u64,
}

const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// The output function of SplitMix64: a bijection on 64 bits that spreads
/// every input bit over the whole word.
pub fn mix64(value: u64) -> u64 {
    let mut z = value;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl SplitMix64 {
    /// A sequence that depends on `seed` alone.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The sequence number `index` of the family `seed`; reached directly,
    /// without walking the ones before it.
    pub fn stream(seed: u64, index: u64) -> Self {
        let start = mix64(seed.wrapping_add(GAMMA));
        Self::new(mix64(start.wrapping_add(index.wrapping_mul(GAMMA))))
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GAMMA);
        mix64(self.state)
    }

    /// A number in `0..bound`; 0 if `bound` is 0. The bias is below
    /// `bound / 2^32`, which no test here can see.
    pub fn below(&mut self, bound: u32) -> u32 {
        (((self.next_u64() >> 32) * u64::from(bound)) >> 32) as u32
    }

    /// True `per_mille` times in a thousand.
    pub fn chance(&mut self, per_mille: u32) -> bool {
        self.below(1000) < per_mille
    }

    /// One item of a list, each as likely as the other; the default value if
    /// the list is empty.
    pub fn pick<T: Copy + Default>(&mut self, list: &[T]) -> T {
        let at = self.below(list.len() as u32) as usize;
        list.get(at).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_published_one() {
        let mut rng = SplitMix64::new(1_234_567);
        assert_eq!(rng.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(rng.next_u64(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn below_stays_below() {
        let mut rng = SplitMix64::new(9);
        assert!((0..10_000).all(|_| rng.below(7) < 7));
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.pick::<u8>(&[]), 0);
    }
}
