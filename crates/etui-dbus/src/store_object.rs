//! `org.etui.Store1`: the store.

// The macro `interface` takes the names of a reply's arguments for a tuple, not for an alias of one.
#![allow(clippy::type_complexity)]

use etui::store::CollectionKey;
use etui::store::NewCollection;
use std::collections::HashMap;
use std::os::fd::OwnedFd;

use etui::calendar::CalendarObject;
use etui::contacts::Card;
use etui::{CollectionKind, Step, UndoEffect, UndoReport};
use zbus::{OwnedObjectPath, interface};

use crate::collection::calls_on;
use crate::collection_object::{check_array, kind_name};
use crate::direct;
use crate::error::{ErrorKind, StoreError};
use crate::options::{CallOptions, OptionArgument};
use crate::paths::{collection_id, collection_path};
use crate::registry::refresh_objects;
use crate::rows::without_nul;
use crate::service::{Endpoint, Service};
use crate::typed_collection::seconds_since_epoch;

/// The capabilities of this version. Programs test these, not the version.
const FEATURES: &[&str] = &[
    "descriptors",
    "direct",
    "duplicates",
    "external-ids",
    "history",
    "import",
    "media",
    "search",
    "steps",
    "transfer",
    "views",
];
/// Steps that are listed if no limit is given.
const MAX_STEPS: u64 = 1_000;
/// Records and collections that an undo reports as not undone.
const MAX_NOT_UNDONE: usize = 1_000;

/// The object of the store on one connection.
pub(crate) struct StoreObject {
    pub(crate) endpoint: Endpoint,
}

/// A collection as a short answer: name, object, kind.
type WireCollection = (String, OwnedObjectPath, String);

/// A removed collection: name, kind, number of records, time of its removal.
type WireRemoved = (String, String, u64, i64);

/// A step: id, time, who, what, number of changes, whether it is an undo, the step that undid it.
type WireStep = (u64, i64, String, String, u64, bool, u64);

/// A record or collection that was not undone: UID or name, kind, effect.
type WireNotUndone = (String, String, String);

#[interface(name = "org.etui.Store1")]
impl StoreObject {
    /// The version of the program.
    #[zbus(property(emits_changed_signal = "const"))]
    fn version(&self) -> String {
        env!("CARGO_PKG_VERSION").to_owned()
    }

    /// The capabilities of the service: `descriptors`, `direct`, `duplicates` (and merging),
    /// `external-ids`, `history`, `import`, `media`, `search` (ranked), `steps` (and undoing them),
    /// `transfer` (copying and moving records), `views`.
    #[zbus(property(emits_changed_signal = "const"))]
    fn features(&self) -> Vec<String> {
        FEATURES.iter().map(|name| (*name).to_owned()).collect()
    }

    /// The locale whose collation orders the lists (BCP 47).
    #[zbus(property(emits_changed_signal = "const"))]
    fn locale(&self) -> Result<String, StoreError> {
        self.endpoint
            .answer(|service| Ok(service.store().settings().locale))
    }

    /// The region that completes national phone numbers (ISO 3166-1), or an empty text.
    #[zbus(property(emits_changed_signal = "const"))]
    fn region(&self) -> Result<String, StoreError> {
        self.endpoint.answer(|service| {
            let region = service.store().settings().region;
            Ok(region.map(|r| r.code().to_owned()).unwrap_or_default())
        })
    }

    /// True if the store can only be read.
    #[zbus(property(emits_changed_signal = "const"))]
    fn read_only(&self) -> bool {
        self.endpoint.service.store().is_read_only()
    }

    /// Returns the collections of a kind (`contacts`, `calendar`, or an empty text for all), the
    /// default one of a kind first: name, object, kind.
    #[zbus(out_args("collections"))]
    async fn collections(&self, kind: String) -> Result<Vec<WireCollection>, StoreError> {
        let kinds = parse_kinds(&kind)?;
        refresh_objects(&self.endpoint).await?;
        let list = move |service: &Service| {
            let mut listed = Vec::new();
            for kind in kinds {
                for (id, name) in service.collections(kind)? {
                    let path = OwnedObjectPath::try_from(collection_path(id))?;
                    listed.push((name, path, kind_name(kind).to_owned()));
                }
            }
            Ok(listed)
        };
        self.endpoint.answer_on_worker(list).await
    }

