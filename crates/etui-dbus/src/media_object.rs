//! `org.etui.Media1`: the media library.

// The macro `interface` takes the names of a reply's arguments for a tuple, not for an alias of one.
#![allow(clippy::type_complexity)]

use std::fs::OpenOptions;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use etui::media::{CoverId, Media, Rating, ThumbnailSize};
use etui::{CollectionKind, RecordId};
use zbus::message::Header;
use zbus::{Connection, OwnedObjectPath, interface};

use crate::collection::{ListCalls, QueryOptions, media_calls};
use crate::collection_object::{array_rows, check_array, into_file};
use crate::descriptor::{RowFile, sealed_file};
use crate::error::{ErrorKind, StoreError};
use crate::file_uri::file_uri;
use crate::options::{CallOptions, OptionArgument};
use crate::rows::{ArrayRows, RowTarget, WireRow, without_nul};
use crate::service::{Endpoint, Service};
use crate::view_opening::open_view;

/// Thumbnails of one call: with 256 KiB each at most, 1 GiB of memory.
const MAX_COVERS: usize = 4_096;
/// Ids of a call for files.
const MAX_URIS: usize = 10_000;
/// Results of each kind that a search returns if no limit is given.
const MAX_FOUND: u64 = 20;
/// Changes that `ChangesSince` returns at most if no limit is given.
const MAX_CHANGES: u64 = 8_192;

/// The kinds of media with their names on the wire.
const KINDS: [(&str, CollectionKind); 6] = [
    ("tracks", CollectionKind::Music),
    ("albums", CollectionKind::Albums),
    ("artists", CollectionKind::Artists),
    ("genres", CollectionKind::Genres),
    ("pictures", CollectionKind::Pictures),
    ("days", CollectionKind::Days),
];

/// A result of a search: kind, id, UID, name, detail, cover.
type WireFound = (String, u64, String, String, String, String);

/// The object of the media library.
#[derive(Clone)]
pub(crate) struct MediaObject {
    pub(crate) endpoint: Endpoint,
}

/// Parses the name of a kind of media.
fn parse_kind(name: &str) -> Result<CollectionKind, StoreError> {
    let found = KINDS.iter().find(|(known, _)| *known == name);
    found.map(|(_, kind)| *kind).ok_or_else(|| {
        let known = KINDS.map(|(known, _)| known).join(", ");
        let message = format!("no kind is named \"{name}\"; kinds are {known}");
        StoreError::new(ErrorKind::BadArgument, message)
    })
}

/// Parses the name of a kind that is rated.
fn parse_rated_kind(name: &str) -> Result<CollectionKind, StoreError> {
    match parse_kind(name)? {
        kind @ (CollectionKind::Music | CollectionKind::Pictures) => Ok(kind),
        _ => {
            let message = format!("{name} are not rated; tracks and pictures are");
            Err(StoreError::new(ErrorKind::BadArgument, message))
        }
    }
}

/// Parses the name of a size of thumbnails.
fn parse_size(name: &str) -> Result<ThumbnailSize, StoreError> {
    match name {
        "small" => Ok(ThumbnailSize::Small),
        "large" => Ok(ThumbnailSize::Large),
        _ => {
            let message = format!("no size is named \"{name}\"; there are small and large");
            Err(StoreError::new(ErrorKind::BadArgument, message))
        }
    }
}

fn record_id(id: u64) -> RecordId {
    RecordId(id.cast_signed())
}

/// Returns the calls on the media of a kind.
fn calls_of(media: &Media, kind: CollectionKind) -> Result<Arc<dyn ListCalls>, StoreError> {
    let calls = media_calls(media, kind);
    calls.ok_or_else(|| StoreError::new(ErrorKind::BadArgument, "this is no kind of media"))
}

impl MediaObject {
    /// Runs a call that reads the library.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Media, &Service) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let work = move |service: &Service| work(&service.store().media()?, service);
        self.endpoint.answer_on_worker(work).await
    }

    /// Runs a call that changes the library.
    pub(crate) async fn change(
        &self,
        what: &'static str,
        work: impl FnOnce(&Media) -> etui::Result<()> + Send + 'static,
    ) -> Result<(), StoreError> {
        let work = move |service: &Service| Ok(work(&service.store().media()?)?);
        self.endpoint.change(what, work).await
    }

    /// Answers a query for media of a kind.
    async fn list(
        &self,
        kind: CollectionKind,
        filter: String,
        options: OptionArgument,
    ) -> Result<(Vec<WireRow>, String, u64), StoreError> {
        let options = QueryOptions::parse(options)?;
        self.run(move |media, service| {
            let mut target = RowTarget::Array(ArrayRows::default());
            let calls = calls_of(media, kind)?;
            let end = calls.run_query(service.store(), &filter, options, &mut target)?;
            Ok((array_rows(target), end.next, end.count))
        })
        .await
    }
}

