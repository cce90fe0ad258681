//! What all collections share: the handle, identity, ETags, the change log, the trash.
//!
//! [`Collection`] is one of a store's, [`Reader`] the same in one state; what their records are is
//! a type parameter ([`RecordKind`]). Finding in them (`query`) and following them (`view`) is built on
//! top.
//!
//! A collection is a set of records of one kind under one name (an address book, a calendar). What
//! a record is, and what is derived from it, is its kind's business (`contacts`, `calendar`); here
//! it is bytes with a UID, keys and a place in a list.

pub(crate) mod changes;
pub(crate) mod collection_table;
pub(crate) mod derive;
mod handle;
pub(crate) mod keys;
mod kind;
pub(crate) mod list;
pub(crate) mod prepared;
mod read;
pub(crate) mod records;
pub(crate) mod shared;
pub(crate) mod time_index;
pub(crate) mod write;

pub use handle::Collection;
pub(crate) use kind::{IndexedColumns, RecordOrigin};
pub use kind::{MergeOutcome, RecordKind};
pub use read::{Paging, Reader, RecordTexts, StoredRecord};
