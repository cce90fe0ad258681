//! An appointment in its two forms, and the date book's contents.
//!
//! The old form is packed, as a date book of 2005 keeps it; numbers are big-endian:
//!
//! ```text
//! offset  size
//!      0     2  date: (year - 1904) << 9 | month << 5 | day
//!      2     2  begin: hour, minute
//!      4     2  end: hour, minute
//!      6     1  flags: 1 alarm, 2 repeat, 4 note
//!      7     1  0
//!      -     1  alarm: minutes in advance             (if flagged)
//!      -     2  repeat: kind (0..4), every how many   (if flagged)
//!      -     n  description, ended by a zero byte
//!      -     n  note, ended by a zero byte            (if flagged)
//! ```
//!
//! The new form is a text after iCalendar (RFC 5545): one property a line, lines ended by CR LF,
//! but never folded, and times floating.

use etui_testkit::rng::SplitMix64;

use crate::Error;

const ALARM: u8 = 1;
const REPEAT: u8 = 2;
const NOTE: u8 = 4;

const KINDS: [&str; 4] = ["DAILY", "WEEKLY", "MONTHLY", "YEARLY"];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Appointment {
    /// Year, month, day.
    date: (u16, u8, u8),
    /// Hour, minute.
    begin: (u8, u8),
    end: (u8, u8),
    /// Minutes in advance.
    alarm: Option<u8>,
    /// Kind by its place in [`KINDS`], and every how many.
    repeat: Option<(u8, u8)>,
    description: String,
    note: Option<String>,
}

impl Appointment {
    /// The order of the date book: by day and time.
    pub(super) fn start(&self) -> i64 {
        i64::from(packed_date(self.date)) << 16
            | i64::from(self.begin.0) << 8
            | i64::from(self.begin.1)
    }

    /// The old form.
    pub(super) fn pack(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(128);
        bytes.extend(packed_date(self.date).to_be_bytes());
        bytes.extend([self.begin.0, self.begin.1, self.end.0, self.end.1]);
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        bytes.push(
            flag(self.alarm.is_some(), ALARM)
                | flag(self.repeat.is_some(), REPEAT)
                | flag(self.note.is_some(), NOTE),
        );
        bytes.push(0);
        bytes.extend(self.alarm);
        if let Some((kind, every)) = self.repeat {
            bytes.extend([kind, every]);
        }
        for text in std::iter::once(&self.description).chain(&self.note) {
            bytes.extend(text.bytes().filter(|byte| *byte != 0));
            bytes.push(0);
        }
        bytes
    }

    /// From the old form.
    pub(super) fn unpack(bytes: &[u8]) -> Result<Self, Error> {
        let short = || Error::other("a packed appointment is cut off");
        let mut rest = bytes;
        let mut take = |count: usize| {
            let (taken, left) = rest.split_at_checked(count).ok_or_else(short)?;
            rest = left;
            Ok::<&[u8], Error>(taken)
        };
        let head: [u8; 8] = take(8)?.try_into().map_err(|_| short())?;
        let [d0, d1, h0, m0, h1, m1, flags, _] = head;
        let date = u16::from_be_bytes([d0, d1]);
        let alarm = match flags & ALARM {
            0 => None,
            _ => take(1)?.first().copied(),
        };
        let repeat = match flags & REPEAT {
            0 => None,
            _ => <[u8; 2]>::try_from(take(2)?).ok().map(<(u8, u8)>::from),
        };
        let mut texts = rest.split(|byte| *byte == 0);
        let mut text = || {
            let bytes = texts.next().ok_or_else(short)?;
            String::from_utf8(bytes.to_vec())
                .map_err(|_| Error::other("a packed appointment's text is not UTF-8"))
        };
        let description = text()?;
        let note = match flags & NOTE {
            0 => None,
            _ => Some(text()?),
        };
        Ok(Self {
            date: (
                1904 + (date >> 9),
                (date >> 5 & 0xf) as u8,
                (date & 0x1f) as u8,
            ),
            begin: (h0, m0),
            end: (h1, m1),
            alarm,
            repeat,
            description,
            note,
        })
    }

