//! The error type of this crate: the problem, the file or record, and the remedy.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{ErrorCode, ffi};

use etui_ical::ObjectError;
use etui_text::collator::BadLocale;

use crate::resource_tag::ResourceTag;
use crate::types::{CollectionKind, ETag, RecordId, RefusedId};
use etui_vcard::CardError;

/// A failed operation: the problem, the file or record, and what the caller can do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no file at the path and it was not to be created.
    #[error("{}: there is no store here (`etui init` makes one)", .0.display())]
    NoStore(PathBuf),
    /// The file is not a SQLite database.
    #[error("{}: this is not a database file; it was left untouched", .0.display())]
    NotADatabase(PathBuf),
    /// The file is a SQLite database of another program.
    #[error(
        "{}: this is a SQLite database, but not an etui store; it was left untouched",
        .0.display()
    )]
    NotAStore(PathBuf),
    /// The store was written by a newer version of etui.
    #[error(
        "{}: this store has schema version {found}, this program knows versions up to {known}; \
         use a newer etui (the file was left untouched)",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// `user_version` as found.
        found: i64,
        /// The newest version this library knows.
        known: i64,
    },
    /// The store cannot be written: file, directory or medium is read-only, or it was opened so.
    #[error(
        "{}: cannot write: the store, its directory or its medium is read-only",
        .0.display()
    )]
    ReadOnly(PathBuf),
    /// The disk (or quota) is full. The transaction was rolled back; the store is whole.
    #[error(
        "{}: no space left on the device; nothing of this change was kept. \
         Free some space and try again",
        .0.display()
    )]
    DiskFull(PathBuf),
    /// Another program held the store's write lock for longer than `Options::busy_timeout`.
    #[error(
        "{}: another program has been writing to the store for {} s; try again when it is done",
        path.display(),
        waited.as_secs()
    )]
    Busy {
        /// The file.
        path: PathBuf,
        /// How long this call waited.
        waited: Duration,
    },
    /// etui's VFS does not open the store: another process has it open, or its redo log is
    /// missing, damaged or another file's. Nothing was changed.
    #[error("{}: {reason}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// The reason, and a remedy.
        reason: String,
    },
    /// etui's VFS cannot work in this process.
    #[error("the VFS `etui` cannot be used: {0}")]
    NoVfs(String),
    /// SQLite found the file malformed.
    #[error(
        "{}: the file is damaged ({detail}); `etui check` tells more, a backup can be brought \
         back with `etui restore`",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The message of SQLite.
        detail: String,
    },
    /// The operating system refused something.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// A path that was to be created exists already.
    #[error("{}: exists already; choose another path, or move it away first", .0.display())]
    Exists(PathBuf),
    /// A store was to be created beside the log of another store; opening it would mix the two or
    /// lose the contents of the log.
    #[error(
        "{}: the log of a store lies here without its store, and may hold data. Put the \
         store it belongs to back beside it, or move the log away together with that store",
        .0.display()
    )]
    StrayLog(PathBuf),
    /// The store's write-ahead log was deleted or replaced while it was open.
    #[error(
        "{}: the store's log was deleted or replaced by another program; nothing was saved: close \
         the store, open it again, and check it",
        .0.display()
    )]
    LogReplaced(PathBuf),
    /// Tracks, pictures and their groups come from files; they are not saved or removed by hand.
    #[error(
        "the {} comes from files: change or remove the files, and scan their folder",
        .0.record_noun()
    )]
    Scanned(CollectionKind),
    /// Another scan changed the media library at the same time.
    #[error("another scan changed the library meanwhile; scan again")]
    ScannedMeanwhile,
    /// The store has records of a kind that this program was built without, so that it cannot derive what lists and
    /// searches know of them.
    #[error(
        "the store has a media library, and this program was built without the feature \"{0}\" of etui; use \
             the command etui for this"
    )]
    NeedsFeature(&'static str),
    /// No playlist of this name.
    #[error("there is no playlist named \"{0}\"")]
    NoPlaylist(String),
    /// A playlist of this name exists already.
    #[error("a playlist named \"{0}\" exists already; choose another name, or delete it first")]
    PlaylistExists(String),
    /// An invalid name for a playlist.
    #[error(
        "\"{0}\" cannot be the name of a playlist: use 1 to 200 characters, no line breaks or \
             other control characters, and no blanks at the ends"
    )]
    BadPlaylistName(String),
    /// The playlist is a saved filter, which has no entries of its own.
    #[error("the playlist \"{0}\" is a saved filter: its tracks are those that match")]
    SavedFilter(String),
    /// A playlist has no entry at a position.
    #[error(
        "the playlist \"{playlist}\" has no entry {}; it has {entries}",
        position.saturating_add(1)
    )]
    NoPlaylistEntry {
        /// The name of the playlist.
        playlist: String,
        /// The position, counted from 0.
        position: usize,
        /// The number of its entries.
        entries: usize,
    },
    /// No collection of this kind and name.
    #[error("there is no {kind} named \"{name}\" (there are: {})", known.join(", "))]
    NoCollection {
        /// The kind of the collection.
        kind: CollectionKind,
        /// The requested name.
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// A collection of this kind and name exists already.
    #[error("{} named \"{name}\" exists already", kind.with_article())]
    CollectionExists {
        /// The kind of the collection.
        kind: CollectionKind,
        /// The name.
        name: String,
    },
    /// The only collection of its kind cannot be removed.
    #[error("\"{name}\" is the only {kind}, and stays; make another one first, or rename it")]
    LastCollection {
        /// The kind of the collection.
        kind: CollectionKind,
        /// Its name.
        name: String,
    },
    /// A conditional removal found the collection changed: it has another number of records, or its
    /// name means another collection.
    #[error(
        "the {kind} \"{name}\" was changed meanwhile: {}; nothing was removed",
        now(*expected, *found)
    )]
    CollectionChanged {
        /// The kind of the collection.
        kind: CollectionKind,
        /// Its name.
        name: String,
        /// The number of records that the caller expected.
        expected: u64,
        /// The number of records.
        found: u64,
    },
    /// No collection of this kind and name was removed, or not within the last 30 days.
    #[error("no {kind} named \"{name}\" was removed{}", removed(known))]
    NoRemovedCollection {
        /// The kind of the collection.
        kind: CollectionKind,
        /// The requested name.
        name: String,
        /// The names of removed collections.
        known: Vec<String>,
    },
    /// An invalid name for a collection.
    #[error("\"{name}\" cannot be the name of {}: use 1 to 200 characters, no line breaks or \
             other control characters, and no blanks at the ends", kind.with_article())]
    BadName {
        /// The kind of the collection.
        kind: CollectionKind,
        /// The name.
        name: String,
    },
    /// Another collection of the kind has this external id.
    #[error("the {kind} \"{name}\" has the external id \"{external_id}\" already")]
    ExternalIdExists {
        /// The kind of the collection.
        kind: CollectionKind,
        /// The name of the collection that has it.
        name: String,
        /// The external id.
        external_id: String,
    },
    /// Another collection of the kind has this segment in its URL.
    #[error("the {kind} \"{name}\" has the URL segment \"{segment}\" already")]
    SegmentExists {
        /// The kind of the collection.
        kind: CollectionKind,
        /// The name of the collection that has it.
        name: String,
        /// The segment.
        segment: String,
    },
    /// An invalid external id for a collection.
    #[error("\"{external_id}\" cannot be the external id of {}: use 1 to 255 bytes without line \
             breaks or other control characters", kind.with_article())]
    BadExternalId {
        /// The kind of the collection.
        kind: CollectionKind,
        /// The external id.
        external_id: String,
    },
    /// An account of this name exists already.
    #[error("an account named \"{0}\" exists already; remove it first, or choose another name")]
    AccountExists(String),
    /// A device of this name exists already.
    #[error("a device named \"{0}\" exists already; remove it first, or choose another name")]
    DeviceExists(String),
    /// No device of this name.
    #[error("there is no device named \"{name}\"{}", existing(known))]
    NoDevice {
        /// The requested name.
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// An invalid name for a device.
    #[error(
        "\"{0}\" cannot be the name of a device: use 1 to 100 characters, no line breaks or \
             other control characters, and no blanks at the ends"
    )]
    BadDeviceName(String),
    /// No live record with this UID.
    #[error("there is no {} with UID \"{uid}\"", kind.record_noun())]
    NoRecord {
        /// The kind of the collection.
        kind: CollectionKind,
        /// The requested UID.
        uid: String,
    },
    /// A record that the date book has taken already.
    #[error("record {0} is taken; release it first")]
    CheckedOut(RecordId),
    /// A date book has no record at this position.
    #[error("there is no record {index}; the date book has {count}, the first is 0")]
    NoIndex {
        /// The requested position.
        index: u64,
        /// The number of records.
        count: u64,
    },
    /// A record's latest change cannot be undone: there is none, or it is older than the change
    /// log.
    #[error("there is nothing to undo for the {} with UID \"{uid}\"", kind.record_noun())]
    NothingToUndo {
        /// The kind of the collection.
        kind: CollectionKind,
        /// The requested UID.
        uid: String,
    },
    /// Fewer than two contacts were to be merged, or one with itself.
    #[error("there is nothing to merge; give two or more different contacts")]
    NothingToMerge,
    /// Records were to be copied or moved to the collection that they are in.
    #[error("the records are in the {kind} \"{name}\" already; choose another one")]
    SameCollection {
        /// The kind of the collection.
        kind: CollectionKind,
        /// Its name.
        name: String,
    },
    /// A version of a record is no longer kept.
    #[error(
        "version {number} of record {id} is no longer kept; versions are kept for 30 days after they \
         are replaced"
    )]
    NoVersion {
        /// The record.
        id: RecordId,
        /// The number of the version.
        number: i64,
    },
    /// A text was to be saved under another UID than its own.
    #[error("the text has the UID \"{found}\", and was to be saved as \"{uid}\"")]
    OtherUid {
        /// The UID to save it under.
        uid: String,
        /// The text's own UID.
        found: String,
    },
    /// A conditional write found another ETag (or a record where none should be).
    #[error(
        "the record \"{uid}\" was changed meanwhile (expected {}, found {}); read it again, \
         apply the change to what it is now",
        show_etag(.expected), show_etag(.found)
    )]
    Conflict {
        /// The record's UID.
        uid: String,
        /// The ETag that the caller expected; `None`: no such record.
        expected: Option<ETag>,
        /// The ETag found; `None`: there is no such record.
        found: Option<ETag>,
    },
    /// A condition of a batch that is saved as a whole did not hold. Nothing of it was saved.
    #[error(
        "record {} of the batch, \"{uid}\", was changed meanwhile (expected {}, found {}); nothing \
         was saved; read it again, apply the change to what it is now",
        index + 1, show_etag(.expected), show_etag(.found)
    )]
    BatchConflict {
        /// The index of the first record whose condition did not hold.
        index: usize,
        /// Its UID.
        uid: String,
        /// The ETag that the caller expected; `None`: no such record.
        expected: Option<ETag>,
        /// The ETag found, which may be that of an earlier record of the batch; `None`: there is no
        /// such record.
        found: Option<ETag>,
    },
    /// No refused version with this number is kept.
    #[error("there is no refused version {0}; they are kept for 30 days")]
    NoRefused(RefusedId),
    /// There is no record with this number, also not in the trash.
    #[error("there is no record {0}, also not in the trash")]
    NoRecordId(RecordId),
    /// There is no step with this number, or it is older than the change log.
    #[error("there is no step {0}; steps are kept for 30 days")]
    NoStep(i64),
    /// There is no resource of this name.
    #[error("there is no resource named \"{0}\"")]
    NoResource(String),
    /// An invalid name for a resource.
    #[error("\"{0}\" cannot be the name of a resource: use 1 to 255 bytes without a slash")]
    BadResourceName(String),
    /// The name of a resource has the form of those that are computed from record ids, and may become
    /// that of another record.
    #[error("\"{0}\" is reserved for a record that may still be added; use another name")]
    ReservedName(String),
    /// The precondition of a write to a resource does not hold.
    #[error(
        "the resource \"{name}\" was changed meanwhile (found {}); read it again, apply the change to \
         what it is now", show_tag(.found)
    )]
    ConditionFailed {
        /// The name of the resource.
        name: String,
        /// The tag found; `None`: there is no such resource.
        found: Option<ResourceTag>,
    },
    /// Another resource of the collection has the UID, or the resource has another UID.
    #[error(
        "the resource \"{name}\" has the UID \"{uid}\"; change that one, or give the new one another UID"
    )]
    UidTaken {
        /// The UID of the stored resource.
        uid: String,
        /// The name of the stored resource.
        name: String,
    },
    /// The bytes are not one calendar object that can be a resource (RFC 4791 section 4.1).
    #[error("not one calendar object: {detail}")]
    NotOneObject {
        /// The reason, with the line if there is one.
        detail: String,
    },
    /// The properties of a collection would be too large together.
    #[error("the properties of the collection would have {size} bytes; at most 65536 are kept")]
    TooManyProperties {
        /// The size of all names and values in bytes.
        size: usize,
    },
    /// The bytes given are not a contact that can be kept.
    #[error("{0}")]
    Card(#[from] CardError),
    /// A component of a calendar cannot be kept.
    #[error(transparent)]
    Record(#[from] ObjectError),
    /// The text of a filter has a syntax error.
    #[error("{0}")]
    Filter(#[from] FilterError),
    /// A locale that is not a language tag (BCP 47).
    #[error(transparent)]
    BadLocale(#[from] BadLocale),
    /// A region that is not an ISO 3166-1 alpha-2 code with a known numbering plan.
    #[error("\"{0}\" is not a region; write it like `DE` or `US`")]
    BadRegion(String),
    /// Another program changed the locale or the region since this one opened the store.
    #[error(
        "{}: the locale or region was changed since the store was opened; nothing was saved. Open it again",
        .0.display()
    )]
    SettingsChanged(PathBuf),
    /// The store was closed ([`Store::close`](crate::Store::close)).
    #[error("{}: this store was closed; open it again", .0.display())]
    Closed(PathBuf),
    /// The caller stopped the operation; complete batches are kept.
    #[error("stopped as asked; what was reported as saved is kept")]
    Stopped,
    /// Any other error of SQLite.
    #[error("the database reported: {0}")]
    Sqlite(#[source] SqliteError),
}

/// An error of SQLite that has no variant of its own.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct SqliteError(pub(crate) rusqlite::Error);

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(SqliteError(error))
    }
}

