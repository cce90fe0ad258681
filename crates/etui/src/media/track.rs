//! [`Track`]: a piece of music, a kind of record; its fields, columns and summary.

use etui_text::phone::{MatchType, Region};
use etui_text::varint;
use rusqlite::Connection;

use super::cover::CoverId;
use super::tag_lines::TagLines;
use super::tag_values::{leading_number, side_and_number, split_disc, year_of};
use crate::db::IndexContext;
use crate::record::keys::{Key, KeyWriter, clip_text};
use crate::record::{IndexedColumns, RecordKind};
use crate::search::filter::{self, FieldSet, KeySet, MatchMode, Matcher, NumberRange};
use crate::search::query::{self, ColumnValues, RowBuffer, SearchableRecord, columns};
use crate::types::CollectionKind;

/// The album artist of compilations without one.
pub(super) const VARIOUS_ARTISTS: &str = "Various Artists";
/// Longest text in a summary, in bytes.
const MAX_SHOWN: usize = 200;

/// A piece of music: the tags of its file, in the names of Vorbis comments, its properties, and
/// its user data.
#[derive(Debug, Clone, Default)]
pub struct Track {
    lines: TagLines,
}

impl Track {
    pub(super) fn new(lines: TagLines) -> Self {
        Self { lines }
    }

    /// Returns the values of a tag, such as `ARTIST`.
    pub(crate) fn tags<'t>(&'t self, name: &'t str) -> impl Iterator<Item = String> + 't {
        self.lines.all(name).map(|value| value.into_owned())
    }

    fn tag(&self, name: &str) -> String {
        let first = self.lines.first(name);
        first.map_or_else(String::new, |value| value.into_owned())
    }

    /// Returns the title; without one, the file's name.
    pub(crate) fn title(&self) -> String {
        match self.tag("TITLE") {
            empty if empty.is_empty() => self.tag("file.name"),
            title => title,
        }
    }

    /// Returns the artists, separated by commas.
    pub(crate) fn artist(&self) -> String {
        self.tags("ARTIST").collect::<Vec<_>>().join(", ")
    }

    /// Returns each artist: those that the tag `ARTISTS` names one by one, else those of `ARTIST`, which
    /// may be a text for people, such as `Ann feat. Ben`.
    pub(crate) fn artists(&self) -> Vec<String> {
        self.each_of("ARTISTS", "ARTIST")
    }

    /// Returns each album artist; see [`Track::artists`].
    pub(super) fn album_artists(&self) -> Vec<String> {
        self.each_of("ALBUMARTISTS", "ALBUMARTIST")
    }

    fn each_of(&self, each: &str, joined: &str) -> Vec<String> {
        let values: Vec<String> = self.tags(each).collect();
        match values.is_empty() {
            true => self.tags(joined).collect(),
            false => values,
        }
    }

    /// Returns the album artists, separated by commas; `Various Artists` for a compilation without
    /// one, else the artists.
    pub(crate) fn album_artist(&self) -> String {
        let named = self.tags("ALBUMARTIST").collect::<Vec<_>>().join(", ");
        match named.is_empty() {
            true if self.is_compilation() => VARIOUS_ARTISTS.to_owned(),
            true => self.artist(),
            false => named,
        }
    }

    /// Returns true if the album is marked as a compilation.
    pub(crate) fn is_compilation(&self) -> bool {
        self.lines.number::<u8>("COMPILATION") == Some(1)
    }

    /// Returns the title of the album, without a disc that it names: `Live` of `Live (Disc 2)`.
    pub(crate) fn album(&self) -> String {
        split_disc(&self.tag("ALBUM")).0.to_owned()
    }

    /// Returns the year of the original release, else of this one.
    pub(crate) fn year(&self) -> Option<u32> {
        let names = ["ORIGINALDATE", "ORIGINALYEAR", "DATE", "YEAR"];
        names.iter().find_map(|name| year_of(&self.tag(name)))
    }

