//! [`Helpers`]: the running helper processes, one for each backend.
//!
//! A helper owns a bus name of its own, on which its `Create` opens a source. It ends by itself
//! when the factory's name, `AddressBook10` or `Calendar8`, loses its owner.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_lite::{StreamExt, future};
use zbus::fdo::DBusProxy;
use zbus::names::{BusName, OwnedUniqueName};
use zbus::{Connection, proxy};
use zruntime::process::{Child, Command};
use zruntime::{Shared, SharedRuntime};

use super::backends::{Backend, Factory, find_backend};
use crate::error::{EdsError, EdsResult, OTHER};
use crate::sources::SourceKind;

/// A helper that has no name on the bus by then has failed.
const START_LIMIT: Duration = Duration::from_secs(30);

/// The helper processes of a service.
#[derive(Debug, Clone)]
pub(crate) struct Helpers {
    connection: Connection,
    running: Arc<zruntime::lock::Mutex<Running>>,
    /// Clients with something open at a helper; a copy that needs no waiting.
    users: Arc<Mutex<Users>>,
    next_number: Arc<AtomicU32>,
}

/// The helpers that run, by factory and backend.
type Running = HashMap<(Factory, String), Arc<Helper>>;

/// How often each client has opened a source of a helper, by the helper's bus name.
type Users = HashMap<String, HashMap<OwnedUniqueName, u32>>;

#[derive(Debug)]
struct Helper {
    bus_name: String,
    path: String,
    backend: Backend,
}

#[proxy(interface = "org.gnome.evolution.dataserver.Subprocess.Backend")]
trait Subprocess {
    fn create(&self, source_uid: &str, type_name: &str, module: &str) -> zbus::Result<String>;
    fn close(&self) -> zbus::Result<()>;
    #[zbus(signal)]
    fn backend_closed(&self, sender: String) -> zbus::Result<()>;
}

impl Helpers {
    pub(crate) fn new(connection: Connection) -> Self {
        Self {
            connection,
            running: Arc::default(),
            users: Arc::default(),
            next_number: Arc::new(AtomicU32::new(1)),
        }
    }

    /// Opens a source in the helper of its backend, which is started if it does not run. Returns
    /// the object's path and the helper's bus name.
    ///
    /// # Errors
    /// [`SOURCE_NOT_SUPPORTED`](crate::error::SOURCE_NOT_SUPPORTED) for an unknown backend; the
    /// helper's own error.
    pub(crate) async fn open_source(
        &self,
        kind: SourceKind,
        backend: &str,
        source_uid: &str,
        client: Option<&OwnedUniqueName>,
    ) -> EdsResult<(String, String)> {
        let type_name = find_backend(kind, backend)?;
        let mut attempt = 0;
        loop {
            attempt += 1;
            let helper = self.running_helper(kind, backend, client).await?;
            let created = self.create(&helper, &type_name, source_uid).await;
            if created.is_err() {
                self.count_closing(&helper.bus_name, client);
            }
            let error = match created {
                Ok(path) => return Ok((path, helper.bus_name.clone())),
                Err(error) => EdsError::from_reply(error).unwrap_or_else(EdsError::from),
            };
            // It ended between two calls; a new one is started.
            let ended = ["ServiceUnknown", "NoReply"].map(|end| error.name().ends_with(end));
            if attempt > 1 || !ended.contains(&true) {
                return Err(error);
            }
            self.forget_helper(&helper).await;
        }
    }

    async fn create(
        &self,
        helper: &Helper,
        backend: &Backend,
        source_uid: &str,
    ) -> zbus::Result<String> {
        let module = backend.module.to_string_lossy();
        self.proxy(helper)
            .await?
            .create(source_uid, backend.type_name, &module)
            .await
    }

    /// Returns the helper of a backend and counts an opening by a client, so that it does not end
    /// meanwhile.
    async fn running_helper(
        &self,
        kind: SourceKind,
        backend: &str,
        client: Option<&OwnedUniqueName>,
    ) -> EdsResult<Arc<Helper>> {
        let factory = Factory::of(kind);
        let key = (factory, backend.to_owned());
        let mut running = self.running.lock().await;
        let helper = match running.get(&key) {
            Some(helper) => helper.clone(),
            None => {
                let helper = Arc::new(self.start(factory, kind, backend).await?);
                running.insert(key, helper.clone());
                helper
            }
        };
        if let Some(client) = client {
            let mut users = self.users();
            let users = users.entry(helper.bus_name.clone()).or_default();
            *users.entry(client.clone()).or_default() += 1;
        }
        Ok(helper)
    }

