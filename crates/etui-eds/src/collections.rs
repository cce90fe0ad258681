//! Collections of the store for sources of the desktop, by external id.
//!
//! The built-in address book and calendar are the store's default ones; every other source has a
//! collection of its own, named as the person sees the source.

use etui::Store;
use etui::calendar::CalendarObject;
use etui::contacts::Card;
use etui::record::{Collection, RecordKind};
use etui::store::CollectionKey;
use etui::store::NewCollection;

use crate::sources::{Source, SourceKind};

/// This many sources may share a display name; their collections are numbered.
const MAX_SAME_NAMES: u32 = 1_000;

/// Returns the collection of a source; makes it if the source is new.
pub(crate) fn adopt_collection<R: RecordKind>(
    store: &Store,
    kind: SourceKind,
    source: &Source,
) -> etui::Result<Collection<R>> {
    let id = kind.external_id(&source.uid);
    if let Some(found) = find_collection(store, kind, &source.uid)? {
        if !store.is_read_only() && found.external_id()?.is_none() {
            found.set_external_id(Some(&id))?;
        }
        return Ok(found);
    }
    with_free_name(kind, source, |name| {
        store.collections::<R>().create(NewCollection {
            external_id: Some(&id),
            ..NewCollection::from(name)
        })
    })
}

/// Renames the collection of a source as the source is named now.
pub(crate) fn rename_collection(
    store: &Store,
    kind: SourceKind,
    source: &Source,
) -> etui::Result<()> {
    fn rename<R: RecordKind>(store: &Store, kind: SourceKind, source: &Source) -> etui::Result<()> {
        let Some(found) = find_collection::<R>(store, kind, &source.uid)? else {
            return Ok(());
        };
        with_free_name(kind, source, |name| match found.name() == name {
            true => Ok(()),
            false => store
                .collections::<R>()
                .rename(found.name(), name)
                .map(drop),
        })
    }
    match kind {
        SourceKind::AddressBook => rename::<Card>(store, kind, source),
        _ => rename::<CalendarObject>(store, kind, source),
    }
}

/// Moves the collection of a source to the trash.
pub(crate) fn remove_collection(
    store: &Store,
    kind: SourceKind,
    source_uid: &str,
) -> etui::Result<()> {
    fn remove<R: RecordKind>(store: &Store, kind: SourceKind, uid: &str) -> etui::Result<()> {
        if let Some(found) = find_collection::<R>(store, kind, uid)? {
            store.collections::<R>().remove(found.name())?;
        }
        Ok(())
    }
    match kind {
        SourceKind::AddressBook => remove::<Card>(store, kind, source_uid),
        _ => remove::<CalendarObject>(store, kind, source_uid),
    }
}

/// Gives a collection the display name of its source, with a number if another collection has it.
fn with_free_name<T>(
    kind: SourceKind,
    source: &Source,
    give: impl Fn(&str) -> etui::Result<T>,
) -> etui::Result<T> {
    // Tasks and memos of the built-in sources have the name of the calendar, "Personal".
    let shown = source.display_name();
    let name = &match kind {
        SourceKind::TaskList => format!("{shown} (tasks)"),
        SourceKind::MemoList => format!("{shown} (memos)"),
        SourceKind::AddressBook | SourceKind::Calendar => shown.to_owned(),
    };
    let mut given = give(name);
    for number in 2..=MAX_SAME_NAMES {
        given = match given {
            Err(etui::Error::CollectionExists { .. }) => give(&format!("{name} ({number})")),
            // The display name cannot be a collection's.
            Err(etui::Error::BadName { .. }) => give(&kind.external_id(&source.uid)),
            given => return given,
        };
    }
    given
}

/// Returns the collection of a source: the one with its external id, or the default one for a
/// built-in source as long as no other source has that.
pub(crate) fn find_collection<R: RecordKind>(
    store: &Store,
    kind: SourceKind,
    source_uid: &str,
) -> etui::Result<Option<Collection<R>>> {
    match store.collection(CollectionKey::ExternalId(&kind.external_id(source_uid))) {
        Err(etui::Error::NoCollection { .. }) if is_default(kind, source_uid) => {}
        Err(etui::Error::NoCollection { .. }) => return Ok(None),
        found => return found.map(Some),
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
