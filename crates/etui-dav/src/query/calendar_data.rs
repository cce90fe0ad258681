//! [`CalendarData`]: the part of a calendar object that a report asks for (RFC 4791 section 9.6).
//!
//! ```text
//! <C:calendar-data>                       BEGIN:VCALENDAR       kept: no prop is named
//!   <C:comp name="VCALENDAR">             VERSION:2.0           kept
//!     <C:comp name="VEVENT">              BEGIN:VTIMEZONE ...   left out
//!       <C:prop name="SUMMARY"/>          BEGIN:VEVENT
//!     </C:comp>                           SUMMARY:Fair          kept
//!   </C:comp>                             BEGIN:VALARM ...      left out: only properties are named
//! ```
//!
//! Lines that are kept are those of the object, byte for byte. An element `comp` that is empty asks for
//! all of its component.

use std::borrow::Cow;

use etui::calendar::time::TimeZone;
use etui_contentline::charset::to_utf8;
use etui_contentline::edit::{fold_line, head_without, line_ending};
use etui_contentline::lines::{ContentLine, ContentLines, Delimiter};

use super::error::QueryError;
use super::expand;
use super::time_range::TimeRange;
use super::times::free_busy_periods;
use crate::xml::{Element, Namespace};

/// The parts of calendar objects in a report. The default is all of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CalendarData {
    /// The parts of the `VCALENDAR`; `None` for all.
    selection: Option<CompSelection>,
    recurrences: Recurrences,
    /// Periods of `FREEBUSY` that are kept.
    free_busy: Option<TimeRange>,
}

/// How a recurring component is returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Recurrences {
    /// As it is.
    #[default]
    Stored,
    /// As its instances in a range, in UTC (section 9.6.5).
    Expanded(TimeRange),
    /// With the overrides that concern a range (section 9.6.6).
    Limited(TimeRange),
}

/// A `comp` element: the parts of a component that are returned.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CompSelection {
    name: String,
    /// `None` for all.
    properties: Option<Vec<PropSelection>>,
    /// `None` for all.
    components: Option<Vec<CompSelection>>,
}

/// A `prop` element.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PropSelection {
    name: String,
    /// Whether the value is left out.
    no_value: bool,
}

impl CalendarData {
    /// Parses a `calendar-data` element of a report.
    ///
    /// # Errors
    /// `supported-calendar-data` for another media type than iCalendar 2.0;
    /// [`QueryError::Malformed`].
    pub fn parse(element: &Element) -> Result<Self, QueryError> {
        let media_type = element.attribute("content-type").unwrap_or("text/calendar");
        let version = element.attribute("version").unwrap_or("2.0");
        if !media_type.trim().eq_ignore_ascii_case("text/calendar") || version.trim() != "2.0" {
            return Err(QueryError::caldav(
                "supported-calendar-data",
                "calendar data is text/calendar, version 2.0",
            ));
        }
        let child = |name| element.child(&Namespace::CalDav, name);
        let range =
            |element: &Element| TimeRange::parse_bounded(element).map_err(QueryError::Malformed);
        let recurrences = match (child("expand"), child("limit-recurrence-set")) {
            (None, None) => Recurrences::Stored,
            (Some(element), None) => Recurrences::Expanded(range(element)?),
            (None, Some(element)) => Recurrences::Limited(range(element)?),
            (Some(_), Some(_)) => {
                return Err(QueryError::malformed(
                    "calendar-data has expand or limit-recurrence-set, not both",
                ));
            }
        };
        let selection = child("comp").map(CompSelection::parse).transpose()?;
        if selection
            .as_ref()
            .is_some_and(|all| all.name != "VCALENDAR")
        {
            return Err(QueryError::malformed(
                "the comp of calendar-data is that of VCALENDAR",
            ));
        }
        Ok(Self {
            selection,
            recurrences,
            free_busy: child("limit-freebusy-set").map(range).transpose()?,
        })
    }

