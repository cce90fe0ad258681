//! etui's arms: the calendar's own records, iCalendar texts, through the calendar's interface and
//! through its date-book view ([`DateBook`]).

use std::path::Path;
use std::time::{Duration, Instant};

use etui::calendar::zones::TimeZoneResolver;
use etui::calendar::{Calendar, CalendarObject, Column, Columns, Query};
use etui::datebook::{CheckedOut, DateBook};
use etui::{Durability, Options, RecordId, Store, Vfs};

use super::super::backends::etui as backends;
use super::super::backends::local::Kept;
use super::book::{self, BackendCounts, DatebookBackend, RecordForm};
use super::record::Appointment;
use crate::Error;

/// Records given to a store at once.
const BATCH: usize = 3_200;
/// Numbers that the native arm asks for at once when it goes through the list.
const PAGE: u64 = 256;

/// Creates a store with this number of records.
pub(super) fn make_store(path: &Path, records: u64) -> Result<(), Error> {
    let store = Store::open_with(path, &backends::store_options(Durability::Deferred))?;
    let calendar = store.calendar()?;
    let parse =
        |index| CalendarObject::parsed(&RecordForm::Text.write(&Appointment::made(index), index)?);
    let made: Vec<CalendarObject> = (0..records).map(parse).collect::<Result<_, Error>>()?;
    for some in made.chunks(BATCH) {
        calendar.save_many(some)?;
    }
    drop(calendar);
    store.maintenance().merge_index()?;
    Ok(store.close()?)
}

/// Has a store that was copied notice that it is a copy, which costs its first commit a page. The VFS
/// is SQLite's own.
pub(super) fn open_once(path: &Path, options: &Options) -> Result<(), Error> {
    let mut options = options.clone();
    options.vfs = Vfs::System;
    let store = Store::open_with(path, &options)?;
    let calendar = store.calendar()?;
    let first = calendar.query(&read_page(0, 1))?;
    if let Some(first) = first.get(0) {
        calendar.save(&CalendarObject::parsed(first.record())?)?;
    }
    drop(calendar);
    Ok(store.close()?)
}

/// The calendar natively, or the date-book view of it.
pub(super) fn open_book<'c>(
    calendar: &'c Calendar,
    view: bool,
) -> Result<Box<dyn DatebookBackend + 'c>, Error> {
    Ok(match view {
        true => Box::new(Viewed {
            book: DateBook::open(calendar),
            taken: None,
        }),
        false => Box::new(Native {
            calendar,
            listed: (0, Vec::new()),
            changed: Vec::new(),
        }),
    })
}

/// Opens a store and its date book, and closes both: the time of each.
pub(super) fn time_round(
    path: &Path,
    view: bool,
    options: &Options,
) -> Result<(Duration, Duration), Error> {
    let begun = Instant::now();
    let store = Store::open_with(path, options)?;
    let calendar = store.calendar()?;
    let opened = open_book(&calendar, view)?;
    let opening = begun.elapsed();
    let begun = Instant::now();
    opened.close()?;
    drop(calendar);
    store.close()?;
    Ok((opening, begun.elapsed()))
}

/// Returns every record in order, for the answer.
pub(super) fn read_contents(path: &Path, mut each: impl FnMut(&[u8])) -> Result<(), Error> {
    let store = Store::open_with(path, &backends::store_options(Durability::Full))?;
    let calendar = store.calendar()?;
    for row in calendar.query(&read_page(0, u64::MAX))?.iter() {
        each(row.record());
    }
    drop(calendar);
    Ok(store.close()?)
}

/// Texts in the list's order, from a position.
fn read_page(position: u64, limit: u64) -> Query {
    Query::all()
        .columns(Column::Record)
        .offset(position)
        .limit(limit)
}

