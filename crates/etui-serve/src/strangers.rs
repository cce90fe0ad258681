//! [`Strangers`]: connections on which no password was accepted yet. They are few, and short, so that they keep no
//! device out.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::throttle::network_of;

/// The connections without a password.
pub struct Strangers {
    limit: usize,
    limit_per_address: usize,
    open: Mutex<OpenStrangers>,
}

#[derive(Default)]
struct OpenStrangers {
    latest: u64,
    /// In the order in which they came.
    by_age: BTreeMap<u64, OpenStranger>,
}

struct OpenStranger {
    network: IpAddr,
    /// It has sent a request, which is being answered.
    is_asking: bool,
    cut: Arc<Notify>,
}

/// A connection, which is a stranger's until a password is accepted, and again once one is refused.
pub struct Stranger {
    strangers: Arc<Strangers>,
    network: IpAddr,
    /// Its number while it is a stranger's.
    number: Mutex<Option<u64>>,
    cut: Arc<Notify>,
    refused: Notify,
}

impl Strangers {
    /// Returns a set for at most `limit` connections, and `limit_per_address` of an address.
    pub fn new(limit: usize, limit_per_address: usize) -> Arc<Self> {
        Arc::new(Self {
            limit: limit.max(1),
            limit_per_address: limit_per_address.max(1),
            open: Mutex::default(),
        })
    }

    /// Adds a connection. If there are too many of its address, the oldest of them is cut; if there are too many in
    /// all, the oldest of the address that has most. Those that wait for an answer are cut last.
    pub fn add(self: &Arc<Self>, address: IpAddr) -> Stranger {
        let network = network_of(address);
        let cut = Arc::new(Notify::new());
        let number = self.insert(network, &cut, false);
        Stranger {
            strangers: Arc::clone(self),
            network,
            number: Mutex::new(Some(number)),
            cut,
            refused: Notify::new(),
        }
    }

    /// Adds a connection to the set; returns its number.
    fn insert(&self, network: IpAddr, cut: &Arc<Notify>, is_asking: bool) -> u64 {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let mut counts: HashMap<IpAddr, usize> = HashMap::new();
        for stranger in open.by_age.values() {
            *counts.entry(stranger.network).or_default() += 1;
        }
        let of_address = counts.get(&network).copied().unwrap_or(0);
        let crowded = match of_address >= self.limit_per_address {
            true => Some(network),
            false if open.by_age.len() >= self.limit => {
                let most = counts.into_iter().max_by_key(|(_, count)| *count);
                most.map(|(network, _)| network)
            }
            false => None,
        };
        let of_crowded = open.by_age.iter();
        let of_crowded = of_crowded.filter(|(_, stranger)| Some(stranger.network) == crowded);
        let oldest = of_crowded.min_by_key(|(number, stranger)| (stranger.is_asking, **number));
        if let Some(oldest) = oldest.map(|(number, _)| *number)
            && let Some(stranger) = open.by_age.remove(&oldest)
        {
            stranger.cut.notify_one();
        }
        open.latest += 1;
        let number = open.latest;
        let stranger = OpenStranger {
            network,
            is_asking,
            cut: Arc::clone(cut),
        };
        open.by_age.insert(number, stranger);
        number
    }
}

impl Stranger {
    /// Records that a password was accepted: the connection is not cut any more.
    pub fn accept(&self) {
        self.remove();
    }

    /// Records that no password was accepted, also if one was before.
    pub fn refuse(&self) {
        let number = self.number.lock();
        let mut number = number.unwrap_or_else(PoisonError::into_inner);
        if number.is_none() {
            *number = Some(self.strangers.insert(self.network, &self.cut, true));
            self.refused.notify_one();
        }
    }

    /// Records whether a request of it is being answered.
    pub fn set_asking(&self, is_asking: bool) {
        let number = self.number.lock();
        let number = number.unwrap_or_else(PoisonError::into_inner);
        let open = self.strangers.open.lock();
        let mut open = open.unwrap_or_else(PoisonError::into_inner);
        if let Some(stranger) = number.and_then(|number| open.by_age.get_mut(&number)) {
            stranger.is_asking = is_asking;
        }
    }

    /// Waits until the connection is to be cut: its place is needed, or no password was accepted for `time`.
    pub async fn wait_for_cut(&self, time: Duration) {
        loop {
            tokio::select! {
                biased;
                () = self.cut.notified() => return,
                // Its time begins again.
                () = self.refused.notified() => {}
                () = tokio::time::sleep(time) => {
                    if self.remove() {
                        return;
                    }
                    // A password was accepted.
                    tokio::select! {
                        () = self.cut.notified() => return,
                        () = self.refused.notified() => {}
                    }
                }
            }
        }
    }

    /// Removes it from the set; returns true if it was there.
    fn remove(&self) -> bool {
        let number = self.number.lock();
        let mut number = number.unwrap_or_else(PoisonError::into_inner);
        let open = self.strangers.open.lock();
        let mut open = open.unwrap_or_else(PoisonError::into_inner);
        let number = number.take();
        number.is_some_and(|number| open.by_age.remove(&number).is_some())
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.remove();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn add(strangers: &Arc<Strangers>, address: &str) -> Stranger {
        strangers.add(address.parse().unwrap())
    }

    fn is_open(stranger: &Stranger) -> bool {
        let number = *stranger.number.lock().unwrap();
        let open = stranger.strangers.open.lock().unwrap();
        number.is_some_and(|number| open.by_age.contains_key(&number))
    }

    #[test]
    fn the_oldest_of_the_address_with_most_is_cut() {
        let strangers = Strangers::new(4, 3);
        let device = add(&strangers, "192.0.2.1");
        let attacker = [(); 3].map(|()| add(&strangers, "198.51.100.1"));
        // Too many of an address.
        let fourth = add(&strangers, "198.51.100.1");
        assert_eq!(attacker.each_ref().map(is_open), [false, true, true]);
        // Too many in all.
        let tablet = add(&strangers, "192.0.2.2");
        assert_eq!(attacker.each_ref().map(is_open), [false, false, true]);
        for stranger in [&device, &fourth, &tablet] {
            assert!(is_open(stranger));
        }
        // One that waits for an answer is cut last.
        attacker[2].set_asking(true);
        let laptop = add(&strangers, "192.0.2.4");
        assert!(is_open(&attacker[2]) && !is_open(&fourth) && is_open(&laptop));
        drop(laptop);
        let fourth = add(&strangers, "198.51.100.1");
        // With a password it does not count, and its place is free.
        device.accept();
        let phone = add(&strangers, "192.0.2.3");
        assert!(is_open(&fourth) && is_open(&phone) && is_open(&attacker[2]));
        drop((attacker, fourth));
        assert_eq!(strangers.open.lock().unwrap().by_age.len(), 2);
    }
}
