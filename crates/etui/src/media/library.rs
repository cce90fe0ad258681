//! [`Media`]: the handle to the media library of a store.

use std::path::PathBuf;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension};

use super::cover::{self, Cover, CoverId};
use super::files::{self, FileState};
use super::group::{Album, Artist, Day, Genre, GroupVotes};
use super::picture::Picture;
use super::tag_lines::TagLines;
use super::track::Track;
use crate::db::Db;
use crate::error::{Error, Result};
use crate::record::collection_table::{self, CollectionRef};
use crate::record::{Collection, RecordKind};
use crate::store::Store;
use crate::types::{CollectionKind, RecordId, ThumbnailSize};

const SCHEMA: &str = include_str!("schema.sql");

/// The media library of a store: its tracks, albums, artists, genres, pictures and days, the
/// folders they come from, and their covers.
#[derive(Clone)]
pub struct Media {
    pub(super) db: Arc<Db>,
    collections: MediaCollections,
}

#[derive(Clone)]
struct MediaCollections {
    music: CollectionRef,
    albums: CollectionRef,
    artists: CollectionRef,
    genres: CollectionRef,
    pictures: CollectionRef,
    days: CollectionRef,
}

impl MediaCollections {
    fn find(conn: &Connection) -> Result<Self> {
        let find = |kind| collection_table::find_collection(conn, kind, None);
        Ok(Self {
            music: find(CollectionKind::Music)?,
            albums: find(CollectionKind::Albums)?,
            artists: find(CollectionKind::Artists)?,
            genres: find(CollectionKind::Genres)?,
            pictures: find(CollectionKind::Pictures)?,
            days: find(CollectionKind::Days)?,
        })
    }

    fn of(&self, kind: CollectionKind) -> &CollectionRef {
        match kind {
            CollectionKind::Albums => &self.albums,
            CollectionKind::Artists => &self.artists,
            CollectionKind::Genres => &self.genres,
            CollectionKind::Pictures => &self.pictures,
            CollectionKind::Days => &self.days,
            _ => &self.music,
        }
    }
}

/// A folder that is scanned.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MediaRoot {
    /// Its path.
    pub path: PathBuf,
    /// It was not there at the last scan: a drive that is not connected. Its records stay.
    pub is_away: bool,
}

/// A file that could not be read, or not in full.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
    /// True if nothing of it is in the library.
    pub is_refused: bool,
}

/// Counts of a media library.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MediaStats {
    /// Live records of each kind: music, albums, artists, genres, pictures, days.
    pub records: Vec<(CollectionKind, u64)>,
    /// Files that are known.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files that could not be read, or not in full.
    pub problems: u64,
    /// Different covers and pictures with thumbnails.
    pub covers: u64,
    /// Bytes of their thumbnails.
    pub thumbnail_bytes: u64,
}

impl Store {
    /// Returns the media library. It is created at the first use of a store that can be written.
    ///
    /// # Errors
    /// Any read or write error; [`Error::NoCollection`] in a read-only store without one.
    pub fn media(&self) -> Result<Media> {
        Media::open(Arc::clone(&self.db))
    }
}

impl Media {
    fn open(db: Arc<Db>) -> Result<Self> {
        let found = db.read_transaction(MediaCollections::find);
        let collections = match found {
            Err(Error::NoCollection { .. }) if !db.is_read_only() => db.write(|conn| {
                conn.execute_batch(SCHEMA)?;
                for kind in CollectionKind::MEDIA {
                    if collection_table::find_collection(conn, kind, None).is_err() {
                        let name = kind.default_name();
                        collection_table::create_collection(conn, kind, name)?;
                    }
                }
                MediaCollections::find(conn)
            })?,
            found => found?,
        };
        Ok(Self { db, collections })
    }

    /// Returns the id of a collection.
    pub(super) fn collection_id(&self, kind: CollectionKind) -> i64 {
        self.collections.of(kind).id
    }

    fn collection<R: RecordKind>(&self) -> Collection<R> {
        Collection::new(&self.db, self.collections.of(R::KIND).clone())
    }

    /// Returns the tracks.
    pub fn tracks(&self) -> Collection<Track> {
        self.collection()
    }

    /// Returns the albums.
    pub fn albums(&self) -> Collection<Album> {
        self.collection()
    }

    /// Returns the artists and album artists.
    pub fn artists(&self) -> Collection<Artist> {
        self.collection()
    }

    /// Returns the genres.
    pub fn genres(&self) -> Collection<Genre> {
        self.collection()
    }

    /// Returns the pictures and videos.
    pub fn pictures(&self) -> Collection<Picture> {
        self.collection()
    }

    /// Returns the days with pictures.
    pub fn days(&self) -> Collection<Day> {
        self.collection()
    }

    /// Returns the folders that are scanned.
    ///
    /// # Errors
    /// Any read error.
    pub fn roots(&self) -> Result<Vec<MediaRoot>> {
        let roots = self.db.read(files::read_roots)?;
        let roots = roots.into_iter().map(|root| MediaRoot {
            path: root.path,
            is_away: root.is_away,
        });
        Ok(roots.collect())
    }

    /// Returns the path of a track's or picture's file; `None` if it has none, as in the trash.
    /// The file may be on a drive that is away.
    ///
    /// # Errors
    /// Any read error.
    pub fn path(&self, id: RecordId) -> Result<Option<PathBuf>> {
        let read = |conn: &Connection| self.paths_in(conn, id, false);
        Ok(self.db.read_transaction(read)?.into_iter().next())
    }

