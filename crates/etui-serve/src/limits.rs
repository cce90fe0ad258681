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
    /// Bodies of requests in memory at a time, in bytes, without the first 64 KiB of each. If they are used up, one
    /// body at a time may grow to its limit all the same; the others wait.
    pub bodies_bytes: u64,
    /// Answers that wait in files for their clients at a time, in bytes. One that finds no room is cut.
    pub spool_bytes: u64,
    /// Connections at a time; further ones wait.
    pub connections: usize,
    /// Connections at a time on which no password was accepted yet. For a further one that one is cut which is
    /// the oldest of the address that has most. At most half of all, and not with a reverse proxy.
    pub strangers: usize,
    /// Those of one address.
    pub strangers_per_address: usize,
    /// Threads that read and write stores. Further ones check passwords. At most three of four write, and
    /// one of four writes a long answer.
    pub workers: usize,
    /// Stores of a directory that are open at a time.
    pub open_stores: usize,
    /// How long a write waits for another process that writes; then the client has to come again.
    pub write_wait: Duration,
    /// The time from the beginning of a connection to its first accepted password.
    pub stranger: Duration,
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
    /// The bytes per second that a client has to read on average.
    pub answer_rate: u64,
    /// How long a worker waits for a client that reads a large answer, in all. Then the answer goes to a file.
    pub answer_patience: Duration,
    /// The least time of an answer to a wrong password: it does not show whether there is such a user.
    pub refusal: Duration,
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
            bodies_bytes: 16 << 20,
            spool_bytes: 1 << 30,
            connections: 256,
            strangers: 128,
            strangers_per_address: 64,
            workers: 8,
            open_stores: 16,
            write_wait: Duration::from_secs(5),
            stranger: Duration::from_secs(10),
            handshake: Duration::from_secs(10),
            head: Duration::from_secs(60),
            body_pause: Duration::from_secs(30),
            body: Duration::from_secs(300),
            answer_pause: Duration::from_secs(60),
            answer_rate: 4 << 10,
            answer_patience: Duration::from_millis(100),
            refusal: Duration::from_millis(100),
            wrong_passwords: 10,
            wrong_password_wait: Duration::from_secs(3),
            stop: Duration::from_secs(10),
        }
    }
}
