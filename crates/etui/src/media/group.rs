//! [`Group`]: an album, an artist, a genre, a day of pictures. A record that the scan derives from
//! its members.
//!
//! A group's text counts the values of its members, so that a member is added and removed without
//! reading the others:
//!
//! ```text
//! text  := "members=" count LF  [ "length=" milliseconds LF ]  vote*
//! vote  := name "=" count " " value LF             name, artist, sort, year, cover, album, genre
//! ```
//!
//! A group has the value that most of its members have; of equals, the least.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use etui_text::phone::{MatchType, Region};
use etui_text::varint;
use rusqlite::Connection;

use super::cover::CoverId;
use super::tag_lines::TagLines;
use super::tag_values::shared_artist;
use super::track::{VARIOUS_ARTISTS, sort_name};
use crate::db::IndexContext;
use crate::record::keys::{Key, KeyWriter, clip_text};
use crate::record::{IndexedColumns, RecordKind};
use crate::search::filter::{self, FieldSet, KeySet, MatchMode, Matcher, NumberRange};
use crate::search::query::{self, ColumnValues, RowBuffer, SearchableRecord, columns};
use crate::types::CollectionKind;

/// Longest text in a summary, in bytes.
const MAX_SHOWN: usize = 200;

/// A kind of group.
pub trait GroupKind: fmt::Debug + Clone + Send + Sync + 'static {
    /// The kind of its collection.
    const COLLECTION: CollectionKind;
}

/// Declares the kinds of groups.
macro_rules! group_kinds {
    ($($(#[$doc:meta])* $kind:ident, $(#[$of:meta])* $group:ident = $collection:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $kind {}

        impl GroupKind for $kind {
            const COLLECTION: CollectionKind = CollectionKind::$collection;
        }

        $(#[$of])*
        pub type $group = Group<$kind>;
    )*};
}

group_kinds! {
    /// Marks albums.
    AlbumKind,
    /// An album: tracks of one release, or of one album title and album artist.
    Album = Albums;
    /// Marks artists.
    ArtistKind,
    /// An artist or album artist.
    Artist = Artists;
    /// Marks genres.
    GenreKind,
    /// A genre.
    Genre = Genres;
    /// Marks days.
    DayKind,
    /// A day with pictures; its name is the date, `2024-05-03`.
    Day = Days;
}

/// A group of tracks or pictures.
#[derive(Debug, Clone)]
pub struct Group<K> {
    text: Vec<u8>,
    kind: PhantomData<K>,
}

impl<K> Group<K> {
    pub(super) fn from_text(text: Vec<u8>) -> Self {
        Self {
            text,
            kind: PhantomData,
        }
    }
}

/// The counted values of a group's members.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct GroupVotes {
    pub(super) members: u64,
    /// Sum of the lengths, in milliseconds.
    pub(super) length: u64,
    votes: BTreeMap<String, BTreeMap<String, u64>>,
}

/// The values of one member of a group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Contribution {
    pub(super) length: u64,
    /// Names and values.
    pub(super) values: Vec<(&'static str, String)>,
}

impl GroupVotes {
    pub(super) fn parse(text: Vec<u8>) -> Self {
        let lines = TagLines::from_text(text);
        let mut votes = Self {
            members: lines.number("members").unwrap_or(0),
            length: lines.number("length").unwrap_or(0),
            ..Self::default()
        };
        for (name, value) in lines.iter() {
            if let Some((count, value)) = value.split_once(' ')
                && let Ok(count) = count.parse()
            {
                let of_name = votes.votes.entry(name.to_owned()).or_default();
                of_name.insert(value.to_owned(), count);
            }
        }
        votes
    }

    pub(super) fn to_text(&self) -> Vec<u8> {
        let mut lines = TagLines::default();
        lines.push_number("members", self.members);
        if self.length > 0 {
            lines.push_number("length", self.length);
        }
        for (name, values) in &self.votes {
            for (value, count) in values {
                lines.push(name, &format!("{count} {value}"));
            }
        }
        lines.as_bytes().to_vec()
    }

    /// Adds a member.
    pub(super) fn add(&mut self, member: &Contribution) {
        self.members += 1;
        self.length = self.length.saturating_add(member.length);
        for (name, value) in &member.values {
            let of_name = self.votes.entry((*name).to_owned()).or_default();
            *of_name.entry(value.clone()).or_default() += 1;
        }
    }

    /// Removes a member that was added.
    pub(super) fn remove(&mut self, member: &Contribution) {
        self.members = self.members.saturating_sub(1);
        self.length = self.length.saturating_sub(member.length);
        for (name, value) in &member.values {
            let Some(of_name) = self.votes.get_mut(*name) else {
                continue;
            };
            if let Some(count) = of_name.get_mut(value) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    of_name.remove(value);
                }
            }
            if of_name.is_empty() {
                self.votes.remove(*name);
            }
        }
    }

    /// Returns the value of most members; empty if there is none.
    fn most(&self, name: &str) -> &str {
        let values = self.votes.get(name).into_iter().flatten();
        let mut best = ("", 0);
        for (value, &count) in values {
            if count > best.1 {
                best = (value, count);
            }
        }
        best.0
    }

    /// Derives the columns of a group.
    pub(super) fn index(&self, kind: CollectionKind, context: &IndexContext<'_>) -> IndexedColumns {
        let summary = GroupSummary::of(self);
        let mut keys = KeyWriter::default();
        keys.push_words(Key::Title, &summary.name);
        keys.push_words(Key::Artist, &summary.artist);
        for genre in self.votes.get("genre").into_iter().flatten() {
            keys.push_words(Key::Genre, genre.0);
        }
        if let Some(year) = summary.year {
            keys.push_number(Key::Year, year);
        }
        let year = summary.year.unwrap_or(0);
        let sort_key = match kind {
            CollectionKind::Albums => {
                let sort = match summary.artist == VARIOUS_ARTISTS {
                    true => VARIOUS_ARTISTS.to_owned(),
                    // The artist that all begin with may be none of them.
                    false if self.distinct("by") > 1 => sort_name(&summary.artist),
                    false => self.most("sort").to_owned(),
                };
                context
                    .order
                    .sort_key(&[&sort, &format!("{year:04}"), &summary.name])
            }
            CollectionKind::Artists => {
                let sort = match self.most("sort") {
                    "" => sort_name(&summary.name),
                    sort => sort.to_owned(),
                };
                context.order.sort_key(&[&sort])
            }
            CollectionKind::Days => summary.name.as_bytes().to_vec(),
            _ => context.order.sort_key(&[&summary.name]),
        };
        IndexedColumns {
            keys: keys.into_keys(),
            sort_key,
            summary: summary.encode(),
            ..IndexedColumns::default()
        }
    }
    /// Returns the cover of most members.
    pub(super) fn cover(&self) -> Option<CoverId> {
        self.most("cover").parse().ok()
    }

    /// Returns the number of different values.
    fn distinct(&self, name: &str) -> usize {
        self.votes.get(name).map_or(0, BTreeMap::len)
    }
}

