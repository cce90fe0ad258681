//! Changes of one time of a series, of the start of a series, and times typed in the user's zone.

use crate::harness::TestHome;

/// Runs lines, and returns the output of the last one.
fn run(home: &TestHome, lines: &[&str]) -> String {
    let mut last = String::new();
    for line in lines {
        let (text, code) = home.run(line);
        assert_eq!(code, Some(0), "{line}: {text}");
        last = text;
    }
    last
}

/// The start of each time of entry 1, and its place.
const TIMES: &str = "etui calendar agenda --from 2027-01-01 --to 2027-02-28 --json | \
    jq -r '[.start[0:16], .title, .place] | map(select(length > 0)) | join(\" \")'";

fn file(home: &TestHome, lines: &str) {
    let text = format!(
        "BEGIN:VCALENDAR\nVERSION:2.0\nBEGIN:VEVENT\nUID:u\nDTSTAMP:20260101T000000Z\n{lines}END:VEVENT\n\
         END:VCALENDAR\n"
    );
    std::fs::write(home.path("in.ics"), text).unwrap();
}

#[test]
fn a_day_alone_keeps_the_time_of_day() {
    for (lines, args, expected) in [
        (
            "DTSTART;TZID=Europe/Berlin:20270114T190000\nDURATION:PT1H\n",
            "--start 2027-01-15",
            "DTSTART;TZID=Europe/Berlin:20270115T190000 DURATION:PT1H",
        ),
        (
            "DTSTART;TZID=Europe/Berlin:20270114T190000\nDTEND;TZID=Europe/Berlin:20270114T203000\n",
            "--start 2027-01-15",
            "DTSTART;TZID=Europe/Berlin:20270115T190000 DTEND;TZID=Europe/Berlin:20270115T203000",
        ),
        (
            "DTSTART:20270114T180000Z\nDURATION:PT1H\n",
            "--start 2027-07-15",
            "DTSTART:20270715T180000Z DURATION:PT1H",
        ),
        (
            "DTSTART:20270114T190000\nDURATION:PT1H\n",
            "--start 2027-01-15 --duration 2h",
            "DTSTART:20270115T190000 DURATION:PT2H",
        ),
        (
            "DTSTART;TZID=Europe/Berlin:20270114T190000\nDURATION:PT1H\n",
            "--start 2027-01-15 --all-day",
            "DTSTART;VALUE=DATE:20270115 DURATION:P1D",
        ),
        (
            "DTSTART:20270114T180000Z\nDURATION:PT1H\n",
            "--all-day",
            "DTSTART;VALUE=DATE:20270114 DURATION:P1D",
        ),
        (
            "DTSTART:20270115T180000Z\nDTEND:20270117T110000Z\n",
            "--all-day",
            "DTSTART;VALUE=DATE:20270115 DURATION:P3D",
        ),
        (
            "DTSTART;VALUE=DATE:20270114\nDTEND;VALUE=DATE:20270116\n",
            "--start 2027-01-20",
            "DTSTART;VALUE=DATE:20270120 DTEND;VALUE=DATE:20270122",
        ),
    ] {
        let home = TestHome::new();
        file(&home, lines);
        let edit = format!("etui calendar edit 1 {args}");
        let show = "etui calendar show 1 --ics | tr -d '\\r' | grep -E '^(DTSTART|DTEND|DURATION)' | paste -sd' '";
        let found = run(&home, &["etui -q import in.ics", &edit, show]);
        assert_eq!(found.trim(), expected, "{lines} {args}");
    }
}

#[test]
fn a_range_of_days_is_refused_for_an_entry_with_a_time() {
    let home = TestHome::new();
    file(&home, "DTSTART:20270114T180000Z\nDURATION:PT1H\n");
    run(&home, &["etui -q import in.ics"]);
    let (text, code) = home.run("etui calendar edit 1 --start '2027-01-15 - 2027-01-17'");
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("use --all-day"), "{text}");
}

