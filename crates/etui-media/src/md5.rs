//! MD5 (RFC 1321). The desktop names thumbnails by it; nothing here is secured with it.

/// Left rotations of the four rounds.
const ROTATIONS: [[u32; 4]; 4] = [
    [7, 12, 17, 22],
    [5, 9, 14, 20],
    [4, 11, 16, 23],
    [6, 10, 15, 21],
];

/// Returns the MD5 of a text as 32 hexadecimal digits.
pub(crate) fn md5_hex(text: &[u8]) -> String {
    let mut padded = text.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend_from_slice(&(text.len() as u64).wrapping_mul(8).to_le_bytes());
    let mut state: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    for block in padded.chunks_exact(64) {
        let mut words = [0u32; 16];
        for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
            *word = bytes
                .iter()
                .rev()
                .fold(0, |word, &b| word << 8 | u32::from(b));
        }
        let [mut a, mut b, mut c, mut d] = state;
        for step in 0..64 {
            let (mixed, word) = match step / 16 {
                0 => ((b & c) | (!b & d), step),
                1 => ((d & b) | (!d & c), (5 * step + 1) % 16),
                2 => (b ^ c ^ d, (3 * step + 5) % 16),
                _ => (c ^ (b | !d), (7 * step) % 16),
            };
            // Section 3.4: the sines of the integers, in 32 bits.
            let sine = ((step + 1) as f64).sin().abs() * 4_294_967_296.0;
            let sum = a
                .wrapping_add(mixed)
                .wrapping_add(sine as u32)
                .wrapping_add(words[word]);
            let next = b.wrapping_add(sum.rotate_left(ROTATIONS[step / 16][step % 4]));
            (a, d, c, b) = (d, c, b, next);
        }
        for (total, part) in state.iter_mut().zip([a, b, c, d]) {
            *total = total.wrapping_add(part);
        }
    }
    let bytes = state.iter().flat_map(|word| word.to_le_bytes());
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test suite of RFC 1321, and the example of the thumbnail specification.
    #[test]
    fn digests_are_those_of_the_standard() {
        for (text, digest) in [
            ("", "d41d8cd98f00b204e9800998ecf8427e"),
            ("a", "0cc175b9c0f1b6a831c399e269772661"),
            ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
            (
                "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
                "57edf4a22be3c955ac49da2e2107b67a",
            ),
            (
                "file:///home/jens/photos/me.png",
                "c6ee772d9e49320e97ec29a7eb5b1697",
            ),
        ] {
            assert_eq!(md5_hex(text.as_bytes()), digest, "{text}");
        }
    }
}
