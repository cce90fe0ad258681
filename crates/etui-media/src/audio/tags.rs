//! [`TagSet`]: the values of a file's tags, in the names of Vorbis comments.

use std::borrow::Cow;

use lofty::ape::ApeTag;
use lofty::id3::v1::GENRES;
use lofty::mp4::{AtomData, AtomIdent, Ilst};
use lofty::ogg::VorbisComments;
use lofty::picture::{Picture, PictureType};
use lofty::tag::{ItemKey, ItemValue, Tag, TagType};

use crate::limits::{MAX_LYRICS, MAX_VALUE, MAX_VALUES};

/// Names that lofty does not know and etui keeps.
const MORE_NAMES: &[&str] = &["R128_TRACK_GAIN", "R128_ALBUM_GAIN"];

/// The values of a file's tags. Of two tags the first wins: another one only adds names that it
/// lacks.
#[derive(Debug, Default)]
pub(super) struct TagSet {
    pub(super) values: Vec<(Cow<'static, str>, String)>,
    /// Stars, 1 to 5.
    pub(super) rating: Option<u8>,
    /// The number of plays.
    pub(super) plays: Option<u32>,
    /// The front cover, else the first picture, and whether it is the front cover.
    cover: Option<(Vec<u8>, bool)>,
    /// The number of values of former tags.
    former: usize,
    problems: Vec<String>,
}

impl TagSet {
    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty() && self.cover.is_none()
    }

    pub(super) fn take_cover(&mut self) -> Option<Vec<u8>> {
        self.cover.take().map(|(data, _)| data)
    }

    /// Begins another tag of the file.
    pub(super) fn next_tag(&mut self) {
        self.former = self.values.len();
    }

    /// Adds what another tag has besides.
    pub(super) fn append(&mut self, other: Self) {
        self.next_tag();
        for (name, value) in other.values {
            self.push(name, &value);
        }
        self.rating = self.rating.or(other.rating);
        self.plays = self.plays.max(other.plays);
        self.cover = self.cover.take().or(other.cover);
        other
            .problems
            .into_iter()
            .for_each(|why| self.add_problem(why));
    }

