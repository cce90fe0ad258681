//! [`ContentKey`]: identifies the content of a file without its tags.
//!
//! ```text
//! key := first 128 bits of BLAKE3(length  16 KiB of the middle  16 KiB of the end)
//! ```
//!
//! of the part without tags: the sound of a piece of music, the compressed picture of a photo. The
//! whole file is not read: a library of 100 GB would take as long as reading it.

use std::fmt;
use std::io;

use crate::bounded_file::BoundedFile;
use crate::error::Unreadable;

/// Bytes of the middle and of the end that are part of the key.
const PART: u64 = 16 << 10;

/// The key of a file's content; texts of it are 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentKey(pub [u8; 16]);

impl fmt::Display for ContentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

/// Returns the key of a whole file.
///
/// # Errors
/// [`Unreadable::Io`].
pub fn content_key(file: &std::fs::File) -> Result<ContentKey, Unreadable> {
    let mut reader = BoundedFile::new(file)?;
    let len = reader.len();
    Ok(key_of_range(&mut reader, 0, len)?)
}

/// Returns the key of a piece of music without its tags.
pub(crate) fn sound_key(
    reader: &mut BoundedFile<'_>,
    format: &str,
) -> Result<ContentKey, Unreadable> {
    let (start, end) = sound_range(reader, format)?;
    match format {
        // The numbers and checksums of pages change with the tags before them.
        "ogg" | "oga" | "opus" | "speex" => Ok(key_of_pages(reader)?),
        _ => Ok(key_of_range(reader, start, end)?),
    }
}

/// Returns the key of a JPEG without its headers, or of any other picture as a whole.
pub(crate) fn picture_key(reader: &mut BoundedFile<'_>) -> Result<ContentKey, Unreadable> {
    let len = reader.len();
    let start = jpeg_scan(reader)?.unwrap_or(0);
    Ok(key_of_range(reader, start, len)?)
}

fn key_of_range(reader: &mut BoundedFile<'_>, start: u64, end: u64) -> io::Result<ContentKey> {
    let len = end.saturating_sub(start);
    let mut hasher = blake3::Hasher::new();
    hasher.update(&len.to_le_bytes());
    let mut buf = vec![0; usize::try_from(PART.min(len)).unwrap_or(0)];
    let middle = start + (len / 2).saturating_sub(PART / 2);
    let last = end.saturating_sub(PART).max(start);
    for at in [middle, last] {
        let part = usize::try_from(PART.min(end.saturating_sub(at))).unwrap_or(0);
        let part = part.min(buf.len());
        let n = reader.read_at(at, buf.get_mut(..part).unwrap_or_default())?;
        hasher.update(buf.get(..n).unwrap_or_default());
    }
    Ok(finish(&hasher))
}

fn finish(hasher: &blake3::Hasher) -> ContentKey {
    let mut key = [0; 16];
    hasher.finalize_xof().fill(&mut key);
    ContentKey(key)
}

/// The key of the content of the Ogg pages at the end of a file (RFC 3533, section 6), without their
/// numbers and checksums. The position of the last one is the length of the sound.
fn key_of_pages(reader: &mut BoundedFile<'_>) -> io::Result<ContentKey> {
    const WINDOW: u64 = 128 << 10;
    let start = reader.len().saturating_sub(WINDOW);
    let mut buf = vec![0; usize::try_from(reader.len() - start).unwrap_or(0)];
    let n = reader.read_at(start, &mut buf)?;
    buf.truncate(n);
    let mut pages = Vec::new();
    let mut at = 0;
    while let Some(page) = buf.get(at..).and_then(OggPage::parse) {
        match page {
            Ok(page) => {
                pages.push((page.position, at + page.header..at + page.header + page.len));
                at += page.header + page.len;
            }
            // The window begins amid a page.
            Err(()) => at += 1,
        }
    }
    if pages.is_empty() {
        let len = reader.len();
        return key_of_range(reader, 0, len);
    }
    let mut hasher = blake3::Hasher::new();
    // As many pages as hold the bytes of the key: retagging moves the window over the pages.
    let mut size = 0;
    for (position, range) in pages.into_iter().rev() {
        hasher.update(&position);
        let content = buf.get(range).unwrap_or_default();
        hasher.update(content);
        size += content.len() as u64;
        if size >= 2 * PART {
            break;
        }
    }
    Ok(finish(&hasher))
}

struct OggPage {
    position: [u8; 8],
    header: usize,
    len: usize,
}

