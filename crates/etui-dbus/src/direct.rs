//! Private connections: a D-Bus connection over a socket pair, without the bus in between.

use std::os::unix::net::UnixStream;
use std::sync::Arc;

use zbus::Guid;
use zbus::connection::Builder;
use zruntime::SharedRuntime;

use crate::error::{ErrorKind, StoreError};
use crate::registry::serve_objects;
use crate::service::{Endpoint, Link, Peer, Service};

/// Private connections that may be open at once.
const MAX_PEERS: usize = 64;

/// Opens a private connection; returns the client's end of its socket.
pub(crate) fn open_peer(service: &Arc<Service>) -> Result<UnixStream, StoreError> {
    let Some(slot) = service.reserve_peer(MAX_PEERS) else {
        return Err(StoreError::new(
            ErrorKind::Busy,
            format!("{MAX_PEERS} private connections are open; close one first"),
        ));
    };
    let (ours, theirs) = UnixStream::pair()?;
    let peer = Arc::new(Peer::new(
        service.next_number(),
        ours.try_clone()?,
        service.activity(),
    ));
    let endpoint = Endpoint {
        service: Arc::clone(service),
        peer: Some(Arc::clone(&peer)),
    };
    // Collections created while the client authenticates are added by the next refresh.
    let collections = service.bus_collections();
    let serve = async move {
        let _slot = slot;
        let builder = Builder::unix_stream(ours).server(Guid::generate()).p2p();
        // The client authenticates when it likes; the socket closes if it never does.
        let built = serve_objects(builder, &endpoint, &collections)
            .build()
            .await;
        let service = Arc::clone(&endpoint.service);
        drop(endpoint);
        match built {
            Ok(connection) => {
                let link = Link::new(connection.clone(), Some(Arc::clone(&peer)), collections);
                service.add_link(link);
                connection.closed().await;
                service.remove_link(peer.number).await;
            }
            Err(error) => tracing::debug!("a private connection was not made: {error}"),
        }
    };
    let runtime = SharedRuntime::current()?;
    runtime.spawn("private connection", serve).detach();
    Ok(theirs)
}
