//! [`Commits`]: which commits a history has, and which of them an image may hold.

use std::collections::BTreeSet;

use etui_testkit::disk::{Event, History};

/// What the tables held after each commit, and which commits failed.
#[derive(Debug, Clone, Default)]
pub struct Commits {
    /// The first is the empty database.
    pub states: Vec<u64>,
    pub failed: BTreeSet<usize>,
}

/// What marks in the history mean.
#[derive(Debug, Clone, Copy)]
pub enum Mark {
    /// A commit was begun.
    Begun(usize),
    /// SQLite said that it was done.
    Acknowledged(usize),
    /// It and all before it are promised to be there after a power cut.
    Durable(usize),
}

/// What the newest commit of an image may be.
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
    /// For every point of a history: what the newest commit may be.
    pub fn windows(&self, history: &History) -> Vec<Window> {
        let mut now = Window::default();
        let mut windows = vec![now];
        for event in &history.events {
            if let Event::Mark(mark) = event {
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

    /// Whether the tables may hold this. A commit that failed may be there as long as no later
    /// one was acknowledged: that one was made without it.
    pub fn allows(&self, window: Window, state: u64) -> bool {
        (window.durable..=window.begun).any(|commit| {
            self.states.get(commit) == Some(&state)
                && (commit > window.acknowledged || !self.failed.contains(&commit))
        })
    }

    /// Which commits have left the tables so.
    pub fn find(&self, state: u64) -> Vec<usize> {
        let all = self.states.iter().enumerate();
        all.filter(|(_, known)| **known == state)
            .map(|(at, _)| at)
            .collect()
    }
}
