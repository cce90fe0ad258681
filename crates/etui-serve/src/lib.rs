//! etui stores over HTTP for the devices of their owner: CardDAV, CalDAV and a small web page.
//!
//! ```text
//! connection ── TLS ── head ── password ── body ── worker: etui-dav on the store ── answer
//!    │                                                                                │
//!    └ one thread for all of them                          chunks of 64 KiB, a few at a time
//! ```
//!
//! One thread does all network I/O; a bounded number of workers read and write stores. A worker hands its
//! answer over in chunks, so a large answer is never in memory as a whole. It does not wait for a slow client: the
//! rest of the answer goes to a file without a name. A client that reads nothing, or too little, loses its connection.
//!
//! ```no_run
//! use etui_serve::{ServeOptions, Server, StoreSource};
//!
//! let source = StoreSource::One("personal.etui".into());
//! let mut options = ServeOptions::new(source);
//! options.listen = vec!["127.0.0.1:5233".parse()?];
//! let server = Server::bind(options)?;
//! let stop = server.stop_handle();
//! // From another thread, such as a signal's: stop.stop()
//! # drop(stop);
//! server.run()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod accounts;
mod answer_body;
mod authority;
mod basic;
mod certificate;
mod error;
mod handout;
mod last_seen;
mod limits;
mod listener;
mod log;
mod own_certificate;
mod paced_stream;
mod private_file;
mod profile_offer;
mod removals;
mod request_body;
mod router;
mod server;
mod shared;
mod short_answer;
mod spool;
mod strangers;
mod throttle;
mod users;
mod web;

pub use accounts::StoreSource;
pub use certificate::TlsFiles;
pub use error::ServeError;
pub use handout::offers_beside;
pub use limits::Limits;
pub use own_certificate::{OwnCertificate, is_home_name};
pub use profile_offer::ProfileOffer;
pub use server::{ServeOptions, Server, StopHandle};
pub use users::{is_user_name, read_users, store_in, user_name_of};
