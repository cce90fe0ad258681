//! Instances of recurrence sets: exceptions, overrides, lengths, ranges, and errors found in files.

use etui_ical::recurrence::{RecurrenceSet, Timing};
use etui_ical::time::{TimeZone, Timestamp};
use etui_ical::zones::TimeZoneResolver;

use super::support::{at, between, first, series, starts, timing, zone};

#[test]
fn what_began_before_the_range_and_lasts_into_it_is_in_it() {
    let berlin = zone("Europe/Berlin");
    let trip =
        series(&["DTSTART;VALUE=DATE:20260101\nDTEND;VALUE=DATE:20260201\nRRULE:FREQ=YEARLY"]);
    assert_eq!(
        between(&trip, "20300131T120000", "20300131T130000", &berlin),
        ["20300101/20300201 0"]
    );
    // Its end is not in it: midnight in Berlin is 23:00 in UTC.
    assert!(between(&trip, "20300131T230000", "20300601T000000", &berlin).is_empty());
    assert_eq!(
        between(&trip, "20300131T225959", "20300601T000000", &berlin).len(),
        1
    );
}

#[test]
fn what_has_no_length_counts_where_it_begins() {
    let point = series(&["DTSTART:20260102T090000Z"]);
    for (from, to, n) in [
        ("20260102T090000", "20260102T090001", 1),
        ("20260102T080000", "20260102T090000", 0),
        ("20260102T090001", "20260102T100000", 0),
        ("20260102T090000", "20260102T090000", 0),
    ] {
        assert_eq!(
            between(&point, from, to, &TimeZone::UTC).len(),
            n,
            "{from} {to}"
        );
    }
}

#[test]
fn exception_dates_in_all_their_forms() {
    let base = "DTSTART;TZID=Europe/Berlin:20260105T090000\nRRULE:FREQ=DAILY;COUNT=4";
    for exdate in [
        "EXDATE;TZID=Europe/Berlin:20260106T090000",
        "EXDATE:20260106T080000Z",
        "EXDATE;TZID=America/New_York:20260106T030000",
        "EXDATE;VALUE=DATE:20260106",
        "EXDATE:20260106T090000",
        "EXDATE:20260106T080000Z,20260301T000000Z",
    ] {
        let series = series(&[&format!("{base}\n{exdate}")]);
        assert_eq!(
            starts(&first(&series, 9)),
            ["20260105T090000", "20260107T090000", "20260108T090000"],
            "{exdate}"
        );
    }
    // An instant that is none of them takes nothing away.
    let other = series(&[&format!("{base}\nEXDATE:20260106T090000Z")]);
    assert_eq!(first(&other, 9).len(), 4);
    let days =
        series(&["DTSTART;VALUE=DATE:20260105\nRRULE:FREQ=DAILY;COUNT=3\nEXDATE:20260106T000000Z"]);
    assert_eq!(starts(&first(&days, 9)), ["20260105", "20260107"]);
}

#[test]
fn the_start_can_be_taken_away() {
    let series =
        series(&["DTSTART:20260105T090000\nRRULE:FREQ=DAILY;COUNT=3\nEXDATE:20260105T090000"]);
    assert_eq!(
        starts(&first(&series, 9)),
        ["20260106T090000", "20260107T090000"]
    );
}

#[test]
fn exception_rules_of_old_files_are_followed() {
    let series = series(&[
        "DTSTART:20260105T090000\nRRULE:FREQ=DAILY;COUNT=7\nEXRULE:FREQ=WEEKLY;BYDAY=SA,SU\n\
         RDATE:20260117T090000,20260120T090000",
    ]);
    assert_eq!(
        starts(&first(&series, 9)),
        [
            "20260105T090000",
            "20260106T090000",
            "20260107T090000",
            "20260108T090000",
            "20260109T090000",
            "20260120T090000"
        ]
    );
}

#[test]
fn a_dense_exception_rule_is_leapt_over() {
    let series = series(&[
        "DTSTART:20260105T090000\nRRULE:FREQ=YEARLY;COUNT=5\nEXRULE:FREQ=SECONDLY;BYMONTH=1;INTERVAL=7",
    ]);
    assert!(first(&series, 9).len() < 5);
}

