//! The objects printed with `--json`; `docs/src/json.md` documents them.
//!
//! A field without a value is `null` or an empty list, not absent. New fields may be added; none is
//! removed or changes its meaning.

pub mod calendar;
mod contact;

use std::collections::BTreeMap;

use etui::calendar::time::TimeZone;
use etui::import::{ImportReport, Refused};
use etui::search::query::QueryPlan;
use etui::watch::ViewChange;
use etui::{
    ChangeKind, CheckReport, CollectionKind, RecordId, RemovedCollection, SaveOutcome, SavedRecord,
    Stats, SyncToken, VfsCounters,
};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use self::calendar::CalendarJson;
pub use self::contact::{ContactJson, ContactSummaryJson, format_date};
use crate::datetime::iso_instant;
use crate::errors::Failure;

/// `{"error": {...}}`, on standard error.
#[derive(Debug, Serialize)]
pub struct ErrorJson {
    error: ErrorBody,
}

#[derive(Debug, Serialize)]
struct ErrorBody {
    /// A stable name, e.g. `not_found`.
    kind: &'static str,
    message: String,
}

impl ErrorJson {
    pub fn new(failure: &Failure) -> Self {
        Self {
            error: ErrorBody {
                kind: failure.json_kind(),
                message: failure.to_string(),
            },
        }
    }
}

/// A line of `list` and `find`.
#[derive(Debug, Serialize)]
pub struct ListedJson<'a, S> {
    pub id: i64,
    #[serde(flatten)]
    pub summary: S,
    /// The collection, if several are queried together.
    #[serde(flatten)]
    pub collection: Option<CollectionField<'a>>,
    /// With `--limit`: the cursor of the next page in the last line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Option<String>>,
}

/// A field that names the collection.
#[derive(Debug)]
pub struct CollectionField<'a>(pub &'static str, pub &'a str);

impl Serialize for CollectionField<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(Some(1))?;
        object.serialize_entry(self.0, self.1)?;
        object.end()
    }
}

impl<S> ListedJson<'_, S> {
    pub fn new(id: RecordId, summary: S) -> Self {
        Self {
            id: id.0,
            summary,
            collection: None,
            next: None,
        }
    }
}

/// The output of `find --count`.
#[derive(Debug, Serialize)]
pub struct CountJson {
    pub count: u64,
}

/// A line of `contacts list --letters`.
#[derive(Debug, Serialize)]
pub struct LetterJson<'a> {
    pub letter: &'a str,
    /// The position of its first name, or of the next letter if it has none.
    pub position: u64,
}

/// The output of `find --explain`.
#[derive(Debug, Serialize)]
pub struct PlanJson<'a> {
    /// The normalized filter.
    filter: &'a str,
    /// The access path: `list_scan`, `index_lookup` or `bitmap_scan`.
    access_path: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    contacts: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<u64>,
    /// Candidates from the index.
    candidates: u64,
    /// Whether every candidate is a match.
    exact: bool,
    /// Pending records outside the index, compared one by one.
    pending: u64,
    /// Records compared with the filter.
    rechecked: u64,
    /// List positions visited.
    scanned: u64,
    rows: u64,
    #[serde(flatten)]
    collection: Option<CollectionField<'a>>,
}

impl<'a> PlanJson<'a> {
    pub fn new(
        plan: &'a QueryPlan,
        kind: CollectionKind,
        collection: Option<CollectionField<'a>>,
    ) -> Self {
        Self {
            filter: &plan.filter,
            access_path: plan.access_path.name(),
            contacts: (kind == CollectionKind::Contacts).then_some(plan.records),
            entries: (kind == CollectionKind::Calendar).then_some(plan.records),
            candidates: plan.candidates,
            exact: plan.exact,
            pending: plan.pending,
            rechecked: plan.rechecked,
            scanned: plan.scanned,
            rows: plan.rows,
            collection,
        }
    }
}

/// A line of `watch`: a change.
#[derive(Debug, Serialize)]
pub struct ViewChangeJson<'a, S> {
    /// `added`, `changed` or `removed`.
    event: &'static str,
    number: i64,
    id: i64,
    uid: &'a str,
    #[serde(flatten)]
    summary: S,
    /// Fields whose searchable values changed.
    fields: Vec<&'static str>,
}

