//! [`CoverThumbnails`]: thumbnails that a program already has.

use etui_media::jpeg_size;

use super::cover::{CoverId, NewCover};

/// Longer sides of a small and of a large thumbnail, in pixels.
const MAX_SIDES: [u32; 2] = [128, 256];

/// Thumbnails of a picture that a program already has: from a device, a sync partner, or the
/// desktop's cache. A scan that is given them
/// ([`ScanOptions::covers`](super::ScanOptions::covers)) does not decode the picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoverThumbnails {
    pub(super) id: CoverId,
    pub(super) cover: NewCover,
}

/// A thumbnail was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidThumbnail {
    /// It is not a JPEG file.
    #[error("a thumbnail is not a JPEG file")]
    NotJpeg,
    /// Its longer side has more pixels than its size allows.
    #[error("a thumbnail of {width}x{height} pixels; at most {max} are allowed")]
    TooManyPixels {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
        /// Allowed pixels of the longer side: 128 or 256.
        max: u32,
    },
    /// It has more than [`CoverThumbnails::MAX_BYTES`].
    #[error("a thumbnail of {0} bytes; at most {max} are allowed", max = CoverThumbnails::MAX_BYTES)]
    TooManyBytes(usize),
}

impl CoverThumbnails {
    /// Bytes of one thumbnail at most.
    pub const MAX_BYTES: usize = 256 << 10;

    /// Takes the thumbnails of the picture `id` ([`CoverId::of`] its file's bytes).
    ///
    /// `size` is the picture's own width and height in pixels, `color` its average, `0xrrggbb`.
    /// `small` and `large` are JPEG files of at most 128 and 256 pixels; for a picture of at most
    /// 128 they are equal, and stored once. Their headers are checked; they are not decoded.
    ///
    /// # Errors
    /// [`InvalidThumbnail`]: no JPEG file, or one of too many pixels or bytes.
    pub fn new(
        id: CoverId,
        size: (u32, u32),
        color: u32,
        small: Vec<u8>,
        large: Vec<u8>,
    ) -> Result<Self, InvalidThumbnail> {
        for (jpeg, max) in [&small, &large].into_iter().zip(MAX_SIDES) {
            if jpeg.len() > Self::MAX_BYTES {
                return Err(InvalidThumbnail::TooManyBytes(jpeg.len()));
            }
            let (width, height) = jpeg_size(jpeg).ok_or(InvalidThumbnail::NotJpeg)?;
            if width.max(height) > max {
                return Err(InvalidThumbnail::TooManyPixels { width, height, max });
            }
        }
        let cover = NewCover {
            width: size.0,
            height: size.1,
            color: color & 0xff_ffff,
            small,
            large,
        };
        Ok(Self { id, cover })
    }

    /// Returns the id of the picture.
    pub fn id(&self) -> CoverId {
        self.id
    }
}