#[interface(name = "org.etui.Media1")]
impl MediaObject {
    /// Returns the tracks that match a filter; an empty one selects all. Options as for
    /// Collection1.Query: `columns as`, `sort s`, `limit t`, `offset t`, `after s`, `count b`. The
    /// tracks of an album, in their order: `albumuid:UID`.
    #[zbus(out_args("rows", "next", "count"))]
    async fn tracks(
        &self,
        filter: String,
        options: OptionArgument,
    ) -> Result<(Vec<WireRow>, String, u64), StoreError> {
        self.list(CollectionKind::Music, filter, options).await
    }

    /// Returns the albums that match a filter. As Tracks.
    #[zbus(out_args("rows", "next", "count"))]
    async fn albums(
        &self,
        filter: String,
        options: OptionArgument,
    ) -> Result<(Vec<WireRow>, String, u64), StoreError> {
        self.list(CollectionKind::Albums, filter, options).await
    }

    /// Returns the artists that match a filter. As Tracks.
    #[zbus(out_args("rows", "next", "count"))]
    async fn artists(
        &self,
        filter: String,
        options: OptionArgument,
    ) -> Result<(Vec<WireRow>, String, u64), StoreError> {
        self.list(CollectionKind::Artists, filter, options).await
    }

    /// Returns the genres that match a filter. As Tracks.
    #[zbus(out_args("rows", "next", "count"))]
    async fn genres(
        &self,
        filter: String,
        options: OptionArgument,
    ) -> Result<(Vec<WireRow>, String, u64), StoreError> {
        self.list(CollectionKind::Genres, filter, options).await
    }

    /// Returns the pictures and videos that match a filter. As Tracks. Those of a day:
    /// `taken:2024-05-03`.
    #[zbus(out_args("rows", "next", "count"))]
    async fn pictures(
        &self,
        filter: String,
        options: OptionArgument,
    ) -> Result<(Vec<WireRow>, String, u64), StoreError> {
        self.list(CollectionKind::Pictures, filter, options).await
    }

    /// Returns the days with pictures. As Tracks; the name of a day is its date.
    #[zbus(out_args("rows", "next", "count"))]
    async fn days(
        &self,
        filter: String,
        options: OptionArgument,
    ) -> Result<(Vec<WireRow>, String, u64), StoreError> {
        self.list(CollectionKind::Days, filter, options).await
    }

    /// Answers a query for a kind (`tracks`, `albums`, `artists`, `genres`, `pictures`, `days`) as a
    /// descriptor. Options as for Collection1.QueryFd.
    #[zbus(out_args("file", "rows", "next"))]
    async fn query_fd(
        &self,
        kind: String,
        filter: String,
        options: OptionArgument,
    ) -> Result<(zbus::OwnedFd, u64, String), StoreError> {
        let kind = parse_kind(&kind)?;
        if options.contains_key("count") {
            return Err(StoreError::option("count", "is not known here"));
        }
        let options = QueryOptions::parse(options)?;
        self.run(move |media, service| {
            let calls = calls_of(media, kind)?;
            let (file, rows, end) =
                into_file(|target| calls.run_query(service.store(), &filter, options, target))?;
            Ok((file.into(), rows, end.next))
        })
        .await
    }

    /// Returns media of a kind by UID in the order asked for, and the UIDs that none has. No options.
    #[zbus(out_args("found", "missing"))]
    async fn get_many(
        &self,
        kind: String,
        uids: Vec<String>,
        columns: Vec<String>,
        options: OptionArgument,
    ) -> Result<(Vec<WireRow>, Vec<String>), StoreError> {
        let kind = parse_kind(&kind)?;
        CallOptions::expect_none(options)?;
        self.run(move |media, service| {
            let mut target = RowTarget::Array(ArrayRows::default());
            let calls = calls_of(media, kind)?;
            let missing = calls.read_records(service.store(), &uids, &columns, &mut target)?;
            Ok((array_rows(target), missing))
        })
        .await
    }

