//! The items of the reader: [`ObjectPiece`].

use std::fmt;

use etui_contentline::rejection::Rejection;

/// A part of the input, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectPiece {
    /// Lines of the calendar object itself.
    Text(TemplateText),
    /// A whole `VTIMEZONE`.
    Zone(RawZone),
    /// A whole `VEVENT`, `VTODO` or `VJOURNAL`.
    Component(RawComponent),
    /// Rejected input.
    Refused(Rejection),
}

/// Position of a text in a calendar object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemplatePart {
    /// From `BEGIN:VCALENDAR` (with a preceding byte order mark or blank lines) to the first
    /// component. An object begins.
    Begin,
    /// Lines between components.
    Middle,
    /// A whole component of another kind (`VFREEBUSY`, `X-...`).
    Other,
    /// `END:VCALENDAR` and blank lines after it. The object ends.
    End,
}

/// Bytes of a calendar object outside of its components.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateText {
    /// Position in the object.
    pub part: TemplatePart,
    /// Whole lines, exactly as they came.
    pub bytes: Vec<u8>,
    /// First line; the first line of the input is 1.
    pub line: u64,
    /// Offset in bytes from the start of the input.
    pub offset: u64,
}

impl TemplateText {
    /// Returns the beginning of an object without properties.
    pub(super) fn beginning() -> Self {
        Self {
            part: TemplatePart::Begin,
            bytes: b"BEGIN:VCALENDAR\r\n".to_vec(),
            line: 1,
            offset: 0,
        }
    }
}

/// A `VTIMEZONE` as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawZone {
    /// From BEGIN through the line end after END.
    pub bytes: Vec<u8>,
    /// Its `TZID`; empty if absent.
    pub tzid: String,
    /// Line of its BEGIN.
    pub line: u64,
    /// Offset in bytes from the start of the input.
    pub offset: u64,
}

/// The kinds of components in calendar objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum ComponentKind {
    /// `VEVENT`
    #[default]
    Event,
    /// `VTODO`
    Todo,
    /// `VJOURNAL`
    Journal,
}

impl ComponentKind {
    /// Returns its name in iCalendar.
    pub fn name(self) -> &'static str {
        match self {
            Self::Event => "VEVENT",
            Self::Todo => "VTODO",
            Self::Journal => "VJOURNAL",
        }
    }

    /// Returns the kind with this name, in any case.
    pub fn named(name: &[u8]) -> Option<Self> {
        [Self::Event, Self::Todo, Self::Journal]
            .into_iter()
            .find(|kind| name.eq_ignore_ascii_case(kind.name().as_bytes()))
    }
}

impl fmt::Display for ComponentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A component as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawComponent {
    /// Its kind.
    pub kind: ComponentKind,
    /// From BEGIN through the line end after END.
    pub bytes: Vec<u8>,
    /// Its `UID`, if not blank.
    pub uid: Option<String>,
    /// Its `RECURRENCE-ID`, parameters and value as written: the instance that it overrides.
    pub recurrence_id: Option<String>,
    /// Index among the components of its calendar object, from 0.
    pub number: u32,
    /// Line of its BEGIN.
    pub line: u64,
    /// Line of its END.
    pub last_line: u64,
    /// Offset in bytes from the start of the input.
    pub offset: u64,
}
