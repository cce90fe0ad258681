//! [`WeekGrid`]: the days of a week beside one another, an hour below the other.
//!
//! ```text
//!        Mon 23          Tue 24         >Wed 25*          the days
//! all day                               [ ] Buy milk      entries of whole days
//! 08:00                                 ▌Dentist
//! 09:00                                                   half hours have no number
//! 10:00 ↓▌Jour fixe      ▌Yoga  ▌Call                     entries at one time share the column; later ones
//! ```

use etui::calendar::time::{Date, DateTime};
use etui_program::output::{Style, truncate_text};

use super::days::{AgendaEntry, DayPart, EntryMark};
use super::draw::{StyledText, entry_title};
use super::month_grid::DayLines;
use etui_when::{format_clock, weekday_name};

/// Columns of the hours, with the gap after them.
const CLOCK_WIDTH: usize = 8;
/// The hours that are always shown if there is room: those of a working day.
const WORKING_DAY: (i64, i64) = (8, 18);
/// Narrower parts of a column would show no title.
const MIN_LANE_WIDTH: usize = 4;
const MINUTES_OF_DAY: i64 = 24 * 60;

/// A week on a screen of some rows.
pub struct WeekGrid<'e> {
    days: Vec<DayColumn<'e>>,
    today: Date,
    /// The selected day, and its selected entry.
    selected: (Date, usize),
    width: usize,
    /// Rows of entries that are all day.
    whole_days: usize,
    /// Minutes of the day in the first row, and of each row.
    first_minute: i64,
    minutes: i64,
    rows: usize,
}

struct DayColumn<'e> {
    day: Date,
    entries: &'e DayLines,
    /// The entries with times, in the order of `entries`.
    blocks: Vec<Block>,
}

/// An entry with times: minutes of its day, and its part of the width of the day.
struct Block {
    entry: usize,
    start: i64,
    end: i64,
    lane: usize,
    lanes: usize,
}

impl<'e> WeekGrid<'e> {
    /// Places the entries of a week in a grid of this width and height.
    pub fn new(
        first: Date,
        lines_of: impl Fn(Date) -> &'e DayLines,
        today: Date,
        selected: (Date, usize),
        (width, height): (usize, usize),
    ) -> Self {
        let days: Vec<DayColumn<'e>> = (0..7)
            .map(|n| first.plus_days(n))
            .map(|day| DayColumn {
                day,
                entries: lines_of(day),
                blocks: place_blocks(lines_of(day)),
            })
            .collect();
        let body = height.saturating_sub(1).max(1);
        let most = days.iter().map(DayColumn::whole_days).max().unwrap_or(0);
        // The hours keep most of the rows.
        let whole_days = most.clamp(1, (body / 4).max(1)).min(body - 1);
        let rows = body - whole_days;
        let mut grid = Self {
            days,
            today,
            selected,
            width,
            whole_days,
            first_minute: 0,
            minutes: 60,
            rows,
        };
        grid.choose_hours();
        grid
    }

    /// Chooses the first hour and the minutes of a row, so that all entries are visible, or else the
    /// selected one.
    fn choose_hours(&mut self) {
        let blocks = || self.days.iter().flat_map(|day| &day.blocks);
        let start = blocks().map(|block| block.start / 60).min();
        let end = blocks().map(|block| (block.end + 59) / 60).max();
        let mut first = start.map_or(WORKING_DAY.0, |hour| hour.min(WORKING_DAY.0));
        let last = end.map_or(WORKING_DAY.1, |hour| hour.max(WORKING_DAY.1));
        let rows = i64::try_from(self.rows).unwrap_or(24);
        if 2 * (last - first) <= rows {
            self.minutes = 30;
        }
        let hours = rows * self.minutes / 60;
        if last - first > hours {
            // The working day, unless the selected entry is at another time.
            let wanted = self
                .selected_block()
                .map_or(WORKING_DAY.0, |block| block.start / 60);
            let in_day = (WORKING_DAY.0..WORKING_DAY.0 + hours).contains(&wanted);
            let begin = if in_day { WORKING_DAY.0 } else { wanted };
            first = begin.clamp(first, (last - hours).max(first));
        }
        self.first_minute = first * 60;
    }

