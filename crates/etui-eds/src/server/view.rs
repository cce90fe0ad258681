//! [`View`]: a query of a collection whose matches one client follows.
//!
//! Views of contacts and of calendars differ in what a [`ViewQuery`] says. [`view_object`] makes
//! their objects, which have the same calls and signals under two names.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use etui::RecordId;
use zbus::OwnedObjectPath;
use zbus::names::OwnedUniqueName;
use zbus::object_server::Interface;

use super::guard::answer_on_worker;
use super::shared::Server;
use super::view_life::{MAX_BATCH, NOTIFY_INITIAL, ViewChannel, ViewLife};
use crate::error::EdsResult;

/// The query of a view, and how its matches are read, compared and written.
pub(crate) trait ViewQuery: Send + Sync + Sized + 'static {
    /// The object of the view.
    type Object: Interface + From<Arc<View<Self>>>;
    /// The form in which the client gets a record.
    type Shape: Clone + Default + Send + Sync + 'static;
    /// The matches that the client knows.
    type Known: Send + 'static;
    /// A changed record of the collection.
    type Update: Send + Sync + 'static;
    /// A match as the client gets it.
    type Match: Send + 'static;
    /// Whether `Complete` follows the signals of each change.
    const COMPLETES_CHANGES: bool;

    /// Returns the form for a list of fields of interest.
    fn shape_of(fields: Vec<String>) -> Self::Shape;

    /// Returns the service.
    fn server(&self) -> &Arc<Server>;

    /// The views of the collection.
    fn views(&self) -> MutexGuard<'_, Vec<Arc<View<Self>>>>;

    /// Reads the present matches. Those to send are left out unless `is_wanted`.
    fn read_content(&self, shape: &Self::Shape, is_wanted: bool) -> EdsResult<ViewContent<Self>>;

    /// Reads the matches of ids; those that were removed meanwhile are left out.
    fn read_rest(&self, ids: &[RecordId], shape: &Self::Shape) -> EdsResult<Vec<Self::Match>>;

    /// Compares changed records with the query and with the matches that the client knows.
    fn compare(
        &self,
        known: &mut Self::Known,
        updates: &[Self::Update],
        shape: &Self::Shape,
    ) -> ViewSignals<Self::Match>;

    /// Appends a match to the arguments of a signal.
    fn write(found: Self::Match, shape: &Self::Shape, batch: &mut Vec<String>);
}

/// The content of a view: matches to send, and the ids of those that are still to be read.
pub(crate) struct ViewContent<Q: ViewQuery> {
    pub(crate) known: Q::Known,
    pub(crate) matches: Vec<Q::Match>,
    pub(crate) rest: Vec<RecordId>,
}

/// The signals for one set of changes.
pub(crate) struct ViewSignals<M> {
    pub(crate) added: Vec<M>,
    pub(crate) modified: Vec<M>,
    pub(crate) removed: Vec<String>,
}

impl<M> Default for ViewSignals<M> {
    fn default() -> Self {
        Self {
            added: Vec::new(),
            modified: Vec::new(),
            removed: Vec::new(),
        }
    }
}

/// The client's settings of a view.
#[derive(Clone)]
struct ViewSettings<S> {
    flags: u32,
    shape: S,
}

/// A view of one client.
pub(crate) struct View<Q: ViewQuery> {
    query: Q,
    channel: ViewChannel,
    settings: Mutex<ViewSettings<Q::Shape>>,
    life: ViewLife<Q::Known, Q::Update>,
}

impl<Q: ViewQuery> View<Q> {
    /// Puts a view that is not started on the bus, and returns its path.
    pub(crate) async fn open(query: Q, owner: OwnedUniqueName) -> EdsResult<OwnedObjectPath> {
        let server = query.server().clone();
        let interface = Q::Object::name();
        let (_, name) = interface.rsplit_once('.').unwrap_or_default();
        let path = server.new_path(name);
        let channel = ViewChannel {
            connection: server.connection.clone(),
            path: path.clone(),
            owner: owner.clone(),
            interface,
        };
        let view = Arc::new(Self {
            query,
            channel,
            settings: Mutex::new(ViewSettings {
                flags: NOTIFY_INITIAL,
                shape: Q::Shape::default(),
            }),
            life: ViewLife::default(),
        });
        view.query.views().push(view.clone());
        let object = Q::Object::from(view.clone());
        let end = Box::new(move || Box::pin(view.end()) as _);
        server.add_object(&owner, &path, object, end).await
    }

    fn settings(&self) -> MutexGuard<'_, ViewSettings<Q::Shape>> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the flags.
    pub(crate) fn set_flags(&self, flags: u32) {
        self.settings().flags = flags;
    }

    /// Sets the client's fields of interest.
    pub(crate) fn set_fields(&self, fields: Vec<String>) {
        self.settings().shape = Q::shape_of(fields);
    }

    /// Starts the view: its content is sent, then its changes. A running view goes on.
    pub(crate) fn start(self: &Arc<Self>) {
        if let Some(generation) = self.life.start() {
            let view = self.clone();
            zruntime::spawn(async move {
                if let Err(error) = view.load(generation).await {
                    view.channel.send_complete(Some(&error)).await;
                    view.stop();
                }
            })
            .detach();
        }
    }

    /// Stops the view; no more signals are sent.
    pub(crate) fn stop(&self) {
        self.life.stop();
    }

