//! [`Service`]: the state shared by all objects: the store, the open views and jobs and whose they are, and
//! whether the service is in use.

use etui::CollectionId;
use std::collections::{BTreeMap, HashMap};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use etui::calendar::CalendarObject;
use etui::contacts::Card;
use etui::{CollectionKind, Store};
use zbus::Connection;
use zbus::message::Header;

use crate::error::{ErrorKind, StoreError};
use crate::import_job::{ImportJob, JobState};
use crate::view_object::ViewObject;
use crate::view_thread::ViewThread;
use etui_bus::CallActivity;
use etui_bus::CallLimits;
use etui_bus::GuardedObject;
use etui_bus::guard::{catch_panic, catch_panic_on_worker};

/// Calls of one client that run at once.
const MAX_RUNNING_CALLS: usize = 4;
/// Views and jobs that one client may have open.
const MAX_OBJECTS_PER_CLIENT: usize = 256;

/// Who made the steps of calls.
const STEP_AUTHOR: &str = "D-Bus";

/// A client: its unique name on the bus, or its private connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ClientId(String);

impl ClientId {
    /// The client with this unique name on the bus.
    pub(crate) fn of_bus(name: &str) -> Self {
        Self(name.to_owned())
    }
}

/// An object that belongs to a client: dropped when the client leaves.
pub(crate) struct OwnedObject {
    pub(crate) client: ClientId,
    pub(crate) connection: Connection,
    pub(crate) kind: OwnedKind,
}

/// The kind of an owned object.
pub(crate) enum OwnedKind {
    /// A view, by its number in the view thread.
    View(u64),
    /// An import.
    Job(Arc<JobState>),
}

