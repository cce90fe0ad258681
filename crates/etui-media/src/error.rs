//! [`Unreadable`]: why a file was refused.

use std::io;

use crate::limits::{MAX_READ, MAX_TIME};

/// Why a file, or a part of it, cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unreadable {
    /// Reading from the disk failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The content is of no known format.
    #[error("not a known format: the content does not match the name")]
    UnknownFormat,
    /// The content breaks its format's rules.
    #[error("damaged: {0}")]
    Damaged(String),
    /// Its headers ask for more reads than [`MAX_READ`].
    #[error("its headers ask for more than {} MB of reads", MAX_READ >> 20)]
    TooMuchRead,
    /// Parsing takes longer than [`MAX_TIME`].
    #[error("reading it takes more than {} s", MAX_TIME.as_secs_f32())]
    TooSlow,
    /// A picture is larger than the limits.
    #[error("the picture is too large: {width}x{height} pixels")]
    TooManyPixels {
        /// Width in pixels.
        width: u64,
        /// Height in pixels.
        height: u64,
    },
    /// A picture's file is larger than [`MAX_PICTURE`](crate::limits::MAX_PICTURE).
    #[error("the picture has {0} bytes")]
    TooManyBytes(u64),
    /// A progressive JPEG has more scans than [`MAX_SCANS`](crate::limits::MAX_SCANS).
    #[error("a JPEG of {0} scans")]
    TooManyScans(usize),
    /// No decoder for this format is built in.
    #[error("there is no decoder for {0}")]
    NoDecoder(&'static str),
}

impl Unreadable {
    pub(crate) fn damaged(why: impl ToString) -> Self {
        Self::Damaged(why.to_string())
    }
}
