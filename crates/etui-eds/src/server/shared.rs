//! [`Server`]: what all objects of the service share.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use etui::Store;
use etui_bus::{CallActivity, CallLimits, GuardedObject};
use zbus::fdo::Properties;
use zbus::message::Header;
use zbus::names::OwnedUniqueName;
use zbus::object_server::{Interface, SignalEmitter};
use zbus::{Connection, OwnedObjectPath};

use crate::error::{BUSY, EdsError, EdsResult, OTHER};
use crate::sources::SourceKind;
use crate::stock::Helpers;

/// Views and cursors that one client may have open.
const MAX_OBJECTS_PER_CLIENT: usize = 512;
/// Calls of one client that run at once.
const MAX_RUNNING_CALLS: usize = 4;

/// How the service runs.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// The store; it is created if it does not exist.
    pub store: PathBuf,
    /// Options of the store.
    pub options: etui::Options,
    /// Take the names from the stock server if it has them.
    pub replace: bool,
    /// Exit after this time without an opened object; `None`: never.
    pub idle_exit: Option<Duration>,
    /// The directory for files that clients read, such as contacts' pictures.
    pub cache_dir: PathBuf,
    /// Serve only while the store is switched on: the bus started this process by the files of
    /// [`switch`](crate::switch).
    pub only_if_on: bool,
    /// Leave every source to the stock server's backends; for tests.
    pub pass_through: bool,
}

/// What all objects of the service share.
pub struct Server {
    /// The store.
    pub store: Store,
    /// The connection to the bus.
    pub connection: Connection,
    /// How the service runs.
    pub options: ServeOptions,
    opened: Mutex<HashMap<(SourceKind, String), OpenedSource>>,
    /// Held while the object of a source is made.
    pub(super) making_objects: zruntime::lock::Mutex<()>,
    /// The views and cursors by path: whose each is, and how it ends.
    owned: Mutex<HashMap<String, (OwnedUniqueName, EndOfObject)>>,
    next_number: AtomicU32,
    limits: Arc<CallLimits>,
    pub(super) activity: Arc<CallActivity>,
    pub(super) helpers: Helpers,
}

/// Ends an object of a client that left the bus.
pub type EndOfObject = Box<dyn FnOnce() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;

/// An opened source: its object and who has opened it how often.
#[derive(Debug, Clone, Default)]
pub(super) struct OpenedSource {
    pub(super) path: String,
    /// How often each client has opened it.
    pub(super) clients: HashMap<OwnedUniqueName, u32>,
}

impl Server {
    /// Makes the state of a service that serves a store on a connection.
    pub(super) fn new(store: Store, connection: Connection, options: ServeOptions) -> Self {
        let activity = Arc::default();
        Self {
            store,
            connection: connection.clone(),
            options,
            opened: Mutex::default(),
            making_objects: zruntime::lock::Mutex::new(()),
            owned: Mutex::default(),
            next_number: AtomicU32::new(1),
            limits: CallLimits::with_activity(MAX_RUNNING_CALLS, &activity),
            activity,
            helpers: Helpers::new(connection),
        }
    }

    /// Guards an object: its calls are bounded for each client, and answered in any case.
    pub fn guard<I>(&self, object: I) -> GuardedObject<I> {
        GuardedObject::new(object, &self.limits)
    }

    /// The path of a new object; numbers are never used twice.
    pub fn new_path(&self, below: &str) -> String {
        let number = self.next_number.fetch_add(1, Ordering::Relaxed);
        format!(
            "/org/gnome/evolution/dataserver/{below}/{}/{number}",
            std::process::id()
        )
    }

    pub(super) fn opened(&self) -> MutexGuard<'_, HashMap<(SourceKind, String), OpenedSource>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One opening less for a client: after `Close`.
    pub fn close_once(&self, kind: SourceKind, uid: &str, client: &OwnedUniqueName) {
        if let Some(opened) = self.opened().get_mut(&(kind, uid.to_owned()))
            && let Some(count) = opened.clients.get_mut(client)
        {
            *count -= 1;
            if *count == 0 {
                opened.clients.remove(client);
            }
        }
    }

    fn owned(&self) -> MutexGuard<'_, HashMap<String, (OwnedUniqueName, EndOfObject)>> {
        self.owned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes an object that ends when its client leaves the bus. Ends it at once if the client
    /// has too many.
    async fn add_owned(
        &self,
        client: &OwnedUniqueName,
        path: &str,
        end: EndOfObject,
    ) -> EdsResult<()> {
        let excess = {
            let mut owned = self.owned();
            let of_client = owned.values().filter(|(owner, _)| owner == client);
            if of_client.count() < MAX_OBJECTS_PER_CLIENT {
                owned.insert(path.to_owned(), (client.clone(), end));
                return Ok(());
            }
            end
        };
        excess().await;
        let reason = format!("{MAX_OBJECTS_PER_CLIENT} views and cursors are open");
        Err(EdsError::new(BUSY, reason))
    }

    /// Forgets an object that ended.
    pub fn remove_owned(&self, path: &str) {
        self.owned().remove(path);
    }

    /// Forgets a client that left the bus, and ends what it had registered.
    pub async fn forget_client(&self, client: &OwnedUniqueName) {
        for opened in self.opened().values_mut() {
            opened.clients.remove(client);
        }
        let left: Vec<_> = self
            .owned()
            .extract_if(|_, (owner, _)| owner == client)
            .collect();
        for (_, (_, end)) in left {
            end().await;
        }
        self.helpers.forget_client(client).await;
    }

    /// Puts an object of a client on the bus, such as a view, and returns its path. It ends when
    /// its client leaves the bus.
    ///
    /// # Errors
    /// If the bus's connection fails, or the client has too many.
    pub async fn add_object<I: Interface>(
        &self,
        owner: &OwnedUniqueName,
        path: &str,
        object: I,
        end: EndOfObject,
    ) -> EdsResult<OwnedObjectPath> {
        let object = self.guard(object);
        self.connection.object_server().at(path, object).await?;
        self.add_owned(owner, path, end).await?;
        OwnedObjectPath::try_from(path).map_err(|e| EdsError::new(OTHER, e.to_string()))
    }

    /// Announces the revision of an opened collection to all clients. `I` is the interface of its
    /// object.
    pub async fn announce_revision<I: Interface>(&self, path: &str, revision: String) {
        let announced = match SignalEmitter::new(&self.connection, path) {
            Ok(emitter) => {
                let changed = HashMap::from([("Revision", revision.into())]);
                let invalidated = Cow::Borrowed(&[][..]);
                Properties::properties_changed(&emitter, I::name(), changed, invalidated).await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = announced {
            tracing::warn!("{path}: the revision was not announced: {error}");
        }
    }

    /// Whether any client has a source open.
    pub fn is_in_use(&self) -> bool {
        let is_open = |opened: &OpenedSource| !opened.clients.is_empty();
        self.helpers.are_in_use() || self.opened().values().any(is_open)
    }
}

/// Returns the client of a call; the bus names it in every message.
///
/// # Errors
/// If the message has no sender.
pub fn sender_of(header: &Header<'_>) -> EdsResult<OwnedUniqueName> {
    let sender = header
        .sender()
        .ok_or_else(|| EdsError::new(OTHER, "the call has no sender"))?;
    Ok(OwnedUniqueName::from(sender.to_owned()))
}
