//! MP3 files: MPEG-1 Layer III frames of silence (ISO/IEC 11172-3).

use super::sound::{SAMPLE_RATE, samples};
use crate::rng::SplitMix64;

const FRAME_SAMPLES: u32 = 1152;
const BIT_RATE: u32 = 128_000;
/// Length of the side information of a stereo frame.
const SIDE_INFO: usize = 32;

/// Returns an MP3 file: an `Info` frame, then frames of 128 kbit/s stereo at 44.1 kHz.
///
/// ```text
/// header (4) | side information (32), all zero | ancillary data, from the seed
/// ```
///
/// Side information of zeros declares main data of no bits, which decodes to silence; all bytes
/// after it are ancillary data.
pub(super) fn mp3(seed: u64, millis: u32) -> Vec<u8> {
    let mut rng = SplitMix64::new(seed);
    let frames = samples(millis, SAMPLE_RATE).div_ceil(FRAME_SAMPLES);
    let mut out = Vec::with_capacity((frames as usize + 1) * 418);
    header(&mut out, false);
    out.extend_from_slice(&[0; SIDE_INFO]);
    let info = out.len();
    out.resize(frame_length(false), 0);

    // A frame is 417.96 bytes on average: a padding byte is added when the remainder overflows.
    let mut remainder = 0;
    for _ in 0..frames {
        remainder += 144 * BIT_RATE % SAMPLE_RATE;
        let padded = remainder >= SAMPLE_RATE;
        if padded {
            remainder -= SAMPLE_RATE;
        }
        let end = out.len() + frame_length(padded);
        header(&mut out, padded);
        out.extend_from_slice(&[0; SIDE_INFO]);
        while out.len() < end {
            let left = end - out.len();
            // Without 0xFF no byte of the data looks like the start of a header.
            let bytes = rng.next_u64().to_le_bytes().map(|byte| byte & 0x7F);
            out.extend(bytes.into_iter().take(left));
        }
    }

    // "Info" is the Xing header of a constant bit rate; flags 3: frames and bytes are present.
    let mut fields = b"Info\0\0\0\x03".to_vec();
    fields.extend_from_slice(&frames.to_be_bytes());
    fields.extend_from_slice(&(out.len() as u32).to_be_bytes());
    for (slot, byte) in out.iter_mut().skip(info).zip(fields) {
        *slot = byte;
    }
    out
}

fn frame_length(padded: bool) -> usize {
    (144 * BIT_RATE / SAMPLE_RATE) as usize + usize::from(padded)
}

/// Appends the header: sync, MPEG-1 Layer III, no CRC | 128 kbit/s, 44.1 kHz | stereo, original.
fn header(out: &mut Vec<u8>, padded: bool) {
    let padding = u8::from(padded) << 1;
    out.extend_from_slice(&[0xFF, 0xFB, 0x90 | padding, 0x04]);
}
