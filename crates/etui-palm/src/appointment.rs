//! [`Appointment`]: a record of DatebookDB.
//!
//! ```text
//!  0  u8 start hour, u8 minute (255, 255: no time)     2  u8 end hour, u8 minute
//!  4  u16 date    6  u8 flags    7  u8 pad
//!  then, each if its flag is set:
//!  0x40 alarm        u8 advance, u8 unit (0 minutes, 1 hours, 2 days)
//!  0x20 repeat       u8 type (1 daily, 2 weekly, 3 monthly by day, 4 monthly by date, 5 yearly),
//!                    u8 pad, u16 end date (0xFFFF: for ever), u8 every, u8 on, u8 week start, u8 pad
//!  0x08 exceptions   u16 count, count x u16 date
//!  0x04 description  string
//!  0x10 note         string
//! ```
//!
//! `on` is, for weekly, a bit per weekday, Sunday bit 0; for monthly by day, week x 7 + weekday,
//! 28 to 34 for the last week.

use etui_ical::time::Date;

use crate::bytes::ByteReader;
use crate::code_page::CodePage;
use crate::date::{NO_DATE, TimeOfDay, decode_date, encode_date};
use crate::error::RecordError;
use crate::text::{Decoded, Encoded, TextReader, TextWriter};

const HAS_ALARM: u8 = 0x40;
const HAS_REPEAT: u8 = 0x20;
const HAS_NOTE: u8 = 0x10;
const HAS_EXCEPTIONS: u8 = 0x08;
const HAS_DESCRIPTION: u8 = 0x04;

/// An appointment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appointment {
    /// The day, of the first occurrence if it repeats.
    pub date: Date,
    /// Start and end on that day; `None` for the whole day.
    pub times: Option<(TimeOfDay, TimeOfDay)>,
    /// The alarm.
    pub alarm: Option<AlarmAdvance>,
    /// The repetition.
    pub repeat: Option<Repeat>,
    /// The days on which a repeating appointment does not take place.
    pub exceptions: Vec<Date>,
    /// The title; empty for none.
    pub description: String,
    /// The note; empty for none.
    pub note: String,
}

/// The time of an alarm before the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlarmAdvance {
    /// Number of units.
    pub amount: u8,
    /// The unit.
    pub unit: AlarmUnit,
}

/// The unit of an alarm's advance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlarmUnit {
    /// Minutes.
    Minutes,
    /// Hours.
    Hours,
    /// Days.
    Days,
}

/// The repetition of an appointment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeat {
    /// The period.
    pub period: RepeatPeriod,
    /// The number of periods from one occurrence to the next, 1 or more.
    pub every: u8,
    /// The last day; `None` for ever.
    pub end: Option<Date>,
    /// The first weekday of a week, 0 for Sunday.
    pub week_start: u8,
}

/// The period of a repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepeatPeriod {
    /// Days.
    Daily,
    /// Weeks, on these weekdays: a bit for each, Sunday bit 0.
    Weekly(u8),
    /// Months, on a weekday of a week.
    MonthlyByDay {
        /// The week, 0 to 3; 4 for the last one.
        week: u8,
        /// The weekday, 0 for Sunday.
        weekday: u8,
    },
    /// Months, on the day of the first occurrence.
    MonthlyByDate,
    /// Years, on the date of the first occurrence.
    Yearly,
}

/// Returns the number of the weekday of a date, 0 for Sunday.
pub(crate) fn weekday_number(date: Date) -> u8 {
    (date.weekday().index() + 1) % 7
}

impl Appointment {
    /// Returns an appointment without times, alarm, repetition and texts.
    pub fn on(date: Date) -> Self {
        Self {
            date,
            times: None,
            alarm: None,
            repeat: None,
            exceptions: Vec::new(),
            description: String::new(),
            note: String::new(),
        }
    }

