//! Times in words, a title with its time, and starts that are off their rule.

use super::with_calendar;
use crate::harness::{TestHome, session};

#[test]
fn a_title_and_its_time_in_one_phrase() {
    let home = TestHome::new();
    let uid = "--set uid=x | head -4; etui -q calendar remove x";
    session!(home, [
        &format!("etui calendar add 'Lunch with Bob 2027-03-09 12:30' {uid}"),
        &format!("etui calendar add 'Lunch with Bob on 9 March 2027 at 12:30 for 2 hours' {uid}"),
        &format!("etui calendar add 'Trip 24 Dec 2027 to 2028-01-06' {uid}"),
        &format!("etui calendar add 'Trip 24 Dec 2027' --end 2028-01-06 {uid}"),
        &format!("etui calendar add 'Gym 9 Mar 2027 18:00-19:30 every other tuesday for 10 weeks' {uid}"),
        &format!("etui calendar add 'Call 2027-03-09 12:30' --start '2027-03-10 9:00' {uid}"),
        &format!("etui calendar add 'Report 2027-03-09' --todo {uid}"),
        "etui calendar add 'Read chapter 9'",
        "etui calendar add 'Lunch 2027-03-09 12:30' --repeat 'every tuesday' --set uid=y --json | sed 's/,.etag.*,\"name/,\"name/'",
    ], @r#"
    $ etui calendar add 'Lunch with Bob 2027-03-09 12:30' --set uid=x | head -4; etui -q calendar remove x
    Added 1: Lunch with Bob
      Tue 9 Mar 2027, 12:30-13:30
    UID x
    $ etui calendar add 'Lunch with Bob on 9 March 2027 at 12:30 for 2 hours' --set uid=x | head -4; etui -q calendar remove x
    Added 1: Lunch with Bob
      Tue 9 Mar 2027, 12:30-14:30
    UID x
    $ etui calendar add 'Trip 24 Dec 2027 to 2028-01-06' --set uid=x | head -4; etui -q calendar remove x
    Added 1: Trip
      Fri 24 Dec 2027 to Thu 6 Jan 2028, all day
    UID x
    $ etui calendar add 'Trip 24 Dec 2027' --end 2028-01-06 --set uid=x | head -4; etui -q calendar remove x
    Added 1: Trip
      Fri 24 Dec 2027 to Thu 6 Jan 2028, all day
    UID x
    $ etui calendar add 'Gym 9 Mar 2027 18:00-19:30 every other tuesday for 10 weeks' --set uid=x | head -4; etui -q calendar remove x
    Added 1: Gym
      Tue 9 Mar 2027, 18:00-19:30
      every 2 weeks on Tue until 2027-05-17
    UID x
    $ etui calendar add 'Call 2027-03-09 12:30' --start '2027-03-10 9:00' --set uid=x | head -4; etui -q calendar remove x
    Added 1: Call 2027-03-09 12:30
      Wed 10 Mar 2027, 09:00-10:00
    UID x
    $ etui calendar add 'Report 2027-03-09' --todo --set uid=x | head -4; etui -q calendar remove x
    Added 1: Report
      due Tue 9 Mar 2027
    UID x
    $ etui calendar add 'Read chapter 9'
    error: no day or time was found in "Read chapter 9"; write one, as in "Lunch tomorrow 12:30", or give --start WHEN, for example --start "monday 9:00"; or --todo
    [exit 2]
    $ etui calendar add 'Lunch 2027-03-09 12:30' --repeat 'every tuesday' --set uid=y --json | sed 's/,.etag.*,"name/,"name/'
    {"id":15,"uid":"y","name":"Lunch","outcome":"added","kind":"event","title":"Lunch","place":null,"notes":null,"start":"2027-03-09T12:30:00+01:00","end":null,"due":null,"duration":"PT1H","all_day":false,"zone":"Europe/Berlin","rules":["FREQ=WEEKLY;BYDAY=TU"],"dates":[],"exception_dates":[],"instance":null,"this_and_future":false,"status":null,"class":"public","transparent":false,"categories":[],"priority":null,"percent":null,"completed":null,"url":null,"organizer":null,"attendees":[],"alarms":[]}
    "#);
}

#[test]
fn a_start_that_its_rule_does_not_have_is_moved() {
    let home = with_calendar();
    session!(home, [
        "etui calendar add Choir --start '2027-03-09 19:30' --end 21:00 --repeat 'every monday' --set uid=x",
        "etui calendar show x --ics | grep -e DTSTART -e DTEND; etui -q calendar remove x",
        "etui calendar add Rent --start 2027-03-09 --repeat 'last day of the month' --set uid=x",
        "etui -q calendar remove x",
        "etui calendar add Report --due 2027-03-09 --repeat 'every friday' --set uid=x",
        "etui calendar add Choir --start '2027-03-09 19:30' --repeat 'every monday until 2027-03-01'",
        "etui calendar add Choir --start '2027-03-09 19:30' --repeat 'every monday until 2027-03-14'",
        "etui calendar add Choir --start '2027-03-09 19:30' --end '2027-03-09 18:00'",
        "etui calendar edit fixe --start '2027-03-09 10:00'",
        "etui calendar show fixe | grep -e When",
        "etui calendar edit night --repeat 'every friday'",
        "etui calendar show night | grep -e When -e Repeats",
        "etui calendar edit night --repeat 'daily until 2027-01-01'",
        "etui calendar edit x --due 2027-01-01 --start 2027-02-01",
    ], @r"
    $ etui calendar add Choir --start '2027-03-09 19:30' --end 21:00 --repeat 'every monday' --set uid=x
    Tue 9 Mar 2027, 19:30 is not in the rule; the start was moved to Mon 15 Mar 2027, 19:30
    Added 7: Choir
      Mon 15 Mar 2027, 19:30-21:00
      every week on Mon
    UID x
    $ etui calendar show x --ics | grep -e DTSTART -e DTEND; etui -q calendar remove x
    DTSTART;TZID=Europe/Berlin:20270315T193000\r
    DTEND;TZID=Europe/Berlin:20270315T210000\r
    $ etui calendar add Rent --start 2027-03-09 --repeat 'last day of the month' --set uid=x
    Tue 9 Mar 2027 is not in the rule; the start was moved to Wed 31 Mar 2027
    Added 7: Rent
      Wed 31 Mar 2027, all day
      every month on the last day
    UID x
    $ etui -q calendar remove x
    $ etui calendar add Report --due 2027-03-09 --repeat 'every friday' --set uid=x
    Tue 9 Mar 2027 is not in the rule; the start was moved to Fri 12 Mar 2027
    Added 7: Report
      due Fri 12 Mar 2027
      every week on Fri
    UID x
    $ etui calendar add Choir --start '2027-03-09 19:30' --repeat 'every monday until 2027-03-01'
    error: --repeat: the rule ends before the start, Tue 9 Mar 2027, 19:30
    [exit 2]
    $ etui calendar add Choir --start '2027-03-09 19:30' --repeat 'every monday until 2027-03-14'
    error: --repeat: the rule has no occurrence from Tue 9 Mar 2027, 19:30 on; change --start or the end of the rule
    [exit 2]
    $ etui calendar add Choir --start '2027-03-09 19:30' --end '2027-03-09 18:00'
    error: --end 2027-03-09 18:00: this is not after the start
    [exit 2]
    $ etui calendar edit fixe --start '2027-03-09 10:00'
    Tue 9 Mar 2027, 10:00 is not in the rule; the start was moved to Thu 11 Mar 2027, 10:00
    Skipped and changed times that keep their day: Thu 11 Mar 2027, Mon 15 Mar 2027
    Changed 1: Jour fixe (undo: etui calendar restore 1)
      Thu 11 Mar 2027, 10:00-10:45
      every week on Mon, Thu until 2027-07-01
      at Room 4
    $ etui calendar show fixe | grep -e When
      When        Thu 11 Mar 2027, 10:00-10:45
    $ etui calendar edit night --repeat 'every friday'
    Tue 9 Mar 2027, 22:00 is not in the rule; the start was moved to Fri 12 Mar 2027, 22:00
    Changed 2: Night shift (undo: etui calendar restore 2)
      Fri 12 Mar 2027, 22:00 to Sat 13 Mar 2027, 06:00
      every week on Fri
    $ etui calendar show night | grep -e When -e Repeats
      When       Fri 12 Mar 2027, 22:00 to Sat 13 Mar 2027, 06:00
      Repeats    every week on Fri
    $ etui calendar edit night --repeat 'daily until 2027-01-01'
    error: --repeat: the rule ends before the start, Fri 12 Mar 2027, 22:00
    [exit 2]
    $ etui calendar edit x --due 2027-01-01 --start 2027-02-01
    error: --due must be after --start; either both or none have a time of day
    [exit 2]
    ");
}

#[test]
fn exceptions_are_written_as_the_start_is() {
    let home = with_calendar();
    session!(home, [
        "etui calendar edit fixe --set exdate=2027-03-18,2027-03-22T08:00Z",
        "etui calendar show fixe --ics | grep EXDATE",
        "etui calendar edit fair --repeat daily --set exdate=2027-03-11T09:00",
        "etui calendar show fair --ics | grep EXDATE",
        "etui calendar edit eve --repeat daily --set 'exdate=2027-03-13 13:00'",
        "etui calendar show eve --ics | grep EXDATE",
        "etui calendar edit fixe --set exdate=someday",
    ], @r#"
    $ etui calendar edit fixe --set exdate=2027-03-18,2027-03-22T08:00Z
    Changed 1: Jour fixe (undo: etui calendar restore 1)
      Mon 8 Mar 2027, 09:00-09:45
      every week on Mon, Thu until 2027-07-01
      at Room 4
    $ etui calendar show fixe --ics | grep EXDATE
    EXDATE;TZID=Europe/Berlin:20270318T090000,20270322T090000\r
    $ etui calendar edit fair --repeat daily --set exdate=2027-03-11T09:00
    Changed 3: Fair (undo: etui calendar restore 3)
      Wed 10 Mar 2027 to Fri 12 Mar 2027, all day
      every day
      at Leipzig
    $ etui calendar show fair --ics | grep EXDATE
    EXDATE;VALUE=DATE:20270311\r
    $ etui calendar edit eve --repeat daily --set 'exdate=2027-03-13 13:00'
    Changed 5: Eve [31mTrouble2J (undo: etui calendar restore 5)
      Fri 12 Mar 2027, 13:00-14:00
      every day
    $ etui calendar show eve --ics | grep EXDATE
    EXDATE:20270313T130000Z\r
    $ etui calendar edit fixe --set exdate=someday
    error: --set EXDATE=someday: "someday" is not a day or time; write 2026-12-24, 2026-12-24T18:30, 18:30, today, tomorrow, monday, +3d, or a day and a time: "tomorrow 9:00"
    [exit 2]
    "#);
}

#[test]
fn a_word_of_the_time_that_is_not_understood_is_named() {
    let home = with_calendar();
    session!(home, [
        "etui calendar add 'Dentist firday 2027-03-12 10am'",
        "etui calendar add 'Gym every mondy 18:00'",
        "etui calendar add 'Dinner 12/11/2027 19:00'",
        "etui calendar add 'Physio tuesdays 8:00 until whenever'",
        "etui calendar add 'Weekly sync 2027-03-08 10:00' --set uid=weekly",
        "etui calendar add 'Plan december party 2027-03-08 18:00'",
        "etui calendar add '2027-03-08 18:00'",
        "etui calendar add '\"Plan december party\" 2027-03-08 18:00' --set uid=x",
        "etui calendar add 'Plan december party' --start '2027-03-08 18:00' --set uid=y",
        "etui calendar list | wc -l",
    ], @r#"
    $ etui calendar add 'Dentist firday 2027-03-12 10am'
    error: "firday" is not a day; did you mean Friday? To keep it in the title, write the title in double quotes: "Plan friday" tomorrow 9:00, or give --start
    [exit 2]
    $ etui calendar add 'Gym every mondy 18:00'
    error: "mondy" in "every mondy 18:00" is not understood. To keep it in the title, write the title in double quotes: "Plan friday" tomorrow 9:00, or give --start
    [exit 2]
    $ etui calendar add 'Dinner 12/11/2027 19:00'
    error: "12/11/2027" is 2027-12-11 or 2027-11-12; write one of them
    [exit 2]
    $ etui calendar add 'Physio tuesdays 8:00 until whenever'
    error: "whenever" in "tuesdays 8:00 until whenever" is not understood. To keep it in the title, write the title in double quotes: "Plan friday" tomorrow 9:00, or give --start
    [exit 2]
    $ etui calendar add 'Weekly sync 2027-03-08 10:00' --set uid=weekly
    "Weekly" is taken as a rule; to add one time only, write the title in double quotes
    Added 7: Weekly sync
      Mon 8 Mar 2027, 10:00-11:00
      every week
    UID weekly
    $ etui calendar add 'Plan december party 2027-03-08 18:00'
    error: "december" looks like a part of the time, but does not go with "2027-03-08 18:00". To keep it in the title, write the title in double quotes: "Plan friday" tomorrow 9:00, or give --start
    [exit 2]
    $ etui calendar add '2027-03-08 18:00'
    error: "2027-03-08 18:00" is a time; a title is missing
    [exit 2]
    $ etui calendar add '"Plan december party" 2027-03-08 18:00' --set uid=x
    Added 8: Plan december party
      Mon 8 Mar 2027, 18:00-19:00
    UID x
    $ etui calendar add 'Plan december party' --start '2027-03-08 18:00' --set uid=y
    Added 9: Plan december party
      Mon 8 Mar 2027, 18:00-19:00
    UID y
    $ etui calendar list | wc -l
    10
    "#);
}

#[test]
fn a_time_that_is_not_at_the_end() {
    let home = TestHome::new();
    let uid =
        "--set uid=x | head -4; etui -q calendar show x | grep -e Where; etui -q calendar remove x";
    session!(home, [
        &format!("etui calendar add 'Lunch 2027-03-09 12:30 at Canteen' {uid}"),
        &format!("etui calendar add 'Lunch 2027-03-09 12:30 at Canteen' --place Hall {uid}"),
        &format!("etui calendar add 'Lunch on 9 March 2027 with Bob 12:30' {uid}"),
        &format!("etui calendar add 'Urlaub vom 20.12.2027 bis 3.1.2028' {uid}"),
        "etui calendar add 'Lunch today 0:00' 2>&1 | grep -o 'has already passed'",
    ], @"
    $ etui calendar add 'Lunch 2027-03-09 12:30 at Canteen' --set uid=x | head -4; etui -q calendar show x | grep -e Where; etui -q calendar remove x
    Added 1: Lunch
      Tue 9 Mar 2027, 12:30-13:30
      at Canteen
    UID x
      Where      Canteen
    $ etui calendar add 'Lunch 2027-03-09 12:30 at Canteen' --place Hall --set uid=x | head -4; etui -q calendar show x | grep -e Where; etui -q calendar remove x
    Added 1: Lunch at Canteen
      Tue 9 Mar 2027, 12:30-13:30
      at Hall
    UID x
      Where      Hall
    $ etui calendar add 'Lunch on 9 March 2027 with Bob 12:30' --set uid=x | head -4; etui -q calendar show x | grep -e Where; etui -q calendar remove x
    Added 1: Lunch with Bob
      Tue 9 Mar 2027, 12:30-13:30
    UID x
    $ etui calendar add 'Urlaub vom 20.12.2027 bis 3.1.2028' --set uid=x | head -4; etui -q calendar show x | grep -e Where; etui -q calendar remove x
    Added 1: Urlaub
      Mon 20 Dec 2027 to Mon 3 Jan 2028, all day
    UID x
    $ etui calendar add 'Lunch today 0:00' 2>&1 | grep -o 'has already passed'
    has already passed
    ");
}

#[test]
fn a_todo_in_words() {
    let home = TestHome::new();
    session!(home, [
        "etui calendar add 'todo Buy milk 2027-03-12' --set uid=x",
        "etui calendar add 'Todo: Buy bread' --set uid=y",
        "etui calendar add 'todo Buy cheese' --due 2027-03-13 --set uid=z",
        "etui calendar todos",
    ], @r"
    $ etui calendar add 'todo Buy milk 2027-03-12' --set uid=x
    Added 1: Buy milk
      due Fri 12 Mar 2027
    UID x
    $ etui calendar add 'Todo: Buy bread' --set uid=y
    Added 2: Buy bread
    UID y
    $ etui calendar add 'todo Buy cheese' --due 2027-03-13 --set uid=z
    Added 3: Buy cheese
      due Sat 13 Mar 2027
    UID z
    $ etui calendar todos
    #  Due         State  Title
    1  2027-03-12  open   Buy milk
    3  2027-03-13  open   Buy cheese
    2              open   Buy bread
    ");
}
