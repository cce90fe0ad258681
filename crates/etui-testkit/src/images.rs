//! Small valid pictures made in code: [`tiny_png`], [`tiny_jpeg`], and the
//! [`base64()`] text in which cards carry them.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::rng::SplitMix64;

/// A valid PNG (8-bit RGB, 16 to 28 pixels square, about 0.8 to 2.4 kB) whose
/// pixels depend on `seed`.
///
/// ```text
/// signature | IHDR | IDAT: zlib header, one stored block, Adler-32 | IEND
/// ```
///
/// The picture is stored, not compressed, so that its size depends on its
/// sides alone (PNG specification §5, RFC 1950, RFC 1951 §3.2.4).
pub fn tiny_png(seed: u64) -> Vec<u8> {
    let mut rng = SplitMix64::new(seed);
    let side = 16 + rng.below(13);
    let base = rng.next_u64().to_le_bytes();

    let mut rows = Vec::with_capacity((side * (side * 3 + 1)) as usize);
    for y in 0..side {
        // Filter type 0 (none) opens every row.
        rows.push(0);
        for x in 0..side {
            rows.push(base[0].wrapping_add((x * 5) as u8));
            rows.push(base[1].wrapping_add((y * 5) as u8));
            rows.push(base[2] ^ ((x * y) as u8));
        }
    }

    let mut png = Vec::with_capacity(rows.len() + 80);
    png.extend_from_slice(b"\x89PNG\r\n\x1a\n");
    let mut header = Vec::with_capacity(13);
    header.extend_from_slice(&side.to_be_bytes());
    header.extend_from_slice(&side.to_be_bytes());
    // 8 bits, RGB, deflate, adaptive filters, not interlaced.
    header.extend_from_slice(&[8, 2, 0, 0, 0]);
    chunk(&mut png, b"IHDR", &header);

    let length = rows.len() as u16;
    let mut data = Vec::with_capacity(rows.len() + 11);
    data.extend_from_slice(&[0x78, 0x01, 0x01]);
    data.extend_from_slice(&length.to_le_bytes());
    data.extend_from_slice(&(!length).to_le_bytes());
    data.extend_from_slice(&rows);
    data.extend_from_slice(&adler32(&rows).to_be_bytes());
    chunk(&mut png, b"IDAT", &data);
    chunk(&mut png, b"IEND", &[]);
    png
}

/// Appends a chunk of a PNG.
pub(crate) fn chunk(png: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    png.extend_from_slice(&(data.len() as u32).to_be_bytes());
    let start = png.len();
    png.extend_from_slice(kind);
    png.extend_from_slice(data);
    let sum = crc32(png.get(start..).unwrap_or_default());
    png.extend_from_slice(&sum.to_be_bytes());
}

fn adler32(bytes: &[u8]) -> u32 {
    // 5552 is the longest run after which neither sum can have overflowed.
    let (mut a, mut b) = (1u32, 0u32);
    for run in bytes.chunks(5552) {
        for byte in run {
            a += u32::from(*byte);
            b += a;
        }
        a %= 65_521;
        b %= 65_521;
    }
    b << 16 | a
}

static CRC_TABLE: LazyLock<[u32; 256]> = LazyLock::new(|| {
    std::array::from_fn(|n| {
        (0..8).fold(n as u32, |c, _| {
            if c & 1 == 1 {
                0xEDB8_8320 ^ (c >> 1)
            } else {
                c >> 1
            }
        })
    })
});

fn crc32(bytes: &[u8]) -> u32 {
    let table = &*CRC_TABLE;
    !bytes.iter().fold(!0u32, |crc, byte| {
        table[usize::from(crc as u8 ^ byte)] ^ (crc >> 8)
    })
}

/// The luminance DC code lengths and symbols of ITU-T T.81 table K.3.
const DC_BITS: [u8; 16] = [0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0];
const DC_SYMBOLS: [u8; 12] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];