    /// The new form; `id` is the row that keeps it.
    pub(super) fn to_text(&self, id: i64) -> String {
        let (year, month, day) = self.date;
        let time = |(hour, minute): (u8, u8)| {
            format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}00")
        };
        let mut text = format!(
            "BEGIN:VEVENT\r\nUID:{id}@datebook\r\nDTSTART:{}\r\nDTEND:{}\r\nSUMMARY:{}\r\n",
            time(self.begin),
            time(self.end),
            escape_text(&self.description)
        );
        if let Some(note) = &self.note {
            text.push_str(&format!("DESCRIPTION:{}\r\n", escape_text(note)));
        }
        if let Some((kind, every)) = self.repeat {
            let kind = KINDS.get(usize::from(kind)).copied().unwrap_or("DAILY");
            text.push_str(&format!("RRULE:FREQ={kind};INTERVAL={every}\r\n"));
        }
        if let Some(minutes) = self.alarm {
            text.push_str(&format!(
                "BEGIN:VALARM\r\nACTION:AUDIO\r\nTRIGGER:-PT{minutes}M\r\nEND:VALARM\r\n"
            ));
        }
        text.push_str("END:VEVENT\r\n");
        text
    }

    /// From the new form.
    pub(super) fn from_text(text: &str) -> Result<Self, Error> {
        let mut made = Self::default();
        for line in text.lines() {
            let wrong = || Error::other(format!("an appointment's line cannot be read: {line:?}"));
            let (name, value) = line.split_once(':').ok_or_else(wrong)?;
            match name {
                "DTSTART" => {
                    made.date = date_of(value).ok_or_else(wrong)?;
                    made.begin = time_of(value).ok_or_else(wrong)?;
                }
                "DTEND" => made.end = time_of(value).ok_or_else(wrong)?,
                "SUMMARY" => made.description = etui_contentline::values::unescape_text(value),
                "DESCRIPTION" => made.note = Some(etui_contentline::values::unescape_text(value)),
                "RRULE" => made.repeat = Some(repeat_of(value).ok_or_else(wrong)?),
                "TRIGGER" => {
                    let minutes = value.strip_prefix("-PT").and_then(|v| v.strip_suffix('M'));
                    made.alarm = Some(minutes.and_then(|m| m.parse().ok()).ok_or_else(wrong)?);
                }
                _ => {}
            }
        }
        Ok(made)
    }

    /// Changed as a person would change it: the alarm five minutes earlier.
    pub(super) fn touch(&mut self) {
        self.alarm = Some((self.alarm.unwrap_or(0) + 5) % 60);
    }

    /// Number `index` of the date book; the sequence is in the book's order.
    pub(super) fn made(index: u64) -> Self {
        let mut rng = SplitMix64::stream(2005, index);
        // Ten appointments a day, months of 28 days, so that every date exists. The years that
        // the old form can hold end at record 120,000.
        let day = index / 10;
        let number = |value: u64| u8::try_from(value).unwrap_or(u8::MAX);
        let year = 1996 + day / 336;
        let hour = 8 + number(index % 10);
        let minute = number(u64::from(rng.below(4))) * 15;
        let (who, what) = (rng.pick(&WHO), rng.pick(&WHAT));
        Self {
            date: (
                u16::try_from(year).unwrap_or(1996),
                number((day / 28) % 12 + 1),
                number(day % 28 + 1),
            ),
            begin: (hour, minute),
            end: (hour + 1, minute),
            alarm: rng
                .chance(300)
                .then(|| number(u64::from(rng.below(12))) * 5),
            repeat: rng
                .chance(100)
                .then(|| (number(u64::from(rng.below(4))), 1)),
            description: format!("{what} {who}"),
            note: rng.chance(750).then(|| {
                let count = 10 + rng.below(10);
                let words: Vec<&str> = (0..count).map(|_| rng.pick(&NOTES)).collect();
                words.join(" ")
            }),
        }
    }
}

