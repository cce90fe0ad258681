//! [`AgendaDays`]: splits entries into the lines of each day.

use std::collections::BTreeMap;

use etui::RecordId;
use etui::calendar::Color;
use etui::calendar::time::{CalendarTime, Date, DateTime};

/// An occurrence in local time of the display zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgendaEntry {
    /// The number of the entry; a birthday has none.
    pub id: Option<i64>,
    pub starts: DateTime,
    /// The end; of an all-day entry the day after the last.
    pub ends: DateTime,
    pub all_day: bool,
    pub title: String,
    pub place: String,
    /// The name of its calendar, if several are shown.
    pub calendar: Option<String>,
    /// The colour of its calendar.
    pub color: Option<Color>,
    pub is_recurring: bool,
    /// Its record, where it can be changed.
    pub source: Option<EntrySource>,
    pub mark: EntryMark,
    /// Whether a to-do is completed; `None` for events.
    pub done: Option<bool>,
}

/// The record of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntrySource {
    pub id: RecordId,
    /// The position of its calendar among those shown.
    pub calendar: usize,
    /// Its `RECURRENCE-ID`, if the entry recurs.
    pub instance: Option<CalendarTime>,
}

/// The status of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EntryMark {
    #[default]
    Confirmed,
    Tentative,
    Cancelled,
}

/// The part of an entry on one day, in the order of the lines of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DayPart {
    /// All day: the nth of n days.
    Day(u32, u32),
    /// From the day before to the day after.
    Middle,
    /// From the day before until this time.
    Until(DateTime),
    /// The whole entry.
    Whole(DateTime, DateTime),
    /// From this time into the next day.
    From(DateTime),
}

impl DayPart {
    /// Returns the sort key of a line.
    fn sort_key(self) -> (u8, DateTime) {
        match self {
            Self::Day(..) => (0, DateTime::MIN),
            Self::Middle | Self::Until(_) => (1, DateTime::MIN),
            Self::Whole(start, _) | Self::From(start) => (2, start),
        }
    }
}

impl AgendaEntry {
    fn first_day(&self) -> Date {
        self.starts.date()
    }

    fn last_day(&self) -> Date {
        if self.ends <= self.starts {
            return self.first_day();
        }
        self.ends.plus_seconds(-1).date()
    }

    /// Returns the part on a day between the first and the last.
    fn part_on(&self, day: Date) -> DayPart {
        let (first, last) = (self.first_day(), self.last_day());
        if self.all_day {
            let nth = |to: Date| u32::try_from(to.days() - first.days() + 1).unwrap_or(1);
            return DayPart::Day(nth(day), nth(last));
        }
        match (day == first, day == last) {
            (true, true) => DayPart::Whole(self.starts, self.ends),
            (true, false) => DayPart::From(self.starts),
            (false, true) => DayPart::Until(self.ends),
            (false, false) => DayPart::Middle,
        }
    }
}

/// Returns the lines of each day with entries.
pub fn days_of(entries: &[AgendaEntry], (first, last): (Date, Date)) -> DayMap {
    let days = AgendaDays::new(entries, first, last);
    days.map(|(day, lines)| {
        let lines = lines.into_iter().map(|(part, entry)| (part, entry.clone()));
        (day, lines.collect())
    })
    .collect()
}

/// Iterator over the days with entries. Costs O(lines), whatever the length of the period.
pub struct AgendaDays<'e> {
    /// Entries that start later, the earliest last.
    ahead: Vec<&'e AgendaEntry>,
    /// Entries of the day before.
    open: Vec<&'e AgendaEntry>,
    next: Date,
    last: Date,
    done: bool,
}

/// The lines of days; a day without entries is not in it.
pub type DayMap = BTreeMap<Date, Vec<(DayPart, AgendaEntry)>>;

/// A day and its lines.
pub type AgendaDay<'e> = (Date, Vec<(DayPart, &'e AgendaEntry)>);

impl<'e> AgendaDays<'e> {
    /// Returns the days from `first` to `last`.
    pub fn new(entries: &'e [AgendaEntry], first: Date, last: Date) -> Self {
        let mut ahead: Vec<&AgendaEntry> = entries.iter().collect();
        // A stable sort keeps the given order within a day.
        ahead.reverse();
        ahead.sort_by_key(|e| std::cmp::Reverse(e.first_day()));
        Self {
            ahead,
            open: Vec::new(),
            next: first,
            last,
            done: false,
        }
    }
}

impl<'e> Iterator for AgendaDays<'e> {
    type Item = AgendaDay<'e>;

