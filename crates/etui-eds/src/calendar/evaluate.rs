//! Evaluation of a query on one component: a master component and a changed instance each by itself.

use etui::calendar::recurrence::{RecurrenceSet, Timing};
use etui::calendar::time::{CalendarTime, TimeZone, Timestamp};
use etui::calendar::{CalendarComponent, CalendarUser, Classification, Status};
use etui_contentline::values::unescape_text;

use super::condition::{Comparison, Condition, Operand, Part, TextField, TimeRange};
use super::lines::{has_property, property_values};
use super::search_text::SearchText;

/// Occurrences that `occurrences-count?` counts at most; rules can fire every second.
const MAX_COUNTED: usize = 100_000;

/// A component with its text.
pub(super) struct EvaluatedComponent<'c> {
    component: &'c CalendarComponent,
    text: &'c [u8],
}

impl<'c> EvaluatedComponent<'c> {
    pub(super) fn new(component: &'c CalendarComponent, text: &'c [u8]) -> Self {
        Self { component, text }
    }

    /// Returns the occurrences of this component alone: of a changed instance that one.
    fn recurrence_set(&self) -> Option<RecurrenceSet> {
        let timing = self.component.timing.as_ref()?;
        let own = match &timing.recurrence_id {
            None => timing.clone(),
            Some(_) => Timing {
                end: timing.end.clone(),
                ..Timing::once(timing.start.clone())
            },
        };
        Some(RecurrenceSet::new(&[own]))
    }

    fn has_lines(&self, name: &str) -> bool {
        has_property(self.text, name)
    }
}

/// Returns true if a condition holds for a component; `None` if it cannot be evaluated. As in the
/// stock server, arguments after the deciding one are not looked at.
pub(super) fn holds(condition: &Condition, of: &EvaluatedComponent<'_>) -> Option<bool> {
    let component = of.component;
    Some(match condition {
        Condition::Const(value) => *value,
        Condition::Fault => return None,
        Condition::And(all) => {
            for one in all {
                if !holds(one, of)? {
                    return Some(false);
                }
            }
            !all.is_empty()
        }
        Condition::Or(all) => {
            for one in all {
                if holds(one, of)? {
                    return Some(true);
                }
            }
            false
        }
        Condition::Not(one) => !holds(one, of)?,
        Condition::Compare(comparison, left, right) => compare(*comparison, left, right, of)?,
        Condition::OccursIn(range, zone) => occurs_in(range, zone, of),
        Condition::DueIn(range) => {
            let range = range.seconds();
            let due = component.due_time().as_ref().map(seconds);
            due.is_some_and(|due| range.start <= due && due <= range.end)
        }
        Condition::CompletedBefore(time) => {
            let completed = component.completed.as_ref().map(seconds);
            completed.is_some_and(|at| at < time.seconds())
        }
        Condition::StartsBefore(time) => {
            let start = component.start.as_ref().map(seconds);
            start.is_some_and(|at| at <= time.seconds())
        }
        Condition::Contains(field, text) => contains(*field, text, of),
        Condition::Uid(uid) => {
            let own = component.uid.as_deref().unwrap_or_default();
            uid.eq_ignore_ascii_case(own)
        }
        Condition::Has(part) => has_part(*part, of),
        Condition::HasAlarmsIn(range) => has_alarms_in(range, of),
        Condition::HasCategories(names) => match names.as_slice() {
            [] => component.categories.is_empty(),
            names => names.iter().all(|name| component.categories.contains(name)),
        },
        Condition::IsCompleted => component.status == Some(Status::Completed),
    })
}

/// Returns true if a component has an occurrence in a range. Days are those of UTC, in whichever zone
/// floating times are, and one that begins at the end of the range is in it.
fn occurs_in(range: &TimeRange, zone: &TimeZone, of: &EvaluatedComponent<'_>) -> bool {
    let Some(set) = of.recurrence_set() else {
        return false;
    };
    let mut range = range.instants();
    let start = of.component.timing.as_ref().map(|timing| &timing.start);
    let mut zone = zone;
    if start.is_some_and(CalendarTime::is_date) {
        if range.start < range.end {
            range.end = range.end.plus_seconds(1);
        }
        zone = &TimeZone::UTC;
    }
    set.between(range, zone).next().is_some()
}

fn has_part(part: Part, of: &EvaluatedComponent<'_>) -> bool {
    let component = of.component;
    match part {
        Part::Start => component.start.is_some(),
        Part::End => component.end.is_some(),
        Part::Due => component.due.is_some(),
        Part::Duration => component.duration.is_some(),
        Part::Alarms => !component.alarms.is_empty(),
        Part::Recurrences => component.recurs() || component.is_override(),
        Part::Attachments => of.has_lines("ATTACH"),
    }
}