/// The state shared by all objects.
pub(crate) struct Service {
    store: Arc<Store>,
    views: Mutex<Option<Arc<ViewThread>>>,
    objects: Mutex<HashMap<String, OwnedObject>>,
    /// The connections that have objects: the bus, and the private ones.
    links: Mutex<Vec<Arc<Link>>>,
    /// Holds one reference for each private connection, also while its client authenticates.
    peer_slots: Arc<()>,
    /// The limits of clients on the bus.
    limits: Arc<CallLimits>,
    activity: Arc<CallActivity>,
    next_number: AtomicU64,
    calls_running: AtomicU64,
    started: Instant,
    /// Milliseconds from the start to the end of the latest call.
    last_call: AtomicU64,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Service {
    pub(crate) fn new(store: Store) -> Self {
        let activity = Arc::default();
        Self {
            store: Arc::new(store),
            views: Mutex::default(),
            objects: Mutex::default(),
            links: Mutex::default(),
            peer_slots: Arc::new(()),
            limits: CallLimits::with_activity(MAX_RUNNING_CALLS, &activity),
            activity,
            next_number: AtomicU64::new(1),
            calls_running: AtomicU64::new(0),
            started: Instant::now(),
            last_call: AtomicU64::new(0),
        }
    }

    /// The calls of all connections.
    pub(crate) fn activity(&self) -> &Arc<CallActivity> {
        &self.activity
    }

    /// The store.
    pub(crate) fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Returns a number that is never used twice.
    pub(crate) fn next_number(&self) -> u64 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the thread of the views; starts it for the first one.
    pub(crate) fn views(&self) -> Result<Arc<ViewThread>, StoreError> {
        let mut views = locked(&self.views);
        if let Some(thread) = &*views {
            return Ok(Arc::clone(thread));
        }
        let thread = Arc::new(ViewThread::start(&self.store)?);
        *views = Some(Arc::clone(&thread));
        Ok(thread)
    }

    /// Notes an object of a client. A client has a bounded number.
    pub(crate) fn add_object(&self, path: &str, object: OwnedObject) -> Result<(), StoreError> {
        let mut objects = locked(&self.objects);
        let of_client = objects.values().filter(|o| o.client == object.client);
        if of_client.count() >= MAX_OBJECTS_PER_CLIENT {
            return Err(StoreError::new(
                ErrorKind::Busy,
                format!("{MAX_OBJECTS_PER_CLIENT} views and jobs are open; close one first"),
            ));
        }
        objects.insert(path.to_owned(), object);
        Ok(())
    }

    /// Returns the paths of a client's views.
    pub(crate) fn views_of(&self, client: &ClientId) -> Vec<String> {
        let objects = locked(&self.objects);
        let own = objects.iter().filter(|(_, object)| {
            object.client == *client && matches!(object.kind, OwnedKind::View(_))
        });
        own.map(|(path, _)| path.clone()).collect()
    }

    /// Closes an object and takes it off the bus.
    pub(crate) async fn close_object(&self, path: &str) {
        let object = locked(&self.objects).remove(path);
        if let Some(object) = object {
            self.end_object(path, object).await;
        }
    }

    /// Closes everything that belongs to a client that left.
    pub(crate) async fn forget_client(&self, client: &ClientId) {
        for (path, object) in self.take_objects(|object| object.client == *client) {
            self.end_object(&path, object).await;
        }
    }

    fn take_objects(&self, is_meant: impl Fn(&OwnedObject) -> bool) -> Vec<(String, OwnedObject)> {
        let mut objects = locked(&self.objects);
        objects.extract_if(|_, object| is_meant(object)).collect()
    }

    async fn end_object(&self, path: &str, object: OwnedObject) {
        let server = object.connection.object_server();
        // It is gone already if its connection is.
        match object.kind {
            OwnedKind::View(number) => {
                if let Some(views) = &*locked(&self.views) {
                    views.close(number);
                }
                let _ = server.remove::<ViewObject, _>(path).await;
            }
            OwnedKind::Job(state) => {
                state.cancel();
                let _ = server.remove::<ImportJob, _>(path).await;
            }
        }
    }

    /// Returns the number of imports that run.
    pub(crate) fn running_jobs(&self) -> usize {
        let objects = locked(&self.objects);
        let jobs = objects.values().filter(|object| match &object.kind {
            OwnedKind::Job(state) => state.is_running(),
            OwnedKind::View(_) => false,
        });
        jobs.count()
    }

    /// Notes a connection that has the objects.
    pub(crate) fn add_link(&self, link: Link) {
        locked(&self.links).push(Arc::new(link));
    }

    /// Forgets a private connection that was closed.
    pub(crate) async fn remove_link(&self, number: u64) {
        let is_it = |link: &Arc<Link>| link.peer.as_ref().is_some_and(|p| p.number == number);
        locked(&self.links).retain(|link| !is_it(link));
        self.forget_client(&peer_client(number)).await;
    }

    /// Returns the connections that have the objects.
    pub(crate) fn links(&self) -> Vec<Arc<Link>> {
        locked(&self.links).clone()
    }

    /// Returns the collections that have objects on the bus.
    pub(crate) fn bus_collections(&self) -> CollectionSet {
        let links = locked(&self.links);
        let bus = links.iter().find(|link| link.peer.is_none());
        bus.map(|link| link.collections()).unwrap_or_default()
    }

    /// Reserves a private connection until the result is dropped; `None` if `max` are open.
    pub(crate) fn reserve_peer(&self, max: usize) -> Option<Arc<()>> {
        (self.open_peers() < max).then(|| Arc::clone(&self.peer_slots))
    }

    fn open_peers(&self) -> usize {
        Arc::strong_count(&self.peer_slots) - 1
    }

    /// Returns true while a call runs, or a view, a job or a private connection is open.
    pub(crate) fn is_in_use(&self) -> bool {
        self.has_running_calls() || !locked(&self.objects).is_empty() || self.open_peers() > 0
    }

    /// Returns how long the service has not been in use; `None` while it is.
    pub(crate) fn idle_time(&self) -> Option<Duration> {
        let last = Duration::from_millis(self.last_call.load(Ordering::Acquire));
        (!self.is_in_use()).then(|| self.started.elapsed().saturating_sub(last))
    }

    /// Returns true while a call runs.
    pub(crate) fn has_running_calls(&self) -> bool {
        self.calls_running.load(Ordering::Acquire) > 0
    }

    /// Drops everything that refers to a connection, and stops the thread of the views.
    pub(crate) fn shut_down(&self) {
        for (_, object) in locked(&self.objects).drain() {
            if let OwnedKind::Job(state) = object.kind {
                state.cancel();
            }
        }
        locked(&self.links).clear();
        drop(locked(&self.views).take());
    }

    /// Returns the store if nothing else holds it.
    pub(crate) fn into_store(self) -> Option<Store> {
        Arc::into_inner(self.store)
    }

    /// Returns the collections of a kind with their ids, the default one first.
    pub(crate) fn collections(
        &self,
        kind: CollectionKind,
    ) -> Result<Vec<(CollectionId, String)>, StoreError> {
        let store = &*self.store;
        let names = match kind {
            CollectionKind::Contacts => store.collections::<Card>().names()?,
            _ => store.collections::<CalendarObject>().names()?,
        };
        let ids = names.into_iter().filter_map(|name| {
            let id = match kind {
                CollectionKind::Contacts => store.collection::<Card>(&name).map(|c| c.id()),
                _ => store.collection::<CalendarObject>(&name).map(|c| c.id()),
            };
            match id {
                Ok(id) => Some(Ok((id, name))),
                // Another process removed or renamed it meanwhile.
                Err(etui::Error::NoCollection { .. }) => None,
                Err(error) => Some(Err(error.into())),
            }
        });
        ids.collect()
    }
}

/// The client of a private connection.
fn peer_client(number: u64) -> ClientId {
    ClientId(format!("peer {number}"))
}

/// A call that runs: the service is not idle until it is dropped.
struct RunningCall(Arc<Service>);

impl RunningCall {
    fn begin(service: &Arc<Service>) -> Self {
        service.calls_running.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(service))
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        let elapsed = self.0.started.elapsed().as_millis();
        let now = u64::try_from(elapsed).unwrap_or(u64::MAX);
        self.0.last_call.store(now, Ordering::Release);
        self.0.calls_running.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The service as the objects of one connection see it.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) service: Arc<Service>,
    /// The private connection, if it is one.
    pub(crate) peer: Option<Arc<Peer>>,
}

