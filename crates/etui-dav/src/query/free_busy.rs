//! [`free_busy`]: the answer of a `free-busy-query` (RFC 4791 section 7.10).

use etui::calendar::time::{TimeZone, Timestamp};
use etui::calendar::{BusyPeriod, Reader};
use etui_contentline::edit::fold_line;

use super::error::QueryError;
use super::time_range::TimeRange;
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
/// floating times are in `zone`; `now` is its `DTSTAMP`.
///
/// # Errors
/// [`QueryError::Store`].
pub fn free_busy(
    reader: &Reader,
    range: &TimeRange,
    zone: &TimeZone,
    now: Timestamp,
) -> Result<Vec<u8>, QueryError> {
    let periods = reader.free_busy(range.instants(), zone)?;
    Ok(write_object(&bounded(periods), range, now))
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
