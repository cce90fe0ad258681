//! [`CalendarQuery`]: the filter of a `calendar-query`, parsed and checked (RFC 4791 sections 7.8, 9.7
//! to 9.9).

use etui::calendar::time::TimeZone;
use etui::calendar::zones::{TimeZoneDefinition, TimeZoneResolver};

use super::component_tree::Component;
use super::error::QueryError;
use super::text_match::TextMatch;
use super::time_range::TimeRange;
use crate::xml::{Element, Namespace};

/// Limit of the conditions of one query. A condition is compared with each calendar object.
const MAX_CONDITIONS: usize = 1_000;

/// Properties that a time range can limit (RFC 4791 section 9.9).
const TIME_PROPERTIES: [&str; 7] = [
    "COMPLETED",
    "CREATED",
    "DTEND",
    "DTSTAMP",
    "DTSTART",
    "DUE",
    "LAST-MODIFIED",
];

/// Components that a time range can limit.
const TIME_COMPONENTS: [&str; 5] = ["VEVENT", "VTODO", "VJOURNAL", "VFREEBUSY", "VALARM"];

/// Components with a fixed place, and the names of the components that they can be in.
const PARENTS: [(&str, &[&str]); 9] = [
    ("VCALENDAR", &[]),
    ("VEVENT", &["VCALENDAR"]),
    ("VTODO", &["VCALENDAR"]),
    ("VJOURNAL", &["VCALENDAR"]),
    ("VFREEBUSY", &["VCALENDAR"]),
    ("VTIMEZONE", &["VCALENDAR"]),
    ("VALARM", &["VEVENT", "VTODO"]),
    ("STANDARD", &["VTIMEZONE"]),
    ("DAYLIGHT", &["VTIMEZONE"]),
];

/// The filter of a `calendar-query`, and the time zone of floating times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalendarQuery {
    /// The condition on the `VCALENDAR`.
    pub(super) calendar: CompFilter,
    /// The time zone that the request gives for dates and floating times.
    pub(super) zone: Option<TimeZone>,
}

impl CalendarQuery {
    /// Returns the time zone of dates and floating times: that of the request, else `zone`, that of the
    /// calendar.
    pub fn zone_or<'q>(&'q self, zone: &'q TimeZone) -> &'q TimeZone {
        self.zone.as_ref().unwrap_or(zone)
    }
}

/// A `comp-filter` element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CompFilter {
    /// The component, in capitals.
    pub(super) name: String,
    pub(super) test: CompTest,
}

/// The condition on a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CompTest {
    /// There is none of this name.
    NotDefined,
    /// There is one for which all of these hold.
    Defined {
        time_range: Option<TimeRange>,
        properties: Vec<PropFilter>,
        components: Vec<CompFilter>,
    },
}

/// A `prop-filter` element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PropFilter {
    /// The property, in capitals.
    pub(super) name: String,
    pub(super) test: PropTest,
}

/// The condition on a property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PropTest {
    /// There is none of this name.
    NotDefined,
    /// There is one for whose value and parameters all of these hold.
    Defined {
        value: ValueTest,
        params: Vec<ParamFilter>,
    },
}

/// The condition on the value of a property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ValueTest {
    Any,
    TimeRange(TimeRange),
    Text(TextMatch),
}

/// A `param-filter` element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ParamFilter {
    pub(super) name: String,
    pub(super) test: ParamTest,
}

/// The condition on a parameter of a property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ParamTest {
    NotDefined,
    Defined(Option<TextMatch>),
}

