//! [`DesktopThumbnails`]: the thumbnails that the programs of a desktop share.
//!
//! ```text
//! $XDG_CACHE_HOME/thumbnails/            mode 0700, files 0600
//! ├── normal, large, x-large, xx-large   at most 128, 256, 512, 1024 pixels
//! │   └── MD5 of the file's URI .png     with the texts Thumb::URI and Thumb::MTime
//! └── fail/PROGRAM                       files that PROGRAM cannot read: a PNG of one pixel
//! ```
//!
//! <https://specifications.freedesktop.org/thumbnail-spec/latest/>. A thumbnail is valid if its URI
//! is the file's and its time is that of the file's last modification, in seconds.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Cursor, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use image::ImageFormat;

use crate::error::Unreadable;
use crate::limits::MAX_DECODED;
use crate::md5::md5_hex;
use crate::orientation::Orientation;
use crate::thumbnail::{Rgb, Thumbnails, decode_jpeg, decode_other, thumbnails_of};
use crate::uri::file_uri;

/// The folder of failures, named by program and version.
const FAILURES: &str = concat!("fail/etui-", env!("CARGO_PKG_VERSION"));
/// Bytes of a thumbnail that is read: four of each pixel of the largest size.
const MAX_THUMBNAIL: u64 = 4 << 20;

/// The sizes of the desktop's thumbnails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DesktopSize {
    /// At most 128 pixels.
    Normal,
    /// At most 256 pixels.
    Large,
    /// At most 512 pixels.
    XLarge,
    /// At most 1024 pixels.
    XxLarge,
}

impl DesktopSize {
    /// All sizes, the smallest first.
    pub const ALL: [Self; 4] = [Self::Normal, Self::Large, Self::XLarge, Self::XxLarge];

    /// Returns the name of its folder.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Large => "large",
            Self::XLarge => "x-large",
            Self::XxLarge => "xx-large",
        }
    }

    /// Returns the longest side in pixels.
    pub fn pixels(self) -> u32 {
        match self {
            Self::Normal => 128,
            Self::Large => 256,
            Self::XLarge => 512,
            Self::XxLarge => 1024,
        }
    }
}

/// A valid thumbnail of the desktop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesktopThumbnail {
    /// Its size.
    pub size: DesktopSize,
    /// The PNG file.
    pub png: Vec<u8>,
}

impl DesktopThumbnail {
    /// Makes thumbnails of 128 and 256 pixels of it. `original`: width and height in pixels of the
    /// file's picture.
    ///
    /// # Errors
    /// [`Unreadable`]: it is damaged.
    pub fn to_thumbnails(&self, original: (u32, u32)) -> Result<Thumbnails, Unreadable> {
        let decoded = decode_other(&self.png, ImageFormat::Png)?;
        thumbnails_of(decoded, Orientation::default(), original)
    }
}

/// The folder of the desktop's thumbnails. Nothing is created until one is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesktopThumbnails {
    folder: PathBuf,
}