    fn selected_block(&self) -> Option<&Block> {
        let day = self.days.iter().find(|day| day.day == self.selected.0)?;
        let mut blocks = day.blocks.iter();
        blocks.find(|block| block.entry == self.selected.1)
    }

    /// Returns the lines of the grid.
    pub fn lines(&self) -> Vec<Vec<StyledText>> {
        let mut lines = vec![self.heading()];
        lines.extend((0..self.whole_days).map(|row| self.whole_day_line(row)));
        lines.extend((0..self.rows).map(|row| self.hour_line(row)));
        lines
    }

    fn day_width(&self) -> usize {
        self.width.saturating_sub(CLOCK_WIDTH) / 7
    }

    /// Returns a line of the clock and a cell for each day.
    fn line(
        &self,
        clock: &str,
        cell: impl Fn(&DayColumn<'e>, usize) -> Vec<StyledText>,
    ) -> Vec<StyledText> {
        let width = self.day_width();
        let mut line = vec![(format!("{clock:<CLOCK_WIDTH$}"), Some(Style::Dim))];
        for day in &self.days {
            line.extend(fit_width(cell(day, width.saturating_sub(1)), width));
        }
        line
    }

    fn heading(&self) -> Vec<StyledText> {
        self.line("", |day, width| {
            let is_today = day.day == self.today;
            let is_selected = day.day == self.selected.0;
            let star = if is_today { "*" } else { "" };
            let weekday = weekday_name(day.day.weekday());
            let name = format!("{} {}{star}", &weekday[..3], day.day.ymd().2);
            let style = match (is_selected, is_today) {
                (true, _) => Some(Style::Reverse),
                (false, true) => Some(Style::Bold),
                (false, false) => None,
            };
            vec![(truncate_text(&name, width).0, style)]
        })
    }

    fn whole_day_line(&self, row: usize) -> Vec<StyledText> {
        let clock = if row == 0 { "all day" } else { "" };
        self.line(clock, |day, width| {
            let count = day.whole_days();
            let is_last = row + 1 == self.whole_days && count > self.whole_days;
            if is_last {
                return vec![(format!("+{}", count - row), Some(Style::Dim))];
            }
            let mut entries = day.entries.iter().enumerate();
            let nth = entries
                .by_ref()
                .filter(|(_, (part, _))| is_whole_day(*part))
                .nth(row);
            nth.map_or_else(Vec::new, |(n, (_, entry))| {
                let title = truncate_text(&entry_title(entry), width).0;
                vec![(title, self.style_of(day, n, entry))]
            })
        })
    }

    fn hour_line(&self, row: usize) -> Vec<StyledText> {
        let from = self.first_minute + i64::try_from(row).unwrap_or(0) * self.minutes;
        let to = from + self.minutes;
        let hour = from / 60;
        let clock = match from % 60 {
            0 if hour < 24 => format!("{hour:02}:00"),
            _ => String::new(),
        };
        let mut blocks = self.days.iter().flat_map(|day| &day.blocks);
        // Entries above the first row or below the last one.
        let arrow = match row {
            0 if blocks.any(|block| block.start < from) => " ↑",
            _ if row + 1 == self.rows && blocks.any(|block| block.end > to) => " ↓",
            _ => "",
        };
        let clock = format!("{clock}{arrow}");
        self.line(&clock, |day, width| self.hour_cell(day, (from, to), width))
    }

    /// Returns the entries of a day in a row of the grid.
    fn hour_cell(
        &self,
        day: &DayColumn<'e>,
        (from, to): (i64, i64),
        width: usize,
    ) -> Vec<StyledText> {
        let shown = day
            .blocks
            .iter()
            .filter(|block| block.start < to && block.end > from);
        let mut lanes: Vec<&Block> = shown.collect();
        lanes.sort_by_key(|block| block.lane);
        let mut pieces: Vec<StyledText> = Vec::new();
        let mut used = 0;
        for (n, block) in lanes.iter().enumerate() {
            let lane_width = width / block.lanes;
            if lane_width < MIN_LANE_WIDTH {
                // Too many at one time: the first one, and the number of the others.
                if n > 0 {
                    break;
                }
                let rest = format!("+{}", lanes.len() - 1);
                let room = width.saturating_sub(rest.len());
                pieces.extend(self.block_text(day, block, from, room));
                pieces = fit_width(pieces, room);
                pieces.push((rest, Some(Style::Dim)));
                break;
            }
            let column = block.lane * lane_width;
            pieces.push((" ".repeat(column.saturating_sub(used)), None));
            let text = self.block_text(day, block, from, lane_width.saturating_sub(1));
            pieces.extend(fit_width(text, lane_width));
            used = column.max(used) + lane_width;
        }
        pieces
    }

    /// Returns an entry in a row: its title in the first one, with the time if that is not the row's.
    fn block_text(
        &self,
        day: &DayColumn<'e>,
        block: &Block,
        from: i64,
        room: usize,
    ) -> Vec<StyledText> {
        let Some((part, entry)) = day.entries.get(block.entry) else {
            return Vec::new();
        };
        let style = self.style_of(day, block.entry, entry);
        let bar = (
            "▌".to_owned(),
            entry.color.map(Style::Color).or(Some(Style::Dim)),
        );
        if block.start < from {
            return vec![bar];
        }
        let title = entry_title(entry);
        let text = match part {
            DayPart::Whole(start, _) | DayPart::From(start) if block.start % self.minutes != 0 => {
                format!("{} {title}", format_clock(*start))
            }
            _ => title,
        };
        vec![bar, (truncate_text(&text, room.saturating_sub(1)).0, style)]
    }

    fn style_of(&self, day: &DayColumn<'e>, n: usize, entry: &AgendaEntry) -> Option<Style> {
        match entry.mark {
            _ if (day.day, n) == self.selected => Some(Style::Reverse),
            EntryMark::Cancelled => Some(Style::Struck),
            _ => None,
        }
    }
}

impl DayColumn<'_> {
    fn whole_days(&self) -> usize {
        let parts = self.entries.iter();
        parts.filter(|(part, _)| is_whole_day(*part)).count()
    }
}

