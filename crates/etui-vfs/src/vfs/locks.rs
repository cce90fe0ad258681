//! [`LockTable`]: the locks of this process's connections. Other processes see a single lock: that
//! of the database file, held for all connections.

use libsqlite3_sys as ffi;
use std::os::raw::c_int;

/// The locks of the wal-index, by number.
pub(super) const WRITE: usize = 0;
pub(super) const CHECKPOINT: usize = 1;
pub(super) const RECOVER: usize = 2;
pub(super) const READ: usize = 3;
pub(super) const SLOTS: usize = 8;

/// The locks of one connection.
#[derive(Debug, Default)]
pub(super) struct HeldLocks {
    /// The lock of the database: one of SQLite's five levels.
    pub level: c_int,
    shared: u8,
    exclusive: u8,
}

/// A set of consecutive locks of the wal-index.
#[derive(Debug, Clone, Copy)]
pub(super) struct LockSlots(u8);

impl LockSlots {
    /// Returns `count` locks from `first` on, if they exist.
    pub fn new(first: c_int, count: c_int) -> Option<Self> {
        let first = usize::try_from(first).ok()?;
        let end = first.checked_add(usize::try_from(count).ok()?)?;
        let mask = (first..end).fold(0_u8, |mask, slot| {
            mask | 1_u8.checked_shl(slot as u32).unwrap_or(0)
        });
        (end <= SLOTS && mask != 0).then_some(Self(mask))
    }

    /// Returns all locks.
    pub fn all() -> Self {
        Self(u8::MAX)
    }

    pub fn covers_range(self, slot: usize) -> bool {
        self.0 & (1 << slot) != 0
    }

    fn each(self) -> impl Iterator<Item = usize> {
        (0..SLOTS).filter(move |slot| self.covers_range(*slot))
    }
}

impl HeldLocks {
    pub fn holds_exclusively(&self, slots: LockSlots) -> bool {
        self.exclusive & slots.0 == slots.0
    }
}

/// All locks of a database.
#[derive(Debug, Default)]
pub(super) struct LockTable {
    /// The number of connections with at least a SHARED lock.
    shared: usize,
    reserved: bool,
    /// A connection waits for the readers to finish; no reader may begin.
    pending: bool,
    exclusive: bool,
    /// For each lock of the wal-index: the number of sharers, or -1.
    slots: [i32; SLOTS],
}

impl LockTable {
    /// Raises a connection's lock of the database. Returns false if others block it. As in SQLite's
    /// own VFS, PENDING is kept then.
    pub fn raise_lock(&mut self, held: &mut HeldLocks, level: c_int) -> bool {
        if held.level >= level {
            return true;
        }
        if level == ffi::SQLITE_LOCK_SHARED {
            if self.pending || self.exclusive {
                return false;
            }
            self.shared += 1;
            held.level = level;
            return true;
        }
        // Only one connection can be above SHARED.
        let above = held.level >= ffi::SQLITE_LOCK_RESERVED;
        if !above && (self.reserved || self.pending || self.exclusive) {
            return false;
        }
        if level == ffi::SQLITE_LOCK_RESERVED {
            self.reserved = true;
            held.level = level;
            return true;
        }
        self.pending = true;
        held.level = ffi::SQLITE_LOCK_PENDING;
        if level == ffi::SQLITE_LOCK_EXCLUSIVE {
            if self.shared > 1 {
                return false;
            }
            self.exclusive = true;
            held.level = level;
        }
        true
    }

    /// Returns true if more than one connection has a lock of the database.
    pub fn is_shared_by_several(&self) -> bool {
        self.shared > 1
    }

    /// Returns true if any connection has a lock of the database.
    pub fn is_locked(&self) -> bool {
        self.shared > 0
    }

    /// Lowers a connection's lock of the database to SHARED or NONE.
    pub fn lower_lock(&mut self, held: &mut HeldLocks, level: c_int) {
        if held.level <= level {
            return;
        }
        if held.level >= ffi::SQLITE_LOCK_RESERVED {
            self.reserved = false;
            self.pending = false;
            self.exclusive = false;
        }
        if level == ffi::SQLITE_LOCK_NONE {
            self.shared = self.shared.saturating_sub(1);
        }
        held.level = level;
    }

