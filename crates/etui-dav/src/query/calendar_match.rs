//! Evaluation of a [`CalendarQuery`] on one calendar object.

use std::cell::OnceCell;

use etui::calendar::time::TimeZone;
use etui::calendar::zones::TimeZoneResolver;
use etui_contentline::charset::to_utf8;
use etui_contentline::lines::ContentLine;
use etui_contentline::values::{param_value, property_value, unescape_text};

use super::calendar_query::{
    CalendarQuery, CompFilter, CompTest, ParamFilter, ParamTest, PropFilter, PropTest, ValueTest,
};
use super::component_tree::Component;
use super::time_range::TimeRange;
use super::times::{InstanceBudget, ObjectTimes};

/// The components of a record, which a store keeps in calendar objects.
pub(super) const RECORD_COMPONENTS: [&str; 3] = crate::kind::COMPONENTS;

impl CalendarQuery {
    /// Returns true if the filter holds for a calendar object: one `VCALENDAR`, or its components
    /// alone, of which conditions on the `VCALENDAR` and its other components do not hold.
    ///
    /// `zones` are those of the object. Dates and floating times are in the time zone of the request,
    /// else in `zone`.
    #[must_use]
    pub fn matches(&self, object: &[u8], zones: &TimeZoneResolver, zone: &TimeZone) -> bool {
        self.matches_within(&InstanceBudget::default(), object, zones, zone)
    }

    /// Returns the result of [`matches`](Self::matches), with the instances that it examines taken from
    /// a budget.
    pub(super) fn matches_within(
        &self,
        budget: &InstanceBudget,
        object: &[u8],
        zones: &TimeZoneResolver,
        zone: &TimeZone,
    ) -> bool {
        let text = to_utf8(object);
        let roots = Component::read_all(&text);
        let calendar = roots.iter().find(|root| root.is_named("VCALENDAR"));
        let components = calendar.map_or(&roots[..], |calendar| &calendar.children);
        let scope = ObjectScope {
            budget,
            components,
            text: &text,
            zones,
            display_zone: self.zone_or(zone),
            times: OnceCell::new(),
        };
        match &self.calendar.test {
            // Every object is in a VCALENDAR.
            CompTest::NotDefined => false,
            CompTest::Defined {
                properties,
                components,
                ..
            } => {
                let lines = calendar.map_or(&[][..], |calendar| &calendar.lines);
                properties
                    .iter()
                    .all(|property| scope.has_property(property, lines))
                    && components
                        .iter()
                        .all(|component| scope.has_component(component))
            }
        }
    }

    /// Returns true if the filter has conditions on more than the components of a record.
    pub(super) fn needs_whole_object(&self) -> bool {
        match &self.calendar.test {
            CompTest::NotDefined => false,
            CompTest::Defined {
                properties,
                components,
                ..
            } => {
                let is_outside =
                    |filter: &CompFilter| !RECORD_COMPONENTS.contains(&filter.name.as_str());
                !properties.is_empty() || components.iter().any(is_outside)
            }
        }
    }

    /// Returns true if the filter has a time range.
    pub(super) fn has_time_range(&self) -> bool {
        has_time_range(&self.calendar)
    }
}

fn has_time_range(filter: &CompFilter) -> bool {
    match &filter.test {
        CompTest::NotDefined => false,
        CompTest::Defined {
            time_range,
            properties,
            components,
        } => {
            let is_range = |filter: &PropFilter| {
                matches!(
                    filter.test,
                    PropTest::Defined {
                        value: ValueTest::TimeRange(_),
                        ..
                    }
                )
            };
            time_range.is_some()
                || properties.iter().any(is_range)
                || components.iter().any(has_time_range)
        }
    }
}

/// The components of one calendar object.
struct ObjectScope<'o> {
    budget: &'o InstanceBudget,
    components: &'o [Component<'o>],
    text: &'o str,
    zones: &'o TimeZoneResolver,
    display_zone: &'o TimeZone,
    times: OnceCell<ObjectTimes<'o>>,
}

/// The component around an alarm: its index.
type Parent = Option<usize>;

