//! [`read_audio`]: tags, length and cover of a piece of music.

mod id3;
mod ogg_flac;
mod tags;

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufReader, Seek as _};
use std::time::Duration;

use lofty::aac::AacFile;
use lofty::ape::ApeFile;
use lofty::config::{GlobalOptions, ParseOptions, ParsingMode, apply_global_options};
use lofty::error::Result as LoftyResult;
use lofty::file::{AudioFile, FileType, TaggedFile, TaggedFileExt as _};
use lofty::flac::FlacFile;
use lofty::iff::aiff::AiffFile;
use lofty::iff::wav::WavFile;
use lofty::mp4::Mp4File;
use lofty::mpeg::MpegFile;
use lofty::musepack::MpcFile;
use lofty::ogg::{OggPictureStorage as _, OpusFile, SpeexFile, VorbisFile};
use lofty::probe::Probe;
use lofty::tag::TagType;
use lofty::wavpack::WavPackFile;

use self::id3::{read_id3, read_id3_tags};
use self::ogg_flac::{is_ogg_flac, read_ogg_flac};
use self::tags::TagSet;
pub(crate) use self::tags::clip;
use crate::bounded_file::BoundedFile;
use crate::content::{ContentKey, chunk, sound_key};
use crate::error::Unreadable;
use crate::limits::MAX_PICTURE;

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
    /// The rating in the tags as stars, 1 to 5.
    pub rating: Option<u8>,
    /// The number of plays in the tags.
    pub plays: Option<u32>,
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
    let mut tags = TagSet::default();
    // Read by ourselves: lofty refuses a file for one damaged frame.
    let start = read_id3_tags(&mut reader, &mut tags)?;
    let mut first = [0; 64];
    let n = reader.read_at(start, &mut first)?;
    let first = first.get(..n).unwrap_or_default();
    let mut problem = None;
    let (format, length) = if is_ogg_flac(first) {
        ("oga", read_ogg_flac(&mut reader, &mut tags)?)
    } else {
        reader.set_start(start);
        let (kind, is_certain) = file_type(&mut reader, name)?;
        let is_own = matches!(kind, FileType::Mpeg | FileType::Aac);
        let id3 = match is_own {
            true => TagSet::default(),
            // The format's own tag comes first.
            false => std::mem::take(&mut tags),
        };
        let parsed = read_parts(&mut reader, (kind, is_certain), &mut tags, &mut problem);
        reader.set_start(0);
        tags.append(id3);
        let length = match parsed {
            // Those that are tried again later, and what no part of is known.
            Err(first @ (Unreadable::TooSlow | Unreadable::Io(_))) => return Err(first),
            Err(first) if tags.is_empty() => return Err(first),
            Err(first) => {
                problem.get_or_insert(first);
                0
            }
            Ok(length) => length,
        };
        (format_name(kind), length)
    };
    // Bytes of anything: neither tags nor sound.
    if length == 0 && tags.is_empty() {
        return Err(match problem {
            Some(Unreadable::TooMuchRead) => Unreadable::TooMuchRead,
            _ => Unreadable::UnknownFormat,
        });
    }
    let problems = [tags.problem(), problem.map(|problem| problem.to_string())];
    let problems: Vec<String> = problems.into_iter().flatten().collect();
    Ok(Audio {
        format,
        length,
        key: sound_key(&mut reader, format)?,
        problem: (!problems.is_empty()).then(|| problems.join("; ")),
        cover: tags.take_cover(),
        rating: tags.rating,
        plays: tags.plays,
        tags: tags.values,
    })
}

/// Reads the tags and the length of the sound by lofty. What it refuses is read in part: without
/// pictures, without properties, without tags.
fn read_parts(
    reader: &mut BoundedFile<'_>,
    (kind, is_certain): (FileType, bool),
    tags: &mut TagSet,
    problem: &mut Option<Unreadable>,
) -> Result<u64, Unreadable> {
    read_id3_chunk(reader, kind, tags)?;
    let mut options = ParseOptions::new();
    options.parsing_mode(ParsingMode::Relaxed);
    let first = match parse(reader, kind, options, tags) {
        Ok(length) => return Ok(length),
        Err(first @ (Unreadable::TooSlow | Unreadable::Io(_))) => return Err(first),
        Err(first) => first,
    };
    for (has_cover, has_properties, has_tags) in [
        (false, true, true),
        (false, false, true),
        (false, true, false),
    ] {
        options.read_cover_art(has_cover);
        options.read_properties(has_properties);
        options.read_tags(has_tags);
        if let Ok(length) = parse(reader, kind, options, tags) {
            *problem = Some(first);
            return Ok(length);
        }
    }
    Err(first_reason(&first, is_certain))
}

