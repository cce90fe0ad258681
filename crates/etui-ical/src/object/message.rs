//! Messages of iTIP (RFC 5546): the components of a message are merged into the object that is stored.
//!
//! ```text
//! instance  := kind, RECURRENCE-ID as an instant, RANGE     none: the master component
//! revision  := SEQUENCE, DTSTAMP, LAST-MODIFIED             the highest of an instance is kept
//! cancelled := X-ETUI-CANCELLED:SEQUENCE/DTSTAMP            the highest CANCEL of an instance
//! ```
//!
//! An instance is cancelled if its highest CANCEL, or that of the master, is not below its revision.
//! The property keeps the CANCEL apart from the content, so that the result does not depend on the
//! order in which a REQUEST and its CANCEL arrive.

use std::cmp::Ordering;
use std::collections::HashMap;

use etui_contentline::charset::{detect_utf16, to_utf8_bytes};
use etui_contentline::edit::{head_without, line_ending, own_lines};
use etui_contentline::values::property_value;

use super::series_edit::{LineEdit, add_line, edit_lines};
use super::{CalendarObject, MergeOutcome, ObjectPart, Status, component, instance_hash};
use crate::ics::{ComponentKind, MAX_COMPONENT};
use crate::recurrence::RecurrenceId;
use crate::time::{CalendarTime, DateTimeValue, TimeZone, Timestamp};

const CANCELLED: &str = "X-ETUI-CANCELLED";

/// `METHOD` of a calendar object (RFC 5546 section 1.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Method {
    /// `PUBLISH`, or none.
    #[default]
    Publish,
    /// `REQUEST`
    Request,
    /// `ADD`: components without a `RECURRENCE-ID` are further times of the series.
    Add,
    /// `CANCEL`
    Cancel,
    /// `REPLY`: the answer of one attendee.
    Reply,
    /// `COUNTER`, `REFRESH`, `DECLINECOUNTER`: changes nothing.
    Proposal,
}

impl Method {
    /// Methods by the number that `as u8` gives them.
    pub const ALL: [Self; 6] = [
        Self::Publish,
        Self::Request,
        Self::Add,
        Self::Cancel,
        Self::Reply,
        Self::Proposal,
    ];

    /// Returns the method of a calendar object from its properties. An unknown one is `PUBLISH`.
    #[must_use]
    pub fn of_object(head: &[u8]) -> Self {
        let head = to_utf8_bytes(head);
        let line = own_lines(&head, None).find(|line| line.name_is("METHOD"));
        let name = line.map(|line| property_value(&line).trim().to_ascii_uppercase());
        match name.as_deref() {
            Some("REQUEST") => Self::Request,
            Some("ADD") => Self::Add,
            Some("CANCEL") => Self::Cancel,
            Some("REPLY") => Self::Reply,
            Some("COUNTER" | "REFRESH" | "DECLINECOUNTER") => Self::Proposal,
            _ => Self::Publish,
        }
    }

    /// Returns true if the message has no entry of its own: without a stored one, nothing is kept.
    #[must_use]
    pub fn needs_stored(self) -> bool {
        matches!(self, Self::Reply | Self::Proposal)
    }
}

/// The origin of a component of a merged object: an index among those of the object, or of the
/// message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComponentOrigin {
    /// A component of the object.
    Stored(usize),
    /// A component of the message.
    Message(usize),
}

/// The result of merging a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedMessage {
    /// The outcome of each component of the message.
    pub outcomes: Vec<MergeOutcome>,
    /// The origin of each component of the object.
    pub origins: Vec<ComponentOrigin>,
}

type CancelStamp = (u32, Option<Timestamp>);

/// SEQUENCE, DTSTAMP and LAST-MODIFIED of a component, and its highest CANCEL.
struct Revision {
    /// The component has the content of a CANCEL only.
    is_content: bool,
    stamp: CancelStamp,
    modified: Option<Timestamp>,
    cancel: Option<CancelStamp>,
}

/// A component that is being merged.
struct MergePart {
    bytes: Vec<u8>,
    part: ObjectPart,
    origin: ComponentOrigin,
}

