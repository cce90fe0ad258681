//! The objects that `--json` writes; described for their readers in `docs/src/json.md`.
//!
//! Fields are never left out: what there is none of is `null` or an empty list. New fields may
//! come, none goes or changes its meaning.

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

use self::calendar::CalendarListing;
pub use self::contact::{ContactObject, ContactSummaryObject, date};
use crate::datetime::iso_instant;
use crate::errors::Failure;

/// `{"error": {...}}`, on standard error.
#[derive(Debug, Serialize)]
pub struct ErrorObject {
    error: ErrorBody,
}

/// What went wrong.
#[derive(Debug, Serialize)]
struct ErrorBody {
    /// A stable name, e.g. `not_found`.
    kind: &'static str,
    /// The same in words.
    message: String,
}

impl ErrorObject {
    /// The object for a failure.
    pub fn of(failure: &Failure) -> Self {
        Self {
            error: ErrorBody {
                kind: failure.kind(),
                message: failure.to_string(),
            },
        }
    }
}

/// A line of `list` and `find`.
#[derive(Debug, Serialize)]
pub struct EntryObject<'a, S> {
    /// Number in the store.
    pub id: i64,
    /// What the list shows of it.
    #[serde(flatten)]
    pub summary: S,
    /// The collection that it is in, where several are asked together.
    #[serde(flatten)]
    pub holder: Option<CollectionField<'a>>,
    /// Where a page was asked for: on its last line the place where the next one begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Option<String>>,
}

/// What a collection is called, and its name.
#[derive(Debug)]
pub struct CollectionField<'a>(pub &'static str, pub &'a str);

impl Serialize for CollectionField<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(Some(1))?;
        object.serialize_entry(self.0, self.1)?;
        object.end()
    }
}

impl<S> EntryObject<'_, S> {
    /// The object for a list's entry that is no page's.
    pub fn new(id: RecordId, summary: S) -> Self {
        Self {
            id: id.0,
            summary,
            holder: None,
            next: None,
        }
    }
}

/// The answer of `find --count`.
#[derive(Debug, Serialize)]
pub struct CountObject {
    /// How many there are.
    pub count: u64,
}

/// A line of `contacts list --letters`.
#[derive(Debug, Serialize)]
pub struct LetterObject<'a> {
    /// The letter.
    pub letter: &'a str,
    /// The position of the first name under it, or of the next letter's if there is none.
    pub position: u64,
}

/// The answer of `find --explain`.
#[derive(Debug, Serialize)]
pub struct PlanObject<'a> {
    /// The filter in its full text form.
    filter: &'a str,
    /// The access path: `list_scan`, `index_lookup` or `bitmap_scan`.
    access_path: &'static str,
    /// Contacts in the address book.
    #[serde(skip_serializing_if = "Option::is_none")]
    contacts: Option<u64>,
    /// Entries in the calendar.
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<u64>,
    /// Candidates from the index.
    candidates: u64,
    /// True if every candidate matches.
    exact: bool,
    /// Records changed since the index was last merged.
    pending: u64,
    /// Records compared with the filter.
    rechecked: u64,
    /// List entries, or records by id, that were scanned.
    scanned: u64,
    /// Contacts in the answer.
    rows: u64,
    /// The collection, where several are asked together.
    #[serde(flatten)]
    holder: Option<CollectionField<'a>>,
}

impl<'a> PlanObject<'a> {
    /// The object for a plan over a collection of this kind.
    pub fn of(
        plan: &'a QueryPlan,
        kind: CollectionKind,
        holder: Option<CollectionField<'a>>,
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
            holder,
        }
    }
}

/// A line of `watch`: a change.
#[derive(Debug, Serialize)]
pub struct ViewChangeObject<'a, S> {
    /// `added`, `changed` or `removed`.
    event: &'static str,
    /// Number of the change.
    number: i64,
    /// Number in the store.
    id: i64,
    /// UID.
    uid: &'a str,
    /// What the list shows of it.
    #[serde(flatten)]
    summary: S,
    /// Fields whose searchable values were changed.
    fields: Vec<&'static str>,
}