/// A rule minus itself has no instances, and the search for one ends.
#[test]
fn a_rule_less_itself_ends() {
    let series = series(&["DTSTART:20260105T090000\nRRULE:FREQ=SECONDLY\nEXRULE:FREQ=SECONDLY"]);
    assert!(first(&series, 1).is_empty());
}

/// One long period does not make a range of a dense rule begin as far before it.
#[test]
fn a_long_period_is_found_without_walking_its_length() {
    let series = series(&[
        "DTSTART:20000101T000000Z\nRRULE:FREQ=SECONDLY\nRDATE;VALUE=PERIOD:20010101T000000Z/P9000D",
    ]);
    let all = between(
        &series,
        "20200101T000000",
        "20200101T000002",
        &TimeZone::UTC,
    );
    assert_eq!(
        all,
        [
            "20010101T000000Z/20250823T000000Z 0",
            "20200101T000000Z/20200101T000000Z 0",
            "20200101T000001Z/20200101T000001Z 0"
        ]
    );
}

#[test]
fn several_rules_are_joined() {
    let series = series(&[
        "DTSTART:20260105T090000\nRRULE:FREQ=WEEKLY;COUNT=3\nRRULE:FREQ=MONTHLY;BYMONTHDAY=5,12;COUNT=3",
    ]);
    assert_eq!(
        starts(&first(&series, 9)),
        [
            "20260105T090000",
            "20260112T090000",
            "20260119T090000",
            "20260205T090000"
        ]
    );
}

#[test]
fn a_start_that_the_rule_does_not_make_counts() {
    // A Monday, and a rule of Tuesdays.
    let series = series(&["DTSTART:20260105T090000\nRRULE:FREQ=WEEKLY;BYDAY=TU;COUNT=3"]);
    assert_eq!(
        starts(&first(&series, 9)),
        ["20260105T090000", "20260106T090000", "20260113T090000"]
    );
}

#[test]
fn until_of_another_kind_than_the_start() {
    for (start, until, last) in [
        ("DTSTART:20260105T090000Z", "20260107", "20260107T090000Z"),
        ("DTSTART:20260105T090000", "20260107", "20260107T090000"),
        (
            "DTSTART:20260105T090000",
            "20260107T090000Z",
            "20260107T090000",
        ),
        (
            "DTSTART;TZID=Europe/Berlin:20260105T090000",
            "20260107T080000Z",
            "20260107T090000",
        ),
        (
            "DTSTART;TZID=Europe/Berlin:20260105T090000",
            "20260107T075959Z",
            "20260106T090000",
        ),
        (
            "DTSTART;TZID=Europe/Berlin:20260105T090000",
            "20260107T090000",
            "20260107T090000",
        ),
        (
            "DTSTART;TZID=Europe/Berlin:20260105T090000",
            "20260107T085959",
            "20260106T090000",
        ),
        (
            "DTSTART;VALUE=DATE:20260105",
            "20260107T120000Z",
            "20260107",
        ),
        ("DTSTART;VALUE=DATE:20260105", "20260107", "20260107"),
    ] {
        let series = series(&[&format!("{start}\nRRULE:FREQ=DAILY;UNTIL={until}")]);
        assert_eq!(
            starts(&first(&series, 9)).last().unwrap(),
            last,
            "{start} {until}"
        );
        assert!(!series.is_unbounded());
    }
}

#[test]
fn a_day_over_a_change_of_the_clocks_is_as_long_as_it_is() {
    let length = |event: &str| {
        let during = first(&series(&[event]), 1)[0].during.clone();
        (during.end.seconds() - during.start.seconds()) / 3_600
    };
    assert_eq!(
        length("DTSTART;TZID=Europe/Berlin:20260328T120000\nDURATION:P1D"),
        23
    );
    assert_eq!(
        length("DTSTART;TZID=Europe/Berlin:20260328T120000\nDURATION:PT24H"),
        24
    );
    assert_eq!(
        length("DTSTART;TZID=Europe/Berlin:20261024T120000\nDURATION:P1D"),
        25
    );
    assert_eq!(
        length("DTSTART;TZID=Europe/Berlin:20261024T120000\nDURATION:P1DT1H"),
        26
    );
    assert_eq!(
        length(
            "DTSTART;TZID=Europe/Berlin:20260328T120000\nDTEND;TZID=Europe/Berlin:20260329T120000"
        ),
        23
    );
}

