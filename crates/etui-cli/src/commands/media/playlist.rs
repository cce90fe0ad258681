//! `etui media playlist`.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use etui::media::playlist_file::{MAX_PLAYLIST, NoPlaylist, PlaylistFormat, read_playlist};
use etui::media::{
    Media, Playlist, PlaylistImport, PlaylistTrack, PlaylistTrackState, TrackFilter, TrackQuery,
};
use etui::search::query::Columns;
use etui::{CollectionKind, Error, RecordId};
use etui_program::output::{Table, escape_text, object, one_line, pluralize, quote_operand};
use etui_program::{App, Failure, Result};
use serde_json::Value;

use super::record::AnyRecord;
use super::{format_length, open_store};
use crate::commands::export_target::{ExportTarget, write_failure};

const EXAMPLES: &str = "\
Examples:
  etui media playlist new Morning
  etui media playlist add Morning 17 4           track 17, then the tracks of album 4
  etui media playlist show Morning
  etui media playlist move Morning 5 1           the fifth entry to the front
  etui media playlist remove Morning 2 7-9
  etui media playlist new Best --filter 'rating:>=4 year:<1980'
  etui media playlist import old.m3u --name Old
  etui media playlist export Morning -o morning.m3u8

NUMBER is that of a track or album in the first column of lists. PLACE is that of an entry in `show`,
from 1. Entries stay when files are moved, renamed or retagged; one whose file is gone stays with its
name, and is found again when the file comes back.";

/// Make, show, read and write playlists
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct PlaylistArgs {
    #[command(subcommand)]
    command: PlaylistCommand,
}

#[derive(Debug, clap::Subcommand)]
enum PlaylistCommand {
    /// List playlists
    List,
    /// Show the entries of a playlist
    Show {
        /// Its name
        name: String,
    },
    /// Make an empty playlist, or a saved filter
    New {
        /// Its name
        name: String,
        /// Make it the tracks that match, looked for whenever it is read
        #[arg(long, value_name = "FILTER")]
        filter: Option<String>,
    },
    /// Add tracks and albums to a playlist
    Add(AddArgs),
    /// Remove entries from a playlist; the tracks stay
    Remove {
        /// Name of the playlist
        name: String,
        /// Places of the entries, or ranges: 2 7-9
        #[arg(value_name = "PLACE", required = true, value_parser = parse_places)]
        places: Vec<Places>,
    },
    /// Move entries of a playlist
    Move {
        /// Name of the playlist
        name: String,
        /// Place of the entry, or a range: 7-9
        #[arg(value_name = "PLACE", value_parser = parse_places)]
        from: Places,
        /// Place that the first of them has afterwards
        #[arg(value_name = "TO")]
        to: std::num::NonZeroUsize,
    },
    /// Rename a playlist
    Rename {
        /// Its name
        name: String,
        /// Its new name
        new_name: String,
    },
    /// Delete a playlist for good; its tracks stay
    Delete {
        /// Its name
        name: String,
        /// Delete it without asking, although it has entries
        #[arg(long)]
        yes: bool,
    },
    /// Make a playlist of an M3U, M3U8, PLS or XSPF file
    Import(ImportArgs),
    /// Write a playlist as M3U8 or XSPF
    Export(ExportArgs),
}

#[derive(Debug, clap::Args)]
struct AddArgs {
    /// Name of the playlist
    name: String,
    /// Numbers of tracks and albums in the first column of lists
    #[arg(value_name = "NUMBER", required_unless_present = "filter")]
    numbers: Vec<i64>,
    /// Also the tracks that match now
    #[arg(long, value_name = "FILTER")]
    filter: Option<String>,
    /// Insert them at this place [default: at the end]
    #[arg(long, value_name = "PLACE")]
    at: Option<std::num::NonZeroUsize>,
}

#[derive(Debug, clap::Args)]
struct ImportArgs {
    /// The file
    file: PathBuf,
    /// Name of the playlist [default: the title in the file, else the file's name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Replace a playlist of this name
    #[arg(long)]
    replace: bool,
}

