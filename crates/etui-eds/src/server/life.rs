//! The service's life: taking the bus names, clients that leave, and the end.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_lite::{StreamExt, future};
use zbus::Connection;
use zbus::fdo::{DBusProxy, RequestNameFlags, RequestNameReply};
use zbus::names::{BusName, OwnedUniqueName};
use zruntime::SharedRuntime;
use zruntime::signal::{Signal, Signals};

use super::ServeError;
use super::bus_names::{BOOK_NAME, CALENDAR_NAME};
use super::shared::Server;

/// Between asking for the names and seeing who has them, and after giving them back.
const SETTLE: Duration = Duration::from_millis(100);

/// Who has the names after asking for both.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Names {
    /// This process has both.
    Ours,
    /// Another process of this program has both: the bus started two for its two names.
    Twin,
}

/// Takes both bus names, or none.
///
/// The bus starts a process for each name that is asked for before the first process has taken
/// both. The second waits until both names have an owner before it exits: an exit before that fails
/// its caller's activation.
pub(super) async fn take_names(
    connection: &Connection,
    replace: bool,
) -> Result<Names, ServeError> {
    let mut flags = RequestNameFlags::DO_NOT_QUEUE;
    if replace {
        flags |= RequestNameFlags::REPLACE_EXISTING;
    }
    let mut taken = Vec::new();
    for name in [BOOK_NAME, CALENDAR_NAME] {
        match connection.request_name_with_flags(name, flags).await {
            Ok(RequestNameReply::PrimaryOwner | RequestNameReply::AlreadyOwner) => taken.push(name),
            Ok(_) | Err(zbus::Error::NameTaken) => {
                for name in taken {
                    connection.release_name(name).await?;
                }
                return wait_for_twin(connection, name).await;
            }
            Err(e) => return Err(e.into()),
        }
    }
    Ok(Names::Ours)
}

/// Waits until a process of this program owns both names.
async fn wait_for_twin(connection: &Connection, name: &'static str) -> Result<Names, ServeError> {
    let bus = DBusProxy::new(connection).await?;
    let runtime = SharedRuntime::current().map_err(zbus::Error::from)?;
    for _ in 0..50 {
        let mut twins = 0;
        for name in [BOOK_NAME, CALENDAR_NAME] {
            let owner = bus
                .get_connection_unix_process_id(BusName::try_from(name)?)
                .await;
            twins += usize::from(owner.is_ok_and(is_this_program));
        }
        match twins {
            2 => return Ok(Names::Twin),
            0 => break,
            _ => runtime.sleep(SETTLE).await,
        }
    }
    Err(ServeError::NameTaken { name })
}

/// Whether a process runs the same executable file as this one.
fn is_this_program(pid: u32) -> bool {
    let executable = |pid: &str| std::fs::read_link(PathBuf::from("/proc").join(pid).join("exe"));
    match (executable("self"), executable(&pid.to_string())) {
        (Ok(ours), Ok(theirs)) => ours == theirs,
        _ => false,
    }
}

/// Serves until the bus is lost, the process is asked to stop, or the idle time is over.
pub(super) async fn serve_until_end(server: &Arc<Server>) -> Result<(), ServeError> {
    let connection = &server.connection;
    future::or(
        future::or(forget_leaving_clients(server), wait_for_signal()),
        future::or(wait_for_idle(server), async {
            connection.closed().await;
            Ok(())
        }),
    )
    .await
}

/// Forgets what clients had open when they leave the bus.
async fn forget_leaving_clients(server: &Arc<Server>) -> Result<(), ServeError> {
    let bus = DBusProxy::new(&server.connection).await?;
    let mut changes = bus.receive_name_owner_changed_with_args(&[(2, "")]).await?;
    while let Some(change) = changes.next().await {
        if let Ok(change) = change.args()
            && let BusName::Unique(client) = &change.name
        {
            let client = OwnedUniqueName::from(client.to_owned());
            server.forget_client(&client).await;
        }
    }
    Ok(())
}

/// Ends the service in order when a session manager or a person stops it.
async fn wait_for_signal() -> Result<(), ServeError> {
    let runtime = SharedRuntime::current().map_err(zbus::Error::from)?;
    let signals = [Signal::Interrupt, Signal::Terminate, Signal::Hangup];
    let mut signals = Signals::new(&runtime, signals).map_err(zbus::Error::from)?;
    signals.recv().await.map_err(zbus::Error::from)?;
    Ok(())
}

/// Returns once no client has had anything open for the idle time and both names are given back.
async fn wait_for_idle(server: &Arc<Server>) -> Result<(), ServeError> {
    let Some(limit) = server.options.idle_exit else {
        return future::pending().await;
    };
    let runtime = SharedRuntime::current().map_err(zbus::Error::from)?;
    let mut idle_since = Instant::now();
    loop {
        runtime.sleep((limit / 4).max(SETTLE)).await;
        if server.is_in_use() {
            idle_since = Instant::now();
        } else if idle_since.elapsed() >= limit {
            // Calls that are on their way are still answered; a client that opened something
            // meanwhile keeps the service.
            for name in [BOOK_NAME, CALENDAR_NAME] {
                server.connection.release_name(name).await?;
            }
            runtime.sleep(SETTLE).await;
            if !server.is_in_use() || take_names(&server.connection, false).await? != Names::Ours {
                return Ok(());
            }
            idle_since = Instant::now();
        }
    }
}
