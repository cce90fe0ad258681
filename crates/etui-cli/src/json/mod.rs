//! The objects printed with `--json`; `docs/src/scripts.md` documents them. Those of a command's own types
//! are beside its types.
//!
//! A field without a value is `null` or an empty list, not absent. New fields may be added; none is
//! removed or changes its meaning.

pub mod calendar;
mod contact;

use etui::import::{ImportReport, Refused};
use etui::{CheckReport, CollectionKind, ETag, RecordId, SaveOutcome, SavedRecord, Stats};
use etui_program::output::{NamedField, object};
use etui_tables::{FieldCount, Loss, LossKind};
use serde::Serialize;

pub use self::contact::contact_json;

/// A line of `list` and `find`.
pub fn listed_json(
    id: RecordId,
    summary: impl Serialize,
    collection: Option<NamedField<&str>>,
    corrected: Option<&str>,
    next: Option<Option<String>>,
) -> impl Serialize {
    object! {
        id: id.0,
        #[serde(flatten)] summary: summary,
        // The collection, in lists and answers to searches.
        #[serde(flatten)] collection: collection,
        // Only if nothing matched the words as typed: those that were searched instead.
        #[serde(flatten)] corrected: corrected.map(|words| NamedField("corrected", words)),
        // With `--limit`: the cursor of the next page in the last line.
        #[serde(flatten)] next: next.map(|next| NamedField("next", next)),
    }
}

/// The outcome of `add`, `edit`, `remove` and `restore`; a removed record has no ETag.
pub fn record_change_json(
    id: RecordId,
    uid: &str,
    etag: Option<ETag>,
    name: &str,
    outcome: &'static str,
) -> impl Serialize {
    let etag = etag.map(|etag| etag.to_string());
    object! { id: id.0, uid: uid, etag: etag, name: name, outcome: outcome }
}

/// The outcome of `restore`: the record, and whether its latest change was undone or redone, or the
/// record restored from the trash.
pub fn restored_json(
    saved: &SavedRecord,
    uid: &str,
    name: &str,
    action: &'static str,
) -> impl Serialize {
    object! { #[serde(flatten)] saved: saved_json(saved, uid, name), action: action }
}

/// The outcome of `add` and `edit`.
pub fn saved_json(saved: &SavedRecord, uid: &str, name: &str) -> impl Serialize {
    let outcome = match saved.outcome {
        SaveOutcome::Added => "added",
        SaveOutcome::Changed => "changed",
        SaveOutcome::Unchanged => "unchanged",
    };
    record_change_json(saved.id, uid, Some(saved.etag), name, outcome)
}

/// The notes of an import of CSV or LDIF; none of another file.
#[derive(Debug, Clone, Copy, Default)]
pub struct TableNotes<'t> {
    pub charset: Option<&'static str>,
    pub kept: &'t [FieldCount],
    pub skipped: &'t [FieldCount],
}

/// One file of `import`.
pub fn imported_file_json(
    file: String,
    kind: CollectionKind,
    calendar: Option<String>,
    report: ImportReport,
    removed: u64,
    table: TableNotes<'_>,
) -> impl Serialize + use<> {
    let counts = |all: &[FieldCount]| {
        let count = |c: &FieldCount| object! { name: c.name.clone(), records: c.records };
        all.iter().map(count).collect::<Vec<_>>()
    };
    // The first thousand rejections or warnings.
    let pieces = |all: Vec<Refused>| {
        let piece = |r: Refused| {
            object! { line: r.line, last_line: r.last_line, reason: r.reason, excerpt: r.excerpt }
        };
        all.into_iter().map(piece).collect::<Vec<_>>()
    };
    object! {
        file: file,
        kind: match kind {
            CollectionKind::Calendar => "calendar",
            _ => "contacts",
        },
        // The calendar of the entries; `null` for contacts.
        calendar: calendar,
        bytes: report.bytes,
        added: report.added,
        changed: report.changed,
        unchanged: report.unchanged,
        older: report.older,
        proposals: report.proposals,
        refused: report.refused,
        // Records whose files another program removed.
        removed: removed,
        refusals: pieces(report.refusals),
        warned: report.warned,
        warnings: pieces(report.warnings),
        // The charset of CSV or LDIF that is not UTF-8 or UTF-16.
        charset: table.charset,
        // Fields of CSV and LDIF that were kept under their own names, and entries that are no people.
        kept: counts(table.kept),
        skipped: counts(table.skipped),
    }
}

/// The parts of a contact that a table does not hold.
pub fn losses_json(losses: Vec<Loss>) -> Vec<impl Serialize> {
    let one = |loss: Loss| {
        let (kind, part) = match loss.kind {
            LossKind::Property => ("property", None),
            LossKind::Types(types) => ("types", Some(types.join(","))),
            LossKind::Label(label) => ("label", Some(label)),
            LossKind::Parameter(name) => ("parameter", Some(name)),
            LossKind::Part(part) => ("part", Some(part)),
            _ => ("separator", None),
        };
        object! { property: loss.property, kind: kind, part: part, value: loss.value }
    };
    losses.into_iter().map(one).collect()
}

/// `check`.
pub fn check_json(report: &CheckReport, repaired: bool) -> impl Serialize {
    object! {
        clean: report.is_clean(),
        repaired: repaired,
        contacts: report.contacts,
        entries: report.entries,
        media: report.media,
        // Records in the trash.
        removed: report.removed,
        problems: [&report.problems[..], &report.outdated[..]].concat(),
        // Records of other programs that were rejected.
        write_queue: &report.write_queue,
    }
}

/// A collection and its number of records, `contacts` or `entries`.
pub fn counted_json(name: &str, many: &'static str, records: u64) -> impl Serialize {
    object! { name: name, #[serde(flatten)] records: NamedField(many, records) }
}

/// `stats`.
pub fn stats_json(path: &str, stats: &Stats) -> impl Serialize {
    fn collections(list: &[(String, u64)], many: &'static str) -> Vec<impl Serialize> {
        let each = list.iter().map(|(name, n)| counted_json(name, many, *n));
        each.collect()
    }
    object! {
        path: path,
        address_books: collections(&stats.address_books, "contacts"),
        calendars: collections(&stats.calendars, "entries"),
        removed: stats.removed,
        text_bytes: stats.text_bytes,
        file_bytes: stats.file_bytes,
        free_bytes: stats.free_bytes,
        changes: stats.changes,
        pending_terms: stats.pending_terms,
        pending_trigrams: stats.pending_trigrams,
        locale: &stats.locale,
        region: Some(&stats.region).filter(|region| !region.is_empty()),
        schema_version: stats.schema_version,
        // Locks that no other code of the program can release.
        ofd_locks: etui::has_ofd_locks(),
    }
}
