//! [`Picture`]: a photo or a video, a kind of record; its fields, columns and summary.

use etui_text::phone::{MatchType, Region};
use etui_text::varint;
use rusqlite::Connection;

use super::cover::CoverId;
use super::tag_lines::TagLines;
use crate::db::IndexContext;
use crate::record::keys::{Key, KeyWriter, clip_text};
use crate::record::{IndexedColumns, RecordKind};
use crate::search::filter::{self, FieldSet, KeySet, MatchMode, Matcher, NumberRange};
use crate::search::query::{self, ColumnValues, RowBuffer, SearchableRecord, columns};
use crate::types::CollectionKind;

/// Longest text in a summary, in bytes.
const MAX_SHOWN: usize = 200;

/// A photo or a video: the properties of its file, and user data such as a rating.
#[derive(Debug, Clone, Default)]
pub struct Picture {
    lines: TagLines,
}

impl Picture {
    pub(super) fn new(lines: TagLines) -> Self {
        Self { lines }
    }

    /// Returns the value of a property, such as `file.camera`; empty if there is none.
    pub(crate) fn property(&self, name: &str) -> String {
        let first = self.lines.first(name);
        first.map_or_else(String::new, |value| value.into_owned())
    }

    /// Returns the name of the file.
    pub(crate) fn name(&self) -> String {
        self.property("file.name")
    }

    /// Returns the local time at which it was taken, `2024-05-03T12:00:00`. [`PictureColumn::TakenFrom`]
    /// says how far it can be relied on.
    pub(crate) fn taken(&self) -> String {
        self.property("file.taken")
    }

    /// Returns the day of [`Picture::taken`], `2024-05-03`.
    pub(crate) fn day(&self) -> Option<String> {
        let taken = self.taken();
        let day = taken.get(..10)?;
        NumberRange::of_date(day)?;
        Some(day.to_owned())
    }

    /// Returns the length of a video in milliseconds.
    pub(crate) fn length(&self) -> Option<u64> {
        self.lines.number("file.length")
    }

    /// Returns the id of its thumbnails.
    pub(crate) fn cover(&self) -> Option<CoverId> {
        self.lines.first("file.cover")?.parse().ok()
    }

    /// Returns its rating, 0 to 5.
    pub(crate) fn rating(&self) -> Option<u32> {
        self.lines.number("user.rating")
    }
}

impl RecordKind for Picture {
    const KIND: CollectionKind = CollectionKind::Pictures;
    const IS_SCANNED: bool = true;

    fn stored(_: &Connection, text: Vec<u8>, _: Option<i64>) -> crate::Result<Self> {
        Ok(Self::new(TagLines::from_text(text)))
    }

    fn text(&self) -> &[u8] {
        self.lines.as_bytes()
    }

    fn uid(&self) -> Option<&str> {
        None
    }

    fn index(&self, _: &IndexContext<'_>) -> IndexedColumns {
        let (name, taken, camera) = (self.name(), self.taken(), self.property("file.camera"));
        let mut keys = KeyWriter::default();
        keys.push_words(Key::Title, &name);
        for (key, tag) in [
            (Key::Description, "TITLE"),
            (Key::Category, "KEYWORD"),
            (Key::Artist, "PERSON"),
        ] {
            for value in self.lines.all(tag) {
                keys.push_words(key, &value);
            }
        }
        keys.push_words(Key::Camera, &camera);
        keys.push_words(Key::Format, &self.property("file.format"));
        let day = self.day().and_then(|day| NumberRange::of_date(&day));
        let seconds = self.length().map(|ms| u32::try_from(ms / 1000));
        for (key, number) in [
            (Key::Taken, day.map(|day| *day.0.start())),
            (Key::Length, seconds.and_then(Result::ok)),
            (Key::Rating, self.rating()),
        ] {
            if let Some(number) = number {
                keys.push_number(key, number);
            }
        }
        let (width, height) = (self.property("file.width"), self.property("file.height"));
        let cover = self.cover().map_or_else(String::new, |id| id.to_string());
        let length = self.length().map_or_else(String::new, |ms| ms.to_string());
        let mut summary = Vec::with_capacity(96);
        for part in [&name, &taken, &width, &height, &length, &camera, &cover] {
            varint::push_bytes(&mut summary, clip_text(part, MAX_SHOWN).as_bytes());
        }
        let mut sort_key = clip_text(&taken, MAX_SHOWN).as_bytes().to_vec();
        sort_key.push(0);
        sort_key.extend_from_slice(clip_text(&name, MAX_SHOWN).as_bytes());
        IndexedColumns {
            keys: keys.into_keys(),
            sort_key,
            summary,
            ..IndexedColumns::default()
        }
    }
}