fn compare(
    comparison: Comparison,
    left: &Operand,
    right: &Operand,
    of: &EvaluatedComponent<'_>,
) -> Option<bool> {
    let order = match (left, right) {
        (Operand::Text(a), Operand::Text(b)) => a.cmp(b),
        (Operand::Condition(a), Operand::Condition(b)) => holds(a, of)?.cmp(&holds(b, of)?),
        (a, b) => number(a, of).cmp(&number(b, of)),
    };
    Some(match comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::Less => order.is_lt(),
        Comparison::Greater => order.is_gt(),
    })
}

fn number(operand: &Operand, of: &EvaluatedComponent<'_>) -> i64 {
    match operand {
        Operand::Number(number) => *number,
        Operand::Time(time) => time.seconds(),
        // A component without the property is at -1 percent.
        Operand::PercentComplete => of.component.percent.map_or(-1, i64::from),
        Operand::Occurrences(range) => count_occurrences(range.as_ref(), of),
        Operand::Text(_) | Operand::Condition(_) => 0,
    }
}

fn count_occurrences(range: Option<&TimeRange>, of: &EvaluatedComponent<'_>) -> i64 {
    let Some(set) = of.recurrence_set() else {
        return 0;
    };
    let range = range.map_or(Timestamp::MIN..Timestamp::MAX, TimeRange::instants);
    let all = set.between(range, &TimeZone::UTC).take(MAX_COUNTED);
    i64::try_from(all.count()).unwrap_or(i64::MAX)
}

/// Returns true if an alarm of an occurrence is due in a range.
fn has_alarms_in(range: &TimeRange, of: &EvaluatedComponent<'_>) -> bool {
    let Some(set) = of
        .recurrence_set()
        .filter(|_| !of.component.alarms.is_empty())
    else {
        return false;
    };
    let range = range.instants();
    // An alarm can be due long before or after its occurrence; longer than this is not looked for.
    const REACH: i64 = 366 * 86_400;
    let around = range.start.plus_seconds(-REACH)..range.end.plus_seconds(REACH);
    let mut occurrences = set.between(around, &TimeZone::UTC).take(MAX_COUNTED);
    occurrences.any(|occurrence| {
        of.component.alarms.iter().any(|alarm| {
            let mut due = alarm.due(&occurrence.start, &occurrence.end, &TimeZone::UTC);
            due.any(|at| range.contains(&at))
        })
    })
}

fn contains(field: TextField, text: &SearchText, of: &EvaluatedComponent<'_>) -> bool {
    let component = of.component;
    let has = |value: &str| text.is_in(value);
    let has_text = |value: &Option<String>| value.as_deref().is_some_and(has);
    let has_user = |user: &CalendarUser| has_text(&user.name);
    let has_value = |name| {
        property_values(of.text, name)
            .iter()
            .any(|value| has(value))
    };
    match field {
        TextField::Any => [
            TextField::Comment,
            TextField::Description,
            TextField::Summary,
            TextField::Location,
        ]
        .into_iter()
        .any(|field| contains(field, text, of)),
        TextField::Comment => {
            let comments = property_values(of.text, "COMMENT");
            comments.iter().any(|comment| has(&unescape_text(comment)))
        }
        TextField::Description => has_text(&component.description),
        TextField::Summary => has_text(&component.summary),
        TextField::Location => has_text(&component.location),
        TextField::Attendee => has_value("ATTENDEE") || component.attendees.iter().any(has_user),
        TextField::Organizer => match &component.organizer {
            Some(organizer) => has_value("ORGANIZER") || has_user(organizer),
            None => has(""),
        },
        // These are compared exactly.
        TextField::Classification => text.is_exactly(match component.class {
            Classification::Public => "Public",
            Classification::Private => "Private",
            Classification::Confidential => "Confidential",
        }),
        TextField::Status => text.is_exactly(status_name(component.status)),
        TextField::Priority => text.is_exactly(priority_name(component.priority)),
    }
}

/// Returns the name of a status in queries. A component without one is not started.
fn status_name(status: Option<Status>) -> &'static str {
    match status {
        None => "NOT STARTED",
        Some(Status::Completed) => "COMPLETED",
        Some(Status::Cancelled) => "CANCELLED",
        Some(Status::InProcess) => "IN PROGRESS",
        Some(Status::NeedsAction) => "NEEDS ACTION",
        Some(Status::Tentative) => "TENTATIVE",
        Some(Status::Confirmed) => "CONFIRMED",
        Some(Status::Draft) => "DRAFT",
        Some(Status::Final) => "FINAL",
    }
}

fn priority_name(priority: Option<u8>) -> &'static str {
    match priority {
        None | Some(0) => "UNDEFINED",
        Some(1..=4) => "HIGH",
        Some(5) => "NORMAL",
        Some(_) => "LOW",
    }
}

