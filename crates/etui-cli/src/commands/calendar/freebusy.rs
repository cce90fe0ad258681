//! `etui calendar freebusy`: busy time.

use etui::ETag;
use etui::calendar::BusyPeriod;
use etui::calendar::time::{Date, DateTime, Timestamp};

use super::span_args::{SpanArgs, local_now};
use crate::app::{App, readers_in};
use crate::datetime::{LocalNow, TimeSpan, format_clock, format_day};
use crate::errors::Result;
use crate::output::json::calendar::BusyJson;
use crate::output::{OutputWriter, Style};

const EXAMPLES: &str = "\
Examples:
  etui calendar freebusy                     the next seven days
  etui calendar freebusy --from monday --to friday
  etui calendar freebusy tomorrow --json
  etui calendar freebusy month --ics > busy.ics      to share: without titles and locations

Events are busy time unless they are cancelled or marked as free (TRANSP:TRANSPARENT).";

/// Show busy time
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct FreeBusyArgs {
    #[command(flatten)]
    span: SpanArgs,
    /// Print iCalendar (VFREEBUSY)
    #[arg(long, conflicts_with = "json")]
    ics: bool,
}

pub fn show_free_busy(app: &mut App, calendar: Option<&str>, args: &FreeBusyArgs) -> Result<()> {
    let here = local_now(&app.out);
    let span = args.span.parse_span(&here)?;
    let store = app.open_to_read()?;
    let snapshot = store.snapshot()?;
    let mut all = Vec::new();
    for (_, reader) in readers_in(calendar, &snapshot)? {
        all.extend(reader.free_busy(span.during.clone(), &here.zone)?);
    }
    let all = merge_busy(all);
    if args.ics {
        let now = Timestamp::from(std::time::SystemTime::now());
        return app
            .out
            .write_bytes(format_freebusy(&all, &span, now).as_bytes());
    }
    if app.out.json {
        return all
            .iter()
            .try_for_each(|busy| app.out.write_json(&BusyJson::new(busy, &here.zone)));
    }
    write_busy(&mut app.out, &all, &span, &here)
}

/// Merges the busy times of several calendars, ordered and without overlaps. A time that is confirmed
/// in one calendar is confirmed.
fn merge_busy(mut all: Vec<BusyPeriod>) -> Vec<BusyPeriod> {
    // The start and end of each time, with the change in the number of confirmed and tentative ones.
    let mut edges: Vec<(Timestamp, [i64; 2])> = Vec::with_capacity(2 * all.len());
    for busy in all.drain(..) {
        let (begin, end) = match busy.tentative {
            true => ([0, 1], [0, -1]),
            false => ([1, 0], [-1, 0]),
        };
        edges.extend([(busy.during.start, begin), (busy.during.end, end)]);
    }
    edges.sort_unstable_by_key(|(at, _)| *at);
    let (mut confirmed, mut tentative) = (0, 0);
    for (i, (at, [s, t])) in edges.iter().enumerate() {
        confirmed += s;
        tentative += t;
        let Some((next, _)) = edges.get(i + 1).filter(|(next, _)| next > at) else {
            continue;
        };
        if confirmed + tentative == 0 {
            continue;
        }
        let is_tentative = confirmed == 0;
        match all.last_mut() {
            Some(last) if last.during.end == *at && last.tentative == is_tentative => {
                last.during.end = *next;
            }
            _ => all.push(BusyPeriod {
                during: *at..*next,
                tentative: is_tentative,
            }),
        }
    }
    all
}