impl MergePart {
    fn of_object(object: CalendarObject, origin: fn(usize) -> ComponentOrigin) -> Vec<Self> {
        let (text, parts) = (object.text, object.components);
        let parts = parts.into_iter().enumerate();
        let one = |(i, part): (usize, ObjectPart)| Self {
            bytes: text[part.span.clone()].to_vec(),
            part,
            origin: origin(i),
        };
        parts.map(one).collect()
    }

    fn revision(&self) -> Revision {
        let text = to_utf8_bytes(&self.bytes);
        let value = |name: &str| {
            let line = own_lines(&text, None).find(|line| line.name_is(name));
            line.map(|line| property_value(&line).into_owned())
        };
        let stamp = (self.part.item.sequence, parse_instant(value("DTSTAMP")));
        let cancel = value(CANCELLED).and_then(|text| {
            let (sequence, at) = text.split_once('/')?;
            Some((sequence.parse().ok()?, parse_instant(Some(at.to_owned()))))
        });
        let modified = self.part.item.modified.as_ref();
        Revision {
            is_content: cancel != Some(stamp),
            stamp,
            modified: modified.map(|time| time.at(&TimeZone::UTC)),
            cancel,
        }
    }

    /// Returns the kind and instance, with floating times in the time zone `zone`.
    fn instance(&self, zone: &TimeZone) -> (ComponentKind, Option<(Timestamp, bool)>) {
        let timing = self.part.item.timing.as_ref();
        let id = timing.and_then(|t| t.recurrence_id.as_ref());
        let id = id.map(|id| (id.id.at(zone), id.this_and_future));
        (self.part.item.kind, id)
    }

    /// Records a CANCEL, and cancels the component if its content is not newer.
    fn cancel(&mut self, by: CancelStamp) {
        let revision = self.revision();
        // That of a series concerns its times, whatever is newer than it.
        if revision.stamp > by && self.part.recurrence_id.is_some() {
            return;
        }
        if revision.cancel < Some(by) {
            let at = by.1.map_or_else(String::new, |at| at.to_string());
            self.set_line(CANCELLED, &format!("{}/{at}", by.0));
        }
        if revision.stamp <= by && self.part.item.status != Some(Status::Cancelled) {
            self.set_line("STATUS", "CANCELLED");
            self.part.item.status = Some(Status::Cancelled);
        }
    }

    fn set_line(&mut self, name: &str, value: &str) {
        let line = format!("{name}:{value}");
        let mut is_new = true;
        let edited = edit_lines(&self.bytes, |own| match own.name_is(name) {
            true if std::mem::take(&mut is_new) => LineEdit::Replace(line.clone()),
            true => LineEdit::Drop,
            false => LineEdit::Keep,
        });
        self.bytes = if is_new {
            add_line(&edited, &line)
        } else {
            edited
        };
    }

    /// Sets the answer of an attendee; returns true if the component lists the attendee.
    fn answer(&mut self, address: &str, answer: &str) -> bool {
        let mut is_found = false;
        self.bytes = edit_lines(&self.bytes, |line| {
            let is_own = line.name_is("ATTENDEE")
                && component::read_user(line)
                    .address
                    .eq_ignore_ascii_case(address);
            if !is_own {
                return LineEdit::Keep;
            }
            is_found = true;
            let head = head_without(line, &["PARTSTAT", "RSVP"]);
            LineEdit::Replace(format!("{head};PARTSTAT={answer}:{}", property_value(line)))
        });
        for user in &mut self.part.item.attendees {
            if user.address.eq_ignore_ascii_case(address) {
                user.answer = Some(answer.to_owned());
            }
        }
        is_found
    }
}

fn parse_instant(text: Option<String>) -> Option<Timestamp> {
    let value: DateTimeValue = text?.parse().ok()?;
    Some(value.in_zone(None).at(&TimeZone::UTC))
}

impl CalendarObject {
    /// Changes the components of a received object as its method requires: those of a CANCEL are
    /// cancelled, with or without a STATUS, and those of an ADD become times of their series.
    pub fn apply_method(&mut self, method: Method) {
        let is_edited = matches!(method, Method::Cancel | Method::Add);
        if !is_edited || detect_utf16(&self.text).is_some() {
            return;
        }
        let object = std::mem::replace(
            self,
            Self {
                text: Vec::new(),
                components: Vec::new(),
            },
        );
        let mut parts = MergePart::of_object(object, ComponentOrigin::Stored);
        for one in &mut parts {
            match method {
                Method::Cancel => one.cancel(one.revision().stamp),
                _ => add_instance(one),
            }
        }
        self.set_parts(parts);
    }