impl<'a, S> ViewChangeObject<'a, S> {
    /// The object for a change in these fields.
    pub fn of<T, F>(change: &'a ViewChange<T, F>, summary: S, fields: Vec<&'static str>) -> Self {
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

/// A line of `watch --initial`: one that was there.
#[derive(Debug, Serialize)]
pub struct ViewEntryObject<S> {
    /// `present`.
    event: &'static str,
    #[serde(flatten)]
    entry: EntryObject<'static, S>,
}

impl<S> ViewEntryObject<S> {
    /// The object for a list's entry.
    pub fn new(id: RecordId, summary: S) -> Self {
        Self {
            event: "present",
            entry: EntryObject::new(id, summary),
        }
    }
}

/// A line of `watch`: what was changed until now is not known.
#[derive(Debug, Serialize)]
pub struct ResetObject {
    /// `reset`.
    event: &'static str,
}

impl Default for ResetObject {
    fn default() -> Self {
        Self { event: "reset" }
    }
}

/// A line of `watch`: what is followed has another name.
#[derive(Debug, Serialize)]
pub struct RenamedObject<'a> {
    /// `collection_renamed`.
    event: &'static str,
    /// The name it had.
    from: &'a str,
    /// The name it has.
    name: &'a str,
}

impl<'a> RenamedObject<'a> {
    /// The object for a name in place of another.
    pub fn new(from: &'a str, name: &'a str) -> Self {
        Self {
            event: "collection_renamed",
            from,
            name,
        }
    }
}

/// The last line of `watch`: what was followed is removed.
#[derive(Debug, Serialize)]
pub struct EndObject<'a> {
    /// `collection_removed`.
    event: &'static str,
    /// Its name.
    name: &'a str,
}

impl<'a> EndObject<'a> {
    /// The object for what had this name.
    pub fn new(name: &'a str) -> Self {
        Self {
            event: "collection_removed",
            name,
        }
    }
}

/// A line of `watch`, the last of each batch.
#[derive(Debug, Serialize)]
pub struct TokenObject {
    /// `token`.
    event: &'static str,
    /// What to go on from.
    token: String,
}

impl TokenObject {
    /// The object for a token.
    pub fn of(token: SyncToken) -> Self {
        Self {
            event: "token",
            token: token.to_string(),
        }
    }
}

/// What was done to a record: `add`, `edit`, `remove`, `restore`.
#[derive(Debug, Serialize)]
pub struct RecordChangeObject<'a> {
    /// Number in the store.
    pub id: i64,
    /// UID.
    pub uid: &'a str,
    /// The ETag now; `null` when it was removed.
    pub etag: Option<String>,
    /// The name to show.
    pub name: &'a str,
    /// `added`, `changed`, `unchanged` or `removed`.
    pub outcome: &'static str,
}