/// A syntax error in a filter's text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("in the filter, at character {at}: {problem}")]
pub struct FilterError {
    /// The character, counted from 1.
    pub at: usize,
    /// The problem, and a correction.
    pub problem: String,
}

fn existing(known: &[String]) -> String {
    match known {
        [] => String::new(),
        known => format!(" (there are: {})", known.join(", ")),
    }
}

fn removed(known: &[String]) -> String {
    match known {
        [] => String::new(),
        known => format!(" (these were: {})", known.join(", ")),
    }
}

fn now(expected: u64, found: u64) -> String {
    match found {
        found if found == expected => "the name is another one's now".to_owned(),
        1 => "it has 1 record now".to_owned(),
        found => format!("it has {found} records now"),
    }
}

fn show_etag(etag: &Option<ETag>) -> String {
    etag.map_or_else(|| "none".to_owned(), |e| e.to_string())
}

fn show_tag(tag: &Option<ResourceTag>) -> String {
    tag.map_or_else(|| "none".to_owned(), |tag| tag.to_string())
}

/// `std::result::Result` with this crate's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Returns the error's code, such as `no-store`, by which a program tells errors apart in other languages and in
    /// logs. A code stays when a message or a variant is changed.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoStore(_) => "no-store",
            Self::NotADatabase(_) => "not-adatabase",
            Self::NotAStore(_) => "not-astore",
            Self::Newer { .. } => "newer",
            Self::ReadOnly(_) => "read-only",
            Self::DiskFull(_) => "disk-full",
            Self::Busy { .. } => "busy",
            Self::Refused { .. } => "refused",
            Self::NoVfs(_) => "no-vfs",
            Self::Damaged { .. } => "damaged",
            Self::Io { .. } => "io",
            Self::Exists(_) => "exists",
            Self::StrayLog(_) => "stray-log",
            Self::LogReplaced(_) => "log-replaced",
            Self::Scanned(_) => "scanned",
            Self::ScannedMeanwhile => "scanned-meanwhile",
            Self::NeedsFeature(_) => "needs-feature",
            Self::NoPlaylist(_) => "no-playlist",
            Self::PlaylistExists(_) => "playlist-exists",
            Self::BadPlaylistName(_) => "bad-playlist-name",
            Self::SavedFilter(_) => "saved-filter",
            Self::NoPlaylistEntry { .. } => "no-playlist-entry",
            Self::NoCollection { .. } => "no-collection",
            Self::CollectionExists { .. } => "collection-exists",
            Self::LastCollection { .. } => "last-collection",
            Self::CollectionChanged { .. } => "collection-changed",
            Self::NoRemovedCollection { .. } => "no-removed-collection",
            Self::BadName { .. } => "bad-name",
            Self::ExternalIdExists { .. } => "external-id-exists",
            Self::SegmentExists { .. } => "segment-exists",
            Self::BadExternalId { .. } => "bad-external-id",
            Self::AccountExists(_) => "account-exists",
            Self::DeviceExists(_) => "device-exists",
            Self::NoDevice { .. } => "no-device",
            Self::BadDeviceName(_) => "bad-device-name",
            Self::NoRecord { .. } => "no-record",
            Self::CheckedOut(_) => "checked-out",
            Self::NoIndex { .. } => "no-index",
            Self::NothingToUndo { .. } => "nothing-to-undo",
            Self::NothingToMerge => "nothing-to-merge",
            Self::SameCollection { .. } => "same-collection",
            Self::NoVersion { .. } => "no-version",
            Self::OtherUid { .. } => "other-uid",
            Self::Conflict { .. } => "conflict",
            Self::BatchConflict { .. } => "batch-conflict",
            Self::NoRefused(_) => "no-refused",
            Self::NoRecordId(_) => "no-record-id",
            Self::NoStep(_) => "no-step",
            Self::NoResource(_) => "no-resource",
            Self::BadResourceName(_) => "bad-resource-name",
            Self::ReservedName(_) => "reserved-name",
            Self::ConditionFailed { .. } => "condition-failed",
            Self::UidTaken { .. } => "uid-taken",
            Self::NotOneObject { .. } => "not-one-object",
            Self::TooManyProperties { .. } => "too-many-properties",
            Self::Card(_) => "card",
            Self::Record(_) => "record",
            Self::Filter(_) => "filter",
            Self::BadLocale(_) => "bad-locale",
            Self::BadRegion(_) => "bad-region",
            Self::SettingsChanged(_) => "settings-changed",
            Self::Closed(_) => "closed",
            Self::Stopped => "stopped",
            Self::Sqlite(_) => "sqlite",
        }
    }

    /// Returns the error for an operating-system error about `path`.
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        match source.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::DiskFull(path.to_owned()),
            ErrorKind::ReadOnlyFilesystem => Self::ReadOnly(path.to_owned()),
            _ => Self::Io {
                path: path.to_owned(),
                source,
            },
        }
    }

    /// Translates SQLite's result codes into this crate's errors about the file `path`.
    pub(crate) fn about(self, path: &Path, waited: Duration) -> Self {
        let Self::Sqlite(SqliteError(ref inner)) = self else {
            return self;
        };
        let path = path.to_owned();
        match inner.sqlite_error().map(|e| e.extended_code) {
            // The shared-memory file of the WAL could not be made long enough.
            Some(ffi::SQLITE_IOERR_SHMSIZE) => return Self::DiskFull(path),
            Some(ffi::SQLITE_IOERR_VNODE) => {
                let mut log = path.into_os_string();
                log.push("-wal");
                return Self::LogReplaced(log.into());
            }
            _ => {}
        }
        match inner.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::NotADatabase(path),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Self::Busy { path, waited }
            }
            Some(ErrorCode::DiskFull) => Self::DiskFull(path),
            Some(ErrorCode::ReadOnly) => Self::ReadOnly(path),
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged {
                path,
                detail: inner.to_string(),
            },
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => Self::Io {
                path,
                source: std::io::Error::new(
                    std::io::ErrorKind::PermissionDenied,
                    "cannot be opened (is the directory there, and may you read it?)",
                ),
            },
            None if !matches!(inner, rusqlite::Error::QueryReturnedNoRows) => Self::Damaged {
                path,
                detail: format!("it does not hold what a store holds: {inner}"),
            },
            Some(ErrorCode::SystemIoFailure) => Self::Io {
                path,
                source: std::io::Error::other(inner.to_string()),
            },
            Some(ErrorCode::OperationInterrupted) => Self::Stopped,
            _ => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_words_and_stay() {
        let kind = CollectionKind::Contacts;
        let uid = "ada".to_owned();
        assert_eq!(Error::NoRecord { kind, uid }.code(), "no-record");
        assert_eq!(Error::NoStore("x".into()).code(), "no-store");
        assert_eq!(Error::from(rusqlite::Error::InvalidQuery).code(), "sqlite");
    }
}
