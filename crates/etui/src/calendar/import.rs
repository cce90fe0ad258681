//! Import of calendar objects into a calendar.
//!
//! ```text
//! bytes --Reader--> pieces --Grouper--> components of one UID --Record--> records
//!                     |                        |
//!                     '- frame, zones ------- object, which the records refer to
//! ```
//!
//! The groups of an object are held until its end, so that zones defined after the components are
//! known to them and equal templates are recognized. Of a larger object the first [`MAX_HELD_GROUPS`]
//! groups are held: components before them do not know a zone that is defined later, and get a
//! warning.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::sync::Arc;

use super::Calendar;
use super::CalendarObject;
use super::ics::{
    ComponentGroup, ComponentGrouper, GroupOutcome, ObjectPiece, ObjectReader, RawZone,
    TemplateBuilder, TemplatePart,
};
use super::zones::{TimeZoneDefinition, TimeZoneResolver};
use crate::error::Result;
use crate::import::run::{ImportItem, ParsedRecord, RecordSource, RunOptions, run_import};
use crate::import::{ImportEvent, ImportReport, Refused};
use crate::record::RecordKind as _;
use crate::record::shared::{ImportedObject, SourceObject};
use etui_contentline::stream::record_excerpt;
use etui_ical::{FloatingZone, Method};

/// Groups of one object that are held until its end, and their bytes.
const MAX_HELD_GROUPS: usize = 1_024;
const MAX_HELD_BYTES: usize = 1 << 20;

impl Calendar {
    /// Imports every event, to-do and journal entry of `input`, of any number of calendar objects.
    ///
    /// All components with one UID are one record. Valid components are kept byte for byte, but for floating
    /// times of an object with `X-WR-TIMEZONE` (or `TZ` in vCalendar 1.0), which get that zone;
    /// everything else is reported with line numbers and a reason. Importing the same input twice
    /// changes nothing. Components are merged into the stored entry with their UID, by the METHOD of their
    /// object (RFC 5546): of two for the same instance the newer is kept (SEQUENCE, then DTSTAMP, then
    /// LAST-MODIFIED), of two of one age in `input` the first. Zones and properties of the
    /// objects are kept with the records, so that [`Reader::export`](crate::record::Reader::export) reproduces the objects.
    ///
    /// A small input (fewer than 4,096 records and 4 MiB) is saved in transactions of up to 1,000
    /// records, a larger one in one transaction; see
    /// [`Contacts::import`](crate::contacts::Contacts::import).
    ///
    /// `on_event` receives the progress and can stop the import. Batches already reported by
    /// [`ImportEvent::Saved`] are kept.
    ///
    /// # Errors
    /// [`Error::Stopped`](crate::Error::Stopped), [`Error::Io`](crate::Error::Io) if reading
    /// `input` fails, any error of writing.
    pub fn import(
        &self,
        input: impl Read,
        on_event: &mut dyn FnMut(ImportEvent<'_>) -> ControlFlow<()>,
    ) -> Result<ImportReport> {
        self.import_with(input, CalendarImport::default(), on_event)
    }

    /// Imports as [`Calendar::import`] does, with options.
    ///
    /// # Errors
    /// As [`Calendar::import`].
    pub fn import_with(
        &self,
        input: impl Read,
        options: CalendarImport,
        on_event: &mut dyn FnMut(ImportEvent<'_>) -> ControlFlow<()>,
    ) -> Result<ImportReport> {
        let (input, frame_lines) = with_frame(input)?;
        let source = ObjectSource {
            frame_lines,
            ..ObjectSource::new(input)
        };
        let run = RunOptions {
            any_collection: options.any_calendar,
            whole_records: options.whole_objects,
            split_uids: options.split_uids,
            // SEQUENCE and the stamps decide.
            takes_earlier: true,
        };
        run_import(self, source, run, on_event)
    }
}

/// Options of [`Calendar::import_with`].
#[derive(Debug, Clone, Copy, Default)]
pub struct CalendarImport {
    /// Messages, and times of a series without the series, are merged into the entry of another calendar
    /// if only that has it.
    pub any_calendar: bool,
    /// Each entry is whole: it replaces the one with its UID, as a file of a folder of items does.
    pub whole_objects: bool,
    /// Entries of one UID on other days become entries of their own: the day is added to the UID.
    pub split_uids: bool,
}

/// The frame of an input that begins with a component, outside of any calendar object.
const FRAME_BEGIN: &str = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//etui//EN\r\n";
const FRAME_END: &str = "\r\nEND:VCALENDAR\r\n";
/// Bytes that decide whether an input begins with a component: blank lines may be before it.
const HEAD: u64 = 4_096;

/// Returns the input, in a calendar object if it begins with a component, and the lines before it.
fn with_frame<'r>(mut input: impl Read + 'r) -> Result<(Box<dyn Read + 'r>, u64)> {
    let mut head = Vec::new();
    let read = input.by_ref().take(HEAD).read_to_end(&mut head);
    if let Err(error) = read {
        // The error is reported after what precedes it.
        let failed = io::Cursor::new(head).chain(FailedRead(Some(error)));
        return Ok((Box::new(failed), 0));
    }
    let text = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&head);
    let text = text.trim_ascii_start();
    let is_bare = ["VEVENT", "VTODO", "VJOURNAL", "VTIMEZONE"]
        .iter()
        .any(|name| {
            let begin = format!("BEGIN:{name}");
            let line = text.split(|b| matches!(b, b'\r' | b'\n')).next();
            line.is_some_and(|line| line.trim_ascii_end().eq_ignore_ascii_case(begin.as_bytes()))
        });
    if !is_bare {
        return Ok((Box::new(io::Cursor::new(head).chain(input)), 0));
    }
    let lines = FRAME_BEGIN.lines().count() as u64;
    let mark = head.len() - head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&head).len();
    let text = io::Cursor::new(head.split_off(mark)).chain(input);
    let framed = FRAME_BEGIN
        .as_bytes()
        .chain(text)
        .chain(FRAME_END.as_bytes());
    Ok((Box::new(framed), lines))
}