impl<'a, S> ViewChangeJson<'a, S> {
    pub fn new<T, F>(change: &'a ViewChange<T, F>, summary: S, fields: Vec<&'static str>) -> Self {
        Self {
            event: match change.kind {
                ChangeKind::Added => "added",
                ChangeKind::Changed => "changed",
                ChangeKind::Removed => "removed",
            },
            number: change.number,
            id: change.id.0,
            uid: &change.uid,
            summary,
            fields,
        }
    }
}

/// A line of `watch --initial`: an existing record.
#[derive(Debug, Serialize)]
pub struct ViewEntryJson<S> {
    /// `present`.
    event: &'static str,
    #[serde(flatten)]
    entry: ListedJson<'static, S>,
}

impl<S> ViewEntryJson<S> {
    pub fn new(id: RecordId, summary: S) -> Self {
        Self {
            event: "present",
            entry: ListedJson::new(id, summary),
        }
    }
}

/// A line of `watch`: earlier changes are no longer known.
#[derive(Debug, Serialize)]
pub struct ResetJson {
    /// `reset`.
    event: &'static str,
}

impl Default for ResetJson {
    fn default() -> Self {
        Self { event: "reset" }
    }
}

/// A line of `watch`: the collection was renamed.
#[derive(Debug, Serialize)]
pub struct RenamedJson<'a> {
    /// `collection_renamed`.
    event: &'static str,
    from: &'a str,
    name: &'a str,
}

impl<'a> RenamedJson<'a> {
    pub fn new(from: &'a str, name: &'a str) -> Self {
        Self {
            event: "collection_renamed",
            from,
            name,
        }
    }
}

/// The last line of `watch`: the collection was removed.
#[derive(Debug, Serialize)]
pub struct EndJson<'a> {
    /// `collection_removed`.
    event: &'static str,
    name: &'a str,
}

impl<'a> EndJson<'a> {
    pub fn new(name: &'a str) -> Self {
        Self {
            event: "collection_removed",
            name,
        }
    }
}

/// The last line of each batch of `watch`.
#[derive(Debug, Serialize)]
pub struct TokenJson {
    /// `token`.
    event: &'static str,
    token: String,
}

impl TokenJson {
    pub fn new(token: SyncToken) -> Self {
        Self {
            event: "token",
            token: token.to_string(),
        }
    }
}

/// The outcome of `add`, `edit`, `remove` and `restore`.
#[derive(Debug, Serialize)]
pub struct RecordChangeJson<'a> {
    pub id: i64,
    pub uid: &'a str,
    /// The current ETag; `null` after a removal.
    pub etag: Option<String>,
    pub name: &'a str,
    /// `added`, `changed`, `unchanged` or `removed`.
    pub outcome: &'static str,
}

impl<'a> RecordChangeJson<'a> {
    pub fn saved(saved: &SavedRecord, uid: &'a str, name: &'a str) -> Self {
        Self {
            id: saved.id.0,
            uid,
            etag: Some(saved.etag.to_string()),
            name,
            outcome: match saved.outcome {
                SaveOutcome::Added => "added",
                SaveOutcome::Changed => "changed",
                SaveOutcome::Unchanged => "unchanged",
            },
        }
    }
}

/// `import`.
#[derive(Debug, Default, Serialize)]
pub struct ImportJson {
    pub added: u64,
    pub changed: u64,
    pub unchanged: u64,
    /// Rejected pieces of input.
    pub refused: u64,
    pub files: Vec<FileJson>,
}

/// One file of `import`.
#[derive(Debug, Serialize)]
pub struct FileJson {
    file: String,
    /// `contacts` or `calendar`.
    kind: &'static str,
    bytes: u64,
    added: u64,
    changed: u64,
    unchanged: u64,
    refused: u64,
    /// The first thousand rejections.
    refusals: Vec<RefusedJson>,
    /// Imported records with warnings.
    warned: u64,
    /// The first thousand warnings.
    warnings: Vec<RefusedJson>,
}

#[derive(Debug, Serialize)]
struct RefusedJson {
    line: u64,
    last_line: u64,
    reason: String,
    excerpt: String,
}

