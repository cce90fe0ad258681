//! [`CollectionCalls`]: the calls on a collection, whatever its kind. They are synchronous; the
//! objects run them under a guard.

use std::io::Read;
use std::ops::ControlFlow;

use etui::import::{ImportEvent, ImportReport};
use etui::search::query::Cursor;
use etui::{ChangeKind, CollectionKind, Store};

use crate::descriptor::RowFile;
use crate::error::StoreError;
use crate::options::{CallOptions, OptionArgument};
use crate::rows::RowTarget;
use crate::typed_collection::TypedCollection;
use crate::view::PulledView;

/// The options of `Query` and `QueryFd`.
pub(crate) struct QueryOptions {
    pub(crate) columns: Option<Vec<String>>,
    pub(crate) sort: Option<String>,
    pub(crate) limit: u64,
    pub(crate) offset: u64,
    pub(crate) after: Option<Cursor>,
    pub(crate) count: bool,
}

impl QueryOptions {
    pub(crate) fn parse(argument: OptionArgument) -> Result<Self, StoreError> {
        let mut options = CallOptions::new(argument);
        let after = options.take_text("after")?.filter(|text| !text.is_empty());
        let after = after.map(|text| text.parse().map_err(|e| bad_option("after", e)));
        let parsed = Self {
            columns: options.take_texts("columns")?,
            sort: options.take_text("sort")?,
            limit: options.take_number("limit")?.unwrap_or(u64::MAX),
            offset: options.take_number("offset")?.unwrap_or(0),
            after: after.transpose()?,
            count: options.take_flag("count")?.unwrap_or(false),
        };
        options.finish()?;
        Ok(parsed)
    }
}

/// The end of an answer: where the next page begins, and the number of matches if it was asked for.
#[derive(Default)]
pub(crate) struct QueryEnd {
    pub(crate) next: String,
    pub(crate) count: u64,
}

/// The numbers and identities of saved records.
pub(crate) type SavedRows = Vec<(u64, String, String)>;

/// Changes since a token: UID, kind and id of each record; the next token; true if there are more.
pub(crate) type ChangePage = (Vec<(String, &'static str, u64)>, String, bool);

/// The calls on a collection of either kind.
pub(crate) trait CollectionCalls: Send + Sync {
    /// Returns its name.
    fn name(&self, store: &Store) -> Result<String, StoreError>;

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

    /// Reads the UIDs and texts of records, byte for byte.
    fn read_raw(
        &self,
        store: &Store,
        uids: &[String],
        file: &mut RowFile,
    ) -> Result<(), StoreError>;

    /// Answers a query.
    fn run_query(
        &self,
        store: &Store,
        filter: &str,
        options: QueryOptions,
        target: &mut RowTarget,
    ) -> Result<QueryEnd, StoreError>;

    /// Describes how a query is answered.
    fn explain_query(
        &self,
        store: &Store,
        filter: &str,
        options: QueryOptions,
    ) -> Result<String, StoreError>;

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

    /// Undoes the latest change of records; returns the UIDs with nothing to undo.
    fn restore_records(&self, store: &Store, uids: &[String]) -> Result<Vec<String>, StoreError>;

    /// Returns at most `limit` changes since a token.
    fn changes_since(
        &self,
        store: &Store,
        token: &str,
        limit: u64,
    ) -> Result<ChangePage, StoreError>;

    /// Imports a stream.
    fn import_stream(
        &self,
        store: &Store,
        input: Box<dyn Read>,
        on_event: &mut dyn FnMut(ImportEvent<'_>) -> ControlFlow<()>,
    ) -> etui::Result<ImportReport>;

    /// Opens a view.
    fn open_view<'s>(
        &self,
        store: &'s Store,
        filter: &str,
    ) -> Result<Box<dyn PulledView + 's>, StoreError>;
}

/// Returns the calls on the collection with this id.
pub(crate) fn calls_on(kind: CollectionKind, id: i64) -> Option<Box<dyn CollectionCalls>> {
    match kind {
        CollectionKind::Contacts => {
            Some(Box::new(TypedCollection::<etui::contacts::Card>::new(id)))
        }
        CollectionKind::Calendar => Some(Box::new(
            TypedCollection::<etui::calendar::CalendarObject>::new(id),
        )),
        _ => None,
    }
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
