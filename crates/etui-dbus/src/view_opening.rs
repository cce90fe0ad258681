//! Opening views: the object of its client, its signal, and the view itself.

use std::sync::Arc;

use zbus::message::Header;
use zbus::object_server::SignalEmitter;
use zbus::{Connection, OwnedObjectPath};

use crate::collection::ListCalls;
use crate::error::StoreError;
use crate::paths::view_path;
use crate::service::{Endpoint, OwnedKind, OwnedObject};
use crate::view_object::ViewObject;

/// Opens a view of the caller's own; returns the path of its object.
pub(crate) async fn open_view(
    endpoint: &Endpoint,
    calls: Arc<dyn ListCalls>,
    filter: String,
    header: &Header<'_>,
    connection: &Connection,
) -> Result<OwnedObjectPath, StoreError> {
    let service = &endpoint.service;
    let number = service.next_number();
    let path = view_path(number);
    let mut emitter = SignalEmitter::new(connection, path.clone())?.into_owned();
    if let Some(sender) = header.sender() {
        emitter = emitter.set_destination(sender.to_owned().into());
    }
    let runtime = zruntime::SharedRuntime::current()?;
    let ready = Box::new(move || {
        let emitter = emitter.clone();
        let send = async move {
            // A client that left gets nothing.
            let _ = ViewObject::ready(&emitter).await;
        };
        runtime.spawn("view is ready", send).detach();
    });
    let client = endpoint.client(header);
    let object = OwnedObject {
        client: client.clone(),
        connection: connection.clone(),
        kind: OwnedKind::View(number),
    };
    service.add_object(&path, object)?;
    let view = ViewObject {
        endpoint: endpoint.clone(),
        client,
        calls: Arc::clone(&calls),
        filter: filter.clone(),
        number,
    };
    let opened = endpoint
        .answer_on_worker(move |service| service.views()?.open(number, calls, filter, ready))
        .await;
    let registered = match opened {
        Ok(()) => {
            let view = endpoint.guard_private(view);
            let added = connection.object_server().at(path.as_str(), view).await;
            added.map(|_| ()).map_err(StoreError::from)
        }
        Err(error) => Err(error),
    };
    if let Err(error) = registered {
        service.close_object(&path).await;
        return Err(error);
    }
    Ok(OwnedObjectPath::try_from(path)?)
}