impl ImportJson {
    pub fn add_file(&mut self, file: &str, kind: CollectionKind, report: ImportReport) {
        self.added += report.added;
        self.changed += report.changed;
        self.unchanged += report.unchanged;
        self.refused += report.refused;
        let refused = |r: Refused| RefusedJson {
            line: r.line,
            last_line: r.last_line,
            reason: r.reason,
            excerpt: r.excerpt,
        };
        self.files.push(FileJson {
            file: file.to_owned(),
            kind: match kind {
                CollectionKind::Calendar => "calendar",
                _ => "contacts",
            },
            bytes: report.bytes,
            added: report.added,
            changed: report.changed,
            unchanged: report.unchanged,
            refused: report.refused,
            refusals: report.refusals.into_iter().map(refused).collect(),
            warned: report.warned,
            warnings: report.warnings.into_iter().map(refused).collect(),
        });
    }
}

/// `init`.
#[derive(Debug, Serialize)]
pub struct InitJson {
    pub path: String,
    /// The locale of the sort order.
    pub locale: String,
    /// The region of phone numbers without a country code.
    pub region: Option<String>,
}

/// `backup` and `restore`.
#[derive(Debug, Serialize)]
pub struct CopyJson {
    pub path: String,
    pub bytes: u64,
}

/// `recover`.
#[derive(Debug, Serialize)]
pub struct RecoveredJson {
    pub path: String,
    /// Transactions replayed from the redo log.
    pub transactions: u64,
    /// Pages written.
    pub pages: u64,
}

/// `check`.
#[derive(Debug, Serialize)]
pub struct CheckJson {
    pub clean: bool,
    pub repaired: bool,
    pub contacts: u64,
    pub entries: u64,
    /// Records in the trash.
    pub removed: u64,
    pub problems: Vec<String>,
    /// Records of other programs that were rejected.
    pub write_queue: Vec<String>,
}

impl CheckJson {
    pub fn new(report: &CheckReport, repaired: bool) -> Self {
        Self {
            clean: report.is_clean(),
            repaired,
            contacts: report.contacts,
            entries: report.entries,
            removed: report.removed,
            problems: [&report.problems[..], &report.outdated[..]].concat(),
            write_queue: report.write_queue.clone(),
        }
    }
}

/// An address book and its number of contacts.
#[derive(Debug, Serialize)]
pub struct AddressBookJson<'a> {
    pub name: &'a str,
    pub contacts: u64,
}

/// A removed address book or calendar.
#[derive(Debug, Serialize)]
pub struct RemovedCollectionJson<C: Serialize> {
    id: i64,
    #[serde(flatten)]
    collection: C,
    removed: String,
    /// Until when it can be restored, at least.
    kept_until: String,
}

impl<C: Serialize> RemovedCollectionJson<C> {
    pub fn new(removed: &RemovedCollection, collection: C, viewer: &TimeZone) -> Self {
        Self {
            id: removed.id,
            collection,
            removed: iso_instant(removed.removed().into(), viewer),
            kept_until: iso_instant(removed.kept_until().into(), viewer),
        }
    }
}

/// `stats`.
#[derive(Debug, Serialize)]
pub struct StatsJson<'a> {
    path: String,
    address_books: Vec<AddressBookJson<'a>>,
    calendars: Vec<CalendarJson<'a>>,
    removed: u64,
    text_bytes: u64,
    file_bytes: u64,
    free_bytes: u64,
    changes: u64,
    pending_terms: u64,
    pending_trigrams: u64,
    locale: &'a str,
    region: Option<&'a str>,
    schema_version: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    vfs: Option<BTreeMap<&'static str, u64>>,
}

impl<'a> StatsJson<'a> {
    pub fn new(path: String, stats: &'a Stats, vfs: Option<VfsCounters>) -> Self {
        Self {
            path,
            vfs: vfs.map(|counters| counters.all().collect()),
            address_books: stats
                .address_books
                .iter()
                .map(|(name, contacts)| AddressBookJson {
                    name,
                    contacts: *contacts,
                })
                .collect(),
            calendars: stats
                .calendars
                .iter()
                .map(|(name, entries)| CalendarJson {
                    name,
                    entries: *entries,
                })
                .collect(),
            removed: stats.removed,
            text_bytes: stats.text_bytes,
            file_bytes: stats.file_bytes,
            free_bytes: stats.free_bytes,
            changes: stats.changes,
            pending_terms: stats.pending_terms,
            pending_trigrams: stats.pending_trigrams,
            locale: &stats.locale,
            region: (!stats.region.is_empty()).then_some(stats.region.as_str()),
            schema_version: stats.schema_version,
        }
    }
}

/// A step of `demo`.
#[derive(Debug, Serialize)]
pub struct StepJson<'a> {
    pub step: &'a str,
    pub result: &'a str,
    pub micros: f64,
}
