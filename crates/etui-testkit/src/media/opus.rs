//! Opus files: silence in Ogg pages (RFC 3533, RFC 6716, RFC 7845).

use std::sync::LazyLock;

use super::sound::samples;
use crate::rng::SplitMix64;

const RATE: u32 = 48_000;
const PACKET_SAMPLES: u32 = 960;
/// Samples that a decoder drops at the start.
const PRE_SKIP: u16 = 312;
/// One second a page.
const PACKETS_A_PAGE: usize = 50;

const FIRST_PAGE: u8 = 2;
const LAST_PAGE: u8 = 4;

/// Returns an Ogg Opus file of one channel.
///
/// ```text
/// page 0: OpusHead | page 1: OpusTags, empty | pages of 50 packets of 20 ms
/// ```
pub(super) fn opus(seed: u64, millis: u32) -> Vec<u8> {
    let mut rng = SplitMix64::new(seed);
    let mut pages = PageWriter {
        out: Vec::new(),
        serial: rng.next_u64() as u32,
        number: 0,
    };
    let mut head = b"OpusHead\x01\x01".to_vec();
    head.extend_from_slice(&PRE_SKIP.to_le_bytes());
    head.extend_from_slice(&RATE.to_le_bytes());
    // No gain; channel mapping family 0.
    head.extend_from_slice(&[0; 3]);
    pages.write(FIRST_PAGE, 0, &[head]);
    // A vendor string and no comments.
    pages.write(0, 0, &[b"OpusTags\x04\0\0\0etui\0\0\0\0".to_vec()]);

    let length = u64::from(samples(millis, RATE)) + u64::from(PRE_SKIP);
    let packets = length.div_ceil(u64::from(PACKET_SAMPLES));
    let packets: Vec<_> = (0..packets).map(|_| packet(&mut rng)).collect();
    let page_count = packets.len().div_ceil(PACKETS_A_PAGE);
    let mut granule = 0;
    for (index, page) in packets.chunks(PACKETS_A_PAGE).enumerate() {
        let last = index + 1 == page_count;
        granule += page.len() as u64 * u64::from(PACKET_SAMPLES);
        // The granule position of the last page trims its last packet to the length.
        let flags = if last { LAST_PAGE } else { 0 };
        pages.write(flags, granule.min(length), page);
    }
    pages.out
}

/// Returns a packet of 20 ms of silence with padding, whose length is random (RFC 6716 §3.2.5).
///
/// ```text
/// TOC: CELT, full band, 20 ms, mono, code 3 | padding, 1 frame | length | frame (2) | zeros
/// ```
fn packet(rng: &mut SplitMix64) -> Vec<u8> {
    let padding = rng.below(120) as u8;
    let mut packet = vec![0xFB, 0x41, padding, 0xFF, 0xFE];
    packet.resize(packet.len() + usize::from(padding), 0);
    packet
}

struct PageWriter {
    out: Vec<u8>,
    serial: u32,
    number: u32,
}

impl PageWriter {
    /// Appends a page of whole packets. Their lengths take at most 255 lacing values.
    fn write(&mut self, flags: u8, granule: u64, packets: &[Vec<u8>]) {
        let start = self.out.len();
        self.out.extend_from_slice(b"OggS\0");
        self.out.push(flags);
        self.out.extend_from_slice(&granule.to_le_bytes());
        self.out.extend_from_slice(&self.serial.to_le_bytes());
        self.out.extend_from_slice(&self.number.to_le_bytes());
        self.out.extend_from_slice(&[0; 4]);
        let mut lacing = Vec::new();
        for packet in packets {
            lacing.extend(std::iter::repeat_n(255, packet.len() / 255));
            lacing.push((packet.len() % 255) as u8);
        }
        self.out.push(lacing.len() as u8);
        self.out.extend(lacing);
        for packet in packets {
            self.out.extend_from_slice(packet);
        }
        let sum = crc32(self.out.get(start..).unwrap_or_default());
        let field = self.out.iter_mut().skip(start + 22);
        for (slot, byte) in field.zip(sum.to_le_bytes()) {
            *slot = byte;
        }
        self.number += 1;
    }
}

static CRC_TABLE: LazyLock<[u32; 256]> = LazyLock::new(|| {
    std::array::from_fn(|n| {
        (0..8).fold((n as u32) << 24, |crc, _| {
            (crc << 1) ^ if crc >> 31 == 0 { 0 } else { 0x04C1_1DB7 }
        })
    })
});

/// Polynomial 0x04C11DB7, most significant bit first, initial value 0 (RFC 3533 §6).
fn crc32(bytes: &[u8]) -> u32 {
    let table = &*CRC_TABLE;
    bytes.iter().fold(0, |crc, byte| {
        table[usize::from((crc >> 24) as u8 ^ byte)] ^ (crc << 8)
    })
}
