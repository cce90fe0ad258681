//! Plain SQLite with a straightforward schema: a row for each record, with an index on its first
//! start and one on its last end. Series are read, parsed and expanded, as
//! a program with this schema has to.
//!
//! ```text
//! event  id, uid, title, start, until (greatest integer: no end), recurs, text
//! ```

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Instant;

use etui::calendar::CalendarObject;
use etui::calendar::time::TimeZone;
use rusqlite::{Connection, OpenFlags, params, params_from_iter};

use super::super::backends::etui::{Kept, name_texts, parse_kept};
use super::super::backends::{StoreBackend, answer, answer_pairs, counted, since, timed};
use super::data::{RangeQuery, TitleQuery, range_instants};
use super::works::{CalendarBackend, format_time};
use crate::error::Error;
use crate::peers::eds::TimedAnswer;

/// The settings that a store of etui's has.
const SETTINGS: &str = "PRAGMA synchronous = FULL; PRAGMA cache_size = -4096; \
     PRAGMA mmap_size = 1073741824; PRAGMA journal_size_limit = 8388608";

const SCHEMA: &str = "
    PRAGMA journal_mode = WAL;
    CREATE TABLE event (
        id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, title TEXT NOT NULL,
        start INTEGER NOT NULL, until INTEGER NOT NULL, recurs INTEGER NOT NULL,
        text BLOB NOT NULL) STRICT;
    CREATE INDEX event_start ON event (start);
    CREATE INDEX event_until ON event (until);";

const IN_RANGE: &str = "FROM event WHERE start < ?2 AND until > ?1";

/// A record's row, made before it is saved.
#[derive(Debug, Clone)]
pub struct EventRow {
    uid: String,
    title: String,
    start: i64,
    until: i64,
    recurs: bool,
    text: Vec<u8>,
}

impl EventRow {
    /// Of a record; times are seen from UTC.
    pub fn of(record: &CalendarObject) -> Self {
        let series = record.recurrence_set();
        let bounds = series.bounds();
        // A single event has its own range, a series that of its instances.
        let recurs = record.components().len() > 1 || record.master().recurs();
        let once = (!recurs)
            .then(|| series.between(bounds.clone(), &TimeZone::UTC).next())
            .flatten();
        let during = once.map_or(bounds, |instance| instance.during);
        let until = match series.is_unbounded() {
            true => i64::MAX,
            false => during.end.seconds(),
        };
        Self {
            uid: record.uid().unwrap_or_default().to_owned(),
            title: record.name(),
            start: during.start.seconds(),
            until,
            recurs,
            text: record.text().to_vec(),
        }
    }
}

/// One time that something happens: UID, from when until when.
pub type Happening = (String, Range<i64>);

/// A calendar in plain SQLite.
pub struct PlainCalendar {
    path: PathBuf,
    /// The VFS, if it is not SQLite's own.
    vfs: Option<String>,
    db: Option<Connection>,
    rows: Vec<EventRow>,
    held: Vec<(CalendarObject, String)>,
}

impl PlainCalendar {
    /// A database, made if there is none, and the rows to be saved into it.
    pub fn new(path: &Path, rows: Vec<EventRow>, vfs: Option<&str>) -> Result<Self, Error> {
        let is_new = !path.exists();
        let mut calendar = Self {
            path: path.to_owned(),
            vfs: vfs.map(str::to_owned),
            db: None,
            rows,
            held: Vec::new(),
        };
        calendar.db = Some(calendar.connect()?);
        if is_new {
            calendar.db()?.execute_batch(SCHEMA)?;
        }
        Ok(calendar)
    }

    fn connect(&self) -> Result<Connection, Error> {
        let db = match &self.vfs {
            Some(vfs) => {
                let flags = OpenFlags::default();
                Connection::open_with_flags_and_vfs(&self.path, flags, vfs.as_str())?
            }
            None => Connection::open(&self.path)?,
        };
        db.execute_batch(SETTINGS)?;
        Ok(db)
    }

    fn db(&self) -> Result<&Connection, Error> {
        self.db
            .as_ref()
            .ok_or_else(|| Error::other("the database is closed"))
    }

    fn save(&self, rows: &[EventRow]) -> Result<(), Error> {
        let db = self.db()?;
        db.execute_batch("BEGIN IMMEDIATE")?;
        {
            let mut insert = db.prepare_cached(
                "INSERT INTO event (uid, title, start, until, recurs, text) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?;
            for row in rows {
                insert.execute(params![
                    row.uid, row.title, row.start, row.until, row.recurs, row.text
                ])?;
            }
        }
        Ok(db.execute_batch("COMMIT")?)
    }

    fn some(&self, from: u64, count: u64) -> &[EventRow] {
        let (from, count) = (from as usize, count as usize);
        self.rows.get(from..from + count).unwrap_or(&[])
    }

    fn texts(&self) -> Result<Vec<Vec<u8>>, Error> {
        let mut all = self
            .db()?
            .prepare_cached("SELECT text FROM event ORDER BY id")?;
        let texts = all.query_map([], |row| row.get(0))?;
        Ok(texts.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns the occurrences in a range.
    pub fn between(&self, range: &Range<i64>) -> Result<Vec<Happening>, Error> {
        let statement = format!("SELECT uid, start, until, recurs, text {IN_RANGE}");
        let mut select = self.db()?.prepare_cached(&statement)?;
        let mut rows = select.query(params![range.start, range.end])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let uid: String = row.get(0)?;
            if !row.get::<_, bool>(3)? {
                found.push((uid, row.get(1)?..row.get(2)?));
                continue;
            }
            let text = row.get_ref(4)?.as_blob().map_err(rusqlite::Error::from)?;
            let series = CalendarObject::parsed(text)?.recurrence_set();
            for one in series.between(range_instants(range), &TimeZone::UTC) {
                let (start, end) = (one.during.start.seconds(), one.during.end.seconds());
                found.push((uid.clone(), start..end));
            }
        }
        found.sort_unstable_by_key(|(_, during)| during.start);
        Ok(found)
    }

    /// The records that happen in a range: UID and text.
    fn records(&self, range: &Range<i64>) -> Result<Vec<(String, Vec<u8>)>, Error> {
        let statement = format!("SELECT uid, recurs, text {IN_RANGE}");
        let mut select = self.db()?.prepare_cached(&statement)?;
        let mut rows = select.query(params![range.start, range.end])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let text = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
            let happens = !row.get::<_, bool>(1)? || {
                let series = CalendarObject::parsed(text)?.recurrence_set();
                series
                    .between(range_instants(range), &TimeZone::UTC)
                    .next()
                    .is_some()
            };
            if happens {
                found.push((row.get(0)?, text.to_vec()));
            }
        }
        Ok(found)
    }
}

/// UIDs and times.
pub fn uid_pairs(found: Vec<Happening>) -> Vec<(String, String)> {
    use etui::calendar::time::Timestamp;
    let at = Timestamp::from_seconds;
    found
        .into_iter()
        .map(|(uid, during)| (uid, format_time(at(during.start), at(during.end))))
        .collect()
}

impl StoreBackend for PlainCalendar {
    fn save_batch(&mut self, from: u64, count: u64) -> Result<TimedAnswer, Error> {
        let (ns, ()) = timed(1, || self.save(self.some(from, count)))?;
        Ok(counted(ns, count))
    }

