//! A clock that is quickly read.

use std::time::Duration;

use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};

/// A time, to some milliseconds. It is asked for at each record that is looked at, where an exact
/// one would cost a tenth of that.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub(super) struct Moment(TimeSpec);

impl Moment {
    /// `None`: the system has no such clock.
    pub(super) fn now() -> Option<Self> {
        let now = clock_gettime(ClockId::CLOCK_MONOTONIC_COARSE);
        now.ok().map(Self)
    }

    pub(super) fn after(self, time: Duration) -> Self {
        Self(self.0 + TimeSpec::from_duration(time))
    }
}