    /// Ends the view: `Dispose`, or its owner left the bus.
    pub(crate) async fn end(self: Arc<Self>) {
        self.stop();
        let path = self.channel.path.as_str();
        self.query.server().remove_owned(path);
        let is_other = |other: &Arc<Self>| !Arc::ptr_eq(other, &self);
        self.query.views().retain(is_other);
        let objects = self.channel.connection.object_server();
        let _ = objects.remove::<Q::Object, _>(path).await;
    }

    /// Sends the content, then the changes that came meanwhile.
    async fn load(self: &Arc<Self>, generation: u64) -> EdsResult<()> {
        self.channel.send_loading().await;
        let view = self.clone();
        let read = move || {
            let settings = view.settings().clone();
            let is_wanted = settings.flags & NOTIFY_INITIAL != 0;
            view.query.read_content(&settings.shape, is_wanted)
        };
        let content = answer_on_worker(read).await?;
        self.send_matches("ObjectsAdded", content.matches).await;
        for ids in content.rest.chunks(MAX_BATCH) {
            if !self.life.is_loading(generation) {
                return Ok(());
            }
            let (view, ids) = (self.clone(), ids.to_vec());
            let read = move || {
                let shape = view.settings().shape.clone();
                view.query.read_rest(&ids, &shape)
            };
            self.send_matches("ObjectsAdded", answer_on_worker(read).await?)
                .await;
        }
        self.channel.send_complete(None).await;
        let mut known = content.known;
        while let Some((now, waiting)) = self.life.take_waiting(generation, known) {
            known = now;
            for updates in waiting {
                let signals = self.compare(&mut known, &updates);
                self.send(signals).await;
            }
        }
        Ok(())
    }

    /// Sends changes of the collection, or keeps them until the content is sent.
    pub(crate) async fn send_updates(&self, updates: &Arc<Vec<Q::Update>>) {
        let compare = |known: &mut Q::Known| self.compare(known, updates);
        if let Some(signals) = self.life.apply(updates, compare) {
            self.send(signals).await;
        }
    }

    fn compare(&self, known: &mut Q::Known, updates: &[Q::Update]) -> ViewSignals<Q::Match> {
        let shape = self.settings().shape.clone();
        self.query.compare(known, updates, &shape)
    }

    async fn send(&self, signals: ViewSignals<Q::Match>) {
        let ViewSignals {
            added,
            modified,
            removed,
        } = signals;
        if added.is_empty() && modified.is_empty() && removed.is_empty() {
            return;
        }
        self.send_matches("ObjectsAdded", added).await;
        self.send_matches("ObjectsModified", modified).await;
        for uids in removed.chunks(MAX_BATCH) {
            self.channel.emit("ObjectsRemoved", &(uids,)).await;
        }
        if Q::COMPLETES_CHANGES {
            self.channel.send_complete(None).await;
        }
    }

    /// Sends matches in batches.
    async fn send_matches(&self, signal: &str, matches: Vec<Q::Match>) {
        let shape = self.settings().shape.clone();
        let write = |found, batch: &mut Vec<String>| Q::write(found, &shape, batch);
        self.channel.send_batches(signal, matches, write).await;
    }
}

/// Defines the object of a view.
macro_rules! view_object {
    ($object:ident, $interface:literal, $query:ty) => {
        /// The object of a view.
        pub(super) struct $object(std::sync::Arc<$crate::server::view::View<$query>>);

        impl From<std::sync::Arc<$crate::server::view::View<$query>>> for $object {
            fn from(view: std::sync::Arc<$crate::server::view::View<$query>>) -> Self {
                Self(view)
            }
        }

        #[expect(dead_code, reason = "`ViewChannel` sends the signals")]
        #[zbus::interface(name = $interface, introspection_docs = false)]
        impl $object {
            async fn start(&self) -> Result<(), EdsError> {
                self.0.start();
                Ok(())
            }

            async fn stop(&self) -> Result<(), EdsError> {
                self.0.stop();
                Ok(())
            }

            async fn set_flags(&self, flags: u32) -> Result<(), EdsError> {
                self.0.set_flags(flags);
                Ok(())
            }

            async fn set_fields_of_interest(
                &self,
                only_fields: Vec<String>,
            ) -> Result<(), EdsError> {
                self.0.set_fields(only_fields);
                Ok(())
            }

            async fn dispose(&self) -> Result<(), EdsError> {
                // The object is removed after this call, which borrows it.
                zruntime::spawn(self.0.clone().end()).detach();
                Ok(())
            }

            #[zbus(signal)]
            async fn objects_added(
                emitter: &SignalEmitter<'_>,
                objects: Vec<String>,
            ) -> zbus::Result<()>;

            #[zbus(signal)]
            async fn objects_modified(
                emitter: &SignalEmitter<'_>,
                objects: Vec<String>,
            ) -> zbus::Result<()>;

            #[zbus(signal)]
            async fn objects_removed(
                emitter: &SignalEmitter<'_>,
                uids: Vec<String>,
            ) -> zbus::Result<()>;

            #[zbus(signal)]
            async fn progress(
                emitter: &SignalEmitter<'_>,
                percent: u32,
                message: &str,
            ) -> zbus::Result<()>;

            #[zbus(signal)]
            async fn complete(
                emitter: &SignalEmitter<'_>,
                error_name: &str,
                error_message: &str,
            ) -> zbus::Result<()>;
        }
    };
}
pub(crate) use view_object;
