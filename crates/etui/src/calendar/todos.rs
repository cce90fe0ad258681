//! To-dos of a calendar by due time.

use super::time::{CalendarTime, Date, TimeZone, Timestamp};
use super::{CalendarObject, Column, Filter, Query, Reader, Status};
use crate::error::Result;
use crate::record::ReadState;
use crate::types::RecordId;

/// Occurrences of a recurring to-do that are searched for an open one: each costs a step.
const MAX_SEARCHED: usize = 1_000;

/// A to-do, and its first open time if it recurs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Todo {
    /// Its record.
    pub record: RecordId,
    /// Its components.
    pub object: CalendarObject,
    /// Its title.
    pub title: String,
    /// When it is due; of a recurring one, its first open occurrence.
    pub due: Option<CalendarTime>,
    /// Whether it is completed or cancelled, with all its occurrences.
    pub is_over: bool,
}

impl Reader {
    /// Returns the to-dos by due time in the zone `viewer`, those without one last. Those that are over are left
    /// out unless `with_over`. The cost is that of the to-dos of the calendar.
    ///
    /// # Errors
    /// Any error of reading.
    pub fn todos(&self, viewer: &TimeZone, with_over: bool) -> Result<Vec<Todo>> {
        self.read_ordered(|r| r.todos(viewer, with_over))
    }

    /// Returns the to-dos that are open, and were due before a day of the zone `viewer`, the earliest first.
    ///
    /// ```
    /// # use etui::Store;
    /// # use etui::calendar::{Draft, time::{CalendarTime, Date, TimeZone}, zones::TimeZoneResolver};
    /// # let dir = tempfile::tempdir()?;
    /// # let store = Store::open(dir.path().join("personal.etui"))?;
    /// # let calendar = store.calendar()?;
    /// let day = |day| Date::new(2026, 11, day).expect("a day");
    /// let milk = Draft::todo("Milk").uid("1").end(CalendarTime::Date(day(20)));
    /// calendar.save(&milk.make(&TimeZoneResolver::new())?)?;
    /// let snapshot = store.snapshot()?;
    /// let reader = snapshot.calendar()?;
    /// assert_eq!(reader.overdue_todos(day(21), &TimeZone::UTC)?[0].title, "Milk");
    /// assert!(reader.overdue_todos(day(20), &TimeZone::UTC)?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Any error of reading.
    pub fn overdue_todos(&self, day: Date, viewer: &TimeZone) -> Result<Vec<Todo>> {
        self.read_ordered(|r| r.overdue_todos(day, viewer))
    }
}

impl ReadState<'_, CalendarObject> {
    /// See [`Reader::todos`].
    pub(crate) fn todos(&self, viewer: &TimeZone, with_over: bool) -> Result<Vec<Todo>> {
        let query = Query::new("kind:todo".parse::<Filter>()?);
        let found = self.query(&query.columns(Column::Uid | Column::Status | Column::Title))?;
        let mut all = Vec::new();
        for row in found.iter() {
            let status = Status::named(row.get(Column::Status));
            let is_over = is_over(status);
            if is_over && !with_over {
                continue;
            }
            let Some((_, object)) = self.record(row.get(Column::Uid))? else {
                continue;
            };
            let main = object.master();
            let (due, is_over) = match main.recurs() && !is_over {
                true => first_open(&object, viewer),
                false => (main.due_time().or_else(|| main.end.clone()), is_over),
            };
            all.push(Todo {
                record: row.id(),
                title: row.title().to_owned(),
                due,
                is_over,
                object,
            });
        }
        all.sort_by_key(|todo| {
            let due = todo.due.as_ref().map(|due| due.at(viewer));
            (due.unwrap_or(Timestamp::MAX), todo.record.0)
        });
        Ok(all)
    }

    /// See [`Reader::overdue_todos`].
    pub(crate) fn overdue_todos(&self, day: Date, viewer: &TimeZone) -> Result<Vec<Todo>> {
        let start = viewer.to_utc(day.midnight());
        let mut all = self.todos(viewer, false)?;
        all.retain(|todo| {
            let due = todo.due.as_ref().filter(|_| !todo.is_over);
            due.is_some_and(|due| due.at(viewer) < start)
        });
        Ok(all)
    }
}

fn is_over(status: Option<Status>) -> bool {
    matches!(status, Some(Status::Completed | Status::Cancelled))
}

/// Returns the due time of the first open occurrence of a series, and whether there is none.
fn first_open(object: &CalendarObject, viewer: &TimeZone) -> (Option<CalendarTime>, bool) {
    let set = object.recurrence_set();
    let components: Vec<_> = object
        .components()
        .filter(|component| component.timing.is_some())
        .collect();
    let instances = set.between(Timestamp::MIN..Timestamp::MAX, viewer);
    let open = instances.take(MAX_SEARCHED).find_map(|instance| {
        let component = components.get(instance.component)?;
        // With a start, an instance ends when it is due; without one it is at its due time.
        let has_due = component.start.is_some() && component.due_time().is_some();
        let due = if has_due {
            instance.end
        } else {
            instance.start
        };
        (!is_over(component.status)).then_some(due)
    });
    let is_over = open.is_none();
    (open, is_over)
}