    /// Records why a part of a tag was not read.
    pub(super) fn add_problem(&mut self, problem: String) {
        // Files of a million damaged frames have been seen: the first tell enough.
        if self.problems.len() < 4 && !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    pub(super) fn problem(&self) -> Option<String> {
        (!self.problems.is_empty()).then(|| self.problems.join("; "))
    }

    pub(super) fn add_picture(&mut self, data: &[u8], is_front: bool) {
        let is_better = match &self.cover {
            None => true,
            Some((_, is_known_front)) => is_front && !is_known_front,
        };
        if is_better && !data.is_empty() {
            self.cover = Some((data.to_vec(), is_front));
        }
    }

    fn add_lofty_picture(&mut self, picture: &Picture) {
        self.add_picture(
            picture.data(),
            picture.pic_type() == PictureType::CoverFront,
        );
    }

    /// Adds a value under a name of Vorbis comments.
    pub(super) fn add(&mut self, name: impl Into<Cow<'static, str>>, value: &str) {
        let name = name.into();
        match &*name {
            "TRACKNUMBER" => self.add_numbers(value, name, "TRACKTOTAL"),
            "DISCNUMBER" => self.add_numbers(value, name, "DISCTOTAL"),
            _ => self.push(name, value),
        }
    }

    /// Adds a number that may have the total with it: `3/12`, `3 of 12`.
    fn add_numbers(&mut self, value: &str, name: Cow<'static, str>, total: &'static str) {
        match split_total(value) {
            Some((number, all)) => {
                self.push(name, number);
                self.push(Cow::Borrowed(total), all);
            }
            None => self.push(name, value),
        }
    }

    fn push(&mut self, name: Cow<'static, str>, value: &str) {
        let max = if name == "LYRICS" {
            MAX_LYRICS
        } else {
            MAX_VALUE
        };
        let value = clip(
            value.trim_matches(|c: char| c.is_whitespace() || c == '\0'),
            max,
        );
        // Taggers write a tempo of 0 for an unknown one; the gains of R128 are whole numbers (RFC 7845).
        if name == "BPM" && value == "0"
            || name.starts_with("R128_") && value.parse::<i16>().is_err()
        {
            return;
        }
        let former = self.values.get(..self.former).unwrap_or_default();
        let is_known = former.iter().any(|(known, _)| *known == name);
        // The same value in two frames of one name says nothing new.
        let is_same = |(known, other): &(Cow<'_, str>, String)| *known == name && other == value;
        if value.is_empty() || is_known || self.values.len() >= MAX_VALUES {
            return;
        }
        if !self.values.iter().any(is_same) {
            self.values.push((name, value.to_owned()));
        }
    }

    /// Adds a value under lofty's key for it. Keys without a name in Vorbis comments are left out.
    pub(super) fn add_key(&mut self, key: ItemKey, value: &str) {
        let name = match key {
            ItemKey::IntegerBpm | ItemKey::Bpm => "BPM",
            ItemKey::UnsyncLyrics | ItemKey::Lyrics => "LYRICS",
            ItemKey::AppleId3v2ContentGroup => "GROUPING",
            // Ratings are read by themselves: each format has a scale of its own.
            ItemKey::Popularimeter => return,
            key => match key.map_key(TagType::VorbisComments) {
                Some(name) => name,
                None => return,
            },
        };
        self.add(name, value);
    }

    /// Adds a value under a free name: of a Vorbis comment, an APE item, a `TXXX` frame, or an atom
    /// of iTunes.
    pub(super) fn add_named(&mut self, kind: TagType, name: &str, value: &str) {
        let upper = name.to_ascii_uppercase();
        if self.add_statistic(&upper, value) {
            return;
        }
        let key = item_key(kind, name).or_else(|| item_key(TagType::VorbisComments, name));
        if let Some(key) = key {
            self.add_key(key, value);
        } else if let Some(name) = MORE_NAMES.iter().find(|known| **known == upper) {
            self.add(*name, value);
        }
    }

    /// Takes a rating or a number of plays. Returns false for any other name.
    fn add_statistic(&mut self, name: &str, value: &str) -> bool {
        let (first, _) = name.split_once(':').unwrap_or((name, ""));
        match first {
            "FMPS_RATING" => self.add_rating(rating_of_fraction(value)),
            "RATING" | "RATE" => self.add_rating(rating_of_text(value)),
            "FMPS_PLAYCOUNT" | "PLAYCOUNT" | "PLAY_COUNTER" => {
                let plays = value.trim().parse::<f64>().ok();
                // Anything above is no count; the cast of a negative number is 0.
                self.add_plays(plays.map_or(0, |plays| plays.min(1e9) as u64));
            }
            _ => return false,
        }
        true
    }

    pub(super) fn add_rating(&mut self, stars: Option<u8>) {
        self.rating = self.rating.or(stars);
    }

    pub(super) fn add_plays(&mut self, plays: u64) {
        let plays = u32::try_from(plays).unwrap_or(u32::MAX);
        if plays > 0 {
            self.plays = Some(self.plays.map_or(plays, |known| known.max(plays)));
        }
    }

    /// Adds the genres of an ID3 frame: names, numbers, `(17)Rock`, separated by `/` and `;`.
    pub(super) fn add_id3_genres(&mut self, text: &str) {
        for genre in text.split(['/', ';']) {
            let mut rest = genre.trim();
            while let Some((number, after)) = rest
                .strip_prefix('(')
                .filter(|inner| !inner.starts_with('('))
                .and_then(|inner| inner.split_once(')'))
            {
                let Some(name) = genre_name(number) else {
                    break;
                };
                let after = after.trim();
                // `(4)Eurodisco` refines the number.
                if after.is_empty() || after.starts_with('(') {
                    self.add("GENRE", name);
                }
                rest = after;
            }
            let rest = rest
                .strip_prefix("((")
                .map_or(rest, |_| rest.get(1..).unwrap_or(rest));
            self.add("GENRE", genre_name(rest).unwrap_or(rest));
        }
    }

    /// Adds a tag by lofty's keys.
    pub(super) fn add_generic(&mut self, tag: &Tag) {
        for item in tag.items() {
            if let ItemValue::Text(text) | ItemValue::Locator(text) = item.value() {
                self.add_key(item.key(), text);
            }
        }
        for picture in tag.pictures() {
            self.add_lofty_picture(picture);
        }
    }

    pub(super) fn add_vorbis(&mut self, comments: &VorbisComments) {
        for (name, value) in comments.items() {
            self.add_named(TagType::VorbisComments, name, value);
        }
        use lofty::ogg::OggPictureStorage as _;
        for (picture, _) in comments.pictures() {
            self.add_lofty_picture(picture);
        }
    }

    pub(super) fn add_flac_pictures<'p>(&mut self, pictures: impl Iterator<Item = &'p Picture>) {
        pictures.for_each(|picture| self.add_lofty_picture(picture));
    }

    pub(super) fn add_ape(&mut self, tag: &ApeTag) {
        for item in tag {
            let name = match item.key() {
                name if name.eq_ignore_ascii_case("Year") => "DATE",
                name => name,
            };
            if let ItemValue::Binary(data) = item.value() {
                if let Some(picture) = ape_picture(data)
                    && name
                        .get(..9)
                        .is_some_and(|start| start.eq_ignore_ascii_case("Cover Art"))
                {
                    self.add_picture(picture, name.eq_ignore_ascii_case("Cover Art (Front)"));
                }
                continue;
            }
            for value in item.text_values().into_iter().flatten() {
                self.add_named(TagType::Ape, name, value);
            }
        }
    }

    pub(super) fn add_ilst(&mut self, atoms: &Ilst) {
        for atom in atoms {
            let (key, name) = match atom.ident() {
                AtomIdent::Fourcc(code) => {
                    let key: String = code.iter().map(|&byte| char::from(byte)).collect();
                    (key.clone(), key)
                }
                AtomIdent::Freeform { mean, name } => {
                    (format!("----:{mean}:{name}"), name.to_string())
                }
            };
            for data in atom.data() {
                match data {
                    AtomData::UTF8(text) | AtomData::UTF16(text) => {
                        match ItemKey::from_key(TagType::Mp4Ilst, &key) {
                            Some(item) if item != ItemKey::Popularimeter => {
                                self.add_key(item, text)
                            }
                            _ => self.add_named(TagType::Mp4Ilst, &name, text),
                        }
                    }
                    AtomData::Picture(picture) => self.add_picture(picture.data(), true),
                    AtomData::SignedInteger(number) => self.add_ilst_number(&key, (*number).into()),
                    AtomData::UnsignedInteger(number) => {
                        self.add_ilst_number(&key, (*number).into());
                    }
                    AtomData::Bool(flag) => self.add_ilst_number(&key, (*flag).into()),
                    AtomData::Unknown { data, .. } => self.add_ilst_bytes(&key, &name, data),
                }
            }
        }
    }

    fn add_ilst_number(&mut self, key: &str, number: i64) {
        match key {
            "rate" => self.add_rating(rating_of_text(&number.to_string())),
            _ => {
                if let Some(item) = ItemKey::from_key(TagType::Mp4Ilst, key)
                    && number > 0
                {
                    self.add_key(item, &number.to_string());
                }
            }
        }
    }

    /// Adds an atom without a type: the number and total of a track, a genre's number, or a text.
    fn add_ilst_bytes(&mut self, key: &str, name: &str, data: &[u8]) {
        let number = |at: usize| {
            let bytes = data.get(at..at + 2).and_then(|bytes| bytes.try_into().ok());
            bytes.map_or(0, u16::from_be_bytes)
        };
        let names = match key {
            "trkn" => ("TRACKNUMBER", "TRACKTOTAL"),
            "disk" => ("DISCNUMBER", "DISCTOTAL"),
            "gnre" => {
                let genre = usize::from(number(0)).checked_sub(1);
                if let Some(name) = genre.and_then(|genre| GENRES.get(genre)) {
                    self.add("GENRE", name);
                }
                return;
            }
            _ => {
                if let Ok(text) = std::str::from_utf8(data) {
                    self.add_named(TagType::Mp4Ilst, name, text);
                }
                return;
            }
        };
        for (name, number) in [(names.0, number(2)), (names.1, number(4))] {
            if number > 0 {
                self.push(Cow::Borrowed(name), &number.to_string());
            }
        }
    }
}

/// Returns lofty's key for a name. Where a number and its total have one name, it is that of the number.
pub(super) fn item_key(kind: TagType, name: &str) -> Option<ItemKey> {
    let is_total = || name.to_ascii_uppercase().contains("TOTAL");
    Some(match ItemKey::from_key(kind, name)? {
        ItemKey::TrackTotal if !is_total() => ItemKey::TrackNumber,
        ItemKey::DiscTotal if !is_total() => ItemKey::DiscNumber,
        key => key,
    })
}

/// The picture of an APE item: a description, NUL, the file.
fn ape_picture(data: &[u8]) -> Option<&[u8]> {
    let end = data.iter().position(|&byte| byte == 0)?;
    data.get(end + 1..)
}

/// Returns the name of a genre of ID3v1 by its number.
fn genre_name(number: &str) -> Option<&'static str> {
    match number {
        "RX" => return Some("Remix"),
        "CR" => return Some("Cover"),
        _ => {}
    }
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let number: usize = number.parse().ok().filter(|_| is_number)?;
    GENRES.get(number).copied()
}

