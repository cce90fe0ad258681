//! Collections of the store for sources of the desktop, by external id.
//!
//! The built-in address book and calendar are the store's default ones; every other source has a
//! collection of its own, named as the person sees the source.

use etui::Store;
use etui::record::{Collection, RecordKind};

use crate::sources::{Source, SourceKind};

/// This many sources may share a display name; their collections are numbered.
const MAX_SAME_NAMES: u32 = 1_000;

/// Returns the collection of a source; makes it if the source is new.
pub(crate) fn adopt_collection<'s, R: RecordKind>(
    store: &'s Store,
    kind: SourceKind,
    source: &Source,
) -> etui::Result<Collection<'s, R>> {
    let id = kind.external_id(&source.uid);
    if let Some(found) = find_collection(store, kind, &source.uid)? {
        if !store.is_read_only() && found.external_id()?.is_none() {
            found.set_external_id(Some(&id))?;
        }
        return Ok(found);
    }
    // Tasks and memos of the built-in sources have the name of the calendar, "Personal".
    let shown = source.display_name();
    let name = &match kind {
        SourceKind::TaskList => format!("{shown} (tasks)"),
        SourceKind::MemoList => format!("{shown} (memos)"),
        SourceKind::AddressBook | SourceKind::Calendar => shown.to_owned(),
    };
    let make = |name: &str| store.create_collection_with_external_id::<R>(name, &id);
    let mut made = make(name);
    for number in 2..=MAX_SAME_NAMES {
        made = match made {
            Err(etui::Error::CollectionExists { .. }) => make(&format!("{name} ({number})")),
            // The display name cannot be a collection's.
            Err(etui::Error::BadName { .. }) => make(&id),
            made => return made,
        };
    }
    made
}

/// Returns the collection of a source: the one with its external id, or the default one for a
/// built-in source as long as no other source has that.
pub(crate) fn find_collection<'s, R: RecordKind>(
    store: &'s Store,
    kind: SourceKind,
    source_uid: &str,
) -> etui::Result<Option<Collection<'s, R>>> {
    let found = store.collection_by_external_id(&kind.external_id(source_uid))?;
    if found.is_some() || !is_default(kind, source_uid) {
        return Ok(found);
    }
    let default = store.collection(None)?;
    Ok(default.external_id()?.is_none().then_some(default))
}

fn is_default(kind: SourceKind, source_uid: &str) -> bool {
    match kind {
        SourceKind::AddressBook => source_uid == "system-address-book",
        SourceKind::Calendar => source_uid == "system-calendar",
        SourceKind::TaskList | SourceKind::MemoList => false,
    }
}
