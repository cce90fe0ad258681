//! [`read_audio`]: tags, length and cover of a piece of music.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufReader, Seek as _};

use lofty::config::{GlobalOptions, ParseOptions, ParsingMode, apply_global_options};
use lofty::file::{AudioFile as _, FileType, TaggedFile, TaggedFileExt as _};
use lofty::picture::{Picture, PictureType};
use lofty::probe::Probe;
use lofty::tag::{ItemKey, ItemValue, Tag, TagType};

use crate::bounded_file::BoundedFile;
use crate::content::{ContentKey, sound_key};
use crate::error::Unreadable;
use crate::limits::{MAX_LYRICS, MAX_PICTURE, MAX_VALUE, MAX_VALUES};
use crate::own_tags::read_own_tags;

/// Tags, length and cover of a piece of music.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Audio {
    /// The format, such as `mp3`.
    pub format: &'static str,
    /// Tags and values, in the names of Vorbis comments: `("ARTIST", "David Bowie")`. A name occurs
    /// once for each value.
    pub tags: Vec<(Cow<'static, str>, String)>,
    /// The length in milliseconds; 0 if unknown.
    pub length: u64,
    /// The embedded front cover, else the first embedded picture.
    pub cover: Option<Vec<u8>>,
    /// The key of the sound.
    pub key: ContentKey,
    /// Why a part of it was not read; `None`: all was read.
    pub problem: Option<String>,
}

/// Reads a piece of music. Its format is known by its content, else by `name`'s extension.
///
/// A file whose cover or properties are damaged is read without them, and says so in
/// [`Audio::problem`].
///
/// # Errors
/// [`Unreadable`] for a file with neither tags nor properties.
pub fn read_audio(file: &File, name: &str) -> Result<Audio, Unreadable> {
    // Of the whole process: no item may ask for more memory than a picture.
    static LIMIT: std::sync::Once = std::sync::Once::new();
    LIMIT.call_once(|| {
        let limit = usize::try_from(MAX_PICTURE).unwrap_or(usize::MAX);
        apply_global_options(GlobalOptions::new().allocation_limit(limit));
    });
    let mut reader = BoundedFile::new(file)?;
    let (kind, is_certain) = file_type(&mut reader, name)?;
    let mut options = ParseOptions::new();
    options.parsing_mode(ParsingMode::Relaxed);
    let (parsed, problem) = match parse(&mut reader, kind, options) {
        Ok(parsed) => (parsed, None),
        Err(first @ (Unreadable::TooSlow | Unreadable::Io(_))) => return Err(first),
        Err(first) => {
            options.read_cover_art(false);
            let without_cover = parse(&mut reader, kind, options);
            let parsed = without_cover.or_else(|_| {
                options.read_properties(false);
                parse(&mut reader, kind, options)
            });
            (
                parsed.map_err(|_| first_reason(&first, is_certain))?,
                Some(first.to_string()),
            )
        }
    };
    let format = format_name(kind);
    let mut audio = Audio {
        format,
        length: u64::try_from(parsed.properties().duration().as_millis()).unwrap_or(0),
        key: sound_key(&mut reader, format)?,
        problem,
        ..Audio::default()
    };
    // The format's own tag first; another only adds names that it lacks.
    let own = parsed.primary_tag_type();
    let mut tags: Vec<&Tag> = parsed.tags().iter().collect();
    tags.sort_by_key(|tag| tag.tag_type() != own);
    for tag in &tags {
        let known: Vec<Cow<'static, str>> = audio.tags.iter().map(|(n, _)| n.clone()).collect();
        audio.add_tags(tag, &known);
    }
    for (name, value) in read_own_tags(&mut reader, kind) {
        let is_known = audio.tags.iter().any(|(known, _)| *known == name);
        if !is_known && audio.tags.len() < MAX_VALUES {
            audio.tags.push((name, value));
        }
    }
    let pictures: Vec<&Picture> = tags.iter().flat_map(|tag| tag.pictures()).collect();
    let is_front = |picture: &&&Picture| picture.pic_type() == PictureType::CoverFront;
    let cover = pictures.iter().find(is_front).or(pictures.first());
    audio.cover = cover.map(|picture| picture.data().to_vec());
    Ok(audio)
}

/// The reason that is given for a file which cannot be read in any way.
fn first_reason(first: &Unreadable, is_certain: bool) -> Unreadable {
    match first {
        Unreadable::TooMuchRead => Unreadable::TooMuchRead,
        _ if !is_certain => Unreadable::UnknownFormat,
        other => Unreadable::damaged(other.to_string().trim_start_matches("damaged: ")),
    }
}