impl<'a> RecordChangeObject<'a> {
    /// The object for a save.
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
pub struct ImportObject {
    /// New records.
    pub added: u64,
    /// Records with other content now.
    pub changed: u64,
    /// Records with the content they had.
    pub unchanged: u64,
    /// Pieces that did not go in.
    pub refused: u64,
    /// The same by file.
    pub files: Vec<FileObject>,
}

/// One file of `import`.
#[derive(Debug, Serialize)]
pub struct FileObject {
    file: String,
    /// `contacts` or `calendar`.
    holds: &'static str,
    bytes: u64,
    added: u64,
    changed: u64,
    unchanged: u64,
    refused: u64,
    /// The first thousand of what was refused.
    refusals: Vec<RefusedObject>,
    /// Records that went in of which something was not understood.
    warned: u64,
    /// The first thousand of them.
    warnings: Vec<RefusedObject>,
}

#[derive(Debug, Serialize)]
struct RefusedObject {
    line: u64,
    last_line: u64,
    reason: String,
    excerpt: String,
}

impl ImportObject {
    /// Counts a file in.
    pub fn add(&mut self, file: &str, holds: CollectionKind, report: ImportReport) {
        self.added += report.added;
        self.changed += report.changed;
        self.unchanged += report.unchanged;
        self.refused += report.refused;
        let refused = |r: Refused| RefusedObject {
            line: r.line,
            last_line: r.last_line,
            reason: r.reason,
            excerpt: r.excerpt,
        };
        self.files.push(FileObject {
            file: file.to_owned(),
            holds: match holds {
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
pub struct InitObject {
    /// The store's file.
    pub path: String,
    /// Locale of its lists.
    pub locale: String,
    /// Region that completes national phone numbers.
    pub region: Option<String>,
}

/// `backup` and `restore`.
#[derive(Debug, Serialize)]
pub struct CopyObject {
    /// The file that was made.
    pub path: String,
    /// Its size.
    pub bytes: u64,
}

/// `recover`.
#[derive(Debug, Serialize)]
pub struct RecoveredObject {
    /// The database.
    pub path: String,
    /// Transactions that were put in place from its redo log.
    pub transactions: u64,
    /// Pages that were written for them.
    pub pages: u64,
}

/// `check`.
#[derive(Debug, Serialize)]
pub struct CheckObject {
    /// Whether all is well now.
    pub clean: bool,
    /// Whether something was repaired.
    pub repaired: bool,
    /// Contacts looked at.
    pub contacts: u64,
    /// Calendar entries looked at.
    pub entries: u64,
    /// Records in the trash.
    pub removed: u64,
    /// What is wrong.
    pub problems: Vec<String>,
    /// What other programs wrote and could not be taken in.
    pub inbox: Vec<String>,
}

impl CheckObject {
    /// The object for a report.
    pub fn of(report: &CheckReport, repaired: bool) -> Self {
        Self {
            clean: report.is_clean(),
            repaired,
            contacts: report.contacts,
            entries: report.entries,
            removed: report.removed,
            problems: [&report.problems[..], &report.outdated[..]].concat(),
            inbox: report.inbox.clone(),
        }
    }
}

/// An address book with its number of contacts.
#[derive(Debug, Serialize)]
pub struct AddressBookObject<'a> {
    /// Its name.
    pub name: &'a str,
    /// Contacts in it.
    pub contacts: u64,
}

/// An address book or calendar that was removed.
#[derive(Debug, Serialize)]
pub struct RemovedCollectionObject<H: Serialize> {
    /// Its number in the store.
    id: i64,
    /// Its name, and what was in it.
    #[serde(flatten)]
    holder: H,
    /// When it was removed.
    removed: String,
    /// Until when it can be brought back at the least.
    kept_until: String,
}

impl<H: Serialize> RemovedCollectionObject<H> {
    /// The object for one that is `holder` beside, its times seen from `viewer`.
    pub fn of(removed: &RemovedCollection, holder: H, viewer: &TimeZone) -> Self {
        Self {
            id: removed.id,
            holder,
            removed: iso_instant(removed.removed().into(), viewer),
            kept_until: iso_instant(removed.kept_until().into(), viewer),
        }
    }
}

/// `stats`.
#[derive(Debug, Serialize)]
pub struct StatsObject<'a> {
    path: String,
    address_books: Vec<AddressBookObject<'a>>,
    calendars: Vec<CalendarListing<'a>>,
    removed: u64,
    text_bytes: u64,
    file_bytes: u64,
    free_bytes: u64,
    changes: u64,
    pending_terms: u64,
    pending_grams: u64,
    locale: &'a str,
    region: Option<&'a str>,
    schema_version: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    vfs: Option<BTreeMap<&'static str, u64>>,
}

impl<'a> StatsObject<'a> {
    /// The object for a store's figures.
    pub fn of(path: String, stats: &'a Stats, vfs: Option<VfsCounters>) -> Self {
        Self {
            path,
            vfs: vfs.map(|counters| counters.all().collect()),
            address_books: stats
                .address_books
                .iter()
                .map(|(name, contacts)| AddressBookObject {
                    name,
                    contacts: *contacts,
                })
                .collect(),
            calendars: stats
                .calendars
                .iter()
                .map(|(name, entries)| CalendarListing {
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
            pending_grams: stats.pending_grams,
            locale: &stats.locale,
            region: (!stats.region.is_empty()).then_some(stats.region.as_str()),
            schema_version: stats.schema_version,
        }
    }
}

/// A step of `demo`.
#[derive(Debug, Serialize)]
pub struct StepObject<'a> {
    /// What was done, in words.
    pub step: &'a str,
    /// What came of it.
    pub result: &'a str,
    /// How long it took.
    pub micros: f64,
}
