//! [`free_busy`]: the answer of a `free-busy-query` (RFC 4791 section 7.10).

use std::collections::HashSet;

use etui::calendar::ics::ComponentKind;
use etui::calendar::time::{TimeZone, Timestamp};
use etui::calendar::{BusyPeriod, Reader, merge_busy};
use etui_contentline::charset::to_utf8;
use etui_contentline::edit::fold_line;

use super::component_tree::Component;
use super::error::QueryError;
use super::expand::defined_zones;
use super::privacy::{View, view_for_others};
use super::time_range::TimeRange;
use super::times::{InstanceBudget, ObjectTimes};
use crate::xml::{Element, Namespace};

/// Periods of an answer. After them, all time up to the last period counts as busy.
const MAX_PERIODS: usize = 10_000;

/// Parses a `free-busy-query` report: its range, which has both bounds.
///
/// # Errors
/// [`QueryError::Malformed`].
pub fn parse_free_busy_query(report: &Element) -> Result<TimeRange, QueryError> {
    let mut all = report.children_named(&Namespace::CalDav, "time-range");
    match (all.next(), all.next()) {
        (Some(range), None) => TimeRange::parse_bounded(range).map_err(QueryError::Malformed),
        _ => Err(QueryError::malformed("free-busy-query has one time-range")),
    }
}

/// Returns the busy time of a calendar in a range as a calendar object with one `VFREEBUSY`. Dates and
/// floating times are in `zone`; `now` is its `DTSTAMP`. For others than the owner private entries take no time.
///
/// # Errors
/// [`QueryError::Store`].
pub fn free_busy(
    reader: &Reader,
    range: &TimeRange,
    zone: &TimeZone,
    now: Timestamp,
    is_for_others: bool,
) -> Result<Vec<u8>, QueryError> {
    let periods = match is_for_others {
        true => busy_for_others(reader, range, zone)?,
        false => reader.free_busy(range.instants(), zone)?,
    };
    Ok(write_object(&bounded(periods), range, now))
}

/// Returns the busy time that others may know.
///
/// # Errors
/// [`QueryError::Store`].
pub fn busy_for_others(
    reader: &Reader,
    range: &TimeRange,
    zone: &TimeZone,
) -> Result<Vec<BusyPeriod>, QueryError> {
    let ids = reader.records_between(range.instants(), zone, Some(ComponentKind::Event))?;
    let (mut except, mut periods) = (HashSet::new(), Vec::new());
    reader.resources(ids, |_, stored| {
        let Some(stored) = stored else {
            return Ok(());
        };
        let view = view_for_others(&stored.bytes);
        if view != View::Whole {
            except.insert(stored.id);
        }
        if let View::Part(part) = view {
            periods.extend(busy_of_object(&to_utf8(&part), range, zone));
        }
        Ok(())
    })?;
    periods.extend(reader.free_busy_except(range.instants(), zone, &except)?);
    Ok(merge_busy(periods))
}

/// Returns the busy time of the events of one object.
fn busy_of_object(text: &str, range: &TimeRange, zone: &TimeZone) -> Vec<BusyPeriod> {
    let roots = Component::read_all(text);
    let Some(calendar) = roots.first() else {
        return Vec::new();
    };
    let zones = defined_zones(calendar, text);
    let budget = InstanceBudget::default();
    let times = ObjectTimes::new(&calendar.children, text, &zones, zone, &budget);
    let busy = times
        .instances(range)
        .take(MAX_PERIODS)
        .filter_map(|instance| {
            let component = calendar.children.get(times.component_of(&instance)?)?;
            let is = |name, value| {
                let found = component.value(name);
                found.is_some_and(|found| found.trim().eq_ignore_ascii_case(value))
            };
            let takes_time = component.is_named("VEVENT")
                && !is("TRANSP", "TRANSPARENT")
                && !is("STATUS", "CANCELLED");
            let bounds = range.instants();
            let during =
                instance.during.start.max(bounds.start)..instance.during.end.min(bounds.end);
            takes_time.then(|| BusyPeriod {
                during,
                tentative: is("STATUS", "TENTATIVE"),
            })
        });
    busy.collect()
}

/// Replaces the periods after the limit by one.
fn bounded(mut periods: Vec<BusyPeriod>) -> Vec<BusyPeriod> {
    if periods.len() > MAX_PERIODS
        && let Some(end) = periods.last().map(|last| last.during.end)
    {
        periods.truncate(MAX_PERIODS);
        if let Some(last) = periods.last_mut() {
            last.during.end = end;
            last.tentative = false;
        }
    }
    periods
}

fn write_object(periods: &[BusyPeriod], range: &TimeRange, now: Timestamp) -> Vec<u8> {
    let mut out = Vec::with_capacity(256 + 64 * periods.len());
    let mut line = |line: &str| out.extend(fold_line(line, b"\r\n"));
    line("BEGIN:VCALENDAR");
    line("VERSION:2.0");
    line("PRODID:-//etui//etui//EN");
    line("BEGIN:VFREEBUSY");
    line(&format!("UID:etui-{}-{}", range.start, range.end));
    line(&format!("DTSTAMP:{now}"));
    line(&format!("DTSTART:{}", range.start));
    line(&format!("DTEND:{}", range.end));
    for BusyPeriod { during, tentative } in periods {
        let kind = match tentative {
            true => "BUSY-TENTATIVE",
            false => "BUSY",
        };
        line(&format!(
            "FREEBUSY;FBTYPE={kind}:{}/{}",
            during.start, during.end
        ));
    }
    line("END:VFREEBUSY");
    line("END:VCALENDAR");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_many_periods_has_the_rest() {
        let at = Timestamp::from_seconds;
        let period = |n: i64| BusyPeriod {
            during: at(2 * n)..at(2 * n + 1),
            tentative: true,
        };
        let few = bounded((0..3).map(period).collect());
        assert_eq!(few.len(), 3);
        let many = bounded((0..20_000).map(period).collect());
        assert_eq!(many.len(), MAX_PERIODS);
        let last = many.last().map(|last| (last.during.end, last.tentative));
        assert_eq!(last, Some((at(39_999), false)));
    }
}
