//! XSPF version 1.
//!
//! ```text
//! playlist
//! ├── title
//! └── trackList
//!     └── track*: location*, title, creator, album, duration (ms)
//! ```
//!
//! Names are compared without their namespace: many files have none, or an old one. Other elements
//! and their content are skipped. A reference to an entity that the file defines is kept as text.

use std::io::{self, Write};
use std::path::Path;

use quick_xml::Reader;
use quick_xml::escape::{escape, resolve_predefined_entity};
use quick_xml::events::{BytesRef, Event};

use super::location::{has_colon_first, written_path};
use super::{MAX_ENTRIES, NoPlaylist, PlaylistEntry, PlaylistFile};
use crate::uri::{escape_path, file_uri};

/// Depth of elements that are told apart; deeper ones are skipped.
const TRACK_FIELD: usize = 4;

#[derive(Default)]
struct TrackReader {
    list: PlaylistFile,
    track: PlaylistEntry,
    /// Number of open elements.
    depth: usize,
    /// Names of the outermost open elements.
    path: Vec<String>,
    text: String,
    has_root: bool,
}

pub(super) fn read(document: &str) -> Result<PlaylistFile, NoPlaylist> {
    let mut reader = Reader::from_str(document);
    reader.config_mut().expand_empty_elements = true;
    let mut tracks = TrackReader::default();
    let (mut line, mut counted) = (1, 0);
    let reason = loop {
        let event = reader.read_event();
        // Lines are counted once along the document.
        let at = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
        let at = at.min(document.len()).max(counted);
        let passed = document.as_bytes().get(counted..at).unwrap_or_default();
        line += passed.iter().filter(|&&b| b == b'\n').count();
        counted = at;
        match event {
            Ok(Event::Start(start)) => {
                let name = start.local_name().as_ref().to_owned();
                if tracks.depth == 0 && name != "playlist" {
                    let reason = format!("its root is <{name}>, not <playlist>");
                    return Err(NoPlaylist::NotXspf { line, reason });
                }
                tracks.open(name, line);
            }
            Ok(Event::End(_)) => tracks.close(),
            Ok(Event::Text(text)) => tracks.text.push_str(&text.xml10_content()),
            Ok(Event::CData(text)) => tracks.text.push_str(&text.xml10_content()),
            Ok(Event::GeneralRef(reference)) => tracks.push_reference(&reference),
            Ok(Event::Eof) if tracks.depth > 0 => break Some("it ends in an element".to_owned()),
            Ok(Event::Eof) => break None,
            Ok(_) => {}
            Err(error) => break Some(error.to_string()),
        }
        if tracks.list.entries.len() > MAX_ENTRIES {
            return Err(NoPlaylist::TooManyEntries(line));
        }
    };
    match reason {
        Some(reason) if tracks.list.entries.is_empty() => {
            return Err(NoPlaylist::NotXspf { line, reason });
        }
        None if !tracks.has_root => {
            let reason = "it has no element <playlist>".to_owned();
            return Err(NoPlaylist::NotXspf { line, reason });
        }
        reason => tracks.list.problem = reason.map(|reason| format!("line {line}: {reason}")),
    }
    Ok(tracks.list)
}

impl TrackReader {
    fn open(&mut self, name: String, line: usize) {
        self.has_root = true;
        self.depth += 1;
        if self.depth <= TRACK_FIELD {
            self.path.truncate(self.depth - 1);
            self.path.push(name);
            self.text.clear();
        }
        if self.is_at(&["playlist", "trackList", "track"]) {
            self.track = PlaylistEntry {
                line,
                ..PlaylistEntry::default()
            };
        }
    }

    fn is_at(&self, path: &[&str]) -> bool {
        self.depth == path.len()
            && self
                .path
                .iter()
                .map(String::as_str)
                .eq(path.iter().copied())
    }

    fn close(&mut self) {
        if self.is_at(&["playlist", "title"]) {
            self.list.title = self.value();
        } else if self.is_at(&["playlist", "trackList", "track"]) {
            self.list.entries.push(std::mem::take(&mut self.track));
        } else if self.depth == TRACK_FIELD
            && self
                .path
                .iter()
                .take(3)
                .eq(["playlist", "trackList", "track"].iter())
        {
            let value = self.value();
            match self.path.last().map(String::as_str) {
                Some("location") if !value.is_empty() => {
                    self.track.locations.push(value.into_bytes());
                }
                Some("title") => self.track.title = value,
                Some("creator") => self.track.artist = value,
                Some("album") => self.track.album = value,
                Some("duration") => {
                    let millis = value.parse::<u64>().ok();
                    let seconds = millis.map(|millis| millis.saturating_add(500) / 1000);
                    let seconds = seconds.and_then(|seconds| u32::try_from(seconds).ok());
                    self.track.seconds = seconds.filter(|seconds| *seconds > 0);
                }
                _ => {}
            }
        }
        self.depth = self.depth.saturating_sub(1);
        self.path.truncate(self.depth);
    }

    fn value(&mut self) -> String {
        let value = self.text.trim().to_owned();
        self.text.clear();
        value
    }

    fn push_reference(&mut self, reference: &BytesRef<'_>) {
        if let Ok(Some(c)) = reference.resolve_char_ref() {
            self.text.push(c);
            return;
        }
        let name: &str = reference;
        match resolve_predefined_entity(name) {
            Some(text) => self.text.push_str(text),
            None => self.text.push_str(&format!("&{name};")),
        }
    }
}

pub(super) fn write(
    list: &PlaylistFile,
    folder: Option<&Path>,
    out: &mut dyn Write,
) -> io::Result<()> {
    out.write_all(
        b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
          <playlist version=\"1\" xmlns=\"http://xspf.org/ns/0/\">\n",
    )?;
    write_element(out, "  ", "title", &list.title)?;
    out.write_all(b"  <trackList>\n")?;
    for entry in &list.entries {
        out.write_all(b"    <track>\n")?;
        let location = entry
            .locations
            .first()
            .map(|location| uri_of(location, folder));
        let duration = entry
            .seconds
            .map(|seconds| (u64::from(seconds) * 1000).to_string());
        for (name, value) in [
            ("location", location.as_deref().unwrap_or_default()),
            ("title", &entry.title),
            ("creator", &entry.artist),
            ("album", &entry.album),
            ("duration", duration.as_deref().unwrap_or_default()),
        ] {
            write_element(out, "      ", name, value)?;
        }
        out.write_all(b"    </track>\n")?;
    }
    out.write_all(b"  </trackList>\n</playlist>\n")
}

/// Writes an element. An empty one is left out, and so are characters that XML cannot have.
fn write_element(out: &mut dyn Write, indent: &str, name: &str, value: &str) -> io::Result<()> {
    if value.is_empty() {
        return Ok(());
    }
    let is_allowed = |c: &char| !matches!(c, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}');
    let value: String = value.chars().filter(is_allowed).collect();
    writeln!(out, "{indent}<{name}>{}</{name}>", escape(value.as_str()))
}

/// Returns the URI of a location, relative to `folder` if it is in it.
fn uri_of(location: &[u8], folder: Option<&Path>) -> String {
    match written_path(location, folder) {
        None => String::from_utf8_lossy(location).into_owned(),
        Some(path) if path.is_absolute() => file_uri(path),
        Some(path) => match escape_path(path) {
            uri if has_colon_first(&uri) => format!("./{uri}"),
            uri => uri,
        },
    }
}