#[derive(Debug, clap::Args)]
struct ExportArgs {
    /// Name of the playlist
    name: String,
    /// Output file [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Format [default: that of the output file's ending, else m3u8]
    #[arg(long, value_name = "FORMAT", value_parser = ["m3u8", "xspf"])]
    format: Option<String>,
    /// Write whole paths, also of files beside or below the output file
    #[arg(long)]
    absolute: bool,
    /// Replace an existing file
    #[arg(long, short)]
    force: bool,
}

/// Places of entries, from 1 as they are shown.
#[derive(Debug, Clone)]
struct Places {
    first: usize,
    last: usize,
}

fn parse_places(text: &str) -> std::result::Result<Places, String> {
    let number = |text: &str| text.trim().parse::<usize>().ok().filter(|n| *n > 0);
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => Ok(Places { first, last }),
        _ => Err("write a place from 1, or a range such as 7-9".to_owned()),
    }
}

pub fn run_playlist(app: &mut App, args: &PlaylistArgs) -> Result<()> {
    let store = open_store(app)?;
    let media = store.media()?;
    match &args.command {
        PlaylistCommand::List => list_playlists(app, &media)?,
        PlaylistCommand::Show { name } => show_tracks(app, &media, name)?,
        PlaylistCommand::New { name, filter } => {
            media.create_playlist(name, filter.as_deref())?;
            let object = object! { name: name, filter: filter.as_deref() };
            app.out.report(&object, format!("Made {}.", quoted(name)))?;
        }
        PlaylistCommand::Add(args) => add_tracks(app, &media, args)?,
        PlaylistCommand::Remove { name, places } => {
            let all = media.playlist_tracks(name)?.len();
            let mut positions = Vec::new();
            for places in places {
                // The one beyond the end is named in the error.
                positions.extend(places.first - 1..places.last.min(all.saturating_add(1)));
                if places.first > all {
                    positions.push(places.first - 1);
                }
            }
            positions.sort_unstable();
            positions.dedup();
            media.remove_from_playlist(name, &positions)?;
            let text = format!("Removed {}.", pluralize(positions.len() as u64, "entry"));
            app.out
                .report(&object! { removed: positions.len() }, text)?;
        }
        PlaylistCommand::Move { name, from, to } => {
            media.move_in_playlist(name, from.first - 1..from.last, to.get() - 1)?;
            app.out.status("Moved.")?;
        }
        PlaylistCommand::Rename { name, new_name } => {
            media.rename_playlist(name, new_name)?;
            app.out.status(format!("It is {} now.", quoted(new_name)))?;
        }
        PlaylistCommand::Delete { name, yes } => delete_playlist(app, &media, name, *yes)?,
        PlaylistCommand::Import(args) => import_file(app, &media, args)?,
        PlaylistCommand::Export(args) => export_file(app, &media, args)?,
    }
    drop(media);
    store.close()?;
    Ok(())
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", one_line(name))
}

fn list_playlists(app: &mut App, media: &Media) -> Result<()> {
    let lists = media.playlists()?;
    if lists.is_empty() && !app.out.json {
        return app.out.status(
            "There are no playlists yet; make one: etui media playlist new NAME, or import FILE",
        );
    }
    let mut table = Table::with_number_column(&["Name", "Entries", "Filter"], None);
    for list in &lists {
        let filter = list.filter.as_deref().unwrap_or_default();
        table.add_row([list.name.as_str(), &list.entries.to_string(), filter]);
    }
    app.out.write_table(&table, &lists, |out, list: &Playlist| {
        out.write_json(&object! {
            name: &list.name,
            entries: list.entries,
            filter: list.filter.as_deref(),
        })
    })
}

fn state_text(state: PlaylistTrackState) -> &'static str {
    match state {
        PlaylistTrackState::Here => "",
        PlaylistTrackState::Away => "not connected",
        PlaylistTrackState::Stream => "stream",
        _ => "missing",
    }
}

