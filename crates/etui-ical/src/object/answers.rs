//! The answers of attendees (REPLY, RFC 5546 section 3.2.3), and what a newer message leaves of them.
//!
//! ```text
//! ATTENDEE;PARTSTAT=ACCEPTED;X-ETUI-ANSWERED=SEQUENCE/DTSTAMP:mailto:...
//! ```
//!
//! The parameter keeps the stamp of the answer, so that the newest of an attendee counts in
//! whichever order they arrive, and stays with a component that arrives again. An answer to one time of a
//! series that has no component of its own makes one: a copy of the component that describes it, which is
//! made anew when that one changes.

use etui_contentline::edit::{head_without, own_lines};
use etui_contentline::values::{param_value, property_value};

use super::message::{
    ComponentOrigin, Instance, MergePart, MessageStamp, parse_stamp, write_stamp,
};
use super::series::time_line;
use super::series_edit::{LineEdit, add_line, edit_lines, edit_time, moved};
use super::{CalendarObject, MergeOutcome, ObjectPart, component, instance_hash};
use crate::property_name::PropertyName;
use crate::recurrence::{EventEnd, RecurrenceId, RecurrenceSet, Timing};
use crate::time::{CalendarTime, TimeZone};

const ANSWERED: &str = "X-ETUI-ANSWERED";

/// The answer of one attendee.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    address: String,
    answer: String,
    stamp: MessageStamp,
}

/// A series, from which single times are copied.
pub(super) struct CopiedSeries {
    object: CalendarObject,
    times: RecurrenceSet,
}

impl CopiedSeries {
    pub(super) fn new<'p>(parts: impl IntoIterator<Item = &'p MergePart>) -> Self {
        let object = CalendarObject::of_parts(parts);
        let times = object.recurrence_set();
        Self { object, times }
    }
}

/// Answers to a time of a series that has no component of its own.
pub(super) struct TimeAnswers {
    id: CalendarTime,
    pub(super) instance: Instance,
    answers: Vec<Answer>,
    origin: ComponentOrigin,
}

impl TimeAnswers {
    /// Begins with those of a message; `None` if it is of no time.
    pub(super) fn of_message(new: &MergePart, instance: Instance) -> Option<Self> {
        let id = new.part.item.timing.as_ref()?.recurrence_id.as_ref()?;
        Some(Self {
            id: id.id.clone(),
            instance,
            answers: given_answers(new),
            // No place in a file: it is the copy of a component.
            origin: ComponentOrigin::Message(usize::MAX),
        })
    }

    /// Adds those of another message.
    pub(super) fn add(&mut self, new: &MergePart) {
        self.answers.extend(given_answers(new));
    }

    /// Gives the answers to the component that the time has now.
    pub(super) fn give_to(&self, part: &mut MergePart) {
        apply_answers(part, &self.answers);
    }

    /// Returns the component of that time with the answers; `None` if the series has no such time, or
    /// none of those who answered is asked.
    pub(super) fn component(&self, series: &CopiedSeries) -> Option<MergePart> {
        let mut copy = copied_instance(series, &self.id, self.origin)?;
        (apply_answers(&mut copy, &self.answers) == AnswerOutcome::Changed).then_some(copy)
    }
}

/// What answers changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerOutcome {
    /// No attendee is listed who answered.
    Unasked,
    /// Those who did were asked again since, or answered later.
    Older,
    Known,
    Changed,
}

/// Returns the answers of a REPLY.
fn given_answers(reply: &MergePart) -> Vec<Answer> {
    let stamp = reply.revision().stamp;
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let users = reply.part.item.attendees.iter();
    let each = users.filter_map(|user| {
        let answer = user.answer.clone()?;
        answer.chars().all(is_word).then(|| Answer {
            address: user.address.clone(),
            answer,
            stamp,
        })
    });
    each.collect()
}

/// Returns the answers that were taken over into a component.
pub(super) fn kept_answers(component: &[u8]) -> Vec<Answer> {
    let lines = own_lines(component, None).filter(|line| line.name_is("ATTENDEE"));
    let each = lines.filter_map(|line| {
        let stamp = parse_stamp(&param_value(&line, ANSWERED)?)?;
        let user = component::read_user(&line);
        Some(Answer {
            answer: user.answer?,
            address: user.address,
            stamp,
        })
    });
    each.collect()
}

/// Takes over the answers of a REPLY into the component that they are about.
pub(super) fn reply(known: &mut MergePart, new: &MergePart) -> MergeOutcome {
    match apply_answers(known, &given_answers(new)) {
        AnswerOutcome::Unasked => MergeOutcome::Proposal,
        AnswerOutcome::Older => MergeOutcome::Older,
        AnswerOutcome::Known => MergeOutcome::Known,
        AnswerOutcome::Changed => MergeOutcome::Taken,
    }
}

/// Gives a component that replaced another one the answers that were given to that.
pub(super) fn keep_answers(new: &mut MergePart, answers: &[Answer]) {
    apply_answers(new, answers);
}

