//! [`read_calendar`]: the events of a CSV file of Outlook or Google Calendar as iCalendar.
//!
//! ```text
//! Subject,Start Date,Start Time,End Date,End Time,All day event,Location
//! Dentist,5/9/2026,9:00:00 AM,5/9/2026,9:30:00 AM,False,Main St. 1
//! ```
//!
//! A table has no time zones: times are local (floating). It has no series: each time is an event.

use std::io::{self, Read};

use etui_contentline::edit::fold_line;
use etui_contentline::values::escape_text;
use jiff::civil::{Date, DateTime, Time};

use crate::charset::TableCharset;
use crate::date::{DayOrder, TableDate, shown_order};
use crate::draft::content_uid;
use crate::item::RejectedRecord;
use crate::table::{Row, RowReader, calendar_headings, column_key, split_row};

/// Lines before the header that are skipped at most.
const MAX_PREAMBLE: usize = 20;

/// Words for yes, in lower-case: of the programs' languages, and of spreadsheets.
const YES: &[&str] = &[
    "true",
    "yes",
    "1",
    "on",
    "wahr",
    "ein",
    "ja",
    "vrai",
    "oui",
    "verdadero",
    "sí",
    "si",
    "vero",
    "waar",
    "aan",
    "sant",
    "på",
    "prawda",
    "wł.",
    "tak",
    "verdadeiro",
    "sim",
];

/// The events of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CalendarTable {
    /// A calendar object (RFC 5545).
    pub text: Vec<u8>,
    /// Rows that are no events, each with the reason.
    pub rejected: Vec<RejectedRecord>,
    /// Values that may be wrong, or were not understood.
    pub warnings: Vec<RejectedRecord>,
    /// The charset, if the text was not UTF-8 or UTF-16.
    pub charset: Option<TableCharset>,
}

/// Returns true if a text begins with the columns of a calendar. The text may be cut off.
pub fn is_calendar_csv(head: &[u8]) -> bool {
    find_header(&mut RowReader::new(head, None)).is_ok_and(|header| header.is_some())
}

/// Reads the events of a CSV file.
///
/// # Errors
/// The input cannot be read.
pub fn read_calendar(
    reader: impl Read,
    charset: Option<TableCharset>,
) -> io::Result<CalendarTable> {
    let mut rows = RowReader::new(reader, charset.map(|charset| charset.0));
    let mut table = CalendarTable::default();
    let Some(header) = find_header(&mut rows)? else {
        return Ok(table);
    };
    let CalendarHeader {
        skipped,
        columns,
        is_english,
    } = header;
    rows.skip_lines(skipped + 1)?;
    rows.columns = Some(columns.len());
    let mut all = Vec::new();
    while let Some(row) = rows.next_row()? {
        all.push(row);
    }
    table.charset = rows.charset().map(TableCharset);
    let dates = all.iter().filter_map(|row| row.fields.as_ref().ok());
    let mut dates = dates.flat_map(|fields| {
        let columns = columns.iter().zip(fields);
        columns.filter(|(column, _)| column.english.ends_with(" date"))
    });
    let order = dates.find_map(|(_, date)| shown_order(date));
    let order = order.or((!is_english).then_some(DayOrder::DayFirst));
    table.text = b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//etui//CSV//EN\r\n".to_vec();
    for row in &all {
        table.push_row(row, &columns, order);
    }
    table.text.extend_from_slice(b"END:VCALENDAR\r\n");
    Ok(table)
}

/// A column and its English heading.
struct CalendarColumn {
    name: String,
    english: String,
}

/// The columns of a table.
struct CalendarHeader {
    /// The number of lines before them.
    skipped: usize,
    columns: Vec<CalendarColumn>,
    is_english: bool,
}

/// Finds the header and the delimiter.
fn find_header<R: Read>(rows: &mut RowReader<R>) -> io::Result<Option<CalendarHeader>> {
    for (index, line) in rows.peek(MAX_PREAMBLE)?.iter().enumerate() {
        for delimiter in [b',', b';', b'\t'] {
            let names = split_row(line.as_bytes(), delimiter);
            let keys: Vec<String> = names.iter().map(|name| column_key(name)).collect();
            if let Some((english, is_english)) = calendar_headings(keys.iter().map(String::as_str))
            {
                rows.delimiter = delimiter;
                let columns = names.iter().zip(english);
                let columns = columns.map(|(name, english)| CalendarColumn {
                    name: name.trim().to_owned(),
                    english: english.to_owned(),
                });
                return Ok(Some(CalendarHeader {
                    skipped: index,
                    columns: columns.collect(),
                    is_english,
                }));
            }
        }
    }
    Ok(None)
}