/// An AC table of our own with the few symbols that [`tiny_jpeg`] writes: the
/// end of block, and values of 1 to 7 bits after no zero.
const AC_BITS: [u8; 16] = [0, 1, 3, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const AC_SYMBOLS: [u8; 8] = [0x01, 0x00, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07];

/// A valid baseline JPEG (greyscale, 96 to 128 pixels square, about 1.2 to
/// 3 kB) whose content depends on `seed`.
///
/// ```text
/// SOI | APP0 JFIF | DQT | SOF0 | DHT DC | DHT AC | SOS | entropy-coded | EOI
/// ```
///
/// Quantised coefficients are drawn directly, a DC value and a few low AC
/// values for each 8 by 8 block (ITU-T T.81 §F.1.2), so no transform is needed.
pub fn tiny_jpeg(seed: u64) -> Vec<u8> {
    let mut rng = SplitMix64::new(seed);
    let blocks = 12 + rng.below(5);
    let side = (blocks * 8) as u16;

    let mut jpeg = Vec::with_capacity(3072);
    jpeg.extend_from_slice(&[0xFF, 0xD8]);
    segment(
        &mut jpeg,
        0xE0,
        b"JFIF\0\x01\x01\x00\x00\x01\x00\x01\x00\x00",
    );
    let mut quantisation = vec![0u8];
    quantisation.extend((0..64u8).map(|k| 8 + k / 2));
    segment(&mut jpeg, 0xDB, &quantisation);
    let [high, low] = side.to_be_bytes();
    segment(&mut jpeg, 0xC0, &[8, high, low, high, low, 1, 1, 0x11, 0]);
    segment(&mut jpeg, 0xC4, &table(0x00, &DC_BITS, &DC_SYMBOLS));
    segment(&mut jpeg, 0xC4, &table(0x10, &AC_BITS, &AC_SYMBOLS));
    segment(&mut jpeg, 0xDA, &[1, 1, 0x00, 0, 63, 0]);

    let dc = codes(&DC_BITS, &DC_SYMBOLS);
    let ac = codes(&AC_BITS, &AC_SYMBOLS);
    let mut bits = BitWriter::new(jpeg);
    let mut previous = 0i32;
    for _ in 0..blocks * blocks {
        let level = rng.below(160) as i32 - 80;
        let (size, value) = magnitude(level - previous);
        previous = level;
        bits.put(dc[usize::from(size)]);
        bits.put((value, size));
        for _ in 0..4 + rng.below(8) {
            let coefficient = rng.below(31) as i32 - 15;
            let coefficient = if coefficient == 0 { 1 } else { coefficient };
            let (size, value) = magnitude(coefficient);
            bits.put(ac[usize::from(size)]);
            bits.put((value, size));
        }
        bits.put(ac[0]);
    }
    let mut jpeg = bits.finish();
    jpeg.extend_from_slice(&[0xFF, 0xD9]);
    jpeg
}

fn segment(jpeg: &mut Vec<u8>, marker: u8, data: &[u8]) {
    jpeg.extend_from_slice(&[0xFF, marker]);
    jpeg.extend_from_slice(&(data.len() as u16 + 2).to_be_bytes());
    jpeg.extend_from_slice(data);
}

fn table(class: u8, bits: &[u8; 16], symbols: &[u8]) -> Vec<u8> {
    let mut data = vec![class];
    data.extend_from_slice(bits);
    data.extend_from_slice(symbols);
    data
}

/// The code and its length for each symbol, by symbol (ITU-T T.81 annex C).
fn codes(bits: &[u8; 16], symbols: &[u8]) -> [(u32, u8); 16] {
    let mut out = [(0, 0); 16];
    let mut symbols = symbols.iter();
    let mut code = 0;
    for (length, count) in (1..).zip(bits) {
        for symbol in symbols.by_ref().take(usize::from(*count)) {
            if let Some(slot) = out.get_mut(usize::from(*symbol)) {
                *slot = (code, length);
            }
            code += 1;
        }
        code <<= 1;
    }
    out
}

/// A coefficient as its bit count and its bits; negative ones are stored one
/// less, so that their first bit is 0 (ITU-T T.81 §F.1.2.1).
fn magnitude(value: i32) -> (u8, u32) {
    let size = (32 - value.unsigned_abs().leading_zeros()) as u8;
    let bits = if value < 0 { value - 1 } else { value };
    (size, bits as u32 & ((1 << size) - 1))
}

struct BitWriter {
    out: Vec<u8>,
    word: u64,
    filled: u8,
}

impl BitWriter {
    fn new(out: Vec<u8>) -> Self {
        Self {
            out,
            word: 0,
            filled: 0,
        }
    }

    fn put(&mut self, (code, length): (u32, u8)) {
        self.word = self.word << length | u64::from(code);
        self.filled += length;
        while self.filled >= 8 {
            self.filled -= 8;
            let byte = (self.word >> self.filled) as u8;
            self.out.push(byte);
            // A data byte 0xFF is followed by 0 so that it is no marker.
            if byte == 0xFF {
                self.out.push(0);
            }
        }
    }

    fn finish(mut self) -> Vec<u8> {
        if self.filled > 0 {
            let rest = 8 - self.filled;
            self.put(((1 << rest) - 1, rest));
        }
        self.out
    }
}

/// Base64 with padding and without line breaks (RFC 4648 §4).
pub fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_match_their_published_check_values() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        assert_eq!(adler32(b"Wikipedia"), 0x11E6_0398);
    }

    #[test]
    fn pictures_have_the_promised_size_and_differ_by_seed() {
        for seed in 0..500 {
            for picture in [tiny_png(seed), tiny_jpeg(seed)] {
                let text = base64(&picture).len();
                assert!((1000..4096).contains(&text), "seed {seed}: {text}");
            }
            assert_eq!(tiny_png(seed), tiny_png(seed));
            assert_ne!(tiny_jpeg(seed), tiny_jpeg(seed + 1));
        }
    }

    #[test]
    fn a_jpeg_ends_with_its_only_end_marker() {
        for seed in 0..200 {
            let jpeg = tiny_jpeg(seed);
            let ends = jpeg.windows(2).filter(|w| w == &[0xFF, 0xD9]).count();
            assert_eq!(ends, 1);
            assert!(jpeg.starts_with(&[0xFF, 0xD8, 0xFF, 0xE0]));
            assert!(jpeg.ends_with(&[0xFF, 0xD9]));
        }
    }
}
