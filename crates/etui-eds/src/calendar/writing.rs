//! `CreateObjects`, `ModifyObjects`, `RemoveObjects`: all or none of the components of a call.

use std::collections::BTreeMap;

use etui::calendar::time::CalendarTime;
use etui::calendar::zones::TimeZoneResolver;
use etui::calendar::{CalendarObject, ObjectError};
use etui::{Condition, ETag};

use super::errors::{not_found, object_error, store_error};
use super::incoming::{parse_component, stamp_changed, stamp_new};
use super::lines::new_uid;
use super::mod_type::ModType;
use super::opened::OpenedCalendar;
use crate::error::{
    EdsError, EdsResult, INVALID_OBJECT, NOT_SUPPORTED, OBJECT_EXISTS, OBJECT_NOT_FOUND,
    OUT_OF_SYNC,
};

/// How often a change is tried if others change the same objects meanwhile.
const ATTEMPTS: u32 = 5;

/// Tries a change again if another client or program changed one of its objects meanwhile.
pub(super) fn retry_conflicts<T>(work: impl Fn() -> EdsResult<T>) -> EdsResult<T> {
    let conflict = EdsError::new(OUT_OF_SYNC, "");
    let mut done = work();
    for _ in 1..ATTEMPTS {
        match &done {
            Err(error) if error.name() == conflict.name() => done = work(),
            _ => break,
        }
    }
    done
}

/// Saves new components, and returns their UIDs in the order given.
pub(super) fn create_objects(opened: &OpenedCalendar, texts: &[String]) -> EdsResult<Vec<String>> {
    let mut changes = ChangeSet::new(opened)?;
    let mut uids = Vec::with_capacity(texts.len());
    for text in texts {
        let mut object = parse_component(text, opened.component_kind(), &changes.zones)?;
        stamp_new(&mut object, &changes.zones)?;
        let uid = object.uid().unwrap_or_default().to_owned();
        if changes.get(&uid)?.is_some() {
            let message = format!("there is an object with UID \"{uid}\" already");
            return Err(EdsError::new(OBJECT_EXISTS, message));
        }
        changes.put(&uid, object);
        uids.push(uid);
    }
    let has_views = !opened.views().is_empty();
    let before = has_views.then(|| opened.server.store.token()).transpose();
    let before = before.map_err(store_error)?;
    changes.commit()?;
    if let Some(before) = before {
        opened.told.expect_since(&opened.calendar()?, &before);
    }
    Ok(uids)
}

/// Changes components.
pub(super) fn modify_objects(
    opened: &OpenedCalendar,
    texts: &[String],
    mod_type: ModType,
) -> EdsResult<()> {
    if mod_type == ModType::OnlyThis {
        return Err(not_supported());
    }
    let mut changes = ChangeSet::new(opened)?;
    for text in texts {
        modify_one(&mut changes, text, mod_type)?;
    }
    changes.commit()
}

fn modify_one(changes: &mut ChangeSet<'_>, text: &str, mod_type: ModType) -> EdsResult<()> {
    let kind = changes.opened.component_kind();
    let new = parse_component(text, kind, &changes.zones)?;
    let Some(uid) = new.uid().map(str::to_owned) else {
        return Err(EdsError::new(INVALID_OBJECT, "the component has no UID"));
    };
    let mut series = changes.get(&uid)?.ok_or_else(|| not_found(&uid))?.clone();
    // Again: the stored object may define time zones of its own.
    let zones = &changes.zones;
    let mut new = parse_component(text, kind, zones)?;
    stamp_changed(&mut new, zones)?;
    let new = &new;
    let timing = new.master().timing.as_ref();
    let instance = timing.and_then(|t| t.recurrence_id.as_ref()).map(|r| &r.id);
    let edited = match (mod_type, instance) {
        (ModType::ThisAndPrior, Some(_)) => return Err(not_supported()),
        (ModType::This, _) | (_, None) => series.replace_components(new, zones),
        (ModType::ThisAndFuture, Some(id)) if !series.is_first_instance(id) => {
            let split = series.change_from(id, new, Some(&new_uid()), zones);
            let split = split.map_err(object_error)?;
            let after = split.after.uid().unwrap_or_default().to_owned();
            changes.put(&after, split.after);
            if let Some(before) = split.before {
                changes.put(&uid, before);
            }
            return Ok(());
        }
        (_, Some(id)) => series.change_all(id, new, zones),
    };
    edited.map_err(object_error)?;
    changes.put(&uid, series);
    Ok(())
}

/// Removes components or instances; entries are UID and the instance's `RECURRENCE-ID`, or empty.
pub(super) fn remove_objects(
    opened: &OpenedCalendar,
    ids: &[(String, String)],
    mod_type: ModType,
) -> EdsResult<()> {
    let mut changes = ChangeSet::new(opened)?;
    for (uid, instance) in ids.iter().filter(|(uid, _)| !uid.is_empty()) {
        remove_one(&mut changes, uid, instance, mod_type)?;
    }
    changes.commit()
}

