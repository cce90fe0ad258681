//! [`Capture`]: time, place and camera of a picture or video.

use std::fs::File;

use nom_exif::{
    EntryValue, Exif, ExifDateTime, ExifTag, GPSInfo, MediaParser, MediaSource, TrackInfo,
    TrackInfoTag,
};

use crate::bounded_file::BoundedFile;
use crate::error::Unreadable;
use crate::orientation::Orientation;

/// Time, place and camera of a picture, as far as they are known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Capture {
    /// When it was taken.
    pub taken: Option<Taken>,
    /// Where it was taken.
    pub place: Option<Place>,
    /// The maker and model of the camera; empty if unknown.
    pub camera: String,
}

/// The time at which a picture or video was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// The time, `2024-05-03T12:00:00`.
    pub time: String,
    /// True for UTC; else it is the local time of the camera's clock.
    pub is_utc: bool,
    /// What says so.
    pub from: TakenFrom,
}

/// What says when a picture was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TakenFrom {
    /// EXIF.
    Exif,
    /// XMP.
    Xmp,
    /// IPTC.
    Iptc,
    /// The headers of a video.
    Video,
}

impl TakenFrom {
    /// Returns its name, such as `exif`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exif => "exif",
            Self::Xmp => "xmp",
            Self::Iptc => "iptc",
            Self::Video => "video",
        }
    }
}

impl Taken {
    /// Returns the local time of a camera's clock.
    pub(crate) fn local(time: String, from: TakenFrom) -> Self {
        Self {
            time,
            is_utc: false,
            from,
        }
    }
}

/// A place on the globe, in degrees (WGS 84).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    /// North of the equator; negative: south.
    pub latitude: f64,
    /// East of Greenwich; negative: west.
    pub longitude: f64,
}

impl Place {
    /// Returns a place, unless it is no place on the globe, or the origin, which devices without a
    /// position write.
    fn new(latitude: f64, longitude: f64) -> Option<Self> {
        let is_place = latitude.abs() <= 90.0 && longitude.abs() <= 180.0;
        let is_origin = latitude == 0.0 && longitude == 0.0;
        (is_place && !is_origin).then_some(Self {
            latitude,
            longitude,
        })
    }

    fn of(gps: &GPSInfo) -> Option<Self> {
        Self::new(gps.latitude_decimal()?, gps.longitude_decimal()?)
    }
}

/// The EXIF data of a picture.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ExifData {
    pub(crate) capture: Capture,
    pub(crate) orientation: Orientation,
    pub(crate) size: Option<(u32, u32)>,
}

/// Reads EXIF; `None` if a picture has none.
pub(crate) fn read_exif(
    parser: &mut MediaParser,
    file: &File,
) -> Result<Option<ExifData>, Unreadable> {
    let mut reader = BoundedFile::new(file)?;
    let parsed = MediaSource::seekable(&mut reader).and_then(|source| parser.parse_exif(source));
    let exif: Exif = match parsed {
        Ok(iter) => iter.into(),
        Err(nom_exif::Error::ExifNotFound) => return Ok(None),
        Err(error) => return Err(reader.refine(error)),
    };
    let number = |tag| {
        let value = exif.get(tag).and_then(EntryValue::try_as_integer)?;
        u32::try_from(value).ok()
    };
    let size = number(ExifTag::ExifImageWidth).zip(number(ExifTag::ExifImageHeight));
    let taken = [
        ExifTag::DateTimeOriginal,
        ExifTag::CreateDate,
        ExifTag::ModifyDate,
    ];
    let taken = taken
        .into_iter()
        .find_map(|tag| exif.get(tag)?.as_datetime());
    let text = |tag| {
        exif.get(tag)
            .and_then(EntryValue::as_str)
            .unwrap_or_default()
    };
    Ok(Some(ExifData {
        capture: Capture {
            taken: taken
                .and_then(local_time)
                .map(|time| Taken::local(time, TakenFrom::Exif)),
            place: exif.gps_info().and_then(Place::of),
            camera: camera_name(text(ExifTag::Make), text(ExifTag::Model)),
        },
        orientation: Orientation::from_exif(number(ExifTag::Orientation).unwrap_or(1)),
        size: size.filter(|(width, height)| *width > 0 && *height > 0),
    }))
}

