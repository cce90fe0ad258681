//! Every example of RFC 5545 §3.8.5.3, with the instances that it lists; those of §3.8.5.1,
//! §3.8.5.2 and §3.3.10; with erratum 3883.

use super::support::{first, series, starts};

/// A rule from 1997-09-02 09:00 in New York, as most examples have it.
const START: &str = "DTSTART;TZID=America/New_York:19970902T090000";

/// Parses a list of dates: `1997: Sep 2-4 9 | Oct 1 | 1998: Jan 1`; all at the given time.
fn listed(text: &str, time: &str) -> Vec<String> {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let (mut year, mut month) = (String::new(), 0);
    let mut all = Vec::new();
    for word in text.split_whitespace() {
        if let Some(y) = word.strip_suffix(':') {
            year = y.to_owned();
        } else if let Some(m) = MONTHS.iter().position(|m| *m == word) {
            month = m + 1;
        } else {
            let (from, to) = word.split_once('-').unwrap_or((word, word));
            let (from, to): (u32, u32) = (from.parse().unwrap(), to.parse().unwrap());
            all.extend((from..=to).map(|day| format!("{year}{month:02}{day:02}T{time}")));
        }
    }
    all
}

/// The rule's instances are those listed, and if `ends`, no more.
fn check_from(start: &str, rule: &str, expected: &[String], ends: bool) {
    let series = series(&[&format!("{start}\n{rule}")]);
    let got = starts(&first(&series, expected.len() + usize::from(ends)));
    assert_eq!(got, expected, "{start} {rule}");
    assert_eq!(series.is_unbounded(), !ends, "{rule}");
}

fn ends(rule: &str, expected: &str) {
    check_from(
        START,
        &format!("RRULE:{rule}"),
        &listed(expected, "090000"),
        true,
    );
}

fn goes_on(rule: &str, expected: &str) {
    check_from(
        START,
        &format!("RRULE:{rule}"),
        &listed(expected, "090000"),
        false,
    );
}

fn ends_from(start: &str, rule: &str, expected: &str) {
    let start = format!("DTSTART;TZID=America/New_York:{start}");
    check_from(
        &start,
        &format!("RRULE:{rule}"),
        &listed(expected, "090000"),
        true,
    );
}

fn goes_on_from(start: &str, rule: &str, expected: &str) {
    let start = format!("DTSTART;TZID=America/New_York:{start}");
    check_from(
        &start,
        &format!("RRULE:{rule}"),
        &listed(expected, "090000"),
        false,
    );
}

#[test]
fn daily() {
    ends("FREQ=DAILY;COUNT=10", "1997: Sep 2-11");
    ends(
        "FREQ=DAILY;UNTIL=19971224T000000Z",
        "1997: Sep 2-30 Oct 1-31 Nov 1-30 Dec 1-23",
    );
    goes_on(
        "FREQ=DAILY;INTERVAL=2",
        "1997: Sep 2 4 6 8 10 12 14 16 18 20 22 24 26 28 30 Oct 2 4 6 8 10 12 14 16 18 20 22 24 26 \
         28 30 Nov 1 3 5 7 9 11 13 15 17 19 21 23 25 27 29 Dec 1 3",
    );
    ends(
        "FREQ=DAILY;INTERVAL=10;COUNT=5",
        "1997: Sep 2 12 22 Oct 2 12",
    );
}

#[test]
fn every_day_in_january_for_three_years() {
    let expected = "1998: Jan 1-31 1999: Jan 1-31 2000: Jan 1-31";
    for rule in [
        "FREQ=YEARLY;UNTIL=20000131T140000Z;BYMONTH=1;BYDAY=SU,MO,TU,WE,TH,FR,SA",
        "FREQ=DAILY;UNTIL=20000131T140000Z;BYMONTH=1",
    ] {
        ends_from("19980101T090000", rule, expected);
    }
}

