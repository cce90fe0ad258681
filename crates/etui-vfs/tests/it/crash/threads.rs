//! Power failures while several threads write, read and checkpoint.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

use etui_testkit::disk::{CrashPlan, DiskEvent, DiskMount, RecordingDisk, crash};
use etui_testkit::rng::SplitMix64;
use etui_vfs::Options;
use etui_vfs::device::Role;
use rusqlite::{Connection, ErrorCode};

use crate::crash::check::{Subject, connect};
use crate::crash::etui::{IN_PLACE, MITIGATED, SMALL, etui};
use crate::crash::plain::Mistake;
use crate::crash::random::variable;
use crate::crash::run::DATABASE;
use crate::crash::stock::stock;

const WRITERS: u64 = 3;

/// Returns the mark of a writer's commit, begun or done.
fn mark(writer: u64, number: u64, done: bool) -> u64 {
    number << 8 | writer << 1 | u64::from(done)
}

fn busy(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(
        code,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

fn open(subject: &Subject, path: &str) -> rusqlite::Result<Connection> {
    let sql = connect(path, &subject.vfs)?;
    sql.busy_timeout(Duration::from_secs(20))?;
    sql.execute_batch(
        "PRAGMA synchronous = FULL; PRAGMA cache_size = 20; PRAGMA wal_autocheckpoint = 30",
    )?;
    Ok(sql)
}

/// Counts, with a row of up to `most` bytes for each number, in one transaction.
fn write(
    subject: &Subject,
    mount: &DiskMount,
    (writer, most): (u64, u32),
    until: Instant,
) -> rusqlite::Result<()> {
    let sql = open(subject, &mount.path(DATABASE))?;
    let mut rng = SplitMix64::stream(7, writer);
    let mut number = 0;
    while Instant::now() < until {
        number += 1;
        let body = vec![number as u8; 20 + rng.below(most) as usize];
        mount.disk.mark(mark(writer, number, false));
        sql.execute_batch("BEGIN IMMEDIATE")?;
        sql.execute(
            "UPDATE counter SET n = ?1 WHERE writer = ?2",
            (number as i64, writer as i64),
        )?;
        sql.execute(
            "INSERT INTO number VALUES (?1, ?2, ?3)",
            (writer as i64, number as i64, body),
        )?;
        if number % 16 == 0 {
            sql.execute(
                "DELETE FROM number WHERE writer = ?1 AND n < ?2",
                (writer as i64, number as i64 - 8),
            )?;
        }
        sql.execute_batch("COMMIT")?;
        mount.disk.mark(mark(writer, number, true));
    }
    Ok(())
}

/// Returns the count of each writer, if the database is consistent.
fn counted(sql: &Connection) -> Result<Vec<u64>, String> {
    let text = |error: rusqlite::Error| error.to_string();
    let read = || -> rusqlite::Result<Vec<(u64, u64)>> {
        let mut statement = sql.prepare(
            "SELECT n, coalesce((SELECT max(n) FROM number WHERE number.writer = counter.writer), 0)
             FROM counter ORDER BY writer",
        )?;
        let rows = statement.query_map((), |row| {
            Ok((row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64))
        })?;
        rows.collect()
    };
    let rows = read().map_err(text)?;
    if let Some(writer) = rows.iter().position(|(counter, last)| counter != last) {
        return Err(format!("half a transaction of writer {writer}: {rows:?}"));
    }
    Ok(rows.iter().map(|row| row.0).collect())
}

fn read(subject: &Subject, mount: &DiskMount, until: Instant) -> Result<(), String> {
    let sql = open(subject, &mount.path(DATABASE)).map_err(|error| error.to_string())?;
    let mut before = Vec::new();
    while Instant::now() < until {
        let now = counted(&sql)?;
        if now.iter().zip(&before).any(|(now, before)| now < before) {
            return Err(format!("a reader saw {before:?} and then {now:?}"));
        }
        before = now;
    }
    Ok(())
}

fn checkpoint(subject: &Subject, mount: &DiskMount, until: Instant) -> rusqlite::Result<()> {
    let sql = open(subject, &mount.path(DATABASE))?;
    sql.busy_timeout(Duration::from_millis(2))?;
    for mode in ["PASSIVE", "FULL", "RESTART", "TRUNCATE"].iter().cycle() {
        if Instant::now() >= until {
            return Ok(());
        }
        let done = sql.query_row(&format!("PRAGMA wal_checkpoint({mode})"), (), |_| Ok(()));
        match done {
            Err(error) if !busy(&error) => return Err(error),
            _ => thread::sleep(Duration::from_millis(1)),
        }
        if let Some(etui) = &subject.etui {
            etui.checkpoint_idle();
        }
    }
    Ok(())
}

/// Panics with the VFS's last refusal in this thread.
fn told(done: rusqlite::Result<()>) {
    if let Err(error) = done {
        panic!(
            "{error}; etui's VFS said last: {:?}",
            etui_vfs::last_refusal()
        );
    }
}

/// Runs threads for a while, then cuts the power at each moment. With rows of many pages the file
/// grows and shrinks.
fn survives(subject: &Subject, work: Duration, images: usize, most: u32) {
    let disk = RecordingDisk::new();
    let mount = subject.rack.mount(&disk);
    let path = mount.path(DATABASE);
    {
        let sql = connect(&path, &subject.vfs).unwrap();
        let vacuum = i32::from(most > 2000);
        sql.execute_batch(&format!(
            "PRAGMA auto_vacuum = {vacuum};
             PRAGMA page_size = 1024; PRAGMA synchronous = EXTRA; PRAGMA journal_mode = wal;
             CREATE TABLE counter(writer INTEGER PRIMARY KEY, n);
             CREATE TABLE number(writer, n, body, PRIMARY KEY(writer, n));
             INSERT INTO counter VALUES (0, 0), (1, 0), (2, 0)"
        ))
        .unwrap();
    }
    let start = disk.events();
    let until = Instant::now() + work;
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let mount = &mount;
            scope.spawn(move || told(write(subject, mount, (writer, most), until)));
        }
        scope.spawn(|| read(subject, &mount, until).unwrap());
        scope.spawn(|| told(checkpoint(subject, &mount, until)));
    });
    let history = disk.history();
    // The commits that each writer had begun and completed after each event.
    let (mut begun, mut done) = (vec![0; 3], vec![0; 3]);
    let mut windows = vec![(done.clone(), begun.clone())];
    for event in &history.events {
        if let DiskEvent::Mark(mark) = event {
            let to = if mark & 1 == 1 { &mut done } else { &mut begun };
            to[(mark >> 1 & 0x7f) as usize] = mark >> 8;
        }
        windows.push((done.clone(), begun.clone()));
    }
    let plan = CrashPlan {
        sector: 512,
        per_point: 1 + images / history.syncs().max(1) / 2,
        between: 20,
        torn: subject.torn.map(|_| Role::Redo),
        seed: 3,
    };
    let mut known: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut rng = SplitMix64::new(5);
    let share = (images as u64 * 1000 / (history.syncs() as u64 * 8)).clamp(1, 1000) as u32;
    let _ = crash(&history, &plan, |image| {
        if image.after < start || !rng.chance(share) {
            return ControlFlow::Continue(());
        }
        let found = known.entry(image.files.hash()).or_insert_with(|| {
            let mount = subject.rack.mount(&image.disk());
            let (sql, _) = crate::crash::check::look(&mount.path(DATABASE), &subject.vfs)
                .unwrap_or_else(|wrong| panic!("{wrong}\n{image}"));
            counted(&sql).unwrap_or_else(|wrong| panic!("{wrong}\n{image}"))
        });
        let (done, begun) = &windows[image.after];
        for (writer, found) in found.iter().enumerate() {
            assert!(
                (done[writer]..=begun[writer]).contains(found),
                "writer {writer} counted to {found}, acknowledged {done:?}, begun {begun:?}\n{image}"
            );
        }
        ControlFlow::Continue(())
    });
    let in_place = subject
        .etui
        .as_ref()
        .map(|vfs| vfs.counters().pages_in_place);
    println!(
        "{}: {} commits by {WRITERS} threads, {} different images, {} pages in place",
        subject.vfs,
        done.iter().sum::<u64>(),
        known.len(),
        in_place.unwrap_or(0)
    );
}

#[test]
fn threads_survive() {
    let images = variable("ETUI_CRASH_IMAGES", 3000) as usize / 6;
    let work = Duration::from_millis(if images > 1000 { 5000 } else { 400 });
    survives(&stock(Mistake::None), work, images, 2000);
    survives(&etui(SMALL), work, images, 2000);
    survives(&etui(IN_PLACE[0]), work, images, 12_000);
    // Pages appended in place and deferred, each as often as possible.
    let both = Options {
        append_in_place: 1,
        ..MITIGATED
    };
    survives(&etui(both), work, images, 12_000);
}
