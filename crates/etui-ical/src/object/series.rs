//! Single instances of a series: found, as a component, replaced, excluded.
//!
//! An instance is identified by its original start, the value of its `RECURRENCE-ID`, in any time
//! zone ([`CalendarObject::instance_id`] reads one).

use std::borrow::Cow;

use etui_contentline::charset::to_utf8_bytes;
use etui_contentline::edit::{head_without, line_ending, own_lines};

use super::series_edit::add_line;
use super::{CalendarObject, ObjectError, ObjectPart, edit};
use crate::recurrence::{SeriesCut, Timing};
use crate::time::{CalendarTime, DateTimeValue, TimeZone};
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

    /// Returns one instance as an object of one component: the one that overrides it, or the master
    /// component with a `RECURRENCE-ID`, whose start and rules stay those of the series. `None` if
    /// the series has no such instance.
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
            return Self::parse(text, zones).map(Some);
        }
        let Some(cut) = object.cut_at(id).filter(SeriesCut::has_instance) else {
            return Ok(None);
        };
        let master = object.master_text();
        let line = time_line("RECURRENCE-ID", master, &cut.time());
        Self::parse(add_line(master, &line), zones).map(Some)
    }

    /// Replaces the components that describe the same instances as those of `other`, or the master
    /// component, and appends the others.
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
            let text = match place {
                Some(at) => object.rebuild(|i, _, own| match i == at {
                    true => Some(Cow::Borrowed(text)),
                    false => Some(Cow::Borrowed(own)),
                }),
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
    /// component describes it.
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
        let text = object.rebuild(|i, _, own| (i != at).then_some(Cow::Borrowed(own)));
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
            _ if Some(i) == overriding => None,
            _ => Some(Cow::Borrowed(own)),
        });
        *self = Self::parse(text, zones)?;
        Ok(())
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
fn time_line(name: &str, component: &[u8], time: &CalendarTime) -> String {
    let start = own_lines(component, None).find(|line| line.name_is("DTSTART"));
    let (params, value) = match start {
        Some(line) => {
            let head = head_without(&line, &[]);
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
