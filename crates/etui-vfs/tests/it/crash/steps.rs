//! [`Step`], a part of a random history, and [`Setup`], its database. Both are drawn from a seed.

use etui_testkit::rng::SplitMix64;

use crate::crash::model::Write;

/// `PRAGMA synchronous`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Synchronous {
    Off,
    Normal,
    Full,
    Extra,
}

/// `PRAGMA journal_mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Journal {
    Wal,
    Delete,
    Truncate,
    Persist,
}

impl Journal {
    pub fn name(self) -> &'static str {
        match self {
            Self::Wal => "wal",
            Self::Delete => "delete",
            Self::Truncate => "truncate",
            Self::Persist => "persist",
        }
    }
}

/// The constant settings of a history.
#[derive(Debug, Clone)]
pub struct Setup {
    pub page_size: u32,
    /// 0 none, 1 full, 2 incremental.
    pub auto_vacuum: u8,
    pub cache_pages: u32,
    pub autocheckpoint: u32,
    pub synchronous: Synchronous,
    pub journal: Journal,
    /// One connection that keeps its locks.
    pub exclusive: bool,
    /// The last connection leaves the WAL.
    pub keep_wal: bool,
    /// The sector size of the device.
    pub sector: u64,
}

/// The maximum number of connections.
pub const CONNECTIONS: usize = 3;

/// A step of a history. An invalid step does nothing, so that steps can be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Write {
        on: usize,
        write: Write,
    },
    Begin {
        on: usize,
    },
    Commit {
        on: usize,
    },
    Rollback {
        on: usize,
    },
    Savepoint {
        on: usize,
    },
    RollbackTo {
        on: usize,
    },
    Release {
        on: usize,
    },
    /// Writes dirty pages in the middle of a transaction.
    Spill {
        on: usize,
    },
    /// Takes a snapshot, which is compared and released later.
    Read {
        on: usize,
    },
    EndRead {
        on: usize,
    },
    Checkpoint {
        on: usize,
        mode: &'static str,
    },
    Vacuum {
        on: usize,
    },
    IncrementalVacuum {
        on: usize,
        pages: u32,
    },
    /// Replaces the whole contents by another database; `pages`: aborted after this number.
    Backup {
        on: usize,
        rows: u32,
        len: u32,
        seed: u64,
        pages: Option<u32>,
    },
    Journal {
        mode: Journal,
    },
    /// An idle checkpoint of the open database.
    Settle,
    /// A commit by SQLite without the VFS, which opens the database and closes it.
    Other {
        write: Write,
    },
    Close {
        on: usize,
    },
    Reopen,
    /// Kills the process with everything open; the next one opens it.
    Kill,
}

impl Setup {
    pub fn draw(synchronous: Synchronous, rng: &mut SplitMix64) -> Self {
        let common = rng.chance(600);
        Self {
            page_size: match common {
                true => rng.pick(&[1024, 4096]),
                false => rng.pick(&[512, 1024, 2048, 4096, 8192, 16384, 32768, 65536]),
            },
            auto_vacuum: rng.pick(&[0, 0, 1, 2]),
            cache_pages: rng.pick(&[4, 10, 30, 200]),
            autocheckpoint: rng.pick(&[0, 0, 4, 20, 1000]),
            synchronous,
            journal: match rng.below(30) {
                0 => Journal::Delete,
                1 => Journal::Truncate,
                2 => Journal::Persist,
                _ => Journal::Wal,
            },
            exclusive: rng.chance(80),
            keep_wal: rng.chance(100),
            sector: if rng.chance(800) { 512 } else { 4096 },
        }
    }
}

