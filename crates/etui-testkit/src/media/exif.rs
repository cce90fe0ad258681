//! [`photo`]: a JPEG with an EXIF segment (CIPA DC-008, TIFF 6.0).

use jpeg_encoder::Encoder;

use super::picture::Painting;

/// Picture and EXIF fields of a photo. `None` and empty text write no field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PhotoSpec {
    /// Seed of the picture.
    pub seed: u64,
    /// Width in pixels, as stored; at least 8.
    pub width: u16,
    /// Height in pixels, as stored; at least 8.
    pub height: u16,
    /// Time of exposure.
    pub taken: Option<PhotoTime>,
    /// EXIF orientation, 1 to 8.
    pub orientation: Option<u8>,
    /// Maker of the camera.
    pub make: String,
    /// Model of the camera.
    pub model: String,
    /// Place of exposure.
    pub place: Option<GpsPlace>,
    /// True if a thumbnail of 160 by 120 pixels is embedded.
    pub thumbnail: bool,
}

/// Local time on the camera's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhotoTime {
    /// Year, four digits.
    pub year: u16,
    /// Month, 1 to 12.
    pub month: u8,
    /// Day of the month, from 1.
    pub day: u8,
    /// Hour, 0 to 23.
    pub hour: u8,
    /// Minute, 0 to 59.
    pub minute: u8,
    /// Second, 0 to 59.
    pub second: u8,
    /// Offset from UTC in minutes, if the camera knows it.
    pub utc_offset: Option<i16>,
}

/// A place on Earth, in millionths of a degree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GpsPlace {
    /// Latitude; north is positive.
    pub latitude: i32,
    /// Longitude; east is positive.
    pub longitude: i32,
}

const THUMBNAIL: (u16, u16) = (160, 120);

/// Returns a JPEG with an EXIF segment.
///
/// ```text
/// SOI | APP0 JFIF | APP1 "Exif\0\0", TIFF | ...
/// ```
pub fn photo(spec: &PhotoSpec) -> Vec<u8> {
    let mut jpeg = Vec::new();
    let mut encoder = Encoder::new(&mut jpeg, 85);
    let mut segment = b"Exif\0\0".to_vec();
    segment.extend(tiff(spec));
    let added = encoder.add_app_segment(1, segment);
    debug_assert!(added.is_ok());
    Painting::new(spec.seed, spec.width, spec.height).encode(encoder);
    jpeg
}

/// Returns the TIFF structure, little-endian.
///
/// ```text
/// header (8) | IFD 0 | Exif IFD | GPS IFD | IFD 1, thumbnail
/// ```
fn tiff(spec: &PhotoSpec) -> Vec<u8> {
    let exif = exif_ifd(spec);
    let gps = spec.place.map(gps_ifd);
    let mut main = Ifd::default();
    main.text(0x010F, &spec.make);
    main.text(0x0110, &spec.model);
    if let Some(orientation) = spec.orientation {
        main.short(0x0112, orientation.into());
    }
    if let Some(taken) = spec.taken {
        main.text(0x0132, &taken.text());
    }
    // The two pointers are 12 bytes each, without data outside the IFD.
    let pointers = 12 + if gps.is_some() { 12 } else { 0 };
    let exif_offset = 8 + main.length() + pointers;
    main.long(0x8769, exif_offset);
    let gps_offset = exif_offset + exif.length();
    if gps.is_some() {
        main.long(0x8825, gps_offset);
    }
    let end = gps_offset + gps.as_ref().map_or(0, Ifd::length);

    let mut out = b"II\x2A\0\x08\0\0\0".to_vec();
    main.write(&mut out, if spec.thumbnail { end } else { 0 });
    exif.write(&mut out, 0);
    if let Some(gps) = gps {
        gps.write(&mut out, 0);
    }
    if spec.thumbnail {
        let mut thumbnail = Vec::new();
        let (width, height) = THUMBNAIL;
        Painting::new(spec.seed, width, height).encode(Encoder::new(&mut thumbnail, 70));
        let mut ifd = Ifd::default();
        // Compression 6 is JPEG.
        ifd.short(0x0103, 6);
        // This field and the next are 12 bytes each.
        let offset = end + ifd.length() + 24;
        ifd.long(0x0201, offset);
        ifd.long(0x0202, thumbnail.len() as u32);
        ifd.write(&mut out, 0);
        out.extend(thumbnail);
    }
    out
}

