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

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use etui_contentline::charset::{detect_utf16, to_utf8_bytes};
use etui_contentline::edit::{head_without, line_ending, own_lines};
use etui_contentline::values::property_value;

use super::answers::{CopiedSeries, TimeAnswers, keep_answers, kept_answers, reply, take_copies};
use super::series::time_line;
use super::series_cut::in_form_of;
use super::series_edit::{LineEdit, add_line, edit_lines};
use super::{CalendarObject, MergeOutcome, ObjectPart, Status, instance_hash};
use crate::ics::{ComponentKind, MAX_COMPONENT};
use crate::recurrence::{RecurrenceId, SeriesCut, Timing};
use crate::time::{CalendarTime, DAY, DateTime, DateTimeValue, TimeZone, Timestamp};
use crate::timing_reader::{time_head, time_value};
use crate::zones::TimeZoneResolver;

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
    /// Times that stay excluded though the series of the message has them again.
    pub kept_exclusions: Vec<CalendarTime>,
}

/// SEQUENCE and DTSTAMP of a message.
pub(super) type MessageStamp = (u32, Option<Timestamp>);

/// The kind of a component, and the original start of the instance that it describes.
pub(super) type Instance = (ComponentKind, Option<(Timestamp, bool)>);

/// SEQUENCE, DTSTAMP and LAST-MODIFIED of a component, and its highest CANCEL.
pub(super) struct Revision {
    /// The component has the content of a CANCEL only.
    is_content: bool,
    pub(super) stamp: MessageStamp,
    modified: Option<Timestamp>,
    cancel: Option<MessageStamp>,
}

/// A component that is being merged.
pub(super) struct MergePart {
    pub(super) bytes: Vec<u8>,
    pub(super) part: ObjectPart,
    pub(super) origin: ComponentOrigin,
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

    pub(super) fn revision(&self) -> Revision {
        let text = to_utf8_bytes(&self.bytes);
        let value = |name: &str| {
            let line = own_lines(&text, None).find(|line| line.name_is(name));
            line.map(|line| property_value(&line).into_owned())
        };
        let stamp = (self.part.item.sequence, parse_instant(value("DTSTAMP")));
        let cancel = value(CANCELLED).and_then(|text| parse_stamp(&text));
        let modified = self.part.item.modified.as_ref();
        Revision {
            is_content: cancel != Some(stamp),
            stamp,
            modified: modified.map(|time| time.at(&TimeZone::UTC)),
            cancel,
        }
    }

    /// Returns the kind and instance, with floating times in the time zone `zone`.
    pub(super) fn instance(&self, zone: &TimeZone) -> Instance {
        let timing = self.part.item.timing.as_ref();
        let id = timing.and_then(|t| t.recurrence_id.as_ref());
        let id = id.map(|id| (id.id.at(zone), id.this_and_future));
        (self.part.item.kind, id)
    }