    /// Looks for a text in all kinds: kind, id, UID, name, detail (artist, or when a picture was taken)
    /// and cover of what matches; albums first, then artists, tracks and pictures. Options `limit t`:
    /// of each kind, 20 by default; `kinds as`: only these, in this order.
    #[zbus(out_args("found"))]
    async fn search(
        &self,
        text: String,
        options: OptionArgument,
    ) -> Result<Vec<WireFound>, StoreError> {
        let mut options = CallOptions::new(options);
        let limit = options.take_number("limit")?.unwrap_or(MAX_FOUND);
        let kinds = options.take_texts("kinds")?;
        options.finish()?;
        let kinds = kinds.unwrap_or_else(|| {
            let usual = ["albums", "artists", "tracks", "pictures"];
            usual.map(str::to_owned).to_vec()
        });
        self.run(move |media, service| {
            let mut found = Vec::new();
            for name in kinds {
                let kind = parse_kind(&name)?;
                let columns = match kind {
                    CollectionKind::Music => ["uid", "title", "artist", "cover"],
                    CollectionKind::Pictures => ["uid", "name", "taken", "cover"],
                    _ => ["uid", "name", "artist", "cover"],
                };
                let options = QueryOptions {
                    columns: Some(columns.map(str::to_owned).to_vec()),
                    sort: None,
                    limit,
                    offset: 0,
                    after: None,
                    count: false,
                    is_ranked: true,
                };
                let mut target = RowTarget::Array(ArrayRows::default());
                calls_of(media, kind)?.run_query(service.store(), &text, options, &mut target)?;
                found.extend(
                    array_rows(target)
                        .into_iter()
                        .filter_map(|(id, _, values)| {
                            let [uid, title, detail, cover] = values.try_into().ok()?;
                            Some((name.clone(), id, uid, title, detail, cover))
                        }),
                );
            }
            let size = |one: &WireFound| 64 + one.2.len() + one.3.len() + one.4.len();
            check_array(found.iter().map(size).sum())?;
            Ok(found)
        })
        .await
    }

    /// Returns the changes of a kind since a token. As Collection1.ChangesSince. Option `limit t`.
    #[zbus(out_args("changes", "token", "more"))]
    async fn changes_since(
        &self,
        kind: String,
        token: String,
        options: OptionArgument,
    ) -> Result<(Vec<(String, String, u64)>, String, bool), StoreError> {
        let kind = parse_kind(&kind)?;
        let mut options = CallOptions::new(options);
        let limit = options.take_number("limit")?.unwrap_or(MAX_CHANGES);
        options.finish()?;
        self.run(move |media, service| {
            let (changes, token, more) =
                calls_of(media, kind)?.changes_since(service.store(), &token, limit)?;
            let listed = changes.into_iter();
            let listed = listed.map(|(uid, change, id)| (uid, change.to_owned(), id));
            Ok((listed.collect(), token, more))
        })
        .await
    }

