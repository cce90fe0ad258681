//! [`Removals`]: notices that a device removed more than half of a collection in a short time. That is allowed, for
//! removed records are in the trash; but it may be a mistake, so it is logged.

use etui::{CollectionId, DeviceId};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time within which removals count together.
const WINDOW: Duration = Duration::from_secs(10 * 60);

/// The least number of removals that is worth a line.
const LEAST: u64 = 10;

/// A device and a collection: user, device id, collection id.
type Key = (String, DeviceId, CollectionId);

/// Removals of a device in a collection.
struct Counted {
    begun: Instant,
    removed: u64,
    is_logged: bool,
}

/// The removals of the last minutes, by device and collection.
#[derive(Default)]
pub struct Removals(Mutex<HashMap<Key, Counted>>);

impl Removals {
    /// Counts `removed` records; `remaining` are left in the collection. Returns the number of removals of the
    /// last minutes if they have just become more than half of the collection.
    pub fn count(&self, key: Key, removed: u64, remaining: u64, now: Instant) -> Option<u64> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, counted| now.duration_since(counted.begun) < WINDOW);
        let counted = all.entry(key).or_insert(Counted {
            begun: now,
            removed: 0,
            is_logged: false,
        });
        counted.removed += removed;
        let is_most = counted.removed > remaining && counted.removed >= LEAST;
        if !is_most || counted.is_logged {
            return None;
        }
        counted.is_logged = true;
        Some(counted.removed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_half_is_reported_once() {
        let removals = Removals::default();
        let begun = Instant::now();
        let key = |device| ("ada".to_owned(), DeviceId(device), CollectionId(1));
        // Of 30, one by one.
        let reported: Vec<u64> = (1..=20)
            .filter_map(|n| removals.count(key(1), 1, 30 - n, begun))
            .collect();
        assert_eq!(reported, [16]);
        // Another device, and a later time, count from the start.
        assert_eq!(removals.count(key(2), 9, 0, begun), None);
        assert_eq!(removals.count(key(2), 1, 0, begun), Some(10));
        assert_eq!(removals.count(key(1), 20, 5, begun + WINDOW), Some(20));
    }
}
