//! [`CalendarObject`]: all components with one UID, their text as it came and their properties.
//!
//! ```
//! use etui_ical::{CalendarObject, zones::TimeZoneResolver};
//!
//! let object = CalendarObject::parse(
//!     "BEGIN:VEVENT\r\nUID:1\r\nDTSTART:20261121T190000Z\r\nSUMMARY:Concert\r\n\
//!      X-SEAT:12\r\nEND:VEVENT\r\n",
//!     &TimeZoneResolver::new(),
//! )?;
//! assert_eq!(object.master().summary.as_deref(), Some("Concert"));
//! assert_eq!(object.uid(), Some("1"));
//! # Ok::<(), etui_ical::ObjectError>(())
//! ```
//!
//! ```text
//! text := component+        each from BEGIN through the line end after END, in the order in
//!                           which they came; only blank lines between them
//! ```

mod alarm;
mod answers;
mod component;
mod draft;
mod edit;
mod floating;
mod message;
mod series;
mod series_cut;
mod series_edit;

use std::hash::{Hash, Hasher};
use std::ops::Range;

use memchr::memchr_iter;

use crate::ics::{ComponentKind, MAX_COMPONENT, MAX_DEPTH};
use crate::recurrence::{RecurrenceSet, Timing};
use crate::zones::TimeZoneResolver;
use etui_contentline::charset::to_plain_utf8;
use etui_contentline::lines::{Delimiter, is_blank, parse_delimiter, physical_line};
use etui_contentline::stream::CodeUnits;

pub use alarm::{Alarm, AlarmAction, AlarmTrigger};
pub use component::{CalendarComponent, CalendarUser, Classification, Snooze, Status};
pub use draft::Draft;
pub use edit::{escape_value, format_time};
pub use floating::FloatingZone;
pub use message::{ComponentOrigin, Method, ReceivedMessage};
pub use series_cut::SplitSeries;

/// The result of merging one component into a calendar object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeOutcome {
    /// The component was appended.
    Taken,
    /// The object already has this component, byte for byte.
    Known,
    /// The component replaced an older one for its instance.
    Replaced,
    /// The object has a newer component for this instance (SEQUENCE, DTSTAMP, LAST-MODIFIED).
    Older,
    /// The component is a proposal or question, or an answer to no known entry: nothing was changed.
    Proposal,
    /// The object keeps another component for this instance, or the two cannot be one object.
    Refused,
}

/// The error for bytes that are not a calendar object, or for an edit that is not possible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectError {
    /// The bytes are not whole components.
    #[error(
        "not an event, to-do or journal: it must begin with BEGIN:VEVENT (or VTODO, VJOURNAL) and end with its END"
    )]
    /// The bytes are not whole components.
    NotARecord,
    /// Its components have different UIDs, or several have none.
    #[error(
        "components of several records; give those of one UID at a time, or import them as a file"
    )]
    /// Its components have different UIDs, or several have none.
    Several,
    /// It has no property.
    #[error("an empty component: no start, no summary, nothing else")]
    Empty,
    /// Larger than [`MAX_COMPONENT`].
    #[error("a record of {size} bytes; at most {MAX_COMPONENT} are kept (is it an attachment?)")]
    TooLarge {
        /// Its size in bytes.
        size: usize,
    },
    /// The name is not a valid property name.
    #[error("\"{0}\" cannot be a property's name: letters, digits and - only")]
    BadProperty(String),
    /// The text is not a time zone.
    #[error("not a time zone: it must begin with BEGIN:VTIMEZONE and have a TZID")]
    NotAZone,
    /// The series has no instance with this original start.
    #[error("there is no occurrence at {0}")]
    NoInstance(String),
    /// The rules of a series, or an override of all later instances, do not allow to split it.
    #[error(
        "a series with several rules, or with a change of all later occurrences, cannot be split"
    )]
    CannotSplit,
    /// The object has no component with this index.
    #[error("the record has no component {0}")]
    NoComponent(usize),
    /// The system has no random numbers for a new UID.
    #[error("no random numbers for a new UID: {0}")]
    NoRandomness(String),
}

/// All components with one UID.
#[derive(Debug, Clone)]
pub struct CalendarObject {
    text: Vec<u8>,
    components: Vec<ObjectPart>,
}

/// A component of a calendar object.
#[derive(Debug, Clone)]
struct ObjectPart {
    span: Range<usize>,
    /// Its `RECURRENCE-ID` as written.
    recurrence_id: Option<String>,
    /// Hash of its kind and `RECURRENCE-ID`.
    instance: u64,
    item: CalendarComponent,
}

/// Returns [`ObjectPart::instance`].
fn instance_hash(kind: ComponentKind, recurrence_id: Option<&str>) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    (kind, recurrence_id).hash(&mut hasher);
    hasher.finish()
}

