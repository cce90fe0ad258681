//! [`read_ogg_flac`]: FLAC in Ogg (<https://xiph.org/flac/ogg_mapping.html>), which lofty does not read.
//!
//! ```text
//! packet 1   0x7f "FLAC" version(2) packets(2) "fLaC" STREAMINFO
//! packet 2.. a metadata block each: VORBIS_COMMENT, PICTURE, ...
//! ```

use lofty::config::ParsingMode;
use lofty::picture::{Picture, PictureType};
use lofty::tag::TagType;

use super::tags::TagSet;
use crate::bounded_file::BoundedFile;
use crate::error::Unreadable;
use crate::limits::{MAX_PICTURE, MAX_VALUES};

/// Bytes of metadata that are read: a picture and texts.
const MAX_METADATA: u64 = MAX_PICTURE + (1 << 20);

/// Returns true if a file begins like FLAC in Ogg.
pub(super) fn is_ogg_flac(start: &[u8]) -> bool {
    start.starts_with(b"OggS") && start.get(28..33) == Some(b"\x7fFLAC")
}

/// Reads the tags; returns the length in milliseconds.
///
/// # Errors
/// [`Unreadable`] if the headers are damaged.
pub(super) fn read_ogg_flac(
    reader: &mut BoundedFile<'_>,
    tags: &mut TagSet,
) -> Result<u64, Unreadable> {
    let mut packets = Packets {
        reader,
        at: 0,
        left: MAX_METADATA,
        segments: Vec::new(),
    };
    let first = packets.next()?.unwrap_or_default();
    let info = first.get(13..).unwrap_or_default();
    // After the block's header: sizes of blocks and frames, then 20 bits of the rate.
    let rate = match info.get(14..17) {
        Some([a, b, c]) => u32::from_be_bytes([0, *a, *b, *c]) >> 4,
        _ => return Err(Unreadable::damaged("a FLAC stream without STREAMINFO")),
    };
    let mut samples = match info.get(17..22) {
        Some([a, rest @ ..]) => {
            let first = u64::from(a & 0x0f);
            rest.iter()
                .fold(first, |sum, &byte| sum << 8 | u64::from(byte))
        }
        _ => 0,
    };
    let mut is_last = first.get(13).is_some_and(|byte| byte & 0x80 != 0);
    while !is_last && let Some(block) = packets.next()? {
        let Some(([kind, ..], content)) = block.split_first_chunk::<4>() else {
            break;
        };
        // A frame of sound: the headers do not say how many they are.
        if *kind == 0xff {
            break;
        }
        is_last = kind & 0x80 != 0;
        match kind & 0x7f {
            4 => read_comments(content, tags),
            6 => {
                let picture = Picture::from_flac_bytes(content, false, ParsingMode::Relaxed);
                if let Ok((picture, _)) = picture {
                    let is_front = picture.pic_type() == PictureType::CoverFront;
                    tags.add_picture(picture.data(), is_front);
                }
            }
            _ => {}
        }
    }
    if samples == 0 {
        // Not known when the file was begun: the position of the last page counts them.
        samples = last_position(reader)?;
    }
    Ok(match rate {
        0 => 0,
        rate => samples.saturating_mul(1_000) / u64::from(rate),
    })
}

/// Returns the granule position of the last page: the number of samples up to its end.
fn last_position(reader: &mut BoundedFile<'_>) -> Result<u64, Unreadable> {
    /// The size of the largest page.
    const MAX_PAGE: u64 = 27 + 255 + 255 * 255;
    let mut end = vec![0; MAX_PAGE.min(reader.len()) as usize];
    let n = reader.read_at(reader.len() - end.len() as u64, &mut end)?;
    end.truncate(n);
    let positions = end.windows(14).rev().filter_map(|page| {
        let position = page.strip_prefix(b"OggS\0")?.get(1..9)?;
        // -1: no packet ends on the page.
        Some(u64::from_le_bytes(position.try_into().ok()?)).filter(|n| *n != u64::MAX)
    });
    Ok(positions.into_iter().next().unwrap_or(0))
}