impl OggPage {
    /// Reads the header of a page: `None` at the end of the bytes, `Some(Err)` if there is none here.
    fn parse(bytes: &[u8]) -> Option<Result<Self, ()>> {
        let header = bytes.get(..27)?;
        if !header.starts_with(b"OggS") {
            return Some(Err(()));
        }
        let segments = usize::from(*header.get(26)?);
        let table = bytes.get(27..27 + segments)?;
        let len = table.iter().map(|&b| usize::from(b)).sum();
        let mut position = [0; 8];
        position.copy_from_slice(header.get(6..14)?);
        Some(Ok(Self {
            position,
            header: 27 + segments,
            len,
        }))
    }
}

/// Returns where the sound of a file is, without the tags before and after it.
fn sound_range(reader: &mut BoundedFile<'_>, format: &str) -> io::Result<(u64, u64)> {
    let len = reader.len();
    let range = match format {
        "flac" => (flac_sound(reader)?, len),
        "m4a" => mp4_sound(reader)?,
        "wav" => chunk(reader, b"data", u32::from_le_bytes)?,
        "aiff" => chunk(reader, b"SSND", u32::from_be_bytes)?,
        _ => (id3_end(reader, 0)?, tags_start(reader)?),
    };
    let (start, end) = (range.0.min(len), range.1.min(len));
    // A damaged file has no such range: its key is that of the whole.
    Ok(if start < end { (start, end) } else { (0, len) })
}

/// Returns the end of an ID3v2 tag at an offset (<https://id3.org/id3v2.4.0-structure>, section 3.1).
fn id3_end(reader: &mut BoundedFile<'_>, at: u64) -> io::Result<u64> {
    let mut header = [0; 10];
    if reader.read_at(at, &mut header)? < 10 || !header.starts_with(b"ID3") {
        return Ok(at);
    }
    let digits = header.iter().skip(6);
    let size = digits.fold(0u64, |size, &b| size << 7 | u64::from(b & 0x7f));
    let footer = if header[5] & 0x10 != 0 { 10 } else { 0 };
    Ok(at + 10 + size + footer)
}

/// Returns where the tags at the end of a file begin: ID3v1, APE before it.
fn tags_start(reader: &mut BoundedFile<'_>) -> io::Result<u64> {
    let mut end = reader.len();
    let mut buf = [0; 32];
    let id3 = end.saturating_sub(128);
    if end >= 128 && reader.read_at(id3, &mut buf)? >= 3 && buf.starts_with(b"TAG") {
        end = id3;
    }
    let ape = end.saturating_sub(32);
    if end >= 32 && reader.read_at(ape, &mut buf)? == 32 && buf.starts_with(b"APETAGEX") {
        let number = |at: usize| {
            let bytes = buf.get(at..at + 4).and_then(|b| b.try_into().ok());
            u64::from(bytes.map_or(0, u32::from_le_bytes))
        };
        // The size is without the header, which bit 31 of the flags tells of.
        let header = if number(20) & (1 << 31) != 0 { 32 } else { 0 };
        end = end.saturating_sub(number(12) + header);
    }
    Ok(end)
}

/// Returns the start of the frames after the metadata blocks (RFC 9639, section 8).
fn flac_sound(reader: &mut BoundedFile<'_>) -> io::Result<u64> {
    let mut at = id3_end(reader, 0)? + 4;
    let mut header = [0; 4];
    while reader.read_at(at, &mut header)? == 4 {
        let [kind, size @ ..] = header;
        at += 4 + u64::from(u32::from_be_bytes([0, size[0], size[1], size[2]]));
        if kind & 0x80 != 0 {
            break;
        }
    }
    Ok(at)
}

/// Returns the largest `mdat` box (ISO/IEC 14496-12, section 4.2).
fn mp4_sound(reader: &mut BoundedFile<'_>) -> io::Result<(u64, u64)> {
    let (mut at, mut best) = (0, (0, 0));
    let mut header = [0; 16];
    while reader.read_at(at, &mut header)? >= 8 {
        let [a, b, c, d, kind @ ..] = header;
        let size = match u32::from_be_bytes([a, b, c, d]) {
            0 => reader.len() - at,
            1 => header.last_chunk().map_or(0, |b| u64::from_be_bytes(*b)),
            size => u64::from(size),
        };
        if kind.starts_with(b"mdat") && size > best.1 - best.0 {
            best = (at, at.saturating_add(size));
        }
        let next = at.saturating_add(size);
        // A size of 0 would never advance.
        if next <= at || next >= reader.len() {
            break;
        }
        at = next;
    }
    Ok(best)
}

