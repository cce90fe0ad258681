//! To-dos, and single times of a series.

use super::with_calendar;
use crate::harness::{TestHome, session};

#[test]
fn one_time_is_skipped_or_moved() {
    let home = with_calendar();
    session!(home, [
        "etui calendar skip fixe --on 2027-03-22",
        "etui calendar skip fixe --on 2027-03-22",
        "etui calendar skip fixe --on 2027-03-23",
        "etui calendar move fixe 14:00 --on 2027-03-25",
        "etui calendar move fixe '2027-03-30 10:00-12:00' --on 2027-03-29",
        "etui calendar move fixe 2027-04-02 --on 2027-04-01",
        "etui calendar move fixe 15:00 --on 2027-03-11",
        "etui calendar agenda 2027-03 | grep -B1 fixe",
        "etui calendar show fixe --ics | grep -e EXDATE -e SEQ -e RRULE -e RECUR -e DTEND | tail -12",
        "etui calendar restore fixe; etui calendar show fixe | grep 11.Mar",
        "etui calendar skip night",
        "etui calendar move fair 12:00 --on 2027-03-10",
        "etui calendar move fixe soon --on 2027-04-05",
        "etui calendar edit fair --repeat '2 times daily' 2>&1 | head -1",
        "etui calendar edit fair --repeat 'daily 2 times'; etui calendar skip fair --on 2027-03-10",
        "etui calendar move fair 2027-03-15 --on 2027-03-11; etui calendar agenda 2027-03-15",
        "etui check",
    ], @r#"
    $ etui calendar skip fixe --on 2027-03-22
    Skipped Mon 22 Mar 2027, 09:00-09:45 of 1: Jour fixe (undo: etui calendar restore 1)
    $ etui calendar skip fixe --on 2027-03-22
    error: entry fixe has no time on 2027-03-22; `etui calendar agenda` shows its times
    [exit 4]
    $ etui calendar skip fixe --on 2027-03-23
    error: entry fixe has no time on 2027-03-23; `etui calendar agenda` shows its times
    [exit 4]
    $ etui calendar move fixe 14:00 --on 2027-03-25
    Moved Thu 25 Mar 2027, 09:00-09:45 to Thu 25 Mar 2027, 14:00-14:45 of 1: Jour fixe (undo: etui calendar restore 1)
    $ etui calendar move fixe '2027-03-30 10:00-12:00' --on 2027-03-29
    Moved Mon 29 Mar 2027, 09:00-09:45 to Tue 30 Mar 2027, 10:00-12:00 of 1: Jour fixe (undo: etui calendar restore 1)
    $ etui calendar move fixe 2027-04-02 --on 2027-04-01
    Moved Thu 1 Apr 2027, 09:00-09:45 to Fri 2 Apr 2027, 09:00-09:45 of 1: Jour fixe (undo: etui calendar restore 1)
    $ etui calendar move fixe 15:00 --on 2027-03-11
    Moved Thu 11 Mar 2027, 11:00-11:45 to Thu 11 Mar 2027, 15:00-15:45 of 1: Jour fixe (undo: etui calendar restore 1)
    $ etui calendar agenda 2027-03 | grep -B1 fixe
    Monday, 8 March 2027
      09:00-09:45  Jour fixe ↻  Room 4  #1
    --
          all day  Fair (day 2 of 3)  Leipzig  #3
      15:00-15:45  Jour fixe, later ↻  #1
    --
    Thursday, 18 March 2027
      09:00-09:45  Jour fixe ↻  Room 4  #1
    --
    Thursday, 25 March 2027
      14:00-14:45  Jour fixe ↻  Room 4  #1
    --
    Tuesday, 30 March 2027
      10:00-12:00  Jour fixe ↻  Room 4  #1
    $ etui calendar show fixe --ics | grep -e EXDATE -e SEQ -e RRULE -e RECUR -e DTEND | tail -12
    DTEND;TZID=Europe/Berlin:20270308T094500\r
    RRULE:FREQ=WEEKLY;BYDAY=MO,TH;UNTIL=20270701T215959Z\r
    EXDATE;TZID=Europe/Berlin:20270315T090000\r
    EXDATE;TZID=Europe/Berlin:20270322T090000\r
    RECURRENCE-ID;TZID=Europe/Berlin:20270311T090000\r
    DTEND;TZID=Europe/Berlin:20270311T154500\r
    DTEND;TZID=Europe/Berlin:20270325T144500\r
    RECURRENCE-ID;TZID=Europe/Berlin:20270325T090000\r
    DTEND;TZID=Europe/Berlin:20270330T120000\r
    RECURRENCE-ID;TZID=Europe/Berlin:20270329T090000\r
    DTEND;TZID=Europe/Berlin:20270402T094500\r
    RECURRENCE-ID;TZID=Europe/Berlin:20270401T090000\r
    $ etui calendar restore fixe; etui calendar show fixe | grep 11.Mar
    Undid the latest change of 1: Jour fixe
      Changed     Thu 11 Mar 2027: now 11:00-11:45: Jour fixe, later
    $ etui calendar skip night
    error: entry night does not recur; use `etui calendar edit` or `etui calendar remove`
    [exit 2]
    $ etui calendar move fair 12:00 --on 2027-03-10
    error: entry fair does not recur; use `etui calendar edit` or `etui calendar remove`
    [exit 2]
    $ etui calendar move fixe soon --on 2027-04-05
    error: soon: "soon" is not a day or time; write 2026-12-24, 2026-12-24T18:30, 18:30, today, tomorrow, monday, +3d, or a day and a time: "tomorrow 9:00"
    [exit 2]
    $ etui calendar edit fair --repeat '2 times daily' 2>&1 | head -1
    error: --repeat: "times" is not understood here; write daily, weekly on mon, thu, every 2 weeks until 2027-06-30, monthly on the 15th, monthly on the last fri, yearly, daily 10 times, or a rule like FREQ=WEEKLY;BYDAY=MO
    $ etui calendar edit fair --repeat 'daily 2 times'; etui calendar skip fair --on 2027-03-10
    Changed 3: Fair (undo: etui calendar restore 3)
      Wed 10 Mar 2027 to Fri 12 Mar 2027, all day
      every day 2 times
      at Leipzig
    Skipped Wed 10 Mar 2027 to Fri 12 Mar 2027 of 3: Fair (undo: etui calendar restore 3)
    $ etui calendar move fair 2027-03-15 --on 2027-03-11; etui calendar agenda 2027-03-15
    Moved Thu 11 Mar 2027 to Sat 13 Mar 2027 to Mon 15 Mar 2027 to Wed 17 Mar 2027 of 3: Fair (undo: etui calendar restore 3)
    Monday, 15 March 2027
          all day  Fair ↻ (day 1 of 3)  Leipzig  #3
    $ etui check
    The store is intact: 0 contacts, 6 calendar entries, 0 in the trash.
    "#);
}

#[test]
fn to_dos_are_completed() {
    let home = with_calendar();
    session!(home, [
        "etui calendar add Milk --todo -q; etui calendar add Bins --due 2020-03-02 --repeat weekly -q",
        "etui calendar add Report --due '2020-03-02 9:00' -q",
        "etui calendar todos | grep -v Tax",
        "etui calendar todos --overdue --json | grep -v Tax",
        "etui calendar done tax 9",
        "etui calendar show tax | grep -e Status -e Progress",
        "etui calendar todos | grep -v Tax",
        "etui calendar todos --done",
        "etui calendar done tax --undo",
        "etui calendar done 8",
        "etui calendar done 8 --on 2020-03-16",
        "etui calendar todos --overdue | grep -v Tax",
        "etui calendar agenda --from 2020-03-01 --to 2020-03-23",
        "etui calendar done 8 --undo --on 2020-03-16",
        "etui calendar agenda today | head -2",
        "etui -q calendar done tax; for n in $(seq -w 12); do etui -q calendar add Old --due 2019-01-$n; done 2>/dev/null; etui calendar agenda today | head -4",
        "etui calendar agenda | grep -c Overdue",
        "etui calendar done fixe",
        "etui calendar done 99",
    ], @r#"
    $ etui calendar add Milk --todo -q; etui calendar add Bins --due 2020-03-02 --repeat weekly -q
    $ etui calendar add Report --due '2020-03-02 9:00' -q
    $ etui calendar todos | grep -v Tax
    #  Due               State    Title
    8  2020-03-02        overdue  Bins
    9  2020-03-02 09:00  overdue  Report
    7                    open     Milk
    $ etui calendar todos --overdue --json | grep -v Tax
    {"calendar":"Calendar","id":8,"title":"Bins","due":"2020-03-02","status":null,"priority":null,"state":"overdue"}
    {"calendar":"Calendar","id":9,"title":"Report","due":"2020-03-02T09:00:00+01:00","status":null,"priority":null,"state":"overdue"}
    $ etui calendar done tax 9
    Done 6: Tax return (undo: etui calendar restore 6)
    Done 9: Report (undo: etui calendar restore 9)
    $ etui calendar show tax | grep -e Status -e Progress
      Status     completed
      Progress   100 %
    $ etui calendar todos | grep -v Tax
    #  Due         State    Title
    8  2020-03-02  overdue  Bins
    7              open     Milk
    $ etui calendar todos --done
    #  Due               State  Title
    9  2020-03-02 09:00  done   Report
    6  2027-03-12        done   Tax return
    $ etui calendar done tax --undo
    Opened 6: Tax return (undo: etui calendar restore 6)
    $ etui calendar done 8
    Done Mon 2 Mar 2020 of 8: Bins (undo: etui calendar restore 8)
    $ etui calendar done 8 --on 2020-03-16
    Done Mon 16 Mar 2020 of 8: Bins (undo: etui calendar restore 8)
    $ etui calendar todos --overdue | grep -v Tax
    #  Due         State    Title
    8  2020-03-09  overdue  Bins
    $ etui calendar agenda --from 2020-03-01 --to 2020-03-23
    Monday, 2 March 2020
          all day  [x] Bins ↻  #8
            09:00  [x] Report  #9

    Monday, 9 March 2020
          all day  [ ] Bins ↻  #8

    Monday, 16 March 2020
          all day  [x] Bins ↻  #8

    Monday, 23 March 2020
          all day  [ ] Bins ↻  #8
    $ etui calendar done 8 --undo --on 2020-03-16
    Opened Mon 16 Mar 2020 of 8: Bins (undo: etui calendar restore 8)
    $ etui calendar agenda today | head -2
    Overdue
      2020-03-09  [ ] Bins  #8
    $ etui -q calendar done tax; for n in $(seq -w 12); do etui -q calendar add Old --due 2019-01-$n; done 2>/dev/null; etui calendar agenda today | head -4
    Overdue
      3 earlier: etui calendar todos --overdue
      2019-01-04  [ ] Old  #20
      2019-01-05  [ ] Old  #21
    $ etui calendar agenda | grep -c Overdue
    0
    [exit 1]
    $ etui calendar done fixe
    error: entry fixe is not a to-do; only to-dos can be completed
    [exit 2]
    $ etui calendar done 99
    error: there is no entry number 99; `etui calendar list` lists the numbers
    [exit 4]
    "#);
}

#[test]
fn of_entries_of_one_name_the_open_to_do_is_done() {
    let home = TestHome::new();
    session!(home, [
        "etui -q calendar add 'Tyres fetch' --start '2031-03-10 9:00'; etui -q calendar add 'todo Tyres change'; etui -q calendar add 'todo Tyres order'",
        "etui calendar done Tyres; etui calendar done 3; etui calendar done tyres; etui calendar done Tyres fetch",
        "etui calendar done Tyres --undo; etui calendar done Tyres order --undo; etui calendar done 1",
        "printf 'BEGIN:VTODO\nUID:order\nDTSTAMP:20300101T000000Z\nSUMMARY:By its UID\nEND:VTODO\n' | etui import -q -; etui calendar done order",
    ], @"
    $ etui -q calendar add 'Tyres fetch' --start '2031-03-10 9:00'; etui -q calendar add 'todo Tyres change'; etui -q calendar add 'todo Tyres order'
    $ etui calendar done Tyres; etui calendar done 3; etui calendar done tyres; etui calendar done Tyres fetch
    #  Start             Title         Place
    1  2031-03-10 09:00  Tyres fetch
    2                    Tyres change
    3                    Tyres order
    error: 3 entries match; select one: etui calendar done NUMBER
    Done 3: Tyres order (undo: etui calendar restore 3)
    Done 2: Tyres change (undo: etui calendar restore 2)
    error: entry Tyres fetch is not a to-do; only to-dos can be completed
    [exit 2]
    $ etui calendar done Tyres --undo; etui calendar done Tyres order --undo; etui calendar done 1
    #  Start             Title         Place
    1  2031-03-10 09:00  Tyres fetch
    2                    Tyres change
    3                    Tyres order
    error: 3 entries match; select one: etui calendar done NUMBER
    Opened 3: Tyres order (undo: etui calendar restore 3)
    error: entry 1 is not a to-do; only to-dos can be completed
    [exit 2]
    $ printf 'BEGIN:VTODO
    UID:order
    DTSTAMP:20300101T000000Z
    SUMMARY:By its UID
    END:VTODO
    ' | etui import -q -; etui calendar done order
    Done 7: By its UID (undo: etui calendar restore 7)
    ");
}
