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
    ], @"");
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
    ], @"");
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
    ], @"");
}