#[test]
fn weekly() {
    ends(
        "FREQ=WEEKLY;COUNT=10",
        "1997: Sep 2 9 16 23 30 Oct 7 14 21 28 Nov 4",
    );
    ends(
        "FREQ=WEEKLY;UNTIL=19971224T000000Z",
        "1997: Sep 2 9 16 23 30 Oct 7 14 21 28 Nov 4 11 18 25 Dec 2 9 16 23",
    );
    goes_on(
        "FREQ=WEEKLY;INTERVAL=2;WKST=SU",
        "1997: Sep 2 16 30 Oct 14 28 Nov 11 25 Dec 9 23 1998: Jan 6 20 Feb 3 17",
    );
    for rule in [
        "FREQ=WEEKLY;UNTIL=19971007T000000Z;WKST=SU;BYDAY=TU,TH",
        "FREQ=WEEKLY;COUNT=10;WKST=SU;BYDAY=TU,TH",
    ] {
        ends(rule, "1997: Sep 2 4 9 11 16 18 23 25 30 Oct 2");
    }
    ends_from(
        "19970901T090000",
        "FREQ=WEEKLY;INTERVAL=2;UNTIL=19971224T000000Z;WKST=SU;BYDAY=MO,WE,FR",
        "1997: Sep 1 3 5 15 17 19 29 Oct 1 3 13 15 17 27 29 31 Nov 10 12 14 24 26 28 Dec 8 10 12 22",
    );
    ends(
        "FREQ=WEEKLY;INTERVAL=2;COUNT=8;WKST=SU;BYDAY=TU,TH",
        "1997: Sep 2 4 16 18 30 Oct 2 14 16",
    );
}

#[test]
fn monthly_by_day() {
    ends_from(
        "19970905T090000",
        "FREQ=MONTHLY;COUNT=10;BYDAY=1FR",
        "1997: Sep 5 Oct 3 Nov 7 Dec 5 1998: Jan 2 Feb 6 Mar 6 Apr 3 May 1 Jun 5",
    );
    ends_from(
        "19970905T090000",
        "FREQ=MONTHLY;UNTIL=19971224T000000Z;BYDAY=1FR",
        "1997: Sep 5 Oct 3 Nov 7 Dec 5",
    );
    ends_from(
        "19970907T090000",
        "FREQ=MONTHLY;INTERVAL=2;COUNT=10;BYDAY=1SU,-1SU",
        "1997: Sep 7 28 Nov 2 30 1998: Jan 4 25 Mar 1 29 May 3 31",
    );
    ends_from(
        "19970922T090000",
        "FREQ=MONTHLY;COUNT=6;BYDAY=-2MO",
        "1997: Sep 22 Oct 20 Nov 17 Dec 22 1998: Jan 19 Feb 16",
    );
    goes_on(
        "FREQ=MONTHLY;INTERVAL=2;BYDAY=TU",
        "1997: Sep 2 9 16 23 30 Nov 4 11 18 25 1998: Jan 6 13 20 27 Mar 3 10 17 24 31",
    );
}

#[test]
fn monthly_by_month_day() {
    goes_on_from(
        "19970928T090000",
        "FREQ=MONTHLY;BYMONTHDAY=-3",
        "1997: Sep 28 Oct 29 Nov 28 Dec 29 1998: Jan 29 Feb 26",
    );
    ends(
        "FREQ=MONTHLY;COUNT=10;BYMONTHDAY=2,15",
        "1997: Sep 2 15 Oct 2 15 Nov 2 15 Dec 2 15 1998: Jan 2 15",
    );
    ends_from(
        "19970930T090000",
        "FREQ=MONTHLY;COUNT=10;BYMONTHDAY=1,-1",
        "1997: Sep 30 Oct 1 31 Nov 1 30 Dec 1 31 1998: Jan 1 31 Feb 1",
    );
    ends_from(
        "19970910T090000",
        "FREQ=MONTHLY;INTERVAL=18;COUNT=10;BYMONTHDAY=10,11,12,13,14,15",
        "1997: Sep 10-15 1999: Mar 10-13",
    );
}

