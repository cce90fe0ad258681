//! [`CacheList`]: one cache of each type.

use std::any::Any;
use std::sync::OnceLock;

/// The caches of one store, in a list that only grows.
#[derive(Default)]
pub(super) struct CacheList(OnceLock<Box<CacheEntry>>);

struct CacheEntry {
    value: Box<dyn Any + Send + Sync>,
    next: CacheList,
}

impl CacheList {
    /// Returns the cache of type `T`, created on first use.
    pub(super) fn get<T: Default + Send + Sync + 'static>(&self) -> &T {
        let mut list = self;
        loop {
            let entry = list.0.get_or_init(|| {
                Box::new(CacheEntry {
                    value: Box::new(T::default()),
                    next: Self::default(),
                })
            });
            if let Some(value) = entry.value.downcast_ref() {
                return value;
            }
            list = &entry.next;
        }
    }
}