    /// Creates a collection. Option `external_id s`: a text that finds it again after it was
    /// renamed, unique within its kind.
    #[zbus(out_args("collection"))]
    async fn create_collection(
        &self,
        kind: String,
        name: String,
        options: OptionArgument,
    ) -> Result<OwnedObjectPath, StoreError> {
        let kind = parse_kind(&kind)?;
        let mut options = CallOptions::new(options);
        let external_id = options.take_text("external_id")?;
        options.finish()?;
        let create = move |service: &Service| {
            let store = service.store();
            let id = match (kind, &external_id) {
                (CollectionKind::Contacts, None) => store.collections::<Card>().create(&name)?.id(),
                (_, None) => store.collections::<CalendarObject>().create(&name)?.id(),
                (CollectionKind::Contacts, Some(external)) => store
                    .collections::<Card>()
                    .create(NewCollection {
                        external_id: Some(external),
                        ..NewCollection::from(&name)
                    })?
                    .id(),
                (_, Some(external)) => store
                    .collections::<CalendarObject>()
                    .create(NewCollection {
                        external_id: Some(external),
                        ..NewCollection::from(&name)
                    })?
                    .id(),
            };
            Ok(OwnedObjectPath::try_from(collection_path(id))?)
        };
        let path = self.endpoint.change("CreateCollection", create).await?;
        refresh_objects(&self.endpoint).await?;
        Ok(path)
    }

    /// Restores the collection of this name that was removed last, with its records.
    #[zbus(out_args("collection"))]
    async fn restore_collection(
        &self,
        kind: String,
        name: String,
    ) -> Result<OwnedObjectPath, StoreError> {
        let kind = parse_kind(&kind)?;
        let restore = move |service: &Service| {
            let store = service.store();
            let id = match kind {
                CollectionKind::Contacts => {
                    store.collections::<Card>().restore(&name)?;
                    store.collection::<Card>(&name)?.id()
                }
                _ => {
                    store.collections::<CalendarObject>().restore(&name)?;
                    store.collection::<CalendarObject>(&name)?.id()
                }
            };
            Ok(OwnedObjectPath::try_from(collection_path(id))?)
        };
        let path = self.endpoint.change("RestoreCollection", restore).await?;
        refresh_objects(&self.endpoint).await?;
        Ok(path)
    }

    /// Removes a collection with its records. RestoreCollection brings it back for at least 30 days.
    /// Its object leaves the bus. The only one of its kind stays. Option `records t`: the number of
    /// records that the user confirmed; if there are others now, nothing is removed (Conflict).
    async fn remove_collection(
        &self,
        collection: OwnedObjectPath,
        options: OptionArgument,
    ) -> Result<(), StoreError> {
        let mut options = CallOptions::new(options);
        let records = options.take_number("records")?;
        options.finish()?;
        let id = collection_id(&collection)?;
        let remove = move |service: &Service| {
            // An id is of one kind: of the other one there is no such collection.
            let kind = match service
                .store()
                .collection::<CalendarObject>(CollectionKey::Id(id))
            {
                Ok(_) => CollectionKind::Calendar,
                Err(_) => CollectionKind::Contacts,
            };
            let calls = calls_on(kind, id);
            calls.map_or(Ok(()), |calls| {
                calls.remove_collection(service.store(), records)
            })
        };
        self.endpoint.change("RemoveCollection", remove).await?;
        refresh_objects(&self.endpoint).await
    }

    /// Returns the removed collections of a kind (as for Collections) that can be restored, the
    /// latest of a kind first: name, kind, number of records, and the time of the removal in seconds
    /// since 1970. Several may have one name; RestoreCollection takes the latest.
    #[zbus(out_args("collections"))]
    async fn removed_collections(&self, kind: String) -> Result<Vec<WireRemoved>, StoreError> {
        let kinds = parse_kinds(&kind)?;
        let list = move |service: &Service| {
            let store = service.store();
            let mut listed = Vec::new();
            for kind in kinds {
                let removed = match kind {
                    CollectionKind::Contacts => store.collections::<Card>().removed()?,
                    _ => store.collections::<CalendarObject>().removed()?,
                };
                listed.extend(removed.into_iter().map(|one| {
                    let at = seconds_since_epoch(one.removed);
                    (one.name, kind_name(kind).to_owned(), one.records, at)
                }));
            }
            check_array(listed.iter().map(|one| 48 + one.0.len()).sum())?;
            Ok(listed)
        };
        self.endpoint.answer_on_worker(list).await
    }

    /// Returns the steps that are kept, at least those of 30 days, the latest first: id, time in
    /// seconds since 1970, who made it, the command or call, the number of changes, whether it undid
    /// other steps, and the step that undid it (0: none). Options `limit t` (default 1,000) and
    /// `before t`: only steps with a smaller id, the last of the page before.
    #[zbus(out_args("steps"))]
    async fn steps(&self, options: OptionArgument) -> Result<Vec<WireStep>, StoreError> {
        let mut options = CallOptions::new(options);
        let limit = options.take_number("limit")?.unwrap_or(MAX_STEPS);
        let before = options.take_number("before")?.unwrap_or(u64::MAX);
        options.finish()?;
        let list = move |service: &Service| {
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            let steps = service.store().steps()?.into_iter();
            let page = steps.filter(|step| step.id.cast_unsigned() < before);
            let listed: Vec<_> = page.take(limit).map(wire_step).collect();
            check_array(listed.iter().map(|s| 64 + s.2.len() + s.3.len()).sum())?;
            Ok(listed)
        };
        self.endpoint.answer_on_worker(list).await
    }

