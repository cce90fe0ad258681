//! Single instances of a series: found, as a component, replaced, excluded.
//!
//! An instance is identified by its original start, the value of its `RECURRENCE-ID`, in any time
//! zone ([`CalendarObject::instance_id`] reads one).

use std::borrow::Cow;

use etui_contentline::charset::to_utf8_bytes;
use etui_contentline::edit::{line_ending, own_lines};

use super::series_edit::{LineEdit, add_line, edit_lines, edit_time, moved};
use super::{CalendarObject, ObjectError, ObjectPart, edit};
use crate::property_name::PropertyName;
use crate::recurrence::{SeriesCut, Timing};
use crate::time::{CalendarTime, DateTimeValue, TimeZone};
use crate::timing_reader::{time_head, time_value};
use crate::zones::TimeZoneResolver;

impl CalendarObject {
    /// Parses the value of a `RECURRENCE-ID` (without parameters). A local time is in the time zone
    /// of the series.
    #[must_use]
    pub fn instance_id(&self, value: &str) -> Option<CalendarTime> {
        let value: DateTimeValue = value.parse().ok()?;
        let master = self.series_timing().map(|timing| &timing.start);
        let first = || {
            let ids = self.components().filter_map(|c| c.timing.as_ref());
            ids.filter_map(|t| t.recurrence_id.as_ref())
                .map(|r| &r.id)
                .next()
        };
        let zone = master.or_else(first).and_then(CalendarTime::zone);
        Some(value.in_zone(zone))
    }

    /// Returns the index of the component that overrides an instance.
    #[must_use]
    pub fn find_override(&self, id: &CalendarTime) -> Option<usize> {
        let cut = self.cut_at(id);
        self.components.iter().position(|part| {
            let own = part
                .item
                .timing
                .as_ref()
                .and_then(|t| t.recurrence_id.as_ref());
            own.is_some_and(|own| is_same(cut.as_ref(), &own.id, id))
        })
    }

    /// Returns true if the series has this instance: a component overrides it, or rules and dates
    /// yield it.
    #[must_use]
    pub fn has_instance(&self, id: &CalendarTime) -> bool {
        self.find_override(id).is_some() || self.cut_at(id).is_some_and(|cut| cut.has_instance())
    }

    /// Returns true if no instance of the rules and dates is before this one.
    #[must_use]
    pub fn is_first_instance(&self, id: &CalendarTime) -> bool {
        let (Some(cut), Some(timing)) = (self.cut_at(id), self.series_timing()) else {
            return false;
        };
        let mut dates = timing.dates.iter().map(|date| &date.start);
        !cut.is_before(&timing.start) && !dates.any(|date| cut.is_before(date))
    }

    /// Returns one instance as an object of one component, which is a copy of the one that describes
    /// it: the component that overrides it; else the last one before it that overrides all later
    /// instances (`RANGE=THISANDFUTURE`), at the instance's time and without the `RANGE`; else the
    /// master component with a `RECURRENCE-ID`, whose start and rules stay those of the series. `None`
    /// if the series has no such instance.
    ///
    /// ```
    /// # use etui_ical::{CalendarObject, zones::TimeZoneResolver};
    /// let zones = TimeZoneResolver::new();
    /// let daily = CalendarObject::parse(
    ///     "BEGIN:VEVENT\r\nUID:1\r\nDTSTART;TZID=Europe/Berlin:20261201T090000\r\n\
    ///      RRULE:FREQ=DAILY;COUNT=10\r\nEND:VEVENT\r\n",
    ///     &zones,
    /// )?;
    /// let third = daily.instance_id("20261203T090000").expect("a time");
    /// let text = daily.instance(&third, &zones)?.expect("an instance").into_text();
    /// assert!(String::from_utf8_lossy(&text)
    ///     .contains("RECURRENCE-ID;TZID=Europe/Berlin:20261203T090000\r\n"));
    /// # Ok::<(), etui_ical::ObjectError>(())
    /// ```
    ///
    /// # Errors
    /// [`ObjectError::TooLarge`].
    pub fn instance(
        &self,
        id: &CalendarTime,
        zones: &TimeZoneResolver,
    ) -> Result<Option<Self>, ObjectError> {
        let object = self.in_utf8(zones)?;
        if let Some(at) = object.find_override(id) {
            let text = object.component_texts().nth(at).unwrap_or_default();
            return match object.is_this_and_future(at) {
                true => Self::parse(without_range(text), zones).map(Some),
                false => Self::parse(text, zones).map(Some),
            };
        }
        let Some(cut) = object.cut_at(id).filter(SeriesCut::has_instance) else {
            return Ok(None);
        };
        let instance = object
            .recurrence_set()
            .instance_with_id(id, &TimeZone::UTC)
            .and_then(|found| {
                let all = object.components.iter().enumerate();
                let mut timed = all.filter(|(_, part)| part.item.timing.is_some());
                let (at, _) = timed.nth(found.component)?;
                (at != object.master_index()).then_some((at, found))
            });
        if let Some((at, found)) = instance {
            let text = object.moved_override(at, "RECURRENCE-ID", &cut.time(), found.start);
            return Self::parse(text, zones).map(Some);
        }
        let master = object.master_text();
        let line = time_line("RECURRENCE-ID", master, &cut.time());
        Self::parse(add_line(master, &line), zones).map(Some)
    }