impl CalendarTable {
    fn push_row(&mut self, row: &Row, columns: &[CalendarColumn], order: Option<DayOrder>) {
        let note = |reason: String| RejectedRecord {
            line: row.line,
            last_line: row.last_line,
            reason,
            excerpt: row.excerpt.clone(),
        };
        let fields = match &row.fields {
            Ok(fields) => fields,
            Err(error) => return self.rejected.push(note(error.to_string())),
        };
        if fields.iter().all(|field| field.trim().is_empty()) {
            return;
        }
        let mut event = EventRow {
            columns,
            fields,
            order,
            warnings: Vec::new(),
        };
        match event.component() {
            Ok(lines) => {
                for line in lines {
                    self.text.extend_from_slice(&fold_line(&line, b"\r\n"));
                }
                let warnings = event.warnings.into_iter().map(note);
                self.warnings.extend(warnings);
            }
            Err(reason) => self.rejected.push(note(reason)),
        }
    }
}

/// A row of the table.
struct EventRow<'r> {
    columns: &'r [CalendarColumn],
    fields: &'r [String],
    order: Option<DayOrder>,
    warnings: Vec<String>,
}

impl<'r> EventRow<'r> {
    /// Returns the field of a column, by its English heading; an empty text without one.
    fn field(&self, english: &str) -> &'r str {
        let mut columns = self.columns.iter().zip(self.fields);
        let found = columns.find(|(column, _)| column.english == english);
        found.map_or("", |(_, field)| field.trim())
    }

    fn is_yes(&self, english: &str) -> bool {
        YES.contains(&self.field(english).to_lowercase().as_str())
    }

    /// Returns a date; `None` if there is none.
    fn date(&mut self, english: &str) -> Result<Option<Date>, String> {
        let text = self.field(english);
        if text.is_empty() {
            return Ok(None);
        }
        let wrong = || {
            format!(
                "the {english} {text} is no day; write it like 2026-12-10, and import the file again"
            )
        };
        let order = self.order.unwrap_or(DayOrder::MonthFirst);
        let Some(TableDate::Date { date, is_ambiguous }) = TableDate::parse(text, order) else {
            return Err(wrong());
        };
        let number = |part: Option<u8>| part.and_then(|part| i8::try_from(part).ok());
        let year = date.year.and_then(|year| i16::try_from(year).ok());
        let (Some(year), Some(month), Some(day)) = (year, number(date.month), number(date.day))
        else {
            return Err(wrong());
        };
        let date = Date::new(year, month, day).map_err(|_| wrong())?;
        if is_ambiguous && self.order.is_none() {
            self.warnings.push(format!(
                "{english}: day and month of {text} may be the other way round; it was read as {date}"
            ));
        }
        Ok(Some(date))
    }

    fn time(&self, english: &str) -> Result<Option<Time>, String> {
        let text = self.field(english);
        match text {
            "" => Ok(None),
            text => parse_time(text)
                .map(Some)
                .ok_or_else(|| format!("the {english} {text} is no time; write it like 14:30")),
        }
    }

    /// Returns the lines of the event.
    fn component(&mut self) -> Result<Vec<String>, String> {
        let Some(start) = self.date("start date")? else {
            return Err("the row has no start date".to_owned());
        };
        let start_time = self.time("start time")?;
        let end = self.date("end date")?.unwrap_or(start);
        let end_time = self.time("end time")?;
        let midnight = Time::midnight();
        let is_day = self.is_yes("all day event") || start_time.is_none() && end_time.is_none();
        let uid = content_uid(self.fields.iter().map(|field| field.trim()));
        let mut lines = vec!["BEGIN:VEVENT".to_owned(), format!("UID:{uid}")];
        lines.push("DTSTAMP:19700101T000000Z".to_owned());
        let begin = if is_day {
            // Outlook writes the midnight after the last day, Google the last day itself.
            let is_exclusive = end > start && end_time == Some(midnight);
            let after = match is_exclusive {
                true => end,
                false => end.tomorrow().map_err(|e| e.to_string())?,
            };
            let after = match after > start {
                true => after,
                false => return Err(format!("the event ends on {end}, before it begins")),
            };
            lines.push(format!("DTSTART;VALUE=DATE:{}", start.strftime("%Y%m%d")));
            lines.push(format!("DTEND;VALUE=DATE:{}", after.strftime("%Y%m%d")));
            start.to_datetime(midnight)
        } else {
            let begin = start.to_datetime(start_time.unwrap_or(midnight));
            let finish = end_time.map(|time| end.to_datetime(time));
            if finish.is_some_and(|finish| finish < begin) {
                return Err("the event ends before it begins".to_owned());
            }
            let format = |time: DateTime| time.strftime("%Y%m%dT%H%M%S").to_string();
            lines.push(format!("DTSTART:{}", format(begin)));
            lines.extend(finish.map(|finish| format!("DTEND:{}", format(finish))));
            begin
        };
        self.write_texts(&mut lines);
        self.write_attendees(&mut lines);
        if self.is_yes("reminder on/off") {
            let day = self.date("reminder date")?.unwrap_or(start);
            if let Some(time) = self.time("reminder time")? {
                let before = begin.duration_since(day.to_datetime(time)).as_mins();
                let sign = if before < 0 { "" } else { "-" };
                let trigger = format!("TRIGGER:{sign}PT{}M", before.unsigned_abs());
                let alarm = ["BEGIN:VALARM", "ACTION:DISPLAY", "DESCRIPTION:Reminder"];
                lines.extend(alarm.map(str::to_owned));
                lines.extend([trigger, "END:VALARM".to_owned()]);
            }
        }
        lines.push("END:VEVENT".to_owned());
        Ok(lines)
    }

    fn write_texts(&self, lines: &mut Vec<String>) {
        let escape = |text: &str| {
            let text = text.replace("\r\n", "\n").replace('\r', "\n");
            let kept = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
            escape_text(
                &text.chars().filter(kept).collect::<String>(),
                "\\,;",
                "\\n",
            )
        };
        for (column, field) in self.columns.iter().zip(self.fields) {
            let field = field.trim();
            let lower = field.to_lowercase();
            if field.is_empty() {
                continue;
            }
            match column.english.as_str() {
                "subject" => lines.push(format!("SUMMARY:{}", escape(field))),
                "description" => lines.push(format!("DESCRIPTION:{}", escape(field))),
                "location" => lines.push(format!("LOCATION:{}", escape(field))),
                "categories" => {
                    let names = field.split([';', ',']).map(str::trim);
                    let names = names.filter(|name| !name.is_empty()).map(escape);
                    let names: Vec<String> = names.map(|name| name.to_string()).collect();
                    lines.push(format!("CATEGORIES:{}", names.join(",")));
                }
                "private" if YES.contains(&lower.as_str()) => {
                    lines.push("CLASS:PRIVATE".to_owned());
                }
                "priority" => match lower.as_str() {
                    "high" | "hoch" | "haute" | "alta" | "hoog" | "hög" | "wysoki" | "wysoka" => {
                        lines.push("PRIORITY:1".to_owned());
                    }
                    "low" | "niedrig" | "basse" | "faible" | "baja" | "bassa" | "laag" | "låg"
                    | "niski" | "niska" | "baixa" => lines.push("PRIORITY:9".to_owned()),
                    _ => {}
                },
                // Outlook writes the number of Free.
                "show time as" if matches!(lower.as_str(), "3" | "free" | "frei" | "libre") => {
                    lines.push("TRANSP:TRANSPARENT".to_owned());
                }
                "show time as" | "private" | "sensitivity" | "all day event" => {}
                english
                    if english.ends_with(" date")
                        || english.ends_with(" time")
                        || english.starts_with("reminder") => {}
                "required attendees" | "optional attendees" | "meeting organizer"
                    if field.contains('@') => {}
                _ => lines.push(format!(
                    "COMMENT:{}",
                    escape(&format!("{}: {field}", column.name))
                )),
            }
        }
    }

    /// Writes people with e-mail addresses; names alone are comments.
    fn write_attendees(&self, lines: &mut Vec<String>) {
        for (english, property) in [
            ("meeting organizer", "ORGANIZER"),
            ("required attendees", "ATTENDEE;ROLE=REQ-PARTICIPANT"),
            ("optional attendees", "ATTENDEE;ROLE=OPT-PARTICIPANT"),
        ] {
            let field = self.field(english);
            let people = field.split([';', ',', ' ', '<', '>']);
            for address in people.filter(|word| word.contains('@')) {
                let address: String = address.chars().filter(|c| !c.is_control()).collect();
                lines.push(format!("{property}:mailto:{address}"));
            }
        }
    }
}

