//! Resources: records by the names that clients of a sync server gave them.

mod bytes;
mod collections;
mod names;
mod random;
mod refused;
mod stores;
mod tokens;

use crate::support::{directory, german};
use etui::calendar::CalendarObject;
use etui::record::Collection;
use etui::resource::{Resource, ResourceChange, ResourceChanges, ResourceCondition, SavedResource};
use etui::{Result, Store, SyncToken};

/// Opens a new store.
fn new_store() -> (tempfile::TempDir, Store) {
    let (dir, path) = directory();
    let store = Store::open_with(&path, &german()).unwrap();
    (dir, store)
}

/// Returns a calendar object with one event.
fn event(uid: &str, summary: &str) -> String {
    format!(
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test//EN\r\nBEGIN:VEVENT\r\nUID:{uid}\r\n\
         DTSTART:20261120T100000Z\r\nSUMMARY:{summary}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    )
}

/// Puts without a condition.
fn put<R: Resource>(
    collection: &Collection<R>,
    name: &str,
    bytes: impl AsRef<[u8]>,
) -> Result<SavedResource> {
    collection.put_resource(name, bytes.as_ref(), &ResourceCondition::Always)
}

/// Returns the bytes of a resource.
fn get<R: Resource>(collection: &Collection<R>, name: &str) -> Option<Vec<u8>> {
    collection.resource(name).unwrap().map(|found| found.bytes)
}

/// Returns the names in the listing, in order.
fn listed<R: Resource>(collection: &Collection<R>) -> Vec<String> {
    let mut names = Vec::new();
    let visit = |entry: etui::resource::ListedResource<'_>| {
        names.push(entry.name.into_owned());
        Ok(())
    };
    collection.for_each_resource(visit).unwrap();
    names.sort();
    names
}

/// Returns all changes since a token, and the next token.
fn since<R: Resource>(
    collection: &Collection<R>,
    token: &SyncToken,
) -> (Vec<ResourceChange>, SyncToken) {
    match collection.resource_changes(Some(token), None).unwrap() {
        ResourceChanges::Since {
            changes,
            token,
            is_complete,
        } => {
            assert!(is_complete);
            (changes, token)
        }
        ResourceChanges::Resynchronise => panic!("the log is kept"),
    }
}

/// Returns names with a mark for each that was removed.
fn marks(changes: &[ResourceChange]) -> Vec<String> {
    let mark = |change: &ResourceChange| match change.tag {
        Some(_) => change.name.clone(),
        None => format!("-{}", change.name),
    };
    changes.iter().map(mark).collect()
}

/// Imports a file into a calendar.
fn import(calendar: &Collection<CalendarObject>, file: &str) {
    let report = calendar
        .import(
            file.as_bytes(),
            &mut |_| std::ops::ControlFlow::Continue(()),
        )
        .unwrap();
    assert_eq!(report.refused, 0);
}