/// A picture as lists show it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PictureSummary {
    /// The name of its file.
    pub name: String,
    /// The local time at which it was taken.
    pub taken: String,
    /// Its width in pixels, as it is shown.
    pub width: u32,
    /// Its height in pixels, as it is shown.
    pub height: u32,
    /// The length of a video in milliseconds.
    pub length: Option<u64>,
    /// The camera.
    pub camera: String,
    /// The id of its thumbnails.
    pub cover: Option<CoverId>,
}

impl PictureSummary {
    fn decode(mut bytes: &[u8]) -> Self {
        let mut next = || varint::take_text(&mut bytes);
        Self {
            name: next(),
            taken: next(),
            width: next().parse().unwrap_or(0),
            height: next().parse().unwrap_or(0),
            length: next().parse().ok(),
            camera: next(),
            cover: next().parse().ok(),
        }
    }
}

columns! {
    /// A column of pictures.
    pub enum PictureColumn, list: "taken", text: Tags {
        /// The name of the file.
        Name = "name",
        /// The local time at which it was taken.
        Taken = "taken",
        /// The width in pixels.
        Width = "width",
        /// The height in pixels.
        Height = "height",
        /// The length of a video in milliseconds.
        Length = "length",
        /// The camera.
        Camera = "camera",
        /// The thumbnails' id.
        Cover = "cover",
        /// The UID.
        Uid = "uid",
        /// The ETag, as 32 hexadecimal digits.
        ETag = "etag",
        /// Latitude and longitude in degrees, with a comma between them.
        Place = "place",
        /// The rating, 0 to 5.
        Rating = "rating",
        /// The format of the file.
        Format = "format",
        /// What says when it was taken: `exif`, `xmp`, `iptc`, `video`, or `name` of the file; `file` if
        /// nothing does, and the time is that of the file's last change.
        TakenFrom = "takenfrom",
        /// The title.
        Title = "title",
        /// All keywords.
        Keywords = "keywords" [many],
        /// All people in it.
        People = "people" [many],
        /// All properties.
        Tags = "tags",
    }
}

impl ColumnValues for PictureColumn {
    type Field = PictureField;
    type Parsed = Picture;

    fn parse_text(text: &[u8]) -> Option<Picture> {
        Some(Picture::new(TagLines::from_text(text.to_vec())))
    }

    fn push_value(self, picture: &Picture, rows: &mut RowBuffer) {
        let name = match self {
            Self::Keywords => return rows.push_list(picture.lines.all("KEYWORD")),
            Self::People => return rows.push_list(picture.lines.all("PERSON")),
            Self::Title => "TITLE",
            Self::TakenFrom => "file.takenfrom",
            Self::Place => "file.place",
            Self::Rating => "user.rating",
            _ => "file.format",
        };
        rows.push(picture.property(name).as_bytes());
    }
}

/// A field that filters of pictures compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PictureField {
    /// Name, camera, title, keywords and people.
    Any,
    /// Name of the file.
    Name,
    /// Title in XMP or IPTC.
    Title,
    /// Keywords.
    Keyword,
    /// People in it.
    Person,
    /// Camera.
    Camera,
    /// Format of the file, such as `jpeg`.
    Format,
    /// Day: `2024`, `2024-05`, `2024-05-03`, or a range of them.
    Taken,
    /// Length of a video in seconds.
    Length,
    /// Rating, 0 to 5.
    Rating,
}

/// A condition on pictures.
pub type PictureFilter = filter::Filter<PictureField>;

/// A query for pictures.
pub type PictureQuery = query::Query<PictureColumn>;

/// Pictures with the columns asked for.
pub type PictureRows = query::Rows<PictureColumn>;

