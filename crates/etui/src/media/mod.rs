//! The media library: music and pictures in folders, known by a scan.
//!
//! ```no_run
//! use std::ops::ControlFlow;
//! use etui::{Store, media::ScanOptions};
//!
//! let store = Store::open("media.etui")?;
//! let media = store.media()?;
//! let report = media.scan(&["Music".into()], &ScanOptions::default(), &mut |_| {
//!     ControlFlow::Continue(())
//! })?;
//! println!("{} new, {} moved", report.added, report.moved);
//! let found = media.tracks().find(&"bowie low".parse()?)?;
//! println!("{}", found[0].summary.title);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Tracks, albums, artists, genres, pictures and days are records of collections like any other:
//! they have filters, queries, pages, views and change tokens. They come from files, so they are
//! not saved or removed by hand; plays, ratings and favourites are recorded with
//! [`Media::record_play`] and the like, and stay when a file is moved, renamed or retagged. So do
//! the entries of playlists ([`Media::playlist_tracks`]).

mod cover;
mod cover_thumbnails;
mod desktop;
mod files;
pub(crate) mod group;
mod history;
mod library;
mod membership;
pub(crate) mod picture;
pub(crate) mod playlist;
mod scan;
mod sound_tags;
mod tag_lines;
mod tag_values;
pub(crate) mod track;
mod user_data;

pub use cover::{Cover, CoverId, InvalidCoverId};
pub use cover_thumbnails::{CoverThumbnails, InvalidThumbnail};
pub use desktop::DesktopThumbnailState;
pub use group::{
    Album, AlbumKind, Artist, ArtistKind, Day, DayKind, Genre, GenreKind, Group, GroupColumn,
    GroupField, GroupFilter, GroupKind, GroupQuery, GroupRows, GroupSummary,
};
pub use history::Play;
pub use library::{Media, MediaRoot, MediaStats, Problem};
pub use picture::{
    Picture, PictureColumn, PictureField, PictureFilter, PictureQuery, PictureRows, PictureSummary,
};
pub use playlist::{Playlist, PlaylistImport, PlaylistTrack, PlaylistTrackState, UnmatchedEntry};
pub use scan::{FolderWatch, ScanOptions, ScanPhase, ScanProgress, ScanReport};
pub use tag_lines::text_values;
pub use track::{Track, TrackColumn, TrackField, TrackFilter, TrackQuery, TrackRows, TrackSummary};
pub use user_data::{Rating, RatingImport};

pub use crate::types::ThumbnailSize;
pub use etui_media::playlist as playlist_file;
pub use etui_media::{DesktopSize, DesktopThumbnail, DesktopThumbnails};