    /// Returns the number of the disc and the number of the track on it; 0 if unknown. A disc without a
    /// number is the one that the album's title names.
    pub(crate) fn position(&self) -> (u32, u32) {
        let disc = leading_number(&self.tag("DISCNUMBER"));
        let disc = disc.or_else(|| split_disc(&self.tag("ALBUM")).1);
        let (_, number) = side_and_number(&self.tag("TRACKNUMBER"));
        (disc.unwrap_or(0), number)
    }

    /// Returns the length in milliseconds.
    pub(crate) fn length(&self) -> u64 {
        self.lines.number("file.length").unwrap_or(0)
    }

    /// Returns the cover.
    pub(crate) fn cover(&self) -> Option<CoverId> {
        self.lines.first("file.cover")?.parse().ok()
    }

    /// Returns the UID of its album.
    pub(super) fn album_uid(&self) -> Option<String> {
        Some(self.lines.first("file.album")?.into_owned())
    }

    /// Returns how often it was played.
    pub(crate) fn plays(&self) -> u32 {
        self.lines.number("user.plays").unwrap_or(0)
    }

    /// Returns its rating, 0 to 5.
    pub(crate) fn rating(&self) -> Option<u32> {
        self.lines.number("user.rating")
    }

    /// Returns the name by which the album artist is sorted: the sort tag, else the name without a
    /// leading "The".
    pub(super) fn album_artist_sort(&self) -> String {
        for name in ["ALBUMARTISTSORT", "ARTISTSORT"] {
            let sort = self.tag(name);
            if !sort.is_empty() && (name == "ALBUMARTISTSORT" || self.has_own_album_artist()) {
                return sort;
            }
        }
        sort_name(&self.album_artist())
    }

    /// Returns true if the album artist is the artist.
    fn has_own_album_artist(&self) -> bool {
        self.album_artist() == self.artist()
    }
}

/// Returns a name without a leading "The".
pub(super) fn sort_name(name: &str) -> String {
    let rest = name.get(..4).filter(|the| the.eq_ignore_ascii_case("the "));
    match rest.and_then(|_| name.get(4..)).map(str::trim_start) {
        Some(rest) if !rest.is_empty() => rest.to_owned(),
        _ => name.to_owned(),
    }
}

impl RecordKind for Track {
    const KIND: CollectionKind = CollectionKind::Music;
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

    fn index(&self, context: &IndexContext<'_>) -> IndexedColumns {
        let (title, album, artist) = (self.title(), self.album(), self.artist());
        let (disc, number) = self.position();
        let (side, _) = side_and_number(&self.tag("TRACKNUMBER"));
        let mut keys = KeyWriter::default();
        keys.push_words(Key::Title, &title);
        for artist in self.lines.all("ARTIST").chain(self.lines.all("ARTISTS")) {
            keys.push_words(Key::Artist, &artist);
        }
        keys.push_words(Key::Album, &album);
        for (key, name) in [
            (Key::AlbumArtist, "ALBUMARTIST"),
            (Key::Composer, "COMPOSER"),
            (Key::Genre, "GENRE"),
            (Key::Format, "file.format"),
            (Key::AlbumUid, "file.album"),
            (Key::Tonality, "INITIALKEY"),
        ] {
            for value in self.lines.all(name) {
                keys.push_words(key, &value);
            }
        }
        let year = self.year();
        let seconds = u32::try_from(self.length() / 1000).unwrap_or(u32::MAX);
        for (key, number) in [
            (Key::Year, year),
            (Key::Length, Some(seconds)),
            (Key::Plays, Some(self.plays())),
            (Key::Rating, self.rating()),
            (Key::Tempo, self.bpm().map(|bpm| bpm.round() as u32)),
        ] {
            if let Some(number) = number {
                keys.push_number(key, number);
            }
        }
        let year = year.map_or_else(String::new, |year| year.to_string());
        let mut summary = Vec::with_capacity(96);
        let track = match (disc, number) {
            (_, 0) => String::new(),
            _ if side > 0 => self.tag("TRACKNUMBER"),
            (0, number) => number.to_string(),
            (disc, number) => format!("{disc}.{number}"),
        };
        let cover = self.cover().map_or_else(String::new, |id| id.to_string());
        let length = seconds.to_string();
        for part in [&title, &artist, &album, &track, &length, &year, &cover] {
            varint::push_bytes(&mut summary, clip_text(part, MAX_SHOWN).as_bytes());
        }
        IndexedColumns {
            keys: keys.into_keys(),
            sort_key: context.order.sort_key(&[
                &self.album_artist_sort(),
                &format!("{year:0>4}"),
                &album,
                &format!("{disc:03}{side:02}{number:05}"),
                &title,
            ]),
            summary,
            ..IndexedColumns::default()
        }
    }
}

