//! Variable-length integers (LEB128, DWARF 5 section 7.6).
//!
//! ```text
//! varint := 7 bits a byte, low bits first, high bit set on all bytes but the last
//! ```

/// Appends `n`.
pub fn push_u64(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push((n & 0x7f) as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// Takes a number from the front of `bytes`. Returns `None` if they end too early or the number is
/// too large.
pub fn take_u64(bytes: &mut &[u8]) -> Option<u64> {
    let (&first, rest) = bytes.split_first()?;
    *bytes = rest;
    if first < 0x80 {
        return Some(u64::from(first));
    }
    let (mut n, mut shift) = (u64::from(first & 0x7f), 7u32);
    loop {
        let (&b, rest) = bytes.split_first()?;
        *bytes = rest;
        if shift > 63 {
            return None;
        }
        n |= u64::from(b & 0x7f) << shift;
        if b < 0x80 {
            return Some(n);
        }
        shift += 7;
    }
}

/// Appends bytes with their length before them.
pub fn push_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    push_u64(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Takes bytes with their length before them.
pub fn take_bytes<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(take_u64(bytes)?).ok()?;
    let (value, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(value)
}

/// Takes a text with its length before it, empty if there is none. Bytes that are not UTF-8 are
/// replaced.
pub fn take_text(bytes: &mut &[u8]) -> String {
    let value = take_bytes(bytes).unwrap_or_default();
    String::from_utf8_lossy(value).into_owned()
}

/// Maps signed to unsigned numbers, small ones to small ones: 0, -1, 1, -2, 2 become 0, 1, 2, 3, 4.
pub fn zigzag_encode(n: i64) -> u64 {
    (n << 1 ^ n >> 63).cast_unsigned()
}

/// Returns the inverse of [`zigzag_encode`].
pub fn zigzag_decode(n: u64) -> i64 {
    (n >> 1).cast_signed() ^ -(n & 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_read_back(n in any::<u64>(), signed in any::<i64>(), behind in any::<u8>()) {
            let mut out = Vec::new();
            push_u64(&mut out, n);
            push_u64(&mut out, zigzag_encode(signed));
            out.push(behind);
            let mut rest = &out[..];
            prop_assert_eq!(take_u64(&mut rest), Some(n));
            prop_assert_eq!(take_u64(&mut rest).map(zigzag_decode), Some(signed));
            prop_assert_eq!(rest, &[behind]);
        }

        #[test]
        fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut rest = &bytes[..];
            while take_bytes(&mut rest).is_some() {}
        }
    }
}