impl<'o> ObjectScope<'o> {
    fn times(&self) -> &ObjectTimes<'o> {
        self.times.get_or_init(|| {
            let (components, text) = (self.components, self.text);
            ObjectTimes::new(components, text, self.zones, self.display_zone, self.budget)
        })
    }

    fn has_component(&self, filter: &CompFilter) -> bool {
        let mut all = self.components.iter().enumerate();
        match &filter.test {
            CompTest::NotDefined => !all.any(|(_, one)| one.is_named(&filter.name)),
            CompTest::Defined { .. } => {
                all.any(|(at, one)| self.holds(filter, one, Some(at), None))
            }
        }
    }

    /// Returns true if a condition holds for a component, which is number `at` of the object, or is
    /// within number `parent`.
    fn holds(
        &self,
        filter: &CompFilter,
        component: &Component<'_>,
        at: Option<usize>,
        parent: Parent,
    ) -> bool {
        let CompTest::Defined {
            time_range,
            properties,
            components,
        } = &filter.test
        else {
            return false;
        };
        component.is_named(&filter.name)
            && properties.iter().all(|property| {
                self.has_property(property, &component.lines)
                    || self.has_effective_end(property, component, at)
            })
            && components
                .iter()
                .all(|nested| self.has_nested(nested, component, at.or(parent)))
            && time_range.is_none_or(|range| match (at, parent) {
                (Some(at), _) => self.times().overlaps(at, component, &range),
                (None, Some(parent)) => self.times().alarm_overlaps(parent, component, &range),
                (None, None) => false,
            })
    }

    fn has_nested(&self, filter: &CompFilter, within: &Component<'_>, parent: Parent) -> bool {
        let mut all = within.children.iter();
        match &filter.test {
            CompTest::NotDefined => !all.any(|nested| nested.is_named(&filter.name)),
            CompTest::Defined { .. } => all.any(|nested| self.holds(filter, nested, None, parent)),
        }
    }

    fn has_property(&self, filter: &PropFilter, lines: &[ContentLine<'_>]) -> bool {
        // Group names are of vCard, not of iCalendar.
        let is_wanted =
            |line: &&ContentLine<'_>| line.group.is_none() && line.name_is(&filter.name);
        let mut lines = lines.iter().filter(is_wanted);
        match &filter.test {
            PropTest::NotDefined => lines.next().is_none(),
            PropTest::Defined { value, params } => lines.any(|line| {
                let holds = match value {
                    ValueTest::Any => true,
                    ValueTest::TimeRange(range) => self.times().property_overlaps(line, range),
                    ValueTest::Text(text) => text.matches(&unescape_text(&property_value(line))),
                };
                holds && params.iter().all(|param| has_param(param, line))
            }),
        }
    }

    /// Returns true if a time range of `DTEND` or `DUE` holds for the end that `DTSTART` and
    /// `DURATION` of a component give.
    fn has_effective_end(
        &self,
        filter: &PropFilter,
        component: &Component<'_>,
        at: Option<usize>,
    ) -> bool {
        let end = match () {
            () if component.is_named("VEVENT") => "DTEND",
            () if component.is_named("VTODO") => "DUE",
            () => return false,
        };
        match (&filter.test, at) {
            (
                PropTest::Defined {
                    value: ValueTest::TimeRange(range),
                    params,
                },
                Some(at),
            ) => {
                filter.name == end
                    && !component.has(end)
                    && params.iter().all(|one| one.test == ParamTest::NotDefined)
                    && self.times().effective_end_overlaps(at, range)
            }
            _ => false,
        }
    }
}

fn has_param(filter: &ParamFilter, line: &ContentLine<'_>) -> bool {
    match (&filter.test, param_value(line, &filter.name)) {
        (ParamTest::NotDefined, value) => value.is_none(),
        (ParamTest::Defined(_), None) => false,
        (ParamTest::Defined(text), Some(value)) => {
            text.as_ref().is_none_or(|text| text.matches(&value))
        }
    }
}

/// Returns the time range and the name of the component if a filter asks for nothing else.
pub(super) fn only_time_range(query: &CalendarQuery) -> Option<(&str, TimeRange)> {
    let CompTest::Defined {
        properties,
        components,
        ..
    } = &query.calendar.test
    else {
        return None;
    };
    let [one] = &components[..] else {
        return None;
    };
    match &one.test {
        CompTest::Defined {
            time_range: Some(range),
            properties: own,
            components: nested,
        } if properties.is_empty() && own.is_empty() && nested.is_empty() => {
            Some((&one.name, *range))
        }
        _ => None,
    }
}
