//! What the reader finds: [`ObjectPiece`].

use std::fmt;

use etui_contentline::rejection::Rejection;

/// A part of the input, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectPiece {
    /// Lines of a calendar object itself.
    Frame(TemplateText),
    /// A whole `VTIMEZONE`.
    Zone(RawZone),
    /// A whole `VEVENT`, `VTODO` or `VJOURNAL`.
    Component(RawComponent),
    /// Something that was not taken.
    Refused(Rejection),
}

/// Which part of a calendar object's frame a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemplatePart {
    /// From `BEGIN:VCALENDAR` (a byte order mark or blank lines before it included) to the first
    /// component. An object begins.
    Begin,
    /// Lines between components.
    Middle,
    /// A whole component of another kind (`VFREEBUSY`, `X-...`).
    Other,
    /// `END:VCALENDAR` and blank lines behind it. The object ends.
    End,
}

/// Bytes of a calendar object that are in none of its records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateText {
    /// Which part they are.
    pub part: TemplatePart,
    /// Whole lines, exactly as they came.
    pub bytes: Vec<u8>,
    /// The line they start in, the input's first being 1.
    pub line: u64,
    /// Where they start, in bytes from the start of the input.
    pub offset: u64,
}

/// A `VTIMEZONE` as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawZone {
    /// From BEGIN through the line end after END.
    pub bytes: Vec<u8>,
    /// Its `TZID`; empty if it has none.
    pub tzid: String,
    /// The line of its BEGIN.
    pub line: u64,
    /// Where it starts, in bytes from the start of the input.
    pub offset: u64,
}

/// The kinds of components that records are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ComponentKind {
    /// `VEVENT`
    Event,
    /// `VTODO`
    Todo,
    /// `VJOURNAL`
    Journal,
}

impl ComponentKind {
    /// Its name in iCalendar.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Event => "VEVENT",
            Self::Todo => "VTODO",
            Self::Journal => "VJOURNAL",
        }
    }

    /// The kind with this name, in any case.
    #[must_use]
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

/// A component of a record, as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawComponent {
    /// What it is.
    pub kind: ComponentKind,
    /// From BEGIN through the line end after END.
    pub bytes: Vec<u8>,
    /// Its `UID`, if it has one that is not blank.
    pub uid: Option<String>,
    /// Its `RECURRENCE-ID`, parameters and value as written, if it has one: which instance of the
    /// component without one it changes.
    pub replaces: Option<String>,
    /// Its place among the components of its calendar object, the first being 0.
    pub number: u32,
    /// The line of its BEGIN.
    pub line: u64,
    /// The line of its END.
    pub last_line: u64,
    /// Where it starts, in bytes from the start of the input.
    pub offset: u64,
}
