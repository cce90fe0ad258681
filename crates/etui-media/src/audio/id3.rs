//! [`read_id3`]: ID3v2 tags, read frame by frame, so that a damaged frame costs that frame alone.
//!
//! ```text
//! tag   := "ID3" major revision flags size          size: syncsafe, without these ten bytes
//!          [extended header] frame* padding
//! frame := id size flags content                    2.2: id and size of three bytes, no flags
//! ```
//!
//! <https://id3.org/id3v2.4.0-structure>, <https://id3.org/id3v2.3.0>, <https://id3.org/id3v2-00>.
//! Read beyond them: sizes that iTunes wrote plain instead of syncsafe in 2.4, frames of 2.3 in 2.4,
//! texts that are not in the encoding that their frame names.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::ZlibDecoder;
use lofty::id3::v2::{upgrade_v2, upgrade_v3};
use lofty::tag::{ItemKey, TagType};

use super::tags::{TagSet, item_key, rating_of_popm};
use crate::bounded_file::BoundedFile;
use crate::error::Unreadable;
use crate::limits::MAX_PICTURE;

/// Bytes of a tag that are read: a picture and texts.
const MAX_TAG: u64 = MAX_PICTURE + (1 << 20);

/// Bytes that the compressed frames of one tag may have in all; more than any text needs, and half the memory
/// of a file.
const MAX_INFLATED: u64 = 16 << 20;

/// Tags at the start of a file, each after the other, as some taggers leave them.
const MAX_TAGS: usize = 8;

/// Reads the tags at the start of a file. Returns where they end.
///
/// # Errors
/// [`Unreadable`] for a failed read; damage is a problem of `tags`.
pub(super) fn read_id3_tags(
    reader: &mut BoundedFile<'_>,
    tags: &mut TagSet,
) -> Result<u64, Unreadable> {
    let mut at = 0;
    for _ in 0..MAX_TAGS {
        match read_id3(reader, at, tags)? {
            Some(end) => at = end,
            None => break,
        }
        tags.next_tag();
    }
    Ok(at)
}

/// Reads the tag at an offset. Returns its end; `None`: there is none.
///
/// # Errors
/// [`Unreadable`] for a failed read; damage is a problem of `tags`.
pub(super) fn read_id3(
    reader: &mut BoundedFile<'_>,
    at: u64,
    tags: &mut TagSet,
) -> Result<Option<u64>, Unreadable> {
    let mut header = [0; 10];
    if reader.read_at(at, &mut header)? < 10 || !header.starts_with(b"ID3") {
        return Ok(None);
    }
    let [_, _, _, major, _, flags, size @ ..] = header;
    let size = u64::from(syncsafe(size));
    // A footer has ten bytes, as the header has.
    let footer = if major >= 4 && flags & 0x10 != 0 {
        10
    } else {
        0
    };
    let end = at + 10 + size + footer;
    if end > reader.len() {
        tags.add_problem("its ID3 tag ends too early".to_owned());
    }
    let there = reader.len().saturating_sub(at + 10);
    // A size that the file does not have must not take memory.
    let mut content = vec![0; usize::try_from(size.min(there).min(MAX_TAG)).unwrap_or(0)];
    let n = reader.read_at(at + 10, &mut content)?;
    content.truncate(n);
    let mut tag = Id3Tag {
        major,
        // In 2.4 each frame is unsynchronised by itself.
        is_unsynchronised: flags & 0x80 != 0,
        left_to_inflate: MAX_INFLATED,
        year: String::new(),
        day: String::new(),
        tags,
    };
    match major {
        2..=4 => tag.read(content, flags & 0x40 != 0),
        _ => tag.problem(format_args!("version 2.{major} is not known")),
    }
    // Lies about the size: the sound begins where the tag does.
    Ok(Some(end.min(reader.len())))
}