/// Properties of a video.
pub(crate) struct TrackData {
    pub(crate) capture: Capture,
    pub(crate) size: Option<(u32, u32)>,
    /// In milliseconds.
    pub(crate) length: u64,
}

/// Reads the properties of a video.
pub(crate) fn read_track(parser: &mut MediaParser, file: &File) -> Result<TrackData, Unreadable> {
    let mut reader = BoundedFile::new(file)?;
    let parsed = MediaSource::seekable(&mut reader).and_then(|source| parser.parse_track(source));
    let track: TrackInfo = parsed.map_err(|error| reader.refine(error))?;
    let number = |tag| track.get(tag).and_then(EntryValue::try_as_integer);
    let size = |tag| number(tag).and_then(|n| u32::try_from(n).ok());
    let text = |tag| {
        track
            .get(tag)
            .and_then(EntryValue::as_str)
            .unwrap_or_default()
    };
    let taken = track.get(TrackInfoTag::CreateDate);
    let taken = taken.and_then(EntryValue::as_datetime);
    // The time in `mvhd` is UTC (ISO/IEC 14496-12, section 8.2.2), as that of Matroska. Apple writes
    // the local time with its offset besides, which the parser then prefers.
    let has_offset = taken
        .and_then(|time| time.aware())
        .is_some_and(|time| time.offset().local_minus_utc() != 0);
    let capture = Capture {
        taken: taken.and_then(local_time).map(|time| Taken {
            time,
            is_utc: !has_offset,
            from: TakenFrom::Video,
        }),
        place: track.gps_info().and_then(Place::of),
        camera: camera_name(text(TrackInfoTag::Make), text(TrackInfoTag::Model)),
    };
    let length = number(TrackInfoTag::DurationMs).and_then(|n| u64::try_from(n).ok());
    let size = size(TrackInfoTag::Width).zip(size(TrackInfoTag::Height));
    Ok(TrackData {
        capture,
        size,
        length: length.unwrap_or(0),
    })
}

/// The time as the camera's clock showed it. Cameras without a clock say year 0 or 1970.
fn local_time(time: ExifDateTime) -> Option<String> {
    let text = time.into_naive().format("%Y-%m-%dT%H:%M:%S").to_string();
    let year: u32 = text.get(..4)?.parse().ok()?;
    ((1900..=9999).contains(&year) && !text.starts_with("1904-01-01T00:00:00")).then_some(text)
}

/// The model, after the maker unless it names the maker.
pub(crate) fn camera_name(make: &str, model: &str) -> String {
    let (make, model) = (make.trim(), model.trim());
    let first = make.split_whitespace().next().unwrap_or_default();
    let names_maker = model
        .get(..first.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(first));
    match names_maker || model.is_empty() {
        true if model.is_empty() => make.to_owned(),
        true => model.to_owned(),
        false => format!("{make} {model}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cameras_are_named_once() {
        assert_eq!(camera_name("Canon", "Canon EOS R6"), "Canon EOS R6");
        assert_eq!(camera_name("NIKON CORPORATION", "NIKON Z 6"), "NIKON Z 6");
        assert_eq!(camera_name("Google", "Pixel 8"), "Google Pixel 8");
        assert_eq!(camera_name("Apple ", ""), "Apple");
        assert_eq!(camera_name("", ""), "");
    }

    #[test]
    fn the_origin_is_no_place() {
        assert_eq!(Place::new(0.0, 0.0), None);
        assert_eq!(Place::new(91.0, 0.0), None);
        assert_eq!(Place::new(f64::NAN, 0.0), None);
        assert!(Place::new(-33.9, 151.2).is_some());
    }
}