/// A group as lists show it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupSummary {
    /// The title of an album, the name of an artist or genre, a date.
    pub name: String,
    /// The album artist.
    pub artist: String,
    /// The year of an album's first release.
    pub year: Option<u32>,
    /// The number of its tracks or pictures.
    pub members: u64,
    /// The number of an artist's albums.
    pub albums: u64,
    /// The sum of the members' lengths, in seconds.
    pub seconds: u64,
    /// The cover of most members.
    pub cover: Option<CoverId>,
}

impl GroupSummary {
    fn of(votes: &GroupVotes) -> Self {
        let artist = match votes.distinct("artist") {
            0 | 1 => votes.most("artist"),
            // An album without an album artist, whose tracks have several artists.
            _ if votes.distinct("by") > 1 => {
                let artists = votes.votes.get("by").into_iter().flatten();
                let artists = artists.map(|(artist, _)| artist.as_str());
                shared_artist(artists).unwrap_or(VARIOUS_ARTISTS)
            }
            _ => votes.most("artist"),
        };
        Self {
            name: votes.most("name").to_owned(),
            artist: artist.to_owned(),
            year: votes.most("year").parse().ok(),
            members: votes.members,
            albums: votes.distinct("album") as u64,
            seconds: votes.length / 1000,
            cover: votes.cover(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut summary = Vec::with_capacity(80);
        let number = |number: u64| match number {
            0 => String::new(),
            number => number.to_string(),
        };
        let cover = self.cover.map_or_else(String::new, |id| id.to_string());
        let year = self.year.map_or_else(String::new, |year| year.to_string());
        for part in [
            &self.name,
            &self.artist,
            &year,
            &number(self.members),
            &number(self.albums),
            &number(self.seconds),
            &cover,
        ] {
            varint::push_bytes(&mut summary, clip_text(part, MAX_SHOWN).as_bytes());
        }
        summary
    }

    fn decode(mut bytes: &[u8]) -> Self {
        let mut next = || varint::take_text(&mut bytes);
        Self {
            name: next(),
            artist: next(),
            year: next().parse().ok(),
            members: next().parse().unwrap_or(0),
            albums: next().parse().unwrap_or(0),
            seconds: next().parse().unwrap_or(0),
            cover: next().parse().ok(),
        }
    }
}

impl<K: GroupKind> RecordKind for Group<K> {
    const KIND: CollectionKind = K::COLLECTION;
    const IS_SCANNED: bool = true;

    fn stored(_: &Connection, text: Vec<u8>, _: Option<i64>) -> crate::Result<Self> {
        Ok(Self::from_text(text))
    }

    fn text(&self) -> &[u8] {
        &self.text
    }

    fn uid(&self) -> Option<&str> {
        None
    }

    fn index(&self, context: &IndexContext<'_>) -> IndexedColumns {
        let votes = GroupVotes::parse(self.text.clone());
        votes.index(K::COLLECTION, context)
    }
}

columns! {
    /// A column of groups.
    pub enum GroupColumn, list: "name", text: Votes {
        /// The title of an album, the name of an artist or genre, a date.
        Name = "name",
        /// The album artist.
        Artist = "artist",
        /// The year of an album's first release.
        Year = "year",
        /// The number of tracks or pictures.
        Members = "members",
        /// The number of an artist's albums.
        Albums = "albums",
        /// The sum of the lengths in seconds.
        Length = "length",
        /// The cover's id.
        Cover = "cover",
        /// The UID.
        Uid = "uid",
        /// The ETag, as 32 hexadecimal digits.
        ETag = "etag",
        /// The counted values of the members.
        Votes = "votes",
    }
}

impl ColumnValues for GroupColumn {
    type Field = GroupField;
    type Parsed = ();

    fn parse_text(_: &[u8]) -> Option<()> {
        Some(())
    }

    fn push_value(self, (): &(), rows: &mut RowBuffer) {
        rows.push(&[]);
    }
}

/// A field that filters of groups compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GroupField {
    /// Name and album artist.
    Any,
    /// The title of an album, the name of an artist or genre, a date.
    Name,
    /// Album artist.
    Artist,
    /// Genres of an album's tracks.
    Genre,
    /// Year of an album's first release.
    Year,
}

/// A condition on groups.
pub type GroupFilter = filter::Filter<GroupField>;

/// A query for groups.
pub type GroupQuery = query::Query<GroupColumn>;

/// Groups with the columns asked for.
pub type GroupRows = query::Rows<GroupColumn>;

impl FieldSet for GroupField {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("any", Self::Any),
        ("name", Self::Name),
        ("album", Self::Name),
        ("artist", Self::Artist),
        ("genre", Self::Genre),
        ("year", Self::Year),
    ];
    const ANY: Self = Self::Any;
    const PHONES: &'static [(&'static str, Self, MatchType)] = &[];
    const KEYS: &'static [(Key, Self)] = &[
        (Key::Title, Self::Name),
        (Key::Artist, Self::Artist),
        (Key::Genre, Self::Genre),
        (Key::Year, Self::Year),
    ];

    fn keys(self) -> KeySet {
        match self {
            Self::Any => KeySet::of(Key::Title).with(Key::Artist),
            field => KeySet::of_field(field),
        }
    }

    fn refuse_text(self, mode: MatchMode, text: &str) -> Option<String> {
        let is_whole = matches!(mode, MatchMode::Words | MatchMode::Whole);
        let is_range = is_whole && NumberRange::of_numbers(text).is_some();
        (self == Self::Year && !is_range)
            .then(|| format!("\"{text}\" is no year; write 1977, >1977, 1970..1979"))
    }

    fn compare(self, mode: MatchMode, text: &str, _: Option<Region>) -> Matcher {
        match self {
            Self::Year => Matcher::match_number(Key::Year, NumberRange::of_numbers(text)),
            _ => Matcher::match_words(self.keys(), mode, text),
        }
    }
}

