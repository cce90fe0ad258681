//! Collections of records: handles, identity, ETags, the change log, the trash.
//!
//! [`Collection`] is a handle to one collection of a store; [`Reader`] has its reads, also of one state. Their
//! records are a type parameter ([`RecordKind`]). Queries (`search`) and views (`watch`) build on
//! them.
//!
//! A collection is a named set of records of one kind (an address book, a calendar). The kinds
//! themselves (`contacts`, `calendar`) parse and index records; here a record is bytes with a UID,
//! keys and a sort key.

pub(crate) mod changes;
pub(crate) mod collection_table;
pub(crate) mod derive;
pub(crate) mod external_id;
mod handle;
pub(crate) mod history;
pub(crate) mod keys;
mod kind;
pub(crate) mod list;
pub(crate) mod prepared;
mod read;
pub(crate) mod records;
pub(crate) mod shared;
pub(crate) mod steps;
pub(crate) mod time_index;
mod transfer;
pub(crate) mod write;

pub use handle::Collection;
pub use history::{Version, VersionKind};
pub use kind::RecordKind;
pub(crate) use kind::{IndexedColumns, RecordOrigin};
pub(crate) use read::ReadState;
pub use read::{Paging, Reader, RecordKey, RecordTexts, StoredRecord};
pub use write::{Removal, Save};
