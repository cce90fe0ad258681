//! Files of other programs, entries of one name, and answers about what was changed.

use crate::harness::{TestHome, session};

fn home_with(file: &str, text: &str) -> TestHome {
    let home = TestHome::new();
    std::fs::write(home.path(file), text).unwrap();
    home
}

#[test]
fn a_calendar_s_zone_and_nested_calendars_are_read() {
    let home = home_with(
        "a.ics",
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nX-WR-TIMEZONE:America/New_York\r\n\
         BEGIN:VEVENT\r\nUID:1\r\nDTSTART:20270105T0900\r\nSUMMARY:Before\r\nEND:VEVENT\r\n\
         BEGIN:VCALENDAR\r\nVERSION:2.0\r\n\
         BEGIN:VEVENT\r\nUID:2\r\nDTSTART:20270105T090000.5Z\r\nSUMMARY:Inside\r\nEND:VEVENT\r\n\
         END:VCALENDAR\r\n\
         BEGIN:VEVENT\r\nUID:3\r\nDTSTART:20270105T240000\r\nSUMMARY:After\r\nEND:VEVENT\r\n\
         END:VCALENDAR\r\n",
    );
    std::fs::write(
        home.path("b.ics"),
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nX-WR-TIMEZONE:Atlantis/Capital\r\n\
         BEGIN:VEVENT\r\nUID:4\r\nDTSTART:20270105T090000\r\nSUMMARY:Unknown\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
    )
    .unwrap();
    session!(home, [
        "etui import a.ics",
        "etui import a.ics",
        "etui import b.ics",
        "TZ=Europe/Berlin etui calendar agenda --from 2027-01-05 --to 2027-01-06",
    ], @r#"
    $ etui import a.ics
    a.ics: 3 added (344 bytes)
    Created a store: ~/.local/share/etui/personal.etui
    Sort order: und; region of phone numbers without a country code: none (change it: etui settings region CODE)
    $ etui import a.ics
    a.ics: 0 added, 3 unchanged (344 bytes)
    $ etui import b.ics
    b.ics:4: the time zone "Atlantis/Capital" of the file is not known; its times without a zone stay floating (UID:4)
    b.ics: 1 added, 1 with warnings (152 bytes)
    $ TZ=Europe/Berlin etui calendar agenda --from 2027-01-05 --to 2027-01-06
    Tuesday, 5 January 2027
            09:00  Unknown  #4
            10:00  Inside  #2
            15:00  Before  #1

    Wednesday, 6 January 2027
            06:00  After  #3
    "#);
}

#[test]
fn the_entry_with_a_time_on_the_day_is_taken() {
    let home = TestHome::new();
    session!(home, [
        "etui calendar add Yoga --start '2027-03-01 9:00' --repeat 'weekly on mon' -q",
        "etui calendar add Yoga --start '2027-03-02 9:00' --repeat 'weekly on tue' -q",
        "etui calendar skip Yoga --on 2027-03-08",
        "etui calendar move Yoga 11:00 --on 2027-03-09",
        "etui calendar edit Yoga --on 2027-03-16 --place Hall",
        "etui calendar skip Yoga --on 2027-03-10 2>&1 | tail -1",
        "etui calendar move Yoga 12:00 2>&1 | tail -1",
        "etui calendar remove Yoga 2>&1 | tail -1",
    ], @"
    $ etui calendar add Yoga --start '2027-03-01 9:00' --repeat 'weekly on mon' -q
    $ etui calendar add Yoga --start '2027-03-02 9:00' --repeat 'weekly on tue' -q
    $ etui calendar skip Yoga --on 2027-03-08
    Skipped Mon 8 Mar 2027, 09:00-10:00 of 1: Yoga (undo: etui calendar restore 1)
    $ etui calendar move Yoga 11:00 --on 2027-03-09
    Moved Tue 9 Mar 2027, 09:00-10:00 to Tue 9 Mar 2027, 11:00-12:00 of 2: Yoga (undo: etui calendar restore 2)
    $ etui calendar edit Yoga --on 2027-03-16 --place Hall
    Changed 2: Yoga (undo: etui calendar restore 2)
      Tue 16 Mar 2027, 09:00-10:00
    $ etui calendar skip Yoga --on 2027-03-10 2>&1 | tail -1
    error: 2 entries match; select one: etui calendar skip NUMBER
    $ etui calendar move Yoga 12:00 2>&1 | tail -1
    error: 2 entries match; select one: etui calendar move NUMBER WHEN
    $ etui calendar remove Yoga 2>&1 | tail -1
    error: 2 entries match; select one: etui calendar remove NUMBER
    ");
}

#[test]
fn what_is_done_already_is_said() {
    let home = TestHome::new();
    session!(home, [
        "etui calendar add 'todo Milk' -q",
        "etui calendar done Milk",
        "etui calendar done Milk",
        "etui calendar done Milk --undo",
        "etui calendar done Milk --undo",
        "etui calendar add Dinner --start '2027-03-01 19:00' --place Odeon | head -3",
        "etui calendar edit Dinner --start 20:00",
        "etui calendar edit Dinner --set status=CANCELLED -q; etui calendar list",
        "etui contacts add Ann --set bday=1990-02-29",
        "etui calendar agenda 30.February",
    ], @r#"
    $ etui calendar add 'todo Milk' -q
    $ etui calendar done Milk
    Done 1: Milk (undo: etui calendar restore 1)
    $ etui calendar done Milk
    Already done: 1 Milk
    $ etui calendar done Milk --undo
    Opened 1: Milk (undo: etui calendar restore 1)
    $ etui calendar done Milk --undo
    Not done: 1 Milk
    $ etui calendar add Dinner --start '2027-03-01 19:00' --place Odeon | head -3
    Added 4: Dinner
      Mon 1 Mar 2027, 19:00-20:00
      at Odeon
    $ etui calendar edit Dinner --start 20:00
    Changed 4: Dinner (undo: etui calendar restore 4)
      Mon 1 Mar 2027, 20:00-21:00
      at Odeon
    $ etui calendar edit Dinner --set status=CANCELLED -q; etui calendar list
    #  Start             Title               Place
    4  2027-03-01 20:00  Dinner (cancelled)  Odeon
    1                    Milk
    $ etui contacts add Ann --set bday=1990-02-29
    error: invalid value 'bday=1990-02-29' for '--set <PROP=VALUE>': "1990-02-29" does not exist: February 1990 has no day 29

    For more information, try '--help'.
    [exit 2]
    $ etui calendar agenda 30.February
    error: "30.February" is not a period; write today, tomorrow, week, next week, weekend, month, year, monday, 2026-12-24, 2026-12 or 2026, or use --from and --to
    [exit 2]
    "#);
}