    /// Parses a record.
    ///
    /// # Errors
    /// [`RecordError`]: no date, a wrong time, or cut off before the texts.
    pub fn parse(data: &[u8], page: CodePage) -> Result<Decoded<Self>, RecordError> {
        let mut bytes = ByteReader::new(data);
        let truncated = |part| RecordError::Truncated { part };
        let [start_hour, start_minute, end_hour, end_minute] =
            bytes.array().ok_or(truncated("its times"))?;
        let date = bytes.u16().ok_or(truncated("its date"))?;
        let flags = bytes.u8().ok_or(truncated("its flags"))?;
        let _pad = bytes.u8().ok_or(truncated("its flags"))?;
        let mut notes = Vec::new();
        let date = decode_date(date)?.ok_or(RecordError::BadDate(NO_DATE))?;
        let mut appointment = Self::on(date);
        if let Some(start) = TimeOfDay::decode(start_hour, start_minute)? {
            let end = TimeOfDay::decode(end_hour, end_minute)?.unwrap_or(start);
            if end < start {
                notes.push(format!(
                    "it ends at {end_hour}:{end_minute:02}, before it starts; it has no length now"
                ));
            }
            appointment.times = Some((start, end.max(start)));
        }
        if flags & HAS_ALARM != 0 {
            let [amount, unit] = bytes.array().ok_or(truncated("its alarm"))?;
            let unit = match unit {
                0 => Some(AlarmUnit::Minutes),
                1 => Some(AlarmUnit::Hours),
                2 => Some(AlarmUnit::Days),
                _ => None,
            };
            match unit {
                Some(unit) => appointment.alarm = Some(AlarmAdvance { amount, unit }),
                None => notes.push("its alarm has an unknown unit and was left out".to_owned()),
            }
        }
        if flags & HAS_REPEAT != 0 {
            let repeat = bytes.array().ok_or(truncated("its repetition"))?;
            appointment.repeat = parse_repeat(repeat, date, &mut notes);
        }
        if flags & HAS_EXCEPTIONS != 0 {
            let count = bytes.u16().ok_or(truncated("its exceptions"))?;
            for _ in 0..count {
                let exception = bytes.u16().ok_or(truncated("the end of its exceptions"))?;
                match decode_date(exception) {
                    Ok(Some(date)) => appointment.exceptions.push(date),
                    _ => notes.push(format!("its exception {exception:#06x} is no date")),
                }
            }
        }
        let mut texts = TextReader::new(page);
        if flags & HAS_DESCRIPTION != 0 {
            appointment.description = texts.next(&mut bytes);
        }
        if flags & HAS_NOTE != 0 {
            appointment.note = texts.next(&mut bytes);
        }
        texts.finish(&mut notes);
        Ok(Decoded {
            record: appointment,
            notes,
        })
    }

    /// Returns the bytes of the record.
    ///
    /// # Errors
    /// [`RecordError::NotHeld`] if its date is not in the years 1904 to 2031.
    pub fn encode(&self, page: CodePage) -> Result<Encoded, RecordError> {
        let mut notes = Vec::new();
        let date = encode_date(self.date).ok_or_else(|| {
            let (year, ..) = self.date.ymd();
            RecordError::NotHeld(format!("a Palm has the years 1904 to 2031, not {year}"))
        })?;
        let mut data = match self.times {
            Some((start, end)) => vec![start.hour, start.minute, end.hour, end.minute],
            None => vec![0xFF; 4],
        };
        data.extend(date.to_be_bytes());
        let flag = |is_set: bool, flag| if is_set { flag } else { 0 };
        data.push(
            flag(self.alarm.is_some(), HAS_ALARM)
                | flag(self.repeat.is_some(), HAS_REPEAT)
                | flag(!self.exceptions.is_empty(), HAS_EXCEPTIONS)
                | flag(!self.description.is_empty(), HAS_DESCRIPTION)
                | flag(!self.note.is_empty(), HAS_NOTE),
        );
        data.push(0);
        if let Some(alarm) = self.alarm {
            data.extend([alarm.amount, alarm.unit as u8]);
        }
        if let Some(repeat) = &self.repeat {
            let end = match repeat.end.map(encode_date) {
                None => NO_DATE,
                Some(Some(end)) => end,
                Some(None) => {
                    notes.push("it repeats until after 2031: written as for ever".to_owned());
                    NO_DATE
                }
            };
            let (kind, on) = match repeat.period {
                RepeatPeriod::Daily => (1, 0),
                RepeatPeriod::Weekly(days) => (2, days),
                RepeatPeriod::MonthlyByDay { week, weekday } => (3, week * 7 + weekday),
                RepeatPeriod::MonthlyByDate => (4, 0),
                RepeatPeriod::Yearly => (5, 0),
            };
            data.extend([kind, 0]);
            data.extend(end.to_be_bytes());
            data.extend([repeat.every, on, repeat.week_start, 0]);
        }
        if !self.exceptions.is_empty() {
            // Each is a date of the series, which ends in 2031.
            let days = self.exceptions.iter().filter_map(|day| encode_date(*day));
            let days: Vec<u16> = days.take(u16::MAX.into()).collect();
            data.extend(u16::try_from(days.len()).unwrap_or(u16::MAX).to_be_bytes());
            data.extend(days.iter().flat_map(|day| day.to_be_bytes()));
        }
        if data.len() > crate::MAX_RECORD / 2 {
            let problem = "it has more exceptions than a record holds";
            return Err(RecordError::NotHeld(problem.to_owned()));
        }
        let mut texts = TextWriter::new(page, data);
        if !self.description.is_empty() {
            texts.push("description", &self.description, 1);
        }
        if !self.note.is_empty() {
            texts.push("note", &self.note, 0);
        }
        let mut encoded = texts.finish();
        encoded.notes.splice(0..0, notes);
        Ok(encoded)
    }
}