#[test]
fn the_day_of_a_rule_moves_with_its_start() {
    for (start, rule, new, expected) in [
        (
            "2027-01-04 9:00",
            "every monday",
            "2027-01-05",
            "FREQ=WEEKLY;BYDAY=TU",
        ),
        (
            "2027-01-04 9:00",
            "every monday",
            "2027-01-11",
            "FREQ=WEEKLY;BYDAY=MO",
        ),
        (
            "2027-01-04 9:00",
            "every monday",
            "2027-01-03",
            "FREQ=WEEKLY;BYDAY=SU",
        ),
        (
            "2027-01-15 9:00",
            "FREQ=MONTHLY;BYMONTHDAY=15",
            "2027-01-20",
            "FREQ=MONTHLY;BYMONTHDAY=20",
        ),
        (
            "2027-01-12 9:00",
            "FREQ=MONTHLY;BYDAY=2TU",
            "2027-01-20",
            "FREQ=MONTHLY;BYDAY=3WE",
        ),
        (
            "2027-01-26 9:00",
            "FREQ=MONTHLY;BYDAY=-1TU",
            "2027-01-28",
            "FREQ=MONTHLY;BYDAY=-1TH",
        ),
        (
            "2027-05-09 9:00",
            "FREQ=YEARLY;BYMONTH=5;BYDAY=2SU",
            "2027-06-06",
            "FREQ=YEARLY;BYDAY=1SU;BYMONTH=6",
        ),
    ] {
        let home = TestHome::new();
        let add = format!("etui calendar add X --start '{start}' --repeat '{rule}'");
        let edit = format!("etui calendar edit 1 --start {new}");
        let show = "etui calendar show 1 --ics | tr -d '\\r' | sed -n 's/^DTSTART;TZID=Europe.Berlin://p; s/^RRULE://p'";
        let found = run(&home, &[&add, &edit, show]);
        let day = new.replace('-', "");
        assert_eq!(found, format!("{day}T090000\n{expected}\n"), "{rule} {new}");
    }
    let home = TestHome::new();
    run(
        &home,
        &["etui calendar add X --start '2027-01-31 9:00' --repeat 'FREQ=MONTHLY;BYMONTHDAY=-1'"],
    );
    let (text, code) = home.run("etui calendar edit 1 --start 2027-02-10");
    assert_eq!(
        (code, text.contains("give --repeat")),
        (Some(2), true),
        "{text}"
    );
}