fn packed_date((year, month, day): (u16, u8, u8)) -> u16 {
    // Seven bits: 1904 to 2031. Later years fold back, as on the device.
    (year.saturating_sub(1904) & 0x7f) << 9 | u16::from(month & 0xf) << 5 | u16::from(day & 0x1f)
}

fn read_part<T: std::str::FromStr>(value: &str, from: usize, to: usize) -> Option<T> {
    value.get(from..to)?.parse().ok()
}

fn date_of(value: &str) -> Option<(u16, u8, u8)> {
    Some((
        read_part(value, 0, 4)?,
        read_part(value, 4, 6)?,
        read_part(value, 6, 8)?,
    ))
}

fn time_of(value: &str) -> Option<(u8, u8)> {
    Some((read_part(value, 9, 11)?, read_part(value, 11, 13)?))
}

fn repeat_of(value: &str) -> Option<(u8, u8)> {
    let (kind, every) = value.strip_prefix("FREQ=")?.split_once(";INTERVAL=")?;
    let kind = KINDS.iter().position(|name| *name == kind)?;
    Some((u8::try_from(kind).ok()?, every.parse().ok()?))
}

/// Escapes a text (RFC 5545 §3.3.11).
fn escape_text(text: &str) -> String {
    etui_contentline::values::escape_text(text, "\\,;", "\\n")
}

const WHO: [&str; 12] = [
    "with Dr. Hansen",
    "at the town hall, room 4",
    "with Maria; bring the keys",
    "at school",
    "with the tax adviser",
    "at the airport, gate B",
    "with the choir",
    "for Grandmother",
    "with the neighbours",
    "at the workshop",
    "in the big meeting room",
    "with the insurance people",
];

const WHAT: [&str; 12] = [
    "Dentist",
    "Meeting",
    "Lunch",
    "Telephone call",
    "Birthday party",
    "Rehearsal",
    "Weekly review",
    "Pick up the car",
    "Football practice",
    "Parents' evening",
    "Interview",
    "Deliver the plans",
];

const NOTES: [&str; 16] = [
    "bring", "the", "papers", "call", "before", "noon", "ask", "about", "old", "invoice,",
    "parking", "behind", "house", "and", "second", "floor",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_hold_all_of_an_appointment() {
        for index in 0..2_000 {
            let made = Appointment::made(index);
            assert_eq!(Appointment::unpack(&made.pack()).unwrap(), made);
            let text = made.to_text(index as i64);
            assert_eq!(Appointment::from_text(&text).unwrap(), made);
        }
    }

    #[test]
    fn awkward_texts_survive() {
        let mut made = Appointment::made(3);
        made.description = "a, b; c\\d\nnext: Größe".to_owned();
        made.note = Some(String::new());
        assert_eq!(Appointment::from_text(&made.to_text(9)).unwrap(), made);
        assert_eq!(Appointment::unpack(&made.pack()).unwrap(), made);
    }

    #[test]
    fn a_record_has_about_104_bytes_and_records_are_in_order() {
        let made: Vec<Appointment> = (0..6_800).map(Appointment::made).collect();
        let bytes: usize = made.iter().map(|a| a.pack().len()).sum();
        let mean = bytes as f64 / 6_800.0;
        assert!((99.0..109.0).contains(&mean), "{mean}");
        assert!(made.windows(2).all(|w| w[0].start() <= w[1].start()));
    }

    #[test]
    fn broken_records_are_errors() {
        let packed = Appointment::made(1).pack();
        for end in 0..8 {
            assert!(Appointment::unpack(&packed[..end]).is_err());
        }
        assert!(Appointment::unpack(&[0, 0, 0, 0, 0, 0, ALARM, 0]).is_err());
        assert!(Appointment::from_text("DTSTART:2005é131T0900").is_err());
        assert!(Appointment::from_text("no colon").is_err());
    }
}
