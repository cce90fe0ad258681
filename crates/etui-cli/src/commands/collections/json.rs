//! JSON objects of address books and calendars.

use etui::RemovedCollection;
use etui::calendar::Color;
use etui::calendar::time::TimeZone;
use etui_program::output::{NamedField, object};
use serde::Serialize;

use crate::commands::records::RecordCommands;
use crate::json::counted_json;
use etui_when::iso_instant;

/// An address book or calendar and its number of records.
pub fn collection_json<R: RecordCommands>(name: &str, records: u64) -> impl Serialize {
    counted_json(name, R::MANY, records)
}

/// A line of `addressbooks` and `calendars`; a calendar has a colour, or `null`.
pub fn listed_collection_json<R: RecordCommands>(
    name: &str,
    records: u64,
    color: Option<Color>,
) -> impl Serialize {
    let color = R::HAS_COLORS.then(|| NamedField("color", color.map(|c| c.to_string())));
    object! {
        #[serde(flatten)] collection: collection_json::<R>(name, records),
        #[serde(flatten)] color: color,
    }
}

/// A removed address book or calendar, and until when it can be restored, at least.
pub fn removed_collection_json<R: RecordCommands>(
    removed: &RemovedCollection,
    viewer: &TimeZone,
) -> impl Serialize {
    object! {
        id: removed.id.0,
        #[serde(flatten)] collection: collection_json::<R>(&removed.name, removed.records),
        removed: iso_instant(removed.removed.into(), viewer),
        kept_until: iso_instant(removed.kept_until.into(), viewer),
    }
}
