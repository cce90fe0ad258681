//! [`WakeTimer`]: wakes at a time of the clock on the wall.
//!
//! A timer of `CLOCK_REALTIME` counts the time that the computer sleeps: one that was due meanwhile
//! fires when it wakes up. With `TFD_TIMER_CANCEL_ON_SET` it also fires when the clock is set. It
//! fires at least every [`MAX_SLEEP`] seconds, for changes that nobody announces, such as of the time
//! zone.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use etui::calendar::time::Timestamp;
use etui_program::{Failure, Result};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

/// The longest sleep, in seconds.
const MAX_SLEEP: i64 = 900;

/// A timer on the clock; it is readable once its time has come, or the clock was set.
pub struct WakeTimer(OwnedFd);

impl WakeTimer {
    pub fn new() -> Result<Self> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Realtime, flags);
        Ok(Self(timer.map_err(failed)?))
    }

    /// Sets the time; without one, it wakes after the longest sleep. Returns false if the clock was
    /// set since the last call: times computed from `now` are not valid any more.
    pub fn set(&self, now: Timestamp, next: Option<Timestamp>) -> Result<bool> {
        let latest = now.plus_seconds(MAX_SLEEP);
        // 0 would disarm the timer.
        let at = next
            .map_or(latest, |next| next.min(latest))
            .seconds()
            .max(1);
        let spec = Itimerspec {
            it_interval: timespec(0),
            it_value: timespec(at),
        };
        let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
        match timerfd_settime(&self.0, flags, &spec) {
            Ok(_) => Ok(true),
            Err(Errno::CANCELED) => Ok(false),
            Err(error) => Err(failed(error)),
        }
    }
}

impl AsFd for WakeTimer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn timespec(seconds: i64) -> Timespec {
    Timespec {
        tv_sec: seconds,
        tv_nsec: 0,
    }
}

fn failed(error: Errno) -> Failure {
    Failure::named_io("timerfd", error.into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::{Duration, SystemTime};

    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;

    fn is_readable(timer: &WakeTimer, within: Duration) -> bool {
        let mut fds = [PollFd::new(timer, PollFlags::IN)];
        let within = Timespec::try_from(within).unwrap();
        poll(&mut fds, Some(&within)).unwrap() > 0
    }

    #[test]
    fn it_wakes_at_its_time() {
        let timer = WakeTimer::new().unwrap();
        let now = Timestamp::from(SystemTime::now());
        timer.set(now, Some(now.plus_seconds(-5))).unwrap();
        assert!(is_readable(&timer, Duration::from_secs(1)));
        timer.set(now, Some(now.plus_seconds(600))).unwrap();
        assert!(!is_readable(&timer, Duration::from_millis(20)));
        timer.set(now, None).unwrap();
        assert!(!is_readable(&timer, Duration::from_millis(20)));
        timer.set(now, Some(now.plus_seconds(1))).unwrap();
        assert!(is_readable(&timer, Duration::from_secs(3)));
        timer.set(now, Some(Timestamp::MIN)).unwrap();
        assert!(is_readable(&timer, Duration::from_secs(1)));
    }
}
