//! The factories: `OpenAddressBook`, `OpenCalendar`, `OpenTaskList`, `OpenMemoList`.

use std::sync::Arc;

use etui_bus::{CallLimits, GuardedObject};
use zbus::interface;
use zbus::message::Header;

use super::bus_names::{BOOK_FACTORY, CALENDAR_FACTORY};
use super::shared::{OpenedSource, Server, sender_of};
use crate::error::{EdsError, SOURCE_NOT_SUPPORTED};
use crate::sources::{self, SourceKind};
use crate::stock::Factory;
use crate::{calendar, contacts};

/// Sources that one client opens at once.
const MAX_OPENING: usize = 64;

/// Registers both factories on the bus.
pub(super) async fn register_factories(server: &Arc<Server>) -> zbus::Result<()> {
    let objects = server.connection.object_server();
    // Opening may wait for a helper of the stock server: it does not count among the calls.
    let limits = CallLimits::new(MAX_OPENING);
    let books = GuardedObject::new(BookFactory(server.clone()), &limits);
    let calendars = GuardedObject::new(CalendarFactory(server.clone()), &limits);
    objects.at(BOOK_FACTORY, books).await?;
    objects.at(CALENDAR_FACTORY, calendars).await?;
    Ok(())
}

struct BookFactory(Arc<Server>);

#[interface(
    name = "org.gnome.evolution.dataserver.AddressBookFactory",
    introspection_docs = false
)]
impl BookFactory {
    #[zbus(out_args("object_path", "bus_name"))]
    async fn open_address_book(
        &self,
        #[zbus(header)] header: Header<'_>,
        source_uid: String,
    ) -> Result<(String, String), EdsError> {
        open_source(&self.0, SourceKind::AddressBook, &source_uid, &header).await
    }
}

struct CalendarFactory(Arc<Server>);

#[interface(
    name = "org.gnome.evolution.dataserver.CalendarFactory",
    introspection_docs = false
)]
impl CalendarFactory {
    #[zbus(out_args("object_path", "bus_name"))]
    async fn open_calendar(
        &self,
        #[zbus(header)] header: Header<'_>,
        source_uid: String,
    ) -> Result<(String, String), EdsError> {
        open_source(&self.0, SourceKind::Calendar, &source_uid, &header).await
    }

    #[zbus(out_args("object_path", "bus_name"))]
    async fn open_task_list(
        &self,
        #[zbus(header)] header: Header<'_>,
        source_uid: String,
    ) -> Result<(String, String), EdsError> {
        open_source(&self.0, SourceKind::TaskList, &source_uid, &header).await
    }

    #[zbus(out_args("object_path", "bus_name"))]
    async fn open_memo_list(
        &self,
        #[zbus(header)] header: Header<'_>,
        source_uid: String,
    ) -> Result<(String, String), EdsError> {
        open_source(&self.0, SourceKind::MemoList, &source_uid, &header).await
    }
}

/// Opens a source for a client: the same object for everybody, or the stock server's backend.
async fn open_source(
    server: &Arc<Server>,
    kind: SourceKind,
    uid: &str,
    header: &Header<'_>,
) -> Result<(String, String), EdsError> {
    let client = sender_of(header)?;
    let key = (kind, uid.to_owned());
    let known = server.opened().get(&key).map(|opened| opened.path.clone());
    // Held until the object is noted as opened.
    let _making;
    let path = match known {
        Some(path) => path,
        None => {
            let source = sources::find_source(&server.connection, uid).await?;
            let Some(backend) = source.backend(kind) else {
                return Err(EdsError::new(
                    SOURCE_NOT_SUPPORTED,
                    format!("the source \"{uid}\" has no part of this kind"),
                ));
            };
            if server.options.pass_through || !source.is_ours(kind) {
                let helpers = &server.helpers;
                return helpers.open_source(kind, backend, uid, Some(&client)).await;
            }
            // Of clients that open it at once, the first makes the object.
            _making = server.making_objects.lock().await;
            let made = server.opened().get(&key).map(|opened| opened.path.clone());
            match (made, kind) {
                (Some(path), _) => path,
                (None, SourceKind::AddressBook) => contacts::register_book(server, source).await?,
                (None, _) => calendar::register_calendar(server, kind, source).await?,
            }
        }
    };
    let mut opened = server.opened();
    let entry = opened.entry(key).or_insert_with(|| OpenedSource {
        path: path.clone(),
        clients: Default::default(),
    });
    *entry.clients.entry(client).or_default() += 1;
    Ok((entry.path.clone(), Factory::of(kind).bus_name().to_owned()))
}
