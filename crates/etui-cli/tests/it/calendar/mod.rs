//! Calendars and their entries. The display zone is Europe/Berlin (`harness`).

mod calendars;
mod changing;
mod entries;
mod foreign;
mod hostile;
mod one_time;
mod remind;
mod todos;
mod words;

use crate::harness::TestHome;

/// A week with all kinds of entries, and escape sequences in a title.
const CALENDAR: &str = "\
BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//example//EN\r\n\
BEGIN:VEVENT\r\nUID:fixe\r\nDTSTART;TZID=Europe/Berlin:20270308T090000\r\n\
DTEND;TZID=Europe/Berlin:20270308T094500\r\nRRULE:FREQ=WEEKLY;BYDAY=MO,TH;UNTIL=20270701T215959Z\r\n\
EXDATE;TZID=Europe/Berlin:20270315T090000\r\nSUMMARY:Jour fixe\r\nLOCATION:Room 4\r\n\
CATEGORIES:Work\r\nORGANIZER;CN=Ada:mailto:ada@example.org\r\n\
ATTENDEE;CN=Bob;PARTSTAT=ACCEPTED:mailto:bob@example.org\r\n\
BEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER:-PT10M\r\nEND:VALARM\r\nEND:VEVENT\r\n\
BEGIN:VEVENT\r\nUID:fixe\r\nRECURRENCE-ID;TZID=Europe/Berlin:20270311T090000\r\n\
DTSTART;TZID=Europe/Berlin:20270311T110000\r\nDTEND;TZID=Europe/Berlin:20270311T114500\r\n\
SUMMARY:Jour fixe\\, later\r\nEND:VEVENT\r\n\
BEGIN:VEVENT\r\nUID:night\r\nDTSTART;TZID=Europe/Berlin:20270309T220000\r\nDURATION:PT8H\r\n\
SUMMARY:Night shift\r\nEND:VEVENT\r\n\
BEGIN:VEVENT\r\nUID:fair\r\nDTSTART;VALUE=DATE:20270310\r\nDTEND;VALUE=DATE:20270313\r\n\
SUMMARY:Fair\r\nLOCATION:Leipzig\r\nTRANSP:TRANSPARENT\r\nEND:VEVENT\r\n\
BEGIN:VEVENT\r\nUID:call\r\nDTSTART;TZID=America/New_York:20270310T150000\r\nDURATION:PT30M\r\n\
SUMMARY:Call with 山田 太郎\r\nSTATUS:TENTATIVE\r\nEND:VEVENT\r\n\
BEGIN:VEVENT\r\nUID:eve\r\nDTSTART:20270312T120000Z\r\nDTEND:20270312T130000Z\r\n\
SUMMARY:Eve \x1b[31mTrouble\u{9b}2J\r\nSTATUS:CANCELLED\r\nEND:VEVENT\r\n\
BEGIN:VTODO\r\nUID:tax\r\nDUE;VALUE=DATE:20270312\r\nSUMMARY:Tax return\r\nPRIORITY:1\r\n\
DESCRIPTION:not again\\, please\\nreally\r\nEND:VTODO\r\n\
END:VCALENDAR\r\n";

fn with_calendar() -> TestHome {
    let home = TestHome::new();
    std::fs::write(home.path("week.ics"), CALENDAR).unwrap();
    assert_eq!(home.run("etui -q import week.ics"), ("".into(), Some(0)));
    home
}