    /// Replaces the components that describe the same instances as those of `other`, or the master
    /// component, and appends the others. A component that overrides all later instances, too
    /// (`RANGE=THISANDFUTURE`), begins at the next instance if that of `other` overrides only one.
    ///
    /// # Errors
    /// [`ObjectError::Several`] if the UIDs differ; [`ObjectError::TooLarge`].
    pub fn replace_components(
        &mut self,
        other: &Self,
        zones: &TimeZoneResolver,
    ) -> Result<(), ObjectError> {
        if self.uid() != other.uid() {
            return Err(ObjectError::Several);
        }
        let mut object = self.in_utf8(zones)?.into_owned();
        let other = other.in_utf8(zones)?;
        for new in &other.components {
            let text = &other.text[new.span.clone()];
            let place = match new
                .item
                .timing
                .as_ref()
                .and_then(|t| t.recurrence_id.as_ref())
            {
                Some(own) => object.find_override(&own.id),
                None => object
                    .components
                    .iter()
                    .position(|c| c.recurrence_id.is_none()),
            };
            let is_single = new
                .item
                .timing
                .as_ref()
                .and_then(|t| t.recurrence_id.as_ref())
                .is_some_and(|own| !own.this_and_future);
            let text = match place {
                Some(at) => {
                    let later = is_single.then(|| object.rest_of_override(at)).flatten();
                    let mut all = object.rebuild(|i, _, own| match i == at {
                        true => Some(Cow::Borrowed(text)),
                        false => Some(Cow::Borrowed(own)),
                    });
                    if let Some(later) = later {
                        push_component(&mut all, &later);
                    }
                    all
                }
                None => {
                    let mut all = object.text.clone();
                    push_component(&mut all, text);
                    all
                }
            };
            object = Self::parse(text, zones)?;
        }
        *self = object;
        Ok(())
    }

    /// Removes the component that overrides an instance. The instance is then again as the master
    /// component describes it. A component that overrides all later instances, too, begins at the
    /// next one.
    ///
    /// # Errors
    /// [`ObjectError::NoInstance`] if none does; [`ObjectError::Empty`] if it is the only
    /// component. The object is then unchanged.
    pub fn remove_override(
        &mut self,
        id: &CalendarTime,
        zones: &TimeZoneResolver,
    ) -> Result<(), ObjectError> {
        let object = self.in_utf8(zones)?;
        let Some(at) = object.find_override(id) else {
            return Err(no_instance(id));
        };
        if object.components.len() == 1 {
            return Err(ObjectError::Empty);
        }
        let text = object.rebuild(|i, _, own| match i == at {
            true => object.rest_of_override(at).map(Cow::Owned),
            false => Some(Cow::Borrowed(own)),
        });
        *self = Self::parse(text, zones)?;
        Ok(())
    }

    /// Removes an instance: its `EXDATE` is added, and the component that overrides it removed.
    ///
    /// # Errors
    /// [`ObjectError::NoInstance`]; [`ObjectError::Empty`] if nothing would be left. The object is
    /// then unchanged.
    pub fn exclude_instance(
        &mut self,
        id: &CalendarTime,
        zones: &TimeZoneResolver,
    ) -> Result<(), ObjectError> {
        let object = self.in_utf8(zones)?;
        let overriding = object.find_override(id);
        let Some(cut) = object.cut_at(id) else {
            return self.remove_override(id, zones);
        };
        if !cut.has_instance() {
            return self.remove_override(id, zones);
        }
        let master = object.master_index();
        let text = object.rebuild(|i, _, own| match i {
            _ if i == master => {
                let line = time_line("EXDATE", own, &cut.time());
                Some(Cow::Owned(add_line(own, &line)))
            }
            _ if Some(i) == overriding => object.rest_of_override(i).map(Cow::Owned),
            _ => Some(Cow::Borrowed(own)),
        });
        *self = Self::parse(text, zones)?;
        Ok(())
    }

    fn is_this_and_future(&self, at: usize) -> bool {
        let timing = self
            .components
            .get(at)
            .and_then(|part| part.item.timing.as_ref());
        let id = timing.and_then(|timing| timing.recurrence_id.as_ref());
        id.is_some_and(|id| id.this_and_future)
    }