/// Reads a block of Vorbis comments (<https://xiph.org/vorbis/doc/v-comment.html>).
fn read_comments(mut content: &[u8], tags: &mut TagSet) {
    let take = |content: &mut &[u8]| -> Option<Vec<u8>> {
        let (len, rest) = content.split_first_chunk::<4>()?;
        let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        *content = rest;
        Some(text.to_vec())
    };
    if take(&mut content).is_none() {
        return tags.add_problem("its comments are damaged".to_owned());
    }
    let Some((count, rest)) = content.split_first_chunk::<4>() else {
        return;
    };
    content = rest;
    let count = u32::from_le_bytes(*count) as usize;
    // The file may claim any number of comments.
    for _ in 0..count.min(16 * MAX_VALUES) {
        let Some(comment) = take(&mut content) else {
            return tags.add_problem("its comments end too early".to_owned());
        };
        let text = String::from_utf8_lossy(&comment);
        if let Some((name, value)) = text.split_once('=') {
            match name.eq_ignore_ascii_case("METADATA_BLOCK_PICTURE") {
                true => {
                    let data = value.as_bytes();
                    let picture = Picture::from_flac_bytes(data, true, ParsingMode::Relaxed);
                    if let Ok((picture, _)) = picture {
                        let is_front = picture.pic_type() == PictureType::CoverFront;
                        tags.add_picture(picture.data(), is_front);
                    }
                }
                false => tags.add_named(TagType::VorbisComments, name, value),
            }
        }
    }
}

/// The packets at the start of an Ogg file (RFC 3533) with one stream.
struct Packets<'r, 'f> {
    reader: &'r mut BoundedFile<'f>,
    /// Where the next segment or page begins.
    at: u64,
    left: u64,
    /// Lengths of the page's segments that are left, in reverse.
    segments: Vec<u8>,
}

impl Packets<'_, '_> {
    /// Returns the next packet; `None` at the end.
    fn next(&mut self) -> Result<Option<Vec<u8>>, Unreadable> {
        let mut packet = Vec::new();
        loop {
            let Some(len) = self.segments.pop() else {
                if !self.read_page()? {
                    return Ok((!packet.is_empty()).then_some(packet));
                }
                continue;
            };
            let start = packet.len();
            packet.resize(start + usize::from(len), 0);
            let n = self
                .reader
                .read_at(self.at, packet.get_mut(start..).unwrap_or_default())?;
            self.at += u64::from(len);
            self.left = self.left.saturating_sub(u64::from(len));
            if n < usize::from(len) || self.left == 0 {
                return Ok(None);
            }
            if len < 255 {
                return Ok(Some(packet));
            }
        }
    }

    fn read_page(&mut self) -> Result<bool, Unreadable> {
        let mut header = [0; 27];
        let n = self.reader.read_at(self.at, &mut header)?;
        if n < 27 || !header.starts_with(b"OggS") {
            return Ok(false);
        }
        let mut segments = vec![0; usize::from(header[26])];
        let n = self.reader.read_at(self.at + 27, &mut segments)?;
        segments.truncate(n);
        self.at += 27 + n as u64;
        segments.reverse();
        self.segments = segments;
        // A page without segments would be read for ever only if it did not advance.
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Write;

    use super::*;

    /// A page with one packet.
    fn page(position: u64, packet: &[u8]) -> Vec<u8> {
        let mut page = b"OggS\0\0".to_vec();
        page.extend(position.to_le_bytes());
        page.extend([0; 12]);
        page.extend([1, packet.len() as u8]);
        page.extend(packet);
        page
    }

    fn length(samples: u8, positions: &[u64]) -> u64 {
        let mut info = b"\x7fFLAC\x01\0\0\x01fLaC\0\0\0\x22".to_vec();
        info.extend([0x12, 0, 0x12, 0, 0, 0, 0, 0, 0, 0]);
        // 44,100 Hz, 16 bits, one channel, and the number of samples.
        info.extend([0x0a, 0xc4, 0x40, 0xf0, 0, 0, samples, 0]);
        info.extend([0; 16]);
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&page(0, &info)).unwrap();
        file.write_all(&page(0, b"\x84\0\0\x08\0\0\0\0\0\0\0\0"))
            .unwrap();
        for position in positions {
            file.write_all(&page(*position, b"\xff\xf8sound")).unwrap();
        }
        let mut reader = BoundedFile::new(&file).unwrap();
        read_ogg_flac(&mut reader, &mut TagSet::default()).unwrap()
    }

    #[test]
    fn the_length_is_that_of_the_header_or_the_last_page() {
        assert_eq!(length(0xac, &[4096, 44_100]), 998);
        assert_eq!(length(0, &[4096, 88_200]), 2_000);
        assert_eq!(length(0, &[88_200, u64::MAX]), 2_000);
        assert_eq!(length(0, &[]), 0);
    }
}