/// A track as lists show it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrackSummary {
    /// Its title; without one, the file's name.
    pub title: String,
    /// Its artists, separated by commas.
    pub artist: String,
    /// The title of its album.
    pub album: String,
    /// Its number on the album, after the disc's and a dot if the disc has one: `2.03`.
    pub track: String,
    /// Its length in seconds.
    pub seconds: u32,
    /// The year of its first release.
    pub year: Option<u32>,
    /// Its cover.
    pub cover: Option<CoverId>,
}

impl TrackSummary {
    fn decode(mut bytes: &[u8]) -> Self {
        let mut next = || varint::take_text(&mut bytes);
        Self {
            title: next(),
            artist: next(),
            album: next(),
            track: next(),
            seconds: next().parse().unwrap_or(0),
            year: next().parse().ok(),
            cover: next().parse().ok(),
        }
    }
}

columns! {
    /// A column of tracks.
    pub enum TrackColumn, list: "artist", text: Tags {
        /// The title.
        Title = "title",
        /// The artists, separated by commas.
        Artist = "artist",
        /// The album.
        Album = "album",
        /// The number of the track, after the disc's and a dot if the disc has one.
        Track = "track",
        /// The length in seconds.
        Length = "length",
        /// The year of the first release.
        Year = "year",
        /// The cover's id.
        Cover = "cover",
        /// The UID.
        Uid = "uid",
        /// The ETag, as 32 hexadecimal digits.
        ETag = "etag",
        /// All artists.
        Artists = "artists" [many],
        /// The album artist.
        AlbumArtist = "albumartist",
        /// All genres.
        Genres = "genres" [many],
        /// The composer.
        Composer = "composer",
        /// The number of plays.
        Plays = "plays",
        /// The rating, 0 to 5.
        Rating = "rating",
        /// `1` for a favourite.
        Favourite = "favourite",
        /// The format of the file.
        Format = "format",
        /// The tempo in beats a minute.
        Bpm = "bpm",
        /// The key that it begins in, as its tag says: `Am`, `8A`.
        MusicalKey = "key",
        /// The gain of the track (ReplayGain): decibels with two decimals.
        TrackGain = "gain",
        /// The gain of the album, like that of the track.
        AlbumGain = "albumgain",
        /// The peak of the track; 1 is full scale.
        TrackPeak = "peak",
        /// The peak of the album; 1 is full scale.
        AlbumPeak = "albumpeak",
        /// The lyrics, with line breaks.
        Lyrics = "lyrics",
        /// All tags and properties.
        Tags = "tags",
    }
}