fn apply_answers(part: &mut MergePart, answers: &[Answer]) -> AnswerOutcome {
    let sequence = part.part.item.sequence;
    let mut outcome = AnswerOutcome::Unasked;
    for new in answers {
        let mut taken = false;
        part.bytes = edit_lines(&part.bytes, |line| {
            let is_own = line.name_is("ATTENDEE")
                && component::read_user(line)
                    .address
                    .eq_ignore_ascii_case(&new.address);
            if !is_own {
                return LineEdit::Keep;
            }
            let known = param_value(line, ANSWERED).and_then(|text| parse_stamp(&text));
            // One to an earlier SEQUENCE is about another time or place.
            if new.stamp.0 < sequence || known > Some(new.stamp) {
                outcome = outcome.max(AnswerOutcome::Older);
                return LineEdit::Keep;
            }
            if known == Some(new.stamp) {
                outcome = outcome.max(AnswerOutcome::Known);
                return LineEdit::Keep;
            }
            taken = true;
            let head = head_without(line, &["PARTSTAT", "RSVP", ANSWERED]);
            let stamp = write_stamp(new.stamp);
            LineEdit::Replace(format!(
                "{head};PARTSTAT={};{ANSWERED}={stamp}:{}",
                new.answer,
                property_value(line)
            ))
        });
        if taken {
            outcome = AnswerOutcome::Changed;
            for user in &mut part.part.item.attendees {
                if user.address.eq_ignore_ascii_case(&new.address) {
                    user.answer = Some(new.answer.clone());
                }
            }
        }
    }
    outcome
}

impl AnswerOutcome {
    fn max(self, other: Self) -> Self {
        let rank = |outcome| match outcome {
            Self::Unasked => 0,
            Self::Older => 1,
            Self::Known => 2,
            Self::Changed => 3,
        };
        if rank(other) > rank(self) {
            other
        } else {
            self
        }
    }
}

/// Takes out the components that are copies with answers ([`TimeAnswers`]).
pub(super) fn take_copies(parts: &mut Vec<MergePart>, zone: &TimeZone) -> Vec<TimeAnswers> {
    let is_answered = |part: &MergePart| {
        let id = part.part.item.timing.as_ref();
        let id = id.and_then(|timing| timing.recurrence_id.as_ref());
        id.is_some_and(|id| !id.this_and_future)
            && memchr::memmem::find(&part.bytes, ANSWERED.as_bytes()).is_some()
    };
    if !parts.iter().any(is_answered) {
        return Vec::new();
    }
    let all = std::mem::take(parts);
    let (answered, others): (Vec<_>, Vec<_>) = all.into_iter().partition(is_answered);
    let series = CopiedSeries::new(&others);
    *parts = others;
    let mut copies = Vec::new();
    for part in answered {
        let timing = part.part.item.timing.as_ref();
        let id = timing.and_then(|t| t.recurrence_id.as_ref());
        let answers = kept_answers(&part.bytes);
        let instance = part.instance(zone);
        let copy = id.map(|id| TimeAnswers {
            id: id.id.clone(),
            instance,
            answers,
            origin: part.origin,
        });
        match copy {
            // A person has changed it since.
            Some(copy)
                if copy
                    .component(&series)
                    .is_none_or(|made| made.bytes != part.bytes) =>
            {
                parts.push(part);
            }
            Some(copy) => copies.push(copy),
            None => parts.push(part),
        }
    }
    copies
}

/// Returns one time of a series as a component of its own, at its time.
fn copied_instance(
    CopiedSeries { object, times: all }: &CopiedSeries,
    id: &CalendarTime,
    origin: ComponentOrigin,
) -> Option<MergePart> {
    let master = object.master_index();
    let found = all.instance_with_id(id, &TimeZone::UTC)?;
    let mut timed = object.components.iter();
    let part = timed
        .by_ref()
        .filter(|part| part.item.timing.is_some())
        .nth(found.component)?;
    let timing = part.item.timing.as_ref()?;
    let text = &object.text[part.span.clone()];
    let master_text = &object.text[object.components.get(master)?.span.clone()];
    let times = moved(timing, found.start.clone());
    let line = time_line("RECURRENCE-ID", master_text, &found.id);
    let bytes = edit_lines(text, |own| match PropertyName::of_line(own) {
        Some(PropertyName::Start) => edit_time(times.as_ref(), own, true),
        Some(PropertyName::EndTime | PropertyName::Due) => edit_time(times.as_ref(), own, false),
        Some(
            PropertyName::RecurrenceRule
            | PropertyName::RecurrenceDates
            | PropertyName::ExceptDates
            | PropertyName::ExceptRule
            | PropertyName::RecurrenceId,
        ) => LineEdit::Drop,
        // Answers to the series are not to this time, whichever came later.
        Some(PropertyName::Attendee) if param_value(own, ANSWERED).is_some() => {
            let head = head_without(own, &[ANSWERED]);
            LineEdit::Replace(format!("{head}:{}", property_value(own)))
        }
        _ => LineEdit::Keep,
    });
    let bytes = add_line(&bytes, &line);
    let id_text = line.strip_prefix("RECURRENCE-ID").unwrap_or_default();
    let mut item = part.item.clone();
    let mut own = Timing::once(found.start);
    own.end = match (&timing.end, times) {
        (EventEnd::At(_), Some((_, end))) => EventEnd::At(end),
        (end, _) => end.clone(),
    };
    own.recurrence_id = Some(RecurrenceId {
        id: found.id,
        this_and_future: false,
    });
    item.start = Some(own.start.clone());
    if let EventEnd::At(end) = &own.end {
        let times = [&mut item.end, &mut item.due];
        times
            .into_iter()
            .flatten()
            .for_each(|time| *time = end.clone());
    }
    item.timing = Some(own);
    Some(MergePart {
        bytes,
        part: ObjectPart {
            span: 0..0,
            instance: instance_hash(part.item.kind, Some(id_text)),
            recurrence_id: Some(id_text.to_owned()),
            item,
        },
        origin,
    })
}