fn show_tracks(app: &mut App, media: &Media, name: &str) -> Result<()> {
    let tracks = media.playlist_tracks(name)?;
    if tracks.is_empty() && !app.out.json {
        return app.out.status(format!("{} has no entries.", quoted(name)));
    }
    let mut table = Table::new(&["Place", "#", "Title", "Artist", "Album", "Length", "State"]);
    for (at, track) in tracks.iter().enumerate() {
        let seconds = track.seconds.map(|seconds| format_length(seconds.into()));
        table.add_row([
            (at + 1).to_string().as_str(),
            &track.id.map_or_else(String::new, |id| id.to_string()),
            &track.title,
            &track.artist,
            &track.album,
            &seconds.unwrap_or_default(),
            state_text(track.state),
        ]);
    }
    let mut place = 0;
    app.out
        .write_table(&table, &tracks, |out, track: &PlaylistTrack| {
            place += 1;
            out.write_json(&track_json(place, track))
        })?;
    let missing = tracks
        .iter()
        .filter(|track| track.state == PlaylistTrackState::Missing);
    let missing = missing.count() as u64;
    if missing > 0 && !app.out.json {
        app.out.write_note(&format!(
            "{} missing: found again when a scan finds the file",
            match missing {
                1 => "1 entry is".to_owned(),
                n => format!("{} are", pluralize(n, "entry")),
            }
        ));
    }
    Ok(())
}

fn track_json(place: u64, track: &PlaylistTrack) -> impl serde::Serialize {
    let state = match track.state {
        PlaylistTrackState::Here => "here",
        PlaylistTrackState::Away => "away",
        PlaylistTrackState::Stream => "stream",
        _ => "missing",
    };
    let location = track.location.display().to_string();
    object! {
        place: place,
        id: track.id.map(|id| id.0),
        uid: track.uid.as_deref(),
        title: &track.title,
        artist: &track.artist,
        album: &track.album,
        length: track.seconds,
        state: state,
        location: Some(location).filter(|location| !location.is_empty()),
    }
}

fn add_tracks(app: &mut App, media: &Media, args: &AddArgs) -> Result<()> {
    let mut tracks = Vec::new();
    for number in &args.numbers {
        let record = AnyRecord::find(media, *number)?;
        match record.kind {
            CollectionKind::Music => tracks.push(record.id),
            CollectionKind::Albums => {
                tracks.extend(matching(media, &format!("albumuid:{}", record.uid))?);
            }
            _ => {
                return Err(Failure::usage(format!(
                    "number {number} is neither a track nor an album; only these are added"
                )));
            }
        }
    }
    if let Some(filter) = &args.filter {
        tracks.extend(matching(media, filter)?);
    }
    let at = args.at.map(|at| at.get() - 1);
    media.add_to_playlist(&args.name, &tracks, at)?;
    let text = format!("Added {}.", pluralize(tracks.len() as u64, "track"));
    app.out.report(&object! { added: tracks.len() }, text)
}

fn matching(media: &Media, filter: &str) -> Result<Vec<RecordId>> {
    let filter: TrackFilter = filter.parse().map_err(Error::Filter)?;
    let rows = media
        .tracks()
        .query(&TrackQuery::new(filter).columns(Columns::NONE))?;
    Ok(rows.iter().map(|row| row.id()).collect())
}

fn delete_playlist(app: &mut App, media: &Media, name: &str, is_confirmed: bool) -> Result<()> {
    let lists = media.playlists()?;
    let list = lists.into_iter().find(|list| list.name == name);
    let list = list.ok_or_else(|| Error::NoPlaylist(name.to_owned()))?;
    if !is_confirmed && list.filter.is_none() && list.entries > 0 {
        let what = format!("{} has {}", quoted(name), pluralize(list.entries, "entry"));
        if !app.out.is_interactive() {
            return Err(Failure::usage(format!(
                "{what}; add --yes to delete it for good, or keep a copy first: \
                 etui media playlist export {} -o FILE",
                quote_operand(name)
            )));
        }
        if !app
            .out
            .ask_yes_no(&format!("{what}. Delete it for good?"))?
        {
            return app.out.status("Nothing was deleted.");
        }
    }
    media.delete_playlist(name)?;
    app.out.status(format!("Deleted {}.", quoted(name)))
}

