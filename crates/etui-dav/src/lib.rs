//! CalDAV and CardDAV over an etui store.

pub mod xml;