/// A reader that fails once.
struct FailedRead(Option<io::Error>);

impl Read for FailedRead {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// Reads the records of a stream of calendar objects.
struct ObjectSource<R> {
    /// Lines of a frame that the input did not have.
    frame_lines: u64,
    reader: ObjectReader<R>,
    grouper: ComponentGrouper,
    open: Option<OpenObject>,
    ready: VecDeque<ImportPiece>,
    is_done: bool,
}

/// The object being read.
#[derive(Default)]
struct OpenObject {
    frame: TemplateBuilder,
    zones: Arc<TimeZoneResolver>,
    /// Texts of its zones.
    texts: Vec<Vec<u8>>,
    /// Definitions that are not in `zones` yet.
    definitions: Vec<TimeZoneDefinition>,
    object: Arc<ImportedObject>,
    method: Method,
    /// The properties that give its floating times a zone, and that zone as far as it is known.
    zone_lines: Vec<u8>,
    floating: Option<Arc<FloatingZone>>,
    /// Groups that are held until its end, and their bytes.
    held: Vec<ComponentGroup>,
    bytes: usize,
}

impl OpenObject {
    fn add_zone(&mut self, zone: RawZone) {
        self.frame.zone(super::object_zones::zone_key(&zone.bytes));
        self.definitions
            .push(TimeZoneDefinition::parse(&zone.bytes));
        self.texts.push(zone.bytes);
    }

