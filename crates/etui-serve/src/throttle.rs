//! [`Throttle`]: wrong passwords by address. Only answers to wrong passwords wait, so a device with the right one
//! never does, also if it shares its address with others.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a wrong password counts.
const REMEMBERED: Duration = Duration::from_secs(15 * 60);

/// Addresses that are remembered at most.
const MAX_ADDRESSES: usize = 4096;

/// Wrong passwords of an address.
struct Failures {
    count: u32,
    latest: Instant,
}

/// Wrong passwords by address.
#[derive(Default)]
pub struct Throttle {
    failures: Mutex<HashMap<IpAddr, Failures>>,
}

impl Throttle {
    /// Records a wrong password, and returns the number of the last minutes from this address.
    pub fn record_failure(&self, address: IpAddr, now: Instant) -> u32 {
        let is_old = |failures: &Failures| now.duration_since(failures.latest) > REMEMBERED;
        let network = network_of(address);
        let mut all = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        // Only if there are many, since this reads them all.
        if all.len() >= MAX_ADDRESSES && !all.contains_key(&network) {
            all.retain(|_, failures| !is_old(failures));
            if all.len() >= MAX_ADDRESSES {
                // An attack from very many addresses: those that were silent longest are forgotten.
                let mut times: Vec<_> = all.values().map(|failures| failures.latest).collect();
                let (_, middle, _) = times.select_nth_unstable(MAX_ADDRESSES / 8);
                let middle = *middle;
                all.retain(|_, failures| failures.latest > middle);
            }
        }
        let failures = all.entry(network).or_insert(Failures {
            count: 0,
            latest: now,
        });
        if is_old(failures) {
            failures.count = 0;
        }
        failures.count = failures.count.saturating_add(1);
        failures.latest = now;
        failures.count
    }

    /// Returns the number of wrong passwords of the last minutes from an address.
    pub fn failures_of(&self, address: IpAddr, now: Instant) -> u32 {
        let all = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = all.get(&network_of(address));
        let recent = recent.filter(|failures| now.duration_since(failures.latest) <= REMEMBERED);
        recent.map_or(0, |failures| failures.count)
    }
}

/// Returns the address that counts: of IPv6 the first 64 bits, since a client has all of the others.
pub fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6((v6.to_bits() >> 64 << 64).into()),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn failures_count_by_network_and_are_forgotten() {
        let throttle = Throttle::default();
        let now = Instant::now();
        let fail = |address: &str, after: u64| {
            throttle.record_failure(address.parse().unwrap(), now + Duration::from_secs(after))
        };
        assert_eq!(fail("192.0.2.1", 0), 1);
        assert_eq!(fail("192.0.2.1", 1), 2);
        assert_eq!(fail("::ffff:192.0.2.1", 2), 3);
        assert_eq!(fail("192.0.2.2", 2), 1);
        assert_eq!(fail("2001:db8::1", 2), 1);
        assert_eq!(fail("2001:db8::ffff:2", 2), 2);
        assert_eq!(fail("2001:db8:0:1::1", 2), 1);
        assert_eq!(fail("192.0.2.1", 15 * 60 + 3), 1);
    }

    #[test]
    fn the_memory_is_bounded() {
        let throttle = Throttle::default();
        let now = Instant::now();
        for n in 0..2 * MAX_ADDRESSES as u32 {
            let at = now + Duration::from_millis(n.into());
            throttle.record_failure(IpAddr::V4((0x0a00_0000 + n).into()), at);
        }
        let count = throttle.failures.lock().unwrap().len();
        assert!((MAX_ADDRESSES / 2..=MAX_ADDRESSES).contains(&count));
        // The latest is remembered.
        let latest = IpAddr::V4((0x0a00_0000 + 2 * MAX_ADDRESSES as u32 - 1).into());
        assert_eq!(throttle.failures_of(latest, now), 1);
    }
}
