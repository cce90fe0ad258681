//! [`find`]: the records of a calendar that match a query.
//!
//! ```text
//! filter ── candidates ── each text read and evaluated, one in memory at a time ── ids
//!           │
//!           ├─ VEVENT by time          the range index, whose answer is exact: no text is read
//!           ├─ VTODO, VJOURNAL by time the range index, and the to-dos without a time
//!           ├─ DTSTART by time         the range index
//!           ├─ VALARM by time          records with alarms
//!           ├─ SUMMARY, LOCATION       the search index, for ASCII letters, digits and blanks
//!           ├─ VEVENT, VTODO, ...      the search index
//!           └─ otherwise               all records
//! ```
//!
//! The search index folds texts further than collations do and keeps the first 8 KiB of a text.

use std::ops::Range;

use etui::RecordId;
use etui::calendar::ics::ComponentKind;
use etui::calendar::time::{TimeZone, Timestamp};
use etui::calendar::zones::TimeZoneResolver;
use etui::calendar::{Column, Field, Filter, Query, Reader};
use etui::record::Paging;
use etui::resource::StoredResource;
use etui::search::filter::MatchMode;
use etui::search::query::SortOrder;

use super::calendar_match::{RECORD_COMPONENTS, only_time_range};
use super::calendar_query::{CalendarQuery, CompFilter, CompTest, PropFilter, PropTest, ValueTest};
use super::error::QueryError;
use super::expand::zones_of_object;
use super::times::InstanceBudget;

/// Records of a page when ids are read from the list or the index.
const PAGE: u64 = 4_096;

/// Where the records are that can match.
#[derive(Debug, Clone, PartialEq)]
enum Candidates {
    /// Nowhere.
    Nothing,
    /// Those with an occurrence in a range.
    Between(Range<Timestamp>),
    /// Those with an occurrence in a range, and those without a time.
    BetweenOrUndated(Range<Timestamp>),
    /// Those that a filter of the library finds.
    Filter(Filter),
    /// Those with alarms.
    WithAlarms,
    /// Anywhere.
    All,
}

/// Returns the records that match a query, in the order in which they were added. Dates and floating
/// times are in the time zone of the query, else in `zone`.
///
/// Memory holds one record and the ids. A query examines about a million instances, of one component at
/// most 10,000, then 1,024 of each further component; one with more instances before a match counts as
/// matching.
///
/// # Errors
/// [`QueryError::Store`].
pub fn find(
    reader: &Reader,
    query: &CalendarQuery,
    zone: &TimeZone,
) -> Result<Vec<RecordId>, QueryError> {
    let zone = query.zone_or(zone);
    if let Some(("VEVENT", range)) = only_time_range(query) {
        let mut found =
            reader.records_between(range.instants(), zone, Some(ComponentKind::Event))?;
        found.sort_unstable();
        return Ok(found);
    }
    let candidates = candidate_ids(reader, &Candidates::of(query), zone)?;
    let ids = candidates.as_deref();
    let mut found = Vec::new();
    if query.needs_whole_object() {
        find_in_objects(reader, query, zone, ids, &mut found)?;
        return Ok(found);
    }
    let needs_zones = query.has_time_range();
    let none = TimeZoneResolver::new();
    let budget = InstanceBudget::default();
    reader.for_each_with_zones(ids, |id, text, zones| {
        let is_match = match needs_zones {
            true => query.matches_within(&budget, text, &*zones.resolver()?, zone),
            false => query.matches_within(&budget, text, &none, zone),
        };
        found.extend(is_match.then_some(id));
        Ok(())
    })?;
    Ok(found)
}

/// Returns true if a calendar object matches a query, as [`find`] finds it.
#[must_use]
pub fn matches_object(query: &CalendarQuery, object: &[u8], zone: &TimeZone) -> bool {
    let zone = query.zone_or(zone);
    query.matches_within(
        &InstanceBudget::default(),
        object,
        &zones_of_object(object),
        zone,
    )
}