/// Returns a chunk of a RIFF or IFF file.
pub(crate) fn chunk(
    reader: &mut BoundedFile<'_>,
    name: &[u8; 4],
    number: fn([u8; 4]) -> u32,
) -> io::Result<(u64, u64)> {
    let mut at = 12;
    let mut header = [0; 8];
    while reader.read_at(at, &mut header)? == 8 {
        let [a, b, c, d, size @ ..] = header;
        let size = u64::from(number(size));
        if [a, b, c, d] == *name {
            return Ok((at + 8, at + 8 + size));
        }
        at += 8 + size + (size & 1);
    }
    Ok((0, 0))
}

/// Returns where the first scan of a JPEG begins, after its headers (ITU T.81, annex B).
fn jpeg_scan(reader: &mut BoundedFile<'_>) -> io::Result<Option<u64>> {
    let mut header = [0; 4];
    if reader.read_at(0, &mut header)? < 4 || !header.starts_with(&[0xff, 0xd8]) {
        return Ok(None);
    }
    let mut at = 2;
    while reader.read_at(at, &mut header)? == 4 {
        let [0xff, marker, high, low] = header else {
            return Ok(None);
        };
        if marker == 0xda {
            return Ok(Some(at));
        }
        at += 2 + u64::from(u16::from_be_bytes([high, low]));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn key(format: &str, content: &[u8]) -> ContentKey {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        let mut reader = BoundedFile::new(&file).unwrap();
        match format {
            "jpeg" => picture_key(&mut reader).unwrap(),
            format => sound_key(&mut reader, format).unwrap(),
        }
    }

    fn sound(seed: u8) -> Vec<u8> {
        (0..50_000u32)
            .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8 ^ seed)
            .collect()
    }

    #[test]
    fn tags_are_no_part_of_a_key() {
        let (a, b) = (sound(1), sound(2));
        let mut tagged = b"ID3\x04\0\0\0\0\0\x05hello".to_vec();
        tagged.extend_from_slice(&a);
        tagged.extend_from_slice(b"TAG");
        tagged.extend_from_slice(&[0; 125]);
        assert_eq!(key("mp3", &tagged), key("mp3", &a));
        assert_ne!(key("mp3", &a), key("mp3", &b));

        let flac = |tag: &[u8]| {
            let mut file = b"fLaC\x84\0\0".to_vec();
            file.push(u8::try_from(tag.len()).unwrap());
            file.extend_from_slice(tag);
            file.extend_from_slice(&a);
            file
        };
        assert_eq!(key("flac", &flac(b"x")), key("flac", &flac(b"longer")));

        let mp4 = |tag: &[u8]| {
            let mut file = Vec::new();
            for (name, content) in [(b"moov", tag), (b"mdat", &a[..])] {
                file.extend_from_slice(&u32::try_from(content.len() + 8).unwrap().to_be_bytes());
                file.extend_from_slice(name);
                file.extend_from_slice(content);
            }
            file
        };
        assert_eq!(key("m4a", &mp4(b"x")), key("m4a", &mp4(b"longer")));

        let jpeg = |exif: &[u8]| {
            let mut file = b"\xff\xd8\xff\xe1\0".to_vec();
            file.push(u8::try_from(exif.len() + 2).unwrap());
            file.extend_from_slice(exif);
            file.extend_from_slice(b"\xff\xda\0\x02");
            file.extend_from_slice(&a);
            file
        };
        assert_eq!(key("jpeg", &jpeg(b"x")), key("jpeg", &jpeg(b"longer")));
    }

    #[test]
    fn ogg_pages_keep_their_key_when_they_are_numbered_anew() {
        let content = sound(3);
        let file = |first: u32| {
            let mut file = vec![0; first as usize * 100];
            for (number, part) in content.chunks(2_550).enumerate() {
                file.extend_from_slice(b"OggS\0\0");
                file.extend_from_slice(&(number as u64 * 960).to_le_bytes());
                file.extend_from_slice(&[0; 4]);
                file.extend_from_slice(&(first + number as u32).to_le_bytes());
                file.extend_from_slice(&[first as u8; 4]);
                let segments = part.chunks(255);
                file.push(u8::try_from(segments.len()).unwrap());
                file.extend(segments.map(|s| s.len() as u8));
                file.extend_from_slice(part);
            }
            file
        };
        assert_eq!(key("ogg", &file(2)), key("ogg", &file(7)));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_have_a_key(bytes: Vec<u8>, format in 0usize..6) {
            key(["mp3", "flac", "m4a", "wav", "ogg", "jpeg"][format], &bytes);
        }
    }
}
