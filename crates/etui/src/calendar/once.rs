//! What happens once, for longer than a day, in the form in which `series` has it.
//!
//! ```text
//! times := 1:u8 summary          `series.times`; the other form is iCalendar, which begins with B
//! ```
//!
//! It is read without a parser: a range of many years' data meets such rows only once each.

use super::moment::Named;
use super::recurrence::{EventEnd, Instance, Timing};
use super::summary::{Stored, Summary};
use super::time::{CalendarTime, TimeZone};

const ONCE: u8 = 1;

/// The row's `times`.
pub(super) fn encode(summary: &Summary) -> Vec<u8> {
    let mut times = vec![ONCE];
    times.extend_from_slice(&summary.encode());
    times
}

/// What a row says, if it is of this form.
pub(super) fn read<'a>(times: &'a [u8], zones: &mut Named) -> Option<Stored<'a>> {
    match times {
        [ONCE, summary @ ..] => Some(Stored::read(summary, zones)),
        _ => None,
    }
}

/// Whether start and end, as stored, say all of it that `timing` says: from wherever one looks at
/// it, and by whatever rules of its zones.
pub(super) fn is_told(timing: &Timing, instance: &Instance) -> bool {
    let has_name = |time: &CalendarTime| time.zone().is_none_or(TimeZone::is_named);
    let is_exact = match &timing.end {
        EventEnd::Unsaid => true,
        // One that the clocks skip is shown as another.
        EventEnd::At(end) => end.local() == instance.end.local(),
        // So many hours are more or less on the clock where it is changed.
        EventEnd::After(length) => {
            length.seconds() == 0
                || matches!(timing.start, CalendarTime::Date(_) | CalendarTime::Utc(_))
        }
    };
    // An hour that comes twice is read as the first.
    let is_read_back = instance.end.at(&TimeZone::UTC) == instance.during.end;
    is_exact && is_read_back && has_name(&instance.start) && has_name(&instance.end)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use etui_testkit::rng::SplitMix64;

    use super::*;
    use crate::calendar::CalendarObject;
    use crate::calendar::derive::{said, times_of};
    use crate::calendar::known::Known;
    use crate::calendar::range::during;
    use crate::calendar::time::{Date, Duration, Timestamp};
    use crate::calendar::zones::TimeZoneResolver;

    const DAY: i64 = 86_400;

    /// The row of what `lines` say, and the same as iCalendar.
    fn row(kind: &str, lines: &str) -> (Vec<u8>, Vec<u8>) {
        let text = format!("BEGIN:{kind}\r\nUID:1\r\n{lines}END:{kind}\r\n");
        let record =
            CalendarObject::parse(text.as_bytes(), &TimeZoneResolver::new()).expect("a record");
        let (_, times) = said(&record);
        (times.series.expect("a row").times, times_of(&record))
    }

    fn event(rng: &mut SplitMix64) -> (&'static str, String) {
        // Near the changes of the clocks, some of them in the hours that are missing or doubled.
        let day = 20_450 + i64::from(rng.below(400));
        let at = (Date::from_days(day).midnight()).plus_seconds(i64::from(rng.below(96)) * 900);
        let end = at.plus_seconds(2 * DAY + i64::from(rng.below(100 * 24)) * 3_600);
        let zones = [
            ";TZID=Europe/Berlin",
            ";TZID=America/New_York",
            ";TZID=Asia/Tokyo",
            ";TZID=Pacific/Apia",
            "",
        ];
        let (zone, other) = (rng.pick(&zones), rng.pick(&zones));
        let (start, stop) = match rng.below(4) {
            0 => (
                format!(";VALUE=DATE:{}", at.date()),
                format!(";VALUE=DATE:{}", end.date()),
            ),
            1 => (format!(":{at}Z"), format!("{other}:{end}")),
            2 => (format!("{zone}:{at}"), format!(":{end}Z")),
            _ => (format!("{zone}:{at}"), format!("{other}:{end}")),
        };
        let (kind, last) = match rng.below(3) {
            0 => ("VTODO", "DUE"),
            _ => ("VEVENT", "DTEND"),
        };
        let mut lines = format!("DTSTART{start}\r\n");
        match rng.below(4) {
            0 => lines += &format!("DURATION:P{}D\r\n", 2 + rng.below(80)),
            1 => {
                let length = Duration::from_seconds(2 * DAY + i64::from(rng.below(9_000)) * 600);
                lines += &format!("DURATION:{length}\r\n");
            }
            _ => lines += &format!("{last}{stop}\r\n"),
        }
        for line in [
            "SUMMARY:Journey\\, \\n\"far\"\\; ä",
            "LOCATION:C:\\\\nowhere",
            "STATUS:CANCELLED",
            "TRANSP:TRANSPARENT",
            "BEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER:-P1D\r\nEND:VALARM",
        ] {
            if rng.chance(500) {
                lines += &format!("{line}\r\n");
            }
        }
        (kind, lines)
    }

    #[test]
    fn a_row_tells_what_its_text_would() {
        let mut rng = SplitMix64::new(4);
        let zones = ["UTC", "Europe/Berlin", "America/New_York", "Pacific/Apia"];
        let zones = zones.map(|name| TimeZone::named(name).unwrap());
        let mut compact = 0;
        for _ in 0..3_000 {
            let (kind, lines) = event(&mut rng);
            let (times, text) = row(kind, &lines);
            let asked = Known::read(&text).expect("a text");
            let known = Known::read(&times).expect("a row");
            assert_eq!(known.recurs, asked.recurs);
            assert_eq!(known.components.len(), 1);
            for (one, other) in known.components.iter().zip(&asked.components) {
                let about = |c: &crate::calendar::known::Component| {
                    let texts = (c.title.clone(), c.location.clone());
                    (
                        c.place,
                        c.kind,
                        texts,
                        c.status,
                        c.transparent,
                        c.start.clone(),
                    )
                };
                assert_eq!(about(one), about(other), "{lines}");
            }
            let mut named = Named::default();
            let Some(stored) = read(&times, &mut named) else {
                assert_eq!(times, text, "{lines}");
                continue;
            };
            compact += 1;
            for viewer in &zones {
                let at = stored.start.as_ref().unwrap().at(viewer);
                let all = Timestamp::MIN..Timestamp::MAX;
                let instance = asked.series.between(all.clone(), viewer).next().unwrap();
                assert_eq!(Some(&instance.start), stored.start.as_ref(), "{lines}");
                assert_eq!(Some(&instance.end), stored.end.as_ref(), "{lines}");
                assert_eq!(known.series.between(all, viewer).next(), Some(instance));
                for _ in 0..8 {
                    let from = at.plus_seconds(i64::from(rng.below(110)) * DAY - 5 * DAY);
                    let range = from..from.plus_seconds(i64::from(1 + rng.below(200_000)));
                    let told = asked.series.between(range.clone(), viewer).next();
                    let told = told.map(|i| i.during);
                    assert_eq!(during(&stored, &range, viewer), told, "{lines}");
                }
            }
        }
        assert!(compact > 2_000, "{compact}");
    }

    #[test]
    fn what_no_two_times_tell_keeps_its_text() {
        for lines in [
            "DTSTART:20260301T100000\r\nDURATION:P30DT1H\r\n",
            "DTSTART;TZID=Europe/Berlin:20260301T100000\r\nDURATION:PT1000H\r\n",
            "DTSTART;TZID=Europe/Berlin:20260301T100000\r\nDTEND:20260901T100000Z\r\nRDATE:20270101T100000Z\r\n",
        ] {
            let (times, text) = row("VEVENT", lines);
            assert_eq!(times, text);
        }
    }

    #[test]
    fn broken_rows_are_read_as_far_as_they_make_sense() {
        let (times, _) = row(
            "VEVENT",
            "DTSTART:20260301T100000Z\r\nDURATION:P30D\r\nSUMMARY:A\r\n",
        );
        assert_eq!(times.first(), Some(&ONCE));
        for end in 0..times.len() {
            let _ = Known::read(&times[..end]);
            let cut = read(&times[..end], &mut Named::default());
            assert_eq!(cut.is_some(), end > 0);
        }
        for at in 0..times.len() {
            for byte in 0..=u8::MAX {
                let mut changed = times.clone();
                changed[at] = byte;
                if let Some(known) = Known::read(&changed) {
                    let all = Timestamp::MIN..Timestamp::MAX;
                    let _ = known.series.between(all, &TimeZone::UTC).take(2).count();
                }
            }
        }
    }
}