    /// Returns the component that overrides an instance and all later ones, begun at the next instance
    /// that it describes; `None` if there is none, or if it overrides one instance.
    fn rest_of_override(&self, at: usize) -> Option<Vec<u8>> {
        if !self.is_this_and_future(at) {
            return None;
        }
        let timing = self.components.get(at)?.item.timing.as_ref()?;
        let id = &timing.recurrence_id.as_ref()?.id;
        let next = self.recurrence_set().next_in_segment(id)?;
        let name = "RECURRENCE-ID;RANGE=THISANDFUTURE";
        Some(self.moved_override(at, name, &next.id, next.start))
    }

    /// Returns an override with another original start, whose line begins with `name`, and another
    /// start.
    fn moved_override(
        &self,
        at: usize,
        name: &str,
        id: &CalendarTime,
        start: CalendarTime,
    ) -> Vec<u8> {
        let text = self.component_texts().nth(at).unwrap_or_default();
        let times = self.components.get(at);
        let times = times.and_then(|part| moved(part.item.timing.as_ref()?, start));
        edit_lines(text, |line| match PropertyName::of_line(line) {
            Some(PropertyName::RecurrenceId) => {
                LineEdit::Replace(time_line(name, self.master_text(), id))
            }
            Some(PropertyName::Start) => edit_time(times.as_ref(), line, true),
            Some(PropertyName::EndTime | PropertyName::Due) => {
                edit_time(times.as_ref(), line, false)
            }
            _ => LineEdit::Keep,
        })
    }

    /// Returns the times of the master component, if it overrides no instance.
    pub(super) fn series_timing(&self) -> Option<&Timing> {
        let timing = self.master().timing.as_ref()?;
        timing.recurrence_id.is_none().then_some(timing)
    }

    pub(super) fn cut_at(&self, id: &CalendarTime) -> Option<SeriesCut> {
        Some(SeriesCut::new(self.series_timing()?, id))
    }

    fn master_text(&self) -> &[u8] {
        &self.text[self.components[self.master_index()].span.clone()]
    }

    /// Returns the object with text whose lines can be edited.
    pub(super) fn in_utf8(&self, zones: &TimeZoneResolver) -> Result<Cow<'_, Self>, ObjectError> {
        match to_utf8_bytes(&self.text) {
            Cow::Borrowed(_) => Ok(Cow::Borrowed(self)),
            Cow::Owned(text) => Self::parse(text, zones).map(Cow::Owned),
        }
    }

    /// Returns the text with each component replaced by the result of `edit`; `None` removes it.
    pub(super) fn rebuild<'t>(
        &'t self,
        mut edit: impl FnMut(usize, &ObjectPart, &'t [u8]) -> Option<Cow<'t, [u8]>>,
    ) -> Vec<u8> {
        let mut text = Vec::with_capacity(self.text.len() + 64);
        for (i, part) in self.components.iter().enumerate() {
            if let Some(new) = edit(i, part, &self.text[part.span.clone()]) {
                push_component(&mut text, &new);
            }
        }
        text
    }
}

/// Appends a component on a line of its own.
fn push_component(text: &mut Vec<u8>, component: &[u8]) {
    if !matches!(text.last(), None | Some(b'\n' | b'\r')) {
        let ending = line_ending(text);
        text.extend_from_slice(ending);
    }
    text.extend_from_slice(component);
}

/// Returns an override without the `RANGE` of its `RECURRENCE-ID`.
fn without_range(component: &[u8]) -> Vec<u8> {
    edit_lines(component, |line| match PropertyName::of_line(line) {
        Some(PropertyName::RecurrenceId) => LineEdit::Replace(format!(
            "{}:{}",
            time_head(line, &["RANGE"]),
            time_value(line)
        )),
        _ => LineEdit::Keep,
    })
}

fn is_same(cut: Option<&SeriesCut>, own: &CalendarTime, id: &CalendarTime) -> bool {
    match cut {
        Some(cut) => cut.is_at(own),
        None => own == id || own.at(&TimeZone::UTC) == id.at(&TimeZone::UTC),
    }
}

pub(super) fn no_instance(id: &CalendarTime) -> ObjectError {
    ObjectError::NoInstance(id.value().to_string())
}

/// Returns a property with a time in the form of the component's `DTSTART`, with its `TZID` as
/// written.
pub(super) fn time_line(name: &str, component: &[u8], time: &CalendarTime) -> String {
    let start = own_lines(component, None).find(|line| line.name_is("DTSTART"));
    let (params, value) = match start {
        Some(line) => {
            let head = time_head(&line, &[]);
            let params = head.find(';').and_then(|at| head.get(at..));
            (
                params.unwrap_or_default().to_owned(),
                time.value().to_string(),
            )
        }
        None => edit::format_time(time),
    };
    format!("{name}{params}:{value}")
}
