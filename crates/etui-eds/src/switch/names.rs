//! [`HeldNames`]: both bus names, held while data moves between the store and the stock server.
//!
//! Nobody can write to either side meanwhile, and the stock server's helpers, which end with the
//! owner of the names, stay. Programs that ask for an address book or a calendar are told that it is
//! busy.

use std::time::Duration;

use zbus::fdo::{DBusProxy, RequestNameFlags, RequestNameReply};
use zbus::names::BusName;
use zbus::{Connection, interface};
use zruntime::SharedRuntime;

use super::SwitchError;
use super::service_lock::ask_to_end;
use crate::error::{BUSY, EdsError};
use crate::server::bus_names::{BOOK_FACTORY, BOOK_NAME, CALENDAR_FACTORY, CALENDAR_NAME};

/// How long the owner of a name may take to give it up.
const PATIENCE: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(20);

/// Both names; [`HeldNames::release`] gives them back.
pub(super) struct HeldNames {
    connection: Connection,
}

impl HeldNames {
    /// Takes both names: from the stock server, which gives them up when asked, or from this
    /// program's service, which is ended.
    pub(super) async fn take(connection: &Connection) -> Result<Self, SwitchError> {
        let objects = connection.object_server();
        objects.at(BOOK_FACTORY, BusyBooks).await?;
        objects.at(CALENDAR_FACTORY, BusyCalendars).await?;
        let names = Self {
            connection: connection.clone(),
        };
        for name in [BOOK_NAME, CALENDAR_NAME] {
            if let Err(error) = names.take_one(name).await {
                names.release().await?;
                return Err(error);
            }
        }
        Ok(names)
    }

    async fn take_one(&self, name: &'static str) -> Result<(), SwitchError> {
        let flags = RequestNameFlags::REPLACE_EXISTING;
        let reply = self.connection.request_name_with_flags(name, flags).await?;
        if reply != RequestNameReply::InQueue {
            return Ok(());
        }
        let bus = DBusProxy::new(&self.connection).await?;
        let bus_name = BusName::try_from(name)?;
        if let Ok(process) = bus.get_connection_unix_process_id(bus_name.clone()).await {
            end_service(process, name)?;
        }
        let runtime = SharedRuntime::current().map_err(zbus::Error::from)?;
        let own = self.connection.unique_name().map(ToString::to_string);
        let mut waited = Duration::ZERO;
        while waited < PATIENCE {
            let owner = bus.get_name_owner(bus_name.clone()).await.ok();
            if owner.map(|owner| owner.to_string()) == own {
                return Ok(());
            }
            runtime.sleep(POLL).await;
            waited += POLL;
        }
        Err(SwitchError::Refused(format!(
            "the owner of {name} does not give it up"
        )))
    }

    /// Gives both names back.
    pub(super) async fn release(&self) -> Result<(), SwitchError> {
        for name in [BOOK_NAME, CALENDAR_NAME] {
            self.connection.release_name(name).await?;
        }
        let objects = self.connection.object_server();
        objects.remove::<BusyBooks, _>(BOOK_FACTORY).await?;
        objects.remove::<BusyCalendars, _>(CALENDAR_FACTORY).await?;
        Ok(())
    }
}

/// Asks the process that owns a name to end, if it is this program.
fn end_service(process: u32, name: &str) -> Result<(), SwitchError> {
    let program = super::program_of(process);
    if program.is_none() || program != super::program_of(std::process::id()) {
        let program = program.unwrap_or_else(|| "another program".to_owned());
        return Err(SwitchError::Refused(format!(
            "{name} belongs to {program} (process {process}), which does not give it up"
        )));
    }
    ask_to_end(process);
    Ok(())
}

struct BusyBooks;

#[interface(name = "org.gnome.evolution.dataserver.AddressBookFactory")]
impl BusyBooks {
    #[zbus(out_args("object_path", "bus_name"))]
    async fn open_address_book(&self, source_uid: String) -> Result<(String, String), EdsError> {
        Err(busy(&source_uid))
    }
}

struct BusyCalendars;

#[interface(name = "org.gnome.evolution.dataserver.CalendarFactory")]
impl BusyCalendars {
    #[zbus(out_args("object_path", "bus_name"))]
    async fn open_calendar(&self, source_uid: String) -> Result<(String, String), EdsError> {
        Err(busy(&source_uid))
    }

    #[zbus(out_args("object_path", "bus_name"))]
    async fn open_task_list(&self, source_uid: String) -> Result<(String, String), EdsError> {
        Err(busy(&source_uid))
    }

    #[zbus(out_args("object_path", "bus_name"))]
    async fn open_memo_list(&self, source_uid: String) -> Result<(String, String), EdsError> {
        Err(busy(&source_uid))
    }
}

fn busy(source: &str) -> EdsError {
    let message = format!("\"{source}\" is moving between the stock server and etui; try again");
    EdsError::new(BUSY, message)
}