fn decibels(gain: Option<f64>) -> String {
    gain.map_or_else(String::new, |gain| format!("{gain:.2}"))
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

impl ColumnValues for TrackColumn {
    type Field = TrackField;
    type Parsed = Track;

    fn parse_text(text: &[u8]) -> Option<Track> {
        Some(Track::new(TagLines::from_text(text.to_vec())))
    }

    fn push_value(self, track: &Track, rows: &mut RowBuffer) {
        let first = |name| track.tag(name);
        let text = match self {
            Self::Artists => return rows.push_list(track.artists()),
            Self::Genres => return rows.push_list(track.tags("GENRE")),
            Self::AlbumArtist => track.album_artist(),
            Self::Composer => first("COMPOSER"),
            Self::Plays => track.plays().to_string(),
            Self::Rating => first("user.rating"),
            Self::Favourite => first("user.favourite"),
            Self::Bpm => first("BPM"),
            Self::MusicalKey => first("INITIALKEY"),
            Self::TrackGain => decibels(track.track_gain()),
            Self::AlbumGain => decibels(track.album_gain()),
            Self::TrackPeak => number(track.track_peak()),
            Self::AlbumPeak => number(track.album_peak()),
            Self::Lyrics => track.lyrics(),
            _ => first("file.format"),
        };
        rows.push(text.as_bytes());
    }
}

/// A field that filters of tracks compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TrackField {
    /// Title, artists, album, album artist and composer.
    Any,
    /// Title.
    Title,
    /// Artists.
    Artist,
    /// Album artists.
    AlbumArtist,
    /// Album.
    Album,
    /// Composers.
    Composer,
    /// Genres.
    Genre,
    /// Format of the file, such as `flac`.
    Format,
    /// Year of the first release.
    Year,
    /// Length in seconds, or as minutes and seconds: `3:20`.
    Length,
    /// Number of plays.
    Plays,
    /// Rating, 0 to 5.
    Rating,
    /// UID of the album.
    AlbumUid,
    /// Tempo in beats a minute, rounded.
    Bpm,
    /// Key that it begins in, as its tag says.
    MusicalKey,
}

/// A condition on tracks.
pub type TrackFilter = filter::Filter<TrackField>;

/// A query for tracks.
pub type TrackQuery = query::Query<TrackColumn>;

/// Tracks with the columns asked for.
pub type TrackRows = query::Rows<TrackColumn>;

impl TrackField {
    /// Every field with its name in the text form.
    pub const NAMES: &'static [(&'static str, Self)] = &[
        ("any", Self::Any),
        ("title", Self::Title),
        ("artist", Self::Artist),
        ("albumartist", Self::AlbumArtist),
        ("album", Self::Album),
        ("composer", Self::Composer),
        ("genre", Self::Genre),
        ("format", Self::Format),
        ("year", Self::Year),
        ("length", Self::Length),
        ("plays", Self::Plays),
        ("rating", Self::Rating),
        ("albumuid", Self::AlbumUid),
        ("bpm", Self::Bpm),
        ("key", Self::MusicalKey),
    ];

    /// Returns the key of a field of numbers.
    fn number_key(self) -> Option<Key> {
        Some(match self {
            Self::Year => Key::Year,
            Self::Length => Key::Length,
            Self::Plays => Key::Plays,
            Self::Rating => Key::Rating,
            Self::Bpm => Key::Tempo,
            _ => return None,
        })
    }

    fn parse_range(self, text: &str) -> Option<NumberRange> {
        match self {
            Self::Length => NumberRange::parse(text, |text| {
                let (minutes, seconds) = text.split_once(':').unwrap_or(("0", text));
                let number = |text: &str| {
                    let is_number = text.bytes().all(|b| b.is_ascii_digit());
                    text.parse::<u32>().ok().filter(|_| is_number)
                };
                let minutes = number(minutes)?.checked_mul(60)?;
                let total = minutes.checked_add(number(seconds)?)?;
                Some(NumberRange(total..=total))
            }),
            _ => NumberRange::of_numbers(text),
        }
    }
}