/// Parses a `calendar-query` report: its filter and the time zone for dates and floating times.
///
/// # Errors
/// [`QueryError::Malformed`] without a filter; the preconditions `valid-filter`, `supported-filter`,
/// `supported-collation`, `valid-calendar-data` (the time zone) and `valid-timezone` (RFC 7809).
pub fn parse_calendar_query(report: &Element) -> Result<CalendarQuery, QueryError> {
    let filter = report
        .child(&Namespace::CalDav, "filter")
        .ok_or_else(|| QueryError::malformed("calendar-query needs a filter"))?;
    let mut parser = FilterParser { conditions: 0 };
    let mut all = filter.children_named(&Namespace::CalDav, "comp-filter");
    let (Some(calendar), None) = (all.next(), all.next()) else {
        return Err(invalid("filter has one comp-filter, that of VCALENDAR"));
    };
    Ok(CalendarQuery {
        calendar: parser.comp_filter(calendar, None)?,
        zone: zone_of_request(report)?,
    })
}

/// Returns the time zone that a report gives for dates and floating times: its `timezone` (RFC 4791
/// section 9.8) or `timezone-id` (RFC 7809).
///
/// # Errors
/// The preconditions `valid-calendar-data` and `valid-timezone`.
pub fn zone_of_request(report: &Element) -> Result<Option<TimeZone>, QueryError> {
    if let Some(id) = report.child(&Namespace::CalDav, "timezone-id") {
        let id = id.text.trim();
        let zone = TimeZoneResolver::new().resolve(id);
        return match zone {
            Some(zone) => Ok(Some(zone)),
            None => Err(QueryError::caldav(
                "valid-timezone",
                "timezone-id is no name of the time zone database",
            )),
        };
    }
    let Some(definition) = report.child(&Namespace::CalDav, "timezone") else {
        return Ok(None);
    };
    match zone_of_object(&definition.text) {
        Some(zone) => Ok(Some(zone)),
        None => Err(QueryError::caldav(
            "valid-calendar-data",
            "timezone is no calendar object with a VTIMEZONE",
        )),
    }
}

/// Returns the time zone of a calendar object with one `VTIMEZONE`, the value of the property
/// `calendar-timezone` (RFC 4791 section 5.2.2).
#[must_use]
pub fn zone_of_object(object: &str) -> Option<TimeZone> {
    let object = object.trim_start();
    let roots = Component::read_all(object);
    let mut all = roots.iter().chain(roots.iter().flat_map(|r| &r.children));
    let zone = all.find(|component| component.is_named("VTIMEZONE"))?;
    let definition = TimeZoneDefinition::parse(object.get(zone.span.clone())?.as_bytes());
    let mut zones = TimeZoneResolver::new();
    zones.define(&definition);
    zones.resolve(&definition.name)
}

fn invalid(detail: impl Into<String>) -> QueryError {
    QueryError::caldav("valid-filter", detail)
}

struct FilterParser {
    conditions: usize,
}

impl FilterParser {
    fn comp_filter(
        &mut self,
        element: &Element,
        parent: Option<&str>,
    ) -> Result<CompFilter, QueryError> {
        self.check(
            element,
            &["is-not-defined", "time-range", "prop-filter", "comp-filter"],
        )?;
        let name = name_of(element)?;
        let place = PARENTS.iter().find(|(component, _)| *component == name);
        let is_in_place = match (parent, place) {
            (None, _) => name == "VCALENDAR",
            (Some(parent), Some((_, parents))) => parents.contains(&parent),
            (Some(_), None) => true,
        };
        if !is_in_place {
            let within = parent.unwrap_or("filter");
            return Err(invalid(format!("{name} cannot be in {within}")));
        }
        if is_not_defined(element)? {
            let test = CompTest::NotDefined;
            return Ok(CompFilter { name, test });
        }
        let time_range = one(element, "time-range")?
            .map(TimeRange::parse)
            .transpose()
            .map_err(invalid)?;
        if time_range.is_some() && !TIME_COMPONENTS.contains(&name.as_str()) {
            return Err(invalid(format!("{name} has no time-range")));
        }
        let properties = element
            .children_named(&Namespace::CalDav, "prop-filter")
            .map(|child| self.prop_filter(child))
            .collect::<Result<_, _>>()?;
        let components = element
            .children_named(&Namespace::CalDav, "comp-filter")
            .map(|child| self.comp_filter(child, Some(&name)))
            .collect::<Result<_, _>>()?;
        Ok(CompFilter {
            name,
            test: CompTest::Defined {
                time_range,
                properties,
                components,
            },
        })
    }

