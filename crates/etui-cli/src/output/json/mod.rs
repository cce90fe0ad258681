//! The objects that `--json` writes; described for their readers in `docs/src/json.md`.
//!
//! Fields are never left out: what there is none of is `null` or an empty list. New fields may
//! come, none goes or changes its meaning.

pub mod calendar;

use std::collections::BTreeMap;

use etui::contacts::{Card, CardError, Contact, Date, Photo, Summary, Typed};
use etui::import::{ImportReport, Refused};
use etui::query::{Plan, Way};
use etui::text::phone::{PhoneNumber, Region};
use etui::view::ViewChange;
use etui::{ChangeKind, CheckReport, Kind, Outcome, RecordId, Saved, Stats, Token, VfsCounters};
use serde::Serialize;

use self::calendar::CalendarObject;
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
pub struct EntryObject<S> {
    /// Number in the store.
    pub id: i64,
    /// What the list shows of it.
    #[serde(flatten)]
    pub summary: S,
    /// Where a page was asked for: on its last line the place where the next one begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Option<String>>,
}

impl<S> EntryObject<S> {
    /// The object for a list's entry that is no page's.
    pub fn new(id: RecordId, summary: S) -> Self {
        Self {
            id: id.0,
            summary,
            next: None,
        }
    }
}

/// What a list shows of a contact.
#[derive(Debug, Serialize)]
pub struct ContactSummaryObject<'a> {
    /// The name to show.
    pub name: &'a str,
    /// The first organisation.
    pub organization: &'a str,
    /// The first phone number, as written.
    pub phone: &'a str,
    /// The first e-mail address.
    pub email: &'a str,
}