/// Splits `3/12`, `3 of 12`, `3-12` into the number and the total; `None` for any other form, such as
/// `A1`.
fn split_total(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, rest) = text.split_at(end);
    let rest = rest.trim_start();
    let total = ["/", "of ", "-", "\\", "von ", "de ", "sur "]
        .iter()
        .find_map(|separator| rest.strip_prefix(separator))?;
    let total = total.trim();
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    (is_number(number) && is_number(total)).then_some((number, total))
}

/// Stars of a rating between 0 and 1, as FMPS has it; 0 and -1: not rated.
fn rating_of_fraction(text: &str) -> Option<u8> {
    let fraction = text.trim().parse::<f64>().ok()?;
    (fraction > 0.0 && fraction <= 1.0).then(|| stars_of(fraction * 5.0))
}

/// Stars of a rating whose scale only the number tells: a fraction with a point, stars to 5, halves
/// of stars to 10, else of 100 or 255.
fn rating_of_text(text: &str) -> Option<u8> {
    let text = text.trim();
    let number = text.parse::<f64>().ok().filter(|number| *number > 0.0)?;
    if number <= 1.0 && text.contains('.') {
        return rating_of_fraction(text);
    }
    match number {
        n if n <= 5.0 => Some(stars_of(n)),
        n if n <= 10.0 => Some(stars_of(n / 2.0)),
        n if n <= 100.0 => Some(stars_of(n / 20.0)),
        n if n <= 255.0 => rating_of_popm(n as u8),
        _ => None,
    }
}

