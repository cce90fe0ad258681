//! Bodies of requests, read into memory within limits.

use std::sync::Arc;
use std::time::Duration;

use http_body::Body;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};

use crate::limits::Limits;

/// Bytes of a refused body that are read and dropped, so that the client reads the answer before its connection
/// is closed.
const DRAINED: u64 = 256 << 10;

/// The time for that.
const DRAIN_TIME: Duration = Duration::from_secs(2);

/// The first bytes of each body, which need no permit. Most bodies have fewer.
const FREE: u64 = 64 << 10;

/// Bytes of a permit.
const PERMIT: u64 = 64 << 10;

/// A body that was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusedBody {
    /// It has more bytes than the limit.
    TooLarge,
    /// It came too slowly.
    TooSlow,
    /// It is malformed, or the client is gone.
    Broken,
    /// Other bodies have all of the memory.
    NoMemory,
}

/// The memory for bodies. A body takes it as it grows.
///
/// Bodies that all wait for more would wait for ever; so one of them at a time may grow without it.
pub struct BodyMemory {
    shared: Arc<Semaphore>,
    beyond: Arc<Semaphore>,
}

impl BodyMemory {
    /// Returns the memory for bodies of `bytes` together.
    pub fn new(bytes: u64) -> Self {
        let permits = usize::try_from(bytes / PERMIT).unwrap_or(usize::MAX);
        Self {
            shared: Arc::new(Semaphore::new(permits.min(Semaphore::MAX_PERMITS))),
            beyond: Arc::new(Semaphore::new(1)),
        }
    }

    /// Waits until a body may have `bytes`.
    async fn grow(&self, held: &mut HeldMemory, bytes: u64) {
        let missing = bytes.saturating_sub(FREE + held.bytes).div_ceil(PERMIT);
        if missing == 0 || held.beyond.is_some() {
            return;
        }
        let permits = u32::try_from(missing).unwrap_or(u32::MAX);
        // The semaphores are never closed.
        tokio::select! {
            biased;
            permit = Arc::clone(&self.shared).acquire_many_owned(permits) => {
                held.bytes += missing * PERMIT;
                held.shared.extend(permit.ok());
            }
            permit = Arc::clone(&self.beyond).acquire_owned() => held.beyond = permit.ok(),
        }
    }
}

/// The memory of a body, given back when this is dropped.
#[derive(Default)]
pub struct HeldMemory {
    shared: Vec<OwnedSemaphorePermit>,
    bytes: u64,
    beyond: Option<OwnedSemaphorePermit>,
}

/// Reads a body of at most `most` bytes. One whose announced length is larger is refused before the client
/// is asked for it.
pub async fn read_body(
    body: &mut Incoming,
    most: u64,
    limits: &Limits,
    memory: &BodyMemory,
) -> Result<(Vec<u8>, HeldMemory), RefusedBody> {
    if body.size_hint().lower() > most {
        return Err(RefusedBody::TooLarge);
    }
    let end = Instant::now() + limits.body;
    let (mut bytes, mut held) = (Vec::new(), HeldMemory::default());
    loop {
        let next = (Instant::now() + limits.body_pause).min(end);
        let frame = match timeout_at(next, body.frame()).await {
            Err(_) => return Err(RefusedBody::TooSlow),
            Ok(None) => return Ok((bytes, held)),
            Ok(Some(Err(_))) => return Err(RefusedBody::Broken),
            Ok(Some(Ok(frame))) => frame,
        };
        // Trailers are dropped.
        let Ok(data) = frame.into_data() else {
            continue;
        };
        let length = bytes.len() as u64 + data.len() as u64;
        if length > most {
            return Err(RefusedBody::TooLarge);
        }
        let waited = timeout(limits.body_pause, memory.grow(&mut held, length)).await;
        waited.map_err(|_| RefusedBody::NoMemory)?;
        bytes.extend_from_slice(&data);
    }
}

/// Reads the rest of a body that is not wanted, if it is short.
pub async fn drain_body(body: &mut Incoming) {
    let drained = async {
        let mut count = 0;
        while count <= DRAINED
            && let Some(Ok(frame)) = body.frame().await
        {
            count += frame.data_ref().map_or(0, |data| data.len() as u64);
        }
    };
    // A client that goes on after the time is cut off.
    let _ = timeout(DRAIN_TIME, drained).await;
}