#[test]
fn exceptions_keep_their_day_where_the_rule_has_it() {
    for (add, changes, edit, id, excluded) in [
        // A week later: the days are those of the rule.
        (
            "--start '2026-11-30 9:00' --repeat weekdays",
            &["skip 1 --on 2026-12-24", "move 1 14:00 --on 2026-12-23"][..],
            "2026-12-07 9:00",
            "20261223T090000",
            "20261224T090000",
        ),
        (
            "--start '2026-11-30 9:00' --repeat weekdays",
            &["skip 1 --on 2026-12-24", "move 1 14:00 --on 2026-12-23"],
            "2026-12-01 10:30",
            "20261223T103000",
            "20261224T103000",
        ),
        (
            "--start '2026-12-07 9:00' --repeat weekdays",
            &["skip 1 --on 2026-12-24", "move 1 14:00 --on 2026-12-23"],
            "2026-11-30 9:00",
            "20261223T090000",
            "20261224T090000",
        ),
        (
            "--start '2026-11-30 9:00' --repeat daily",
            &["skip 1 --on 2026-12-24", "move 1 14:00 --on 2026-12-23"],
            "2026-12-02 9:00",
            "20261223T090000",
            "20261224T090000",
        ),
        // The rule has other days: the exceptions are in the same week.
        (
            "--start '2026-11-30 9:00' --repeat 'every monday'",
            &["skip 1 --on 2026-12-21", "move 1 14:00 --on 2026-12-14"],
            "2026-12-01",
            "20261215T090000",
            "20261222T090000",
        ),
        (
            "--start '2026-11-30 9:00' --repeat 'every monday'",
            &["skip 1 --on 2026-12-21", "move 1 14:00 --on 2026-12-14"],
            "2026-12-08 8:00",
            "20261215T080000",
            "20261222T080000",
        ),
        (
            "--start '2026-11-30 9:00' --repeat 'FREQ=WEEKLY'",
            &["skip 1 --on 2026-12-21", "move 1 14:00 --on 2026-12-14"],
            "2026-11-27",
            "20261211T090000",
            "20261218T090000",
        ),
        (
            "--start '2026-11-30 9:00' --repeat 'FREQ=WEEKLY;INTERVAL=2'",
            &["skip 1 --on 2026-12-28", "move 1 14:00 --on 2026-12-14"],
            "2026-12-07",
            "20261221T090000",
            "20270104T090000",
        ),
    ] {
        let home = TestHome::new();
        let add = format!("etui calendar add X {add}");
        run(&home, &[&add]);
        for change in changes {
            run(&home, &[&format!("etui calendar {change}")]);
        }
        let edit = format!("etui calendar edit 1 --start '{edit}'");
        let answer = run(&home, &[&edit]);
        let show = "etui calendar show 1 --ics | tr -d '\\r' | sed -n 's/^RECURRENCE-ID;TZID=Europe.Berlin://p; s/^EXDATE;TZID=Europe.Berlin://p' | sort";
        let found = run(&home, &[show]);
        let mut expected = [id, excluded];
        expected.sort();
        assert_eq!(
            found,
            format!("{}\n{}\n", expected[0], expected[1]),
            "{add} {edit}"
        );
        assert!(
            answer.contains("Skipped and changed times that"),
            "{answer}"
        );
    }
}

#[test]
fn words_for_one_time_count_from_it() {
    for (to, expected) in [
        ("friday 10:00", "2027-01-15T10:00"),
        ("monday", "2027-01-18T09:00"),
        ("+1h", "2027-01-14T10:00"),
        ("+1d", "2027-01-15T09:00"),
        ("15th", "2027-01-15T09:00"),
        ("15:30", "2027-01-14T15:30"),
        ("freitag 8:00", "2027-01-15T08:00"),
        ("2027-01-20", "2027-01-20T09:00"),
    ] {
        let home = TestHome::new();
        let add = "etui calendar add X --start '2026-11-30 9:00' --repeat weekdays --place old";
        let change = format!("etui calendar move 1 '{to}' --on 2027-01-14");
        let edit = format!("etui calendar edit 1 --on 2027-01-14 --start '{to}' --place new");
        let show = "etui calendar show 1 --ics | tr -d '\\r' | sed -n '/RECURRENCE-ID/,$p' | cat";
        let moved = run(&home, &[add, &change, show]);
        assert!(
            moved.contains("RECURRENCE-ID;TZID=Europe/Berlin:20270114T090000"),
            "{moved}"
        );
        let times = run(&home, &[TIMES]);
        assert!(
            times.contains(&format!("{expected} X old")),
            "{to}: {times}"
        );
        let times = run(&home, &["etui calendar restore 1", &edit, TIMES]);
        assert!(
            times.contains(&format!("{expected} X new")),
            "{to}: {times}"
        );
        assert_eq!(times.matches(" new").count(), 1, "{times}");
    }
}