fn write_busy(
    out: &mut OutputWriter,
    all: &[BusyPeriod],
    span: &TimeSpan,
    here: &LocalNow,
) -> Result<()> {
    if all.is_empty() {
        return out.status(match span.first == span.last {
            true => format!("Free on {}.", format_day(span.first)),
            false => format!(
                "Free from {} to {}.",
                format_day(span.first),
                format_day(span.last)
            ),
        });
    }
    let mut before = None;
    for busy in all {
        let start = here.zone.to_local(busy.during.start);
        let end = here.zone.to_local(busy.during.end);
        for (date, from, to) in split_by_day(start, end) {
            let heading = match before.replace(date) == Some(date) {
                true => String::new(),
                false => format_day(date),
            };
            let time = match (from == date.midnight(), to.date() > date) {
                (true, true) => "all day".to_owned(),
                (false, true) => format!("{}-24:00", format_clock(from)),
                (_, false) => format!("{}-{}", format_clock(from), format_clock(to)),
            };
            let heading = format!("{heading:<15}");
            let heading = out.with_style(Style::Bold, &heading).into_owned();
            let mark = match busy.tentative {
                true => out.with_style(Style::Dim, "  tentative").into_owned(),
                false => String::new(),
            };
            out.write_line(format!("{heading}  {time}{mark}"))?;
        }
    }
    Ok(())
}

/// Splits a time at midnight.
fn split_by_day(
    start: DateTime,
    end: DateTime,
) -> impl Iterator<Item = (Date, DateTime, DateTime)> {
    let mut next = Some(start);
    std::iter::from_fn(move || {
        let from = next.filter(|from| *from < end)?;
        let date = from.date();
        let midnight = match date {
            Date::MAX => end,
            date => date.plus_days(1).midnight(),
        };
        next = Some(midnight);
        Some((date, from, midnight.min(end)))
    })
}

/// Formats a calendar object with one `VFREEBUSY` (RFC 5545 §3.6.4).
fn format_freebusy(all: &[BusyPeriod], span: &TimeSpan, now: Timestamp) -> String {
    let mut body = String::new();
    let mut line = |text: String| {
        body.push_str(&text);
        body.push_str("\r\n");
    };
    line(format!("DTSTART:{}", span.during.start));
    line(format!("DTEND:{}", span.during.end));
    for busy in all {
        let kind = match busy.tentative {
            true => "BUSY-TENTATIVE",
            false => "BUSY",
        };
        let (start, end) = (busy.during.start, busy.during.end);
        line(format!("FREEBUSY;FBTYPE={kind}:{start}/{end}"));
    }
    // The UID depends only on the content, so equal answers are equal objects.
    let uid = ETag::of(body.as_bytes());
    format!(
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//etui//etui//EN\r\nMETHOD:PUBLISH\r\n\
         BEGIN:VFREEBUSY\r\nUID:etui-{uid}\r\nDTSTAMP:{now}\r\n{body}END:VFREEBUSY\r\n\
         END:VCALENDAR\r\n"
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn busy((start, end, tentative): (i64, i64, bool)) -> BusyPeriod {
        let at = Timestamp::from_seconds;
        BusyPeriod {
            during: at(start)..at(end),
            tentative,
        }
    }

    #[test]
    fn calendars_are_merged() {
        let all = [
            (1, 4, true),
            (2, 3, false),
            (3, 5, true),
            (5, 6, false),
            (9, 9, false),
        ];
        let expected = [(1, 2, true), (2, 3, false), (3, 5, true), (5, 6, false)];
        let all = merge_busy(all.map(busy).to_vec());
        assert_eq!(all, expected.map(busy));
    }

    proptest! {
        #[test]
        fn every_second_matches_the_parts(
            parts in prop::collection::vec((0i64..30, 1i64..10, any::<bool>()), 0..9),
        ) {
            let parts: Vec<BusyPeriod> =
                parts.into_iter().map(|(s, n, t)| busy((s, s + n, t))).collect();
            let all = merge_busy(parts.clone());
            let is_at = |all: &[BusyPeriod], second, tentative| {
                let at = Timestamp::from_seconds(second);
                all.iter().any(|b| b.during.contains(&at) && b.tentative == tentative)
            };
            for second in 0..40 {
                let confirmed = is_at(&parts, second, false);
                prop_assert_eq!(is_at(&all, second, false), confirmed);
                let tentative = is_at(&parts, second, true) && !confirmed;
                prop_assert_eq!(is_at(&all, second, true), tentative);
            }
            prop_assert!(all.windows(2).all(|w| w[0].during.end <= w[1].during.start));
        }
    }
}
