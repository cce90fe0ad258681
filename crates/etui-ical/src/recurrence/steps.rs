//! Counts the steps of expansions in tests, where wall-clock time would depend on the machine.

/// Counts one step: a month entered, a period examined, an occurrence produced.
pub(super) fn count_step() {
    #[cfg(test)]
    tests::STEPS.set(tests::STEPS.get() + 1);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use std::cell::Cell;
    use std::ops::Range;

    use crate::recurrence::{MAX_COUNTED, RecurrenceSet, Timing};
    use crate::time::{Date, TimeZone, Timestamp};
    use crate::zones::TimeZoneResolver;

    thread_local! {
        pub(super) static STEPS: Cell<u64> = const { Cell::new(0) };
    }

    const DAY: i64 = 86_400;

    fn series(lines: &str) -> RecurrenceSet {
        let text = format!("BEGIN:VEVENT\n{lines}\nEND:VEVENT\n");
        let (timing, warnings) = Timing::from_component(text.as_bytes(), &TimeZoneResolver::new());
        assert_eq!(warnings, []);
        RecurrenceSet::new(&[timing.expect("it has a start")])
    }

    fn day(year: i32) -> Range<Timestamp> {
        let from = Date::new(year, 3, 3).unwrap().midnight();
        let from = TimeZone::named("Europe/Berlin").unwrap().to_utc(from);
        from..from.plus_seconds(DAY)
    }

    /// Returns the instances in a range and the steps taken for them.
    fn cost(series: &RecurrenceSet, range: Range<Timestamp>, limit: usize) -> (u64, u64) {
        STEPS.set(0);
        let instances = series.between(range, &TimeZone::UTC).take(limit).count();
        (instances as u64, STEPS.get())
    }

    /// Unbounded rules from yearly to every second, with a start in 1980.
    const UNBOUNDED_RULES: [&str; 17] = [
        "FREQ=YEARLY",
        "FREQ=YEARLY;INTERVAL=4;BYMONTH=2;BYMONTHDAY=29",
        "FREQ=YEARLY;BYWEEKNO=10;BYDAY=MO,TU",
        "FREQ=YEARLY;BYDAY=1SU,-1SU",
        "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
        "FREQ=MONTHLY;INTERVAL=7;BYMONTHDAY=31",
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TH",
        "FREQ=DAILY",
        "FREQ=DAILY;BYHOUR=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23",
        "FREQ=HOURLY;INTERVAL=5;BYDAY=TU",
        "FREQ=MINUTELY",
        "FREQ=MINUTELY;INTERVAL=13;BYHOUR=9,10",
        "FREQ=SECONDLY;INTERVAL=7",
        "FREQ=SECONDLY;INTERVAL=3600;BYMINUTE=59",
        "FREQ=SECONDLY;BYSECOND=30;BYDAY=WE",
        "FREQ=SECONDLY",
        "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
    ];

    #[test]
    fn expansion_costs_no_more_than_the_range() {
        for zone in ["", ";TZID=America/New_York"] {
            for rule in UNBOUNDED_RULES {
                let series = series(&format!("DTSTART{zone}:19800107T093000\nRRULE:{rule}"));
                for year in [1985, 2026, 2126, 9990] {
                    let (instances, steps) = cost(&series, day(year), usize::MAX);
                    // The days around the range are examined, too: offsets and gaps.
                    let limit = 8 * instances + 400;
                    assert!(
                        steps <= limit,
                        "{rule} in {year}: {steps} steps, {instances}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_first_instances_of_a_secondly_rule_are_a_few_steps() {
        let series = series("DTSTART:19800107T093000Z\nRRULE:FREQ=SECONDLY");
        for range in [day(2026), day(1985).start..Timestamp::MAX] {
            let (instances, steps) = cost(&series, range, 10);
            assert_eq!(instances, 10);
            assert!(steps < 50, "{steps}");
        }
    }

    #[test]
    fn an_exception_rule_of_seconds_costs_no_more_than_the_range() {
        let series =
            series("DTSTART:19800107T093000Z\nRRULE:FREQ=YEARLY\nEXRULE:FREQ=SECONDLY;BYMONTH=3");
        let (_, steps) = cost(&series, day(2126), usize::MAX);
        assert!(steps < 400, "{steps}");
    }

    #[test]
    fn an_end_by_count_is_found_once() {
        for rule in [
            "FREQ=SECONDLY;COUNT=4294967295",
            "FREQ=SECONDLY;BYMONTH=3;COUNT=4294967295",
            "FREQ=DAILY;COUNT=4294967295",
            "FREQ=DAILY;BYHOUR=1,2,3;COUNT=4294967295",
            "FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=1,2;COUNT=131072",
            "FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=1,2;COUNT=4294967295",
        ] {
            let series = series(&format!("DTSTART:19800107T093000Z\nRRULE:{rule}"));
            let (instances, steps) = cost(&series, day(2026), usize::MAX);
            assert!(
                steps <= 8 * (instances + u64::from(MAX_COUNTED)),
                "{rule}: {steps}"
            );
            let (instances, steps) = cost(&series, day(2100), usize::MAX);
            assert!(steps <= 8 * instances + 400, "{rule}: {steps}, {instances}");
        }
    }

    /// A rule without occurrences is searched for at limit 400 years, in a range without an end.
    #[test]
    fn a_rule_without_occurrences_is_given_up() {
        for rule in [
            "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
            "FREQ=MONTHLY;BYDAY=MO;BYSETPOS=6",
            "FREQ=DAILY;INTERVAL=7;BYDAY=SU",
            "FREQ=SECONDLY;INTERVAL=60;BYSECOND=30",
            "FREQ=HOURLY;INTERVAL=24;BYHOUR=5",
        ] {
            let series = series(&format!("DTSTART:19800107T093000Z\nRRULE:{rule}"));
            let (instances, steps) = cost(&series, day(2026).start..Timestamp::MAX, usize::MAX);
            assert_eq!(instances, 0, "{rule}");
            assert!(steps < 600_000, "{rule}: {steps}");
        }
    }
}