impl<K: GroupKind> SearchableRecord for Group<K> {
    type Field = GroupField;
    type Column = GroupColumn;
    type Summary = GroupSummary;

    fn summary_decoder() -> impl FnMut(&[u8]) -> GroupSummary {
        GroupSummary::decode
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str, artist: &str) -> Contribution {
        Contribution {
            length: 60_000,
            values: vec![
                ("name", name.to_owned()),
                ("artist", artist.to_owned()),
                ("by", artist.to_owned()),
            ],
        }
    }

    #[test]
    fn members_are_added_and_removed() {
        let mut votes = GroupVotes::default();
        let members = [member("Low", "David Bowie"), member("low", "David Bowie")];
        members.iter().for_each(|m| votes.add(m));
        votes.add(&members[0]);
        assert_eq!(GroupVotes::parse(votes.to_text()), votes);
        let summary = GroupSummary::of(&votes);
        assert_eq!(
            (&*summary.name, summary.members, summary.seconds),
            ("Low", 3, 180)
        );
        assert_eq!(GroupSummary::decode(&summary.encode()), summary);
        votes.remove(&members[0]);
        votes.remove(&members[0]);
        assert_eq!(GroupSummary::of(&votes).name, "low");
        votes.remove(&members[1]);
        assert_eq!(votes, GroupVotes::default());
    }

    #[test]
    fn several_artists_are_various() {
        let mut votes = GroupVotes::default();
        votes.add(&member("Hits", "A"));
        votes.add(&member("Hits", "B"));
        assert_eq!(GroupSummary::of(&votes).artist, VARIOUS_ARTISTS);
        let mut votes = GroupVotes::default();
        votes.add(&member("Feat", "Ann"));
        votes.add(&member("Feat", "Ann feat. Ben"));
        assert_eq!(GroupSummary::of(&votes).artist, "Ann");
    }
}