/// Parses a repetition; one that is not understood is left out, with a note.
fn parse_repeat(bytes: [u8; 8], date: Date, notes: &mut Vec<String>) -> Option<Repeat> {
    let [kind, _, end_high, end_low, every, on, week_start, _] = bytes;
    let period = match (kind, on) {
        (1, _) => RepeatPeriod::Daily,
        // A week without days has that of the first occurrence.
        (2, on) if on & 0x7F == 0 => RepeatPeriod::Weekly(1 << weekday_number(date)),
        (2, on) => RepeatPeriod::Weekly(on & 0x7F),
        (3, on @ 0..35) => RepeatPeriod::MonthlyByDay {
            week: on / 7,
            weekday: on % 7,
        },
        (4, _) => RepeatPeriod::MonthlyByDate,
        (5, _) => RepeatPeriod::Yearly,
        _ => {
            notes.push(format!(
                "its repetition ({kind}, {on}) is not known and was left out"
            ));
            return None;
        }
    };
    let end = u16::from_be_bytes([end_high, end_low]);
    let end = match decode_date(end) {
        Ok(end) => end,
        Err(error) => {
            notes.push(format!(
                "the end of its repetition, {error}; it repeats for ever"
            ));
            None
        }
    };
    if every == 0 {
        notes.push("it repeats every 0 periods; read as 1".to_owned());
    }
    if week_start > 6 {
        notes.push(format!(
            "its weeks begin on day {week_start}; read as Sunday"
        ));
    }
    Some(Repeat {
        period,
        every: every.max(1),
        end,
        week_start: if week_start > 6 { 0 } else { week_start },
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn sample() -> Appointment {
        let time = |hour, minute| TimeOfDay { hour, minute };
        Appointment {
            times: Some((time(9, 30), time(10, 0))),
            alarm: Some(AlarmAdvance {
                amount: 5,
                unit: AlarmUnit::Hours,
            }),
            repeat: Some(Repeat {
                period: RepeatPeriod::MonthlyByDay {
                    week: 4,
                    weekday: 2,
                },
                every: 2,
                end: Date::new(2004, 12, 31),
                week_start: 1,
            }),
            exceptions: vec![Date::new(2003, 5, 27).unwrap()],
            description: "Jour fixe".to_owned(),
            note: "Room 4".to_owned(),
            ..Appointment::on(Date::new(2003, 3, 25).unwrap())
        }
    }

    #[test]
    fn the_layout_is_that_of_the_device() {
        let encoded = sample().encode(CodePage::Windows1252).unwrap();
        assert_eq!(encoded.notes, [""; 0]);
        let mut expected = vec![9, 30, 10, 0];
        expected.extend([0xC6, 0x79]); // 99 years, month 3, day 25
        expected.extend([0x7C, 0]); // all parts
        expected.extend([5, 1]);
        expected.extend([3, 0, 0xC9, 0x9F, 2, 30, 1, 0]); // the last Tuesday
        expected.extend([0, 1, 0xC6, 0xBB]);
        expected.extend(b"Jour fixe\0Room 4\0");
        assert_eq!(encoded.data, expected);
        let decoded = Appointment::parse(&encoded.data, CodePage::Windows1252).unwrap();
        assert_eq!((decoded.record, decoded.notes), (sample(), vec![]));
    }

    #[test]
    fn wrong_parts_are_left_out_and_named() {
        let mut data = sample().encode(CodePage::Windows1252).unwrap().data;
        data[3] = 59; // ends at 10:59
        data[2] = 8; // ends at 8:59
        data[9] = 7; // unit of the alarm
        data[10] = 9; // type of the repetition
        data[20] = 0; // the exception
        data[21] = 0;
        let decoded = Appointment::parse(&data, CodePage::Windows1252).unwrap();
        assert_eq!(
            decoded.record.times.unwrap().1,
            decoded.record.times.unwrap().0
        );
        assert_eq!(decoded.record.alarm, None);
        assert_eq!(decoded.record.repeat, None);
        assert_eq!(decoded.record.description, "Jour fixe");
        assert_eq!(
            decoded.notes,
            [
                "it ends at 8:59, before it starts; it has no length now",
                "its alarm has an unknown unit and was left out",
                "its repetition (9, 30) is not known and was left out",
                "its exception 0x0000 is no date",
            ]
        );
    }

    #[test]
    fn a_record_without_a_date_is_refused() {
        let data = sample().encode(CodePage::Windows1252).unwrap().data;
        for length in 0..22 {
            assert!(Appointment::parse(&data[..length], CodePage::Windows1252).is_err());
        }
        let mut none = data;
        none[4..6].fill(0xFF);
        let error = Appointment::parse(&none, CodePage::Windows1252).unwrap_err();
        assert_eq!(error, RecordError::BadDate(0xFFFF));
    }
}
