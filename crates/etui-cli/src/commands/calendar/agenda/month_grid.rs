//! [`MonthGrid`]: a month as a grid of weeks, for paper and for the screen.
//!
//! ```text
//!  Mon        Tue        Wed        Thu        Fri        Sat        Sun
//!  23         24      +2>25*        26         27         28         29
//!             Jour fixe  Dentist
//!             Lunch      Call
//! ```
//!
//! `>` marks the selected day, `*` today; `+2` counts the entries that are not shown. In cells of one line
//! each entry is a dot, or a plus sign if there is no room for all.

use etui::calendar::time::{Date, Weekday};
use etui_program::output::{Style, truncate_text};
use unicode_width::UnicodeWidthStr;

use super::days::{AgendaEntry, DayPart, EntryMark};
use super::draw::{StyledText, entry_title};
use etui_when::{format_clock, plus_months, start_of_week, weekday_name};

/// Cells at least this wide show times.
const MIN_TIME_WIDTH: usize = 18;
/// The mark of an entry in a cell of one line.
const DOT: char = '•';

/// The entries of a day.
pub type DayLines = [(DayPart, AgendaEntry)];

/// A month.
#[derive(Debug, Clone, Copy)]
pub struct MonthGrid {
    /// A day of the month.
    pub day: Date,
    pub first_weekday: Weekday,
    pub today: Date,
    /// Whether `day` is marked.
    pub has_selection: bool,
}

impl MonthGrid {
    /// Returns the first day of the first week.
    pub fn first(&self) -> Date {
        start_of_week(first_of_month(self.day), self.first_weekday)
    }

    /// Returns the number of weeks that the month touches.
    pub fn weeks(&self) -> usize {
        let last = start_of_week(self.month().1, self.first_weekday);
        usize::try_from((last.days() - self.first().days()) / 7 + 1).unwrap_or(1)
    }

    /// Returns the last day of the last week.
    pub fn last(&self) -> Date {
        let weeks = i64::try_from(self.weeks()).unwrap_or(6);
        self.first().plus_days(7 * weeks - 1)
    }

    /// Returns the first and the last day of the month itself.
    pub fn month(&self) -> (Date, Date) {
        let first = first_of_month(self.day);
        (first, plus_months(first, 1).plus_days(-1))
    }

    /// Returns the days of a week.
    pub fn days_of_week(&self, week: usize) -> impl Iterator<Item = Date> + use<> {
        let first = self.first().plus_days(7 * i64::try_from(week).unwrap_or(0));
        (0..7).map(move |n| first.plus_days(n))
    }

    /// Returns the week of the day, from 0.
    pub fn week_of_day(&self) -> usize {
        usize::try_from((self.day.days() - self.first().days()) / 7).unwrap_or(0)
    }

    /// Returns the names of the weekdays.
    pub fn heading(&self, width: usize) -> Vec<StyledText> {
        let cells = (0..7).map(|n| {
            let name = weekday_name(self.first().plus_days(n).weekday());
            let length = match cell_width(width) {
                0..5 => 2,
                5..12 => 3,
                _ => name.len(),
            };
            let name = name.get(..length).unwrap_or(name);
            vec![(format!(" {name}"), Some(Style::Dim))]
        });
        join_cells(cells.collect(), width)
    }

    /// Returns the lines of a week in `height` lines.
    pub fn week<'e>(
        &self,
        week: usize,
        width: usize,
        height: usize,
        lines_of: impl Fn(Date) -> Option<&'e DayLines>,
    ) -> Vec<Vec<StyledText>> {
        let cells: Vec<Vec<Vec<StyledText>>> = self
            .days_of_week(week)
            .map(|date| {
                let lines = lines_of(date).unwrap_or_default();
                self.cell(date, lines, cell_width(width), height)
            })
            .collect();
        (0..height)
            .map(|line| {
                let row = cells.iter();
                let row = row.map(|cell| cell.get(line).cloned().unwrap_or_default());
                join_cells(row.collect(), width)
            })
            .collect()
    }

    /// Returns the lines of a day.
    fn cell(
        &self,
        date: Date,
        entries: &DayLines,
        width: usize,
        height: usize,
    ) -> Vec<Vec<StyledText>> {
        let (_, month, day) = date.ymd();
        let is_selected = self.has_selection && date == self.day;
        let is_today = date == self.today;
        let mark = if is_selected { '>' } else { ' ' };
        let star = if is_today { "*" } else { "" };
        let number = format!("{mark}{day:>2}{star}");
        let style = match (is_selected, is_today, month == self.day.ymd().1) {
            (true, ..) => Some(Style::Reverse),
            (_, true, _) => Some(Style::Bold),
            (.., true) => None,
            (.., false) => Some(Style::Dim),
        };
        let used = number.width();
        let mut head = vec![(number, style)];
        let shown = entries.len().min(height.saturating_sub(1));
        let room = width.saturating_sub(used + 1);
        if height == 1 {
            // The gap to the next cell may be used: that begins with a mark or a space.
            head.push((dots(entries.len(), width.saturating_sub(used)), None));
        } else if shown < entries.len() {
            let rest = truncate_text(&format!("+{}", entries.len() - shown), room).0;
            let pad = room.saturating_sub(rest.width());
            head.push((format!("{:pad$}{rest}", ""), Some(Style::Dim)));
        }
        let entries = entries.iter().take(shown);
        let lines = entries.map(|(part, entry)| cell_line(*part, entry, width));
        [head].into_iter().chain(lines).collect()
    }
}

pub fn first_of_month(date: Date) -> Date {
    date.plus_days(1 - i64::from(date.ymd().2))
}

/// Returns the width of a cell, with the gap after it.
fn cell_width(width: usize) -> usize {
    width / 7
}

/// Returns a dot for each entry; a plus sign stands for those without room.
fn dots(count: usize, room: usize) -> String {
    let dots = DOT
        .to_string()
        .repeat(count.min(room.saturating_sub(usize::from(count > room))));
    match count > room && room > 0 {
        true => format!("{dots}+"),
        false => dots,
    }
}

/// Returns an entry in a cell.
fn cell_line(part: DayPart, entry: &AgendaEntry, width: usize) -> Vec<StyledText> {
    let time = match part {
        DayPart::Whole(start, _) | DayPart::From(start) if width >= MIN_TIME_WIDTH => {
            format!("{} ", format_clock(start))
        }
        _ => String::new(),
    };
    let room = width.saturating_sub(2 + time.width());
    let title = truncate_text(&entry_title(entry), room).0;
    let style = (entry.mark == EntryMark::Cancelled).then_some(Style::Struck);
    vec![(format!(" {time}"), Some(Style::Dim)), (title, style)]
}

/// Pads cells to equal widths.
fn join_cells(cells: Vec<Vec<StyledText>>, width: usize) -> Vec<StyledText> {
    let width = cell_width(width);
    let mut line = Vec::new();
    for cell in cells {
        let mut used = 0;
        for (text, style) in cell {
            let (text, columns) = truncate_text(&text, width.saturating_sub(used));
            used += columns;
            line.push((text, style));
        }
        line.push((" ".repeat(width.saturating_sub(used)), None));
    }
    line
}