    /// Merges a message, to which its method was applied ([`CalendarObject::apply_method`]), into
    /// the object with its UID (RFC 5546 section 2.1.5). Of two components for one instance the one
    /// with the higher SEQUENCE, then DTSTAMP, then LAST-MODIFIED is kept; of two equal ones that of
    /// the message, or the one of the object if `keeps_first`.
    ///
    /// Components that the message does not have are kept, so that a series that arrives again
    /// leaves the changes of its times. All are refused if the UID or the encoding differs, and
    /// those in a time zone of a file that differs here under one name.
    pub fn receive(&mut self, message: Self, method: Method, keeps_first: bool) -> ReceivedMessage {
        let refuse = |outcome| vec![outcome; message.components.len()];
        let origins = |n: usize| (0..n).map(ComponentOrigin::Stored).collect();
        let unchanged = |outcomes| ReceivedMessage {
            outcomes,
            origins: origins(self.components.len()),
        };
        let utf16 = [&self.text, &message.text].map(|text| detect_utf16(text));
        if method == Method::Proposal {
            return unchanged(refuse(MergeOutcome::Proposal));
        }
        if self.text == message.text {
            return unchanged(refuse(MergeOutcome::Known));
        }
        if self.uid().is_none() || self.uid() != message.uid() || utf16[0] != utf16[1] {
            return unchanged(refuse(MergeOutcome::Refused));
        }
        let start = self.series_timing().map(|timing| &timing.start);
        let zone = start
            .and_then(CalendarTime::zone)
            .cloned()
            .unwrap_or(TimeZone::UTC);
        let stored = std::mem::replace(
            self,
            Self {
                text: Vec::new(),
                components: Vec::new(),
            },
        );
        let mut parts = MergePart::of_object(stored, ComponentOrigin::Stored);
        let mut size: usize = parts.iter().map(|p| p.bytes.len()).sum();
        // A map, as a series may have thousands of changed times.
        let mut places = HashMap::new();
        for (at, part) in parts.iter().enumerate() {
            places.entry(part.instance(&zone)).or_insert(at);
        }
        let defines = |part: &ObjectPart| !part.item.defined_zones.is_empty();
        let has_zones =
            parts.iter().any(|p| defines(&p.part)) || message.components.iter().any(defines);
        let mut outcomes = Vec::new();
        for new in MergePart::of_object(message, ComponentOrigin::Message) {
            let instance = new.instance(&zone);
            let at = places.get(&instance).copied();
            if method == Method::Reply {
                outcomes.push(reply(at.and_then(|at| parts.get_mut(at)), &new));
                continue;
            }
            let mut others = parts.iter().enumerate().filter(|(i, _)| Some(*i) != at);
            let is_too_large = size + new.bytes.len() + 64 > MAX_COMPONENT;
            if is_too_large || has_zones && others.any(|(_, other)| has_other_zone(other, &new)) {
                outcomes.push(MergeOutcome::Refused);
                continue;
            }
            size += new.bytes.len();
            outcomes.push(match at.and_then(|at| parts.get_mut(at)) {
                Some(known) => merge_part(known, new, keeps_first),
                None => {
                    places.insert(instance, parts.len());
                    parts.push(new);
                    MergeOutcome::Taken
                }
            });
        }
        // A CANCEL of the series cancels its times.
        let masters = parts.iter().filter(|p| p.part.recurrence_id.is_none());
        if utf16[0].is_none()
            && let Some(by) = masters.filter_map(|p| p.revision().cancel).max()
        {
            let times = parts.iter_mut().filter(|p| p.part.recurrence_id.is_some());
            // One without content is cancelled already, and stays without: its stamp says so.
            times
                .filter(|p| p.revision().is_content)
                .for_each(|p| p.cancel(by));
        }
        let origins = parts.iter().map(|p| p.origin).collect();
        self.set_parts(parts);
        ReceivedMessage { outcomes, origins }
    }

    /// Merges another object with its UID, as [`CalendarObject::receive`] does with `keeps_first`, and
    /// returns the outcome of each of its components.
    pub fn merge(&mut self, other: Self) -> Vec<MergeOutcome> {
        self.receive(other, Method::Publish, true).outcomes
    }