struct Id3Tag<'t> {
    major: u8,
    is_unsynchronised: bool,
    left_to_inflate: u64,
    /// `TYER` and `TDAT` of 2.3, which are one date.
    year: String,
    day: String,
    tags: &'t mut TagSet,
}

/// The header of a frame.
struct FrameHeader<'b> {
    /// Its name in 2.4, or as it is.
    id: &'b str,
    /// The bytes of the header and of the content.
    header: usize,
    size: usize,
    flags: u8,
}

impl Id3Tag<'_> {
    fn problem(&mut self, why: impl std::fmt::Display) {
        self.tags.add_problem(format!("ID3: {why}"));
    }

    fn read(&mut self, mut content: Vec<u8>, has_extended_header: bool) {
        if self.is_unsynchronised && self.major < 4 {
            content = synchronised(&content);
        }
        let mut at = match has_extended_header && self.major > 2 {
            true => self.extended_header(&content),
            false => 0,
        };
        while let Some(rest) = content.get(at..) {
            // Padding.
            if rest.len() < 6 || rest.first() == Some(&0) {
                break;
            }
            let Some(frame) = self.header(rest) else {
                match next_frame(rest, self.major) {
                    Some(next) => {
                        self.problem("a frame is damaged");
                        at += next;
                        continue;
                    }
                    None => {
                        self.problem("what follows its last frame is none");
                        break;
                    }
                }
            };
            let body = rest.get(frame.header..).unwrap_or_default();
            let Some(body) = body.get(..frame.size) else {
                self.problem(format_args!("{} ends too early", frame.id));
                // A text may be cut; and a wrong size does not hide the frames that follow.
                match next_frame(rest, self.major) {
                    Some(next) => {
                        at += next;
                        continue;
                    }
                    None => {
                        self.read_frame(&frame, body);
                        break;
                    }
                }
            };
            self.read_frame(&frame, body);
            at += frame.header + frame.size;
        }
        let date = std::mem::take(&mut self.year);
        let is_dated = self.tags.values.iter().any(|(name, _)| name == "DATE");
        if !date.is_empty() && !is_dated {
            let date = match (date.len(), self.day.split_at_checked(2)) {
                (4, Some((day, month))) if month.len() == 2 => format!("{date}-{month}-{day}"),
                _ => date,
            };
            self.tags.add("DATE", &date);
        }
    }

    /// Returns the length of the extended header. Some taggers set its flag and write none.
    fn extended_header(&self, content: &[u8]) -> usize {
        let Some(size) = content.first_chunk() else {
            return 0;
        };
        if is_frame_id(size) {
            return 0;
        }
        let len = match self.major {
            3 => u32::from_be_bytes(*size).saturating_add(4),
            _ => syncsafe(*size),
        };
        usize::try_from(len).unwrap_or(usize::MAX)
    }

    /// Returns the header of the frame that `rest` begins with; `None` if there is none.
    fn header<'b>(&self, rest: &'b [u8]) -> Option<FrameHeader<'b>> {
        if self.major == 2 {
            let id = std::str::from_utf8(rest.get(..3)?).ok()?;
            is_frame_id(id.as_bytes()).then_some(())?;
            let [a, b, c] = *rest.get(3..)?.first_chunk()?;
            let size = u32::from_be_bytes([0, a, b, c]) as usize;
            let id = upgrade_v2(id).unwrap_or(id);
            return Some(FrameHeader {
                id,
                header: 6,
                size,
                flags: 0,
            });
        }
        let id: &[u8; 4] = rest.first_chunk()?;
        // iTunes wrote frames of 2.2 into tags of 2.3.
        let is_short = id.get(3) == Some(&0) && is_frame_id(id.get(..3)?);
        if !is_frame_id(id) && !is_short {
            return None;
        }
        let mut text = std::str::from_utf8(id.get(..if is_short { 3 } else { 4 })?).ok()?;
        text = match is_short {
            true => upgrade_v2(text)?,
            false => upgrade_v3(text).filter(|_| text != "TYER").unwrap_or(text),
        };
        let size: [u8; 4] = *rest.get(4..)?.first_chunk()?;
        let flags = *rest.get(9)?;
        Some(FrameHeader {
            id: text,
            header: 10,
            size: self.frame_size(rest, size),
            flags,
        })
    }

    /// The size of a frame: the one of the version, unless only the other ends where a frame begins.
    fn frame_size(&self, rest: &[u8], size: [u8; 4]) -> usize {
        let plain = u32::from_be_bytes(size) as usize;
        let safe = syncsafe(size) as usize;
        let is_safe = size.iter().all(|byte| byte & 0x80 == 0);
        let (usual, other) = match self.major {
            4 if is_safe => (safe, plain),
            3 if is_safe => (plain, safe),
            _ => return plain,
        };
        let fits = |size: usize| match rest.get(10 + size..) {
            Some(next) => {
                next.iter().take(4).all(|byte| *byte == 0)
                    || next.first_chunk::<4>().is_some_and(|id| is_frame_id(id))
            }
            None => false,
        };
        match !fits(usual) && fits(other) {
            true => other,
            false => usual,
        }
    }

    fn read_frame(&mut self, frame: &FrameHeader<'_>, body: &[u8]) {
        match self.content(frame, body) {
            Ok(content) => self.read_content(frame.id, &content),
            Err(why) => self.problem(format_args!("{} {why}", frame.id)),
        }
    }

    /// Undoes what a frame's flags say: groups, compression, unsynchronisation.
    fn content<'b>(
        &mut self,
        frame: &FrameHeader<'_>,
        body: &'b [u8],
    ) -> Result<Cow<'b, [u8]>, &'static str> {
        let (is_compressed, is_encrypted, is_grouped, has_length, is_unsynchronised) =
            match self.major {
                3 => {
                    let is = |bit| frame.flags & bit != 0;
                    (is(0x80), is(0x40), is(0x20), is(0x80), false)
                }
                4 => {
                    let is = |bit| frame.flags & bit != 0;
                    let has_length = is(0x01) || is(0x08);
                    (is(0x08), is(0x04), is(0x40), has_length, is(0x02))
                }
                _ => return Ok(Cow::Borrowed(body)),
            };
        if is_encrypted {
            return Err("is encrypted");
        }
        let mut skipped = usize::from(is_grouped);
        if has_length {
            skipped += 4;
        }
        let body = body.get(skipped..).ok_or("is damaged")?;
        let unsynchronised = is_unsynchronised || (self.major == 4 && self.is_unsynchronised);
        let body = match unsynchronised {
            true => Cow::Owned(synchronised(body)),
            false => Cow::Borrowed(body),
        };
        if !is_compressed {
            return Ok(body);
        }
        let mut inflated = Vec::new();
        let mut limited = ZlibDecoder::new(&*body).take(self.left_to_inflate);
        let result = limited.read_to_end(&mut inflated);
        self.left_to_inflate -= inflated.len() as u64;
        match result {
            _ if self.left_to_inflate == 0 => Err("is too large when inflated"),
            Err(_) if inflated.is_empty() => Err("cannot be inflated"),
            _ => Ok(Cow::Owned(inflated)),
        }
    }

    fn read_content(&mut self, id: &str, content: &[u8]) {
        match id {
            "APIC" => self.picture(content, |rest| {
                let end = rest.iter().position(|&byte| byte == 0)?;
                Some((rest.get(..end)?, rest.get(end + 1..)?))
            }),
            "PIC" => self.picture(content, |rest| rest.split_at_checked(3)),
            "POPM" => {
                let email = content.iter().position(|&byte| byte == 0);
                let rest = email.and_then(|end| content.get(end + 1..));
                if let Some((rating, counter)) = rest.and_then(<[u8]>::split_first) {
                    self.tags.add_rating(rating_of_popm(*rating));
                    self.tags.add_plays(big_endian(counter));
                }
            }
            "PCNT" => self.tags.add_plays(big_endian(content)),
            "UFID" => {
                let id = content.strip_prefix(b"http://musicbrainz.org\0");
                if let Some(id) = id {
                    let text = String::from_utf8_lossy(id);
                    self.tags.add_key(ItemKey::MusicBrainzRecordingId, &text);
                }
            }
            "COMM" | "USLT" => {
                let Some((encoding, rest)) = content.split_first() else {
                    return;
                };
                // After the language: a description and the text.
                let rest = rest.get(3..).unwrap_or_default();
                let mut texts = self.texts(id, *encoding, rest).into_iter();
                let (description, text) = match (texts.next(), texts.next()) {
                    (Some(description), Some(text)) => (description, text),
                    // Without a description, though one must be there.
                    (Some(text), None) => (String::new(), text),
                    _ => return,
                };
                // Comments with a description are for programs: `iTunNORM`.
                if id == "USLT" {
                    self.tags.add_key(ItemKey::UnsyncLyrics, &text);
                } else if description.is_empty() {
                    self.tags.add_key(ItemKey::Comment, &text);
                }
            }
            "TIPL" | "TMCL" | "IPLS" => {
                let texts = self.text_frame(id, content);
                for pair in texts.chunks_exact(2) {
                    let [role, name] = pair else { continue };
                    self.involved(role, name);
                }
            }
            "TXXX" => {
                let mut texts = self.text_frame(id, content).into_iter();
                let name = texts.next().unwrap_or_default();
                for text in texts {
                    self.tags.add_named(TagType::Id3v2, &name, &text);
                }
            }
            _ if id.starts_with('T') => {
                for text in self.text_frame(id, content) {
                    self.text(id, &text);
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, id: &str, text: &str) {
        match id {
            "TCON" => self.tags.add_id3_genres(text),
            "TYER" => self.year = text.trim().to_owned(),
            "TDAT" => self.day = text.trim().to_owned(),
            // The time of the date in 2.3, and the length that the sound has itself.
            "TIME" | "TRDA" | "TLEN" | "TSIZ" => {}
            _ => {
                if let Some(key) = item_key(TagType::Id3v2, id) {
                    self.tags.add_key(key, text);
                }
            }
        }
    }

    /// Adds a person by a role, or by an instrument.
    fn involved(&mut self, role: &str, name: &str) {
        let roles = [
            ("arranger", ItemKey::Arranger),
            ("director", ItemKey::Director),
            ("engineer", ItemKey::Engineer),
            ("producer", ItemKey::Producer),
            ("mix", ItemKey::MixEngineer),
            ("dj-mix", ItemKey::MixDj),
        ];
        match roles
            .iter()
            .find(|(known, _)| role.eq_ignore_ascii_case(known))
        {
            Some((_, key)) => self.tags.add_key(*key, name),
            None => self.tags.add("PERFORMER", &format!("{name} ({role})")),
        }
    }

    /// Adds a picture; `format` splits off its type of file.
    fn picture<'b>(
        &mut self,
        content: &'b [u8],
        format: impl FnOnce(&'b [u8]) -> Option<(&'b [u8], &'b [u8])>,
    ) {
        let parse = || {
            let (encoding, rest) = content.split_first()?;
            let (format, rest) = format(rest)?;
            let (kind, rest) = rest.split_first()?;
            let end = text_end(*encoding, rest);
            let data = rest.get(end..)?;
            // A link to a picture elsewhere.
            (format != b"-->").then_some((*kind, data))
        };
        if let Some((kind, data)) = parse() {
            self.tags.add_picture(data, kind == 3);
        }
    }

    /// The texts of a frame that begins with its encoding.
    fn text_frame(&mut self, id: &str, content: &[u8]) -> Vec<String> {
        match content.split_first() {
            // A frame without its first byte: no encoding has such a number.
            Some((encoding, _)) if *encoding >= b' ' => self.texts(id, 0, content),
            Some((encoding, rest)) => self.texts(id, *encoding, rest),
            None => Vec::new(),
        }
    }

    fn texts(&mut self, id: &str, encoding: u8, bytes: &[u8]) -> Vec<String> {
        // UTF-16BE has no mark, and CJK in it can look like ASCII; only the other one is written by mistake.
        let is_wide = encoding == 2 || encoding == 1 && !is_narrow(bytes);
        if is_wide {
            return self.wide_texts(encoding, bytes);
        }
        // An empty description is a text; what ends the last one is not.
        let bytes = bytes.strip_suffix(b"\0").unwrap_or(bytes);
        let parts = bytes.split(|&byte| byte == 0);
        let texts = parts.map(|part| match encoding {
            0 => latin1(part),
            _ => match std::str::from_utf8(part) {
                Ok(text) => text.trim_start_matches('\u{feff}').to_owned(),
                Err(_) => {
                    let why = match encoding {
                        3 => "is no UTF-8: read as Latin-1",
                        _ => "has an encoding that is not known: read as Latin-1",
                    };
                    self.tags.add_problem(format!("ID3: {id} {why}"));
                    latin1(part)
                }
            },
        });
        texts.collect()
    }

    /// Texts in UTF-16: by the byte order mark of each, else of the one before, else guessed. An odd
    /// byte at the end is dropped.
    fn wide_texts(&mut self, encoding: u8, bytes: &[u8]) -> Vec<String> {
        let is_big = |units: &[[u8; 2]]| {
            let zeros = |at: usize| units.iter().filter(|unit| unit.get(at) == Some(&0)).count();
            zeros(0) > zeros(1)
        };
        let (units, _) = bytes.as_chunks::<2>();
        let mut order = None;
        let units = units.strip_suffix(&[[0, 0]]).unwrap_or(units);
        let parts = units.split(|unit| *unit == [0, 0]);
        let texts = parts.map(|part| {
            let (part, marked) = match part {
                [[0xff, 0xfe], rest @ ..] => (rest, Some(false)),
                [[0xfe, 0xff], rest @ ..] => (rest, Some(true)),
                part => (part, None),
            };
            order = marked.or(order);
            let is_big = order.unwrap_or(encoding == 2 || is_big(part));
            let units = part.iter().map(|unit| match is_big {
                true => u16::from_be_bytes(*unit),
                false => u16::from_le_bytes(*unit),
            });
            let text = char::decode_utf16(units);
            text.map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect()
        });
        texts.collect()
    }
}

/// Returns true for bytes that are no UTF-16 though their frame says so: text of one byte a
/// character.
fn is_narrow(bytes: &[u8]) -> bool {
    let text = bytes.trim_suffix_zeros();
    let is_text = |byte: &u8| byte.is_ascii_graphic() || *byte == b' ';
    text.len() > 1 && text.iter().all(is_text)
}

trait TrimZeros {
    fn trim_suffix_zeros(&self) -> &[u8];
}

impl TrimZeros for [u8] {
    fn trim_suffix_zeros(&self) -> &[u8] {
        let end = self.iter().rposition(|&byte| byte != 0);
        self.get(..end.map_or(0, |end| end + 1)).unwrap_or_default()
    }
}

/// Where the text after a picture's kind ends, with its NUL.
fn text_end(encoding: u8, bytes: &[u8]) -> usize {
    match encoding {
        1 | 2 => {
            let (units, _) = bytes.as_chunks::<2>();
            let end = units.iter().position(|unit| *unit == [0, 0]);
            end.map_or(bytes.len(), |end| 2 * end + 2)
        }
        _ => {
            let end = bytes.iter().position(|&byte| byte == 0);
            end.map_or(bytes.len(), |end| end + 1)
        }
    }
}

/// Latin-1, with the characters that Windows has in the place of control codes.
fn latin1(bytes: &[u8]) -> String {
    let (text, _) = encoding_rs::WINDOWS_1252.decode_without_bom_handling(bytes);
    text.into_owned()
}

fn big_endian(bytes: &[u8]) -> u64 {
    let bytes = bytes.iter().take(8);
    bytes.fold(0, |number, &byte| number << 8 | u64::from(byte))
}

fn syncsafe(bytes: [u8; 4]) -> u32 {
    let digits = bytes.iter();
    digits.fold(0, |size, &byte| size << 7 | u32::from(byte & 0x7f))
}

/// Undoes unsynchronisation: the zero that follows each 0xff is dropped.
fn synchronised(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut after_ff = false;
    for &byte in bytes {
        if !(after_ff && byte == 0) {
            out.push(byte);
        }
        after_ff = byte == 0xff;
    }
    out
}

fn is_frame_id(id: &[u8]) -> bool {
    let is_allowed = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    id.iter().all(is_allowed) && id.first().is_some_and(u8::is_ascii_uppercase)
}

/// Returns where the next frame with a known name begins after a damaged one. Its size must fit, too.
fn next_frame(bytes: &[u8], major: u8) -> Option<usize> {
    let len = if major == 2 { 3 } else { 4 };
    let header = if major == 2 { 6 } else { 10 };
    let names = bytes.windows(header).enumerate().skip(1);
    let mut names = names.filter(|(_, window)| window.get(..len).is_some_and(is_frame_id));
    let found = names.find(|(at, window)| {
        let Some(Ok(id)) = window.get(..len).map(std::str::from_utf8) else {
            return false;
        };
        let is_known = match major {
            2 => upgrade_v2(id).is_some(),
            _ => {
                let is_other = matches!(id, "APIC" | "TXXX" | "POPM" | "UFID" | "PCNT" | "TIPL");
                is_other
                    || upgrade_v3(id).is_some()
                    || ItemKey::from_key(TagType::Id3v2, id).is_some()
            }
        };
        let size = match (major, window.get(len..)) {
            (2, Some([a, b, c, ..])) => u32::from_be_bytes([0, *a, *b, *c]),
            (4, Some([a, b, c, d, ..])) => syncsafe([*a, *b, *c, *d]),
            (_, Some([a, b, c, d, ..])) => u32::from_be_bytes([*a, *b, *c, *d]),
            _ => return false,
        };
        is_known && size > 0 && at + header + size as usize <= bytes.len()
    });
    found.map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn values(major: u8, flags: u8, frames: &[u8]) -> (String, Option<String>) {
        let mut file = tempfile::tempfile().unwrap();
        let size = u32::try_from(frames.len()).unwrap();
        let size = [21, 14, 7, 0].map(|shift| (size >> shift & 0x7f) as u8);
        file.write_all(&[b'I', b'D', b'3', major, 0, flags])
            .unwrap();
        file.write_all(&size).unwrap();
        file.write_all(frames).unwrap();
        let mut tags = TagSet::default();
        let mut reader = BoundedFile::new(&file).unwrap();
        let end = read_id3_tags(&mut reader, &mut tags).unwrap();
        assert_eq!(end, 10 + frames.len() as u64);
        let problem = tags.problem();
        let values = tags
            .values
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        (values.collect::<Vec<_>>().join(" "), problem)
    }

    fn frame(id: &str, flags: u8, content: &[u8]) -> Vec<u8> {
        let mut frame = id.as_bytes().to_vec();
        frame.extend_from_slice(&u32::try_from(content.len()).unwrap().to_be_bytes());
        frame.extend_from_slice(&[0, flags]);
        frame.extend_from_slice(content);
        frame
    }

    #[test]
    fn a_damaged_frame_costs_that_frame() {
        let artist = frame("TPE1", 0, b"\x03Ann");
        let of = |first: Vec<u8>| values(4, 0, &[first, artist.clone()].concat());
        let (read, problem) = of(frame("TIT2", 0, b"\x03caf\xe9"));
        assert_eq!(read, "TITLE=café ARTIST=Ann");
        assert_eq!(problem.unwrap(), "ID3: TIT2 is no UTF-8: read as Latin-1");
        for (frame, expected) in [
            (
                frame("TIT2", 0, b"\x01\xff\xfeO\0d\0d"),
                "TITLE=Od ARTIST=Ann",
            ),
            (frame("TIT2", 0, b"\x01N\0o\0"), "TITLE=No ARTIST=Ann"),
            (frame("TIT2", 0, b"\x01\0N\0o"), "TITLE=No ARTIST=Ann"),
            (
                frame("TIT2", 0, b"\x01\xfe\xff\0N\0o"),
                "TITLE=No ARTIST=Ann",
            ),
            (frame("TIT2", 0, b"\x01Plain"), "TITLE=Plain ARTIST=Ann"),
            (frame("TIT2", 0, b"\x09Odd"), "TITLE=Odd ARTIST=Ann"),
            (frame("TIT2", 0, b"Bare"), "TITLE=Bare ARTIST=Ann"),
            (frame("TIT2", 0, b""), "ARTIST=Ann"),
            (frame("TIT2", 0x04, b"\x03Secret"), "ARTIST=Ann"),
            (frame("TIT2", 0x09, b"\0\0\0\x05rubbish"), "ARTIST=Ann"),
            (frame("tit2", 0, b"\x03lower"), "ARTIST=Ann"),
            (b"TIT2\x7f\x7f\x7f\x7f\0\0\x03Long".to_vec(), "ARTIST=Ann"),
            (frame("APIC", 0, b"\x00image/jpeg"), "ARTIST=Ann"),
            (frame("POPM", 0, b"no end"), "ARTIST=Ann"),
        ] {
            assert_eq!(of(frame.clone()).0, expected, "{frame:?}");
        }
    }

    #[test]
    fn sizes_and_dates_of_other_versions() {
        let long = format!("\x03{}", "x".repeat(299));
        let frames = [
            frame("TIT2", 0, long.as_bytes()),
            frame("TPE1", 0, b"\x03Ann"),
        ]
        .concat();
        let (read, problem) = values(4, 0, &frames);
        assert!(
            read.ends_with("x ARTIST=Ann") && problem.is_none(),
            "{read}"
        );
        let frames = [frame("TYER", 0, b"\x001985"), frame("TDAT", 0, b"\x000405")].concat();
        assert_eq!(values(4, 0, &frames).0, "DATE=1985-05-04");
        assert_eq!(values(3, 0, &frames).0, "DATE=1985-05-04");
        assert_eq!(
            values(2, 0, b"TYE\0\0\x05\x001985TT2\0\0\x03\x00Hi").0,
            "DATE=1985 TITLE=Hi"
        );
        assert_eq!(values(3, 0, b"TT2\0\0\0\0\x03\0\0\x00Hi").0, "TITLE=Hi");
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read(bytes: Vec<u8>, major in 2u8..5, flags: u8) {
            values(major, flags & 0xef, &bytes);
        }

        #[test]
        fn damaged_frames_are_read(at in 0usize..120, byte: u8, flags: u8) {
            let mut frames = [frame("TIT2", 0, b"\x01\xff\xfeH\0i\0"), frame("TXXX", flags, b"\x00A\0B"),
                frame("COMM", 0, b"\x00eng\0Hm"), frame("APIC", 0, b"\x00a\0\x03\0x")].concat();
            if let Some(b) = frames.get_mut(at) {
                *b = byte;
            }
            for major in 3..5 {
                values(major, 0, &frames);
            }
        }
    }
}