    /// Returns true if a connection is about to write.
    pub fn is_reserved(&self) -> bool {
        self.reserved || self.pending || self.exclusive
    }

    /// Returns true if a connection has exclusive access.
    pub fn is_exclusive(&self) -> bool {
        self.exclusive
    }

    /// Returns true if this connection has a lock and no other one does.
    pub fn is_alone(&self, held: &HeldLocks) -> bool {
        held.level >= ffi::SQLITE_LOCK_SHARED && self.shared == 1
    }

    /// Locks slots of the wal-index, all or none.
    pub fn lock(&mut self, held: &mut HeldLocks, slots: LockSlots, exclusive: bool) -> bool {
        if exclusive {
            if slots.each().any(|slot| self.slots[slot] != 0) {
                return false;
            }
            for slot in slots.each() {
                self.slots[slot] = -1;
            }
            held.exclusive |= slots.0;
            return true;
        }
        let new = LockSlots(slots.0 & !held.shared);
        if new.each().any(|slot| self.slots[slot] < 0) {
            return false;
        }
        for slot in new.each() {
            self.slots[slot] += 1;
        }
        held.shared |= slots.0;
        true
    }

    /// Unlocks the slots of the wal-index that are held.
    pub fn unlock(&mut self, held: &mut HeldLocks, slots: LockSlots) {
        for slot in LockSlots(slots.0 & held.exclusive).each() {
            self.slots[slot] = 0;
        }
        for slot in LockSlots(slots.0 & held.shared).each() {
            self.slots[slot] -= 1;
        }
        held.exclusive &= !slots.0;
        held.shared &= !slots.0;
    }

    /// Returns true if any connection holds the slot.
    pub fn is_held(&self, slot: usize) -> bool {
        self.slots.get(slot).is_some_and(|count| *count != 0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn one_writes_when_nobody_reads() {
        let (mut locks, mut a, mut b) = (
            LockTable::default(),
            HeldLocks::default(),
            HeldLocks::default(),
        );
        let (shared, reserved) = (ffi::SQLITE_LOCK_SHARED, ffi::SQLITE_LOCK_RESERVED);
        assert!(locks.raise_lock(&mut a, shared) && locks.raise_lock(&mut b, shared));
        assert!(locks.raise_lock(&mut a, reserved) && !locks.raise_lock(&mut b, reserved));
        assert!(locks.is_reserved());
        assert!(!locks.raise_lock(&mut a, ffi::SQLITE_LOCK_EXCLUSIVE));
        assert_eq!(a.level, ffi::SQLITE_LOCK_PENDING);
        locks.lower_lock(&mut b, ffi::SQLITE_LOCK_NONE);
        assert!(!locks.raise_lock(&mut b, shared));
        assert!(locks.raise_lock(&mut a, ffi::SQLITE_LOCK_EXCLUSIVE));
        locks.lower_lock(&mut a, shared);
        assert!(locks.raise_lock(&mut b, shared) && !locks.is_reserved());
    }

    #[test]
    fn slots_are_shared_or_exclusive_all_or_none() {
        let (mut locks, mut a, mut b) = (
            LockTable::default(),
            HeldLocks::default(),
            HeldLocks::default(),
        );
        let readers = LockSlots::new(4, 4).unwrap();
        let one = LockSlots::new(5, 1).unwrap();
        assert!(locks.lock(&mut a, one, false) && locks.lock(&mut b, one, false));
        assert!(locks.lock(&mut a, one, false));
        locks.unlock(&mut a, one);
        assert!(!locks.lock(&mut a, readers, true));
        locks.unlock(&mut b, one);
        assert!(locks.lock(&mut a, readers, true) && a.holds_exclusively(one));
        assert!(!locks.lock(&mut b, one, false));
        locks.unlock(&mut a, readers);
        assert!(locks.lock(&mut b, one, false));
        assert!(LockSlots::new(4, 5).is_none() && LockSlots::new(-1, 1).is_none());
    }
}