#[test]
fn yearly() {
    ends_from(
        "19970610T090000",
        "FREQ=YEARLY;COUNT=10;BYMONTH=6,7",
        "1997: Jun 10 Jul 10 1998: Jun 10 Jul 10 1999: Jun 10 Jul 10 2000: Jun 10 Jul 10 2001: Jun \
         10 Jul 10",
    );
    ends_from(
        "19970310T090000",
        "FREQ=YEARLY;INTERVAL=2;COUNT=10;BYMONTH=1,2,3",
        "1997: Mar 10 1999: Jan 10 Feb 10 Mar 10 2001: Jan 10 Feb 10 Mar 10 2003: Jan 10 Feb 10 Mar \
         10",
    );
    ends_from(
        "19970101T090000",
        "FREQ=YEARLY;INTERVAL=3;COUNT=10;BYYEARDAY=1,100,200",
        "1997: Jan 1 Apr 10 Jul 19 2000: Jan 1 Apr 9 Jul 18 2003: Jan 1 Apr 10 Jul 19 2006: Jan 1",
    );
    goes_on_from(
        "19970519T090000",
        "FREQ=YEARLY;BYDAY=20MO",
        "1997: May 19 1998: May 18 1999: May 17",
    );
    goes_on_from(
        "19970512T090000",
        "FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO",
        "1997: May 12 1998: May 11 1999: May 17",
    );
    goes_on_from(
        "19970313T090000",
        "FREQ=YEARLY;BYMONTH=3;BYDAY=TH",
        "1997: Mar 13 20 27 1998: Mar 5 12 19 26 1999: Mar 4 11 18 25",
    );
    goes_on_from(
        "19970605T090000",
        "FREQ=YEARLY;BYDAY=TH;BYMONTH=6,7,8",
        "1997: Jun 5 12 19 26 Jul 3 10 17 24 31 Aug 7 14 21 28 1998: Jun 4 11 18 25 Jul 2 9 16 23 30 \
         Aug 6 13 20 27 1999: Jun 3 10 17 24 Jul 1 8 15 22 29 Aug 5 12 19 26",
    );
}

#[test]
fn every_friday_the_13th() {
    let lines =
        "EXDATE;TZID=America/New_York:19970902T090000\nRRULE:FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13";
    let expected = listed(
        "1998: Feb 13 Mar 13 Nov 13 1999: Aug 13 2000: Oct 13",
        "090000",
    );
    check_from(START, lines, &expected, false);
}

#[test]
fn first_saturday_after_the_first_sunday() {
    goes_on_from(
        "19970913T090000",
        "FREQ=MONTHLY;BYDAY=SA;BYMONTHDAY=7,8,9,10,11,12,13",
        "1997: Sep 13 Oct 11 Nov 8 Dec 13 1998: Jan 10 Feb 7 Mar 7 Apr 11 May 9 Jun 13",
    );
}

#[test]
fn election_day() {
    goes_on_from(
        "19961105T090000",
        "FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8",
        "1996: Nov 5 2000: Nov 7 2004: Nov 2",
    );
}

#[test]
fn by_position() {
    ends_from(
        "19970904T090000",
        "FREQ=MONTHLY;COUNT=3;BYDAY=TU,WE,TH;BYSETPOS=3",
        "1997: Sep 4 Oct 7 Nov 6",
    );
    goes_on_from(
        "19970929T090000",
        "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2",
        "1997: Sep 29 Oct 30 Nov 27 Dec 30 1998: Jan 29 Feb 26 Mar 30",
    );
}

