//! The arms.

use crate::{Arm, ArmRole};

pub const FOLDER: &str = "folder of files, written over";
pub const FOLDER_ATOMIC: &str = "folder of files, flushed and renamed";
pub const PLAIN_DELETE: &str = "plain SQLite, DELETE, FULL";
pub const PLAIN_EXTRA: &str = "plain SQLite, DELETE, EXTRA";
pub const PLAIN_WAL_NORMAL: &str = "plain SQLite, WAL, NORMAL";
pub const PLAIN_WAL: &str = "plain SQLite, WAL, FULL";
pub const PLAIN_REDO: &str = "plain SQLite, etui-vfs, FULL";
pub const FULL_SYSTEM: &str = "etui, Full, SQLite's VFS";
pub const FULL_REDO: &str = "etui, Full, etui-vfs";
pub const DEFERRED_SYSTEM: &str = "etui, Deferred, SQLite's VFS";
pub const DEFERRED_REDO: &str = "etui, Deferred, etui-vfs";
pub const DROPPED_SYSTEM: &str = "etui, Full, SQLite's VFS, flushes dropped";
pub const DROPPED_REDO: &str = "etui, Full, etui-vfs, flushes dropped";

/// Arms whose saves are durable when they return.
pub const DURABLE: [&str; 2] = [FULL_SYSTEM, FULL_REDO];
/// Arms whose saves survive a crash of the program.
pub const DEFERRED: [&str; 2] = [DEFERRED_SYSTEM, DEFERRED_REDO];
/// Arms on a device that ignores flushes.
pub const DROPPED: [&str; 2] = [DROPPED_SYSTEM, DROPPED_REDO];

/// Returns the arms in the order of the table. Those with `durable` must keep all
/// acknowledged saves.
pub fn list_arms() -> Vec<Arm> {
    use ArmRole::{AsFound, Etui, Peer, Unsafe, Variant};
    let arms = [
        (FOLDER, Peer, "product=folder"),
        (FOLDER_ATOMIC, Peer, "product=folder atomic durable"),
        (
            PLAIN_DELETE,
            AsFound,
            "product=plain journal=delete sync=full",
        ),
        (
            PLAIN_EXTRA,
            Peer,
            "product=plain journal=delete sync=extra durable",
        ),
        (
            PLAIN_WAL_NORMAL,
            Peer,
            "product=plain journal=wal sync=normal",
        ),
        (
            PLAIN_WAL,
            Peer,
            "product=plain journal=wal sync=full durable",
        ),
        (
            PLAIN_REDO,
            Variant,
            "product=plain journal=wal sync=full redo durable",
        ),
        (
            FULL_SYSTEM,
            Etui,
            "product=etui durability=full vfs=system durable",
        ),
        (
            FULL_REDO,
            Etui,
            "product=etui durability=full vfs=etui durable",
        ),
        (
            DEFERRED_SYSTEM,
            Variant,
            "product=etui durability=deferred vfs=system",
        ),
        (
            DEFERRED_REDO,
            Variant,
            "product=etui durability=deferred vfs=etui",
        ),
        (
            DROPPED_SYSTEM,
            Unsafe,
            "product=etui durability=full vfs=system dropped",
        ),
        (
            DROPPED_REDO,
            Unsafe,
            "product=etui durability=full vfs=etui dropped",
        ),
    ];
    let arms = arms.into_iter();
    arms.map(|(name, role, settings)| Arm::new(name, role, settings))
        .collect()
}
