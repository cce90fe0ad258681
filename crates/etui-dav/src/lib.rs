//! CalDAV and CardDAV over an etui store.

mod answer;
mod condition;
mod context;
mod data;
mod failure;
mod headers;
mod kind;
mod member_writer;
mod method;
mod multistatus;
mod path;
mod property;
mod report;
mod respond;
mod session;
pub mod xml;

pub use answer::answer;
pub use respond::{Collected, Respond};
pub use session::{DavOptions, Outcome, Session};