impl FieldSet for TrackField {
    const NAMES: &'static [(&'static str, Self)] = Self::NAMES;
    const ANY: Self = Self::Any;
    const PHONES: &'static [(&'static str, Self, MatchType)] = &[];
    const KEYS: &'static [(Key, Self)] = &[
        (Key::Title, Self::Title),
        (Key::Artist, Self::Artist),
        (Key::AlbumArtist, Self::AlbumArtist),
        (Key::Album, Self::Album),
        (Key::Composer, Self::Composer),
        (Key::Genre, Self::Genre),
        (Key::Format, Self::Format),
        (Key::Year, Self::Year),
        (Key::Length, Self::Length),
        (Key::Plays, Self::Plays),
        (Key::Rating, Self::Rating),
        (Key::AlbumUid, Self::AlbumUid),
        (Key::Tempo, Self::Bpm),
        (Key::Tonality, Self::MusicalKey),
    ];

    fn keys(self) -> KeySet {
        match self {
            Self::Any => KeySet::of(Key::Title)
                .with(Key::Artist)
                .with(Key::Album)
                .with(Key::AlbumArtist)
                .with(Key::Composer),
            field => KeySet::of_field(field),
        }
    }

    fn refuse_text(self, mode: MatchMode, text: &str) -> Option<String> {
        self.number_key()?;
        let is_whole = matches!(mode, MatchMode::Words | MatchMode::Whole);
        let is_number = is_whole && self.parse_range(text).is_some();
        (!is_number).then(|| {
            format!("\"{text}\" is no number; write 4, >4, <=4, 4..9 (a length also as 3:20)")
        })
    }

    fn compare(self, mode: MatchMode, text: &str, _: Option<Region>) -> Matcher {
        if let Some(key) = self.number_key() {
            return Matcher::match_number(key, self.parse_range(text));
        }
        match self {
            // Titles, artists and albums have trigrams.
            Self::Any => {
                let with_trigrams = KeySet::of(Key::Title).with(Key::Artist).with(Key::Album);
                let others = KeySet::of(Key::AlbumArtist).with(Key::Composer);
                Matcher::Or(vec![
                    Matcher::match_words(with_trigrams, mode, text),
                    Matcher::match_words(others, mode, text),
                ])
            }
            _ => Matcher::match_words(self.keys(), mode, text),
        }
    }
}

impl SearchableRecord for Track {
    type Field = TrackField;
    type Column = TrackColumn;
    type Summary = TrackSummary;

    fn summary_decoder() -> impl FnMut(&[u8]) -> TrackSummary {
        TrackSummary::decode
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn track(text: &str) -> Track {
        Track::new(TagLines::from_text(text.as_bytes().to_vec()))
    }

    #[test]
    fn album_artists_and_their_order() {
        let of = |text: &str| {
            let track = track(text);
            (track.album_artist(), track.album_artist_sort())
        };
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(of("ARTIST=The Who\n"), pair("The Who", "Who"));
        assert_eq!(of("ARTIST=The The\n"), pair("The The", "The"));
        assert_eq!(
            of("ARTIST=A\nARTIST=B\nCOMPILATION=1\n"),
            pair("Various Artists", "Various Artists")
        );
        assert_eq!(
            of("ARTIST=David Bowie\nARTISTSORT=Bowie, David\n"),
            pair("David Bowie", "Bowie, David")
        );
        assert_eq!(
            of("ARTIST=Guest\nARTISTSORT=Guest\nALBUMARTIST=The Who\n"),
            pair("The Who", "Who")
        );
    }

    #[test]
    fn the_year_is_the_original_one() {
        assert_eq!(
            track("DATE=1999-05-01\nORIGINALDATE=1977\n").year(),
            Some(1977)
        );
        assert_eq!(track("DATE=19990504\n").year(), Some(1999));
        assert_eq!(track("TRACKNUMBER=3/12\nDISCNUMBER=2\n").position(), (2, 3));
        assert_eq!(
            track("TRACKNUMBER=B2\nALBUM=Live [CD 1]\n").position(),
            (1, 2)
        );
    }

    #[test]
    fn numbers_are_compared_as_numbers() {
        let parse = |text: &str| text.parse::<TrackFilter>();
        assert!(parse("year:1970..1979 length:<3:20 rating:>=4").is_ok());
        let error = parse("low year:197*").unwrap_err().to_string();
        assert!(error.contains("\"197\" is no number"), "{error}");
    }
}
