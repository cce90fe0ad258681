//! M3U and M3U8.
//!
//! ```text
//! #EXTM3U
//! #PLAYLIST:title of the list
//! #EXTINF:seconds key="value" ...,Artist - Title       of the next location; -1: unknown length
//! #EXTALB:album    #EXTART:artist                      of the next location
//! location                                             a path or URL
//! ```

use std::io::{self, Write};
use std::path::Path;

use super::encoding::Text;
use super::location::{has_colon_first, written_path};
use super::{MAX_ENTRIES, NoPlaylist, PlaylistEntry, PlaylistFile, one_line, split_title};
use crate::uri::{file_uri, path_of_bytes};

pub(super) fn read(text: &Text<'_>) -> Result<PlaylistFile, NoPlaylist> {
    let mut list = PlaylistFile::default();
    let mut next = PlaylistEntry::default();
    for line in text.lines() {
        let trimmed = line.text.trim();
        let Some(comment) = trimmed.strip_prefix('#') else {
            if list.entries.len() == MAX_ENTRIES {
                return Err(NoPlaylist::TooManyEntries(line.number));
            }
            let mut entry = std::mem::take(&mut next);
            entry.line = line.number;
            entry.locations.push(line.raw.to_vec());
            if line.text.as_bytes() != line.raw {
                entry.locations.push(line.text.as_bytes().to_vec());
            }
            list.entries.push(entry);
            continue;
        };
        let Some((name, value)) = comment.split_once(':') else {
            continue;
        };
        match name.to_ascii_uppercase().as_str() {
            "EXTINF" => {
                let (length, title) = split_info(value);
                next.seconds = parse_seconds(length);
                let (artist, title) = split_title(title);
                next.title = title;
                if !artist.is_empty() {
                    next.artist = artist;
                }
            }
            "EXTALB" => next.album = value.trim().to_owned(),
            "EXTART" => next.artist = value.trim().to_owned(),
            "PLAYLIST" => list.title = value.trim().to_owned(),
            "EXT-X-TARGETDURATION" | "EXT-X-STREAM-INF" => return Err(NoPlaylist::Stream),
            _ => {}
        }
    }
    Ok(list)
}

/// Splits the value of `#EXTINF` at the comma before the title: the first outside quotes.
fn split_info(value: &str) -> (&str, &str) {
    let mut is_quoted = false;
    let comma = value.find(|c| {
        is_quoted ^= c == '"';
        c == ',' && !is_quoted
    });
    // A quote that does not end is part of the title.
    let comma = comma.or_else(|| value.find(','));
    match comma {
        Some(at) => (&value[..at], &value[at + 1..]),
        None => (value, ""),
    }
}

/// Parses the length before the attributes: whole or decimal seconds.
fn parse_seconds(text: &str) -> Option<u32> {
    let number = text.split_whitespace().next()?.parse::<f64>().ok()?;
    let is_length = number > 0.0 && number < f64::from(u32::MAX);
    // Positive and in range.
    is_length.then_some(number.round() as u32)
}

pub(super) fn write(
    list: &PlaylistFile,
    folder: Option<&Path>,
    out: &mut dyn Write,
) -> io::Result<()> {
    out.write_all(b"#EXTM3U\n#EXTENC:UTF-8\n")?;
    if !list.title.is_empty() {
        writeln!(out, "#PLAYLIST:{}", one_line(&list.title))?;
    }
    for entry in &list.entries {
        let Some(location) = entry.locations.first() else {
            continue;
        };
        let length = entry
            .seconds
            .map_or_else(|| "-1".to_owned(), |s| s.to_string());
        let (artist, title) = (one_line(&entry.artist), one_line(&entry.title));
        let dash = if artist.is_empty() { "" } else { " - " };
        writeln!(out, "#EXTINF:{length},{artist}{dash}{title}")?;
        if !entry.album.is_empty() {
            writeln!(out, "#EXTALB:{}", one_line(&entry.album))?;
        }
        out.write_all(&line_of(location, folder))?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// Returns the line of a location. A path that a line cannot have is written as a URI.
fn line_of(location: &[u8], folder: Option<&Path>) -> Vec<u8> {
    let Some(path) = written_path(location, folder) else {
        let is_break = |b: &u8| matches!(b, b'\n' | b'\r');
        return location.iter().copied().filter(|b| !is_break(b)).collect();
    };
    let text = path.to_str().filter(|text| {
        let has_break = text.contains(['\n', '\r', '\0']);
        !has_break && text.trim() == *text
    });
    match text {
        Some(text) if text.starts_with('#') || has_colon_first(text) => {
            format!("./{text}").into_bytes()
        }
        Some(text) => text.as_bytes().to_vec(),
        None => file_uri(&path_of_bytes(location.to_vec())).into_bytes(),
    }
}