/// Draws a history of about `length` steps.
pub fn draw(setup: &Setup, length: usize, rng: &mut SplitMix64) -> Vec<Step> {
    let connections = if setup.exclusive {
        1
    } else {
        1 + rng.below(CONNECTIONS as u32) as usize
    };
    // Some histories have only small commits, others mostly large ones.
    let large = rng.chance(300);
    let mut steps = Vec::new();
    for table in 0..2 {
        let write = Write::Create { table };
        steps.push(Step::Write { on: 0, write });
    }
    let write = Write::Insert {
        table: 0,
        rows: rng.pick(&[1, 20, 100]),
        len: 60,
        seed: rng.next_u64(),
    };
    steps.push(Step::Write { on: 0, write });
    while steps.len() < length {
        let on = rng.below(connections as u32) as usize;
        match rng.below(100) {
            0..42 => steps.push(Step::Write {
                on,
                write: write_step(setup, large, rng),
            }),
            42..66 => transaction(setup, on, large, &mut steps, rng),
            66..71 => steps.push(Step::Read { on }),
            71..77 => steps.push(Step::EndRead { on }),
            77..86 => steps.push(Step::Checkpoint {
                on,
                mode: rng.pick(&["PASSIVE", "FULL", "RESTART", "TRUNCATE"]),
            }),
            86..88 => steps.push(Step::Vacuum { on }),
            88..91 => steps.push(Step::IncrementalVacuum {
                on,
                pages: rng.pick(&[0, 1, 5]),
            }),
            91..93 => steps.push(Step::Backup {
                on,
                rows: rng.pick(&[3, 60, 300]),
                len: rng.pick(&[20, 300]),
                seed: rng.next_u64(),
                pages: if rng.chance(300) { Some(2) } else { None },
            }),
            93..95 => steps.push(Step::Journal {
                mode: match rng.below(6) {
                    0 => Journal::Delete,
                    1 => Journal::Truncate,
                    2 => Journal::Persist,
                    _ => Journal::Wal,
                },
            }),
            95 => steps.push(Step::Close { on }),
            96 | 97 => steps.push(Step::Settle),
            98 => steps.push(Step::Kill),
            _ => steps.push(Step::Reopen),
        }
    }
    steps
}

/// Inserts commits of a second program into the steps of a history.
pub fn share(setup: &Setup, steps: Vec<Step>, rng: &mut SplitMix64) -> Vec<Step> {
    let mut shared = Vec::new();
    for step in steps {
        if rng.chance(100) {
            shared.push(Step::Other {
                write: write_step(setup, false, rng),
            });
        }
        shared.push(step);
    }
    shared
}

fn transaction(setup: &Setup, on: usize, large: bool, steps: &mut Vec<Step>, rng: &mut SplitMix64) {
    steps.push(Step::Begin { on });
    for _ in 0..1 + rng.below(6) {
        steps.push(match rng.below(20) {
            0 | 1 => Step::Savepoint { on },
            2 => Step::RollbackTo { on },
            3 => Step::Release { on },
            4 | 5 => Step::Spill { on },
            6 => Step::Checkpoint {
                on: (on + 1) % CONNECTIONS,
                mode: "PASSIVE",
            },
            _ => Step::Write {
                on,
                write: write_step(setup, large, rng),
            },
        });
    }
    steps.push(match rng.below(4) {
        0 => Step::Rollback { on },
        _ => Step::Commit { on },
    });
}

fn write_step(setup: &Setup, large: bool, rng: &mut SplitMix64) -> Write {
    let table = rng.pick(&[0, 0, 0, 1, 1, 2]);
    let page = setup.page_size;
    let len = match rng.below(12) {
        0 => 0,
        1 => page.min(8192),
        2 => (page * 3).min(20_000),
        3..6 => 300.min(page),
        _ => 30,
    };
    let seed = rng.next_u64();
    let modulus = rng.pick(&[1, 2, 5, 37, 200, 200]);
    let remainder = i64::from(rng.below(modulus as u32));
    match rng.below(40) {
        0 | 1 => Write::Create { table },
        2 => Write::Drop { table },
        3..20 => {
            let rows = if large {
                rng.pick(&[1, 40, 300])
            } else {
                rng.pick(&[1, 1, 1, 10, 40])
            };
            // At most some hundred pages.
            let rows = rows.min(1 + 300_000 / (len + 20));
            Write::Insert {
                table,
                rows,
                len,
                seed,
            }
        }
        20..26 => Write::Update {
            table,
            modulus: modulus.max(5),
            remainder,
            len: len.min(2000),
            seed,
        },
        26..34 => Write::Count {
            table,
            modulus,
            remainder,
        },
        _ => Write::Delete {
            table,
            modulus,
            remainder,
        },
    }
}