    /// Opens a view of a kind (org.etui.View1) of the caller's own. No options.
    #[zbus(out_args("view"))]
    async fn open_view(
        &self,
        kind: String,
        filter: String,
        options: OptionArgument,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Result<OwnedObjectPath, StoreError> {
        let kind = parse_kind(&kind)?;
        CallOptions::expect_none(options)?;
        let calls = self.run(move |media, _| calls_of(media, kind)).await?;
        open_view(&self.endpoint, calls, filter, &header, connection).await
    }

    /// Returns the `file://` URIs of tracks and pictures, by id; an empty text for one without a file.
    /// The file may be on a drive that is away. At most 10,000 in a call.
    #[zbus(out_args("uris"))]
    async fn uris(&self, ids: Vec<u64>) -> Result<Vec<String>, StoreError> {
        if ids.len() > MAX_URIS {
            let message = format!("{MAX_URIS} ids at most in a call");
            return Err(StoreError::new(ErrorKind::TooLarge, message));
        }
        self.run(move |media, _| {
            let mut uris = Vec::with_capacity(ids.len());
            let mut size = 0;
            for id in ids {
                let path = media.path(record_id(id))?;
                let uri = path.map(|path| file_uri(&path)).unwrap_or_default();
                size += uri.len() + 8;
                check_array(size)?;
                uris.push(uri);
            }
            Ok(uris)
        })
        .await
    }

    /// Returns the `file://` URIs of all files of a track or picture, by id: its own, then a raw picture beside it,
    /// the video of a live photo, and XMP sidecars. None for one without a file.
    #[zbus(out_args("uris"))]
    async fn files(&self, id: u64) -> Result<Vec<String>, StoreError> {
        self.run(move |media, _| {
            let paths = media.paths(record_id(id))?;
            Ok(paths.iter().map(|path| file_uri(path)).collect())
        })
        .await
    }

    /// Opens the file of a track or picture, by id, to be read. For programs that do not see the
    /// folder, such as those in a sandbox.
    #[zbus(out_args("file"))]
    async fn open(&self, id: u64) -> Result<zbus::OwnedFd, StoreError> {
        self.run(move |media, _| {
            let path = media.path(record_id(id))?.ok_or_else(|| {
                let message = format!("no track or picture has the id {id}");
                StoreError::new(ErrorKind::NotFound, message)
            })?;
            Ok(open_file(&path)?.into())
        })
        .await
    }

    /// Returns the thumbnail of a track, album, artist, picture or day, by id, as a sealed
    /// descriptor, and its media type. `size`: `small` (at most 128 pixels wide and high) or `large`
    /// (256).
    #[zbus(out_args("file", "type"))]
    async fn cover(&self, id: u64, size: String) -> Result<(zbus::OwnedFd, String), StoreError> {
        let size = parse_size(&size)?;
        self.run(move |media, _| {
            let cover = media.cover_of(record_id(id))?;
            let bytes = match cover {
                Some(cover) => media.thumbnail(cover, size)?,
                None => None,
            };
            let bytes = bytes.ok_or_else(|| {
                let message = format!("there is nothing with the id {id} and a cover");
                StoreError::new(ErrorKind::NotFound, message)
            })?;
            Ok((sealed_file(&bytes)?.into(), "image/jpeg".to_owned()))
        })
        .await
    }

    /// Returns many thumbnails, by the ids in the column `cover`, as one descriptor: for each, in this
    /// order, a row with its JPEG file, which is empty if there is no such cover. At most 4,096 in a
    /// call.
    #[zbus(out_args("file", "rows"))]
    async fn covers(
        &self,
        covers: Vec<String>,
        size: String,
    ) -> Result<(zbus::OwnedFd, u64), StoreError> {
        let size = parse_size(&size)?;
        if covers.len() > MAX_COVERS {
            let message = format!("{MAX_COVERS} covers at most in a call");
            return Err(StoreError::new(ErrorKind::TooLarge, message));
        }
        self.run(move |media, _| {
            let ids = covers.iter().map(|id| id.parse::<CoverId>().ok());
            let (mut file, mut written) = (RowFile::new()?, Ok(()));
            media.each_thumbnail(size, ids, |bytes| {
                let pushed = file.push_row(0, [bytes.unwrap_or_default()].iter());
                if written.is_ok() {
                    written = pushed;
                }
            })?;
            written?;
            let (file, rows) = file.finish()?;
            Ok((file.into(), rows))
        })
        .await
    }

    /// Counts a play of a track. `at`: when, in seconds since 1970; 0 is now.
    async fn record_play(&self, uid: String, at: i64) -> Result<(), StoreError> {
        let at = match u64::try_from(at) {
            Ok(0) => Some(SystemTime::now()),
            Ok(seconds) => SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds)),
            Err(_) => None,
        };
        let at = at.ok_or_else(|| {
            let message = "a time is in seconds since 1970, or 0 for now";
            StoreError::new(ErrorKind::BadArgument, message)
        })?;
        self.change("RecordPlay", move |media| media.record_play(&uid, at))
            .await
    }

    /// Rates a track or picture (`kind`: `tracks` or `pictures`) with 1 to 5 stars; 0 takes the rating
    /// back.
    async fn set_rating(&self, kind: String, uid: String, stars: u32) -> Result<(), StoreError> {
        let kind = parse_rated_kind(&kind)?;
        let rating = u8::try_from(stars).ok().and_then(Rating::new);
        if rating.is_none() && stars != 0 {
            let message = format!("{stars} stars are no rating; there are 1 to 5, and 0 for none");
            return Err(StoreError::new(ErrorKind::BadArgument, message));
        }
        self.change("SetRating", move |media| {
            media.set_rating(kind, &uid, rating)
        })
        .await
    }

    /// Makes a track or picture a favourite, or not.
    async fn set_favourite(
        &self,
        kind: String,
        uid: String,
        favourite: bool,
    ) -> Result<(), StoreError> {
        let kind = parse_rated_kind(&kind)?;
        let set = move |media: &Media| media.set_favourite(kind, &uid, favourite);
        self.change("SetFavourite", set).await
    }

    /// Returns the folders of the library as `file://` URIs, each with whether it is away: a drive that
    /// is not connected. `etui media scan` adds folders and reads them again.
    #[zbus(out_args("folders"))]
    async fn folders(&self) -> Result<Vec<(String, bool)>, StoreError> {
        self.run(|media, _| {
            let roots = media.roots()?.into_iter();
            let listed: Vec<_> = roots
                .map(|root| (file_uri(&root.path), root.is_away))
                .collect();
            check_array(listed.iter().map(|one| 16 + one.0.len()).sum())?;
            Ok(listed)
        })
        .await
    }
}

/// Opens a file of the library to be read.
fn open_file(path: &Path) -> Result<OwnedFd, StoreError> {
    let failed = |reason: String| {
        let message = format!("{}: {reason}", path.display());
        StoreError::new(ErrorKind::NotFound, without_nul(message.into()))
    };
    let mut options = OpenOptions::new();
    // A pipe in the place of the file must not block the call.
    options
        .read(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    let file = options.open(path).map_err(|e| failed(e.to_string()))?;
    match file.metadata() {
        Ok(metadata) if metadata.is_file() => Ok(file.into()),
        Ok(_) => Err(failed("is no file any more; scan its folder".to_owned())),
        Err(error) => Err(failed(error.to_string())),
    }
}
