//! [`Days`]: what is on each day. Pure.

use etui::calendar::time::{Date, DateTime};

/// Something with a time, on the clock of whoever looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its number in the store.
    pub id: i64,
    /// When it starts.
    pub starts: DateTime,
    /// When it ends; of an all-day entry the day behind the last.
    pub ends: DateTime,
    /// Whether it is days, without times.
    pub all_day: bool,
    /// What it is about.
    pub title: String,
    /// Where it is.
    pub place: String,
    /// The calendar it is in, where that is worth telling.
    pub calendar: Option<String>,
    /// Whether it is one of several.
    pub recurs: bool,
    /// Whether it is sure.
    pub mark: Mark,
    /// For a to-do whether it is done.
    pub done: Option<bool>,
}

/// Whether something is sure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mark {
    #[default]
    Sure,
    Tentative,
    Cancelled,
}

/// Which part of an entry is on a day; the order is that of the lines of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The nth of so many days.
    Day(u32, u32),
    /// From the day before to the day behind.
    Middle,
    /// From the day before, until then.
    Until(DateTime),
    /// All of it.
    Whole(DateTime, DateTime),
    /// From then into the next day.
    From(DateTime),
}

impl Part {
    /// When it begins on its day, for the order of the lines.
    fn order(self) -> (u8, DateTime) {
        match self {
            Self::Day(..) => (0, DateTime::MIN),
            Self::Middle | Self::Until(_) => (1, DateTime::MIN),
            Self::Whole(start, _) | Self::From(start) => (2, start),
        }
    }
}

impl Entry {
    fn first(&self) -> Date {
        self.starts.date()
    }

    /// The last day that has a part of it.
    fn last(&self) -> Date {
        if self.ends <= self.starts {
            return self.first();
        }
        self.ends.plus_seconds(-1).date()
    }

    /// What of it is on a day between its first and last.
    fn part(&self, day: Date) -> Part {
        let (first, last) = (self.first(), self.last());
        if self.all_day {
            let nth = |to: Date| u32::try_from(to.days() - first.days() + 1).unwrap_or(1);
            return Part::Day(nth(day), nth(last));
        }
        match (day == first, day == last) {
            (true, true) => Part::Whole(self.starts, self.ends),
            (true, false) => Part::From(self.starts),
            (false, true) => Part::Until(self.ends),
            (false, false) => Part::Middle,
        }
    }
}

/// The days from one to another that have something, in order, each with its lines. Costs what it
/// tells, however long the time between the days is.
pub struct Days<'e> {
    /// Those not begun yet, the earliest at the end.
    ahead: Vec<&'e Entry>,
    /// Those that the day before had.
    open: Vec<&'e Entry>,
    next: Date,
    last: Date,
    done: bool,
}

/// A day and what is on it.
pub type Day<'e> = (Date, Vec<(Part, &'e Entry)>);

impl<'e> Days<'e> {
    /// The days from `first` to `last`.
    pub fn new(entries: &'e [Entry], first: Date, last: Date) -> Self {
        let mut ahead: Vec<&Entry> = entries.iter().collect();
        // Stable, so that those of one moment stay in the order given.
        ahead.reverse();
        ahead.sort_by_key(|e| std::cmp::Reverse(e.first()));
        Self {
            ahead,
            open: Vec::new(),
            next: first,
            last,
            done: false,
        }
    }
}

impl<'e> Iterator for Days<'e> {
    type Item = Day<'e>;

    fn next(&mut self) -> Option<Day<'e>> {
        loop {
            if self.done {
                return None;
            }
            let mut day = self.next;
            if self.open.is_empty() {
                day = day.max(self.ahead.last()?.first());
            }
            if day > self.last {
                return None;
            }
            while let Some(entry) = self.ahead.pop_if(|e| e.first() <= day) {
                self.open.push(entry);
            }
            self.open.retain(|e| e.last() >= day);
            self.done = day == Date::MAX;
            self.next = day.plus_days(1);
            if self.open.is_empty() {
                continue;
            }
            let mut lines: Vec<_> = self.open.iter().map(|e| (e.part(day), *e)).collect();
            lines.sort_by_key(|(part, _)| part.order());
            return Some((day, lines));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn entry(title: &str, from: (i64, u32), to: (i64, u32), all_day: bool) -> Entry {
        let monday = Date::new(2026, 11, 23).unwrap();
        let at = |(day, hour)| monday.plus_days(day).at(hour, 0, 0).unwrap();
        Entry {
            id: 1,
            starts: at(from),
            ends: at(to),
            all_day,
            title: title.to_owned(),
            place: String::new(),
            calendar: None,
            recurs: false,
            mark: Mark::Sure,
            done: None,
        }
    }

    fn told(entries: &[Entry], first: i64, last: i64) -> String {
        let monday = Date::new(2026, 11, 23).unwrap();
        let mut out = String::new();
        for (day, lines) in Days::new(entries, monday.plus_days(first), monday.plus_days(last)) {
            out.push_str(&format!("{}:", day.days() - monday.days()));
            for (part, entry) in lines {
                let part = match part {
                    Part::Day(n, m) => format!("{n}/{m}"),
                    Part::Middle => "-".to_owned(),
                    Part::Until(end) => format!("-{}", end.hms().0),
                    Part::From(start) => format!("{}-", start.hms().0),
                    Part::Whole(start, end) => format!("{}-{}", start.hms().0, end.hms().0),
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
        insta::assert_snapshot!(told(&entries, 0, 9), @r"
        0: early 8-9; trip 12-; night 22-;
        1: fair 1/2; night -6; trip -;
        2: fair 2/2; trip -;
        3: trip -12;
        4: moment 8-8; till midnight 20-0;
        9: later 8-9;
        ");
        insta::assert_snapshot!(told(&entries, 2, 3), @r"
        2: fair 2/2; trip -;
        3: trip -12;
        ");
        assert_eq!(told(&entries, 6, 8), "");
    }

    #[test]
    fn the_ends_of_time() {
        let mut always = entry("always", (0, 0), (0, 0), true);
        (always.starts, always.ends) = (DateTime::MIN, DateTime::MAX);
        let entries = [always];
        let last = |first: Date| Days::new(&entries, first, Date::MAX).last().map(|(d, _)| d);
        assert_eq!(last(Date::MAX.plus_days(-2)), Some(Date::MAX));
        let mut first = Days::new(&entries, Date::MIN, Date::MAX);
        assert_eq!(first.next().map(|(d, _)| d), Some(Date::MIN));
    }

    proptest! {
        /// Day by day, each entry is looked at whether it is there.
        #[test]
        fn the_same_as_day_by_day(
            all in prop::collection::vec((0i64..40, 0u32..24, 0i64..80, any::<bool>()), 0..12),
            first in 0i64..40,
            days in 0i64..20,
        ) {
            let entries: Vec<Entry> = all
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
                Days::new(&entries, from, to).map(|(day, lines)| (day, lines.len())).collect();
            let mut expected = Vec::new();
            for n in 0..=days {
                let day = from.plus_days(n);
                let on = entries.iter().filter(|e| e.first() <= day && day <= e.last()).count();
                if on > 0 {
                    expected.push((day, on));
                }
            }
            prop_assert_eq!(found, expected);
        }
    }
}
