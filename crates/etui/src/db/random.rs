//! Random numbers.

use std::path::Path;

use crate::error::{Error, Result};

/// Fills `bytes` with random bits of the operating system.
pub(crate) fn fill_random(bytes: &mut [u8]) -> Result<()> {
    let mut filled = 0;
    // getrandom may return fewer bytes than asked for, after a signal.
    while filled < bytes.len() {
        filled +=
            rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())
                .map_err(|e| Error::io(Path::new("getrandom"), e.into()))?;
    }
    Ok(())
}

/// Returns 63 random bits.
pub(crate) fn random_i64() -> Result<i64> {
    let mut bytes = [0u8; 8];
    fill_random(&mut bytes)?;
    Ok(i64::from_ne_bytes(bytes) & i64::MAX)
}