    /// Records a CANCEL, and cancels the component if its content is not newer.
    fn cancel(&mut self, by: MessageStamp) {
        let revision = self.revision();
        // That of a series concerns its times, whatever is newer than it.
        if revision.stamp > by && self.part.recurrence_id.is_some() {
            return;
        }
        if revision.cancel < Some(by) {
            self.set_line(CANCELLED, &write_stamp(by));
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
}

/// Reads the stamp of a message as [`write_stamp`] writes it.
pub(super) fn parse_stamp(text: &str) -> Option<MessageStamp> {
    let (sequence, at) = text.split_once('/')?;
    Some((sequence.parse().ok()?, parse_instant(Some(at.to_owned()))))
}

/// Writes the stamp of a message: `SEQUENCE/DTSTAMP`.
pub(super) fn write_stamp((sequence, at): MessageStamp) -> String {
    format!(
        "{sequence}/{}",
        at.map_or_else(String::new, |at| at.to_string())
    )
}

fn parse_instant(text: Option<String>) -> Option<Timestamp> {
    let value: DateTimeValue = text?.parse().ok()?;
    Some(value.in_zone(None).at(&TimeZone::UTC))
}

impl CalendarObject {
    /// Changes the components of a received object as its method requires: those of a CANCEL are
    /// cancelled, with or without a STATUS, and those of an ADD become times of their series.
    ///
    /// One time that a CANCEL or a REPLY names without a `DTSTART`, which they may leave out (RFC 5546
    /// sections 3.2.3 and 3.2.5), begins at its `RECURRENCE-ID`.
    pub fn apply_method(&mut self, method: Method) {
        let is_edited = matches!(method, Method::Cancel | Method::Add | Method::Reply);
        if !is_edited || detect_utf16(&self.text).is_some() {
            return;
        }
        self.add_missing_starts();
        if method == Method::Reply {
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
    /// leaves the changes of its times; so are its `EXDATE`s, unless the message has a component for
    /// the time ([`ReceivedMessage::kept_exclusions`]). All are refused if the UID or the encoding differs, and
    /// those in a time zone of a file that differs here under one name.
    pub fn receive(&mut self, message: Self, method: Method, keeps_first: bool) -> ReceivedMessage {
        let refuse = |outcome| vec![outcome; message.components.len()];
        let origins = |n: usize| (0..n).map(ComponentOrigin::Stored).collect();
        let unchanged = |outcomes| ReceivedMessage {
            outcomes,
            origins: origins(self.components.len()),
            kept_exclusions: Vec::new(),
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
        // Answers to times without a component of their own, whose copies are made anew at the end.
        let mut answered = match utf16[0] {
            None => take_copies(&mut parts, &zone),
            Some(_) => Vec::new(),
        };
        let mut size: usize = parts.iter().map(|p| p.bytes.len()).sum();
        // A map, as a series may have thousands of changed times.
        let mut places = HashMap::new();
        for (at, part) in parts.iter().enumerate() {
            places.entry(part.instance(&zone)).or_insert(at);
        }
        let defines = |part: &ObjectPart| !part.item.defined_zones.is_empty();
        let has_zones =
            parts.iter().any(|p| defines(&p.part)) || message.components.iter().any(defines);
        let series = (method == Method::Reply).then(|| CopiedSeries::new(&parts));
        let mut kept_exclusions = Vec::new();
        let overrides = message
            .components
            .iter()
            .filter_map(|part| part.item.timing.as_ref());
        let overridden = overrides.filter_map(|timing| timing.recurrence_id.as_ref());
        let overridden: HashSet<_> = overridden.map(|id| id.id.at(&zone)).collect();
        let mut outcomes = Vec::new();
        for new in MergePart::of_object(message, ComponentOrigin::Message) {
            let instance = new.instance(&zone);
            let at = places.get(&instance).copied();
            if method == Method::Reply {
                let known = at.and_then(|at| parts.get_mut(at));
                outcomes.push(match known {
                    Some(_) if utf16[0].is_some() => MergeOutcome::Refused,
                    Some(known) => reply(known, &new),
                    None => series.as_ref().map_or(MergeOutcome::Proposal, |series| {
                        reply_to_time(series, &mut answered, &new, instance)
                    }),
                });
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
                Some(known) => {
                    let before = known.part.item.timing.clone();
                    let outcome = merge_part(known, new, keeps_first);
                    if let Some(before) = before
                        && outcome != MergeOutcome::Known
                    {
                        kept_exclusions.extend(keep_exclusions(known, &before, &overridden));
                    }
                    outcome
                }
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
        let series = (!answered.is_empty()).then(|| CopiedSeries::new(&parts));
        for time in answered {
            match places.get(&time.instance).and_then(|at| parts.get_mut(*at)) {
                Some(part) => time.give_to(part),
                None => parts.extend(series.as_ref().and_then(|series| time.component(series))),
            }
        }
        let origins = parts.iter().map(|p| p.origin).collect();
        self.set_parts(parts);
        ReceivedMessage {
            outcomes,
            origins,
            kept_exclusions,
        }
    }

    /// Returns an object of these components, to look at.
    pub(super) fn of_parts<'p>(parts: impl IntoIterator<Item = &'p MergePart>) -> Self {
        let mut object = Self {
            text: Vec::new(),
            components: Vec::new(),
        };
        let copy = |part: &MergePart| MergePart {
            bytes: part.bytes.clone(),
            part: part.part.clone(),
            origin: part.origin,
        };
        object.set_parts(parts.into_iter().map(copy).collect());
        object
    }

    /// Gives components with a `RECURRENCE-ID` and without a `DTSTART` that of their instance.
    fn add_missing_starts(&mut self) {
        let lacks = |part: &ObjectPart| part.recurrence_id.is_some() && part.item.timing.is_none();
        if !self.components.iter().any(lacks) {
            return;
        }
        let text = self.rebuild(|_, part, own| {
            let id = own_lines(own, None).find(|line| line.name_is("RECURRENCE-ID"));
            let (true, Some(id)) = (lacks(part), id) else {
                return Some(Cow::Borrowed(own));
            };
            let head = time_head(&id, &["RANGE"]);
            let params = head.find(';').and_then(|at| head.get(at..));
            let line = format!("DTSTART{}:{}", params.unwrap_or_default(), time_value(&id));
            Some(Cow::Owned(add_line(own, &line)))
        });
        // Its file's own zones are not known here; a time in one of them is not found.
        if let Ok(whole) = Self::parse(text, &TimeZoneResolver::new()) {
            *self = whole;
        }
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
    // The later CANCEL of the two concerns both.
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
            let answers = kept_answers(&known.bytes);
            *known = new;
            keep_answers(known, &answers);
            return match keeps_first && old.is_content {
                _ if known.bytes == before => MergeOutcome::Known,
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

/// Excludes from a series that replaced another one what that excluded, and returns the times that it
/// has otherwise. A skip is somebody's own: who sends the series does not know of it.
fn keep_exclusions(
    new: &mut MergePart,
    before: &Timing,
    overridden: &HashSet<Timestamp>,
) -> Vec<CalendarTime> {
    let mut kept = Vec::new();
    let Some(timing) = &mut new.part.item.timing else {
        return kept;
    };
    if new.part.recurrence_id.is_some() || detect_utf16(&new.bytes).is_some() {
        return kept;
    }
    let known: HashSet<_> = timing
        .exception_dates
        .iter()
        .map(CalendarTime::value)
        .collect();
    let zone = timing.start.zone().cloned().unwrap_or(TimeZone::UTC);
    let of_day = timing.start.local().seconds().rem_euclid(DAY);
    let mut cut = SeriesCut::new(timing, &timing.start);
    for date in &before.exception_dates {
        if known.contains(&date.value()) || overridden.contains(&date.at(&zone)) {
            continue;
        }
        // The series may begin at another time of the day now: the skip is of its day.
        let day = date.local().seconds().div_euclid(DAY) * DAY;
        let moved = in_form_of(&timing.start, DateTime::from_seconds(day + of_day));
        if [date, &moved]
            .into_iter()
            .any(|time| cut.move_to(time).has_instance())
        {
            kept.push(cut.time());
        }
    }
    if let Some((first, others)) = kept.split_first() {
        let mut line = time_line("EXDATE", &new.bytes, first);
        for time in others {
            line.push_str(&format!(",{}", time.value()));
        }
        new.bytes = add_line(&new.bytes, &line);
    }
    timing.exception_dates.extend(kept.iter().cloned());
    kept
}

/// Takes over the answers to one time of a series that has no component of its own.
fn reply_to_time(
    series: &CopiedSeries,
    answered: &mut Vec<TimeAnswers>,
    new: &MergePart,
    instance: Instance,
) -> MergeOutcome {
    let texts = |time: &TimeAnswers| time.component(series).map(|part| part.bytes);
    let known = answered.iter().position(|time| time.instance == instance);
    let before = known.and_then(|at| answered.get(at)).and_then(texts);
    let time = match known.and_then(|at| answered.get_mut(at)) {
        Some(time) => {
            time.add(new);
            time
        }
        None => {
            let Some(time) = TimeAnswers::of_message(new, instance) else {
                return MergeOutcome::Proposal;
            };
            answered.push(time);
            let Some(time) = answered.last_mut() else {
                return MergeOutcome::Proposal;
            };
            time
        }
    };
    match texts(time) {
        None => MergeOutcome::Proposal,
        after if after == before => MergeOutcome::Known,
        Some(_) => MergeOutcome::Taken,
    }
}

/// Makes a component of an ADD without a `RECURRENCE-ID` a further time of its series.
fn add_instance(added: &mut MergePart) {
    if added.part.recurrence_id.is_some() {
        return;
    }
    let Some(timing) = &mut added.part.item.timing else {
        return;
    };
    let text = to_utf8_bytes(&added.bytes);
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
    added.part.instance = instance_hash(added.part.item.kind, Some(&id));
    added.part.recurrence_id = Some(id);
    added.bytes = bytes;
}

/// Returns true if two components have a time zone of one name that their files define otherwise:
/// an object has one time zone per name, or none.
fn has_other_zone(known: &MergePart, other: &MergePart) -> bool {
    let meaning = |part: &MergePart, tzid: &String| {
        let own = part
            .part
            .item
            .defined_zones
            .iter()
            .find(|(own, _)| own == tzid);
        own.map(|(_, zone)| zone.clone())
    };
    let theirs = &known.part.item.tzids;
    let mut shared = other
        .part
        .item
        .tzids
        .iter()
        .filter(|tzid| theirs.contains(tzid));
    shared.any(|tzid| meaning(known, tzid) != meaning(other, tzid))
}
