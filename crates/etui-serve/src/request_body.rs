//! Bodies of requests, read into memory within limits.

use std::time::Duration;

use http_body::Body;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::{Instant, timeout, timeout_at};

use crate::limits::Limits;

/// Bytes of a refused body that are read and dropped, so that the client reads the answer before its connection
/// is closed.
const DRAINED: u64 = 256 << 10;

/// The time for that.
const DRAIN_TIME: Duration = Duration::from_secs(2);

/// A body that was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusedBody {
    /// It has more bytes than the limit.
    TooLarge,
    /// It came too slowly.
    TooSlow,
    /// It is malformed, or the client is gone.
    Broken,
}

/// Reads a body of at most `most` bytes. One whose announced length is larger is refused before the client
/// is asked for it.
pub async fn read_body(
    body: &mut Incoming,
    most: u64,
    limits: &Limits,
) -> Result<Vec<u8>, RefusedBody> {
    if body.size_hint().lower() > most {
        return Err(RefusedBody::TooLarge);
    }
    let end = Instant::now() + limits.body;
    let mut bytes = Vec::new();
    loop {
        let next = (Instant::now() + limits.body_pause).min(end);
        let frame = match timeout_at(next, body.frame()).await {
            Err(_) => return Err(RefusedBody::TooSlow),
            Ok(None) => return Ok(bytes),
            Ok(Some(Err(_))) => return Err(RefusedBody::Broken),
            Ok(Some(Ok(frame))) => frame,
        };
        // Trailers are dropped.
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if bytes.len() as u64 + data.len() as u64 > most {
            return Err(RefusedBody::TooLarge);
        }
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