impl PartialEq for CalendarObject {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for CalendarObject {}

impl CalendarObject {
    /// Parses the components of one object, with the time zones that their `TZID`s may name. The
    /// bytes are kept unchanged.
    ///
    /// # Errors
    /// [`ObjectError`]: not components of one object, empty, or too large.
    pub fn parse(text: impl Into<Vec<u8>>, zones: &TimeZoneResolver) -> Result<Self, ObjectError> {
        let text = text.into();
        if text.len() > MAX_COMPONENT {
            return Err(ObjectError::TooLarge { size: text.len() });
        }
        let mut components: Vec<ObjectPart> = Vec::new();
        for (kind, span) in component_spans(&text).ok_or(ObjectError::NotARecord)? {
            let plain = to_plain_utf8(&text[span.clone()]);
            let (item, head) = CalendarComponent::read_component(kind, &plain, zones);
            if !head.has_property {
                return Err(ObjectError::Empty);
            }
            if let Some(first) = components.first()
                && (item.uid.is_none() || item.uid != first.item.uid)
            {
                return Err(ObjectError::Several);
            }
            let recurrence_id = head.recurrence_id;
            components.push(ObjectPart {
                span,
                instance: instance_hash(kind, recurrence_id.as_deref()),
                recurrence_id,
                item,
            });
        }
        if components.is_empty() {
            return Err(ObjectError::NotARecord);
        }
        Ok(Self { text, components })
    }

    /// Returns the components as they came, byte for byte.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Returns the components as they came.
    pub fn into_text(self) -> Vec<u8> {
        self.text
    }

    /// Returns the UID, if any (RFC 5545 section 3.8.4.7).
    pub fn uid(&self) -> Option<&str> {
        self.master().uid.as_deref()
    }

    /// Returns the `TZID`s without a known time zone: their times are floating.
    pub fn unresolved_tzids(&self) -> Vec<String> {
        let nobodys = |item: &CalendarComponent, tzid: &String| {
            !item.defined_zones.iter().any(|(own, _)| own == tzid)
                && TimeZoneResolver::default().resolve(tzid).is_none()
        };
        let all = self.components.iter().map(|c| &c.item);
        all.flat_map(|item| item.tzids.iter().filter(move |tzid| nobodys(item, tzid)))
            .cloned()
            .collect()
    }

    /// Returns the components in their order.
    pub fn components(&self) -> impl ExactSizeIterator<Item = &CalendarComponent> {
        self.components.iter().map(|c| &c.item)
    }

    /// Returns the bytes of each component in their order, as for an [`ObjectWriter`].
    ///
    /// [`ObjectWriter`]: crate::ics::ObjectWriter
    pub fn component_texts(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.components.iter().map(|c| &self.text[c.span.clone()])
    }

    /// Returns the number of components of a text.
    pub fn count_components(text: &[u8]) -> usize {
        component_spans(text).map_or(0, |all| all.len())
    }

    /// Splits a text into its components; another text is one component.
    pub fn split_components(text: &[u8]) -> Vec<Vec<u8>> {
        match component_spans(text) {
            Some(all) => all
                .into_iter()
                .map(|(_, span)| text[span].to_vec())
                .collect(),
            None => vec![text.to_vec()],
        }
    }

    /// Returns the master component: the first one that overrides no instance of another.
    pub fn master(&self) -> &CalendarComponent {
        &self.components[self.master_index()].item
    }

    /// Returns the index of the master component.
    pub fn master_index(&self) -> usize {
        let is_main = |c: &ObjectPart| c.recurrence_id.is_none();
        // Without a master the first override is taken for it.
        self.components.iter().position(is_main).unwrap_or(0)
    }

    /// Returns its recurrence set. [`Instance::component`] is an index among the components with
    /// times ([`CalendarComponent::timing`]).
    ///
    /// [`Instance::component`]: crate::recurrence::Instance::component
    pub fn recurrence_set(&self) -> RecurrenceSet {
        let timings: Vec<Timing> = self.components().filter_map(|i| i.timing.clone()).collect();
        RecurrenceSet::new(&timings)
    }
}

/// Returns the spans of the components; `None` if there is other text.
fn component_spans(text: &[u8]) -> Option<Vec<(ComponentKind, Range<usize>)>> {
    let units = CodeUnits::detect(text);
    let mut found = Vec::new();
    // Names of the open components, concatenated, and the start of each.
    let mut names: Vec<u8> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut narrow = Vec::new();
    // Without groups only these letters begin a BEGIN or END line.
    let is_edge = |first: Option<&u8>| matches!(first, Some(b'B' | b'b' | b'E' | b'e'));
    let has_groups =
        units != CodeUnits::Bytes || memchr_iter(b'.', text).any(|dot| is_edge(text.get(dot + 1)));
    let mut start = 0;
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let (line, next) = match units {
            CodeUnits::Bytes => {
                let (end, next) = physical_line(text, at)?;
                (&text[at..end], next)
            }
            _ => {
                // The last line may have no line end.
                let (end, is_cr) = units.line_end(rest, 0).unwrap_or((rest.len(), false));
                let whole = units.whole(rest, end, is_cr, true).unwrap_or(end);
                units.narrow_all(&rest[..end], &mut narrow);
                (&narrow[..], text.len().min(at + whole))
            }
        };
        let may_be = has_groups || is_edge(line.first());
        match may_be.then(|| parse_delimiter(line)).flatten() {
            Some((Delimiter::Begin, name)) => {
                if open.is_empty() {
                    start = at;
                }
                open.push(names.len());
                names.extend_from_slice(name);
                if open.len() > MAX_DEPTH {
                    return None;
                }
            }
            Some((Delimiter::End, name)) => {
                let begun = open.pop()?;
                if !names[begun..].eq_ignore_ascii_case(name) {
                    return None;
                }
                names.truncate(begun);
                if open.is_empty() {
                    found.push((ComponentKind::named(name)?, start..next));
                }
            }
            None if open.is_empty() && !is_blank(line) => return None,
            None => {}
        }
        at = next;
    }
    open.is_empty().then_some(found)
}

#[cfg(test)]
mod series_tests;
#[cfg(test)]
mod tests;