    /// Undoes steps, the latest first, in one transaction: records get the text that they had before,
    /// collections their name, colour and records. Returns the step that the undo is (0: it changed
    /// nothing; undoing it does the steps again), the number of records and collections with each
    /// effect (`removed`, `restored`, `changed-back`, `unchanged`, `kept`, `too-old`), and the first
    /// thousand that were not undone: UID or name, kind, and `kept` (changed since) or `too-old`.
    /// No options.
    #[zbus(out_args("step", "effects", "not_undone"))]
    async fn undo(
        &self,
        steps: Vec<u64>,
        options: OptionArgument,
    ) -> Result<(u64, HashMap<String, u64>, Vec<WireNotUndone>), StoreError> {
        CallOptions::expect_none(options)?;
        let undo = move |service: &Service| {
            let ids: Vec<i64> = steps.iter().map(|id| id.cast_signed()).collect();
            let report = service.store().undo_steps(&ids)?;
            Ok(undo_answer(&report))
        };
        let answer = self.endpoint.answer_on_worker(undo).await?;
        // A step may have created or removed collections.
        refresh_objects(&self.endpoint).await?;
        Ok(answer)
    }

    /// Returns a token of the present state, for ChangesSince of every collection.
    #[zbus(out_args("token"))]
    fn token(&self) -> Result<String, StoreError> {
        self.endpoint
            .answer(|service| Ok(service.store().token()?.to_string()))
    }

    /// Returns one end of a socket pair: a private D-Bus connection (the client authenticates, there
    /// is no `Hello`) to the same objects, at a third of the time. Views and jobs belong to the
    /// connection that opened them. No options.
    #[zbus(out_args("socket"))]
    async fn direct(&self, options: OptionArgument) -> Result<zbus::OwnedFd, StoreError> {
        CallOptions::expect_none(options)?;
        self.endpoint.answer(|_| Ok(()))?;
        refresh_objects(&self.endpoint).await?;
        let socket = direct::open_peer(&self.endpoint.service)?;
        Ok(OwnedFd::from(socket).into())
    }
}

/// Parses the name of a kind.
fn parse_kind(name: &str) -> Result<CollectionKind, StoreError> {
    match name {
        "contacts" => Ok(CollectionKind::Contacts),
        "calendar" => Ok(CollectionKind::Calendar),
        _ => Err(StoreError::new(
            ErrorKind::BadArgument,
            format!("no kind is named \"{name}\"; kinds are contacts and calendar"),
        )),
    }
}

/// Parses the name of a kind; an empty text is all kinds.
fn parse_kinds(name: &str) -> Result<Vec<CollectionKind>, StoreError> {
    match name {
        "" => Ok(vec![CollectionKind::Contacts, CollectionKind::Calendar]),
        name => Ok(vec![parse_kind(name)?]),
    }
}

fn wire_step(step: Step) -> WireStep {
    let text = |text: String| without_nul(text.into()).into_owned();
    (
        step.id.cast_unsigned(),
        seconds_since_epoch(step.at),
        text(step.who),
        text(step.what),
        step.changes,
        step.is_undo,
        step.undone_by.unwrap_or(0).cast_unsigned(),
    )
}

/// Returns the answer to an undo.
fn undo_answer(report: &UndoReport) -> (u64, HashMap<String, u64>, Vec<WireNotUndone>) {
    let records = report.records.iter();
    let collections = report.collections.iter();
    let all = records
        .map(|one| (&one.uid, one.kind, one.effect))
        .chain(collections.map(|one| (&one.name, one.kind, one.effect)));
    let (mut effects, mut not_undone) = (HashMap::new(), Vec::new());
    for (name, kind, effect) in all {
        let effect_name = effect_name(effect);
        *effects.entry(effect_name.to_owned()).or_insert(0) += 1;
        let is_left = matches!(effect, UndoEffect::Kept | UndoEffect::TooOld);
        if is_left && not_undone.len() < MAX_NOT_UNDONE {
            let name = without_nul(name.into()).into_owned();
            not_undone.push((name, kind_name(kind).to_owned(), effect_name.to_owned()));
        }
    }
    let step = report.step.unwrap_or(0).cast_unsigned();
    (step, effects, not_undone)
}

fn effect_name(effect: UndoEffect) -> &'static str {
    match effect {
        UndoEffect::Removed => "removed",
        UndoEffect::Restored => "restored",
        UndoEffect::ChangedBack => "changed-back",
        UndoEffect::Unchanged => "unchanged",
        UndoEffect::Kept => "kept",
        UndoEffect::TooOld => "too-old",
    }
}
