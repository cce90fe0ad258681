//! [`OpenedCalendar`]: a collection of the store as a calendar, task list or memo list of the
//! desktop.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use etui::calendar::ics::ComponentKind;
use etui::calendar::zones::TimeZoneResolver;
use etui::calendar::{Calendar, CalendarObject};

use super::errors::store_error;
use super::view::ComponentView;
use crate::collections::{adopt_collection, find_collection};
use crate::error::{EdsError, EdsResult, OTHER};
use crate::server::shared::Server;
use crate::server::told::Told;
use crate::sources::{Source, SourceKind};

/// An opened calendar, shared by its object and its views.
pub(super) struct OpenedCalendar {
    pub(super) server: Arc<Server>,
    pub(super) source: Source,
    pub(super) kind: SourceKind,
    /// Its object on the bus.
    pub(super) path: String,
    /// The sequence number of the latest change that was announced to clients.
    revision: AtomicI64,
    views: Mutex<Vec<Arc<ComponentView>>>,
    /// How far the views were told of changes.
    pub(super) told: Told,
}

impl OpenedCalendar {
    /// Opens the collection of a source; makes it if the source is new.
    pub(super) fn open(
        server: Arc<Server>,
        kind: SourceKind,
        source: Source,
        path: String,
    ) -> EdsResult<Self> {
        let opened = Self {
            server,
            source,
            kind,
            path,
            revision: AtomicI64::new(0),
            views: Mutex::default(),
            told: Told::default(),
        };
        adopt_collection::<CalendarObject>(&opened.server.store, kind, &opened.source)
            .map_err(store_error)?;
        opened.advance_revision()?;
        Ok(opened)
    }

    /// Returns the collection.
    pub(super) fn calendar(&self) -> EdsResult<Calendar> {
        let store = &self.server.store;
        find_collection(store, self.kind, &self.source.uid)
            .map_err(store_error)?
            .ok_or_else(|| EdsError::new(OTHER, "the calendar was removed"))
    }

    /// The views of all clients.
    pub(super) fn views(&self) -> MutexGuard<'_, Vec<Arc<ComponentView>>> {
        self.views.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The kind of its components.
    pub(super) fn component_kind(&self) -> ComponentKind {
        match self.kind {
            SourceKind::TaskList => ComponentKind::Todo,
            SourceKind::MemoList => ComponentKind::Journal,
            _ => ComponentKind::Event,
        }
    }

    /// Returns the time zones that its components can name.
    pub(super) fn zones(&self) -> EdsResult<TimeZoneResolver> {
        self.calendar()?.zone_resolver().map_err(store_error)
    }

    /// The text that differs after every change of the calendar.
    pub(super) fn revision(&self) -> String {
        self.revision.load(Ordering::Acquire).to_string()
    }

    /// Takes the store's latest change as the revision; returns true if it was not announced
    /// before.
    pub(super) fn advance_revision(&self) -> EdsResult<bool> {
        let seq = self.server.store.token().map_err(store_error)?.seq;
        // Another thread may have announced a later change.
        Ok(self.revision.fetch_max(seq, Ordering::AcqRel) < seq)
    }

    /// The address of its person, which the source's file has.
    pub(super) fn email_address(&self) -> &str {
        let address = self.source.value("Local Backend", "EmailAddress");
        address.unwrap_or_default()
    }
}