#[test]
fn typed_times_are_the_users_and_the_entry_keeps_its_zone() {
    for (lines, command, expected) in [
        (
            "DTSTART:20270104T180000Z\nRRULE:FREQ=DAILY\n",
            "move 1 21:00 --on 2027-01-06",
            "DTSTART:20270106T200000Z",
        ),
        (
            "DTSTART;TZID=America/New_York:20270104T120000\nRRULE:FREQ=DAILY\n",
            "move 1 19:00 --on 2027-01-06",
            "DTSTART;TZID=America/New_York:20270106T130000",
        ),
        (
            "DTSTART;TZID=America/New_York:20270104T120000\nRRULE:FREQ=DAILY\n",
            "move 1 19:00 --on 2027-01-06 --zone Asia/Tokyo",
            "DTSTART;TZID=America/New_York:20270106T050000",
        ),
        (
            "DTSTART:20270104T180000Z\n",
            "edit 1 --start 21:00",
            "DTSTART:20270104T200000Z",
        ),
        (
            "DTSTART;TZID=America/New_York:20270104T120000\n",
            "edit 1 --start '2027-01-05 19:00'",
            "DTSTART;TZID=America/New_York:20270105T130000",
        ),
        (
            "DTSTART;TZID=America/New_York:20270104T120000\n",
            "edit 1 --start '2027-01-05 19:00' --zone UTC",
            "DTSTART;TZID=America/New_York:20270105T140000",
        ),
        (
            "DTSTART:20270104T120000\n",
            "edit 1 --start 19:00",
            "DTSTART:20270104T190000",
        ),
    ] {
        let home = TestHome::new();
        file(&home, lines);
        let command = format!("etui calendar {command}");
        let show = "etui calendar show 1 --ics | tr -d '\\r' | grep ^DTSTART | tail -1";
        let found = run(&home, &["etui -q import in.ics", &command, show]);
        assert_eq!(found.trim(), expected, "{command}");
    }
    let home = TestHome::new();
    file(
        &home,
        "DTSTART;TZID=America/New_York:20270104T120000\nDURATION:PT1H\n",
    );
    let answer = run(
        &home,
        &["etui -q import in.ics", "etui calendar edit 1 --end 20:00"],
    );
    assert!(answer.contains("Mon 4 Jan 2027, 18:00-20:00"), "{answer}");
}

#[test]
fn one_time_and_all_later_ones_are_changed() {
    let home = TestHome::new();
    let add = "etui calendar add X --start '2027-01-04 9:00' --repeat 'weekly 6 times' --place old";
    run(&home, &[add, "etui calendar move 1 12:00 --on 2027-02-01"]);
    let times = run(
        &home,
        &[
            "etui calendar edit 1 --on 2027-01-11 --title One --place new --start 10:00",
            TIMES,
        ],
    );
    assert_eq!(
        times.lines().nth(1),
        Some("2027-01-11T10:00 One new"),
        "{times}"
    );
    let times = run(
        &home,
        &[
            "etui calendar edit 1 --from 2027-01-25 --title Later",
            TIMES,
        ],
    );
    assert_eq!(
        times.lines().collect::<Vec<_>>(),
        [
            "2027-01-04T09:00 X old",
            "2027-01-11T10:00 One new",
            "2027-01-18T09:00 X old",
            "2027-01-25T09:00 Later old",
            "2027-02-01T12:00 X old",
            "2027-02-08T09:00 Later old",
        ]
    );
    let times = run(
        &home,
        &["etui calendar edit 1 --from 2027-01-04 --place all", TIMES],
    );
    assert_eq!(times.lines().next(), Some("2027-01-04T09:00 X all"));
    let (text, code) = home.run("etui calendar edit 1 --on 2027-01-05 --title Y");
    assert_eq!(
        (code, text.contains("has no time on")),
        (Some(4), true),
        "{text}"
    );
}

#[test]
fn the_end_of_a_period_counts_from_its_start() {
    let home = TestHome::new();
    for command in ["agenda", "freebusy"] {
        for (from, to) in [
            ("monday", "friday"),
            ("friday", "monday"),
            ("sunday", "saturday"),
            ("tomorrow", "+3d"),
            ("2027-01-14", "15th"),
        ] {
            let line = format!("etui calendar {command} --from {from} --to {to}");
            assert_eq!(
                home.run(&format!(
                    "etui -q calendar add X --start 2027-01-04; {line}"
                ))
                .1,
                Some(0),
                "{line}"
            );
        }
    }
    let text = run(
        &home,
        &["etui calendar freebusy --from 2027-01-14 --to friday"],
    );
    assert!(text.contains("Fri 15 Jan 2027"), "{text}");
}
