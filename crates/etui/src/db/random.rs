//! Random numbers.

use std::path::Path;

use crate::error::{Error, Result};

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