fn is_whole_day(part: DayPart) -> bool {
    matches!(part, DayPart::Day(..) | DayPart::Middle)
}

/// Returns the entries with times of a day. Entries that overlap have lanes of equal width.
fn place_blocks(entries: &DayLines) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    // The first block of those that overlap, and the end of the last of each lane.
    let (mut group, mut lane_ends): (usize, Vec<i64>) = (0, Vec::new());
    for (entry, (part, _)) in entries.iter().enumerate() {
        let Some((start, end)) = minutes_of(*part) else {
            continue;
        };
        if lane_ends.iter().all(|lane_end| *lane_end <= start) {
            set_lanes(&mut blocks, group, lane_ends.len());
            (group, lane_ends) = (blocks.len(), Vec::new());
        }
        let free = lane_ends.iter().position(|lane_end| *lane_end <= start);
        let lane = free.unwrap_or(lane_ends.len());
        match lane_ends.get_mut(lane) {
            Some(lane_end) => *lane_end = end,
            None => lane_ends.push(end),
        }
        blocks.push(Block {
            entry,
            start,
            end,
            lane,
            lanes: 1,
        });
    }
    set_lanes(&mut blocks, group, lane_ends.len());
    blocks
}

fn set_lanes(blocks: &mut [Block], group: usize, lanes: usize) {
    for block in blocks.iter_mut().skip(group) {
        block.lanes = lanes.max(1);
    }
}

