//! Adding, changing, removing, restoring and watching entries.

use super::with_calendar;
use crate::harness::{TestHome, session};

#[test]
fn entries_are_added() {
    let home = TestHome::new();
    let tell = "etui calendar show x --ics | grep -v DTSTAMP; etui -q calendar remove x";
    session!(home, [
        "etui calendar add 'Jour fixe, early' --start '2027-03-08 9:00' --duration 45m --repeat 'weekly on mon,thu until 2027-07-01' --place 'Room 4' --alarm 10m --category Work --set uid=x",
        tell,
        "etui calendar add Holidays --start 2027-12-24 --end 2027-12-26 --set uid=x",
        tell,
        "etui calendar add Call --start '2027-03-10 15:00' --end 16:00 --zone America/New_York --notes 'one\ntwo' --set uid=x",
        tell,
        "etui calendar add 'Tax return' --due 2027-05-31 --set uid=x",
        tell,
        "etui calendar add 'Buy milk' --todo --json --set uid=x | sed s/etag.*name/ETAG,name/",
        "etui calendar add Again --todo --set uid=x",
        "etui calendar list",
    ], @r#"
    $ etui calendar add 'Jour fixe, early' --start '2027-03-08 9:00' --duration 45m --repeat 'weekly on mon,thu until 2027-07-01' --place 'Room 4' --alarm 10m --category Work --set uid=x
    Added 1: Jour fixe, early
      Mon 8 Mar 2027, 09:00-09:45
      every week on Mon, Thu until 2027-07-01
      at Room 4
    UID x
    $ etui calendar show x --ics | grep -v DTSTAMP; etui -q calendar remove x
    BEGIN:VEVENT\r
    UID:x\r
    DTSTART;TZID=Europe/Berlin:20270308T090000\r
    DURATION:PT45M\r
    RRULE:FREQ=WEEKLY;UNTIL=20270701T215959Z;BYDAY=MO,TH\r
    SUMMARY:Jour fixe\, early\r
    LOCATION:Room 4\r
    CATEGORIES:Work\r
    BEGIN:VALARM\r
    ACTION:DISPLAY\r
    DESCRIPTION:Jour fixe\, early\r
    TRIGGER:-PT10M\r
    END:VALARM\r
    END:VEVENT\r
    $ etui calendar add Holidays --start 2027-12-24 --end 2027-12-26 --set uid=x
    Added 1: Holidays
      Fri 24 Dec 2027 to Sun 26 Dec 2027, all day
    UID x
    $ etui calendar show x --ics | grep -v DTSTAMP; etui -q calendar remove x
    BEGIN:VEVENT\r
    UID:x\r
    DTSTART;VALUE=DATE:20271224\r
    DTEND;VALUE=DATE:20271227\r
    SUMMARY:Holidays\r
    END:VEVENT\r
    $ etui calendar add Call --start '2027-03-10 15:00' --end 16:00 --zone America/New_York --notes 'one
    two' --set uid=x
    Added 1: Call
      Wed 10 Mar 2027, 15:00-16:00 (America/New_York)
    UID x
    $ etui calendar show x --ics | grep -v DTSTAMP; etui -q calendar remove x
    BEGIN:VEVENT\r
    UID:x\r
    DTSTART;TZID=America/New_York:20270310T150000\r
    DTEND;TZID=America/New_York:20270310T160000\r
    SUMMARY:Call\r
    DESCRIPTION:one\ntwo\r
    END:VEVENT\r
    $ etui calendar add 'Tax return' --due 2027-05-31 --set uid=x
    Added 1: Tax return
      due Mon 31 May 2027
    UID x
    $ etui calendar show x --ics | grep -v DTSTAMP; etui -q calendar remove x
    BEGIN:VTODO\r
    UID:x\r
    DUE;VALUE=DATE:20270531\r
    SUMMARY:Tax return\r
    END:VTODO\r
    $ etui calendar add 'Buy milk' --todo --json --set uid=x | sed s/etag.*name/ETAG,name/
    {"id":1,"uid":"x","ETAG,name":"Buy milk","outcome":"added","kind":"todo","title":"Buy milk","place":null,"notes":null,"start":null,"end":null,"due":null,"duration":null,"all_day":false,"zone":null,"rules":[],"dates":[],"exception_dates":[],"instance":null,"this_and_future":false,"status":null,"class":"public","transparent":false,"categories":[],"priority":null,"percent":null,"completed":null,"url":null,"organizer":null,"attendees":[],"alarms":[]}
    $ etui calendar add Again --todo --set uid=x
    error: an entry with the UID x already exists: etui calendar show x
    [exit 5]
    $ etui calendar list
    #  Start  Title     Place
    1         Buy milk
    "#);
}

#[test]
fn what_cannot_be_added() {
    let home = TestHome::new();
    session!(home, [
        "etui calendar add Lunch",
        "etui calendar add Lunch --start soon",
        "etui calendar add Lunch --start 2027-03-08 --end 12:00Z",
        "etui calendar add Lunch --start '2027-03-08 12:00' --end '2027-03-08 11:00'",
        "etui calendar add Lunch --start '2027-03-08 12:00' --repeat often",
        "etui calendar add Lunch --start '2027-03-08 12:00' --duration long",
        "etui calendar add Lunch --todo --alarm 1h",
        "etui calendar add Lunch --end 12:00 --todo",
        "etui calendar add Lunch --start 12:00 --set dtend=x",
        "ls -A",
    ], @r#"
    $ etui calendar add Lunch
    error: no day or time was found in "Lunch"; write one, as in "Lunch tomorrow 12:30", or give --start WHEN, for example --start "monday 9:00"; or --todo
    [exit 2]
    $ etui calendar add Lunch --start soon
    error: --start soon: "soon" is not a day or time; write 2026-12-24, 2026-12-24T18:30, 18:30, today, tomorrow, monday, +3d, or a day and a time: "tomorrow 9:00"
    [exit 2]
    $ etui calendar add Lunch --start 2027-03-08 --end 12:00Z
    error: --end 12:00Z: "12:00Z" is not a day or time; write 2026-12-24, 2026-12-24T18:30, 18:30, today, tomorrow, monday, +3d, or a day and a time: "tomorrow 9:00"
    [exit 2]
    $ etui calendar add Lunch --start '2027-03-08 12:00' --end '2027-03-08 11:00'
    error: --end 2027-03-08 11:00: this is not after the start
    [exit 2]
    $ etui calendar add Lunch --start '2027-03-08 12:00' --repeat often
    error: --repeat: "often" is not understood here; write daily, weekly on mon, thu, every 2 weeks until 2027-06-30, monthly on the 15th, monthly on the last fri, yearly, daily 10 times, or a rule like FREQ=WEEKLY;BYDAY=MO
    [exit 2]
    $ etui calendar add Lunch --start '2027-03-08 12:00' --duration long
    error: invalid value 'long' for '--duration <DURATION>': not a duration; write 45m, 1h30m, 2h, 3d or 1w

    For more information, try '--help'.
    [exit 2]
    $ etui calendar add Lunch --todo --alarm 1h
    error: --repeat and --alarm need --start or --due
    [exit 2]
    $ etui calendar add Lunch --end 12:00 --todo
    error: --end and --duration need a --start
    [exit 2]
    $ etui calendar add Lunch --start 12:00 --set dtend=x
    error: invalid value 'dtend=x' for '--set <PROP=VALUE>': DTEND cannot be set; use --start, --end, --duration or --due

    For more information, try '--help'.
    [exit 2]
    $ ls -A
    people.vcf
    tmp
    "#);
}

#[test]
fn changes_by_options() {
    let home = with_calendar();
    let tell = "etui calendar show fixe --ics | grep -e DTSTART -e DTEND -e DURATION -e RRULE -e SEQ -e SUMM -e EXD -e -ID | head -8; etui calendar agenda 2027-03 | grep -e fixe -e Early | head -4; etui -q calendar restore fixe";
    session!(home, [
        "etui calendar edit fixe --start '2027-03-08 10:00' --title Early",
        tell,
        "etui calendar edit fixe --duration 2h --repeat daily",
        tell,
        "etui calendar edit fixe --all-day",
        tell,
        "etui calendar edit fixe --repeat never --set status=CANCELLED --remove category",
        "etui calendar agenda 2027-03-08",
        "etui calendar restore 1",
        "etui calendar edit night --remove place",
        "etui calendar edit night --end '2027-03-09 21:00'",
        "etui calendar edit tax --duration 1h",
        "etui calendar edit night --title Night --if-match 00000000000000000000000000000000",
        "EDITOR='sed -i s/Night/Late/' etui calendar edit night",
        "EDITOR='sed -i s/UID:night/UID:day/' etui calendar edit night; rm tmp/*",
        "etui calendar edit fair --from week.ics",
    ], @r"
    $ etui calendar edit fixe --start '2027-03-08 10:00' --title Early
    Changed 1: Early (undo: etui calendar restore 1)
      Mon 8 Mar 2027, 10:00-10:45
      every week on Mon, Thu until 2027-07-01
      at Room 4
    $ etui calendar show fixe --ics | grep -e DTSTART -e DTEND -e DURATION -e RRULE -e SEQ -e SUMM -e EXD -e -ID | head -8; etui calendar agenda 2027-03 | grep -e fixe -e Early | head -4; etui -q calendar restore fixe
    DTSTART;TZID=Europe/Berlin:20270308T100000\r
    DTEND;TZID=Europe/Berlin:20270308T104500\r
    RRULE:FREQ=WEEKLY;BYDAY=MO,TH;UNTIL=20270701T215959Z\r
    SUMMARY:Early\r
    EXDATE;TZID=Europe/Berlin:20270315T100000\r
    SEQUENCE:1\r
    RECURRENCE-ID;TZID=Europe/Berlin:20270311T100000\r
    DTSTART;TZID=Europe/Berlin:20270311T110000\r
      10:00-10:45  Early ↻  Room 4  #1
      11:00-11:45  Jour fixe, later ↻  #1
      10:00-10:45  Early ↻  Room 4  #1
      10:00-10:45  Early ↻  Room 4  #1
    $ etui calendar edit fixe --duration 2h --repeat daily
    Changed 1: Jour fixe (undo: etui calendar restore 1)
      Mon 8 Mar 2027, 09:00-11:00
      every day
      at Room 4
    $ etui calendar show fixe --ics | grep -e DTSTART -e DTEND -e DURATION -e RRULE -e SEQ -e SUMM -e EXD -e -ID | head -8; etui calendar agenda 2027-03 | grep -e fixe -e Early | head -4; etui -q calendar restore fixe
    DTSTART;TZID=Europe/Berlin:20270308T090000\r
    RRULE:FREQ=DAILY\r
    EXDATE;TZID=Europe/Berlin:20270315T090000\r
    SUMMARY:Jour fixe\r
    DURATION:PT2H\r
    SEQUENCE:1\r
    RECURRENCE-ID;TZID=Europe/Berlin:20270311T090000\r
    DTSTART;TZID=Europe/Berlin:20270311T110000\r
      09:00-11:00  Jour fixe ↻  Room 4  #1
      09:00-11:00  Jour fixe ↻  Room 4  #1
      09:00-11:00  Jour fixe ↻  Room 4  #1
      11:00-11:45  Jour fixe, later ↻  #1
    $ etui calendar edit fixe --all-day
    Changed 1: Jour fixe (undo: etui calendar restore 1)
      Mon 8 Mar 2027, all day
      every week on Mon, Thu until 2027-07-01
      at Room 4
    $ etui calendar show fixe --ics | grep -e DTSTART -e DTEND -e DURATION -e RRULE -e SEQ -e SUMM -e EXD -e -ID | head -8; etui calendar agenda 2027-03 | grep -e fixe -e Early | head -4; etui -q calendar restore fixe
    DTSTART;VALUE=DATE:20270308\r
    RRULE:FREQ=WEEKLY;UNTIL=20270701;BYDAY=MO,TH\r
    SUMMARY:Jour fixe\r
    EXDATE;VALUE=DATE:20270315\r
    DURATION:P1D\r
    SEQUENCE:1\r
    RECURRENCE-ID;VALUE=DATE:20270311\r
    DTSTART;TZID=Europe/Berlin:20270311T110000\r
          all day  Jour fixe ↻  Room 4  #1
      11:00-11:45  Jour fixe, later ↻  #1
          all day  Jour fixe ↻  Room 4  #1
          all day  Jour fixe ↻  Room 4  #1
    $ etui calendar edit fixe --repeat never --set status=CANCELLED --remove category
    Changed 1: Jour fixe (undo: etui calendar restore 1)
      Mon 8 Mar 2027, 09:00-09:45
      at Room 4
    $ etui calendar agenda 2027-03-08
    Monday, 8 March 2027
      09:00-09:45  Jour fixe (cancelled)  Room 4  #1
    $ etui calendar restore 1
    Undid the latest change of 1: Jour fixe
    $ etui calendar edit night --remove place
    error: entry 2 has no LOCATION; nothing was changed
    [exit 4]
    $ etui calendar edit night --end '2027-03-09 21:00'
    error: --end 2027-03-09 21:00: this is not after the start
    [exit 2]
    $ etui calendar edit tax --duration 1h
    error: the entry has no start; give --start or --due
    [exit 2]
    $ etui calendar edit night --title Night --if-match 00000000000000000000000000000000
    error: entry night was changed in the meantime; nothing was overwritten. See its current state: etui calendar show night
    [exit 5]
    $ EDITOR='sed -i s/Night/Late/' etui calendar edit night
    Changed 2: Late shift (undo: etui calendar restore 2)
      Tue 9 Mar 2027, 22:00 to Wed 10 Mar 2027, 06:00
    $ EDITOR='sed -i s/UID:night/UID:day/' etui calendar edit night; rm tmp/*
    error: the UID identifies the entry and cannot change: it is night, the text has day. To add another entry: etui import FILE
    Nothing was changed. Your text is kept in ~/tmp/etui-edit-XXXXXX.ics; to continue:
      $EDITOR ~/tmp/etui-edit-XXXXXX.ics
      etui calendar edit night --from ~/tmp/etui-edit-XXXXXX.ics --if-match 2742a4a171e16136062df8427a150e61
    $ etui calendar edit fair --from week.ics
    error: components of several records; give those of one UID at a time, or import them as a file
    [exit 3]
    ");
}

#[test]
fn alarms_by_options() {
    let home = with_calendar();
    let tell = "etui calendar show fixe --ics | grep -A4 BEGIN:VALARM";
    session!(home, [
        "etui calendar edit fixe --alarm 10m --alarm 1d",
        tell,
        "etui calendar edit fixe --alarm none",
        tell,
        "etui calendar edit fixe --alarm none --alarm 1h",
        "etui calendar edit fixe --alarm soon",
        "etui -q calendar add Ideas --todo; etui calendar edit 9 --alarm 1h",
    ], @r"
    $ etui calendar edit fixe --alarm 10m --alarm 1d
    Changed 1: Jour fixe (undo: etui calendar restore 1)
      Mon 8 Mar 2027, 09:00-09:45
      every week on Mon, Thu until 2027-07-01
      at Room 4
    $ etui calendar show fixe --ics | grep -A4 BEGIN:VALARM
    BEGIN:VALARM\r
    ACTION:DISPLAY\r
    DESCRIPTION:Jour fixe\r
    TRIGGER:-PT10M\r
    END:VALARM\r
    BEGIN:VALARM\r
    ACTION:DISPLAY\r
    DESCRIPTION:Jour fixe\r
    TRIGGER:-P1D\r
    END:VALARM\r
    $ etui calendar edit fixe --alarm none
    Changed 1: Jour fixe (undo: etui calendar restore 1)
      Mon 8 Mar 2027, 09:00-09:45
      every week on Mon, Thu until 2027-07-01
      at Room 4
    $ etui calendar show fixe --ics | grep -A4 BEGIN:VALARM
    [exit 1]
    $ etui calendar edit fixe --alarm none --alarm 1h
    error: --alarm none cannot be combined with another --alarm
    [exit 2]
    $ etui calendar edit fixe --alarm soon
    error: invalid value 'soon' for '--alarm <DURATION>': not a duration; write 45m, 1h30m, 2h, 3d or 1w, or none

    For more information, try '--help'.
    [exit 2]
    $ etui -q calendar add Ideas --todo; etui calendar edit 9 --alarm 1h
    error: the entry has no start; give --start or --due
    [exit 2]
    ");
}

#[test]
fn what_is_typed_is_meant() {
    let home = with_calendar();
    session!(home, [
        "etui calendar edit fixe --start 9:15; etui calendar show fixe | head -2",
        "etui calendar edit eve --start 14:30; etui calendar show eve | head -2",
        "etui calendar edit fixe --set repeat=often",
        "etui calendar edit fixe --set status=maybe",
        "EDITOR='sed -i s/^DTSTART.*/DTSTART:tomorrow/' etui calendar edit night; rm tmp/*",
        "etui calendar add X --start 'mon 9' --set repeat=often",
        "etui calendar add X --start 'mon 9' --duration -1h",
        "etui calendar add '' --start '2027-03-08 9'",
        "etui calendar add X --start '2027-03-08 9' --repeat mondays | head -1; etui calendar edit 9 --remove title; etui calendar remove 9",
        "etui calendar undo 9",
        "etui calendar import week.ics",
        "etui agenda",
        "export ETUI_STORE=x.etui; etui calendar 2>&1 | head -1",
        "etui export",
    ], @r#"
    $ etui calendar edit fixe --start 9:15; etui calendar show fixe | head -2
    Changed 1: Jour fixe (undo: etui calendar restore 1)
      Mon 8 Mar 2027, 09:15-10:00
      every week on Mon, Thu until 2027-07-01
      at Room 4
    Jour fixe
      When        Mon 8 Mar 2027, 09:15-10:00
    $ etui calendar edit eve --start 14:30; etui calendar show eve | head -2
    Changed 5: Eve [31mTrouble2J (undo: etui calendar restore 5)
      Fri 12 Mar 2027, 14:30-15:30
    Eve [31mTrouble2J
      When        Fri 12 Mar 2027, 13:30-14:30 (UTC)
    $ etui calendar edit fixe --set repeat=often
    error: RRULE: in the recurrence rule, at character 1: "often" has no "="
    [exit 2]
    $ etui calendar edit fixe --set status=maybe
    error: invalid value 'status=maybe' for '--set <PROP=VALUE>': "maybe" is not a status; use tentative, confirmed or cancelled for events, needs-action, in-process, completed or cancelled for to-dos, draft or final for journal entries

    For more information, try '--help'.
    [exit 2]
    $ EDITOR='sed -i s/^DTSTART.*/DTSTART:tomorrow/' etui calendar edit night; rm tmp/*
    error: DTSTART: "tomorrow" is no date or time: write 19970714 or 19970714T133000
    Nothing was changed. Your text is kept in ~/tmp/etui-edit-XXXXXX.ics; to continue:
      $EDITOR ~/tmp/etui-edit-XXXXXX.ics
      etui calendar edit night --from ~/tmp/etui-edit-XXXXXX.ics --if-match 9b7a57579d3f7c5651e4b3e33a6a4819
    $ etui calendar add X --start 'mon 9' --set repeat=often
    error: RRULE: in the recurrence rule, at character 1: "often" has no "="
    [exit 2]
    $ etui calendar add X --start 'mon 9' --duration -1h
    error: invalid value '-1h' for '--duration <DURATION>': not a duration; write 45m, 1h30m, 2h, 3d or 1w

    For more information, try '--help'.
    [exit 2]
    $ etui calendar add '' --start '2027-03-08 9'
    error: invalid value '' for '<TITLE>': a title must not be empty; to remove it: edit --remove title

    For more information, try '--help'.
    [exit 2]
    $ etui calendar add X --start '2027-03-08 9' --repeat mondays | head -1; etui calendar edit 9 --remove title; etui calendar remove 9
    Added 9: X
    Changed 9: (no title) (undo: etui calendar restore 9)
      Mon 8 Mar 2027, 09:00-10:00
      every week on Mon
    Removed 9: (no title)
    Undo: etui calendar restore 9
    $ etui calendar undo 9
    Restored 9: (no title)
    $ etui calendar import week.ics
    error: unrecognized subcommand 'import'

      tip: did you mean: etui import

    Usage: etui calendar [OPTIONS] <COMMAND>

    For more information, try '--help'.
    [exit 2]
    $ etui agenda
    error: unrecognized subcommand 'agenda'

      tip: did you mean: etui calendar agenda

    Usage: etui [OPTIONS] <COMMAND>

    For more information, try '--help'.
    [exit 2]
    $ export ETUI_STORE=x.etui; etui calendar 2>&1 | head -1
    Show the agenda; list, find and change calendar entries
    $ etui export
    There are no contacts. To export calendars: etui export --calendars
    "#);
}

#[test]
fn removed_and_brought_back() {
    let home = with_calendar();
    session!(home, [
        "etui calendar remove tax 2",
        "etui calendar restore --list",
        "etui calendar show tax",
        "etui calendar restore 2 tax",
        "etui calendar restore tax",
        "etui calendar remove 77",
    ], @"
    $ etui calendar remove tax 2
    Removed 6: Tax return
    Removed 2: Night shift
    Undo: etui calendar restore 6 2
    $ etui calendar restore --list
    #  Start             Title        Place
    2  2027-03-09 22:00  Night shift
    6  2027-03-12        Tax return
    $ etui calendar show tax
    error: no entry matches: tax
    [exit 4]
    $ etui calendar restore 2 tax
    Restored 2: Night shift
    Restored 6: Tax return
    $ etui calendar restore tax
    error: entry 6 has no earlier version
    [exit 4]
    $ etui calendar remove 77
    error: there is no entry number 77; `etui calendar list` lists the numbers
    [exit 4]
    ");
}

#[test]
fn changes_are_told_as_they_happen() {
    let home = with_calendar();
    session!(home, [
        "etui calendar watch --initial kind:todo > out 2> err & \
         wait_until grep -q Tax out; \
         etui -q calendar add Milk --todo --set uid=milk; \
         wait_until grep -q Milk out; \
         etui -q calendar edit milk --notes 'no fat'; \
         wait_until grep -q notes out; \
         kill $!; wait $!; sed 's/^[0-9:]*Z/TIME/' out",
    ], @"
    $ etui calendar watch --initial kind:todo > out 2> err & wait_until grep -q Tax out; etui -q calendar add Milk --todo --set uid=milk; wait_until grep -q Milk out; etui -q calendar edit milk --notes 'no fat'; wait_until grep -q notes out; kill $!; wait $!; sed 's/^[0-9:]*Z/TIME/' out
    TIME = 6 Tax return
    TIME + 7 Milk
    TIME ~ 7 Milk: notes
    ");
}

#[test]
fn several_entries_are_changed_at_once() {
    let home = with_calendar();
    session!(home, [
        "etui calendar edit 1 2 --set label=Job --dry-run",
        "etui calendar edit 1 2 --set label=Job",
        "etui calendar edit --where category:job --place 'Room 5' --remove label=None",
        "etui calendar edit --where kind:event --remove label=Job | tail -4",
        "etui calendar restore 1 2",
        "etui calendar labels",
        "etui calendar edit 1 2",
        "etui calendar edit 1 2 --repeat often",
        "etui calendar remove --where category:job",
        "etui calendar restore 1 2",
    ], @r#"
    $ etui calendar edit 1 2 --set label=Job --dry-run
    Would change 1: Jour fixe
    Would change 2: Night shift
    $ etui calendar edit 1 2 --set label=Job
    Changed 1: Jour fixe
    Changed 2: Night shift
    Undo: etui calendar restore 1 2
    $ etui calendar edit --where category:job --place 'Room 5' --remove label=None
    Changed 1: Jour fixe
    Changed 2: Night shift
    Undo: etui calendar restore 1 2
    $ etui calendar edit --where kind:event --remove label=Job | tail -4
    Changed 1: Jour fixe
    Changed 2: Night shift
    Unchanged: 3 entries
    Undo: etui calendar restore 1 2
    $ etui calendar restore 1 2
    Undid the latest change of 1: Jour fixe
    Undid the latest change of 2: Night shift
    $ etui calendar labels
    Entries  Label
          2  Job
    $ etui calendar edit 1 2
    error: several entries, and --dry-run, need options that change them, and no --if-match
    [exit 2]
    $ etui calendar edit 1 2 --repeat often
    error: --repeat: "often" is not understood here; write daily, weekly on mon, thu, every 2 weeks until 2027-06-30, monthly on the 15th, monthly on the last fri, yearly, daily 10 times, or a rule like FREQ=WEEKLY;BYDAY=MO
    [exit 2]
    $ etui calendar remove --where category:job
    Removed 1: Jour fixe
    Removed 2: Night shift
    Undo: etui calendar restore 1 2
    $ etui calendar restore 1 2
    Restored 1: Jour fixe
    Restored 2: Night shift
    "#);
}

#[test]
fn categories_are_replaced() {
    let home = with_calendar();
    session!(home, [
        "etui calendar edit fixe --category Work --category Travel",
        "etui calendar show fixe --ics | grep CATEG",
        "etui calendar edit fixe --category Home",
        "etui calendar find label:home --fields title,categories",
    ], @r"
    $ etui calendar edit fixe --category Work --category Travel
    Changed 1: Jour fixe (undo: etui calendar restore 1)
      Mon 8 Mar 2027, 09:00-09:45
      every week on Mon, Thu until 2027-07-01
      at Room 4
    $ etui calendar show fixe --ics | grep CATEG
    CATEGORIES:Work,Travel\r
    $ etui calendar edit fixe --category Home
    Changed 1: Jour fixe (undo: etui calendar restore 1)
      Mon 8 Mar 2027, 09:00-09:45
      every week on Mon, Thu until 2027-07-01
      at Room 4
    $ etui calendar find label:home --fields title,categories
    Title      Categories
    Jour fixe  Home
    ");
}
