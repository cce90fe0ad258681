//! WAV and AIFF files: 16-bit mono samples without compression.

use super::sound::{SAMPLE_RATE, Tone, samples};

/// Returns a RIFF WAVE file.
///
/// ```text
/// "RIFF" size "WAVE" | "fmt " 16 | "data" | samples, little-endian
/// ```
pub(super) fn wav(seed: u64, millis: u32) -> Vec<u8> {
    let count = samples(millis, SAMPLE_RATE);
    let mut out = Vec::with_capacity(count as usize * 2 + 44);
    out.extend_from_slice(b"RIFF");
    out.extend_from_slice(&(count * 2 + 36).to_le_bytes());
    out.extend_from_slice(b"WAVEfmt ");
    out.extend_from_slice(&16u32.to_le_bytes());
    // Format 1 is integer PCM; one channel.
    out.extend_from_slice(&1u16.to_le_bytes());
    out.extend_from_slice(&1u16.to_le_bytes());
    out.extend_from_slice(&SAMPLE_RATE.to_le_bytes());
    out.extend_from_slice(&(SAMPLE_RATE * 2).to_le_bytes());
    out.extend_from_slice(&2u16.to_le_bytes());
    out.extend_from_slice(&16u16.to_le_bytes());
    out.extend_from_slice(b"data");
    out.extend_from_slice(&(count * 2).to_le_bytes());
    for sample in Tone::new(seed).take(count as usize) {
        out.extend_from_slice(&sample.to_le_bytes());
    }
    out
}

/// 44,100 as an 80-bit float (IEEE 754 extended precision).
const RATE_EXTENDED: [u8; 10] = [0x40, 0x0E, 0xAC, 0x44, 0, 0, 0, 0, 0, 0];

/// Returns an AIFF file.
///
/// ```text
/// "FORM" size "AIFF" | "COMM" 18 | "SSND" | offset 0, block size 0 | samples, big-endian
/// ```
pub(super) fn aiff(seed: u64, millis: u32) -> Vec<u8> {
    let count = samples(millis, SAMPLE_RATE);
    let mut out = Vec::with_capacity(count as usize * 2 + 54);
    out.extend_from_slice(b"FORM");
    out.extend_from_slice(&(count * 2 + 46).to_be_bytes());
    out.extend_from_slice(b"AIFFCOMM");
    out.extend_from_slice(&18u32.to_be_bytes());
    out.extend_from_slice(&1u16.to_be_bytes());
    out.extend_from_slice(&count.to_be_bytes());
    out.extend_from_slice(&16u16.to_be_bytes());
    out.extend_from_slice(&RATE_EXTENDED);
    out.extend_from_slice(b"SSND");
    out.extend_from_slice(&(count * 2 + 8).to_be_bytes());
    out.extend_from_slice(&[0; 8]);
    for sample in Tone::new(seed).take(count as usize) {
        out.extend_from_slice(&sample.to_be_bytes());
    }
    out
}