    async fn start(&self, factory: Factory, kind: SourceKind, backend: &str) -> EdsResult<Helper> {
        let found = find_backend(kind, backend)?;
        let label = factory.label();
        let process = std::process::id();
        let number = self.next_number.fetch_add(1, Ordering::Relaxed);
        let helper = Helper {
            bus_name: format!(
                "org.gnome.evolution.dataserver.Subprocess.Backend.{label}x{process}x{number}"
            ),
            path: format!(
                "/org/gnome/evolution/dataserver/Subprocess/Backend/{label}/{process}/{number}"
            ),
            backend: found,
        };
        let bus = DBusProxy::new(&self.connection).await?;
        let filter = [(0, helper.bus_name.as_str())];
        let mut owners = bus.receive_name_owner_changed_with_args(&filter).await?;
        let runtime = SharedRuntime::current().map_err(zbus::Error::from)?;
        let mut child = Command::new(&helper.backend.program)
            .args(["--factory", backend])
            .args(["--bus-name", &helper.bus_name])
            .args(["--own-path", &helper.path])
            .stdin(Stdio::null())
            .spawn(&runtime)
            .map_err(|e| failed_to_start(&helper, &e.to_string()))?;
        let started = future::or(
            async { owners.next().await.ok_or("the bus ended") },
            future::or(
                async {
                    let _ = child.status().await;
                    Err("it ended at once")
                },
                async {
                    runtime.sleep(START_LIMIT).await;
                    Err("it does not answer")
                },
            ),
        )
        .await;
        started.map_err(|why| failed_to_start(&helper, why))?;
        let signals = self.proxy(&helper).await?;
        let closings = signals.receive_backend_closed().await?;
        zruntime::spawn(
            self.clone()
                .follow(helper.bus_name.clone(), closings, child),
        )
        .detach();
        Ok(helper)
    }

    /// Counts what is closed at a helper, ends it when nothing is open, and forgets it when it has
    /// ended.
    async fn follow(
        self,
        bus_name: String,
        mut closings: BackendClosedStream,
        mut child: Child<Shared>,
    ) {
        loop {
            let closed = future::or(async { closings.next().await }, async {
                let _ = child.status().await;
                None
            })
            .await;
            let Some(closed) = closed else { break };
            if let Ok(args) = closed.args()
                && let Ok(client) = OwnedUniqueName::try_from(args.sender.as_str())
            {
                self.count_closing(&bus_name, Some(&client));
            }
            self.end_unused(&bus_name).await;
        }
        let mut running = self.running.lock().await;
        running.retain(|_, helper| helper.bus_name != bus_name);
        self.users().remove(&bus_name);
    }

    /// Tells a helper to end if no client has anything open at it.
    async fn end_unused(&self, bus_name: &str) {
        let mut running = self.running.lock().await;
        if self
            .users()
            .get(bus_name)
            .is_some_and(|users| !users.is_empty())
        {
            return;
        }
        let key = running
            .iter()
            .find(|(_, helper)| helper.bus_name == bus_name);
        let Some(key) = key.map(|(key, _)| key.clone()) else {
            return;
        };
        if let Some(helper) = running.remove(&key)
            && let Ok(proxy) = self.proxy(&helper).await
            && let Err(error) = proxy.close().await
        {
            tracing::warn!("a helper does not end: {error}");
        }
    }

    /// One opening less for a client.
    fn count_closing(&self, bus_name: &str, client: Option<&OwnedUniqueName>) {
        let mut users = self.users();
        if let Some(client) = client
            && let Some(users) = users.get_mut(bus_name)
            && let Some(count) = users.get_mut(client)
        {
            *count -= 1;
            if *count == 0 {
                users.remove(client);
            }
        }
    }

    /// Forgets a client that left the bus; its helpers notice that themselves.
    pub(crate) async fn forget_client(&self, client: &OwnedUniqueName) {
        let mut unused = Vec::new();
        for (bus_name, users) in self.users().iter_mut() {
            if users.remove(client).is_some() && users.is_empty() {
                unused.push(bus_name.clone());
            }
        }
        for bus_name in unused {
            self.end_unused(&bus_name).await;
        }
    }

    /// Whether any client has something open at a helper.
    pub(crate) fn are_in_use(&self) -> bool {
        self.users().values().any(|users| !users.is_empty())
    }

    async fn forget_helper(&self, ended: &Arc<Helper>) {
        let mut running = self.running.lock().await;
        running.retain(|_, helper| !Arc::ptr_eq(helper, ended));
    }

    async fn proxy(&self, helper: &Helper) -> zbus::Result<SubprocessProxy<'static>> {
        SubprocessProxy::builder(&self.connection)
            .destination(BusName::try_from(helper.bus_name.clone())?)
            .path(helper.path.clone())
            .build()
            .await
    }

    fn users(&self) -> MutexGuard<'_, Users> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failed_to_start(helper: &Helper, why: &str) -> EdsError {
    let program = helper.backend.program.display();
    EdsError::new(OTHER, format!("{program} did not start: {why}"))
}
