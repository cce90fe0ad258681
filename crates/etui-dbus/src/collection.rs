//! [`CollectionCalls`]: the calls on a collection, whatever its kind. They are synchronous; the
//! objects run them under a guard.

use etui::CollectionId;
use std::io::Read;
use std::ops::ControlFlow;
use std::sync::Arc;

use etui::import::{ImportEvent, ImportReport};
use etui::media::{Album, Artist, Day, Genre, Media, Picture, Track};
use etui::search::query::Cursor;
use etui::{ChangeKind, CollectionKind, Store};

use crate::descriptor::RowFile;
use crate::error::StoreError;
use crate::options::{CallOptions, OptionArgument};
use crate::rows::RowTarget;
use crate::typed_collection::TypedCollection;
use crate::view::PulledView;

/// The options of `Query` and `QueryFd`.
#[derive(Clone)]
pub(crate) struct QueryOptions {
    pub(crate) columns: Option<Vec<String>>,
    pub(crate) sort: Option<String>,
    pub(crate) limit: u64,
    pub(crate) offset: u64,
    pub(crate) after: Option<Cursor>,
    pub(crate) count: bool,
    /// The best matches first, and plain words as a person means them.
    pub(crate) is_ranked: bool,
}

impl QueryOptions {
    pub(crate) fn parse(argument: OptionArgument) -> Result<Self, StoreError> {
        Self::take(CallOptions::new(argument), false)
    }

    /// Parses the options of a ranked search, which has no order of its own to choose.
    pub(crate) fn parse_ranked(options: CallOptions) -> Result<Self, StoreError> {
        Self::take(options, true)
    }

    fn take(mut options: CallOptions, is_ranked: bool) -> Result<Self, StoreError> {
        let after = options.take_text("after")?.filter(|text| !text.is_empty());
        let after = after.map(|text| text.parse().map_err(|e| bad_option("after", e)));
        let parsed = Self {
            columns: options.take_texts("columns")?,
            sort: match is_ranked {
                true => None,
                false => options.take_text("sort")?,
            },
            limit: options.take_number("limit")?.unwrap_or(u64::MAX),
            offset: options.take_number("offset")?.unwrap_or(0),
            after: after.transpose()?,
            count: options.take_flag("count")?.unwrap_or(false),
            is_ranked,
        };
        options.finish()?;
        Ok(parsed)
    }

    /// Returns true if the answer begins with the first match.
    pub(crate) fn begins_list(&self) -> bool {
        self.after.is_none() && self.offset == 0 && self.limit > 0
    }
}

/// The end of an answer: where the next page begins, and the number of matches if it was asked for.
#[derive(Default)]
pub(crate) struct QueryEnd {
    pub(crate) next: String,
    pub(crate) count: u64,
}

/// The numbers and identities of saved records.
pub(crate) type SavedRows = Vec<SavedRow>;

