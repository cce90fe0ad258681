//! The log that is kept at rest between sessions: SQLite's own WAL under the shim's cure, over the
//! laboratory's disk.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use etui_testkit::disk::Rack;
use etui_vfs::shim::{KeptLog, Shim, ShimOptions};

use crate::check::Subject;
use crate::plain::{Mistake, register};
use crate::random::{self, Kind, variable};
use crate::steps::Synchronous;

/// The disk's files have no number of their own: a log that was copied or moved is told from its
/// like by tests on a real file system.
fn the_same(_: &Path) -> Option<(u64, u64)> {
    Some((1, 1))
}

/// The shim that keeps logs, over a device with a mistake. The plain VFS beside it has none.
fn kept(mistake: Mistake) -> Subject {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let rack = Rack::new();
    let name = |what: &str| format!("kept-{what}-{number}");
    let (vfs, below, plain) = (name("log"), name("below"), name("plain"));
    register(&below, Arc::new(rack.clone()), mistake);
    register(&plain, Arc::new(rack.clone()), Mistake::None);
    let options = ShimOptions {
        uncounted: true,
        keep_log: Some(KeptLog {
            identity: the_same,
            ..KeptLog::of_at_most(1 << 13)
        }),
        ..ShimOptions::default()
    };
    Shim::register_above(&vfs, &below, options).unwrap();
    Subject {
        vfs,
        etui: None,
        plain,
        rack,
        close_is_promised: false,
        guarded: false,
        torn: None,
    }
}

#[test]
fn a_kept_log_survives() {
    let images = variable("ETUI_CRASH_IMAGES_STOCK", 600) as usize;
    for synchronous in [Synchronous::Full, Synchronous::Normal] {
        random::survives(&kept(Mistake::None), synchronous, Kind::All, images);
    }
}

/// The mark says that the header was made void for good.
#[test]
fn a_void_header_that_is_not_flushed_is_caught() {
    let most = variable("ETUI_CRASH_IMAGES_STOCK", 600) as usize * 10;
    let kind = (Synchronous::Full, Kind::All);
    let subject = kept(Mistake::NoSyncOfVoid);
    let (tally, wrong) = random::hunt(&subject, kind, 1, most, Duration::ZERO);
    println!("{tally:?}: {wrong:?}");
    assert!(wrong.is_some());
}
