//! [`TimeRange`]: a range of instants of a request.

use std::ops::Range;

use etui::calendar::time::{DateTimeValue, TimeZone, Timestamp};

use crate::xml::Element;

/// A range of instants. A bound that the request does not give is before or after all times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeRange {
    /// The first instant.
    pub start: Timestamp,
    /// The instant after the last.
    pub end: Timestamp,
}

impl TimeRange {
    /// Parses the attributes `start` and `end` of an element, which are dates with UTC times
    /// (RFC 4791 section 9.9). The error is the text of the fault.
    pub(super) fn parse(element: &Element) -> Result<Self, String> {
        let name = &element.name;
        let bound = |attribute: &str| match element.attribute(attribute) {
            None => Ok(None),
            Some(text) => match text.parse::<DateTimeValue>() {
                Ok(DateTimeValue::Utc(time)) => Ok(Some(TimeZone::UTC.to_utc(time))),
                _ => {
                    let text: String = text.chars().take(40).collect();
                    Err(format!(
                        "{attribute} of {name} is \"{text}\"; write 20060104T000000Z"
                    ))
                }
            },
        };
        let (start, end) = (bound("start")?, bound("end")?);
        if start.is_none() && end.is_none() {
            return Err(format!("{name} has neither start nor end"));
        }
        let range = Self {
            start: start.unwrap_or(Timestamp::MIN),
            end: end.unwrap_or(Timestamp::MAX),
        };
        match range.start < range.end {
            true => Ok(range),
            false => Err(format!("the end of {name} is not after its start")),
        }
    }

    /// Parses a range whose bounds are both required.
    pub(super) fn parse_bounded(element: &Element) -> Result<Self, String> {
        match (element.attribute("start"), element.attribute("end")) {
            (Some(_), Some(_)) => Self::parse(element),
            _ => Err(format!("{} needs start and end", element.name)),
        }
    }

    /// Returns the range of instants.
    #[must_use]
    pub fn instants(&self) -> Range<Timestamp> {
        self.start..self.end
    }

    /// Returns the range with a second more at both ends.
    pub(super) fn widened(&self) -> Range<Timestamp> {
        self.start.plus_seconds(-1)..self.end.plus_seconds(1)
    }

    /// Returns true if an instant is in the range.
    pub(super) fn contains(&self, at: Timestamp) -> bool {
        self.start <= at && at < self.end
    }
}
