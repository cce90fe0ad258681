//! `etui media`: music and pictures in folders.

mod cover;
mod folders;
mod list;
mod record;
mod scan;
mod stats;

use std::path::PathBuf;

use etui::store::Options;
use etui::{CollectionKind, Store};

use crate::app::App;
use crate::errors::{Failure, Result};

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

NUMBER is in the first column of lists. The library is in a file of its own, media.etui beside the
store; --store PATH or ETUI_MEDIA_STORE names another. Files are only read, never changed.";

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
    Play(record::PlayArgs),
    /// Undo the latest rating, favourite or play of a track or picture
    Undo(record::UndoArgs),
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
        MediaCommand::Play(args) => record::count_play(app, args),
        MediaCommand::Undo(args) => record::undo(app, args),
        MediaCommand::Folders(args) => folders::list_folders(app, args),
        MediaCommand::Problems(_) => folders::list_problems(app),
        MediaCommand::Stats(_) => stats::show_stats(app),
    }
}

/// Returns the path of the library's store.
fn store_path(app: &App) -> Result<PathBuf> {
    let beside = |path: PathBuf| path.with_file_name("media.etui");
    app.given_store()
        .or_else(|| {
            std::env::var_os("ETUI_MEDIA_STORE")
                .filter(|v| !v.is_empty())
                .map(PathBuf::from)
        })
        .or_else(|| Store::default_path().map(beside))
        .ok_or_else(|| {
            Failure::usage(
                "there is no home directory to find the library in; \
                 set --store PATH or ETUI_MEDIA_STORE",
            )
        })
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