/// Parses `9:00:00 AM`, `14:30`, `14.30`.
fn parse_time(text: &str) -> Option<Time> {
    let lower = text
        .to_lowercase()
        .replace(['.', '\u{a0}', '\u{202f}'], " ");
    let is_afternoon = lower.contains('p') && lower.contains('m');
    let is_morning = lower.contains('a') && lower.contains('m');
    let numbers = lower.split(|c: char| !c.is_ascii_digit());
    let numbers: Option<Vec<i8>> = numbers
        .filter(|number| !number.is_empty())
        .map(|number| number.parse().ok())
        .collect();
    let numbers = numbers?;
    let is_other = |c: char| c.is_alphabetic() && !matches!(c, 'a' | 'p' | 'm' | 'h');
    if lower.contains(is_other) {
        return None;
    }
    let (hour, minute, second) = match *numbers.as_slice() {
        [hour] if is_morning || is_afternoon => (hour, 0, 0),
        [hour, minute] => (hour, minute, 0),
        [hour, minute, second] => (hour, minute, second),
        _ => return None,
    };
    let hour = match hour {
        12 if is_morning => 0,
        1..=11 if is_afternoon => hour + 12,
        13.. if is_morning => return None,
        hour => hour,
    };
    Time::new(hour, minute, second, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_the_programs() {
        for (text, expected) in [
            ("9:00:00 AM", "09:00:00"),
            ("12:00:00 AM", "00:00:00"),
            ("12:30 PM", "12:30:00"),
            ("1:05 p.m.", "13:05:00"),
            ("14:30", "14:30:00"),
            ("14.30", "14:30:00"),
            ("9 AM", "09:00:00"),
        ] {
            let found = parse_time(text).map(|time| time.to_string());
            assert_eq!(found.as_deref(), Some(expected), "{text}");
        }
        for text in ["", "soon", "25:00", "9", "14:30 CET", "1:2:3:4", "15:00 AM"] {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }
}