    /// Notes the zone of its floating times if a text names one.
    fn read_floating_zone(&mut self, text: &[u8]) {
        if self.floating.is_none()
            && let Some(zone) = FloatingZone::of_object(text, &self.zones)
        {
            self.zone_lines = text.to_vec();
            self.floating = Some(Arc::new(zone));
        }
    }
}

/// A piece of the input: a group, or a rejected component.
enum ImportPiece {
    Group(ImportGroup),
    Refused(Refused),
}

/// A group with what its object gives it.
struct ImportGroup {
    group: ComponentGroup,
    method: Method,
    zones: Arc<TimeZoneResolver>,
    floating: Option<Arc<FloatingZone>>,
    object: Arc<ImportedObject>,
}

impl<R: Read> ObjectSource<R> {
    fn new(input: R) -> Self {
        Self {
            frame_lines: 0,
            reader: ObjectReader::new(input),
            grouper: ComponentGrouper::new(),
            open: None,
            ready: VecDeque::new(),
            is_done: false,
        }
    }

    fn take_piece(&mut self, piece: ObjectPiece) {
        match piece {
            ObjectPiece::Text(text) => {
                if text.part == TemplatePart::Begin {
                    self.end_object();
                }
                let open = self.open.get_or_insert_default();
                open.frame.text(&text);
                if matches!(text.part, TemplatePart::Begin | TemplatePart::Middle) {
                    open.read_floating_zone(&text.bytes);
                }
                if text.part == TemplatePart::Begin {
                    open.method = Method::of_object(&text.bytes);
                }
                if text.part == TemplatePart::End {
                    self.end_object();
                }
            }
            ObjectPiece::Zone(zone) => self.open.get_or_insert_default().add_zone(zone),
            ObjectPiece::Component(mut component) => {
                // The lines of the frame are not those of the input.
                component.line = component.line.saturating_sub(self.frame_lines);
                component.last_line = component.last_line.saturating_sub(self.frame_lines);
                self.open.get_or_insert_default().frame.component();
                let (group, grouped) = self.grouper.push(component);
                self.hold_group(group);
                if let GroupOutcome::Refused(component) = grouped {
                    // A group of its own, after the one before: the import decides which is newer.
                    let before = self.grouper.finish();
                    self.hold_group(before);
                    let (group, _) = self.grouper.push(component);
                    self.hold_group(group);
                }
            }
            ObjectPiece::Refused(refusal) => {
                let mut refused = Refused::from(&refusal);
                refused.line = refused.line.saturating_sub(self.frame_lines);
                refused.last_line = refused.last_line.saturating_sub(self.frame_lines);
                self.ready.push_back(ImportPiece::Refused(refused));
            }
        }
    }

    fn hold_group(&mut self, group: Option<ComponentGroup>) {
        let Some(open) = &mut self.open else { return };
        if let Some(group) = group {
            open.bytes += group
                .components
                .iter()
                .map(|c| c.bytes.len())
                .sum::<usize>();
            open.held.push(group);
        }
        if open.held.len() >= MAX_HELD_GROUPS || open.bytes >= MAX_HELD_BYTES {
            self.release_groups();
        }
    }

    fn release_groups(&mut self) {
        let Some(open) = &mut self.open else { return };
        open.bytes = 0;
        // Shared zones are copied here, so only where a group needs them.
        if !open.definitions.is_empty() && !open.held.is_empty() {
            let zones = Arc::make_mut(&mut open.zones);
            open.definitions.drain(..).for_each(|d| zones.define(&d));
            let floating = FloatingZone::of_object(&open.zone_lines, &open.zones);
            open.floating = floating.map(Arc::new);
        }
        for group in open.held.drain(..) {
            self.ready.push_back(ImportPiece::Group(ImportGroup {
                group,
                method: open.method,
                zones: Arc::clone(&open.zones),
                floating: open.floating.clone(),
                object: Arc::clone(&open.object),
            }));
        }
    }

    fn end_object(&mut self) {
        let last = self.grouper.finish();
        self.hold_group(last);
        if let Some(open) = &mut self.open {
            // Before the groups are released: their records share the row of an equal template.
            let frame = std::mem::take(&mut open.frame).finish();
            let texts = Arc::new(std::mem::take(&mut open.texts));
            open.object.set_texts(frame.as_bytes().to_vec(), texts);
        }
        self.release_groups();
        self.open = None;
    }
}

impl<R: Read> RecordSource for ObjectSource<R> {
    type Record = CalendarObject;
    type Piece = ImportPiece;

