//! Formats a line of the agenda as styled text.
//!
//! ```text
//!   09:00-10:30  Jour fixe ↻  Room 4 · Work  #17
//!        time    title, marks  place, calendar  number
//! ```

use etui_program::output::{COLOR_MARK, Style, one_line, truncate_text};
use unicode_width::UnicodeWidthStr;

use super::days::{AgendaEntry, DayPart, EntryMark};
use etui_when::format_clock;

/// Width of a time: `09:00-10:30`.
const TIME_WIDTH: usize = 11;
/// Columns before and after the time.
const GAP: usize = 2;
/// Narrower terminals get shorter marks and no numbers.
const MIN_FULL_WIDTH: usize = 60;
/// A shorter part of a location is not shown.
const MIN_LOCATION_WIDTH: usize = 6;

/// A piece of text and its style.
pub type StyledText = (String, Option<Style>);

/// Formats one part of an entry in at most `room` columns.
pub fn format_line(part: DayPart, entry: &AgendaEntry, room: Option<usize>) -> Vec<StyledText> {
    let time = format_time(part);
    // A dot in the colour of the calendar is in the margin.
    let margin = match entry.color {
        Some(color) => (COLOR_MARK.to_owned(), Some(Style::Color(color))),
        None => (format!("{:GAP$}", ""), None),
    };
    let mut pieces = vec![margin, (format!("{time:>TIME_WIDTH$}{:GAP$}", ""), None)];
    let used = 2 * GAP + TIME_WIDTH.max(time.width());
    let title = entry_title(entry);
    let is_narrow = room.is_some_and(|room| room < MIN_FULL_WIDTH);
    let marks = format_marks(part, entry, is_narrow);
    let number = match entry.id {
        Some(id) if !is_narrow => format!("{:GAP$}#{id}", ""),
        _ => String::new(),
    };
    let place = format_location(entry);
    let (title, place) = match room {
        None => (title, place),
        Some(room) => {
            let room = room
                .saturating_sub(used + marks.width() + number.width())
                .max(1);
            divide_width(&title, &place, room)
        }
    };
    let style = (entry.mark == EntryMark::Cancelled).then_some(Style::Struck);
    pieces.push((title, style));
    pieces.push((marks, Some(Style::Dim)));
    if !place.is_empty() {
        pieces.push((format!("{:GAP$}{place}", ""), Some(Style::Dim)));
    }
    pieces.push((number, Some(Style::Dim)));
    pieces.retain(|(text, _)| !text.is_empty());
    pieces
}

/// Returns the title in one line; that of a to-do with its box.
pub fn entry_title(entry: &AgendaEntry) -> String {
    let title = match one_line(&entry.title) {
        title if title.trim().is_empty() => "(no title)".to_owned(),
        title => title.into_owned(),
    };
    match entry.done {
        None => title,
        Some(true) => format!("[x] {title}"),
        Some(false) => format!("[ ] {title}"),
    }
}

/// Truncates title and location to `room` columns. The location is truncated first, down to a third.
fn divide_width(title: &str, place: &str, room: usize) -> (String, String) {
    let wanted = match place.width() {
        0 => 0,
        width => (width + GAP).min((room / 3).max(room.saturating_sub(title.width()))),
    };
    if wanted < MIN_LOCATION_WIDTH.min(place.width()) + GAP {
        return (truncate_text(title, room).0, String::new());
    }
    let (title, used) = truncate_text(title, room - wanted);
    let left = (room - used).saturating_sub(GAP);
    (title, truncate_text(place, left).0)
}

fn format_time(part: DayPart) -> String {
    match part {
        DayPart::Day(..) => "all day".to_owned(),
        DayPart::Middle => "...-...".to_owned(),
        DayPart::From(start) => format!("{}-...", format_clock(start)),
        DayPart::Until(end) => format!("...-{}", format_clock(end)),
        DayPart::Whole(start, end) if start == end => format_clock(start),
        DayPart::Whole(start, end) => match end.date() > start.date() {
            true => format!("{}-24:00", format_clock(start)),
            false => format!("{}-{}", format_clock(start), format_clock(end)),
        },
    }
}

