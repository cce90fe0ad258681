//! Calendars made to stop a person's own: the answer has the person's entries, and names the parts that were cut.

use std::time::{Duration, Instant};

use crate::harness::{TestHome, session};

fn import(home: &TestHome, calendar: &str, body: &str) {
    let text = format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{body}END:VCALENDAR\r\n");
    std::fs::write(home.path("in.ics"), text).unwrap();
    let line =
        format!("etui -q calendars create {calendar}; etui -q import in.ics --calendar {calendar}");
    assert_eq!(home.run(&line), ("".into(), Some(0)));
}

fn tick(n: usize) -> String {
    format!(
        "BEGIN:VEVENT\r\nUID:tick{n}\r\nSUMMARY:Tick {n}\r\nDTSTART:20270101T000000Z\r\n\
         RRULE:FREQ=SECONDLY\r\nEND:VEVENT\r\n"
    )
}

#[test]
fn a_rule_for_every_second_does_not_hide_the_week() {
    let home = super::with_calendar();
    import(&home, "Ticks", &tick(1));
    session!(home, [
        "etui calendar agenda --from 2027-03-08 | grep -v Tick | cut -c1-40",
        "etui calendar agenda 2027-03-08 --json 2>&1 >/dev/null",
        "etui calendar agenda 2027-03-08 --json 2>/dev/null | grep -c Tick",
        "etui calendar agenda 2027-03-08 --limit 50000 --json 2>/dev/null | grep -c Tick",
    ], @r#"
    $ etui calendar agenda --from 2027-03-08 | grep -v Tick | cut -c1-40
    Only the first 700 occurrences of "Tick 1" (#7) are shown; use --limit for more
    Monday, 8 March 2027
      09:00-09:45  Jour fixe ↻  Room 4 · 

    Tuesday, 9 March 2027
        22:00-...  Night shift  · Calendar 

    Wednesday, 10 March 2027
          all day  Fair (day 1 of 3)  Leipzi
        ...-06:00  Night shift  · Calendar 
      21:00-21:30  Call with 山田 太郎 (

    Thursday, 11 March 2027
          all day  Fair (day 2 of 3)  Leipzi
      11:00-11:45  Jour fixe, later ↻  · 

    Friday, 12 March 2027
          all day  Fair (day 3 of 3)  Leipzi
          all day  [ ] Tax return  · Calend
      13:00-14:00  Eve [31mTrouble2J (cancel
    $ etui calendar agenda 2027-03-08 --json 2>&1 >/dev/null
    Only the first 100 occurrences of "Tick 1" (#7) are shown; use --limit for more
    $ etui calendar agenda 2027-03-08 --json 2>/dev/null | grep -c Tick
    100
    $ etui calendar agenda 2027-03-08 --limit 50000 --json 2>/dev/null | grep -c Tick
    49999
    "#);
}

#[test]
fn thousands_of_rules_for_every_second_cost_what_is_shown() {
    let home = super::with_calendar();
    import(&home, "Ticks", &(0..1_500).map(tick).collect::<String>());
    let started = Instant::now();
    session!(home, [
        "etui calendar agenda --from 2027-03-08 2>&1 >/dev/null",
        "etui calendar agenda --from 2027-03-08 2>/dev/null | grep -c 'Calendar'",
        "etui calendar agenda --from 2027-03-08 2>/dev/null | grep -c 'Tick'",
        "etui calendar agenda --from 2027-03-08 --limit 20 | grep -c Tick",
        "etui calendar freebusy --from 2027-03-08",
    ], @r#"
    $ etui calendar agenda --from 2027-03-08 2>&1 >/dev/null
    Only the first 5 occurrences of "Tick 0" (#7), "Tick 1" (#8), "Tick 2" (#9) and 1,497 more are shown; use --limit for more
    $ etui calendar agenda --from 2027-03-08 2>/dev/null | grep -c 'Calendar'
    10
    $ etui calendar agenda --from 2027-03-08 2>/dev/null | grep -c 'Tick'
    7500
    $ etui calendar agenda --from 2027-03-08 --limit 20 | grep -c Tick
    Only the first 20 are shown; use --limit for more
    20
    $ etui calendar freebusy --from 2027-03-08
    Mon 8 Mar 2027   09:00-09:45
    Tue 9 Mar 2027   22:00-24:00
    Wed 10 Mar 2027  00:00-06:00
                     21:00-21:30  tentative
    Thu 11 Mar 2027  11:00-11:45
    "#);
    assert!(started.elapsed() < Duration::from_secs(600));
}

#[test]
fn alarms_of_every_second_do_not_stop_the_others() {
    let home = super::with_calendar();
    let alarms: String = (0..256)
        .map(|n| {
            format!(
                "BEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER:-PT{n}S\r\nREPEAT:1000000\r\n\
                 DURATION:P1D\r\nEND:VALARM\r\n"
            )
        })
        .collect();
    let event = tick(1).replace("END:VEVENT", &format!("{alarms}END:VEVENT"));
    import(&home, "Ticks", &event);
    let started = Instant::now();
    session!(home, [
        "etui calendar alarms --from 2027-03-08T08:00 --next 2",
        "etui calendar alarms --from 2027-03-08T08:00 --calendar Calendar --next 1",
    ], @r#"
    $ etui calendar alarms --from 2027-03-08T08:00 --next 2
    Not all alarms of "Tick 1" (#7) were searched; there are too many
    #  Alarm                    Start             Title
    1  Mon 8 Mar 2027 08:50     2027-03-08 09:00  Jour fixe
    7  Tue 9 Mar 2027 00:55:45  2027-01-01 01:00  Tick 1
    $ etui calendar alarms --from 2027-03-08T08:00 --calendar Calendar --next 1
    #  Alarm                 Start             Title
    1  Mon 8 Mar 2027 08:50  2027-03-08 09:00  Jour fixe
    "#);
    assert!(started.elapsed() < Duration::from_secs(600));
}
