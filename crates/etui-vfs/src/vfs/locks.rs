//! [`Locks`]: who of this process's connections has what locked. Outside the process all of
//! them are one: the database's file is locked for all of them together.

use libsqlite3_sys as ffi;
use std::os::raw::c_int;

/// The locks of the wal-index, by number.
pub(super) const WRITE: usize = 0;
pub(super) const CHECKPOINT: usize = 1;
pub(super) const RECOVER: usize = 2;
pub(super) const READ: usize = 3;
pub(super) const SLOTS: usize = 8;

/// What one connection holds.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// Of the database: one of SQLite's five levels.
    pub level: c_int,
    shared: u8,
    exclusive: u8,
}

/// A set of successive locks of the wal-index.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slots(u8);

impl Slots {
    /// `count` locks from `first` on, if there are so many.
    pub fn new(first: c_int, count: c_int) -> Option<Self> {
        let first = usize::try_from(first).ok()?;
        let end = first.checked_add(usize::try_from(count).ok()?)?;
        let mask = (first..end).fold(0_u8, |mask, slot| {
            mask | 1_u8.checked_shl(slot as u32).unwrap_or(0)
        });
        (end <= SLOTS && mask != 0).then_some(Self(mask))
    }

    pub fn covers(self, slot: usize) -> bool {
        self.0 & (1 << slot) != 0
    }

    fn each(self) -> impl Iterator<Item = usize> {
        (0..SLOTS).filter(move |slot| self.covers(*slot))
    }
}

impl Held {
    pub fn holds_exclusively(&self, slots: Slots) -> bool {
        self.exclusive & slots.0 == slots.0
    }
}

/// All locks of a database.
#[derive(Debug, Default)]
pub(super) struct Locks {
    /// How many connections read, which each that writes does as well.
    shared: usize,
    reserved: bool,
    /// One waits until all others have done reading; nobody begins to read.
    pending: bool,
    exclusive: bool,
    /// For each lock of the wal-index: how many share it, or -1.
    slots: [i32; SLOTS],
}

impl Locks {
    /// Raises a connection's lock of the database; `false`: others are in the way. As in
    /// SQLite's own VFS, PENDING is kept then.
    pub fn raise(&mut self, held: &mut Held, level: c_int) -> bool {
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
        // Above SHARED there is one at most.
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

    /// Whether any connection has a lock of the database.
    pub fn is_locked(&self) -> bool {
        self.shared > 0
    }

    /// Lowers a connection's lock of the database, to SHARED or NONE.
    pub fn lower(&mut self, held: &mut Held, level: c_int) {
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

    /// Whether a connection is about to write.
    pub fn is_reserved(&self) -> bool {
        self.reserved || self.pending || self.exclusive
    }

    /// Whether a connection has the database for itself.
    pub fn is_exclusive(&self) -> bool {
        self.exclusive
    }

    /// Whether no other connection reads or writes than this one, which does.
    pub fn is_alone(&self, held: &Held) -> bool {
        held.level >= ffi::SQLITE_LOCK_SHARED && self.shared == 1
    }

    /// Locks slots of the wal-index, all or none.
    pub fn lock(&mut self, held: &mut Held, slots: Slots, exclusive: bool) -> bool {
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
        let new = Slots(slots.0 & !held.shared);
        if new.each().any(|slot| self.slots[slot] < 0) {
            return false;
        }
        for slot in new.each() {
            self.slots[slot] += 1;
        }
        held.shared |= slots.0;
        true
    }

    /// Unlocks slots of the wal-index, as far as they are held.
    pub fn unlock(&mut self, held: &mut Held, slots: Slots) {
        for slot in Slots(slots.0 & held.exclusive).each() {
            self.slots[slot] = 0;
        }
        for slot in Slots(slots.0 & held.shared).each() {
            self.slots[slot] -= 1;
        }
        held.exclusive &= !slots.0;
        held.shared &= !slots.0;
    }

    /// Whether anybody has the slot.
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
        let (mut locks, mut a, mut b) = (Locks::default(), Held::default(), Held::default());
        let (shared, reserved) = (ffi::SQLITE_LOCK_SHARED, ffi::SQLITE_LOCK_RESERVED);
        assert!(locks.raise(&mut a, shared) && locks.raise(&mut b, shared));
        assert!(locks.raise(&mut a, reserved) && !locks.raise(&mut b, reserved));
        assert!(locks.is_reserved());
        assert!(!locks.raise(&mut a, ffi::SQLITE_LOCK_EXCLUSIVE));
        assert_eq!(a.level, ffi::SQLITE_LOCK_PENDING);
        locks.lower(&mut b, ffi::SQLITE_LOCK_NONE);
        assert!(!locks.raise(&mut b, shared));
        assert!(locks.raise(&mut a, ffi::SQLITE_LOCK_EXCLUSIVE));
        locks.lower(&mut a, shared);
        assert!(locks.raise(&mut b, shared) && !locks.is_reserved());
    }

    #[test]
    fn slots_are_shared_or_exclusive_all_or_none() {
        let (mut locks, mut a, mut b) = (Locks::default(), Held::default(), Held::default());
        let readers = Slots::new(4, 4).unwrap();
        let one = Slots::new(5, 1).unwrap();
        assert!(locks.lock(&mut a, one, false) && locks.lock(&mut b, one, false));
        assert!(locks.lock(&mut a, one, false));
        locks.unlock(&mut a, one);
        assert!(!locks.lock(&mut a, readers, true));
        locks.unlock(&mut b, one);
        assert!(locks.lock(&mut a, readers, true) && a.holds_exclusively(one));
        assert!(!locks.lock(&mut b, one, false));
        locks.unlock(&mut a, readers);
        assert!(locks.lock(&mut b, one, false));
        assert!(Slots::new(4, 5).is_none() && Slots::new(-1, 1).is_none());
    }
}