/// Evaluates a query on whole calendar objects, with `VCALENDAR` and time zones.
fn find_in_objects(
    reader: &Reader,
    query: &CalendarQuery,
    zone: &TimeZone,
    ids: Option<&[RecordId]>,
    found: &mut Vec<RecordId>,
) -> Result<(), QueryError> {
    let all;
    let ids = match ids {
        Some(ids) => ids,
        None => {
            all = ids_of(reader, &Filter::All)?;
            &all
        }
    };
    let budget = InstanceBudget::default();
    reader.resources(ids.iter().copied(), |_, resource| {
        // The object has the zones that it names.
        let is_match = |found: &StoredResource| {
            let zones = zones_of_object(&found.bytes);
            query.matches_within(&budget, &found.bytes, &zones, zone)
        };
        found.extend(resource.filter(is_match).map(|resource| resource.id));
        Ok(())
    })?;
    Ok(())
}

impl Candidates {
    fn of(query: &CalendarQuery) -> Self {
        match &query.calendar.test {
            CompTest::NotDefined => Self::Nothing,
            CompTest::Defined { components, .. } => {
                let all = components.iter().map(Self::of_component);
                all.min_by_key(Self::cost).unwrap_or(Self::All)
            }
        }
    }

    fn of_component(filter: &CompFilter) -> Self {
        let CompTest::Defined {
            time_range,
            properties,
            components,
        } = &filter.test
        else {
            return Self::All;
        };
        let Some(place) = RECORD_COMPONENTS
            .iter()
            .position(|name| *name == filter.name)
        else {
            return Self::All;
        };
        let kind = [
            ComponentKind::Event,
            ComponentKind::Todo,
            ComponentKind::Journal,
        ][place];
        let mut all = vec![Self::Filter(Filter::kind(kind))];
        all.extend(time_range.map(|range| match kind {
            ComponentKind::Todo => Self::BetweenOrUndated(range.widened()),
            _ => Self::Between(range.widened()),
        }));
        all.extend(properties.iter().filter_map(Self::of_property));
        let has_alarm = |filter: &&CompFilter| {
            filter.name == "VALARM"
                && matches!(
                    filter.test,
                    CompTest::Defined {
                        time_range: Some(_),
                        ..
                    }
                )
        };
        all.extend(components.iter().find(has_alarm).map(|_| Self::WithAlarms));
        all.into_iter().min_by_key(Self::cost).unwrap_or(Self::All)
    }

    fn of_property(filter: &PropFilter) -> Option<Self> {
        let PropTest::Defined { value, .. } = &filter.test else {
            return None;
        };
        match (value, filter.name.as_str()) {
            (ValueTest::TimeRange(range), "DTSTART") => Some(Self::Between(range.widened())),
            (ValueTest::Text(text), "SUMMARY") => {
                Self::of_text(Field::Title, text.required_text()?)
            }
            (ValueTest::Text(text), "LOCATION") => {
                Self::of_text(Field::Place, text.required_text()?)
            }
            _ => None,
        }
    }

    /// The index folds a text of ASCII letters, digits and blanks to itself.
    fn of_text(field: Field, text: &str) -> Option<Self> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b' ';
        let text = text.trim_matches(' ');
        let is_usable = !text.is_empty() && text.bytes().all(is_plain);
        is_usable.then(|| Self::Filter(Filter::text(field, MatchMode::Contains, text)))
    }

    /// Orders candidates by how many there mostly are.
    fn cost(&self) -> u8 {
        match self {
            Self::Nothing => 0,
            Self::Between(_) => 1,
            Self::BetweenOrUndated(_) => 2,
            Self::Filter(filter) if *filter == Filter::kind(ComponentKind::Event) => 6,
            Self::Filter(filter) if is_kind(filter) => 4,
            Self::Filter(_) => 3,
            Self::WithAlarms => 5,
            Self::All => 7,
        }
    }
}

fn is_kind(filter: &Filter) -> bool {
    [ComponentKind::Todo, ComponentKind::Journal]
        .into_iter()
        .any(|kind| *filter == Filter::kind(kind))
}

