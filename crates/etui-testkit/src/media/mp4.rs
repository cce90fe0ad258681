//! M4A files: AAC silence in an MP4 container (ISO/IEC 14496-3, -12 and -14).

use super::sound::{SAMPLE_RATE, samples};
use crate::rng::SplitMix64;

const FRAME_SAMPLES: u32 = 1024;
/// Bytes from the seed in each frame.
const FRAME_DATA: usize = 96;

/// Returns an M4A file of one channel at 44.1 kHz.
///
/// ```text
/// ftyp | mdat: AAC frames in one chunk | moov: mvhd, trak
/// ```
///
/// `moov` is last, so that tags written into it do not move the chunk.
pub(super) fn m4a(seed: u64, millis: u32) -> Vec<u8> {
    let mut rng = SplitMix64::new(seed);
    let frames = samples(millis, SAMPLE_RATE).div_ceil(FRAME_SAMPLES);
    let mut out = Vec::new();
    atom(&mut out, b"ftyp", |out| {
        out.extend_from_slice(b"M4A \0\0\x02\0M4A mp42isom");
    });
    let chunk = out.len() as u32 + 8;
    let mut frame_size = 0;
    atom(&mut out, b"mdat", |out| {
        for _ in 0..frames {
            let frame = frame(&mut rng);
            frame_size = frame.len() as u32;
            out.extend_from_slice(&frame);
        }
    });
    let track = AacTrack {
        frames,
        frame_size,
        chunk,
    };
    atom(&mut out, b"moov", |out| track.write(out));
    out
}

/// Returns an AAC LC frame (`raw_data_block`): a silent channel, then data from the seed.
///
/// ```text
/// single_channel_element, 29 bits, all zero: no scale factor band is coded
/// data_stream_element: id 4, tag 0, aligned, length | bytes
/// end: id 7
/// ```
fn frame(rng: &mut SplitMix64) -> Vec<u8> {
    let mut frame = vec![0; 3];
    // The last 5 zero bits of the channel and the first 3 bits of the id 4 in a byte, then tag (4),
    // alignment (1) and the first 3 bits of the length (8). The other 5 bits follow, then alignment.
    let length = FRAME_DATA as u8;
    frame.push(4);
    frame.push(1 << 3 | length >> 5);
    frame.push(length << 3);
    for _ in 0..FRAME_DATA / 8 {
        frame.extend_from_slice(&rng.next_u64().to_le_bytes());
    }
    frame.push(7 << 5);
    frame
}

struct AacTrack {
    frames: u32,
    frame_size: u32,
    /// Offset of the first frame in the file.
    chunk: u32,
}

impl AacTrack {
    fn duration(&self) -> u32 {
        self.frames * FRAME_SAMPLES
    }

    fn write(&self, out: &mut Vec<u8>) {
        // Version and flags, creation and modification time, time scale, duration.
        let times = [0, 0, 0, SAMPLE_RATE, self.duration()];
        atom(out, b"mvhd", |out| {
            words(out, &times);
            // Rate 1.0, volume 1.0, reserved.
            words(out, &[0x0001_0000, 0x0100_0000, 0, 0]);
            words(out, &IDENTITY);
            words(out, &[0; 6]);
            // The next track.
            words(out, &[2]);
        });
        atom(out, b"trak", |out| {
            atom(out, b"tkhd", |out| {
                // Flags 3: enabled, in the movie. Track 1.
                words(out, &[3, 0, 0, 1, 0, self.duration(), 0, 0]);
                // Layer, alternate group, volume 1.0.
                words(out, &[0, 0x0100_0000]);
                words(out, &IDENTITY);
                words(out, &[0; 2]);
            });
            atom(out, b"mdia", |out| {
                atom(out, b"mdhd", |out| {
                    words(out, &times);
                    // Language "und".
                    words(out, &[0x55C4_0000]);
                });
                atom(out, b"hdlr", |out| {
                    out.extend_from_slice(b"\0\0\0\0\0\0\0\0soun");
                    out.extend_from_slice(&[0; 13]);
                });
                atom(out, b"minf", |out| self.media_information(out));
            });
        });
    }

    fn media_information(&self, out: &mut Vec<u8>) {
        atom(out, b"smhd", |out| words(out, &[0, 0]));
        atom(out, b"dinf", |out| {
            atom(out, b"dref", |out| {
                words(out, &[0, 1]);
                // Flag 1: the data is in this file.
                atom(out, b"url ", |out| words(out, &[1]));
            });
        });
        atom(out, b"stbl", |out| {
            atom(out, b"stsd", |out| {
                words(out, &[0, 1]);
                atom(out, b"mp4a", |out| {
                    // Data reference 1; one channel of 16 bits.
                    words(out, &[0, 1, 0, 0, 0x0001_0010, 0, SAMPLE_RATE << 16]);
                    atom(out, b"esds", |out| self.stream_descriptor(out));
                });
            });
            let entry = |out: &mut Vec<u8>, kind, values: &[u32]| {
                atom(out, kind, |out| words(out, values));
            };
            entry(out, b"stts", &[0, 1, self.frames, FRAME_SAMPLES]);
            entry(out, b"stsc", &[0, 1, 1, self.frames, 1]);
            entry(out, b"stsz", &[0, self.frame_size, self.frames]);
            entry(out, b"stco", &[0, 1, self.chunk]);
        });
    }

    /// Appends the descriptors of ISO/IEC 14496-1: stream, decoder, AAC configuration.
    fn stream_descriptor(&self, out: &mut Vec<u8>) {
        let bit_rate = self.frame_size * 8 * SAMPLE_RATE / FRAME_SAMPLES;
        words(out, &[0]);
        out.extend_from_slice(&[3, 25, 0, 0, 0]);
        // AAC; an audio stream; buffer size; greatest and average bit rate.
        out.extend_from_slice(&[4, 17, 0x40, 0x15, 0, 0x18, 0]);
        words(out, &[bit_rate, bit_rate]);
        // Object type 2 (LC), rate index 4 (44.1 kHz), one channel.
        out.extend_from_slice(&[5, 2, 0x12, 0x08]);
        out.extend_from_slice(&[6, 1, 2]);
    }
}

/// The unit matrix of a picture that is not transformed.
const IDENTITY: [u32; 9] = [0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000];

/// Appends an atom: length (4), kind (4), content.
fn atom(out: &mut Vec<u8>, kind: &[u8; 4], content: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(kind);
    content(out);
    let length = (out.len() - start) as u32;
    for (slot, byte) in out.iter_mut().skip(start).zip(length.to_be_bytes()) {
        *slot = byte;
    }
}

fn words(out: &mut Vec<u8>, words: &[u32]) {
    for word in words {
        out.extend_from_slice(&word.to_be_bytes());
    }
}