/// The calendar as a program uses it: one walk to look at all records, each record by its number
/// to work on it, and changes that are saved together.
pub(super) struct Native<'c> {
    calendar: &'c Calendar,
    /// Numbers of records in the list's order, and the position of the first of them.
    listed: (u64, Vec<RecordId>),
    changed: Vec<CalendarObject>,
}

impl Native<'_> {
    /// The number of the record at a position: asked for alone, or with those after it if it is
    /// the next.
    fn number(&mut self, position: u64) -> Result<RecordId, Error> {
        let (from, listed) = &self.listed;
        let until = from + listed.len() as u64;
        if !(*from..until).contains(&position) {
            let goes_on = until == position && position > 0;
            let limit = if goes_on { PAGE } else { 1 };
            let rows = self
                .calendar
                .query(&read_page(position, limit).columns(Columns::NONE))?;
            self.listed = (position, rows.ids().to_vec());
        }
        let (from, listed) = &self.listed;
        let number = listed.get((position - from) as usize).copied();
        number.ok_or_else(|| book::missing_record(position))
    }

    fn save(&mut self) -> Result<(), Error> {
        if !self.changed.is_empty() {
            self.calendar.save_many(&self.changed)?;
            self.changed.clear();
        }
        Ok(())
    }
}

impl DatebookBackend for Native<'_> {
    fn record_form(&self) -> RecordForm {
        RecordForm::Text
    }

    fn peek_record(&mut self, position: u64, look: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
        let rows = self.calendar.query(&read_page(position, 1))?;
        let row = rows.get(0).ok_or_else(|| book::missing_record(position))?;
        look(row.record());
        Ok(())
    }

    fn peek_all(&mut self, _records: u64, look: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
        self.calendar.for_each(|_, text| {
            look(text);
            Ok(())
        })?;
        Ok(())
    }

    fn take_record(&mut self, position: u64) -> Result<Vec<u8>, Error> {
        let number = self.number(position)?;
        let record = self.calendar.get(number)?;
        Ok(record.ok_or_else(|| book::missing_record(position))?.text)
    }

    fn release_record(&mut self, _: u64, record: Vec<u8>, changed: bool) -> Result<(), Error> {
        if changed {
            self.changed.push(parse_record(record)?);
        }
        Ok(())
    }

    fn sync_record(&mut self, _position: u64) -> Result<(), Error> {
        self.save()
    }

    fn close(mut self: Box<Self>) -> Result<BackendCounts, Error> {
        self.save()?;
        Ok(BackendCounts::default())
    }
}

/// The date-book view.
pub(super) struct Viewed {
    book: DateBook,
    taken: Option<CheckedOut>,
}

impl DatebookBackend for Viewed {
    fn record_form(&self) -> RecordForm {
        RecordForm::Text
    }

    fn peek_record(&mut self, position: u64, look: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
        let looked = self.book.look(position, |_, text| look(text))?;
        looked.ok_or_else(|| book::missing_record(position))
    }

    fn take_record(&mut self, position: u64) -> Result<Vec<u8>, Error> {
        let taken = self.book.take(position)?;
        let text = taken.stored().text.clone();
        self.taken = Some(taken);
        Ok(text)
    }

    fn release_record(&mut self, at: u64, record: Vec<u8>, changed: bool) -> Result<(), Error> {
        let taken = self.taken.take();
        let taken = taken.ok_or_else(|| book::missing_record(at))?;
        match changed {
            true => self.book.release_dirty(taken, parse_record(record)?)?,
            false => drop(taken),
        }
        Ok(())
    }

    fn sync_record(&mut self, _position: u64) -> Result<(), Error> {
        self.book.sync()?;
        Ok(())
    }

    fn close(self: Box<Self>) -> Result<BackendCounts, Error> {
        self.book.close()?;
        Ok(BackendCounts::default())
    }
}

fn parse_record(record: Vec<u8>) -> Result<CalendarObject, Error> {
    CalendarObject::parse(record, &TimeZoneResolver::new())
        .map_err(|e| Error::other(format!("a changed appointment: {e}")))
}