/// Returns the minutes of the day of a part, at least one row of half an hour; `None` if it is all day.
fn minutes_of(part: DayPart) -> Option<(i64, i64)> {
    let minute = |at: DateTime| {
        let (hour, minute, _) = at.hms();
        i64::from(hour) * 60 + i64::from(minute)
    };
    let (start, end) = match part {
        DayPart::Day(..) | DayPart::Middle => return None,
        DayPart::Until(end) => (0, minute(end)),
        DayPart::From(start) => (minute(start), MINUTES_OF_DAY),
        DayPart::Whole(start, end) if end.date() > start.date() => (minute(start), MINUTES_OF_DAY),
        DayPart::Whole(start, end) => (minute(start), minute(end)),
    };
    // Half an hour at least, so that a short entry has a row.
    Some((start, end.max(start + 30)))
}

/// Truncates and pads pieces to a width.
fn fit_width(pieces: Vec<StyledText>, width: usize) -> Vec<StyledText> {
    let mut used = 0;
    let mut fitted = Vec::new();
    for (text, style) in pieces {
        let (text, columns) = truncate_text(&text, width.saturating_sub(used));
        used += columns;
        fitted.push((text, style));
    }
    fitted.push((" ".repeat(width.saturating_sub(used)), None));
    fitted
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use unicode_width::UnicodeWidthStr;

    use super::super::days::days_of;
    use super::*;

    fn entry(title: &str, starts: DateTime, minutes: i64) -> AgendaEntry {
        AgendaEntry {
            id: None,
            starts,
            ends: starts.plus_seconds(minutes * 60),
            all_day: false,
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

    fn lines(entries: &[(&str, i64, i64)], selected: usize, size: (usize, usize)) -> Vec<String> {
        let monday = Date::new(2026, 11, 23).unwrap();
        let at = |minute| monday.midnight().plus_seconds(minute * 60);
        let entries = entries.iter();
        let entries: Vec<AgendaEntry> = entries
            .map(|(title, from, minutes)| entry(title, at(*from), *minutes))
            .collect();
        let days: BTreeMap<_, _> = days_of(&entries, (monday, monday.plus_days(6)));
        let lines_of = |day: Date| days.get(&day).map_or(&[][..], Vec::as_slice);
        let selected = (monday, selected);
        let grid = WeekGrid::new(monday, lines_of, monday, selected, size);
        let text = |line: Vec<StyledText>| line.into_iter().map(|(text, _)| text).collect();
        grid.lines().into_iter().map(text).collect()
    }

    #[test]
    fn entries_at_one_time_share_the_column() {
        let all = [
            ("Standup", 9 * 60 + 10, 20),
            ("Review", 10 * 60, 120),
            ("Call", 11 * 60, 60),
            ("Lunch", 12 * 60, 60),
            ("a", 13 * 60, 60),
            ("b", 13 * 60, 60),
            ("c", 13 * 60, 60),
            ("d", 13 * 60, 60),
        ];
        let shown = lines(&all, 0, (120, 12)).into_iter();
        let shown: Vec<String> = shown.map(|line| line[..28].trim_end().to_owned()).collect();
        insta::assert_snapshot!(shown.join("\n"), @"
            Mon 23*         Tue
    all day
    08:00
    09:00   ▌09:10 Standup
    10:00   ▌Revi…
    11:00   ▌      ▌Call
    12:00   ▌Lunch
    13:00   ▌a           +3
    14:00
    15:00
    16:00
    17:00
    ");
    }

    proptest! {
        #[test]
        fn every_line_fits_its_width(
            all in prop::collection::vec((-600i64..11_000, 0i64..4_000), 0..30),
            selected in 0usize..12,
            columns in 40usize..220,
            rows in 0usize..70,
        ) {
            let all: Vec<(&str, i64, i64)> =
                all.iter().map(|(from, length)| ("山田 Lunch", *from, *length)).collect();
            let shown = lines(&all, selected, (columns, rows));
            prop_assert!(shown.len() <= rows.max(3), "{} of {rows}", shown.len());
            for line in shown {
                prop_assert!(line.width() <= columns, "{line:?}");
            }
        }
    }
}