impl DesktopThumbnails {
    /// Returns those in a folder, which has `normal`, `large` and so on in it.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// Returns the user's: `thumbnails` in `$XDG_CACHE_HOME`, else in `~/.cache`; `None` without
    /// both. A relative `$XDG_CACHE_HOME` is ignored, as its specification says.
    pub fn of_user() -> Option<Self> {
        let absolute = |name| {
            let path = std::env::var_os(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        let cache = absolute("XDG_CACHE_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".cache")))?;
        Some(Self::new(cache.join("thumbnails")))
    }

    /// Returns the path of a file's thumbnail, whether it exists or not. `file` is absolute.
    pub fn path(&self, file: &Path, size: DesktopSize) -> PathBuf {
        self.path_in(size.folder(), file)
    }

    fn path_in(&self, folder: &str, file: &Path) -> PathBuf {
        let name = format!("{}.png", md5_hex(file_uri(file).as_bytes()));
        self.folder.join(folder).join(name)
    }

    /// Returns the valid thumbnail of a size. `file` is absolute; `mtime` is the time of its last
    /// modification in seconds since 1970. One that is damaged, or of another file or time, is none.
    pub fn read(&self, file: &Path, mtime: i64, size: DesktopSize) -> Option<DesktopThumbnail> {
        let png = read_valid(&self.path(file, size), file, mtime)?;
        Some(DesktopThumbnail { size, png })
    }

    /// Returns the smallest valid thumbnail that has the pixels of `at_least`.
    pub fn find(&self, file: &Path, mtime: i64, at_least: DesktopSize) -> Option<DesktopThumbnail> {
        let mut sizes = DesktopSize::ALL
            .into_iter()
            .filter(|size| *size >= at_least);
        sizes.find_map(|size| self.read(file, mtime, size))
    }

    /// Returns true if this program marked the file as unreadable, and it is as it was.
    pub fn has_failed(&self, file: &Path, mtime: i64) -> bool {
        read_valid(&self.path_in(FAILURES, file), file, mtime).is_some()
    }

    /// Writes the thumbnail of a file, a JPEG of at most the pixels of `size`, as PNG. A thumbnail
    /// that is there is replaced.
    ///
    /// # Errors
    /// [`Unreadable`]: `jpeg` is damaged or larger than `size`; any error of the file system. The
    /// thumbnail of a thumbnail is refused, as the specification says.
    pub fn write(
        &self,
        file: &Path,
        mtime: i64,
        size: DesktopSize,
        jpeg: &[u8],
    ) -> Result<(), Unreadable> {
        let picture = decode_jpeg(jpeg, false)?;
        if picture.width.max(picture.height) > size.pixels() {
            return Err(Unreadable::TooManyPixels {
                width: picture.width.into(),
                height: picture.height.into(),
            });
        }
        self.put(size.folder(), file, mtime, &picture)
    }

    /// Marks a file as one that cannot be read, until it changes.
    ///
    /// # Errors
    /// As [`DesktopThumbnails::write`].
    pub fn write_failure(&self, file: &Path, mtime: i64) -> Result<(), Unreadable> {
        let pixel = Rgb {
            width: 1,
            height: 1,
            pixels: vec![255; 3],
        };
        self.put(FAILURES, file, mtime, &pixel)
    }

    fn put(&self, folder: &str, file: &Path, mtime: i64, picture: &Rgb) -> Result<(), Unreadable> {
        if file.starts_with(&self.folder) {
            let reason = "a thumbnail has no thumbnail of its own";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason).into());
        }
        let png = encode_png(file, mtime, picture)?;
        let path = self.path_in(folder, file);
        create_folders(&self.folder, folder)?;
        // Programs read the folder meanwhile: the file appears complete.
        let part = path.with_extension(format!("{}.part", std::process::id()));
        let written = write_new(&part, &png).and_then(|()| std::fs::rename(&part, &path));
        if written.is_err() {
            let _ = std::fs::remove_file(&part);
        }
        Ok(written?)
    }
}

/// Creates the folder of thumbnails and one in it, readable only by their owner.
fn create_folders(base: &Path, folder: &str) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(base.join(folder))
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let options = &mut OpenOptions::new();
    let mut file = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    // One that a killed process left may have another mode.
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.write_all(bytes)
}

/// Returns the PNG file at `path` if it is the thumbnail of `file` at this time.
fn read_valid(path: &Path, file: &Path, mtime: i64) -> Option<Vec<u8>> {
    let opened = open_regular(path).ok()?;
    let mut png = Vec::new();
    let read = opened.take(MAX_THUMBNAIL + 1).read_to_end(&mut png).ok()?;
    if read as u64 > MAX_THUMBNAIL {
        return None;
    }
    let limits = png::Limits {
        bytes: usize::try_from(MAX_DECODED).unwrap_or(usize::MAX),
    };
    let decoder = png::Decoder::new_with_limits(Cursor::new(&png), limits);
    let reader = decoder.read_info().ok()?;
    let texts = &reader.info().uncompressed_latin1_text;
    let text = |name: &str| {
        let found = texts.iter().find(|text| text.keyword == name)?;
        Some(found.text.as_str())
    };
    // Some programs write a fraction.
    let time = text("Thumb::MTime")?
        .split('.')
        .next()?
        .trim()
        .parse::<i64>();
    (text("Thumb::URI")? == file_uri(file) && time == Ok(mtime)).then_some(png)
}

fn open_regular(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or(0);
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("not a regular file")),
    }
}

fn encode_png(file: &Path, mtime: i64, picture: &Rgb) -> Result<Vec<u8>, Unreadable> {
    let mut png = Vec::new();
    let mut encoder = png::Encoder::new(&mut png, picture.width, picture.height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    for (name, text) in [
        ("Thumb::URI", file_uri(file)),
        ("Thumb::MTime", mtime.to_string()),
        ("Software", "etui".to_owned()),
    ] {
        let added = encoder.add_text_chunk(name.to_owned(), text);
        added.map_err(Unreadable::damaged)?;
    }
    let mut writer = encoder.write_header().map_err(Unreadable::damaged)?;
    let written = writer.write_image_data(&picture.pixels);
    written
        .and_then(|()| writer.finish())
        .map_err(Unreadable::damaged)?;
    Ok(png)
}

#[cfg(test)]
mod tests;