/// Returns the format, and whether the content has its mark; else it is that of the name.
fn file_type(reader: &mut BoundedFile<'_>, name: &str) -> Result<(FileType, bool), Unreadable> {
    let by_content = Probe::new(&mut *reader).guess_file_type()?.file_type();
    let by_name = || FileType::from_ext(name.rsplit_once('.')?.1);
    let found = by_content.or_else(by_name);
    let found = found.ok_or(Unreadable::UnknownFormat)?;
    Ok((found, by_content.is_some()))
}

fn parse(
    reader: &mut BoundedFile<'_>,
    kind: FileType,
    options: ParseOptions,
) -> Result<TaggedFile, Unreadable> {
    reader.rewind()?;
    let buffered = BufReader::with_capacity(16 << 10, &mut *reader);
    let mut probe = Probe::with_file_type(buffered, kind).options(options);
    probe = probe.set_file_type(kind);
    match probe.read() {
        Ok(parsed) => Ok(parsed),
        Err(error) => Err(reader.refine(error)),
    }
}

fn format_name(kind: FileType) -> &'static str {
    match kind {
        FileType::Aac => "aac",
        FileType::Aiff => "aiff",
        FileType::Ape => "ape",
        FileType::Flac => "flac",
        FileType::Mpeg => "mp3",
        FileType::Mp4 => "m4a",
        FileType::Mpc => "mpc",
        FileType::Opus => "opus",
        FileType::Vorbis => "ogg",
        FileType::Speex => "speex",
        FileType::Wav => "wav",
        FileType::WavPack => "wv",
        _ => "audio",
    }
}

impl Audio {
    fn add_tags(&mut self, tag: &Tag, known: &[Cow<'static, str>]) {
        for item in tag.items() {
            let Some(name) = vorbis_name(item.key()) else {
                continue;
            };
            let text = match item.value() {
                ItemValue::Text(text) | ItemValue::Locator(text) => text,
                ItemValue::Binary(_) => continue,
            };
            let name = Cow::Borrowed(name);
            if known.contains(&name) {
                continue;
            }
            for value in split_values(&name, text, tag.tag_type()) {
                if self.tags.len() >= MAX_VALUES {
                    return;
                }
                let max = if name == "LYRICS" {
                    MAX_LYRICS
                } else {
                    MAX_VALUE
                };
                let value = clip(value.trim(), max);
                // Taggers write a tempo of 0 for an unknown one.
                if !value.is_empty() && (name != "BPM" || value != "0") {
                    self.tags.push((name.clone(), value.to_owned()));
                }
            }
        }
    }
}

/// Returns the name of a tag in Vorbis comments. The tempo and the lyrics have one name each,
/// whatever the format has.
fn vorbis_name(key: ItemKey) -> Option<&'static str> {
    match key {
        ItemKey::IntegerBpm | ItemKey::Bpm => Some("BPM"),
        ItemKey::UnsyncLyrics | ItemKey::Lyrics => Some("LYRICS"),
        key => key.map_key(TagType::VorbisComments),
    }
}

/// Splits a text that holds several values: in ID3, values are separated by NUL,
/// and genres also by `/` and `;` (ID3v2.3 has no other separator). Vorbis comments are separate.
fn split_values<'t>(
    name: &str,
    text: &'t str,
    kind: TagType,
) -> impl Iterator<Item = &'t str> + use<'t> {
    let is_genre = name == "GENRE" && kind == TagType::Id3v2;
    text.split(move |c| c == '\0' || (is_genre && matches!(c, '/' | ';')))
}

fn clip(text: &str, max: usize) -> &str {
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
    fn several_values_of_one_text() {
        let split = |name, text| split_values(name, text, TagType::Id3v2).collect::<Vec<_>>();
        assert_eq!(split("ARTIST", "A\0B"), ["A", "B"]);
        assert_eq!(split("ARTIST", "AC/DC"), ["AC/DC"]);
        assert_eq!(split("GENRE", "Rock/Pop; Folk"), ["Rock", "Pop", " Folk"]);
    }

    #[test]
    fn long_values_are_cut_between_characters() {
        let text = "ö".repeat(MAX_VALUE);
        assert_eq!(clip(&text, MAX_VALUE).len(), MAX_VALUE);
        assert_eq!(clip(&text, MAX_VALUE - 1).len(), MAX_VALUE - 2);
    }
}
