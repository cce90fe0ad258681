//! [`CallLimits`]: bounds of the calls of each client, so that none fills the memory or holds up
//! the others.
//!
//! A call counts until its reply is sent. Where the bus takes replies more slowly than they are
//! made, as those for a client that never reads, calls wait instead of replies, and a call without
//! its reply is small.

use std::collections::HashMap;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use zbus::fdo;
use zbus::message::Message;
use zruntime::lock::{Semaphore, SemaphoreGuardArc};

use crate::call_activity::CallActivity;

/// Calls of one client that wait or run. Further ones are refused, and close a private connection.
const MAX_CALLS: usize = 4_096;
/// Bytes of the calls of one client that wait or run, or one call.
const MAX_CALL_BYTES: usize = 128 << 20;

/// The calls of each client of a connection that wait or run.
pub struct CallLimits {
    max_running: usize,
    /// The socket of a private connection.
    socket: Option<UnixStream>,
    clients: Mutex<HashMap<String, ClientCalls>>,
    activity: Arc<CallActivity>,
}

/// The calls of one client. An entry exists only while it has calls.
struct ClientCalls {
    calls: usize,
    bytes: usize,
    slots: Arc<Semaphore>,
}

/// A call that waits or runs.
pub(crate) struct AdmittedCall<'l> {
    limits: &'l CallLimits,
    client: String,
    bytes: usize,
    slots: Arc<Semaphore>,
}

impl CallLimits {
    /// Returns limits by which so many calls of each client run at once; more of them wait.
    pub fn new(max_running: usize) -> Arc<Self> {
        Self::with_socket(max_running, None, Arc::default())
    }

    /// Returns limits whose calls count among those of a service.
    pub fn with_activity(max_running: usize, activity: &Arc<CallActivity>) -> Arc<Self> {
        Self::with_socket(max_running, None, Arc::clone(activity))
    }

    /// Returns the limits of a private connection, which is closed when they are exceeded: without
    /// a bus in between, the refusals themselves would wait for a client that does not read them.
    pub fn of_connection(
        max_running: usize,
        socket: UnixStream,
        activity: &Arc<CallActivity>,
    ) -> Arc<Self> {
        Self::with_socket(max_running, Some(socket), Arc::clone(activity))
    }

    fn with_socket(
        max_running: usize,
        socket: Option<UnixStream>,
        activity: Arc<CallActivity>,
    ) -> Arc<Self> {
        Arc::new(Self {
            max_running,
            socket,
            clients: Mutex::default(),
            activity,
        })
    }

    fn clients(&self) -> MutexGuard<'_, HashMap<String, ClientCalls>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call until the result is dropped.
    pub(crate) fn admit(&self, call: &Message) -> fdo::Result<AdmittedCall<'_>> {
        // A private connection has one client, without a name.
        let header = call.header();
        let client = header.sender().map_or("", |sender| sender.as_str());
        let bytes = call.data().len();
        let mut clients = self.clients();
        if let Some(of_client) = clients.get(client)
            && (of_client.calls == MAX_CALLS || of_client.bytes + bytes > MAX_CALL_BYTES)
        {
            if let Some(socket) = &self.socket {
                tracing::warn!("a private connection is closed: its client reads no replies");
                let _ = socket.shutdown(Shutdown::Both);
            }
            return Err(fdo::Error::LimitsExceeded(
                "too many calls at once; wait for their replies".to_owned(),
            ));
        }
        let of_client = clients
            .entry(client.to_owned())
            .or_insert_with(|| ClientCalls {
                calls: 0,
                bytes: 0,
                slots: Arc::new(Semaphore::new(self.max_running)),
            });
        of_client.calls += 1;
        of_client.bytes += bytes;
        self.activity.begin_call();
        Ok(AdmittedCall {
            limits: self,
            client: client.to_owned(),
            bytes,
            slots: Arc::clone(&of_client.slots),
        })
    }
}

impl AdmittedCall<'_> {
    /// Waits until fewer calls of its client run than may. The call runs until the result is
    /// dropped.
    pub(crate) async fn wait_for_turn(&self) -> SemaphoreGuardArc {
        self.slots.acquire_arc().await
    }
}

impl Drop for AdmittedCall<'_> {
    fn drop(&mut self) {
        self.limits.activity.end_call();
        let mut clients = self.limits.clients();
        if let Some(of_client) = clients.get_mut(&self.client) {
            of_client.calls -= 1;
            of_client.bytes -= self.bytes;
            if of_client.calls == 0 {
                clients.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn call(client: &str, bytes: usize) -> Message {
        Message::method_call("/", "Call")
            .sender(client)
            .build(&"x".repeat(bytes))
            .unwrap()
    }

    #[test]
    fn each_client_has_a_bounded_number_and_size_of_calls() {
        let limits = CallLimits::new(1);
        let small = call(":1.1", 0);
        let admitted: Vec<_> = (0..MAX_CALLS)
            .map(|_| limits.admit(&small).unwrap())
            .collect();
        assert!(limits.admit(&small).is_err());
        // A large call alone is admitted, a second one beside it is not.
        let large = call(":1.2", (64 << 20) - 1_000);
        let one = limits.admit(&large).unwrap();
        let two = limits.admit(&large).unwrap();
        assert!(limits.admit(&large).is_err());
        drop((one, two, admitted));
        assert!(limits.clients().is_empty());
    }

    #[test]
    fn calls_of_a_client_wait_for_its_own_alone() {
        let limits = CallLimits::new(1);
        let (ours, theirs) = (call(":1.1", 0), call(":1.2", 0));
        let (one, two) = (limits.admit(&ours).unwrap(), limits.admit(&ours).unwrap());
        let other = limits.admit(&theirs).unwrap();
        zbus::block_on(async {
            let running = one.wait_for_turn().await;
            assert!(two.slots.try_acquire().is_none());
            let _other = other.wait_for_turn().await;
            drop(running);
            drop(two.wait_for_turn().await);
        });
    }
}