impl<'a> From<&'a Summary> for ContactSummaryObject<'a> {
    fn from(summary: &'a Summary) -> Self {
        Self {
            name: &summary.name,
            organization: &summary.organization,
            phone: &summary.phone,
            email: &summary.email,
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
    /// How contacts were found: `list`, `gather`, `walk`, `set` or `index`.
    way: &'static str,
    /// Contacts in the address book.
    #[serde(skip_serializing_if = "Option::is_none")]
    contacts: Option<u64>,
    /// Entries in the calendar.
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<u64>,
    /// Records that the index gave.
    candidates: u64,
    /// Whether the index gives nothing but what matches.
    exact: bool,
    /// Contacts that the index does not have yet, compared besides.
    pending: u64,
    /// Contacts compared with the filter.
    compared: u64,
    /// Places of the list gone through.
    passed: u64,
    /// Contacts in the answer.
    rows: u64,
}

impl<'a> PlanObject<'a> {
    /// The object for a plan over a collection of this kind.
    pub fn of(plan: &'a Plan, kind: Kind) -> Self {
        Self {
            filter: &plan.filter,
            way: match plan.way {
                Way::List => "list",
                Way::Gather => "gather",
                Way::Walk => "walk",
                Way::Set => "set",
                Way::Index => "index",
            },
            contacts: (kind == Kind::Contacts).then_some(plan.records),
            entries: (kind == Kind::Calendar).then_some(plan.records),
            candidates: plan.candidates,
            exact: plan.exact,
            pending: plan.pending,
            compared: plan.compared,
            passed: plan.passed,
            rows: plan.rows,
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
    entry: EntryObject<S>,
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
    pub fn of(token: Token) -> Self {
        Self {
            event: "token",
            token: token.to_string(),
        }
    }
}

/// A line of `contacts show`, and of `export --json`.
#[derive(Debug, Serialize)]
pub struct ContactObject {
    /// Number in the store.
    id: i64,
    /// UID, or the identity that stands for one.
    uid: String,
    /// Version of the content, 32 hexadecimal digits.
    etag: String,
    /// Version of the vCard: `2.1`, `3.0` or `4.0`.
    version: String,
    /// The name to show.
    name: String,
    /// The N property.
    name_parts: NameObject,
    /// Nicknames.
    nicknames: Vec<String>,
    /// The first organisation's name.
    organization: Option<String>,
    /// All organisations.
    organizations: Vec<OrganizationObject>,
    /// Job title.
    title: Option<String>,
    /// Phone numbers, preferred ones first.
    phones: Vec<PhoneObject>,
    /// E-mail addresses, preferred ones first.
    emails: Vec<TypedObject>,
    /// Web addresses.
    urls: Vec<TypedObject>,
    /// Postal addresses.
    addresses: Vec<AddressObject>,
    /// `2001-02-28`, or `--02-28` without a year.
    birthday: Option<String>,
    /// Categories.
    categories: Vec<String>,
    /// Notes.
    note: Option<String>,
    /// The first photo, without its bytes.
    photo: Option<PhotoObject>,
    /// Every property, in the vCard's order.
    properties: Vec<PropertyObject>,
}

#[derive(Debug, Serialize)]
struct NameObject {
    family: String,
    given: String,
    additional: String,
    prefix: String,
    suffix: String,
}

#[derive(Debug, Serialize)]
struct OrganizationObject {
    name: String,
    units: Vec<String>,
}

#[derive(Debug, Serialize)]
struct PhoneObject {
    value: String,
    types: Vec<String>,
    preferred: bool,
    /// The number in international form, `+` and digits, where it can be told.
    e164: Option<String>,
}

#[derive(Debug, Serialize)]
struct TypedObject {
    value: String,
    types: Vec<String>,
    preferred: bool,
}

impl From<Typed> for TypedObject {
    fn from(t: Typed) -> Self {
        Self {
            value: t.value,
            types: t.types,
            preferred: t.preferred,
        }
    }
}

#[derive(Debug, Serialize)]
struct AddressObject {
    street: String,
    locality: String,
    region: String,
    code: String,
    country: String,
    types: Vec<String>,
}

#[derive(Debug, Serialize)]
struct PhotoObject {
    media_type: Option<String>,
    /// Size of the image.
    bytes: Option<u64>,
    /// Where it is, when it is not in the vCard.
    uri: Option<String>,
}

#[derive(Debug, Serialize)]
struct PropertyObject {
    group: Option<String>,
    name: String,
    value: String,
}

impl ContactObject {
    /// The object for a contact.
    pub fn of(contact: &Contact, region: Option<Region>) -> Result<Self, CardError> {
        let card = contact.card()?;
        Ok(Self {
            id: contact.id.0,
            uid: contact.uid.clone(),
            etag: contact.etag.to_string(),
            ..Self::of_card(&card, region)
        })
    }

    fn of_card(card: &Card, region: Option<Region>) -> Self {
        let name = card.name();
        let phone = |t: Typed| PhoneObject {
            e164: PhoneNumber::parse(&t.value, region).and_then(|n| n.e164()),
            value: t.value,
            types: t.types,
            preferred: t.preferred,
        };
        let typed = |all: Vec<Typed>| all.into_iter().map(TypedObject::from).collect();
        Self {
            id: 0,
            uid: String::new(),
            etag: String::new(),
            version: card.version().to_string(),
            name: card.display_name(),
            name_parts: NameObject {
                family: name.family,
                given: name.given,
                additional: name.additional,
                prefix: name.prefix,
                suffix: name.suffix,
            },
            nicknames: card.nicknames(),
            organization: card.organization().map(|o| o.name),
            organizations: card
                .organizations()
                .into_iter()
                .map(|o| OrganizationObject {
                    name: o.name,
                    units: o.units,
                })
                .collect(),
            title: card.title().map(str::to_owned),
            phones: card.phones().into_iter().map(phone).collect(),
            emails: typed(card.emails()),
            urls: typed(card.urls()),
            addresses: card
                .addresses()
                .into_iter()
                .map(|a| AddressObject {
                    street: a.street,
                    locality: a.locality,
                    region: a.region,
                    code: a.code,
                    country: a.country,
                    types: a.types,
                })
                .collect(),
            birthday: card.birthday().map(date),
            categories: card.categories(),
            note: card.note(),
            photo: card.photo().map(|p| match p {
                Photo::Inline { media_type, bytes } => PhotoObject {
                    media_type,
                    bytes: Some(bytes.len() as u64),
                    uri: None,
                },
                Photo::Uri(uri) => PhotoObject {
                    media_type: None,
                    bytes: None,
                    uri: Some(uri),
                },
            }),
            properties: card
                .all_properties()
                .map(|(group, name, value)| PropertyObject {
                    group: group.map(str::to_owned),
                    name: name.to_owned(),
                    value,
                })
                .collect(),
        }
    }
}

/// A date as vCard 4.0 and ISO 8601 write it, `--MM-DD` without its year.
pub fn date(date: Date) -> String {
    match (date.year, date.month, date.day) {
        (Some(y), Some(m), Some(d)) => format!("{y:04}-{m:02}-{d:02}"),
        (Some(y), Some(m), None) => format!("{y:04}-{m:02}"),
        (Some(y), None, _) => format!("{y:04}"),
        (None, Some(m), Some(d)) => format!("--{m:02}-{d:02}"),
        (None, Some(m), None) => format!("--{m:02}"),
        (None, None, Some(d)) => format!("---{d:02}"),
        (None, None, None) => String::new(),
    }
}

/// What was done to a contact: `contacts add`, `edit`, `remove`, `restore`.
#[derive(Debug, Serialize)]
pub struct DoneObject<'a> {
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

impl<'a> DoneObject<'a> {
    /// The object for a save.
    pub fn saved(saved: &Saved, uid: &'a str, name: &'a str) -> Self {
        Self {
            id: saved.id.0,
            uid,
            etag: Some(saved.etag.to_string()),
            name,
            outcome: match saved.outcome {
                Outcome::Added => "added",
                Outcome::Changed => "changed",
                Outcome::Unchanged => "unchanged",
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
    pub fn add(&mut self, file: &str, holds: Kind, report: ImportReport) {
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
                Kind::Calendar => "calendar",
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
            problems: report.problems.clone(),
            inbox: report.inbox.clone(),
        }
    }
}

/// An address book with its number of contacts.
#[derive(Debug, Serialize)]
pub struct BookObject<'a> {
    /// Its name.
    pub name: &'a str,
    /// Contacts in it.
    pub contacts: u64,
}

/// `stats`.
#[derive(Debug, Serialize)]
pub struct StatsObject<'a> {
    path: String,
    address_books: Vec<BookObject<'a>>,
    calendars: Vec<CalendarObject<'a>>,
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
                .map(|(name, contacts)| BookObject {
                    name,
                    contacts: *contacts,
                })
                .collect(),
            calendars: stats
                .calendars
                .iter()
                .map(|(name, entries)| CalendarObject {
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