    fn next_piece(&mut self) -> io::Result<Option<ImportPiece>> {
        loop {
            if let Some(part) = self.ready.pop_front() {
                return Ok(Some(part));
            }
            if self.is_done {
                return Ok(None);
            }
            match self.reader.next().transpose()? {
                Some(piece) => self.take_piece(piece),
                None => {
                    self.end_object();
                    self.is_done = true;
                }
            }
        }
    }

    fn bytes_read(&self) -> u64 {
        self.reader.bytes_read()
    }

    fn size(part: &ImportPiece) -> usize {
        match part {
            ImportPiece::Group(part) => part.group.components.iter().map(|c| c.bytes.len()).sum(),
            ImportPiece::Refused(_) => 0,
        }
    }

    fn parse_piece(part: ImportPiece) -> ParsedRecord<CalendarObject> {
        let ImportGroup {
            group,
            method,
            zones,
            floating,
            object,
        } = match part {
            ImportPiece::Group(part) => part,
            ImportPiece::Refused(refused) => return Err(refused),
        };
        let line = group.components.first().map_or(0, |c| c.line);
        let last_line = group.components.last().map_or(line, |c| c.last_line);
        let places = group.components.iter().map(|c| c.number).collect();
        let mut text = group.text();
        let excerpt = record_excerpt(&text);
        let mut unknown_zone = None;
        if let Some(floating) = &floating {
            match floating.apply(&text, &zones) {
                Some(in_zone) => text = in_zone,
                None if !floating.is_known() && floating.concerns(&text) => {
                    unknown_zone = Some(format!(
                        "the time zone \"{}\" of the file is not known; its times without a zone stay floating",
                        floating.name()
                    ));
                }
                None => {}
            }
        }
        match CalendarObject::parse(text, &zones) {
            Ok(mut record) => {
                record.apply_method(method);
                let warnings = record.components().flat_map(|i| &i.warnings);
                let warnings = warnings.map(ToString::to_string);
                let warnings = unknown_zone.into_iter().chain(warnings).collect();
                let from = SourceObject {
                    object,
                    places,
                    made: None,
                };
                let item = ImportItem::new(record, line, last_line);
                Ok(item.from(Some(from)).warnings(warnings).method(method))
            }
            Err(error) => Err(Refused {
                line,
                last_line,
                reason: error.to_string(),
                excerpt,
            }),
        }
    }
}

/// Parses the records of a text: whole calendar objects, or the components of one UID in the given
/// zones. The error is a message about the first component that cannot be kept.
pub(crate) fn parse_items(
    text: Vec<u8>,
    zones: &TimeZoneResolver,
) -> std::result::Result<Vec<ImportItem<CalendarObject>>, String> {
    // 15 bytes: the length of BEGIN:VCALENDAR.
    let begin = text.trim_ascii_start().get(..15).unwrap_or_default();
    if !begin.eq_ignore_ascii_case(b"BEGIN:VCALENDAR") {
        let record = CalendarObject::parse(text, zones).map_err(|e| e.to_string())?;
        return Ok(vec![ImportItem::new(record, 1, 1)]);
    }
    let mut source = ObjectSource::new(&*text);
    let mut items: Vec<ImportItem<CalendarObject>> = Vec::new();
    while let Some(portion) = source.next_piece().map_err(|e| e.to_string())? {
        let item = ObjectSource::<&[u8]>::parse_piece(portion)
            .map_err(|refused| format!("line {}: {}", refused.line, refused.reason))?;
        let uid = item.record.identity();
        if items.iter().any(|known| known.record.identity() == uid) {
            return Err(format!(
                "components with the UID {uid} stand apart, or two are of one time: put them one behind \
                 the other, one for each time"
            ));
        }
        items.push(item);
    }
    match items.is_empty() {
        true => Err("a calendar without an event, to-do or journal entry".to_owned()),
        false => Ok(items),
    }
}