/// Returns the instant of a time; days and floating times are those of UTC.
fn seconds(time: &CalendarTime) -> i64 {
    time.at(&TimeZone::UTC).seconds()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use etui::calendar::CalendarObject;
    use etui::calendar::zones::TimeZoneResolver;

    use super::super::query::CalendarQuery;
    use super::super::reading::matching_components;

    const OBJECT: &str = "BEGIN:VEVENT\r\nUID:Uid-1\r\nSUMMARY:Müsli-Frühstück\r\n\
        DTSTART:20190101T080000Z\r\nDTEND:20190101T090000Z\r\nRRULE:FREQ=DAILY;COUNT=5\r\n\
        CATEGORIES:Food,Home\r\nATTENDEE;CN=Ada:mailto:ada@example.org\r\nPRIORITY:3\r\n\
        COMMENT:bring\\, spoons\r\nBEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER:-PT1H\r\nEND:VALARM\r\n\
        END:VEVENT\r\n\
        BEGIN:VEVENT\r\nUID:Uid-1\r\nRECURRENCE-ID:20190103T080000Z\r\n\
        DTSTART:20190120T080000Z\r\nSUMMARY:Late\r\nSTATUS:TENTATIVE\r\nEND:VEVENT\r\n";

    /// The numbers of the matching components; `None` if the query is refused.
    fn ask(query: &str) -> Option<Vec<String>> {
        let zones = TimeZoneResolver::new();
        let query = CalendarQuery::parse(query, &zones).ok()?;
        let object = CalendarObject::parse(OBJECT, &zones).unwrap();
        let found = matching_components(&object, &query).into_iter();
        Some(found.map(|component| component.instance).collect())
    }

    #[test]
    fn each_component_is_asked_by_itself() {
        let (master, changed) = ("", "20190103T080000Z");
        let cases: &[(&str, &[&str])] = &[
            ("#t", &[master, changed]),
            ("#f", &[]),
            ("(contains? \"summary\" \"MUSLI\")", &[master]),
            ("(contains? \"any\" \"spoons\")", &[master]),
            ("(contains? \"attendee\" \"ada\")", &[master]),
            ("(contains? \"status\" \"TENTATIVE\")", &[changed]),
            ("(contains? \"priority\" \"HIGH\")", &[master]),
            ("(contains? \"priority\" \"high\")", &[]),
            ("", &[]),
            ("(and)", &[]),
            ("(not)", &[master, changed]),
            ("(not (contains? \"summary\"))", &[]),
            ("(or #t (contains? \"summary\"))", &[master, changed]),
            ("(make-time \"20190102T065900Z\")", &[]),
            ("(= 1 \"1\")", &[]),
            ("(not (contains? \"any\" \"late\"))", &[master]),
            ("(uid? \"uid-1\")", &[master, changed]),
            (
                "(occur-in-time-range? (make-time \"20190103T080000Z\") \
                 (make-time \"20190103T090000Z\"))",
                &[master],
            ),
            (
                "(and (occur-in-time-range? (make-time \"20190120T000000Z\") \
                 (time-add-day (make-time \"20190120T000000Z\") 1) \"Europe/Berlin\") #t)",
                &[changed],
            ),
            ("(= (occurrences-count?) -1)", &[master, changed]),
            (
                "(and (= (occurrences-count?) 2) (occur-in-time-range? \
                 (make-time \"20190102T000000Z\") (make-time \"20190104T000000Z\")))",
                &[master],
            ),
            (
                "(> (occurrences-count? (make-time \"20190102T000000Z\") \
                 (make-time \"20190104T000000Z\")) 1)",
                &[master],
            ),
            (
                "(starts-before? (make-time \"20190102T000000Z\"))",
                &[master],
            ),
            ("(has-categories? \"Food\" \"Home\")", &[master]),
            ("(has-categories? \"food\")", &[]),
            ("(has-categories? #f)", &[changed]),
            (
                "(or (has-alarms?) (has-due?) (has-attachments?))",
                &[master],
            ),
            (
                "(has-alarms-in-range? (make-time \"20190102T065900Z\") \
                 (make-time \"20190102T070100Z\"))",
                &[master],
            ),
            ("(has-recurrences?)", &[master, changed]),
            ("(and (has-start?) (not (has-end?)))", &[changed]),
            ("(< (percent-complete?) 0)", &[master, changed]),
            (
                "(< (make-time \"20190102T065900Z\") (time-now))",
                &[master, changed],
            ),
            ("(is-completed?)", &[]),
            ("(= \"a\" \"a\")", &[master, changed]),
            ("(completed-before? (time-day-end (time-now)))", &[]),
        ];
        for (query, expected) in cases {
            assert_eq!(
                ask(query).as_deref(),
                Some(&expected.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>()[..]),
                "{query}"
            );
        }
    }

    #[test]
    fn wrong_queries_are_refused() {
        for query in [
            "(",
            ")",
            "(unknown?)",
            "(not (unknown?))",
            "(contains? (unknown?))",
            "x",
        ] {
            assert_eq!(ask(query), None, "{query}");
        }
    }
}