#[test]
fn an_end_gives_all_instances_the_same_exact_duration() {
    // §3.8.5.3: eight hours on each night, by DTEND; by DURATION:P1D as long as the day.
    let nights = series(&[
        "DTSTART;TZID=Europe/Berlin:20260327T220000\nDTEND;TZID=Europe/Berlin:20260328T060000\n\
         RRULE:FREQ=DAILY;COUNT=2",
    ]);
    assert_eq!(
        between(
            &nights,
            "20260101T000000",
            "20270101T000000",
            &TimeZone::UTC
        ),
        [
            "20260327T220000/20260328T060000 0",
            "20260328T220000/20260329T070000 0"
        ]
    );
    let days = series(&[
        "DTSTART;TZID=Europe/Berlin:20260327T220000\nDURATION:P1D\nRRULE:FREQ=DAILY;COUNT=2",
    ]);
    assert_eq!(
        between(&days, "20260101T000000", "20270101T000000", &TimeZone::UTC),
        [
            "20260327T220000/20260328T220000 0",
            "20260328T220000/20260329T220000 0"
        ]
    );
}

#[test]
fn days_and_floating_times_are_where_the_viewer_is() {
    let day = series(&["DTSTART;VALUE=DATE:20260704"]);
    for (name, from) in [
        ("Pacific/Auckland", "20260703T120000"),
        ("Europe/Berlin", "20260703T220000"),
        ("America/Los_Angeles", "20260704T070000"),
    ] {
        let viewer = zone(name);
        let all: Vec<_> = day
            .between(Timestamp::MIN..Timestamp::MAX, &viewer)
            .collect();
        assert_eq!(
            all[0].during,
            at(from)..at(from).plus_seconds(86_400),
            "{name}"
        );
    }
    let floating = series(&["DTSTART:20260704T090000\nDURATION:PT1H\nRRULE:FREQ=DAILY"]);
    let tokyo = zone("Asia/Tokyo");
    assert_eq!(
        between(&floating, "20300101T003000", "20300102T000000", &tokyo),
        [
            "20300101T090000/20300101T100000 0",
            "20300102T090000/20300102T100000 0"
        ][..1]
    );
}

#[test]
fn the_end_keeps_its_own_zone() {
    let flight = series(&[
        "DTSTART;TZID=Europe/Berlin:20260704T100000\nDTEND;TZID=America/New_York:20260704T130000",
    ]);
    let flight = &first(&flight, 1)[0];
    assert_eq!(flight.end.value().to_string(), "20260704T130000");
    assert_eq!(flight.during, at("20260704T080000")..at("20260704T170000"));
}

#[test]
fn a_changed_instance_leaves_its_place() {
    let series = series(&[
        "DTSTART;TZID=Europe/Berlin:20260105T090000\nDURATION:PT1H\nRRULE:FREQ=DAILY",
        "RECURRENCE-ID:20260107T080000Z\nDTSTART;TZID=Europe/Berlin:20260301T180000\nDURATION:PT2H",
    ]);
    assert_eq!(
        between(
            &series,
            "20260107T000000",
            "20260109T000000",
            &TimeZone::UTC
        ),
        ["20260108T090000/20260108T100000 0"]
    );
    assert_eq!(
        between(
            &series,
            "20260301T000000",
            "20260302T000000",
            &TimeZone::UTC
        ),
        [
            "20260301T090000/20260301T100000 0",
            "20260301T180000/20260301T200000 1"
        ]
    );
}

#[test]
fn a_changed_instance_that_does_not_exist_stands_for_itself() {
    let with_main = series(&[
        "DTSTART:20260105T090000Z\nRRULE:FREQ=DAILY;COUNT=2",
        "RECURRENCE-ID:20260301T090000Z\nDTSTART:20260301T100000Z",
    ]);
    assert_eq!(
        starts(&first(&with_main, 9)).last().unwrap(),
        "20260301T100000Z"
    );
    let alone = series(&[
        "RECURRENCE-ID:20260302T090000Z\nDTSTART:20260302T100000Z",
        "RECURRENCE-ID:20260301T090000Z\nDTSTART:20260301T100000Z",
    ]);
    assert_eq!(
        starts(&first(&alone, 9)),
        ["20260301T100000Z", "20260302T100000Z"]
    );
    assert!(first(&RecurrenceSet::new(&[]), 9).is_empty());
}