/// Returns the ids of the candidates in order, each once; `None` for all records.
fn candidate_ids(
    reader: &Reader,
    candidates: &Candidates,
    zone: &TimeZone,
) -> Result<Option<Vec<RecordId>>, QueryError> {
    let mut ids = match candidates {
        Candidates::Nothing => Vec::new(),
        Candidates::All => return Ok(None),
        Candidates::Between(range) => reader.records_between(range.clone(), zone, None)?,
        Candidates::BetweenOrUndated(range) => {
            let mut ids = reader.records_between(range.clone(), zone, None)?;
            ids.extend(undated_ids(reader)?);
            ids
        }
        Candidates::Filter(filter) => ids_of(reader, filter)?,
        Candidates::WithAlarms => ids_with_alarms(reader)?,
    };
    ids.sort_unstable();
    ids.dedup();
    Ok(Some(ids))
}

/// Returns the records that a filter of the library finds.
fn ids_of(reader: &Reader, filter: &Filter) -> Result<Vec<RecordId>, QueryError> {
    let mut ids = Vec::new();
    let query = Query::new(filter.clone())
        .columns(Column::Uid)
        .sort(SortOrder::Added)
        .limit(PAGE);
    let mut page = reader.query(&query)?;
    loop {
        ids.extend_from_slice(page.ids());
        let Some(next) = page.next().cloned() else {
            return Ok(ids);
        };
        page = reader.query(&query.clone().after(next))?;
    }
}

/// Returns the records without a time, which are at the end of the list.
fn undated_ids(reader: &Reader) -> Result<Vec<RecordId>, QueryError> {
    let mut ids = Vec::new();
    let query = Query::all()
        .columns(Column::Start)
        .sort(SortOrder::ListReversed)
        .limit(PAGE / 16);
    let mut page = reader.query(&query)?;
    loop {
        for row in page.iter() {
            if !row.get(Column::Start).is_empty() {
                return Ok(ids);
            }
            ids.push(row.id());
        }
        let Some(next) = page.next().cloned() else {
            return Ok(ids);
        };
        page = reader.query(&query.clone().after(next))?;
    }
}

/// Returns the records with alarms.
fn ids_with_alarms(reader: &Reader) -> Result<Vec<RecordId>, QueryError> {
    let (mut ids, mut offset) = (Vec::new(), 0);
    loop {
        let page = reader.list(Paging {
            offset,
            limit: PAGE,
        })?;
        let with_alarms = page.iter().filter(|entry| entry.summary.alarms);
        ids.extend(with_alarms.map(|entry| entry.id));
        match (page.len() as u64) < PAGE {
            true => return Ok(ids),
            false => offset += PAGE,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::tests::parse_query;
    use super::*;

    fn candidates(filter: &str) -> Candidates {
        Candidates::of(&parse_query(filter).unwrap())
    }

    #[test]
    fn conditions_are_looked_up_where_an_index_has_them() {
        let within = |component: &str, inner: &str| {
            candidates(&format!(
                "<C:comp-filter name=\"{component}\">{inner}</C:comp-filter>"
            ))
        };
        let range = r#"<C:time-range start="20060104T000000Z" end="20060105T000000Z"/>"#;
        let title =
            r#"<C:prop-filter name="SUMMARY"><C:text-match>Fair 2</C:text-match></C:prop-filter>"#;
        let found = within("VTODO", &format!("{range}{title}"));
        assert!(
            matches!(found, Candidates::BetweenOrUndated(_)),
            "{found:?}"
        );
        let fair = Filter::text(Field::Title, MatchMode::Contains, "Fair 2");
        assert_eq!(within("VEVENT", title), Candidates::Filter(fair));
        let other = title.replace("Fair 2", "a-b");
        let events = Candidates::Filter(Filter::kind(ComponentKind::Event));
        assert_eq!(within("VEVENT", &other), events);
        let negated = title.replace("<C:text-match", "<C:text-match negate-condition=\"yes\"");
        assert_eq!(within("VEVENT", &negated), events);
        let alarm = format!("<C:comp-filter name=\"VALARM\">{range}</C:comp-filter>");
        assert_eq!(within("VEVENT", &alarm), Candidates::WithAlarms);
        assert_eq!(within("VEVENT", "<C:is-not-defined/>"), Candidates::All);
        assert_eq!(within("VTIMEZONE", ""), Candidates::All);
    }
}
