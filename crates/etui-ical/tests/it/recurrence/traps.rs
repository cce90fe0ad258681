//! Known errors of other expanders, each by name.

use etui_ical::time::{TimeZone, Timestamp};

use super::support::{at, between, first, series, starts, zone};

/// Walking from `DTSTART`: a century of seconds before the range would be three billion steps.
#[test]
fn a_range_far_from_the_start_is_not_walked_to() {
    let zone = zone("Europe/Berlin");
    for (rule, in_week) in [
        ("FREQ=WEEKLY", 1),
        ("FREQ=YEARLY;BYDAY=3WE;BYMONTH=11", 1),
        ("FREQ=SECONDLY", 604_800),
    ] {
        let series = series(&[&format!(
            "DTSTART;TZID=Europe/Berlin:19800102T090000\nRRULE:{rule}"
        )]);
        let week = at("20991116T000000")..at("20991123T000000");
        assert_eq!(series.between(week, &zone).count(), in_week, "{rule}");
    }
}

/// A rule without occurrences, expanded from a time on.
#[test]
fn a_rule_that_never_fires_ends() {
    for rule in [
        "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=MONTHLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=YEARLY;INTERVAL=2;BYMONTH=2;BYMONTHDAY=29",
        "FREQ=WEEKLY;INTERVAL=2;BYMONTH=2;BYMONTHDAY=30;BYSETPOS=1",
        "FREQ=MONTHLY;BYDAY=MO;BYSETPOS=6",
        "FREQ=YEARLY;BYDAY=1MO;BYMONTHDAY=8",
        "FREQ=HOURLY;INTERVAL=24;BYHOUR=5",
        "FREQ=SECONDLY;INTERVAL=60;BYSECOND=30",
        "FREQ=HOURLY;INTERVAL=168;BYDAY=MO",
        "FREQ=DAILY;INTERVAL=7;BYDAY=MO",
        "FREQ=DAILY;BYSETPOS=2",
        "FREQ=YEARLY;COUNT=3;BYMONTH=2;BYMONTHDAY=30",
    ] {
        let series = series(&[&format!("DTSTART:20250101T000000\nRRULE:{rule}")]);
        // The start itself is there, as always.
        assert_eq!(starts(&first(&series, 9)), ["20250101T000000"], "{rule}");
    }
}

/// Ending events without `DTEND` at 23:59:59 of their day.
#[test]
fn without_an_end_a_day_is_a_day_and_a_time_no_time() {
    let time = series(&["DTSTART;TZID=Europe/Berlin:20260102T090000"]);
    assert_eq!(
        first(&time, 1)[0].during,
        at("20260102T080000")..at("20260102T080000")
    );
    let day = series(&["DTSTART;VALUE=DATE:20260102"]);
    assert_eq!(
        first(&day, 1)[0].during,
        at("20260102T000000")..at("20260103T000000")
    );
}

/// Keeping the old duration after a `THISANDFUTURE` override.
#[test]
fn this_and_future_changes_time_and_duration() {
    let series = series(&[
        "DTSTART;TZID=Europe/Berlin:20260302T090000\nDTEND;TZID=Europe/Berlin:20260302T100000\n\
         RRULE:FREQ=WEEKLY;COUNT=6",
        "RECURRENCE-ID;RANGE=THISANDFUTURE;TZID=Europe/Berlin:20260316T090000\n\
         DTSTART;TZID=Europe/Berlin:20260316T140000\nDURATION:PT30M",
        "RECURRENCE-ID;TZID=Europe/Berlin:20260330T090000\n\
         DTSTART;TZID=Europe/Berlin:20260331T080000\nDURATION:PT2H",
    ]);
    let all = between(
        &series,
        "20260101T000000",
        "20270101T000000",
        &TimeZone::UTC,
    );
    assert_eq!(
        all,
        [
            "20260302T090000/20260302T100000 0",
            "20260309T090000/20260309T100000 0",
            "20260316T140000/20260316T143000 1",
            "20260323T140000/20260323T143000 1",
            // Its own change stays its own; over the change of the clocks it is two by the clock still.
            "20260331T080000/20260331T100000 2",
            "20260406T140000/20260406T143000 1",
        ]
    );
    let ids: Vec<_> = first(&series, 9)
        .iter()
        .map(|i| i.id.value().to_string())
        .collect();
    assert_eq!(
        ids[3..],
        ["20260323T090000", "20260330T090000", "20260406T090000"]
    );
}