#[test]
fn this_and_future_one_after_the_other() {
    let series = series(&[
        "DTSTART;TZID=Europe/Berlin:20260105T090000\nDURATION:PT1H\nRRULE:FREQ=DAILY",
        "RECURRENCE-ID;RANGE=THISANDFUTURE;TZID=Europe/Berlin:20260108T090000\n\
         DTSTART;TZID=Europe/Berlin:20260107T200000\nDURATION:PT3H",
        "RECURRENCE-ID;RANGE=THISANDFUTURE;TZID=Europe/Berlin:20260110T090000\n\
         DTSTART;TZID=Europe/Berlin:20260111T070000\nDURATION:PT5M",
    ]);
    assert_eq!(
        between(
            &series,
            "20260107T000000",
            "20260113T000000",
            &TimeZone::UTC
        ),
        [
            "20260107T090000/20260107T100000 0",
            "20260107T200000/20260107T230000 1",
            "20260108T200000/20260108T230000 1",
            "20260111T070000/20260111T070500 2",
            "20260112T070000/20260112T070500 2"
        ]
    );
    // Over the change of the clocks it stays at its time of the clock; far away, too.
    assert_eq!(
        between(
            &series,
            "20960701T000000",
            "20960702T000000",
            &TimeZone::UTC
        ),
        ["20960701T070000/20960701T070500 2"]
    );
}

#[test]
fn this_and_future_into_another_zone_and_from_a_day_to_a_time() {
    let moved = series(&[
        "DTSTART;TZID=Europe/Berlin:20260302T150000\nRRULE:FREQ=WEEKLY;COUNT=3",
        "RECURRENCE-ID;RANGE=THISANDFUTURE;TZID=Europe/Berlin:20260309T150000\n\
         DTSTART;TZID=America/New_York:20260309T110000",
    ]);
    // 15:00 in Berlin is 10:00 in New York as the series begins its new time, with the clocks of
    // New York ahead for three weeks.
    let instants: Vec<_> = first(&moved, 9)
        .iter()
        .map(|i| i.during.start.to_string())
        .collect();
    assert_eq!(
        instants,
        ["20260302T140000Z", "20260309T150000Z", "20260316T150000Z"]
    );
    let timed = series(&[
        "DTSTART;VALUE=DATE:20260302\nRRULE:FREQ=WEEKLY;COUNT=3",
        "RECURRENCE-ID;RANGE=THISANDFUTURE;VALUE=DATE:20260309\nDTSTART:20260310T080000\nDURATION:PT1H",
    ]);
    assert_eq!(
        starts(&first(&timed, 9)),
        ["20260302", "20260310T080000", "20260317T080000"]
    );
}

#[test]
fn periods_have_their_own_length() {
    let series = series(&[
        "DTSTART:20260105T090000Z\nDTEND:20260105T100000Z\nRRULE:FREQ=DAILY;COUNT=2\n\
         RDATE;VALUE=PERIOD:20260106T090000Z/P10D,20260120T000000Z/20260120T003000Z",
    ]);
    assert_eq!(
        between(
            &series,
            "20260115T000000",
            "20260201T000000",
            &TimeZone::UTC
        ),
        [
            "20260106T090000Z/20260116T090000Z 0",
            "20260120T000000Z/20260120T003000Z 0"
        ]
    );
}

#[test]
fn an_end_before_the_start_is_none() {
    for (event, end) in [
        (
            "DTSTART:20260105T090000Z\nDTEND:20260104T090000Z",
            "20260105T090000Z",
        ),
        (
            "DTSTART:20260105T090000Z\nDURATION:-PT1H",
            "20260105T090000Z",
        ),
        (
            "DTSTART;VALUE=DATE:20260105\nDTEND;VALUE=DATE:20260105",
            "20260106",
        ),
        (
            "DTSTART;VALUE=DATE:20260105\nDTEND;VALUE=DATE:20260101",
            "20260106",
        ),
        ("DTSTART;VALUE=DATE:20260105\nDURATION:PT0S", "20260106"),
        ("DTSTART;VALUE=DATE:20260105\nDURATION:P2D", "20260107"),
    ] {
        assert_eq!(
            first(&series(&[event]), 1)[0].end.value().to_string(),
            end,
            "{event}"
        );
    }
}