/// Reads the ID3 tag in a chunk of WAV or AIFF.
fn read_id3_chunk(
    reader: &mut BoundedFile<'_>,
    kind: FileType,
    tags: &mut TagSet,
) -> Result<(), Unreadable> {
    let number = match kind {
        FileType::Wav => u32::from_le_bytes,
        FileType::Aiff => u32::from_be_bytes,
        _ => return Ok(()),
    };
    for name in [b"ID3 ", b"id3 "] {
        let (start, end) = chunk(reader, name, number)?;
        if start < end && read_id3(reader, start, tags)?.is_some() {
            tags.next_tag();
            return Ok(());
        }
    }
    Ok(())
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
    reader.rewind()?;
    let by_content = Probe::new(&mut *reader).guess_file_type()?.file_type();
    let by_name = || FileType::from_ext(name.rsplit_once('.')?.1);
    let found = by_content.or_else(by_name);
    let found = found.ok_or(Unreadable::UnknownFormat)?;
    Ok((found, by_content.is_some()))
}

/// Reads a file by lofty; returns the length of the sound in milliseconds.
fn parse(
    reader: &mut BoundedFile<'_>,
    kind: FileType,
    options: ParseOptions,
    tags: &mut TagSet,
) -> Result<u64, Unreadable> {
    reader.rewind()?;
    let mut buffered = BufReader::with_capacity(16 << 10, &mut *reader);
    let from = &mut buffered;
    let parsed = match kind {
        FileType::Mp4 => Mp4File::read_from(from, options).map(|file| {
            file.ilst().into_iter().for_each(|tag| tags.add_ilst(tag));
            millis(file.properties().duration())
        }),
        FileType::Vorbis => VorbisFile::read_from(from, options).map(|file| {
            tags.add_vorbis(file.vorbis_comments());
            millis(file.properties().duration())
        }),
        FileType::Opus => OpusFile::read_from(from, options).map(|file| {
            tags.add_vorbis(file.vorbis_comments());
            millis(file.properties().duration())
        }),
        FileType::Speex => SpeexFile::read_from(from, options).map(|file| {
            tags.add_vorbis(file.vorbis_comments());
            millis(file.properties().duration())
        }),
        FileType::Flac => FlacFile::read_from(from, options).map(|file| {
            let comments = file.vorbis_comments().into_iter();
            comments.for_each(|tag| tags.add_vorbis(tag));
            tags.add_flac_pictures(file.pictures().iter().map(|(picture, _)| picture));
            millis(file.properties().duration())
        }),
        FileType::Ape => ApeFile::read_from(from, options).map(|file| {
            file.ape().into_iter().for_each(|tag| tags.add_ape(tag));
            add_others(file, tags)
        }),
        FileType::Mpc => MpcFile::read_from(from, options).map(|file| {
            file.ape().into_iter().for_each(|tag| tags.add_ape(tag));
            add_others(file, tags)
        }),
        FileType::WavPack => WavPackFile::read_from(from, options).map(|file| {
            file.ape().into_iter().for_each(|tag| tags.add_ape(tag));
            add_others(file, tags)
        }),
        FileType::Mpeg => MpegFile::read_from(from, options).map(|file| {
            file.ape().into_iter().for_each(|tag| tags.add_ape(tag));
            add_others(file, tags)
        }),
        FileType::Aac => read_others::<AacFile>(from, options, tags),
        FileType::Wav => read_others::<WavFile>(from, options, tags),
        FileType::Aiff => read_others::<AiffFile>(from, options, tags),
        _ => return Err(Unreadable::UnknownFormat),
    };
    drop(buffered);
    parsed.map_err(|error| reader.refine(error))
}

fn read_others<F: AudioFile + Into<TaggedFile>>(
    from: &mut BufReader<&mut BoundedFile<'_>>,
    options: ParseOptions,
    tags: &mut TagSet,
) -> LoftyResult<u64> {
    F::read_from(from, options).map(|file| add_others(file, tags))
}

/// Adds the tags that lofty's keys suffice for; returns the length.
fn add_others<F: AudioFile + Into<TaggedFile>>(file: F, tags: &mut TagSet) -> u64 {
    let file: TaggedFile = file.into();
    for tag in file.tags() {
        if !matches!(tag.tag_type(), TagType::Ape | TagType::Id3v2) {
            tags.next_tag();
            tags.add_generic(tag);
        }
    }
    millis(file.properties().duration())
}

fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
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