fn exif_ifd(spec: &PhotoSpec) -> Ifd {
    let mut ifd = Ifd::default();
    ifd.field(0x9000, Kind::Undefined, 4, b"0232");
    if let Some(taken) = spec.taken {
        ifd.text(0x9003, &taken.text());
        ifd.text(0x9004, &taken.text());
        if let Some(offset) = taken.utc_offset {
            let sign = if offset < 0 { '-' } else { '+' };
            let (hours, minutes) = (offset.abs() / 60, offset.abs() % 60);
            ifd.text(0x9011, &format!("{sign}{hours:02}:{minutes:02}"));
        }
    }
    ifd.long(0xA002, spec.width.max(8).into());
    ifd.long(0xA003, spec.height.max(8).into());
    ifd
}

fn gps_ifd(place: GpsPlace) -> Ifd {
    let mut ifd = Ifd::default();
    ifd.field(0, Kind::Byte, 4, &[2, 3, 0, 0]);
    ifd.text(1, if place.latitude < 0 { "S" } else { "N" });
    ifd.angle(2, place.latitude);
    ifd.text(3, if place.longitude < 0 { "W" } else { "E" });
    ifd.angle(4, place.longitude);
    ifd
}

impl PhotoTime {
    fn text(&self) -> String {
        format!(
            "{:04}:{:02}:{:02} {:02}:{:02}:{:02}",
            self.year, self.month, self.day, self.hour, self.minute, self.second
        )
    }
}

/// Field types of TIFF 6.0 and EXIF.
#[derive(Clone, Copy)]
enum Kind {
    Byte = 1,
    Ascii = 2,
    Short = 3,
    Long = 4,
    Rational = 5,
    Undefined = 7,
}

/// An image file directory. Fields are added in the order of their tags.
///
/// ```text
/// count (2) | count fields: tag (2), type (2), values (4), value or offset (4) | next IFD (4) | data
/// ```
#[derive(Default)]
struct Ifd {
    fields: Vec<Field>,
}

struct Field {
    tag: u16,
    kind: Kind,
    count: u32,
    value: Vec<u8>,
}

impl Ifd {
    fn field(&mut self, tag: u16, kind: Kind, count: u32, value: &[u8]) {
        self.fields.push(Field {
            tag,
            kind,
            count,
            value: value.to_vec(),
        });
    }

    fn text(&mut self, tag: u16, text: &str) {
        if !text.is_empty() {
            let value = [text.as_bytes(), &[0]].concat();
            self.field(tag, Kind::Ascii, value.len() as u32, &value);
        }
    }

    fn short(&mut self, tag: u16, value: u16) {
        self.field(tag, Kind::Short, 1, &value.to_le_bytes());
    }

    fn long(&mut self, tag: u16, value: u32) {
        self.field(tag, Kind::Long, 1, &value.to_le_bytes());
    }

    /// Adds an angle as degrees, minutes and ten-thousandths of a second.
    fn angle(&mut self, tag: u16, millionths: i32) {
        let seconds = u64::from(millionths.unsigned_abs()) * 36;
        let (degrees, rest) = (seconds / 36_000_000, seconds % 36_000_000);
        let (minutes, rest) = (rest / 600_000, rest % 600_000);
        let parts = [degrees, 1, minutes, 1, rest, 10_000];
        let value: Vec<u8> = parts
            .iter()
            .flat_map(|part| (*part as u32).to_le_bytes())
            .collect();
        self.field(tag, Kind::Rational, 3, &value);
    }

    /// Returns the length of the directory with its data, an even number.
    fn length(&self) -> u32 {
        let data: usize = self.fields.iter().map(Field::outside).sum();
        (6 + 12 * self.fields.len() + data) as u32
    }

    /// Appends the directory at the end of `out`, which is its offset.
    fn write(&self, out: &mut Vec<u8>, next: u32) {
        let mut data = Vec::new();
        let data_offset = out.len() + 6 + 12 * self.fields.len();
        out.extend_from_slice(&(self.fields.len() as u16).to_le_bytes());
        for field in &self.fields {
            out.extend_from_slice(&field.tag.to_le_bytes());
            out.extend_from_slice(&(field.kind as u16).to_le_bytes());
            out.extend_from_slice(&field.count.to_le_bytes());
            if field.outside() == 0 {
                let mut value = field.value.clone();
                value.resize(4, 0);
                out.extend(value);
            } else {
                let offset = (data_offset + data.len()) as u32;
                out.extend_from_slice(&offset.to_le_bytes());
                data.extend_from_slice(&field.value);
                data.resize(data.len().next_multiple_of(2), 0);
            }
        }
        out.extend_from_slice(&next.to_le_bytes());
        out.extend(data);
    }
}

impl Field {
    /// Returns the even number of bytes that the value takes outside the directory.
    fn outside(&self) -> usize {
        match self.value.len() {
            0..=4 => 0,
            length => length.next_multiple_of(2),
        }
    }
}
