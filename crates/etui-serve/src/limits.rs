//! [`Limits`] of a server.

use std::time::Duration;

/// Limits of a server, which keep slow, broken and hostile clients from using it up.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// The largest head of a request, in bytes. One that comes in a single read may be twice as large.
    pub head_bytes: usize,
    /// The largest resource that may be written, in bytes.
    pub resource_bytes: u64,
    /// The largest body of every other request, in bytes.
    pub xml_bytes: u64,
    /// Bodies of requests in memory at a time, in bytes; further ones wait.
    pub bodies_bytes: u64,
    /// Connections at a time; further ones wait.
    pub connections: usize,
    /// Threads that read and write stores.
    pub workers: usize,
    /// Stores of a directory that are open at a time.
    pub open_stores: usize,
    /// The time for a TLS handshake.
    pub handshake: Duration,
    /// The time for the head of a request, and how long a connection may be idle before it.
    pub head: Duration,
    /// The longest pause within a body.
    pub body_pause: Duration,
    /// The time for a whole body.
    pub body: Duration,
    /// The longest pause of a client that reads an answer.
    pub answer_pause: Duration,
    /// Wrong passwords of an address before its answers wait.
    pub wrong_passwords: u32,
    /// How long the answer to a further wrong password waits.
    pub wrong_password_wait: Duration,
    /// The time for running answers when the server stops.
    pub stop: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_bytes: 64 << 10,
            resource_bytes: 10 << 20,
            xml_bytes: 16 << 20,
            bodies_bytes: 32 << 20,
            connections: 256,
            workers: 8,
            open_stores: 16,
            handshake: Duration::from_secs(10),
            head: Duration::from_secs(60),
            body_pause: Duration::from_secs(30),
            body: Duration::from_secs(300),
            answer_pause: Duration::from_secs(60),
            wrong_passwords: 10,
            wrong_password_wait: Duration::from_secs(3),
            stop: Duration::from_secs(10),
        }
    }
}
