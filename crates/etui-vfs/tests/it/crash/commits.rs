//! [`Commits`]: the commits of a history, and those that an image may hold.

use std::collections::BTreeSet;

use etui_testkit::disk::{DiskEvent, DiskHistory};

/// The state of the tables after each commit, and the failed commits.
#[derive(Debug, Clone, Default)]
pub struct Commits {
    /// The first is the empty database.
    pub states: Vec<u64>,
    pub failed: BTreeSet<usize>,
}

/// The meaning of a mark in the history.
#[derive(Debug, Clone, Copy)]
pub enum Mark {
    /// A commit was begun.
    Begun(usize),
    /// SQLite reported that it is complete.
    Acknowledged(usize),
    /// It and all before it must survive a power failure.
    Durable(usize),
}

/// The range of an image's newest commit.
#[derive(Debug, Clone, Copy, Default)]
pub struct Window {
    pub durable: usize,
    pub acknowledged: usize,
    pub begun: usize,
}

impl Mark {
    pub fn encode(self) -> u64 {
        match self {
            Self::Begun(commit) => commit as u64,
            Self::Acknowledged(commit) => commit as u64 | 1 << 62,
            Self::Durable(commit) => commit as u64 | 2 << 62,
        }
    }

    fn decode(mark: u64) -> Self {
        let commit = (mark & !(3 << 62)) as usize;
        match mark >> 62 {
            0 => Self::Begun(commit),
            1 => Self::Acknowledged(commit),
            _ => Self::Durable(commit),
        }
    }
}

impl Commits {
    /// Returns the range of the newest commit at each point of a history.
    pub fn windows(&self, history: &DiskHistory) -> Vec<Window> {
        let mut now = Window::default();
        let mut windows = vec![now];
        for event in &history.events {
            if let DiskEvent::Mark(mark) = event {
                match Mark::decode(*mark) {
                    Mark::Begun(commit) => now.begun = now.begun.max(commit),
                    Mark::Acknowledged(commit) => now.acknowledged = now.acknowledged.max(commit),
                    Mark::Durable(commit) => now.durable = now.durable.max(commit),
                }
            }
            windows.push(now);
        }
        windows
    }

    /// Returns true if the tables may have this state. A failed commit may exist until a later one
    /// is acknowledged, which was made without it.
    pub fn allows(&self, window: Window, state: u64) -> bool {
        (window.durable..=window.begun).any(|commit| {
            self.states.get(commit) == Some(&state)
                && (commit > window.acknowledged || !self.failed.contains(&commit))
        })
    }

    /// Returns the commits that produced this state.
    pub fn find(&self, state: u64) -> Vec<usize> {
        let all = self.states.iter().enumerate();
        all.filter(|(_, known)| **known == state)
            .map(|(at, _)| at)
            .collect()
    }
}
