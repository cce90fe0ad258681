//! SQLite's own VFS with two additions, for a database that a program opens and others use, too:
//!
//! - its locks are those of the open file description, which nothing else in the process can release: a
//!   second SQLite, a checksum of the file, a backup program's code. SQLite in other processes, and another
//!   copy in this one, see them as its own;
//! - a cold start reads the pages that it needs, and not all around them.
//!
//! Files, formats and the protocol of locks are SQLite's. Where the system has no such locks
//! ([`has_ofd_locks`]), a database is SQLite's own VFS's alone.
//!
//! Below a store, this crate alone contains unsafe code. Its interface is safe: no argument
//! of a caller makes it access memory that it does not own.

#[doc(hidden)]
pub mod base_vfs;
mod database;
mod error;
mod file_identity;
#[doc(hidden)]
pub mod file_methods;
#[doc(hidden)]
pub mod first_pages;
#[doc(hidden)]
pub mod fork;
#[doc(hidden)]
pub mod guarded_file;
#[doc(hidden)]
pub mod header_marker;
#[doc(hidden)]
pub mod lock_holder;
mod memory;
#[doc(hidden)]
pub mod sqlite_api;
mod sqlite_file;
#[doc(hidden)]
pub mod vfs;
mod wal_index;

pub use error::Error;
pub use file_identity::file_identity;
pub use guarded_file::{has_ofd_locks, is_in_use};
pub use lock_holder::{LockHolder, writer_of};
pub use memory::release_free_memory;
#[doc(hidden)]
pub use sqlite_file::{SqliteFile, VfsErrorCode};
#[doc(hidden)]
pub use vfs::register_above;
pub use vfs::{Vfs, register};
