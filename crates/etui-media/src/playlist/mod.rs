//! [`PlaylistFile`]: playlists of files, as M3U, M3U8, PLS and XSPF.
//!
//! ```text
//! bytes ── encoding ──┬── lines ── M3U, PLS
//!                     └── XML ──── XSPF            ──> entries: locations, title, artist, length
//! ```
//!
//! An entry says where a file was on the machine that wrote the list. [`local_paths`] returns the
//! paths that this can be here.

mod encoding;
mod location;
mod m3u;
mod pls;
mod xspf;

use std::io::{self, Write};
use std::path::Path;

pub use location::{is_remote, local_paths};

/// Bytes of a playlist file that is read.
pub const MAX_PLAYLIST: u64 = 32 << 20;
/// Entries of a playlist file that is read: a row each, in memory at once.
pub const MAX_ENTRIES: usize = 200_000;

/// The formats of playlist files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlaylistFormat {
    /// M3U and M3U8: lines of paths and URLs. It is written in UTF-8.
    M3u,
    /// PLS: `File1=` and so on. It is only read.
    Pls,
    /// XSPF version 1: XML (<https://xspf.org/spec>).
    Xspf,
}

impl PlaylistFormat {
    /// Returns the format of a file's extension: `m3u`, `m3u8`, `pls` or `xspf`.
    pub fn of_name(name: &str) -> Option<Self> {
        let (_, extension) = name.rsplit_once('.')?;
        let is = |other: &str| extension.eq_ignore_ascii_case(other);
        match extension {
            _ if is("m3u") || is("m3u8") => Some(Self::M3u),
            _ if is("pls") => Some(Self::Pls),
            _ if is("xspf") => Some(Self::Xspf),
            _ => None,
        }
    }
}

/// An entry of a playlist file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlaylistEntry {
    /// Its location, as bytes: names need not be UTF-8. Several are alternatives, the best first: an
    /// entry of XSPF can have several, and a line that is not UTF-8 is also read in its encoding.
    pub locations: Vec<Vec<u8>>,
    /// Its title; empty if unknown.
    pub title: String,
    /// Its artist; empty if unknown.
    pub artist: String,
    /// Its album; empty if unknown.
    pub album: String,
    /// Its length in seconds.
    pub seconds: Option<u32>,
    /// The line of the file that it is on, from 1.
    pub line: usize,
}

/// A playlist file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlaylistFile {
    /// Its title; empty if it has none.
    pub title: String,
    /// Its entries, in order.
    pub entries: Vec<PlaylistEntry>,
    /// Why the rest was not read, with its line; `None`: all was read.
    pub problem: Option<String>,
}

/// A file is not read as a playlist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoPlaylist {
    /// It is longer than [`MAX_PLAYLIST`].
    #[error("it has {0} bytes; a playlist has at most {MAX_PLAYLIST}")]
    TooLong(u64),
    /// It has more entries than [`MAX_ENTRIES`].
    #[error("line {0}: a playlist has at most {MAX_ENTRIES} entries")]
    TooManyEntries(usize),
    /// It is a binary file.
    #[error("it is no playlist: M3U, M3U8, PLS and XSPF are text")]
    Binary,
    /// It lists the pieces of a stream, not files.
    #[error("it lists the pieces of a stream (HLS), not files")]
    Stream,
    /// It is XML, but no XSPF.
    #[error("line {line}: it is XML, but no XSPF playlist: {reason}")]
    NotXspf {
        /// The line of the problem.
        line: usize,
        /// The problem.
        reason: String,
    },
}

/// Reads a playlist. The format is known by the content.
///
/// Lines of M3U and PLS that are not UTF-8 are read as `#EXTENC` says, else as Windows-1252.
///
/// # Errors
/// [`NoPlaylist`]: a file that is no playlist, or is beyond the limits. A damaged XSPF is read up to
/// the damage, and [`PlaylistFile::problem`] says so.
pub fn read_playlist(bytes: &[u8]) -> Result<PlaylistFile, NoPlaylist> {
    if bytes.len() as u64 > MAX_PLAYLIST {
        return Err(NoPlaylist::TooLong(bytes.len() as u64));
    }
    let text = encoding::Text::new(bytes)?;
    match text.start() {
        start if start.starts_with('<') => xspf::read(&text.decoded()),
        start if is_header(start, "[playlist]") => pls::read(&text),
        _ => m3u::read(&text),
    }
}

fn is_header(text: &str, header: &str) -> bool {
    let start = text.get(..header.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(header))
}

impl PlaylistFile {
    /// Writes the playlist as M3U8 or XSPF; PLS is written as M3U8. The first location of an entry is
    /// written: a path in `folder`, where the file will be, relative to it, others as they are.
    /// Entries without a location are left out of M3U8.
    ///
    /// # Errors
    /// Any error of `out`.
    pub fn write(
        &self,
        format: PlaylistFormat,
        folder: Option<&Path>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match format {
            PlaylistFormat::M3u | PlaylistFormat::Pls => m3u::write(self, folder, out),
            PlaylistFormat::Xspf => xspf::write(self, folder, out),
        }
    }
}

/// Returns a text on one line.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

/// Splits `Artist - Title`.
fn split_title(text: &str) -> (String, String) {
    match text.split_once(" - ") {
        Some((artist, title)) => (artist.trim().to_owned(), title.trim().to_owned()),
        None => (String::new(), text.trim().to_owned()),
    }
}

#[cfg(test)]
mod tests;