    fn prop_filter(&mut self, element: &Element) -> Result<PropFilter, QueryError> {
        self.check(
            element,
            &["is-not-defined", "time-range", "text-match", "param-filter"],
        )?;
        let name = name_of(element)?;
        if is_not_defined(element)? {
            let test = PropTest::NotDefined;
            return Ok(PropFilter { name, test });
        }
        let value = match (one(element, "time-range")?, one(element, "text-match")?) {
            (None, None) => ValueTest::Any,
            (Some(range), None) => {
                if !TIME_PROPERTIES.contains(&name.as_str()) {
                    return Err(invalid(format!("{name} has no time-range")));
                }
                ValueTest::TimeRange(TimeRange::parse(range).map_err(invalid)?)
            }
            (None, Some(text)) => ValueTest::Text(TextMatch::parse_caldav(text)?),
            (Some(_), Some(_)) => {
                return Err(invalid(
                    "prop-filter has time-range or text-match, not both",
                ));
            }
        };
        let params = element
            .children_named(&Namespace::CalDav, "param-filter")
            .map(|child| self.param_filter(child))
            .collect::<Result<_, _>>()?;
        let test = PropTest::Defined { value, params };
        Ok(PropFilter { name, test })
    }

    fn param_filter(&mut self, element: &Element) -> Result<ParamFilter, QueryError> {
        self.check(element, &["is-not-defined", "text-match"])?;
        let name = name_of(element)?;
        let test = match is_not_defined(element)? {
            true => ParamTest::NotDefined,
            false => {
                let text = one(element, "text-match")?;
                ParamTest::Defined(text.map(TextMatch::parse_caldav).transpose()?)
            }
        };
        Ok(ParamFilter { name, test })
    }

    /// Counts a condition, and refuses children that it cannot have. Elements of other namespaces
    /// are extensions, which are passed over (RFC 4918 section 17).
    fn check(&mut self, element: &Element, children: &[&str]) -> Result<(), QueryError> {
        self.conditions += 1;
        if self.conditions > MAX_CONDITIONS {
            return Err(QueryError::caldav(
                "supported-filter",
                format!("a filter has at most {MAX_CONDITIONS} conditions"),
            ));
        }
        let is_unknown = |child: &&Element| {
            child.ns == Namespace::CalDav && !children.contains(&child.name.as_str())
        };
        match element.children.iter().find(is_unknown) {
            Some(unknown) => Err(invalid(format!(
                "{} cannot be in {}",
                unknown.name, element.name
            ))),
            None => Ok(()),
        }
    }
}

/// Returns the attribute `name` in capitals.
fn name_of(element: &Element) -> Result<String, QueryError> {
    match element.attribute("name").map(str::trim) {
        Some(name) if !name.is_empty() => Ok(name.to_ascii_uppercase()),
        _ => Err(invalid(format!("{} needs a name", element.name))),
    }
}

/// Returns true if a filter has `is-not-defined`, which has to be alone.
fn is_not_defined(element: &Element) -> Result<bool, QueryError> {
    let is_defined = element
        .children_named(&Namespace::CalDav, "is-not-defined")
        .next()
        .is_none();
    let own = element
        .children
        .iter()
        .filter(|child| child.ns == Namespace::CalDav);
    match (is_defined, own.count()) {
        (true, _) => Ok(false),
        (false, 1) => Ok(true),
        (false, _) => Err(invalid("is-not-defined is beside no other condition")),
    }
}

/// Returns the child of this name, of which there may be one.
fn one<'e>(element: &'e Element, name: &'e str) -> Result<Option<&'e Element>, QueryError> {
    let mut all = element.children_named(&Namespace::CalDav, name);
    match (all.next(), all.next()) {
        (_, Some(_)) => Err(invalid(format!(
            "{} has more than one {name}",
            element.name
        ))),
        (first, None) => Ok(first),
    }
}
