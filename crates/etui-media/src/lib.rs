//! Reading media files without trusting them: tags, properties, covers and thumbnails.
//!
//! ```text
//! file ── BoundedFile ──┬── read_audio    tags, length, embedded cover     (lofty; ID3 by ourselves)
//!                       ├── read_picture  size, orientation, date, place   (imagesize, nom-exif, quick-xml)
//!                       ├── read_video    length, size, date, place        (nom-exif)
//!                       └── content_key   the same when tags change
//! bytes of a picture ────── make_thumbnails  decode, scale, turn, encode
//!            the desktop ── DesktopThumbnails  those that other programs made
//! bytes of a playlist ───── read_playlist  locations, titles, lengths        (quick-xml)
//! ```
//!
//! No input may cost more than the limits of [`limits`]; an [`Unreadable`] says why a file was
//! refused.

mod audio;
mod bounded_file;
mod content;
mod description;
mod desktop_thumbnail;
mod embedded;
mod error;
mod exif;
pub mod limits;
mod md5;
mod orientation;
mod picture;
pub mod playlist;
mod thumbnail;
mod uri;

pub use audio::{Audio, read_audio};
pub use content::{ContentKey, content_key};
pub use description::{Description, date_in_name};
pub use desktop_thumbnail::{DesktopSize, DesktopThumbnail, DesktopThumbnails};
pub use error::Unreadable;
pub use exif::{Capture, Place, Taken, TakenFrom};
pub use orientation::Orientation;
pub use picture::{Image, PictureParser, Video, raw_format, read_picture, read_video};
pub use thumbnail::{Thumbnails, jpeg_size, make_thumbnails};
pub use uri::file_uri;