/// Changes since a token: UID, kind and id of each record; the next token; true if there are more.
pub(crate) type ChangePage = (Vec<(String, &'static str, u64)>, String, bool);

/// A saved record: id, UID and ETag.
pub(crate) type SavedRow = (u64, String, String);

/// A version of a record: its number, when it was made in seconds since 1970 (0 if that is not
/// recorded), the kind of its change, and whether it is the present state.
pub(crate) type WireVersion = (i64, i64, String, bool);

/// The calls that read a collection of any kind.
pub(crate) trait ListCalls: Send + Sync {
    /// Returns the number of its records that match a filter.
    fn count_matching(&self, store: &Store, filter: &str) -> Result<u64, StoreError>;

    /// Reads records by UID; returns the UIDs without a record.
    fn read_records(
        &self,
        store: &Store,
        uids: &[String],
        columns: &[String],
        target: &mut RowTarget,
    ) -> Result<Vec<String>, StoreError>;

    /// Answers a query.
    fn run_query(
        &self,
        store: &Store,
        filter: &str,
        options: QueryOptions,
        target: &mut RowTarget,
    ) -> Result<QueryEnd, StoreError>;

    /// Returns the filter with its misspelt words corrected; `None` if nothing is similar.
    fn correct_filter(&self, store: &Store, filter: &str) -> Result<Option<String>, StoreError>;

    /// Describes how a query is answered.
    fn explain_query(
        &self,
        store: &Store,
        filter: &str,
        options: QueryOptions,
    ) -> Result<String, StoreError>;

    /// Returns at most `limit` changes since a token.
    fn changes_since(
        &self,
        store: &Store,
        token: &str,
        limit: u64,
    ) -> Result<ChangePage, StoreError>;

    /// Opens a view.
    fn open_view<'s>(
        &self,
        store: &'s Store,
        filter: &str,
    ) -> Result<Box<dyn PulledView + 's>, StoreError>;
}

/// The calls on an address book or a calendar.
pub(crate) trait CollectionCalls: ListCalls {
    /// Returns its name.
    fn name(&self, store: &Store) -> Result<String, StoreError>;

    /// Gives it another name.
    fn rename(&self, store: &Store, name: &str) -> Result<(), StoreError>;

    /// Removes it, if it has this number of records; `None`: in any case.
    fn remove_collection(&self, store: &Store, records: Option<u64>) -> Result<(), StoreError>;

    /// Reads the UIDs and texts of records, byte for byte.
    fn read_raw(
        &self,
        store: &Store,
        uids: &[String],
        file: &mut RowFile,
    ) -> Result<(), StoreError>;

    /// Saves records: all or none, or each whose condition holds.
    fn save_records(
        &self,
        store: &Store,
        records: Vec<(String, String)>,
        all: bool,
    ) -> Result<SavedRows, StoreError>;

    /// Removes records, all or none.
    fn remove_records(
        &self,
        store: &Store,
        records: Vec<(String, String)>,
    ) -> Result<(), StoreError>;

    /// Copies or moves records to another collection of the kind, all or none.
    fn transfer_records(
        &self,
        store: &Store,
        records: Vec<(String, String)>,
        target: CollectionId,
        is_move: bool,
    ) -> Result<SavedRows, StoreError>;

    /// Undoes the latest change of records; returns the UIDs with nothing to undo.
    fn restore_records(&self, store: &Store, uids: &[String]) -> Result<Vec<String>, StoreError>;

    /// Returns the versions of a record that are kept, the latest first.
    fn list_versions(&self, store: &Store, uid: &str) -> Result<Vec<WireVersion>, StoreError>;

    /// Returns the text of a version, byte for byte.
    fn read_version(&self, store: &Store, uid: &str, number: i64) -> Result<Vec<u8>, StoreError>;

    /// Saves the text of a version.
    fn bring_back(&self, store: &Store, uid: &str, number: i64) -> Result<SavedRow, StoreError>;

    /// Imports a stream.
    fn import_stream(
        &self,
        store: &Store,
        input: Box<dyn Read>,
        on_event: &mut dyn FnMut(ImportEvent<'_>) -> ControlFlow<()>,
    ) -> etui::Result<ImportReport>;
}

/// Returns the calls on the collection with this id.
pub(crate) fn calls_on(kind: CollectionKind, id: CollectionId) -> Option<Arc<dyn CollectionCalls>> {
    match kind {
        CollectionKind::Contacts => {
            Some(Arc::new(TypedCollection::<etui::contacts::Card>::new(id)))
        }
        CollectionKind::Calendar => Some(Arc::new(
            TypedCollection::<etui::calendar::CalendarObject>::new(id),
        )),
        _ => None,
    }
}

/// Returns the calls on the media of a kind; `None` if it is no kind of media.
pub(crate) fn media_calls(media: &Media, kind: CollectionKind) -> Option<Arc<dyn ListCalls>> {
    Some(match kind {
        CollectionKind::Music => Arc::new(TypedCollection::<Track>::new(media.tracks().id())),
        CollectionKind::Albums => Arc::new(TypedCollection::<Album>::new(media.albums().id())),
        CollectionKind::Artists => Arc::new(TypedCollection::<Artist>::new(media.artists().id())),
        CollectionKind::Genres => Arc::new(TypedCollection::<Genre>::new(media.genres().id())),
        CollectionKind::Pictures => {
            Arc::new(TypedCollection::<Picture>::new(media.pictures().id()))
        }
        CollectionKind::Days => Arc::new(TypedCollection::<Day>::new(media.days().id())),
        _ => return None,
    })
}

/// Returns the name of a kind of change on the wire.
pub(crate) fn change_name(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Added => "added",
        ChangeKind::Changed => "changed",
        ChangeKind::Removed => "removed",
    }
}

/// Returns the error for an option whose value is not valid.
pub(crate) fn bad_option(key: &str, error: impl std::fmt::Display) -> StoreError {
    StoreError::option(key, &format!("is not valid: {error}"))
}