fn remove_one(
    changes: &mut ChangeSet<'_>,
    uid: &str,
    instance: &str,
    mod_type: ModType,
) -> EdsResult<()> {
    let mut series = changes.get(uid)?.ok_or_else(|| not_found(uid))?.clone();
    let zones = &changes.zones;
    if instance.is_empty() || mod_type == ModType::All {
        if matches!(mod_type, ModType::ThisAndPrior | ModType::ThisAndFuture) {
            let message = format!("no occurrence of \"{uid}\" is named");
            return Err(EdsError::new(OBJECT_NOT_FOUND, message));
        }
        changes.remove(uid);
        return Ok(());
    }
    let id = instance_id(&series, instance)?;
    let edited = match mod_type {
        ModType::ThisAndPrior => return Err(not_supported()),
        ModType::OnlyThis => series.remove_override(&id, zones),
        ModType::ThisAndFuture => series.end_before(&id, zones),
        ModType::This | ModType::All => series.exclude_instance(&id, zones),
    };
    match edited {
        Ok(()) => {
            // The master component has changed unless only a changed instance went.
            if mod_type != ModType::OnlyThis {
                stamp_changed(&mut series, zones)?;
            }
            changes.put(uid, series);
        }
        Err(ObjectError::Empty) => changes.remove(uid),
        // An occurrence that is not there is as good as removed.
        Err(ObjectError::NoInstance(_)) if mod_type == ModType::This => {}
        Err(error) => return Err(object_error(error)),
    }
    Ok(())
}

/// Parses the `RECURRENCE-ID` of an instance of an object.
pub(super) fn instance_id(object: &CalendarObject, text: &str) -> EdsResult<CalendarTime> {
    object.instance_id(text).ok_or_else(|| {
        let message = format!("there is no occurrence at \"{text}\"");
        EdsError::new(OBJECT_NOT_FOUND, message)
    })
}

fn not_supported() -> EdsError {
    EdsError::new(NOT_SUPPORTED, "this type of modification is not supported")
}

/// An object of a [`ChangeSet`].
struct ChangedObject {
    /// The object as it is now; `None`: there is none.
    object: Option<CalendarObject>,
    is_changed: bool,
    /// The version that was read; `None`: there was none.
    version: Option<ETag>,
}

/// The objects that one call changes: read when first asked for, written together.
pub(super) struct ChangeSet<'c> {
    pub(super) opened: &'c OpenedCalendar,
    /// The time zones of the calendar, and those of the objects read so far.
    pub(super) zones: TimeZoneResolver,
    objects: BTreeMap<String, ChangedObject>,
}

impl<'c> ChangeSet<'c> {
    pub(super) fn new(opened: &'c OpenedCalendar) -> EdsResult<Self> {
        Ok(Self {
            opened,
            zones: opened.zones()?,
            objects: BTreeMap::new(),
        })
    }

    /// Returns an object with the changes so far.
    pub(super) fn get(&mut self, uid: &str) -> EdsResult<Option<&CalendarObject>> {
        if !self.objects.contains_key(uid) {
            let calendar = self.opened.calendar()?;
            let found = calendar.record(uid).map_err(store_error)?;
            let (object, version) = match found {
                Some((stored, object)) => {
                    let zones = calendar.zones(stored.id).map_err(store_error)?;
                    self.zones.extend(&zones);
                    (Some(object), Some(stored.etag))
                }
                None => (None, None),
            };
            let read = ChangedObject {
                object,
                is_changed: false,
                version,
            };
            self.objects.insert(uid.to_owned(), read);
        }
        Ok(self
            .objects
            .get(uid)
            .and_then(|known| known.object.as_ref()))
    }

    /// Saves an object that was read, or is new.
    pub(super) fn put(&mut self, uid: &str, object: CalendarObject) {
        self.set(uid, Some(object));
    }

    /// Removes an object that was read.
    pub(super) fn remove(&mut self, uid: &str) {
        self.set(uid, None);
    }

    fn set(&mut self, uid: &str, object: Option<CalendarObject>) {
        let version = self.objects.get(uid).and_then(|known| known.version);
        let changed = ChangedObject {
            object,
            is_changed: true,
            version,
        };
        self.objects.insert(uid.to_owned(), changed);
    }

    /// Writes the changes, if no other program changed one of the objects meanwhile.
    pub(super) fn commit(self) -> EdsResult<()> {
        let calendar = self.opened.calendar()?;
        let (mut saved, mut removed) = (Vec::new(), Vec::new());
        for (uid, changed) in self
            .objects
            .iter()
            .filter(|(_, changed)| changed.is_changed)
        {
            match &changed.object {
                Some(object) => saved.push((
                    object,
                    changed
                        .version
                        .map_or(Condition::IfAbsent, Condition::IfMatch),
                )),
                None => removed.push(uid.as_str()),
            }
        }
        if !saved.is_empty() {
            calendar.save_many(&saved).map_err(|e| match e {
                etui::Error::BatchConflict { .. } => EdsError::new(OUT_OF_SYNC, e.to_string()),
                e => store_error(e),
            })?;
        }
        if !removed.is_empty() {
            calendar.remove_many(&removed).map_err(store_error)?;
        }
        Ok(())
    }
}