/// Stars of a POPM frame (ID3v2.4, section 4.17), by the ranges that Windows and MusicBee write:
/// 1, 64, 128, 196, 255.
pub(super) fn rating_of_popm(byte: u8) -> Option<u8> {
    match byte {
        0 => None,
        1..=31 => Some(1),
        32..=95 => Some(2),
        96..=159 => Some(3),
        160..=223 => Some(4),
        224..=255 => Some(5),
    }
}

fn stars_of(stars: f64) -> u8 {
    // In range, so that the cast only drops the fraction.
    stars.round().clamp(1.0, 5.0) as u8
}

/// Returns the start of a text, at most `max` bytes.
pub(crate) fn clip(text: &str, max: usize) -> &str {
    let mut end = text.len().min(max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn genres_of_id3() {
        let genres = |text: &str| {
            let mut tags = TagSet::default();
            tags.add_id3_genres(text);
            let values = tags.values.into_iter().map(|(_, value)| value);
            values.collect::<Vec<_>>().join("|")
        };
        for (text, expected) in [
            ("Rock/Pop; Folk", "Rock|Pop|Folk"),
            ("17", "Rock"),
            ("(17)", "Rock"),
            ("(17)Rock", "Rock"),
            ("(4)Eurodisco", "Eurodisco"),
            ("(51)(39)", "Techno-Industrial|Noise"),
            ("((Foo)", "(Foo)"),
            ("(RX)", "Remix"),
            ("1977", "1977"),
        ] {
            assert_eq!(genres(text), expected, "{text}");
        }
    }

    #[test]
    fn numbers_with_totals() {
        for (text, expected) in [
            ("3/12", Some(("3", "12"))),
            ("12 of 14", Some(("12", "14"))),
            ("03 / 09", Some(("03", "09"))),
            ("1-9", Some(("1", "9"))),
            ("A1", None),
            ("3", None),
            ("3/", None),
            ("/12", None),
            ("3/x", None),
        ] {
            assert_eq!(split_total(text), expected, "{text}");
        }
    }

    #[test]
    fn ratings_of_all_scales() {
        for (text, stars) in [
            ("0", None),
            ("-1", None),
            ("0.8", Some(4)),
            ("1.0", Some(5)),
            ("1", Some(1)),
            ("4", Some(4)),
            ("7", Some(4)),
            ("80", Some(4)),
            ("100", Some(5)),
            ("196", Some(4)),
            ("many", None),
        ] {
            assert_eq!(rating_of_text(text), stars, "{text}");
        }
        assert_eq!(
            [0, 1, 64, 128, 196, 255].map(rating_of_popm),
            [None, Some(1), Some(2), Some(3), Some(4), Some(5)]
        );
    }

    #[test]
    fn long_values_are_cut_between_characters() {
        let text = "ö".repeat(MAX_VALUE);
        assert_eq!(clip(&text, MAX_VALUE).len(), MAX_VALUE);
        assert_eq!(clip(&text, MAX_VALUE - 1).len(), MAX_VALUE - 2);
    }
}