/// The collections that have objects, by id.
pub(crate) type CollectionSet = BTreeMap<CollectionId, CollectionKind>;

/// A connection that has the objects.
pub(crate) struct Link {
    pub(crate) connection: Connection,
    /// The private connection, if it is one.
    pub(crate) peer: Option<Arc<Peer>>,
    collections: Mutex<CollectionSet>,
}

impl Link {
    pub(crate) fn new(
        connection: Connection,
        peer: Option<Arc<Peer>>,
        collections: CollectionSet,
    ) -> Self {
        Self {
            connection,
            peer,
            collections: Mutex::new(collections),
        }
    }

    /// Returns the collections that have objects on it.
    pub(crate) fn collections(&self) -> CollectionSet {
        locked(&self.collections).clone()
    }

    pub(crate) fn set_collections(&self, collections: CollectionSet) {
        *locked(&self.collections) = collections;
    }
}

/// A private connection.
pub(crate) struct Peer {
    pub(crate) number: u64,
    limits: Arc<CallLimits>,
}

impl Peer {
    /// A connection by our end of its socket.
    pub(crate) fn new(number: u64, socket: UnixStream, activity: &Arc<CallActivity>) -> Self {
        Self {
            number,
            limits: CallLimits::of_connection(MAX_RUNNING_CALLS, socket, activity),
        }
    }
}

impl Endpoint {
    /// Guards an object of this connection.
    pub(crate) fn guard<I>(&self, object: I) -> GuardedObject<I> {
        GuardedObject::new(object, self.limits())
    }

    /// Guards an object of one client of this connection.
    pub(crate) fn guard_private<I>(&self, object: I) -> GuardedObject<I> {
        GuardedObject::private(object, self.limits())
    }

    fn limits(&self) -> &Arc<CallLimits> {
        match &self.peer {
            Some(peer) => &peer.limits,
            None => &self.service.limits,
        }
    }

    /// Returns the client of a call.
    pub(crate) fn client(&self, header: &Header<'_>) -> ClientId {
        match (&self.peer, header.sender()) {
            (Some(peer), _) => peer_client(peer.number),
            (None, Some(sender)) => ClientId::of_bus(sender.as_str()),
            (None, None) => ClientId(String::new()),
        }
    }

    /// Runs a call that reads little, at once.
    pub(crate) fn answer<T>(
        &self,
        work: impl FnOnce(&Service) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let _call = RunningCall::begin(&self.service);
        catch_panic(|| work(&self.service))
    }

    /// Runs a call that changes the store, beside the thread of the bus. Its changes are one step with
    /// the name of the call.
    pub(crate) async fn change<T: Send + 'static>(
        &self,
        what: &'static str,
        work: impl FnOnce(&Service) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.answer_on_worker(move |service| {
            let _step = etui::label_step(STEP_AUTHOR, what);
            work(service)
        })
        .await
    }

    /// Runs a call that writes or may visit many records, beside the thread of the bus.
    pub(crate) async fn answer_on_worker<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Service) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let _call = RunningCall::begin(&self.service);
        let service = Arc::clone(&self.service);
        catch_panic_on_worker(move || work(&service)).await
    }
}