    fn save_each(&mut self, from: u64, count: u64) -> Result<TimedAnswer, Error> {
        let mut ns = Vec::new();
        for row in self.some(from, count) {
            ns.extend(timed(1, || self.save(std::slice::from_ref(row)))?.0);
        }
        Ok(counted(ns, count))
    }

    fn fetch_all(&mut self) -> Result<TimedAnswer, Error> {
        let (ns, texts) = timed(1, || self.texts())?;
        Ok(counted(ns, texts.len() as u64))
    }

    fn fetch_names(&mut self) -> Result<TimedAnswer, Error> {
        let (ns, named) = timed(1, || name_texts::<CalendarObject>(&self.texts()?))?;
        Ok(answer_pairs(ns, &named))
    }

    fn fetch_one(&mut self, times: u64, uids: &[String]) -> Result<TimedAnswer, Error> {
        let db = self.db()?;
        let (mut ns, mut texts) = (Vec::new(), Vec::new());
        for uid in uids {
            let (took, text) = timed(times, || {
                let mut get = db.prepare_cached("SELECT text FROM event WHERE uid = ?1")?;
                Ok(get.query_row([uid], |row| row.get::<_, Vec<u8>>(0))?)
            })?;
            ns.extend(took);
            texts.push(text);
        }
        Ok(answer_pairs(ns, &name_texts::<CalendarObject>(&texts)?))
    }

    fn fetch_many(&mut self, times: u64, uids: &[String]) -> Result<TimedAnswer, Error> {
        let db = self.db()?;
        let marks = vec!["?"; uids.len()].join(", ");
        let statement = format!("SELECT text FROM event WHERE uid IN ({marks})");
        let (ns, texts) = timed(times, || {
            let mut select = db.prepare_cached(&statement)?;
            let texts = select.query_map(params_from_iter(uids), |row| row.get(0))?;
            Ok(texts.collect::<rusqlite::Result<Vec<Vec<u8>>>>()?)
        })?;
        Ok(answer_pairs(ns, &name_texts::<CalendarObject>(&texts)?))
    }

    fn close(&mut self) -> Result<TimedAnswer, Error> {
        self.held.clear();
        let db = self.db.take();
        let begun = Instant::now();
        if let Some(db) = db {
            db.close().map_err(|(_, e)| e)?;
        }
        Ok(since(begun))
    }

    fn open(&mut self) -> Result<TimedAnswer, Error> {
        let begun = Instant::now();
        let db = self.connect()?;
        db.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        let took = since(begun);
        self.db = Some(db);
        Ok(took)
    }

    fn hold_all(&mut self) -> Result<(), Error> {
        let texts = self.texts()?;
        self.held = parse_kept(texts.iter().map(Vec::as_slice))?;
        Ok(())
    }

    fn process_ids(&self) -> Vec<u32> {
        vec![std::process::id()]
    }

    fn writer_id(&self) -> Result<u32, Error> {
        Ok(std::process::id())
    }
}

impl CalendarBackend for PlainCalendar {
    fn find_instances(&mut self, times: u64, asked: &RangeQuery) -> Result<TimedAnswer, Error> {
        let (ns, found) = timed(times, || self.between(&asked.range))?;
        Ok(answer_pairs(ns, &uid_pairs(found)))
    }

    fn find_events(&mut self, times: u64, asked: &RangeQuery) -> Result<TimedAnswer, Error> {
        let (ns, found) = timed(times, || self.records(&asked.range))?;
        Ok(answer(ns, found.iter().map(|(uid, _)| (uid.as_str(), ""))))
    }

    fn search_titles(&mut self, times: u64, search: &TitleQuery) -> Result<TimedAnswer, Error> {
        let db = self.db()?;
        let pattern = format!("%{}%", search.text);
        let (ns, uids) = timed(times, || {
            let mut select = db.prepare_cached("SELECT uid FROM event WHERE title LIKE ?1")?;
            let uids = select.query_map([&pattern], |row| row.get(0))?;
            Ok(uids.collect::<rusqlite::Result<Vec<String>>>()?)
        })?;
        Ok(answer(ns, uids.iter().map(|uid| (uid.as_str(), ""))))
    }
}
