//! CalDAV and CardDAV over an etui store.

pub mod query;
pub mod xml;
