//! [`serve`]: the life of the service on the bus: its name, its clients, its end.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use etui::Store;
use futures_core::Stream;
use zbus::Connection;
use zbus::connection::Builder;
use zbus::fdo::{DBusProxy, RequestNameFlags};
use zruntime::SharedRuntime;
use zruntime::signal::{Signal, Signals};

use crate::error::StoreError;
use crate::registry::{read_collections, serve_objects};
use crate::service::{ClientId, Endpoint, Link, Service};

/// The bus name of the service.
pub const BUS_NAME: &str = "org.etui.Store1";

/// Time for calls that were sent before the name was released.
const LEAVE_TIME: Duration = Duration::from_millis(50);
/// Time after which the end does not wait for running calls any longer.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// How the service runs.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// The store.
    pub store: PathBuf,
    /// Options of the store.
    pub options: etui::Options,
    /// The address of the bus; `None`: the session bus of the environment.
    pub address: Option<String>,
    /// Exit after this time without calls, views, imports and private connections; `None`: never.
    pub idle_exit: Option<Duration>,
    /// End on SIGTERM and SIGINT, and close the store.
    pub end_on_signals: bool,
}

/// The reason why the service could not run.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The bus failed.
    #[error("the bus: {0}")]
    Bus(#[from] zbus::Error),
    /// The runtime failed.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] etui::Error),
    /// The store failed when its collections were read.
    #[error(transparent)]
    Collections(#[from] StoreError),
    /// Another process has the name.
    #[error("the bus name {BUS_NAME} belongs to another process: the service runs already")]
    NameTaken,
}

/// Serves a store on the bus until the bus is lost, the idle time is over, or a signal ends it.
///
/// # Errors
/// If the bus cannot be reached, the name belongs to another process, or the store does not open.
pub fn serve(options: ServeOptions) -> Result<(), ServeError> {
    zbus::block_on(run(options))
}

async fn run(options: ServeOptions) -> Result<(), ServeError> {
    let runtime = SharedRuntime::current()?;
    let store = Store::open_with(&options.store, &options.options)?;
    let service = Arc::new(Service::new(store));
    let collections = read_collections(&service)?;
    let endpoint = Endpoint {
        service: Arc::clone(&service),
        peer: None,
    };
    let builder = match &options.address {
        Some(address) => Builder::address(address.as_str()),
        None => Builder::session(),
    };
    let builder = serve_objects(builder, &endpoint, &collections);
    drop(endpoint);
    let connection = builder.build().await?;
    service.add_link(Link::new(connection.clone(), None, collections));

    let store = Arc::downgrade(service.store());
    let release = move || {
        if let Some(store) = store.upgrade() {
            store.maintenance().release_memory();
        }
    };
    let activity = Arc::clone(service.activity());
    let releaser = runtime.spawn("memory", activity.release_at_rest(release));
    let watch = watch_clients(connection.clone(), Arc::clone(&service));
    let watcher = runtime.spawn("clients", watch);
    let signals = match options.end_on_signals {
        true => {
            let mut signals = Signals::new(&runtime, [Signal::Terminate, Signal::Interrupt])?;
            let connection = connection.clone();
            let end = async move {
                let _ = signals.recv().await;
                // As if the bus were lost.
                let _ = connection.close().await;
            };
            Some(runtime.spawn("signals", end))
        }
        false => None,
    };
    let result = match request_name(&connection).await {
        Ok(()) => {
            wait_for_end(&runtime, &service, &connection, options.idle_exit).await;
            Ok(())
        }
        Err(error) => Err(error),
    };

    drop((watcher, signals, releaser));
    service.shut_down();
    let ended = runtime.timeout(END_TIMEOUT, connection.graceful_shutdown());
    if ended.await.is_err() {
        tracing::warn!("calls were still running at the end");
    }
    // The last one to hold the store closes it; an acknowledged save is durable in any case.
    if let Some(store) = Arc::into_inner(service).and_then(Service::into_store) {
        store.close()?;
    }
    result
}

/// Takes the bus name, or fails if another process has it.
async fn request_name(connection: &Connection) -> Result<(), ServeError> {
    let flags = RequestNameFlags::DO_NOT_QUEUE;
    match connection.request_name_with_flags(BUS_NAME, flags).await {
        Ok(_) => Ok(()),
        Err(zbus::Error::NameTaken) => Err(ServeError::NameTaken),
        Err(error) => Err(error.into()),
    }
}

/// Returns when the bus is lost, or the service was idle for the time and gave its name back.
async fn wait_for_end(
    runtime: &SharedRuntime,
    service: &Service,
    connection: &Connection,
    idle_exit: Option<Duration>,
) {
    loop {
        let wait = match (idle_exit, service.idle_time()) {
            (None, _) => {
                connection.closed().await;
                return;
            }
            (Some(limit), None) => limit,
            (Some(limit), Some(idle)) => limit.saturating_sub(idle),
        };
        if !wait.is_zero() {
            let wait = wait.max(Duration::from_millis(10));
            if runtime.timeout(wait, connection.closed()).await.is_ok() {
                return;
            }
            continue;
        }
        // Calls that were sent before the bus heard of this are still answered.
        let _ = connection.release_name(BUS_NAME).await;
        runtime.sleep(LEAVE_TIME).await;
        while service.has_running_calls() {
            runtime.sleep(LEAVE_TIME).await;
        }
        // One of them may have opened a view. If another process has the name, this one serves
        // the views opened here until they are closed.
        if !service.is_in_use() {
            return;
        }
        let _ = request_name(connection).await;
    }
}

/// Drops the views and jobs of clients that leave the bus.
async fn watch_clients(connection: Connection, service: Arc<Service>) {
    let Ok(bus) = DBusProxy::new(&connection).await else {
        return;
    };
    // Only names without a new owner.
    let Ok(mut changes) = bus.receive_name_owner_changed_with_args(&[(2, "")]).await else {
        return;
    };
    while let Some(change) = std::future::poll_fn(|cx| Pin::new(&mut changes).poll_next(cx)).await {
        if let Ok(args) = change.args()
            && args.name().starts_with(':')
        {
            let client = ClientId::of_bus(args.name().as_str());
            service.forget_client(&client).await;
        }
    }
}
