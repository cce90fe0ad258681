//! `org.freedesktop.DBus.ObjectManager`: the objects below the store's, and those below the views'.
//!
//! zbus announces an object from the closest object manager above it. The one of the views keeps them out
//! of the announcements of the store's, which programs follow for its collections.

use etui::CollectionId;
use std::borrow::Cow;
use std::collections::HashMap;

use etui::CollectionKind;
use zbus::fdo::ManagedObjects;
use zbus::message::Header;
use zbus::names::{InterfaceName, OwnedInterfaceName};
use zbus::object_server::{Interface, SignalEmitter};
use zbus::{
    Connection, ObjectPath, ObjectServer, OwnedObjectPath, OwnedVariant, Variant, fdo, interface,
};

use crate::book_object::BookObject;
use crate::calendar_object::CalendarCalls;
use crate::collection::calls_on;
use crate::collection_object::CollectionObject;
use crate::media_object::MediaObject;
use crate::paths::{MEDIA_PATH, collection_path};
use crate::playlists_object::PlaylistsObject;
use crate::service::{CollectionSet, Endpoint};

/// The interfaces of an object with their properties.
type Interfaces = HashMap<OwnedInterfaceName, HashMap<String, OwnedVariant>>;

/// The objects that a manager lists.
pub(crate) enum ListedObjects {
    /// The collections and the media library.
    OfStore,
    /// The views of the caller.
    ViewsOfCaller,
}

/// An object manager on one connection.
pub(crate) struct StoreObjects {
    pub(crate) endpoint: Endpoint,
    pub(crate) listed: ListedObjects,
}

/// The connection of a call.
struct CallPlace<'c> {
    server: &'c ObjectServer,
    connection: &'c Connection,
}

impl CallPlace<'_> {
    /// Adds an interface of the object at `path` with its properties.
    async fn add<I: Interface>(
        &self,
        found: &mut Interfaces,
        path: &str,
        object: &I,
    ) -> fdo::Result<()> {
        let emitter = SignalEmitter::new(self.connection, path.to_owned())?;
        let all = object.get_all(self.server, self.connection, None, &emitter);
        found.insert(I::name().into(), all.await?);
        Ok(())
    }
}

impl StoreObjects {
    async fn store_objects(&self, call: &CallPlace<'_>) -> fdo::Result<ManagedObjects> {
        let mut objects = ManagedObjects::new();
        for (id, kind) in self.collections() {
            let mut interfaces = Interfaces::new();
            let path = collection_path(id);
            // Another process may have removed it: it is left out, as it will be for the others.
            let added = self.add_collection(call, &mut interfaces, &path, (id, kind));
            if added.await.is_ok() {
                objects.insert(OwnedObjectPath::try_from(path)?, interfaces);
            }
        }
        let mut interfaces = Interfaces::new();
        let media = MediaObject {
            endpoint: self.endpoint.clone(),
        };
        call.add(&mut interfaces, MEDIA_PATH, &media).await?;
        let playlists = PlaylistsObject(media);
        call.add(&mut interfaces, MEDIA_PATH, &playlists).await?;
        objects.insert(OwnedObjectPath::try_from(MEDIA_PATH)?, interfaces);
        Ok(objects)
    }

    /// Returns the collections that have objects on this connection.
    fn collections(&self) -> CollectionSet {
        let links = self.endpoint.service.links();
        let number = self.endpoint.peer.as_ref().map(|peer| peer.number);
        let own = links
            .iter()
            .find(|link| link.peer.as_ref().map(|peer| peer.number) == number);
        own.map(|link| link.collections()).unwrap_or_default()
    }

    async fn add_collection(
        &self,
        call: &CallPlace<'_>,
        interfaces: &mut Interfaces,
        path: &str,
        (id, kind): (CollectionId, CollectionKind),
    ) -> fdo::Result<()> {
        let endpoint = self.endpoint.clone();
        match kind {
            CollectionKind::Contacts => {
                let object = BookObject { endpoint, id };
                call.add(interfaces, path, &object).await?;
            }
            _ => {
                let object = CalendarCalls { endpoint, id };
                call.add(interfaces, path, &object).await?;
            }
        }
        match collection_object(&self.endpoint, id, kind) {
            Some(object) => call.add(interfaces, path, &object).await,
            None => Ok(()),
        }
    }
}

/// Returns the object of a collection.
pub(crate) fn collection_object(
    endpoint: &Endpoint,
    id: CollectionId,
    kind: CollectionKind,
) -> Option<CollectionObject> {
    Some(CollectionObject {
        endpoint: endpoint.clone(),
        calls: calls_on(kind, id)?,
        kind,
        id,
    })
}

#[interface(name = "org.freedesktop.DBus.ObjectManager")]
impl StoreObjects {
    /// Returns the objects below this one with their interfaces and properties; of views those of
    /// the caller, without properties.
    #[zbus(out_args("objects"))]
    async fn get_managed_objects(
        &self,
        #[zbus(object_server)] server: &ObjectServer,
        #[zbus(connection)] connection: &Connection,
        #[zbus(header)] header: Header<'_>,
    ) -> fdo::Result<ManagedObjects> {
        match self.listed {
            ListedObjects::OfStore => self.store_objects(&CallPlace { server, connection }).await,
            ListedObjects::ViewsOfCaller => {
                let client = self.endpoint.client(&header);
                let views = self.endpoint.service.views_of(&client).into_iter();
                let view = OwnedInterfaceName::try_from("org.etui.View1")?;
                views
                    .map(|path| {
                        let interfaces = Interfaces::from([(view.clone(), HashMap::new())]);
                        Ok((OwnedObjectPath::try_from(path)?, interfaces))
                    })
                    .collect()
            }
        }
    }

    /// An object was added.
    #[zbus(signal)]
    async fn interfaces_added(
        emitter: &SignalEmitter<'_>,
        object: ObjectPath<'_>,
        interfaces: HashMap<InterfaceName<'_>, HashMap<&str, Variant<'_>>>,
    ) -> zbus::Result<()>;

    /// An object was removed.
    #[zbus(signal)]
    async fn interfaces_removed(
        emitter: &SignalEmitter<'_>,
        object: ObjectPath<'_>,
        interfaces: Cow<'_, [InterfaceName<'_>]>,
    ) -> zbus::Result<()>;
}