    /// Returns true if objects are returned as they are.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the part of a calendar object that is asked for; borrowed if that is all of it. Of an
    /// object in another charset than UTF-8, parts are returned in UTF-8.
    ///
    /// Dates and floating times are read in `zone` where they are compared with a range.
    ///
    /// # Errors
    /// `max-instances` if an expansion has more than 10,000 instances or 16 MiB.
    pub fn apply<'o>(
        &self,
        object: &'o [u8],
        zone: &TimeZone,
    ) -> Result<Cow<'o, [u8]>, QueryError> {
        if self.is_whole() {
            return Ok(Cow::Borrowed(object));
        }
        let text = to_utf8(object);
        let text = match self.recurrences {
            Recurrences::Stored => text,
            Recurrences::Expanded(range) => Cow::Owned(expand::expand(&text, &range, zone)?),
            Recurrences::Limited(range) => Cow::Owned(expand::limit(&text, &range, zone)),
        };
        if self.selection.is_none() && self.free_busy.is_none() {
            return Ok(Cow::Owned(text.into_owned().into_bytes()));
        }
        Ok(Cow::Owned(self.select(&text)))
    }

    /// Returns the selected lines of an object.
    fn select(&self, text: &str) -> Vec<u8> {
        let ending = line_ending(text.as_bytes());
        let mut out = Vec::with_capacity(text.len());
        let mut open: Vec<(ComponentPart<'_>, &[u8])> = Vec::new();
        for line in ContentLines::of_text(text) {
            match line.delimiter() {
                Some((Delimiter::Begin, name)) => {
                    let part = match (open.last(), &self.selection) {
                        (Some((part, _)), _) => part.component(name),
                        (None, Some(all)) if is_name(name, &all.name) => {
                            ComponentPart::Selected(all)
                        }
                        (None, _) => ComponentPart::All,
                    };
                    if !matches!(part, ComponentPart::Nothing) {
                        out.extend_from_slice(line.raw());
                    }
                    open.push((part, name));
                }
                Some((Delimiter::End, _)) => {
                    if !matches!(open.pop(), Some((ComponentPart::Nothing, _))) {
                        out.extend_from_slice(line.raw());
                    }
                }
                None => {
                    let (part, within) = open.last().copied().unwrap_or((ComponentPart::All, b""));
                    let is_periods = is_name(within, "VFREEBUSY") && line.name_is("FREEBUSY");
                    match (part.property(&line), self.free_busy) {
                        (LinePart::Nothing, _) => {}
                        (LinePart::Name, _) => {
                            let name = String::from_utf8_lossy(&line.unfolded_name()).into_owned();
                            out.extend(fold_line(&format!("{name}:"), ending));
                        }
                        (LinePart::All, Some(range)) if is_periods => {
                            out.extend(limit_periods(&line, &range, ending));
                        }
                        (LinePart::All, _) => out.extend_from_slice(line.raw()),
                    }
                }
            }
        }
        out
    }
}

/// The selected part of a component.
#[derive(Debug, Clone, Copy)]
enum ComponentPart<'s> {
    All,
    Nothing,
    Selected(&'s CompSelection),
}

/// The selected part of a line.
enum LinePart {
    All,
    /// The name, without a value.
    Name,
    Nothing,
}

impl<'s> ComponentPart<'s> {
    fn component(self, name: &[u8]) -> Self {
        match self {
            Self::Selected(selection) => match &selection.components {
                None => Self::All,
                Some(all) => match all.iter().find(|one| is_name(name, &one.name)) {
                    Some(one) => Self::Selected(one),
                    None => Self::Nothing,
                },
            },
            other => other,
        }
    }

    fn property(self, line: &ContentLine<'_>) -> LinePart {
        match self {
            Self::All => LinePart::All,
            Self::Nothing => LinePart::Nothing,
            Self::Selected(selection) => match &selection.properties {
                None => LinePart::All,
                Some(all) => match all.iter().find(|one| line.name_is(&one.name)) {
                    Some(one) if one.no_value => LinePart::Name,
                    Some(_) => LinePart::All,
                    None => LinePart::Nothing,
                },
            },
        }
    }
}

fn is_name(name: &[u8], wanted: &str) -> bool {
    name.eq_ignore_ascii_case(wanted.as_bytes())
}

/// Returns a `FREEBUSY` property with the periods that overlap a range; empty without one.
fn limit_periods(line: &ContentLine<'_>, range: &TimeRange, ending: &[u8]) -> Vec<u8> {
    let periods = free_busy_periods(line);
    let overlaps = |(_, period): &(String, Option<std::ops::Range<_>>)| {
        let period = period.as_ref();
        period.is_some_and(|p| range.start < p.end && range.end > p.start)
    };
    if periods.iter().all(overlaps) {
        return line.raw().to_vec();
    }
    let kept: Vec<&str> = periods
        .iter()
        .filter(|period| overlaps(period))
        .map(|(text, _)| text.trim())
        .collect();
    if kept.is_empty() {
        return Vec::new();
    }
    let head = head_without(line, &[]);
    fold_line(&format!("{head}:{}", kept.join(",")), ending)
}

impl CompSelection {
    fn parse(element: &Element) -> Result<Self, QueryError> {
        let of = |name| element.children_named(&Namespace::CalDav, name);
        let has = |name| of(name).next().is_some();
        let is_empty = !["allprop", "prop", "allcomp", "comp"].into_iter().any(has);
        let properties = match has("prop") && !has("allprop") {
            false => None,
            true => Some(
                of("prop")
                    .map(PropSelection::parse)
                    .collect::<Result<_, _>>()?,
            ),
        };
        let components = match is_empty || has("allcomp") {
            true => None,
            false => Some(of("comp").map(Self::parse).collect::<Result<_, _>>()?),
        };
        Ok(Self {
            name: name_of(element)?,
            properties,
            components,
        })
    }
}

impl PropSelection {
    fn parse(element: &Element) -> Result<Self, QueryError> {
        Ok(Self {
            name: name_of(element)?,
            no_value: element.attribute("novalue") == Some("yes"),
        })
    }
}

/// Returns the attribute `name` in capitals.
fn name_of(element: &Element) -> Result<String, QueryError> {
    match element.attribute("name").map(str::trim) {
        Some(name) if !name.is_empty() => Ok(name.to_ascii_uppercase()),
        _ => Err(QueryError::malformed(format!(
            "{} needs a name",
            element.name
        ))),
    }
}
