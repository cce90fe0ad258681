//! Plain SQLite with a straightforward schema: a row for each record, with an index on its first
//! start and one on its last end. Series are read, parsed and expanded, as
//! a program with this schema has to.
//!
//! ```text
//! event  id, uid, title, start, until (greatest integer: no end), recurs, text
//! ```

use std::ops::Range;
use std::path::{Path, PathBuf};

use etui::calendar::CalendarObject;
use etui::calendar::time::TimeZone;
use rusqlite::{Connection, params};

use super::data::{RangeQuery, range_instants};
use super::works::{CalendarBackend, format_time};
use etui_lab::Error;
use etui_lab::experiments::backends::local::{Kept, LocalStore};
use etui_lab::experiments::backends::{answer, answer_pairs, timed};
use etui_lab::experiments::common::select_column;
use etui_lab::peers::eds::TimedAnswer;
use etui_lab::peers::plain::{open_configured, select_uids};

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
        calendar.connect()?;
        if is_new {
            calendar.handle()?.execute_batch(SCHEMA)?;
        }
        Ok(calendar)
    }

    pub fn between(&self, range: &Range<i64>) -> Result<Vec<Happening>, Error> {
        let statement = format!("SELECT uid, start, until, recurs, text {IN_RANGE}");
        let mut select = self.handle()?.prepare_cached(&statement)?;
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
        let mut select = self.handle()?.prepare_cached(&statement)?;
        let mut rows = select.query(params![range.start, range.end])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let text = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
            if row.get(1)? {
                let series = CalendarObject::parsed(text)?.recurrence_set();
                let mut times = series.between(range_instants(range), &TimeZone::UTC);
                if times.next().is_none() {
                    continue;
                }
            }
            found.push((row.get(0)?, text.to_vec()));
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

impl LocalStore for PlainCalendar {
    type Record = CalendarObject;
    type Texts = Vec<Vec<u8>>;
    type Handle<'s> = &'s Connection;

    fn connect(&mut self) -> Result<(), Error> {
        let db = open_configured(&self.path, self.vfs.as_deref())?;
        db.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        self.db = Some(db);
        Ok(())
    }

    fn disconnect(&mut self) -> Result<(), Error> {
        let closed = self.db.take().map_or(Ok(()), Connection::close);
        closed.map_err(|(_, error)| error.into())
    }

    fn handle(&self) -> Result<&Connection, Error> {
        let db = self.db.as_ref();
        db.ok_or_else(|| Error::other("the database is closed"))
    }

    fn save(&self, to: &&Connection, which: Range<usize>, _: bool) -> Result<(), Error> {
        to.execute_batch("BEGIN IMMEDIATE")?;
        let mut insert = to.prepare_cached(
            "INSERT INTO event (uid, title, start, until, recurs, text) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?;
        for row in self.rows.get(which).unwrap_or(&[]) {
            insert.execute(params![
                row.uid, row.title, row.start, row.until, row.recurs, row.text
            ])?;
        }
        Ok(to.execute_batch("COMMIT")?)
    }

    fn all(from: &&Connection) -> Result<Vec<Vec<u8>>, Error> {
        select_column(from, "SELECT text FROM event ORDER BY id", [])
    }

    fn texts(all: &Vec<Vec<u8>>) -> Vec<&[u8]> {
        all.iter().map(Vec::as_slice).collect()
    }

    fn get(from: &&Connection, uid: &str) -> Result<Vec<u8>, Error> {
        let mut get = from.prepare_cached("SELECT text FROM event WHERE uid = ?1")?;
        Ok(get.query_row([uid], |row| row.get(0))?)
    }

    fn get_many(from: &&Connection, uids: &[String]) -> Result<Vec<Vec<u8>>, Error> {
        select_uids(from, "SELECT text FROM event WHERE uid IN", uids)
    }

    fn held(&mut self) -> &mut Vec<(CalendarObject, String)> {
        &mut self.held
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

    fn search_titles(&mut self, times: u64, text: &str) -> Result<TimedAnswer, Error> {
        let (db, pattern) = (self.handle()?, format!("%{text}%"));
        let (ns, uids) = timed(times, || {
            let query = "SELECT uid FROM event WHERE title LIKE ?1";
            select_column::<String>(db, query, [&pattern])
        })?;
        Ok(answer(ns, uids.iter().map(|uid| (uid.as_str(), ""))))
    }
}
