//! The process: bus names, factories, opened objects, idle exit.
//!
//! Address books and calendars use the other modules of this folder; this one makes their objects, by
//! the factories.

pub(crate) mod bus_names;
mod factory;
pub(crate) mod guard;
mod life;
pub(crate) mod shared;
mod source_changes;
pub(crate) mod text_array;
pub(crate) mod told;
pub(crate) mod view;
mod view_life;
pub(crate) mod wakeup;

use std::sync::Arc;

use etui::Store;
use zbus::Connection;

use crate::switch::{ServiceLock, is_switched_on, leave_bus};

pub use bus_names::{BOOK_NAME, CALENDAR_NAME};
pub use guard::{answer, answer_on_worker};
pub use shared::{EndOfObject, ServeOptions, Server, sender_of};

/// Serves until the bus is lost, another process takes the names, or the idle time is over.
///
/// # Errors
/// If the bus cannot be reached, a name belongs to another process, or the store does not open.
pub fn serve(options: ServeOptions) -> Result<(), ServeError> {
    zbus::block_on(run(options))
}

/// The reason why the service could not run.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The session bus failed.
    #[error("the session bus: {0}")]
    Bus(#[from] zbus::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] etui::Error),
    /// A name belongs to another process.
    #[error("the bus name {name} belongs to another process; `etui eds status` tells which")]
    NameTaken {
        /// The bus name.
        name: &'static str,
    },
    /// The store was switched off, perhaps from another session.
    #[error("the store was switched off; the stock server serves from the next call on")]
    SwitchedOff,
}

async fn run(options: ServeOptions) -> Result<(), ServeError> {
    let _lock = enter_service(&options).await?;
    let store = Store::open_with(&options.store, &options.options)?;
    let connection = Connection::session().await?;
    let server = Arc::new(Server::new(store, connection.clone(), options));
    factory::register_factories(&server).await?;
    match life::take_names(&connection, server.options.replace).await? {
        life::Names::Ours => {
            zruntime::spawn(source_changes::follow_sources(server.clone())).detach();
            let resting = Arc::downgrade(&server);
            let release = move || {
                if let Some(server) = resting.upgrade() {
                    server.store.maintenance().release_memory();
                }
            };
            zruntime::spawn(server.activity.clone().release_at_rest(release)).detach();
            life::serve_until_end(&server).await
        }
        life::Names::Twin => Ok(()),
    }
}

/// Counts this process among the services of its store, unless the store was switched off.
async fn enter_service(options: &ServeOptions) -> Result<Option<ServiceLock>, ServeError> {
    let lock = match ServiceLock::share(&options.store).await {
        Ok(lock) => Some(lock),
        // The directory cannot be written to, and so the store cannot be switched.
        Err(error) => {
            tracing::debug!("no lock among the services of the store: {error}");
            None
        }
    };
    let has_waited = lock.as_ref().is_some_and(|(_, has_waited)| *has_waited);
    if (options.only_if_on || has_waited) && !is_switched_on(&options.store) {
        if options.only_if_on {
            leave_bus(&options.store).await;
        }
        return Err(ServeError::SwitchedOff);
    }
    Ok(lock.map(|(lock, _)| lock))
}
