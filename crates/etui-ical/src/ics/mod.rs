//! iCalendar bytes become pieces, and pieces the same bytes again (RFC 5545, RFC 7986).
//!
//! ```text
//! BEGIN:VCALENDAR       --.
//! VERSION:2.0             | Frame text: Begin
//! X-WR-CALNAME:Home     --'
//! BEGIN:VTIMEZONE       --. Zone, shared by its bytes
//! END:VTIMEZONE         --'
//! BEGIN:VEVENT          --.
//! UID:1                   | Component 0
//! END:VEVENT            --'
//! BEGIN:VEVENT            | refused: no END before the next BEGIN
//! BEGIN:VEVENT          --.
//! UID:1                   | Component 1: an instance of UID 1, changed
//! RECURRENCE-ID:...       |
//! END:VEVENT            --'
//! BEGIN:VFREEBUSY       --. Frame text: Other
//! END:VFREEBUSY         --'
//! END:VCALENDAR         --- Frame text: End
//!
//! [ObjectReader] -> pieces -> [ComponentGrouper] -> records: the bytes of all components of one UID, and the
//!                  |                 number of each
//!                  |--> [TemplateBuilder] -> Frame: texts and zones, and holes for the components
//!                  '--> zones
//! [ObjectWriter]: frame, zones, components by their numbers -> the object
//! ```
//!
//! What is exact:
//!
//! - each component, byte for byte, always: in its record, in the record's order;
//! - a whole object, byte for byte, as long as its records have the frame's hash and the numbers of
//!   their components beside them, wherever in the object the components of one UID stood, and
//!   nothing of it was refused. A repetition of a component is left out;
//! - several objects in one stream, byte for byte, when each is written with its own frame. Written
//!   as one ([`merge`]), each component is exact, and each zone stands once.
//!
//! What the reader takes for what:
//!
//! - `BEGIN:name` and `END:name` count when they are a physical line, in any case; a line that
//!   starts with a space or a tab is folded data, never one of them.
//! - A component is refused, with its lines, if a component of the calendar's own kinds
//!   (`VEVENT`, `VTODO`, `VJOURNAL`, `VTIMEZONE`, `VFREEBUSY`), an object or the end of the input
//!   comes before its END, if its parts are not ended in order, if it is empty, or too large. The
//!   next one is not taken along.
//! - Components of other kinds within a component are part of it; in the object itself they are
//!   the frame's.
//! - In the object itself a line that cannot be a property is refused. Outside of objects all but
//!   blank lines is.
//! - UTF-8, other 8-bit text and UTF-16; CRLF, LF and lone CR; a byte order mark.
//!
//! ```
//! use etui_ical::ics::{ObjectTemplate, TemplateBuilder, ComponentGrouper, ObjectWriter, ObjectPiece, ObjectReader};
//! use etui_ical::ics::ZoneKey;
//!
//! let file = "BEGIN:VCALENDAR\nVERSION:2.0\nBEGIN:VEVENT\nUID:1\nEND:VEVENT\nEND:VCALENDAR\n";
//! let (mut frame, mut grouper, mut groups) = (TemplateBuilder::new(), ComponentGrouper::new(), Vec::new());
//! for piece in ObjectReader::new(file.as_bytes()) {
//!     match piece? {
//!         ObjectPiece::Frame(text) => frame.text(&text),
//!         ObjectPiece::Zone(zone) => frame.zone(ZoneKey([0; 16])),
//!         ObjectPiece::Component(component) => {
//!             frame.component();
//!             groups.extend(grouper.push(component).0);
//!         }
//!         ObjectPiece::Refused(why) => panic!("{why:?}"),
//!     }
//! }
//! groups.extend(grouper.finish());
//!
//! let frame: Frame = frame.finish();
//! let mut object = ObjectWriter::new(Vec::new(), &frame, |_| Ok(Vec::new()));
//! for group in &groups {
//!     for component in &group.components {
//!         object.component(component.number, &component.bytes)?;
//!     }
//! }
//! assert_eq!(object.finish()?, file.as_bytes());
//! # Ok::<(), std::io::Error>(())
//! ```

mod frame;
mod group;
mod head;
mod piece;
mod reader;
mod write;

pub use frame::{ObjectTemplate, TemplateBuilder, TemplateSegment, ZoneKey};
pub use group::{ComponentGroup, ComponentGrouper, GroupOutcome};
pub(crate) use head::ComponentHead;
pub use piece::{ComponentKind, ObjectPiece, RawComponent, RawZone, TemplatePart, TemplateText};
pub(crate) use reader::MAX_DEPTH;
pub use reader::{MAX_COMPONENT, MAX_FRAME, ObjectReader};
pub use write::{MergedTemplate, ObjectWriter, merge};

pub use etui_contentline::rejection::{RejectReason, Rejection};

#[cfg(test)]
mod tests;
