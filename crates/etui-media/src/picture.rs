//! [`read_picture`] and [`read_video`].

use std::fs::File;
use std::io::BufReader;

use imagesize::{Compression, ImageType};
use nom_exif::MediaParser;

use crate::bounded_file::BoundedFile;
use crate::content::{ContentKey, content_key, picture_key};
use crate::description::{Described, Description, read_iptc, read_xmp};
use crate::embedded::{Embedded, find_packet};
use crate::error::Unreadable;
use crate::exif::{Capture, Taken, TakenFrom, camera_name, read_exif, read_track};
use crate::orientation::Orientation;

/// Properties of a picture.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Image {
    /// The format, such as `jpeg`.
    pub format: &'static str,
    /// Width in pixels, as it is shown.
    pub width: u32,
    /// Height in pixels, as it is shown.
    pub height: u32,
    /// How the stored pixels must be turned to be shown.
    pub orientation: Orientation,
    /// Its time, place and camera.
    pub capture: Capture,
    /// Its title, keywords and people.
    pub description: Description,
    /// The key of the picture without its headers.
    pub key: ContentKey,
    /// Why a part of it was not read; `None`: all was read.
    pub problem: Option<String>,
}

/// Properties of a video.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Video {
    /// Width in pixels; 0 if unknown.
    pub width: u32,
    /// Height in pixels; 0 if unknown.
    pub height: u32,
    /// The length in milliseconds; 0 if unknown.
    pub length: u64,
    /// Its time, place and camera.
    pub capture: Capture,
    /// Its title, keywords and people, of its sidecar files.
    pub description: Description,
    /// The key of the file.
    pub key: ContentKey,
}

/// Endings of raw pictures whose headers are read.
const RAW: &[&str] = &[
    "arw", "cr2", "cr3", "dng", "iiq", "nef", "nrw", "pef", "raf", "sr2", "srw",
];

/// Returns the format of a camera's raw picture by the name of its file, such as `dng`; `None` for any other.
pub fn raw_format(name: &str) -> Option<&'static str> {
    let (_, extension) = name.rsplit_once('.')?;
    let mut formats = RAW.iter().copied();
    formats.find(|format| extension.eq_ignore_ascii_case(format))
}

/// Reads a picture's properties; its pixels are not decoded. `name` is that of its file; `sidecars` are the
/// contents of XMP files beside it, which come before what it says itself. `parser` keeps its buffer for the next.
///
/// # Errors
/// [`Unreadable`] for a file that is no picture. Damaged EXIF is told in [`Image::problem`].
pub fn read_picture(
    file: &File,
    name: &str,
    sidecars: &[Vec<u8>],
    parser: &mut PictureParser,
) -> Result<Image, Unreadable> {
    let mut reader = BoundedFile::new(file)?;
    let mut start = [0; 64];
    let n = reader.read_at(0, &mut start)?;
    let raw = raw_format(name);
    let format = match raw {
        Some(raw) => raw,
        None => imagesize::image_type(start.get(..n).unwrap_or_default())
            .ok()
            .and_then(format_name)
            .ok_or(Unreadable::UnknownFormat)?,
    };
    let mut embedded = Embedded::read(&mut |at, buf| reader.read_at(at, buf))?;
    let (exif, problem) = match read_exif(&mut parser.0, file) {
        Ok(exif) => (exif.unwrap_or_default(), None),
        // Nothing else tells a raw picture from other bytes.
        Err(error) if raw.is_some() => return Err(error),
        // The parser reports a missing EXIF as a damaged file.
        Err(_) if format == "jpeg" && embedded.exif.is_none() => Default::default(),
        // Formats without EXIF.
        Err(_) if matches!(format, "gif" | "bmp" | "webp") => Default::default(),
        Err(error) => (Default::default(), Some(format!("EXIF: {error}"))),
    };
    let (width, height) = match raw {
        // The first picture in it is its thumbnail.
        Some(_) => exif.size.unwrap_or_default(),
        None => {
            let mut reader = BoundedFile::new(file)?;
            let size = imagesize::reader_size(BufReader::with_capacity(4 << 10, &mut reader));
            match (size, exif.size) {
                (Ok(size), _) => (to_u32(size.width), to_u32(size.height)),
                (Err(_), Some(size)) => size,
                (Err(error), None) => return Err(reader.refine(error)),
            }
        }
    };
    let orientation = match format {
        // Their pixels are turned by the container.
        "heic" | "avif" => Orientation::default(),
        // As their thumbnails are turned.
        "jpeg" | "png" | "webp" | "tiff" => Orientation::of(&embedded),
        _ => exif.orientation,
    };
    if !matches!(format, "jpeg" | "png" | "webp" | "gif" | "bmp") {
        embedded.xmp = find_packet(reader.len(), &mut |at, buf| reader.read_at(at, buf))?;
    }
    let mut capture = exif.capture;
    let iptc = embedded.iptc.as_deref().map(read_iptc).unwrap_or_default();
    let description = describe(&mut capture, sidecars, embedded.xmp.as_deref(), iptc);
    let (width, height) = orientation.size(width, height);
    Ok(Image {
        format,
        width,
        height,
        orientation,
        capture,
        description,
        key: picture_key(&mut BoundedFile::new(file)?)?,
        problem,
    })
}

/// Adds to `capture` what XMP and IPTC say, and returns their words: of the sidecar files first, which programs
/// write that leave pictures as they are.
fn describe(
    capture: &mut Capture,
    sidecars: &[Vec<u8>],
    embedded: Option<&[u8]>,
    mut iptc: Described,
) -> Description {
    let mut xmp = Described::default();
    let packets = sidecars.iter().map(Vec::as_slice).chain(embedded);
    packets.for_each(|packet| xmp.fill_from(read_xmp(packet)));
    let taken = [
        (xmp.taken.take(), TakenFrom::Xmp),
        (iptc.taken.take(), TakenFrom::Iptc),
    ];
    for (time, from) in taken {
        let taken = time.map(|time| Taken::local(time, from));
        capture.taken = capture.taken.take().or(taken);
    }
    xmp.fill_from(iptc);
    if capture.camera.is_empty() {
        capture.camera = camera_name(&xmp.make, &xmp.model);
    }
    xmp.description
}

/// Reads a video's properties; no frame is decoded. `sidecars` are the contents of XMP files beside it.
///
/// # Errors
/// [`Unreadable`] for a file that is no MP4, MOV, 3GP, MKV or WebM.
pub fn read_video(
    file: &File,
    sidecars: &[Vec<u8>],
    parser: &mut PictureParser,
) -> Result<Video, Unreadable> {
    let track = read_track(&mut parser.0, file)?;
    let (width, height) = track.size.unwrap_or((0, 0));
    let mut capture = track.capture;
    let description = describe(&mut capture, sidecars, None, Described::default());
    Ok(Video {
        width,
        height,
        length: track.length,
        capture,
        description,
        key: content_key(file)?,
    })
}

/// The buffers of a parser of pictures and videos; one for each thread.
#[derive(Debug, Default)]
pub struct PictureParser(MediaParser);

fn to_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn format_name(kind: ImageType) -> Option<&'static str> {
    Some(match kind {
        ImageType::Jpeg => "jpeg",
        ImageType::Png => "png",
        ImageType::Webp => "webp",
        ImageType::Gif => "gif",
        ImageType::Bmp => "bmp",
        ImageType::Tiff => "tiff",
        ImageType::Heif(Compression::Av1) => "avif",
        ImageType::Heif(_) => "heic",
        _ => return None,
    })
}