    fn set_parts(&mut self, parts: Vec<MergePart>) {
        for MergePart { bytes, part, .. } in parts {
            if !matches!(self.text.last(), None | Some(b'\n' | b'\r' | 0)) {
                let ending = line_ending(&self.text);
                self.text.extend_from_slice(ending);
            }
            let start = self.text.len();
            self.text.extend_from_slice(&bytes);
            let span = start..self.text.len();
            self.components.push(ObjectPart { span, ..part });
        }
    }
}

/// Merges a component into another one for its instance.
fn merge_part(known: &mut MergePart, mut new: MergePart, keeps_first: bool) -> MergeOutcome {
    let (old, own) = (known.revision(), new.revision());
    let before = known.bytes.clone();
    if let Some(by) = old.cancel.max(own.cancel) {
        known.cancel(by);
        new.cancel(by);
    }
    let key = |r: &Revision| (r.is_content, r.stamp, r.modified);
    let order = key(&own).cmp(&key(&old));
    match order {
        _ if new.bytes == known.bytes => {}
        Ordering::Less => {}
        Ordering::Equal if keeps_first => return MergeOutcome::Refused,
        _ => {
            *known = new;
            return match keeps_first && old.is_content {
                true => MergeOutcome::Replaced,
                false => MergeOutcome::Taken,
            };
        }
    }
    match (known.bytes == before, order) {
        (false, _) => MergeOutcome::Taken,
        (true, Ordering::Less) => MergeOutcome::Older,
        (true, _) => MergeOutcome::Known,
    }
}

/// Takes over the answers of the attendees of a REPLY (RFC 5546 section 3.2.3).
fn reply(known: Option<&mut MergePart>, new: &MergePart) -> MergeOutcome {
    let Some(known) = known else {
        return MergeOutcome::Proposal;
    };
    if new.part.item.sequence < known.part.item.sequence {
        return MergeOutcome::Older;
    }
    if detect_utf16(&known.bytes).is_some() {
        return MergeOutcome::Refused;
    }
    let before = known.bytes.clone();
    let mut is_found = false;
    for user in &new.part.item.attendees {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if let Some(answer) = user.answer.as_deref().filter(|a| a.chars().all(is_word)) {
            is_found |= known.answer(&user.address, answer);
        }
    }
    match (is_found, known.bytes == before) {
        (false, _) => MergeOutcome::Proposal,
        (true, true) => MergeOutcome::Known,
        (true, false) => MergeOutcome::Taken,
    }
}

/// Makes a component of an ADD without a `RECURRENCE-ID` a further time of its series.
fn add_instance(one: &mut MergePart) {
    if one.part.recurrence_id.is_some() {
        return;
    }
    let Some(timing) = &mut one.part.item.timing else {
        return;
    };
    let text = to_utf8_bytes(&one.bytes);
    let Some(line) = own_lines(&text, None).find(|line| line.name_is("DTSTART")) else {
        return;
    };
    let head = head_without(&line, &[]);
    let params = head
        .find(';')
        .and_then(|at| head.get(at..))
        .unwrap_or_default();
    let id = format!("{params}:{}", property_value(&line));
    timing.recurrence_id = Some(RecurrenceId {
        id: timing.start.clone(),
        this_and_future: false,
    });
    let bytes = add_line(&text, &format!("RECURRENCE-ID{id}"));
    one.part.instance = instance_hash(one.part.item.kind, Some(&id));
    one.part.recurrence_id = Some(id);
    one.bytes = bytes;
}

/// Returns true if two components have a time zone of one name that their files define otherwise:
/// an object has one time zone per name, or none.
fn has_other_zone(one: &MergePart, other: &MergePart) -> bool {
    let meaning = |part: &MergePart, tzid: &String| {
        let own = part
            .part
            .item
            .defined_zones
            .iter()
            .find(|(own, _)| own == tzid);
        own.map(|(_, zone)| zone.clone())
    };
    let theirs = &one.part.item.tzids;
    let mut shared = other
        .part
        .item
        .tzids
        .iter()
        .filter(|tzid| theirs.contains(tzid));
    shared.any(|tzid| meaning(one, tzid) != meaning(other, tzid))
}
