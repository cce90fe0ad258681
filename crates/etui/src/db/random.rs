//! Random identifiers.

use std::path::Path;

use crate::error::{Error, Result};

/// Returns a random UUID, version 4 (RFC 9562 §5.4).
pub(crate) fn uuid() -> Result<String> {
    let high = random_i64()?.cast_unsigned();
    let low = random_i64()?.cast_unsigned();
    // Version 4 in the 13th digit, variant 10 in the 17th.
    Ok(format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high & 0xffff_ffff,
        (high >> 32) & 0xffff,
        (high >> 48) & 0xfff,
        0x8000 | ((low >> 48) & 0x3fff),
        low & 0xffff_ffff_ffff,
    ))
}

/// Returns 63 random bits.
pub(crate) fn random_i64() -> Result<i64> {
    let mut bytes = [0u8; 8];
    let mut filled = 0;
    while filled < bytes.len() {
        filled +=
            rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())
                .map_err(|e| Error::io(Path::new("getrandom"), e.into()))?;
    }
    Ok(i64::from_ne_bytes(bytes) & i64::MAX)
}