/// Dropping, or moving to another hour, a time in the gap of spring.
#[test]
fn the_spring_gap_is_read_by_the_offset_before_it() {
    let series =
        series(&["DTSTART;TZID=America/New_York:20070310T023000\nRRULE:FREQ=DAILY;COUNT=3"]);
    let instants: Vec<_> = first(&series, 9)
        .iter()
        .map(|i| i.during.start.to_string())
        .collect();
    // RFC 5545 §3.3.5: 2:30 on 11 March 2007 is 3:30 EDT.
    assert_eq!(
        instants,
        ["20070310T073000Z", "20070311T073000Z", "20070312T063000Z"]
    );
    let id = &first(&series, 9)[1].id;
    assert_eq!(
        id.value().to_string(),
        "20070311T023000",
        "its RECURRENCE-ID is as computed"
    );
}

/// The first instant of a time in the fold of autumn.
#[test]
fn the_autumn_fold_is_read_as_the_first() {
    let series =
        series(&["DTSTART;TZID=America/New_York:20071103T013000\nRRULE:FREQ=DAILY;COUNT=3"]);
    let instants: Vec<_> = first(&series, 9)
        .iter()
        .map(|i| i.during.start.to_string())
        .collect();
    assert_eq!(
        instants,
        ["20071103T053000Z", "20071104T053000Z", "20071105T063000Z"]
    );
}

/// Times that the clocks skip fall among later ones, and on some of them.
#[test]
fn instants_over_a_gap_are_in_order_and_each_once() {
    let series = series(&[
        "DTSTART;TZID=Europe/Berlin:20260329T013000\nRRULE:FREQ=MINUTELY;INTERVAL=20;COUNT=9",
        // 1:30 1:50 2:10 2:30 2:50 3:10 3:30 3:50 4:10; 2:10 to 2:50 are 3:10 to 3:50.
    ]);
    let instants: Vec<_> = first(&series, 20)
        .iter()
        .map(|i| i.during.start.utc().hms())
        .collect();
    assert_eq!(
        instants,
        [
            (0, 30, 0),
            (0, 50, 0),
            (1, 10, 0),
            (1, 30, 0),
            (1, 50, 0),
            (2, 10, 0)
        ]
    );
}

/// Appending `RDATE`s after the instances of the rule, or taking one twice.
#[test]
fn recurrence_dates_stand_in_order_among_the_rules_instances() {
    let series = series(&[
        "DTSTART;TZID=Europe/Berlin:20260105T090000\nRRULE:FREQ=WEEKLY;COUNT=3\n\
         RDATE;TZID=Europe/Berlin:20260115T090000,20260107T090000\n\
         RDATE:20260112T080000Z\n\
         RDATE;TZID=Europe/Berlin:20260101T090000",
    ]);
    assert_eq!(
        starts(&first(&series, 20)),
        [
            "20260101T090000",
            "20260105T090000",
            "20260107T090000",
            "20260112T090000",
            "20260115T090000",
            "20260119T090000"
        ]
    );
}

/// Filling memory with a secondly rule.
#[test]
fn a_rule_of_seconds_over_a_century_is_taken_one_by_one() {
    let series = series(&["DTSTART:19700101T000000Z\nRRULE:FREQ=SECONDLY"]);
    let century = at("20260101T000000")..at("21260101T000000");
    let some: Vec<_> = series
        .between(century, &TimeZone::UTC)
        .take(1_000)
        .collect();
    assert_eq!(some[999].during.start, at("20260101T001639"));
    assert!(series.is_unbounded());
    assert_eq!(series.bounds().end, Timestamp::MAX);
}