#[test]
fn a_rule_below_a_day_of_whole_days_is_of_days() {
    let series =
        series(&["DTSTART;VALUE=DATE:20260105\nRRULE:FREQ=HOURLY;INTERVAL=48;BYHOUR=3;COUNT=3"]);
    assert_eq!(
        starts(&first(&series, 9)),
        ["20260105", "20260107", "20260109"]
    );
}

#[test]
fn bounds_hold_all_instances() {
    for events in [
        &["DTSTART:20260105T090000Z\nRRULE:FREQ=DAILY;COUNT=20\nDURATION:P3D"][..],
        &["DTSTART;VALUE=DATE:20260105\nRDATE;VALUE=DATE:20200101"],
        &[
            "DTSTART:20260105T090000Z\nRRULE:FREQ=DAILY;UNTIL=20270101T000000Z",
            "RECURRENCE-ID:20260106T090000Z\nDTSTART:19990106T090000Z",
        ],
    ] {
        let series = series(events);
        let bounds = series.bounds();
        assert!(bounds.end < at("20270110T000000"));
        for instance in first(&series, 1_000) {
            assert!(bounds.start <= instance.during.start && instance.during.end <= bounds.end);
        }
    }
}

#[test]
fn great_counts_end_where_they_should() {
    for (rule, last) in [
        ("FREQ=SECONDLY;COUNT=4000000000", "21521007T160639"),
        (
            "FREQ=DAILY;BYHOUR=9,21;BYMINUTE=0,30;COUNT=100001",
            "20940617T090000",
        ),
        ("FREQ=MONTHLY;COUNT=1201", "21260105T090000"),
    ] {
        let series = series(&[&format!("DTSTART:20260105T090000Z\nRRULE:{rule}")]);
        let bound = series.bounds().end;
        let near = bound.plus_seconds(-10 * 86_400)..Timestamp::MAX;
        let end = series.between(near, &TimeZone::UTC).last().unwrap();
        assert_eq!(end.start.value().to_string(), format!("{last}Z"), "{rule}");
    }
}

#[test]
fn alarms_inside_a_component_are_not_its_time() {
    let text = "BEGIN:VTODO\r\nDUE;TZID=Europe/Berlin:20260105T090000\r\nBEGIN:VALARM\r\n\
                TRIGGER:-PT15M\r\nDURATION:PT5M\r\nREPEAT:2\r\nEND:VALARM\r\nEND:VTODO\r\n";
    let (timing, warnings) = Timing::from_component(text.as_bytes(), &TimeZoneResolver::new());
    assert!(warnings.is_empty());
    let todo = RecurrenceSet::new(&[timing.unwrap()]);
    assert_eq!(
        first(&todo, 1)[0].during,
        at("20260105T080000")..at("20260105T080000")
    );
    let (none, _) = Timing::from_component(
        b"BEGIN:VTODO\r\nSUMMARY:Some day\r\nEND:VTODO\r\n",
        &TimeZoneResolver::new(),
    );
    assert_eq!(none, None);
}

#[test]
fn what_cannot_be_read_is_told_and_the_rest_stays() {
    let text = "BEGIN:VEVENT\r\nDTSTART;TZID=\"Nowhere/At all\":20260105T090000\r\nDTEND:soon\r\n\
                RRULE:FREQ=OFTEN\r\nRRULE:FREQ=DAILY;COUNT=2\r\nEXDATE:20260106T090000,x\r\nEND:VEVENT\r\n";
    let (timing, warnings) = Timing::from_component(text.as_bytes(), &TimeZoneResolver::new());
    let told: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(
        told[0].contains("\"Nowhere/At all\" is not known"),
        "{told:?}"
    );
    assert!(
        told[1].starts_with("DTEND: \"soon\" is no date or time"),
        "{told:?}"
    );
    assert!(told[2].contains("FREQ must be one of"), "{told:?}");
    assert_eq!(
        starts(&first(&RecurrenceSet::new(&[timing.unwrap()]), 9)),
        ["20260105T090000"]
    );
}

#[test]
fn folded_and_quoted_lines_are_read() {
    let timing = timing(
        "DTSTART;X-A=\"a;TZID=b\";TZID=\"Europe/Berlin\":20260105T090000\nrrule:FREQ=DA\n ILY;COUNT=2",
        &TimeZoneResolver::new(),
    );
    assert_eq!(timing.start.zone(), Some(&zone("Europe/Berlin")));
}