    fn next(&mut self) -> Option<AgendaDay<'e>> {
        loop {
            if self.done {
                return None;
            }
            let mut day = self.next;
            if self.open.is_empty() {
                day = day.max(self.ahead.last()?.first_day());
            }
            if day > self.last {
                return None;
            }
            while let Some(entry) = self.ahead.pop_if(|e| e.first_day() <= day) {
                self.open.push(entry);
            }
            self.open.retain(|e| e.last_day() >= day);
            self.done = day == Date::MAX;
            self.next = day.plus_days(1);
            if self.open.is_empty() {
                continue;
            }
            let mut lines: Vec<_> = self.open.iter().map(|e| (e.part_on(day), *e)).collect();
            lines.sort_by_key(|(part, _)| part.sort_key());
            return Some((day, lines));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn entry(title: &str, from: (i64, u32), to: (i64, u32), all_day: bool) -> AgendaEntry {
        let monday = Date::new(2026, 11, 23).unwrap();
        let at = |(day, hour)| monday.plus_days(day).at(hour, 0, 0).unwrap();
        AgendaEntry {
            id: Some(1),
            starts: at(from),
            ends: at(to),
            all_day,
            title: title.to_owned(),
            place: String::new(),
            calendar: None,
            color: None,
            is_recurring: false,
            source: None,
            mark: EntryMark::Confirmed,
            done: None,
        }
    }

    fn describe(entries: &[AgendaEntry], first: i64, last: i64) -> String {
        let monday = Date::new(2026, 11, 23).unwrap();
        let mut out = String::new();
        for (day, lines) in
            AgendaDays::new(entries, monday.plus_days(first), monday.plus_days(last))
        {
            out.push_str(&format!("{}:", day.days() - monday.days()));
            for (part, entry) in lines {
                let part = match part {
                    DayPart::Day(n, m) => format!("{n}/{m}"),
                    DayPart::Middle => "-".to_owned(),
                    DayPart::Until(end) => format!("-{}", end.hms().0),
                    DayPart::From(start) => format!("{}-", start.hms().0),
                    DayPart::Whole(start, end) => format!("{}-{}", start.hms().0, end.hms().0),
                };
                out.push_str(&format!(" {} {part};", entry.title));
            }
            out.push('\n');
        }
        out
    }

    #[test]
    fn every_day_has_its_lines_in_order() {
        let entries = [
            entry("early", (0, 8), (0, 9), false),
            entry("night", (0, 22), (1, 6), false),
            entry("trip", (0, 12), (3, 12), false),
            entry("fair", (1, 0), (3, 0), true),
            entry("till midnight", (4, 20), (5, 0), false),
            entry("moment", (4, 8), (4, 8), false),
            entry("later", (9, 8), (9, 9), false),
        ];
        insta::assert_snapshot!(describe(&entries, 0, 9), @r"
        0: early 8-9; trip 12-; night 22-;
        1: fair 1/2; night -6; trip -;
        2: fair 2/2; trip -;
        3: trip -12;
        4: moment 8-8; till midnight 20-0;
        9: later 8-9;
        ");
        insta::assert_snapshot!(describe(&entries, 2, 3), @r"
        2: fair 2/2; trip -;
        3: trip -12;
        ");
        assert_eq!(describe(&entries, 6, 8), "");
    }

    #[test]
    fn the_limits_of_dates() {
        let mut always = entry("always", (0, 0), (0, 0), true);
        (always.starts, always.ends) = (DateTime::MIN, DateTime::MAX);
        let entries = [always];
        let last = |first: Date| {
            AgendaDays::new(&entries, first, Date::MAX)
                .last()
                .map(|(d, _)| d)
        };
        assert_eq!(last(Date::MAX.plus_days(-2)), Some(Date::MAX));
        let mut first = AgendaDays::new(&entries, Date::MIN, Date::MAX);
        assert_eq!(first.next().map(|(d, _)| d), Some(Date::MIN));
    }

    proptest! {
        #[test]
        fn matches_a_check_of_every_day(
            all in prop::collection::vec((0i64..40, 0u32..24, 0i64..80, any::<bool>()), 0..12),
            first in 0i64..40,
            days in 0i64..20,
        ) {
            let entries: Vec<AgendaEntry> = all
                .iter()
                .map(|(day, hour, hours, all_day)| {
                    let hour = if *all_day { 0 } else { *hour };
                    let mut one = entry("", (*day, hour), (*day, hour), *all_day);
                    let unit = if *all_day { 86_400 } else { 3_600 };
                    one.ends = one.starts.plus_seconds(hours * unit);
                    one
                })
                .collect();
            let monday = Date::new(2026, 11, 23).unwrap();
            let (from, to) = (monday.plus_days(first), monday.plus_days(first + days));
            let found: Vec<(Date, usize)> =
                AgendaDays::new(&entries, from, to).map(|(day, lines)| (day, lines.len())).collect();
            let mut expected = Vec::new();
            for n in 0..=days {
                let day = from.plus_days(n);
                let on = entries.iter().filter(|e| e.first_day() <= day && day <= e.last_day()).count();
                if on > 0 {
                    expected.push((day, on));
                }
            }
            prop_assert_eq!(found, expected);
        }
    }
}
