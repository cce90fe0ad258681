//! The objects of a connection: the store and its collections. Every connection, the bus and each
//! private one, has the same.

use etui::CollectionId;
use std::sync::Arc;

use etui::CollectionKind;
use zbus::connection::Builder;

use crate::book_object::BookObject;
use crate::calendar_object::CalendarCalls;
use crate::collection_object::CollectionObject;
use crate::error::StoreError;
use crate::media_object::MediaObject;
use crate::object_manager::{ListedObjects, StoreObjects, collection_object};
use crate::paths::{MEDIA_PATH, STORE_PATH, VIEWS_PATH, collection_path};
use crate::playlists_object::PlaylistsObject;
use crate::service::{CollectionSet, Endpoint, Link, Service};
use crate::store_object::StoreObject;

/// Reads which collections the store has.
pub(crate) fn read_collections(service: &Service) -> Result<CollectionSet, StoreError> {
    let mut found = CollectionSet::new();
    for kind in [CollectionKind::Contacts, CollectionKind::Calendar] {
        let all = service.collections(kind)?;
        found.extend(all.into_iter().map(|(id, _)| (id, kind)));
    }
    Ok(found)
}

/// Adds all objects to a connection that is being made. So no call comes before them.
pub(crate) fn serve_objects<'a>(
    builder: Builder<'a>,
    endpoint: &Endpoint,
    collections: &CollectionSet,
) -> Builder<'a> {
    let store = StoreObject {
        endpoint: endpoint.clone(),
    };
    let mut builder = builder.serve_at(STORE_PATH, endpoint.guard(store));
    for (&id, &kind) in collections {
        let path = collection_path(id);
        if let Some(object) = collection_object(endpoint, id, kind) {
            builder = builder.serve_at(path.clone(), endpoint.guard(object));
        }
        let own = endpoint.clone();
        builder = match kind {
            CollectionKind::Contacts => {
                builder.serve_at(path, endpoint.guard(BookObject { endpoint: own, id }))
            }
            _ => builder.serve_at(path, endpoint.guard(CalendarCalls { endpoint: own, id })),
        };
    }
    let media = MediaObject {
        endpoint: endpoint.clone(),
    };
    let playlists = PlaylistsObject(media.clone());
    let manager = |listed| {
        endpoint.guard(StoreObjects {
            endpoint: endpoint.clone(),
            listed,
        })
    };
    // The managers last: they read the objects that they announce.
    builder
        .serve_at(MEDIA_PATH, endpoint.guard(media))
        .serve_at(MEDIA_PATH, endpoint.guard(playlists))
        .serve_at(STORE_PATH, manager(ListedObjects::OfStore))
        .serve_at(VIEWS_PATH, manager(ListedObjects::ViewsOfCaller))
}

/// Makes the objects of all connections those of the store's collections: other processes create
/// and remove collections too.
pub(crate) async fn refresh_objects(endpoint: &Endpoint) -> Result<(), StoreError> {
    let current = endpoint.answer_on_worker(read_collections).await?;
    for link in endpoint.service.links() {
        let known = link.collections();
        for (&id, &kind) in current.iter().filter(|(id, _)| !known.contains_key(id)) {
            add_collection(&link, &endpoint.service, id, kind).await?;
        }
        for (&id, &kind) in known.iter().filter(|(id, _)| !current.contains_key(id)) {
            remove_collection(&link, id, kind).await;
        }
        link.set_collections(current.clone());
    }
    Ok(())
}

/// Adds a collection's objects to a connection; they may be there already.
async fn add_collection(
    link: &Link,
    service: &Arc<Service>,
    id: CollectionId,
    kind: CollectionKind,
) -> Result<(), StoreError> {
    let endpoint = Endpoint {
        service: Arc::clone(service),
        peer: link.peer.clone(),
    };
    let (server, path) = (link.connection.object_server(), collection_path(id));
    if let Some(object) = collection_object(&endpoint, id, kind) {
        server.at(path.as_str(), endpoint.guard(object)).await?;
    }
    let own = endpoint.clone();
    match kind {
        CollectionKind::Contacts => {
            let object = endpoint.guard(BookObject { endpoint: own, id });
            server.at(path.as_str(), object).await?;
        }
        _ => {
            let object = endpoint.guard(CalendarCalls { endpoint: own, id });
            server.at(path.as_str(), object).await?;
        }
    }
    Ok(())
}

/// Removes a collection's objects from a connection; they may be gone already.
async fn remove_collection(link: &Link, id: CollectionId, kind: CollectionKind) {
    let (server, path) = (link.connection.object_server(), collection_path(id));
    let _ = match kind {
        CollectionKind::Contacts => server.remove::<BookObject, _>(path.as_str()).await,
        _ => server.remove::<CalendarCalls, _>(path.as_str()).await,
    };
    let _ = server.remove::<CollectionObject, _>(path.as_str()).await;
}
