//! The text of components: times, folding, and the start and end of an object.

use super::Clock;
use crate::text::fold_line;

/// The start of an object, with the zones that entries use.
pub(super) const HEAD: &str = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\n\
PRODID:-//etui//testkit//EN\r\nCALSCALE:GREGORIAN\r\nX-WR-CALNAME:Generated\r\n\
BEGIN:VTIMEZONE\r\nTZID:Europe/Berlin\r\nX-LIC-LOCATION:Europe/Berlin\r\n\
BEGIN:DAYLIGHT\r\nTZOFFSETFROM:+0100\r\nTZOFFSETTO:+0200\r\nTZNAME:CEST\r\n\
DTSTART:19700329T020000\r\nRRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU\r\nEND:DAYLIGHT\r\n\
BEGIN:STANDARD\r\nTZOFFSETFROM:+0200\r\nTZOFFSETTO:+0100\r\nTZNAME:CET\r\n\
DTSTART:19701025T030000\r\nRRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU\r\nEND:STANDARD\r\n\
END:VTIMEZONE\r\n\
BEGIN:VTIMEZONE\r\nTZID:America/New_York\r\nX-LIC-LOCATION:America/New_York\r\n\
BEGIN:DAYLIGHT\r\nTZOFFSETFROM:-0500\r\nTZOFFSETTO:-0400\r\nTZNAME:EDT\r\n\
DTSTART:19700308T020000\r\nRRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=2SU\r\nEND:DAYLIGHT\r\n\
BEGIN:STANDARD\r\nTZOFFSETFROM:-0400\r\nTZOFFSETTO:-0500\r\nTZNAME:EST\r\n\
DTSTART:19701101T020000\r\nRRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=1SU\r\nEND:STANDARD\r\n\
END:VTIMEZONE\r\n";

/// The end of an object.
pub(super) const TAIL: &str = "END:VCALENDAR\r\n";

/// Year, month and day of a day counted from 1970-01-01 (the Gregorian calendar's cycle of 400
/// years, the year begun in March).
pub(super) fn ymd(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (cycle, of_cycle) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_cycle - of_cycle / 1_460 + of_cycle / 36_524 - of_cycle / 146_096) / 365;
    let of_year = of_cycle - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (carry, month) = if month < 10 {
        (0, month + 3)
    } else {
        (1, month - 9)
    };
    (cycle * 400 + year + carry, month, day)
}

/// `20260131`.
pub(super) fn date(day: i64) -> String {
    let (y, m, d) = ymd(day);
    format!("{y:04}{m:02}{d:02}")
}

/// A local time: a day, and minutes from its midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LocalDateTime {
    pub(super) day: i64,
    pub(super) minute: i64,
}

impl LocalDateTime {
    pub(super) fn plus(self, days: i64, minutes: i64) -> Self {
        let minute = self.minute + minutes;
        Self {
            day: self.day + days + minute.div_euclid(1_440),
            minute: minute.rem_euclid(1_440),
        }
    }

    fn digits(self) -> String {
        let (hour, minute) = (self.minute / 60, self.minute % 60);
        format!("{}T{hour:02}{minute:02}00", date(self.day))
    }
}

/// A time as a property writes it: parameters, colon and value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryTime {
    Day(i64),
    At(LocalDateTime, Clock),
}

impl EntryTime {
    pub(super) fn plus(self, days: i64, minutes: i64) -> Self {
        match self {
            Self::Day(day) => Self::Day(day + days),
            Self::At(wall, clock) => Self::At(wall.plus(days, minutes), clock),
        }
    }

    pub(super) fn written(self) -> String {
        match self {
            Self::Day(day) => format!(";VALUE=DATE:{}", date(day)),
            Self::At(wall, Clock::Utc) => format!(":{}Z", wall.digits()),
            Self::At(wall, clock) => match clock.tzid() {
                Some(tzid) => format!(";TZID={tzid}:{}", wall.digits()),
                None => format!(":{}", wall.digits()),
            },
        }
    }

    /// Writes the time for `UNTIL`: in UTC if there is a zone (RFC 5545 §3.3.10).
    pub(super) fn until(self) -> String {
        match self {
            Self::Day(day) => date(day),
            Self::At(wall, Clock::Floating) => wall.digits(),
            Self::At(wall, _) => format!("{}Z", wall.digits()),
        }
    }
}

/// Lines of components.
#[derive(Debug, Default)]
pub(super) struct ContentLines {
    pub(super) out: String,
}

impl ContentLines {
    /// Appends a content line, folded.
    pub(super) fn line(&mut self, line: &str) {
        fold_line(line, &mut self.out);
        self.out.push_str("\r\n");
    }

    /// Appends a property with a text value.
    pub(super) fn text(&mut self, name: &str, text: &str) {
        let mut line = format!("{name}:");
        for c in text.chars() {
            match c {
                '¶' => line.push_str("\\n"),
                '\\' | ';' | ',' => line.extend(['\\', c]),
                c => line.push(c),
            }
        }
        self.line(&line);
    }

    pub(super) fn alarm(&mut self, trigger: &str) {
        self.line("BEGIN:VALARM");
        self.line("ACTION:DISPLAY");
        self.line("DESCRIPTION:Reminder");
        self.line(&format!("TRIGGER:{trigger}"));
        self.line("END:VALARM");
    }
}
