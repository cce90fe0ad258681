//! FLAC files with verbatim subframes (RFC 9639).

use super::sound::{SAMPLE_RATE, Tone, samples};

const BLOCK: u16 = 4096;

/// Returns a FLAC file of one 16-bit channel at 44.1 kHz.
///
/// ```text
/// "fLaC" | STREAMINFO | frames: header, CRC-8 | verbatim subframe | CRC-16
/// ```
///
/// The MD5 sum in STREAMINFO is zero, which means that it is not known (§8.2).
pub(super) fn flac(seed: u64, millis: u32) -> Vec<u8> {
    let count = samples(millis, SAMPLE_RATE);
    let mut out = Vec::with_capacity(count as usize * 2 + 1024);
    // The last metadata block, of type 0 and length 34.
    out.extend_from_slice(b"fLaC\x80\0\0\x22");
    out.extend_from_slice(&BLOCK.to_be_bytes());
    out.extend_from_slice(&BLOCK.to_be_bytes());
    // The least and the greatest frame length are not known.
    out.extend_from_slice(&[0; 6]);
    // 20 bits sample rate, 3 bits channels - 1, 5 bits sample size - 1, 36 bits sample count.
    let fields = u64::from(SAMPLE_RATE) << 44 | 15 << 36 | u64::from(count);
    out.extend_from_slice(&fields.to_be_bytes());
    out.extend_from_slice(&[0; 16]);

    let mut tone = Tone::new(seed);
    for (number, first) in (0..count).step_by(usize::from(BLOCK)).enumerate() {
        let length = (count - first).min(u32::from(BLOCK)) as u16;
        let start = out.len();
        header(&mut out, number as u32, length);
        let sum = crc8(out.get(start..).unwrap_or_default());
        // Then a subframe header: type 1, verbatim, no wasted bits.
        out.extend_from_slice(&[sum, 0x02]);
        for sample in tone.by_ref().take(usize::from(length)) {
            out.extend_from_slice(&sample.to_be_bytes());
        }
        let sum = crc16(out.get(start..).unwrap_or_default());
        out.extend_from_slice(&sum.to_be_bytes());
    }
    out
}

/// Appends a frame header without its CRC (§9.1).
fn header(out: &mut Vec<u8>, number: u32, length: u16) {
    // Sync and fixed block size. Block size 4096 or 16 bits at the end of the header; 44.1 kHz.
    // One channel; 16 bits a sample.
    let size = if length == BLOCK { 0xC0 } else { 0x70 };
    out.extend_from_slice(&[0xFF, 0xF8, size | 0x09, 0x08]);
    coded_number(out, number);
    if length != BLOCK {
        out.extend_from_slice(&(length - 1).to_be_bytes());
    }
}

/// Appends a number below 2^21 in the scheme of UTF-8 (§9.1.5).
fn coded_number(out: &mut Vec<u8>, number: u32) {
    let (prefix, tail) = match number {
        0..0x80 => (0x00, 0),
        0x80..0x800 => (0xC0, 1),
        0x800..0x1_0000 => (0xE0, 2),
        _ => (0xF0, 3),
    };
    out.push(prefix | (number >> (6 * tail)) as u8);
    for left in (0..tail).rev() {
        out.push(0x80 | (number >> (6 * left)) as u8 & 0x3F);
    }
}

/// Polynomial 0x07, initial value 0.
fn crc8(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ byte, |crc: u8, _| {
            (crc << 1) ^ if crc & 0x80 == 0 { 0 } else { 0x07 }
        })
    })
}

/// Polynomial 0x8005, initial value 0.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte) << 8, |crc: u16, _| {
            (crc << 1) ^ if crc & 0x8000 == 0 { 0 } else { 0x8005 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_match_their_published_check_values() {
        assert_eq!(crc8(b"123456789"), 0xF4);
        assert_eq!(crc16(b"123456789"), 0xFEE8);
    }

    #[test]
    fn frame_numbers_are_coded_as_utf8_codes_characters() {
        for character in ['A', 'é', '語', '🎵'] {
            let mut coded = Vec::new();
            coded_number(&mut coded, character.into());
            assert_eq!(coded, character.to_string().as_bytes());
        }
    }
}