impl PictureField {
    /// Every field with its name in the text form.
    pub const NAMES: &'static [(&'static str, Self)] = &[
        ("any", Self::Any),
        ("name", Self::Name),
        ("title", Self::Title),
        ("keyword", Self::Keyword),
        ("person", Self::Person),
        ("camera", Self::Camera),
        ("format", Self::Format),
        ("taken", Self::Taken),
        ("length", Self::Length),
        ("rating", Self::Rating),
    ];

    /// Returns the key of a field of numbers.
    fn number_key(self) -> Option<Key> {
        Some(match self {
            Self::Taken => Key::Taken,
            Self::Length => Key::Length,
            Self::Rating => Key::Rating,
            _ => return None,
        })
    }

    fn parse_range(self, text: &str) -> Option<NumberRange> {
        match self {
            Self::Taken => NumberRange::of_days(text),
            _ => NumberRange::of_numbers(text),
        }
    }
}

impl FieldSet for PictureField {
    const NAMES: &'static [(&'static str, Self)] = Self::NAMES;
    const ANY: Self = Self::Any;
    const PHONES: &'static [(&'static str, Self, MatchType)] = &[];
    const KEYS: &'static [(Key, Self)] = &[
        (Key::Title, Self::Name),
        (Key::Description, Self::Title),
        (Key::Category, Self::Keyword),
        (Key::Artist, Self::Person),
        (Key::Camera, Self::Camera),
        (Key::Format, Self::Format),
        (Key::Taken, Self::Taken),
        (Key::Length, Self::Length),
        (Key::Rating, Self::Rating),
    ];

    fn keys(self) -> KeySet {
        match self {
            Self::Any => KeySet::of(Key::Title)
                .with(Key::Camera)
                .with(Key::Description)
                .with(Key::Category)
                .with(Key::Artist),
            field => KeySet::of_field(field),
        }
    }

    fn refuse_text(self, mode: MatchMode, text: &str) -> Option<String> {
        self.number_key()?;
        let is_whole = matches!(mode, MatchMode::Words | MatchMode::Whole);
        let is_range = is_whole && self.parse_range(text).is_some();
        (!is_range).then(|| match self {
            Self::Taken => {
                format!("\"{text}\" is no date; write 2024, 2024-05, 2024-05-03..2024-06")
            }
            _ => format!("\"{text}\" is no number; write 4, >4, <=4, 4..9"),
        })
    }

    fn compare(self, mode: MatchMode, text: &str, _: Option<Region>) -> Matcher {
        if let Some(key) = self.number_key() {
            return Matcher::match_number(key, self.parse_range(text));
        }
        match self {
            // Names and people have trigrams, others do not.
            Self::Any => {
                let with_trigrams = KeySet::of(Key::Title).with(Key::Artist);
                let others = KeySet::of(Key::Camera)
                    .with(Key::Description)
                    .with(Key::Category);
                Matcher::Or(vec![
                    Matcher::match_words(with_trigrams, mode, text),
                    Matcher::match_words(others, mode, text),
                ])
            }
            _ => Matcher::match_words(self.keys(), mode, text),
        }
    }
}

impl SearchableRecord for Picture {
    type Field = PictureField;
    type Column = PictureColumn;
    type Summary = PictureSummary;

    fn summary_decoder() -> impl FnMut(&[u8]) -> PictureSummary {
        PictureSummary::decode
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_ranges_of_days() {
        let days = |text: &str| NumberRange::of_date(text).map(|range| range.0);
        assert_eq!(days("2024"), Some(20_240_000..=20_249_999));
        assert_eq!(days("2024-05"), Some(20_240_500..=20_240_599));
        assert_eq!(days("2024-05-03"), Some(20_240_503..=20_240_503));
        for bad in ["", "24", "2024-13", "2024-5", "2024-05-03-01", "2024-05-00"] {
            assert_eq!(days(bad), None, "{bad}");
        }
        assert!(
            "taken:2024-05..2024-07 camera:canon"
                .parse::<PictureFilter>()
                .is_ok()
        );
        assert!("taken:may".parse::<PictureFilter>().is_err());
    }
}