fn format_marks(part: DayPart, entry: &AgendaEntry, is_narrow: bool) -> String {
    let mut marks = String::new();
    if entry.is_recurring {
        marks.push_str(" ↻");
    }
    if let DayPart::Day(n, of) = part
        && of > 1
    {
        marks.push_str(&match is_narrow {
            true => format!(" ({n}/{of})"),
            false => format!(" (day {n} of {of})"),
        });
    }
    marks.push_str(match entry.mark {
        EntryMark::Confirmed => "",
        EntryMark::Tentative => " (tentative)",
        EntryMark::Cancelled => " (cancelled)",
    });
    marks
}

fn format_location(entry: &AgendaEntry) -> String {
    let place = one_line(entry.place.trim());
    match &entry.calendar {
        None => place.into_owned(),
        Some(calendar) if place.is_empty() => format!("· {}", one_line(calendar)),
        Some(calendar) => format!("{place} · {}", one_line(calendar)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use etui::calendar::time::{Date, DateTime};
    use proptest::prelude::*;

    use super::*;

    fn at(day: i64, hour: u32) -> DateTime {
        let monday = Date::new(2026, 11, 23).unwrap();
        monday.plus_days(day).at(hour, 0, 0).unwrap()
    }

    fn entry(title: &str, place: &str) -> AgendaEntry {
        AgendaEntry {
            id: Some(17),
            starts: at(0, 9),
            ends: at(0, 10),
            all_day: false,
            title: title.to_owned(),
            place: place.to_owned(),
            calendar: None,
            color: None,
            is_recurring: false,
            source: None,
            mark: EntryMark::Confirmed,
            done: None,
        }
    }

    fn text(part: DayPart, entry: &AgendaEntry, room: Option<usize>) -> String {
        format_line(part, entry, room)
            .into_iter()
            .map(|(text, _)| text)
            .collect()
    }

    #[test]
    fn lines() {
        let whole = DayPart::Whole(at(0, 9), at(0, 10));
        let mut one = entry("Jour fixe", "Room 4");
        let mut all = Vec::new();
        all.push(text(whole, &one, None));
        one.is_recurring = true;
        one.calendar = Some("Work".to_owned());
        all.push(text(DayPart::From(at(0, 9)), &one, None));
        one.mark = EntryMark::Tentative;
        all.push(text(DayPart::Until(at(0, 9)), &one, None));
        one.mark = EntryMark::Cancelled;
        all.push(text(DayPart::Middle, &one, None));
        all.push(text(DayPart::Day(2, 5), &one, Some(80)));
        all.push(text(DayPart::Day(2, 5), &one, Some(40)));
        one = entry("", "");
        one.done = Some(true);
        all.push(text(DayPart::Day(1, 1), &one, None));
        one = entry(
            "Sitzung über das Budget und alles andere",
            "Großer Saal im Rathaus",
        );
        all.push(text(DayPart::Whole(at(0, 9), at(1, 0)), &one, Some(40)));
        all.push(text(DayPart::Whole(at(0, 9), at(0, 9)), &one, Some(80)));
        one = entry("山田太郎さんと会議をする予定です\x1b[31m", "東京");
        all.push(text(whole, &one, Some(40)));
        all.push(text(whole, &one, None));
        insta::assert_snapshot!(all.join("\n"), @r"
        09:00-10:00  Jour fixe  Room 4  #17
          09:00-...  Jour fixe ↻  Room 4 · Work  #17
          ...-09:00  Jour fixe ↻ (tentative)  Room 4 · Work  #17
            ...-...  Jour fixe ↻ (cancelled)  Room 4 · Work  #17
            all day  Jour fixe ↻ (day 2 of 5) (cancelled)  Room 4 · Work  #17
            all day  Jour… ↻ (2/5) (cancelled)
            all day  [x] (no title)  #17
        09:00-24:00  Sitzung über das…  Große…
              09:00  Sitzung über das Budget und alles andere  Großer Saal im Ra…  #17
        09:00-10:00  山田太郎さんと会議…  東京
        09:00-10:00  山田太郎さんと会議をする予定です\u{1b}[31m  東京  #17
        ");
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_terminal(
            title in "\\PC{0,60}",
            place in "\\PC{0,60}",
            room in 0usize..120,
            recurs: bool,
            tentative: bool,
        ) {
            let mut one = entry(&title, &place);
            one.is_recurring = recurs;
            one.mark = if tentative { EntryMark::Tentative } else { EntryMark::Confirmed };
            let line = text(DayPart::Whole(at(0, 9), at(0, 10)), &one, Some(room));
            // 36 columns are the minimum for a time and the marks.
            prop_assert!(room < 36 || line.width() <= room, "{} in {room}", line.width());
        }
    }
}
