//! A line of the agenda: pieces of text, each with its style. Pure.
//!
//! ```text
//!   09:00-10:30  Jour fixe ↻  Room 4 · Work  #17
//!        time    title, marks  place, calendar  number
//! ```

use unicode_width::UnicodeWidthStr;

use super::days::{Entry, Mark, Part};
use crate::datetime::clock;
use crate::output::{Style, cut, one_line};

/// Columns of the time: `09:00-10:30`.
const TIME: usize = 11;
/// Before the time, and behind it.
const GAP: usize = 2;
/// Terminals narrower than this get shorter marks, and no numbers.
const ROOMY: usize = 60;
/// Less of a place is not worth showing.
const LEAST_PLACE: usize = 6;

/// A piece of text and how it is set off.
pub type Piece = (String, Option<Style>);

/// The line of what of an entry is on a day, in at most `room` columns.
pub fn line(part: Part, entry: &Entry, room: Option<usize>) -> Vec<Piece> {
    let time = time(part);
    let mut pieces = vec![(format!("{:GAP$}{time:>TIME$}{:GAP$}", "", ""), None)];
    let used = 2 * GAP + TIME.max(time.width());
    let title = match one_line(&entry.title) {
        title if title.trim().is_empty() => "(no title)".to_owned(),
        title => title.into_owned(),
    };
    let title = match entry.done {
        None => title,
        Some(true) => format!("[x] {title}"),
        Some(false) => format!("[ ] {title}"),
    };
    let is_narrow = room.is_some_and(|room| room < ROOMY);
    let marks = marks(part, entry, is_narrow);
    let number = match is_narrow {
        true => String::new(),
        false => format!("{:GAP$}#{}", "", entry.id),
    };
    let place = place(entry);
    let (title, place) = match room {
        None => (title, place),
        Some(room) => {
            let room = room
                .saturating_sub(used + marks.width() + number.width())
                .max(1);
            share(&title, &place, room)
        }
    };
    let style = (entry.mark == Mark::Cancelled).then_some(Style::Struck);
    pieces.push((title, style));
    pieces.push((marks, Some(Style::Dim)));
    if !place.is_empty() {
        pieces.push((format!("{:GAP$}{place}", ""), Some(Style::Dim)));
    }
    pieces.push((number, Some(Style::Dim)));
    pieces.retain(|(text, _)| !text.is_empty());
    pieces
}

/// Title and place as they fit into so many columns together: the place gives way first, down to
/// a third.
fn share(title: &str, place: &str, room: usize) -> (String, String) {
    let wanted = match place.width() {
        0 => 0,
        width => (width + GAP).min((room / 3).max(room.saturating_sub(title.width()))),
    };
    if wanted < LEAST_PLACE.min(place.width()) + GAP {
        return (cut(title, room).0, String::new());
    }
    let (title, used) = cut(title, room - wanted);
    let left = (room - used).saturating_sub(GAP);
    (title, cut(place, left).0)
}

fn time(part: Part) -> String {
    match part {
        Part::Day(..) => "all day".to_owned(),
        Part::Middle => "...-...".to_owned(),
        Part::From(start) => format!("{}-...", clock(start)),
        Part::Until(end) => format!("...-{}", clock(end)),
        Part::Whole(start, end) if start == end => clock(start),
        Part::Whole(start, end) => match end.date() > start.date() {
            true => format!("{}-24:00", clock(start)),
            false => format!("{}-{}", clock(start), clock(end)),
        },
    }
}

fn marks(part: Part, entry: &Entry, is_narrow: bool) -> String {
    let mut marks = String::new();
    if entry.recurs {
        marks.push_str(" ↻");
    }
    if let Part::Day(n, of) = part
        && of > 1
    {
        marks.push_str(&match is_narrow {
            true => format!(" ({n}/{of})"),
            false => format!(" (day {n} of {of})"),
        });
    }
    marks.push_str(match entry.mark {
        Mark::Sure => "",
        Mark::Tentative => " (tentative)",
        Mark::Cancelled => " (cancelled)",
    });
    marks
}

fn place(entry: &Entry) -> String {
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

    fn entry(title: &str, place: &str) -> Entry {
        Entry {
            id: 17,
            starts: at(0, 9),
            ends: at(0, 10),
            all_day: false,
            title: title.to_owned(),
            place: place.to_owned(),
            calendar: None,
            recurs: false,
            mark: Mark::Sure,
            done: None,
        }
    }

    fn text(part: Part, entry: &Entry, room: Option<usize>) -> String {
        line(part, entry, room)
            .into_iter()
            .map(|(text, _)| text)
            .collect()
    }

    #[test]
    fn lines() {
        let whole = Part::Whole(at(0, 9), at(0, 10));
        let mut one = entry("Jour fixe", "Room 4");
        let mut all = Vec::new();
        all.push(text(whole, &one, None));
        one.recurs = true;
        one.calendar = Some("Work".to_owned());
        all.push(text(Part::From(at(0, 9)), &one, None));
        one.mark = Mark::Tentative;
        all.push(text(Part::Until(at(0, 9)), &one, None));
        one.mark = Mark::Cancelled;
        all.push(text(Part::Middle, &one, None));
        all.push(text(Part::Day(2, 5), &one, Some(80)));
        all.push(text(Part::Day(2, 5), &one, Some(40)));
        one = entry("", "");
        one.done = Some(true);
        all.push(text(Part::Day(1, 1), &one, None));
        one = entry(
            "Sitzung über das Budget und alles andere",
            "Großer Saal im Rathaus",
        );
        all.push(text(Part::Whole(at(0, 9), at(1, 0)), &one, Some(40)));
        all.push(text(Part::Whole(at(0, 9), at(0, 9)), &one, Some(80)));
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
            one.recurs = recurs;
            one.mark = if tentative { Mark::Tentative } else { Mark::Sure };
            let line = text(Part::Whole(at(0, 9), at(0, 10)), &one, Some(room));
            // Less is no room for a time and the marks.
            prop_assert!(room < 36 || line.width() <= room, "{} in {room}", line.width());
        }
    }
}