    /// Returns the paths of all files of a track or picture: its own, then a raw picture beside it, the video of a
    /// live photo, and its sidecars. None in the trash.
    ///
    /// # Errors
    /// Any read error.
    pub fn paths(&self, id: RecordId) -> Result<Vec<PathBuf>> {
        self.db
            .read_transaction(|conn| self.paths_in(conn, id, true))
    }

    fn paths_in(
        &self,
        conn: &Connection,
        id: RecordId,
        with_attached: bool,
    ) -> Result<Vec<PathBuf>> {
        let Some((folder, name)) = files::file_of_record(conn, id.0)? else {
            return Ok(Vec::new());
        };
        let Some((path, _)) = files::folder_path(conn, folder)? else {
            return Ok(Vec::new());
        };
        let attached = match with_attached {
            true => files::attached_to(conn, folder, &name)?,
            false => Vec::new(),
        };
        let names = std::iter::once(name).chain(attached);
        Ok(names.map(|name| path.join(files::path_of(&name))).collect())
    }

    /// Returns the cover of a track, album, artist, picture or day: of a group that of most of its
    /// members.
    ///
    /// # Errors
    /// Any read error.
    pub fn cover_of(&self, id: RecordId) -> Result<Option<CoverId>> {
        self.db.read_transaction(|conn| {
            let found: Option<Vec<u8>> = conn
                .prepare_cached("SELECT text FROM record WHERE id = ?1 AND removed_at IS NULL")?
                .query_row([id.0], |r| r.get(0))
                .optional()?;
            let Some(text) = found else { return Ok(None) };
            let lines = TagLines::from_text(text.clone());
            Ok(match lines.first("file.cover") {
                Some(cover) => cover.parse().ok(),
                None => GroupVotes::parse(text).cover(),
            })
        })
    }

    /// Returns a cover; `None` if there is none with this id.
    ///
    /// # Errors
    /// Any read error.
    pub fn cover(&self, id: CoverId) -> Result<Option<Cover>> {
        self.db.read(|conn| cover::read(conn, id))
    }

    /// Calls `visit` with the thumbnail of each cover, in order, from one state of the store. A
    /// thumbnail is a JPEG file; `None`: there is no cover.
    ///
    /// # Errors
    /// Any read error.
    pub fn each_thumbnail(
        &self,
        size: ThumbnailSize,
        covers: impl IntoIterator<Item = Option<CoverId>>,
        visit: impl FnMut(Option<&[u8]>),
    ) -> Result<()> {
        let read = |conn: &Connection| cover::each_thumbnail(conn, size, covers, visit);
        self.db.read_transaction(read)
    }

    /// Returns the thumbnail of a cover, a JPEG file.
    ///
    /// # Errors
    /// Any read error.
    pub fn thumbnail(&self, id: CoverId, size: ThumbnailSize) -> Result<Option<Vec<u8>>> {
        let mut found = None;
        self.each_thumbnail(size, [Some(id)], |bytes| found = bytes.map(<[u8]>::to_vec))?;
        Ok(found)
    }

    /// Returns the files that could not be read, or not in full.
    ///
    /// # Errors
    /// Any read error.
    pub fn problems(&self) -> Result<Vec<Problem>> {
        self.db.read_transaction(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT folder, name, state, problem FROM media_file \
                 WHERE problem IS NOT NULL ORDER BY folder, name",
            )?;
            let mut rows = statement.query([])?;
            let mut problems = Vec::new();
            let mut at: Option<(i64, PathBuf)> = None;
            while let Some(row) = rows.next()? {
                let folder: i64 = row.get(0)?;
                let path = match &at {
                    Some((known, path)) if *known == folder => path.clone(),
                    _ => match files::folder_path(conn, folder)? {
                        Some((path, _)) => path,
                        None => continue,
                    },
                };
                let name: Vec<u8> = row.get(1)?;
                problems.push(Problem {
                    path: path.join(files::path_of(&name)),
                    reason: row.get(3)?,
                    is_refused: FileState::from_number(row.get(2)?) == FileState::Refused,
                });
                at = Some((folder, path));
            }
            Ok(problems)
        })
    }

    /// Returns counts.
    ///
    /// # Errors
    /// Any read error.
    pub fn stats(&self) -> Result<MediaStats> {
        self.db.read_transaction(|conn| {
            let mut records = Vec::new();
            for kind in CollectionKind::MEDIA {
                let count: i64 = conn.query_row(
                    "SELECT count(*) FROM record WHERE collection = ?1 AND removed_at IS NULL",
                    [self.collection_id(kind)],
                    |r| r.get(0),
                )?;
                records.push((kind, unsigned(count)));
            }
            let mut stats = MediaStats {
                records,
                ..MediaStats::default()
            };
            let count =
                |sql: &str| -> Result<u64> { Ok(unsigned(conn.query_row(sql, [], |r| r.get(0))?)) };
            stats.files = count("SELECT count(*) FROM media_file")?;
            stats.bytes = count("SELECT coalesce(sum(size), 0) FROM media_file")?;
            stats.problems = count("SELECT count(problem) FROM media_file")?;
            stats.covers = count("SELECT count(*) FROM media_cover")?;
            stats.thumbnail_bytes =
                count("SELECT coalesce(sum(length(bytes)), 0) FROM media_thumbnail")?;
            Ok(stats)
        })
    }
}

fn unsigned(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

/// Returns the live or removed record of a UID: its id, whether it is live, and its text.
pub(super) fn find_record(
    conn: &Connection,
    collection: i64,
    uid: &str,
) -> Result<Option<(i64, bool, Vec<u8>)>> {
    Ok(conn
        .prepare_cached(
            "SELECT id, removed_at IS NULL, text FROM record WHERE collection = ?1 AND uid = ?2",
        )?
        .query_row((collection, uid), |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))
        .optional()?)
}
