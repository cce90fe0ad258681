//! `etui media`: music and pictures in folders.

mod cover;
mod folders;
mod history;
mod list;
mod playlist;
mod record;
mod scan;
mod stats;

use std::path::{Path, PathBuf};

use etui::media::Track;
use etui::store::Options;
use etui::{CollectionKind, Store};
use etui_program::{App, Failure, Result};

const EXAMPLES: &str = "\
Examples:
  etui media scan ~/Music ~/Pictures       find what is new, moved or gone
  etui media scan                          the same folders again
  etui media albums                        all albums by artist
  etui media albums low                    albums named so
  etui media find bowie low                tracks, albums, artists and pictures at once
  etui media tracks genre:rock year:1970..1979 length:>5:00
  etui media pictures taken:2024-05
  etui media show 17                       what is known of a track or album
  etui media cover 17 -o cover.jpg         its cover, 256 pixels
  etui media rate 17 5
  etui media playlist import old.m3u       a playlist; etui media playlist --help has the rest

NUMBER is in the first column of lists. The library is in a file of its own, media.etui beside the
store; --store PATH, ETUI_MEDIA_STORE or ETUI_STORE names another, but a store of contacts and calendars that
ETUI_STORE names stays one: the library is beside it then. Files are only read, never changed.";

/// Find music and pictures in folders, and list them
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct MediaArgs {
    #[command(subcommand)]
    command: MediaCommand,
}

#[derive(Debug, clap::Subcommand)]
enum MediaCommand {
    /// Scan folders for new, changed, moved and lost files
    Scan(scan::ScanArgs),
    /// List albums
    Albums(list::ListArgs),
    /// List artists
    Artists(list::ListArgs),
    /// List genres
    Genres(list::ListArgs),
    /// List tracks
    Tracks(list::ListArgs),
    /// List pictures and videos, by the time they were taken
    Pictures(list::ListArgs),
    /// List days with pictures
    Days(list::ListArgs),
    /// Search tracks, albums, artists and pictures
    Find(list::FindArgs),
    /// Show a track, album, artist, picture or day
    Show(record::ShowArgs),
    /// Write the cover or thumbnail of a track, album or picture
    Cover(cover::CoverArgs),
    /// Rate a track or picture, one to five stars; 0 takes the rating back
    Rate(record::RateArgs),
    /// Make a track or picture a favourite
    Favourite(record::FavouriteArgs),
    /// Count a play of a track
    Play(history::PlayArgs),
    /// List the latest plays
    History(history::HistoryArgs),
    /// Undo the latest rating, favourite or play of a track or picture
    Undo(record::UndoArgs),
    /// Make, show, read and write playlists
    Playlist(playlist::PlaylistArgs),
    /// List the folders of the library
    Folders(folders::FoldersArgs),
    /// List files that could not be read, and why
    Problems(folders::ProblemsArgs),
    /// Show counts and sizes
    Stats(stats::StatsArgs),
}

pub fn run_command(app: &mut App, args: &MediaArgs) -> Result<()> {
    match &args.command {
        MediaCommand::Scan(args) => scan::scan_folders(app, args),
        MediaCommand::Albums(args) => list::list_kind(app, CollectionKind::Albums, args),
        MediaCommand::Artists(args) => list::list_kind(app, CollectionKind::Artists, args),
        MediaCommand::Genres(args) => list::list_kind(app, CollectionKind::Genres, args),
        MediaCommand::Tracks(args) => list::list_kind(app, CollectionKind::Music, args),
        MediaCommand::Pictures(args) => list::list_kind(app, CollectionKind::Pictures, args),
        MediaCommand::Days(args) => list::list_kind(app, CollectionKind::Days, args),
        MediaCommand::Find(args) => list::find_all(app, args),
        MediaCommand::Show(args) => record::show_record(app, args),
        MediaCommand::Cover(args) => cover::write_cover(app, args),
        MediaCommand::Rate(args) => record::rate(app, args),
        MediaCommand::Favourite(args) => record::set_favourite(app, args),
        MediaCommand::Play(args) => history::count_play(app, args),
        MediaCommand::History(args) => history::list_history(app, args),
        MediaCommand::Undo(args) => record::undo(app, args),
        MediaCommand::Playlist(args) => playlist::run_playlist(app, args),
        MediaCommand::Folders(args) => folders::list_folders(app, args),
        MediaCommand::Problems(_) => folders::list_problems(app),
        MediaCommand::Stats(_) => stats::show_stats(app),
    }
}

/// Returns the path of the library's store.
fn store_path(app: &App) -> Result<PathBuf> {
    if let Some(given) = app
        .given_store()
        .or_else(|| set_variable("ETUI_MEDIA_STORE"))
    {
        return Ok(given);
    }
    let beside = |path: &Path| path.with_file_name("media.etui");
    match set_variable("ETUI_STORE") {
        // That of contacts and calendars stays one.
        Some(path) if path.exists() && !is_library(app, &path)? => Ok(beside(&path)),
        Some(path) => Ok(path),
        None => Ok(beside(&app.store_path()?)),
    }
}

fn set_variable(name: &str) -> Option<PathBuf> {
    let value = std::env::var_os(name).filter(|value| !value.is_empty());
    value.map(PathBuf::from)
}

/// Returns true if a store has music or pictures.
fn is_library(app: &App, path: &Path) -> Result<bool> {
    let store = Store::open_with(path, &app.store_options())?;
    let is_library = !store.collections::<Track>().names()?.is_empty();
    store.close()?;
    Ok(is_library)
}

/// Opens the library's store, which a scan makes.
fn open_store(app: &App) -> Result<Store> {
    let path = store_path(app)?;
    if !path.exists() {
        return Err(Failure::NotFound(
            "there is no media library yet; make one: etui media scan ~/Music".to_owned(),
        ));
    }
    Ok(Store::open_with(&path, &app.store_options())?)
}

/// Opens the library's store, or creates it together with its directory.
fn open_or_create(app: &App, options: Options) -> Result<Store> {
    app.create_at(&store_path(app)?, options)
}

/// Minutes and seconds, `3:05`, or hours, `1:02:03`.
fn format_length(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        hours => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}
