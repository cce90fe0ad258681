//! The limits of reading one file.

use std::time::Duration;

/// Bytes that are read of one file while its tags and properties are parsed.
pub const MAX_READ: u64 = 64 << 20;

/// Time that parsing one file may take: with the rest of its scan two seconds at most.
pub const MAX_TIME: Duration = Duration::from_millis(1_800);

/// Bytes of one tag; longer ones are cut.
pub const MAX_VALUE: usize = 4096;

/// Bytes of the lyrics; longer ones are cut. The text of a song of ten minutes has about 8 KiB.
pub const MAX_LYRICS: usize = 16 << 10;

/// Values of one file.
pub const MAX_VALUES: usize = 256;

/// Bytes of an embedded picture or a cover file.
pub const MAX_PICTURE: u64 = 32 << 20;

/// Pixels of a picture that is decoded.
pub const MAX_PIXELS: u64 = 100_000_000;

/// Pixels of a picture's longer side: scaling a row of millions takes gigabytes.
pub const MAX_SIDE: u64 = 65_535;

/// Memory that decoding one picture may take, in bytes.
pub const MAX_DECODED: u64 = 96 << 20;

/// Scans of a progressive JPEG. Encoders write about ten; each costs a pass over all coefficients.
pub const MAX_SCANS: usize = 32;