fn import_file(app: &mut App, media: &Media, args: &ImportArgs) -> Result<()> {
    let path = &args.file;
    let failed = |e| Failure::io(path, e);
    let refused = |reason: NoPlaylist| {
        Failure::Refused(format!(
            "{}: {reason}",
            escape_text(&path.display().to_string())
        ))
    };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    let read = file.take(MAX_PLAYLIST + 1).read_to_end(&mut bytes);
    read.map_err(failed)?;
    let list = read_playlist(&bytes).map_err(refused)?;
    // The folder of the file that a link names has the tracks.
    let real = path.canonicalize().map_err(failed)?;
    let folder = real.parent().unwrap_or(Path::new("/"));
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = match &args.name {
        Some(name) => name.clone(),
        None if list.title.trim().is_empty() => one_line(stem.trim()).into_owned(),
        None => list.title.split_whitespace().collect::<Vec<_>>().join(" "),
    };
    let report = media
        .import_playlist(&name, &list, folder, args.replace)
        .map_err(|error| match error {
            Error::PlaylistExists(_) => Failure::Exists(format!(
                "a playlist named {} exists already; choose another name with --name, or --replace it",
                quoted(&name)
            )),
            other => Failure::Library(other),
        })?;
    if let Some(problem) = &list.problem {
        app.out.write_note(&format!(
            "{}: {}; the rest was not read",
            escape_text(&path.display().to_string()),
            escape_text(problem)
        ));
    }
    write_import_report(app, &name, list.entries.len() as u64, &report)
}

fn write_import_report(
    app: &mut App,
    name: &str,
    entries: u64,
    report: &PlaylistImport,
) -> Result<()> {
    if app.out.json {
        let unmatched: Vec<Value> = report
            .unmatched
            .iter()
            .map(|entry| {
                serde_json::json!({
                    "line": entry.line,
                    "location": entry.location.display().to_string(),
                    "title": entry.title,
                    "artist": entry.artist,
                })
            })
            .collect();
        return app.out.write_json(&object! {
            name: name,
            entries: entries,
            tracks: report.tracks,
            streams: report.streams,
            unmatched: unmatched,
        });
    }
    for entry in &report.unmatched {
        let location = entry.location.display().to_string();
        let dash = if entry.artist.is_empty() { "" } else { " - " };
        let named = format!("{}{dash}{}", entry.artist, entry.title);
        let text = if location.is_empty() {
            &named
        } else {
            &location
        };
        app.out.write_note(&format!(
            "line {}: not in the library: {}",
            entry.line,
            one_line(text)
        ));
    }
    let mut text = format!("{}: {}", quoted(name), pluralize(report.tracks, "track"));
    if report.streams > 0 {
        text.push_str(&format!(", {}", pluralize(report.streams, "stream")));
    }
    match report.unmatched.len() {
        0 => {}
        n => text.push_str(&format!(
            ", {} not in the library: kept, and found when a scan finds the file",
            pluralize(n as u64, "entry")
        )),
    }
    app.out.status(text)
}

fn export_file(app: &mut App, media: &Media, args: &ExportArgs) -> Result<()> {
    let list = media.playlist_file(&args.name)?;
    let output = args.output.as_deref();
    let by_name = output.and_then(|path| PlaylistFormat::of_name(&path.to_string_lossy()));
    let format = match args.format.as_deref() {
        Some("xspf") => PlaylistFormat::Xspf,
        Some(_) => PlaylistFormat::M3u,
        None if by_name == Some(PlaylistFormat::Pls) => {
            return Err(Failure::usage("PLS is only read; write .m3u8 or .xspf"));
        }
        None => by_name.unwrap_or(PlaylistFormat::M3u),
    };
    let unnamed = list
        .entries
        .iter()
        .filter(|entry| entry.locations.is_empty())
        .count();
    let folder = output.filter(|_| !args.absolute).and_then(folder_of);
    let mut target = ExportTarget::open(&mut app.out, output, args.force)?;
    list.write(format, folder.as_deref(), &mut target)
        .map_err(|e| write_failure(output, e))?;
    target.commit()?;
    if unnamed > 0 && format != PlaylistFormat::Xspf {
        app.out.write_note(&format!(
            "{} without a known file left out; XSPF can have them",
            pluralize(unnamed as u64, "entry")
        ));
    }
    match output {
        Some(path) => app.out.status(format!(
            "{}: {}",
            escape_text(&path.display().to_string()),
            pluralize(list.entries.len() as u64, "entry")
        )),
        None => Ok(()),
    }
}

/// Returns the absolute path of a file's folder.
fn folder_of(path: &Path) -> Option<PathBuf> {
    let folder = path.parent()?;
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    folder.canonicalize().ok()
}
