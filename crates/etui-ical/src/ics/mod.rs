//! Streams of iCalendar objects, split into components and written again (RFC 5545, RFC 7986).
//!
//! ```text
//! BEGIN:VCALENDAR       --.
//! VERSION:2.0             | Text: Begin
//! X-WR-CALNAME:Home     --'
//! BEGIN:VTIMEZONE       --. Zone
//! END:VTIMEZONE         --'
//! BEGIN:VEVENT          --.
//! UID:1                   | Component 0
//! END:VEVENT            --'
//! BEGIN:VEVENT            | rejected: no END before the next BEGIN
//! BEGIN:VEVENT          --.
//! UID:1                   | Component 1: overrides an instance of UID 1
//! RECURRENCE-ID:...       |
//! END:VEVENT            --'
//! BEGIN:VFREEBUSY       --. Text: Other
//! END:VFREEBUSY         --'
//! END:VCALENDAR         --- Text: End
//!
//! [ObjectReader] -> pieces -> [ComponentGrouper] -> groups: the components of one UID, numbered
//!                  |--> [TemplateBuilder] -> [ObjectTemplate]: texts, zones, holes for components
//!                  '--> zones
//! [ObjectWriter]: template, zones, components by their numbers -> the object
//! ```
//!
//! Byte for byte are:
//!
//! - each component, always, in its group and in the order of the group;
//! - a whole object, if it is written with its own template and the numbers of its components, in
//!   whatever order the components of one UID were, and nothing in it was rejected. A repeated
//!   component is dropped;
//! - several objects in one stream, if each is written with its own template. Written as one
//!   ([`merge_templates`]), each component is exact, and each zone occurs once.
//!
//! Rules of the reader:
//!
//! - `BEGIN:name` and `END:name` count if they are a physical line, in any case; a line that starts
//!   with a space or a tab is folded data.
//! - A component is rejected, with its lines, if a component of a top-level kind (`VEVENT`, `VTODO`,
//!   `VJOURNAL`, `VTIMEZONE`, `VFREEBUSY`), an object or the end of the input precedes its END, if
//!   its parts are not properly nested, if it is empty, or too large. The next one is not affected.
//! - An object may be within another one, beside its components. Those after it are an object of their own,
//!   which begins as the outer one does: that text occurs again.
//! - Components of other kinds within a component are part of it; directly in the object they belong
//!   to the template.
//! - Directly in the object a line that cannot be a property is rejected. Outside of objects all but
//!   blank lines are.
//! - UTF-8, other 8-bit text and UTF-16; CRLF, LF and lone CR; a byte order mark.
//!
//! ```
//! use etui_ical::ics::{
//!     ComponentGrouper, ObjectPiece, ObjectReader, ObjectTemplate, ObjectWriter, TemplateBuilder, ZoneKey,
//! };
//!
//! let file = "BEGIN:VCALENDAR\nVERSION:2.0\nBEGIN:VEVENT\nUID:1\nEND:VEVENT\nEND:VCALENDAR\n";
//! let mut template = TemplateBuilder::default();
//! let (mut grouper, mut groups) = (ComponentGrouper::new(), Vec::new());
//! for piece in ObjectReader::new(file.as_bytes()) {
//!     match piece? {
//!         ObjectPiece::Text(text) => template.text(&text),
//!         ObjectPiece::Zone(zone) => template.zone(ZoneKey([0; 16])),
//!         ObjectPiece::Component(component) => {
//!             template.component();
//!             groups.extend(grouper.push(component).0);
//!         }
//!         ObjectPiece::Refused(why) => panic!("{why:?}"),
//!     }
//! }
//! groups.extend(grouper.finish());
//!
//! let template: ObjectTemplate = template.finish();
//! let mut object = ObjectWriter::new(Vec::new(), &template, |_| Ok(Vec::new()));
//! for group in &groups {
//!     for component in &group.components {
//!         object.component(component.number, &component.bytes)?;
//!     }
//! }
//! assert_eq!(object.finish()?, file.as_bytes());
//! # Ok::<(), std::io::Error>(())
//! ```

mod grouper;
mod head;
mod pieces;
mod reader;
mod template;
mod writer;

pub use grouper::{ComponentGroup, ComponentGrouper, GroupOutcome};
pub(crate) use head::ComponentHead;
pub use pieces::{ComponentKind, ObjectPiece, RawComponent, RawZone, TemplatePart, TemplateText};
pub(crate) use reader::MAX_DEPTH;
pub use reader::{MAX_COMPONENT, MAX_OBJECT_TEXT, ObjectReader};
pub use template::{ObjectTemplate, TemplateBuilder, TemplateSegment, ZoneKey};
pub use writer::{MergedTemplate, ObjectWriter, merge_templates};

pub use etui_contentline::rejection::{RejectReason, Rejection};

#[cfg(test)]
mod tests;
