//! [`Tone`]: two sine waves and a little noise, in integer arithmetic.

use crate::rng::SplitMix64;

/// Samples a second of every format but Opus, which is always 48,000.
pub(super) const SAMPLE_RATE: u32 = 44_100;

/// Returns the number of samples in `millis`, at least one.
pub(super) fn samples(millis: u32, rate: u32) -> u32 {
    let samples = u64::from(millis) * u64::from(rate) / 1000;
    samples.clamp(1, u64::from(u32::MAX)) as u32
}

/// Endless 16-bit mono sound whose pitch and noise depend on a seed.
pub(super) struct Tone {
    rng: SplitMix64,
    phases: [u32; 2],
    steps: [u32; 2],
}

impl Tone {
    pub(super) fn new(seed: u64) -> Self {
        let mut rng = SplitMix64::new(seed);
        // A phase is 2^32 a turn; 110 to 880 Hz.
        let mut step = || {
            let hertz = 110 + rng.below(771);
            ((u64::from(hertz) << 32) / u64::from(SAMPLE_RATE)) as u32
        };
        let steps = [step(), step()];
        Self {
            rng,
            phases: [0; 2],
            steps,
        }
    }
}

impl Iterator for Tone {
    type Item = i16;

    fn next(&mut self) -> Option<i16> {
        let mut sum = self.rng.below(257) as i32 - 128;
        for (phase, step) in self.phases.iter_mut().zip(self.steps) {
            sum += sine(*phase) / 3;
            *phase = phase.wrapping_add(step);
        }
        Some(sum as i16)
    }
}

/// Returns a sine in -32,767 to 32,767, approximated by two parabolas.
fn sine(phase: u32) -> i32 {
    let x = (phase as i32) >> 16;
    (x * (32_767 - x.abs())) >> 13
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tones_are_loud_and_never_clip() {
        for seed in 0..50 {
            let tone: Vec<i16> = Tone::new(seed).take(10_000).collect();
            let loudest = tone.iter().map(|s| s.unsigned_abs()).max();
            assert!(
                matches!(loudest, Some(12_000..=22_500)),
                "{seed}: {loudest:?}"
            );
        }
        assert!(Tone::new(1).take(99).ne(Tone::new(2).take(99)));
    }
}