#[test]
fn below_a_day() {
    let times = |day: &str, times: &[&str]| -> Vec<String> {
        times.iter().map(|t| format!("{day}T{t}00")).collect()
    };
    // Erratum 3883: the RFC writes UNTIL=19970902T170000Z, which is 13:00 in New York.
    check_from(
        START,
        "RRULE:FREQ=HOURLY;INTERVAL=3;UNTIL=19970902T210000Z",
        &times("19970902", &["0900", "1200", "1500"]),
        true,
    );
    check_from(
        START,
        "RRULE:FREQ=HOURLY;INTERVAL=3;UNTIL=19970902T170000Z",
        &times("19970902", &["0900", "1200"]),
        true,
    );
    check_from(
        START,
        "RRULE:FREQ=MINUTELY;INTERVAL=15;COUNT=6",
        &times(
            "19970902",
            &["0900", "0915", "0930", "0945", "1000", "1015"],
        ),
        true,
    );
    check_from(
        START,
        "RRULE:FREQ=MINUTELY;INTERVAL=90;COUNT=4",
        &times("19970902", &["0900", "1030", "1200", "1330"]),
        true,
    );
    let mut expected = Vec::new();
    for day in ["19970902", "19970903"] {
        for hour in 9..=16 {
            for minute in ["00", "20", "40"] {
                expected.push(format!("{day}T{hour:02}{minute}00"));
            }
        }
    }
    for rule in [
        "RRULE:FREQ=DAILY;BYHOUR=9,10,11,12,13,14,15,16;BYMINUTE=0,20,40",
        "RRULE:FREQ=MINUTELY;INTERVAL=20;BYHOUR=9,10,11,12,13,14,15,16",
    ] {
        check_from(START, rule, &expected, false);
    }
}

#[test]
fn the_week_start_matters() {
    ends_from(
        "19970805T090000",
        "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO",
        "1997: Aug 5 10 19 24",
    );
    ends_from(
        "19970805T090000",
        "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU",
        "1997: Aug 5 17 19 31",
    );
}

#[test]
fn invalid_dates_are_ignored() {
    ends_from(
        "20070115T090000",
        "FREQ=MONTHLY;BYMONTHDAY=15,30;COUNT=5",
        "2007: Jan 15 30 Feb 15 Mar 15 30",
    );
}

#[test]
fn sunday_in_january_at_two_times() {
    // §3.3.10: every Sunday in January at 8:30 and 9:30, every other year.
    let mut expected = Vec::new();
    for day in ["0105", "0112", "0119", "0126"] {
        expected.extend(["083000", "093000"].map(|t| format!("1997{day}T{t}")));
    }
    expected.extend(["083000", "093000"].map(|t| format!("19990103T{t}")));
    check_from(
        "DTSTART;TZID=US-Eastern:19970105T083000"
            .replace("US-Eastern", "US/Eastern")
            .as_str(),
        "RRULE:FREQ=YEARLY;INTERVAL=2;BYMONTH=1;BYDAY=SU;BYHOUR=8,9;BYMINUTE=30",
        &expected,
        false,
    );
}

#[test]
fn exception_dates() {
    // §3.8.5.1
    check_from(
        "DTSTART:19960402T010000Z",
        "RRULE:FREQ=DAILY;COUNT=4\nEXDATE:19960402T010000Z,19960403T010000Z,19960404T010000Z",
        &["19960405T010000Z".to_owned()],
        true,
    );
}

#[test]
fn recurrence_dates() {
    // §3.8.5.2, each property by itself.
    let expected = |all: &[&str]| all.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
    check_from(
        "DTSTART:19970714T123000Z",
        "RDATE:19970714T123000Z",
        &expected(&["19970714T123000Z"]),
        true,
    );
    check_from(
        "DTSTART;TZID=America/New_York:19970714T083000",
        "RDATE;TZID=America/New_York:19970714T083000",
        &expected(&["19970714T083000"]),
        true,
    );
    let series = series(&["DTSTART:19960403T020000Z\n\
         RDATE;VALUE=PERIOD:19960403T020000Z/19960403T040000Z,19960404T010000Z/PT3H"]);
    let got: Vec<String> = first(&series, 9)
        .iter()
        .map(|i| format!("{}/{}", i.start.value(), i.end.value()))
        .collect();
    assert_eq!(
        got,
        [
            "19960403T020000Z/19960403T040000Z",
            "19960404T010000Z/19960404T040000Z"
        ]
    );
    check_from(
        "DTSTART;VALUE=DATE:19970101",
        "RDATE;VALUE=DATE:19970101,19970120,19970217,19970421\n\
         RDATE;VALUE=DATE:19970526,19970704,19970901,19971014,19971128,19971129,19971225",
        &expected(&[
            "19970101", "19970120", "19970217", "19970421", "19970526", "19970704", "19970901",
            "19971014", "19971128", "19971129", "19971225",
        ]),
        true,
    );
}
