//! `etui calendar freebusy`: busy time.

use etui::ETag;
use etui::calendar::time::{Date, Timestamp};
use etui::calendar::{BusyPeriod, CalendarObject, merge_busy};
use etui_program::output::{OutputWriter, Style};
use etui_program::{App, Result};

use super::span_args::{SpanArgs, local_now};
use crate::json::calendar::busy_json;
use etui_when::{LocalNow, TimeSpan, format_clock, format_day};

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

pub fn show_free_busy(app: &mut App, args: &FreeBusyArgs) -> Result<()> {
    let here = local_now(&app.out);
    let span = args.span.parse_span(&here)?;
    let store = app.open_to_read()?;
    let snapshot = store.snapshot()?;
    let mut all = Vec::new();
    for (_, reader) in app.readers_in::<CalendarObject>(&snapshot)? {
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
            .try_for_each(|busy| app.out.write_json(&busy_json(busy, &here.zone)));
    }
    write_busy(&mut app.out, &all, &span, &here)
}

fn write_busy(
    out: &mut OutputWriter,
    all: &[BusyPeriod],
    span: &TimeSpan,
    here: &LocalNow,
) -> Result<()> {
    if all.is_empty() {
        return out.status(format!("Free {}.", span.describe_days()));
    }
    let mut before = None;
    for busy in all {
        let [start, end] = [busy.during.start, busy.during.end].map(|at| here.zone.to_local(at));
        let last = end.plus_seconds(-1).date();
        for date in start.date().days()..=last.days() {
            let date = Date::from_days(date.into());
            let from = (start.date() == date).then(|| format_clock(start));
            let to = (end.date() == date).then(|| format_clock(end));
            let heading = match before.replace(date) == Some(date) {
                true => String::new(),
                false => format_day(date),
            };
            let time = match (from.filter(|_| start != date.midnight()), to) {
                (None, None) => "all day".to_owned(),
                (Some(from), None) => format!("{from}-24:00"),
                (from, Some(to)) => format!("{}-{to}", from.as_deref().unwrap_or("00:00")),
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
        let kind = if busy.tentative {
            "BUSY-TENTATIVE"
        } else {
            "BUSY"
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
