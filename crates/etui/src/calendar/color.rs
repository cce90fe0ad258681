//! [`Color`]: the colour in which a calendar is shown.
//!
//! The colour belongs to the calendar, not to its entries. It is in `meta`, under `color.ID` with the
//! calendar's id, as `#rrggbb`.

use std::fmt;
use std::str::FromStr;

use etui_contentline::edit::own_lines;
use etui_contentline::values::property_value;
use rusqlite::Connection;

use super::{Calendar, CalendarObject};
use crate::db::{TransactionSize, metadata};
use crate::error::Result;
use crate::record::steps::{self, CollectionChange};
use crate::record::{ReadState, Reader, RecordKind as _, collection_table};

/// A colour, 8 bits each of red, green and blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Color {
    /// Red.
    pub red: u8,
    /// Green.
    pub green: u8,
    /// Blue.
    pub blue: u8,
}

/// A text that is no colour.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a colour; use a name of CSS such as teal, or #008080")]
pub struct InvalidColor;

impl Color {
    /// Returns the colour in the properties of a calendar object: `X-APPLE-CALENDAR-COLOR`, else
    /// `COLOR` (RFC 7986 section 5.9). `head` is UTF-8.
    ///
    /// ```
    /// use etui::calendar::Color;
    ///
    /// let head = b"BEGIN:VCALENDAR\r\nCOLOR:teal\r\n";
    /// assert_eq!(Color::in_object(head), "#008080".parse().ok());
    /// ```
    #[must_use]
    pub fn in_object(head: &[u8]) -> Option<Self> {
        let find = |name| {
            let mut lines = own_lines(head, None).filter(|line| line.name_is(name));
            lines.find_map(|line| property_value(&line).trim().parse().ok())
        };
        find("X-APPLE-CALENDAR-COLOR").or_else(|| find("COLOR"))
    }
}

/// Parses a name or a notation of CSS. Transparency is ignored.
impl FromStr for Color {
    type Err = InvalidColor;

    fn from_str(text: &str) -> std::result::Result<Self, InvalidColor> {
        #[cfg(feature = "css-colors")]
        let parsed = csscolorparser::parse(text)
            .ok()
            .map(|color| color.to_rgba8());
        #[cfg(not(feature = "css-colors"))]
        let parsed = plain_color(text);
        let [red, green, blue, _] = parsed.ok_or(InvalidColor)?;
        Ok(Self { red, green, blue })
    }
}

/// Parses `#rrggbb`, or `#rrggbbaa` as Apple's programs write it.
#[cfg(not(feature = "css-colors"))]
fn plain_color(text: &str) -> Option<[u8; 4]> {
    let digits = text.trim().strip_prefix('#')?;
    let is_hex = matches!(digits.len(), 6 | 8) && digits.bytes().all(|b| b.is_ascii_hexdigit());
    let number = u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
    let with_alpha = if digits.len() == 6 {
        number << 8
    } else {
        number
    };
    Some(with_alpha.to_be_bytes())
}

/// Writes `#rrggbb`.
impl fmt::Display for Color {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { red, green, blue } = self;
        write!(f, "#{red:02x}{green:02x}{blue:02x}")
    }
}

impl Calendar {
    /// Sets the colour, or clears it. A removed calendar keeps its colour.
    ///
    /// # Errors
    /// [`Error::NoCollection`](crate::Error::NoCollection) if the calendar was removed; any error of
    /// writing.
    pub fn set_color(&self, color: Option<Color>) -> Result<()> {
        self.db().write_of(TransactionSize::Small, |conn| {
            collection_table::expect_exists(conn, CalendarObject::KIND, self.collection_ref())?;
            let before = read_color(conn, self.number())?;
            let after = color.map(|color| color.to_string());
            // An unchanged colour is no step that could be undone.
            if before != after {
                let (before, after) = (before.as_deref(), after.as_deref());
                let change = CollectionChange::Colored;
                steps::record_collection(conn, self.number(), change, before, after)?;
            }
            write_color(conn, self.number(), color)
        })
    }
}

/// Returns the stored colour of a calendar.
pub(crate) fn read_color(conn: &Connection, calendar: i64) -> Result<Option<String>> {
    metadata::get_value(conn, &key_of(calendar))
}

/// Sets the colour of a calendar, or clears it.
pub(crate) fn write_color(conn: &Connection, calendar: i64, color: Option<Color>) -> Result<()> {
    let key = key_of(calendar);
    match color {
        Some(color) => metadata::set(conn, &key, color.to_string()),
        None => metadata::remove(conn, &key),
    }
}

impl Reader<CalendarObject> {
    /// Returns the colour of the calendar; `None` if it has none.
    ///
    /// # Errors
    /// Any error of reading.
    pub fn color(&self) -> Result<Option<Color>> {
        self.read(|reader| reader.color())
    }
}

impl ReadState<'_, CalendarObject> {
    /// See [`Reader::color`].
    pub(crate) fn color(&self) -> Result<Option<Color>> {
        self.explain_errors(|| {
            let text = read_color(self.conn, self.collection)?;
            Ok(text.and_then(|text| text.parse().ok()))
        })
    }
}

fn key_of(calendar: i64) -> String {
    format!("{}{calendar}", metadata::COLOR_PREFIX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn colors_are_parsed() {
        for (text, color) in [
            ("teal", "#008080"),
            ("Teal", "#008080"),
            ("#0e61b9", "#0e61b9"),
            ("#0E61B9FF", "#0e61b9"),
            ("#fa0", "#ffaa00"),
        ] {
            assert_eq!(text.parse::<Color>().unwrap().to_string(), color);
        }
        for text in ["", "tael", "#12", "\u{1b}[31m"] {
            assert_eq!(text.parse::<Color>(), Err(InvalidColor), "{text:?}");
        }
    }

    #[test]
    fn the_color_of_an_object_is_found() {
        let find = |lines: &str| {
            let head = format!("BEGIN:VCALENDAR\r\n{lines}");
            Color::in_object(head.as_bytes()).map(|color| color.to_string())
        };
        let apple = "X-APPLE-CALENDAR-COLOR:#FF2968FF\r\n";
        assert_eq!(find(&format!("COLOR:teal\r\n{apple}")).unwrap(), "#ff2968");
        assert_eq!(find("COLOR:teal\r\n").unwrap(), "#008080");
        assert_eq!(find("COLOR:none such\r\nCOLOR:red\r\n").unwrap(), "#ff0000");
        assert_eq!(find("X-WR-CALNAME:Work\r\n"), None);
        // Of an event, not of the calendar.
        assert_eq!(find("BEGIN:VEVENT\r\nCOLOR:red\r\nEND:VEVENT\r\n"), None);
    }
}
