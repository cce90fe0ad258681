//! What is on, and changing it. Times are by the clock in Berlin (`harness`).

use crate::harness::{Place, session};

/// A week that has everything, and somebody who means harm.
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

fn with_calendar() -> Place {
    let place = Place::new();
    std::fs::write(place.path("week.ics"), CALENDAR).unwrap();
    assert_eq!(place.run("etui -q import week.ics"), ("".into(), Some(0)));
    place
}

#[test]
fn the_agenda_tells_day_by_day() {
    let place = with_calendar();
    session!(place, [
        "etui calendar agenda --from 2027-03-08",
        "etui calendar agenda 2027-03-09",
        "etui calendar agenda --from 2027-03-10T23:00 --to 2027-03-11T09:00",
        "etui calendar agenda 2027-03-10 --zone America/New_York",
        "etui calendar agenda 2027-02",
        "etui calendar agenda 2027-03-14",
        "etui calendar agenda 2027-03 --limit 2",
        "etui --color always calendar agenda 2027-03-12",
        "etui calendar agenda 2027-03-11 --json",
    ], @r#"
    $ etui calendar agenda --from 2027-03-08
    Monday, 8 March 2027
      09:00-09:45  Jour fixe ↻  Room 4  #1

    Tuesday, 9 March 2027
        22:00-...  Night shift  #2

    Wednesday, 10 March 2027
          all day  Fair (day 1 of 3)  Leipzig  #3
        ...-06:00  Night shift  #2
      21:00-21:30  Call with 山田 太郎 (tentative)  #4

    Thursday, 11 March 2027
          all day  Fair (day 2 of 3)  Leipzig  #3
      11:00-11:45  Jour fixe, later ↻  #1

    Friday, 12 March 2027
          all day  Fair (day 3 of 3)  Leipzig  #3
          all day  [ ] Tax return  #6
      13:00-14:00  Eve [31mTrouble2J (cancelled)  #5
    $ etui calendar agenda 2027-03-09
    Tuesday, 9 March 2027
        22:00-...  Night shift  #2
    $ etui calendar agenda --from 2027-03-10T23:00 --to 2027-03-11T09:00
    Wednesday, 10 March 2027
          all day  Fair (day 1 of 3)  Leipzig  #3

    Thursday, 11 March 2027
          all day  Fair (day 2 of 3)  Leipzig  #3
    $ etui calendar agenda 2027-03-10 --zone America/New_York
    Wednesday, 10 March 2027
          all day  Fair (day 1 of 3)  Leipzig  #3
      15:00-15:30  Call with 山田 太郎 (tentative)  #4
    $ etui calendar agenda 2027-02
    Nothing from Mon 1 Feb 2027 to Sun 28 Feb 2027.
    $ etui calendar agenda 2027-03-14
    Nothing on Sun 14 Mar 2027.
    $ etui calendar agenda 2027-03 --limit 2
    Monday, 8 March 2027
      09:00-09:45  Jour fixe ↻  Room 4  #1

    Tuesday, 9 March 2027
        22:00-...  Night shift  #2

    Wednesday, 10 March 2027
        ...-06:00  Night shift  #2
    Only the first 2 are shown; more with --limit
    $ etui --color always calendar agenda 2027-03-12
    \e[1mFriday, 12 March 2027\e[0m
          all day  Fair\e[2m (day 3 of 3)\e[0m\e[2m  Leipzig\e[0m\e[2m  #3\e[0m
          all day  [ ] Tax return\e[2m  #6\e[0m
      13:00-14:00  \e[9mEve [31mTrouble2J\e[0m\e[2m (cancelled)\e[0m\e[2m  #5\e[0m
    $ etui calendar agenda 2027-03-11 --json
    {"calendar":"Calendar","id":3,"kind":"event","title":"Fair","place":"Leipzig","start":"2027-03-10","end":"2027-03-13","all_day":true,"zone":null,"instance":null,"status":null,"transparent":true}
    {"calendar":"Calendar","id":1,"kind":"event","title":"Jour fixe, later","place":"","start":"2027-03-11T11:00:00+01:00","end":"2027-03-11T11:45:00+01:00","all_day":false,"zone":"Europe/Berlin","instance":"2027-03-11T09:00:00+01:00","status":null,"transparent":false}
    "#);
}

#[test]
fn days_that_are_not_understood() {
    let place = with_calendar();
    session!(place, [
        "etui calendar agenda someday",
        "etui calendar agenda --from someday",
        "etui calendar agenda --from 2027-03-09 --to 2027-03-08",
        "etui calendar agenda --zone Mars",
        "etui calendar agenda today --from tomorrow",
        "etui calendar agenda --calendar Work",
        "etui calendar agenda today --store none.etui",
    ], @r#"
    $ etui calendar agenda someday
    error: "someday" is no day; write today, tomorrow, week, next week, month, year, monday, 2026-12-24, 2026-12 or 2026, or say --from and --to
    [exit 2]
    $ etui calendar agenda --from someday
    error: --from someday: not a day or time; write 2026-12-24, 2026-12-24T18:30, 18:30, today, tomorrow, monday, +3d, or a day and a time: "tomorrow 9:00"
    [exit 2]
    $ etui calendar agenda --from 2027-03-09 --to 2027-03-08
    error: the end is not behind the beginning
    [exit 2]
    $ etui calendar agenda --zone Mars
    error: invalid value 'Mars' for '--zone <ZONE>': there is no such time zone; they are named like Europe/Berlin, or UTC

    For more information, try '--help'.
    [exit 2]
    $ etui calendar agenda today --from tomorrow
    error: the argument '[WHEN]...' cannot be used with '--from <WHEN>'

    Usage: etui calendar agenda <WHEN>...

    For more information, try '--help'.
    [exit 2]
    $ etui calendar agenda --calendar Work
    error: there is no calendar named "Work" (there are: Calendar)
    [exit 4]
    $ etui calendar agenda today --store none.etui
    error: none.etui: there is no store here (`etui init` makes one)
    [exit 6]
    "#);
}

#[test]
fn today_is_where_the_person_is() {
    let place = Place::new();
    let (text, code) = place.run(
        "etui -q calendar add Now --start \"$(date +%F) 00:00\" --duration 1h; \
         etui calendar agenda | head -2 | sed -e \"s/$(date +'%A, %-d %B %Y')/DAY/\"",
    );
    assert_eq!(text, "DAY, today\n  00:00-01:00  Now  #1\n");
    assert_eq!(code, Some(0));
}

#[test]
fn show_tells_everything() {
    let place = with_calendar();
    session!(place, [
        "etui calendar show fixe | sed /^..Next/d",
        "etui calendar show call fair tax",
        "etui calendar show eve",
        "etui calendar show jour --ics | head -3",
        "etui calendar show title:* 2>&1 | tail -2",
        "etui calendar show 99",
        "etui calendar show call --json",
    ], @r#"
    $ etui calendar show fixe | sed /^..Next/d
    Jour fixe
      When        Mon 8 Mar 2027, 09:00-09:45
      Repeats     every week on Mon, Thu until 2027-07-01, 1 exception, 1 changed
      Changed     Thu 11 Mar 2027: now 11:00-11:45: Jour fixe, later
      Where       Room 4
      Categories  Work
      Alarm       10 minutes before the start
      Organiser   Ada <ada@example.org>
      Attendee    Bob <bob@example.org>  (accepted)
      iCalendar   event, 628 bytes, 2 components
      UID         fixe
      ETag        72968f802d75cead5cff709b951e8c76
      #           1
    $ etui calendar show call fair tax
    Call with 山田 太郎
      When       Wed 10 Mar 2027, 15:00-15:30 (America/New_York)
      Here       Wed 10 Mar 2027, 21:00-21:30 (Europe/Berlin)
      Status     tentative
      iCalendar  event, 150 bytes
      UID        call
      ETag       cf41219aac5765037e8056ecd156e990
      #          4

    Fair
      When       Wed 10 Mar 2027 to Fri 12 Mar 2027, all day
      Where      Leipzig
      Time       not taken: shown as free
      iCalendar  event, 144 bytes
      UID        fair
      ETag       7f978fde99193b2b0ce47c8fce29bdc0
      #          3

    Tax return
      Due        Fri 12 Mar 2027
      Priority   1 of 9, 1 being the highest
      Notes      not again, please
                 really
      iCalendar  to-do, 130 bytes
      UID        tax
      ETag       11d287a4ffbc17b2fe7552884f315dda
      #          6
    $ etui calendar show eve
    Eve [31mTrouble2J
      When       Fri 12 Mar 2027, 12:00-13:00 (UTC)
      Here       Fri 12 Mar 2027, 13:00-14:00 (Europe/Berlin)
      Status     cancelled
      iCalendar  event, 133 bytes
      UID        eve
      ETag       971f9aef83ee5e03baa1883746f4b888
      #          5
    $ etui calendar show jour --ics | head -3
    BEGIN:VEVENT\r
    UID:fixe\r
    DTSTART;TZID=Europe/Berlin:20270308T090000\r
    $ etui calendar show title:* 2>&1 | tail -2
    5  2027-03-12 13:00  Eve [31mTrouble2J
    error: 6 entries fit; which one? etui calendar show NUMBER
    $ etui calendar show 99
    error: there is no entry number 99; `etui calendar list` tells the numbers
    [exit 4]
    $ etui calendar show call --json
    {"id":4,"uid":"call","etag":"cf41219aac5765037e8056ecd156e990","kind":"event","title":"Call with 山田 太郎","place":null,"notes":null,"start":"2027-03-10T21:00:00+01:00","end":null,"due":null,"duration":"PT30M","all_day":false,"zone":"America/New_York","rules":[],"dates":[],"except_dates":[],"instance":null,"and_future":false,"status":"tentative","class":"public","transparent":false,"categories":[],"priority":null,"percent":null,"completed":null,"url":null,"organizer":null,"attendees":[],"alarms":[],"changes":[]}
    "#);
}

#[test]
fn lists_are_in_order_and_findable() {
    let place = with_calendar();
    session!(place, [
        "etui calendar list",
        "etui calendar list --sort -start --limit 2",
        "etui calendar list --fields id,start,end,title,status,kind",
        "etui calendar find leipzig",
        "etui calendar find kind:todo or place:room",
        "etui calendar find again",
        "etui calendar find nowhere",
        "etui calendar find kind:event --count",
        "etui calendar find tax --json",
        "etui calendar find tax --fields uid,start,kind,record --json",
        "etui calendar find 'name:x'",
        "etui calendar list --limit 1 --json | sed 's/1\\.[0-9a-f]*/PLACE/'",
        "etui calendar find category:work --explain | head -2",
    ], @r#"
    $ etui calendar list
    #  Start             Title                Place
    1  2027-03-08 09:00  Jour fixe            Room 4
    2  2027-03-09 22:00  Night shift
    3  2027-03-10        Fair                 Leipzig
    4  2027-03-10 21:00  Call with 山田 太郎
    6  2027-03-12        Tax return
    5  2027-03-12 13:00  Eve [31mTrouble2J
    $ etui calendar list --sort -start --limit 2
    #  Start             Title              Place
    5  2027-03-12 13:00  Eve [31mTrouble2J
    6  2027-03-12        Tax return
    $ etui calendar list --fields id,start,end,title,status,kind
    #  Start             End               Title                Status     Kind
    1  2027-03-08 09:00  2027-03-08 09:45  Jour fixe                       event
    2  2027-03-09 22:00  2027-03-10 06:00  Night shift                     event
    3  2027-03-10        2027-03-12        Fair                            event
    4  2027-03-10 21:00  2027-03-10 21:30  Call with 山田 太郎  tentative  event
    6  2027-03-12        2027-03-12        Tax return                      todo
    5  2027-03-12 13:00  2027-03-12 14:00  Eve [31mTrouble2J    cancelled  event
    $ etui calendar find leipzig
    #  Start       Title  Place
    3  2027-03-10  Fair   Leipzig
    $ etui calendar find kind:todo or place:room
    #  Start             Title       Place
    1  2027-03-08 09:00  Jour fixe   Room 4
    6  2027-03-12        Tax return
    $ etui calendar find again
    #  Start       Title       Place
    6  2027-03-12  Tax return
    $ etui calendar find nowhere
    error: nothing found for: nowhere
    [exit 4]
    $ etui calendar find kind:event --count
    5
    $ etui calendar find tax --json
    {"id":6,"kind":"todo","title":"Tax return","place":"","start":"2027-03-12","end":"2027-03-13","all_day":true,"status":null,"calendar":"Calendar"}
    $ etui calendar find tax --fields uid,start,kind,record --json
    {"uid":"tax","start":"2027-03-12","kind":"todo","record":"BEGIN:VTODO\r\nUID:tax\r\nDUE;VALUE=DATE:20270312\r\nSUMMARY:Tax return\r\nPRIORITY:1\r\nDESCRIPTION:not again\\, please\\nreally\r\nEND:VTODO\r\n"}
    $ etui calendar find 'name:x'
    error: in the filter, at character 1: there is no field "name"; fields are any, summary, title, place, location, notes, description, category, kind (quote a text with ":")
    [exit 2]
    $ etui calendar list --limit 1 --json | sed 's/1\.[0-9a-f]*/PLACE/'
    {"id":1,"kind":"event","title":"Jour fixe","place":"Room 4","start":"2027-03-08T09:00:00+01:00","end":"2027-03-08T09:45:00+01:00","all_day":false,"status":null,"calendar":"Calendar","next":"PLACE"}
    $ etui calendar find category:work --explain | head -2
    filter      category:"work"
    way         few candidates from the index, gathered and sorted
    "#);
}

#[test]
fn time_that_is_taken() {
    let place = with_calendar();
    session!(place, [
        "etui calendar freebusy --from 2027-03-08",
        "etui calendar freebusy 2027-03-09 --json",
        "etui calendar freebusy 2027-03-14",
        "etui calendar freebusy --from 2027-03-08 --ics | sed s/^DTSTAMP:.*/DTSTAMP:NOW/",
        "etui calendar alarms --from 2027-03-08 --next 3",
        "etui calendar alarms --from 2027-03-08 --next 1 --json",
        "etui calendar alarms --from 2028-01-01",
    ], @r#"
    $ etui calendar freebusy --from 2027-03-08
    Mon 8 Mar 2027   09:00-09:45
    Tue 9 Mar 2027   22:00-24:00
    Wed 10 Mar 2027  00:00-06:00
                     21:00-21:30  tentative
    Thu 11 Mar 2027  11:00-11:45
    $ etui calendar freebusy 2027-03-09 --json
    {"start":"2027-03-09T22:00:00+01:00","end":"2027-03-10T00:00:00+01:00","tentative":false}
    $ etui calendar freebusy 2027-03-14
    Free on Sun 14 Mar 2027.
    $ etui calendar freebusy --from 2027-03-08 --ics | sed s/^DTSTAMP:.*/DTSTAMP:NOW/
    BEGIN:VCALENDAR\r
    VERSION:2.0\r
    PRODID:-//etui//etui//EN\r
    METHOD:PUBLISH\r
    BEGIN:VFREEBUSY\r
    UID:etui-b7c8708d8450259be78f881dcfbf5556\r
    DTSTAMP:NOW
    DTSTART:20270307T230000Z\r
    DTEND:20270314T230000Z\r
    FREEBUSY;FBTYPE=BUSY:20270308T080000Z/20270308T084500Z\r
    FREEBUSY;FBTYPE=BUSY:20270309T210000Z/20270310T050000Z\r
    FREEBUSY;FBTYPE=BUSY-TENTATIVE:20270310T200000Z/20270310T203000Z\r
    FREEBUSY;FBTYPE=BUSY:20270311T100000Z/20270311T104500Z\r
    END:VFREEBUSY\r
    END:VCALENDAR\r
    $ etui calendar alarms --from 2027-03-08 --next 3
    #  Alarm                  Start             Title
    1  Mon 8 Mar 2027 08:50   2027-03-08 09:00  Jour fixe
    1  Thu 18 Mar 2027 08:50  2027-03-18 09:00  Jour fixe
    1  Mon 22 Mar 2027 08:50  2027-03-22 09:00  Jour fixe
    $ etui calendar alarms --from 2027-03-08 --next 1 --json
    {"calendar":"Calendar","id":1,"at":"2027-03-08T08:50:00+01:00","start":"2027-03-08T09:00:00+01:00","title":"Jour fixe","action":"display"}
    $ etui calendar alarms --from 2028-01-01
    No alarm is due.
    "#);
}

#[test]
fn entries_are_added() {
    let place = Place::new();
    let tell = "etui calendar show x --ics | grep -v DTSTAMP; etui -q calendar remove x";
    session!(place, [
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
    Added 1: Jour fixe, early, 2027-03-08 09:00
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
    Added 1: Holidays, 2027-12-24
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
    Added 1: Call, 2027-03-10 15:00
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
    Added 1: Tax return, 2027-05-31
    UID x
    $ etui calendar show x --ics | grep -v DTSTAMP; etui -q calendar remove x
    BEGIN:VTODO\r
    UID:x\r
    DUE;VALUE=DATE:20270531\r
    SUMMARY:Tax return\r
    END:VTODO\r
    $ etui calendar add 'Buy milk' --todo --json --set uid=x | sed s/etag.*name/ETAG,name/
    {"id":1,"uid":"x","ETAG,name":"Buy milk","outcome":"added"}
    $ etui calendar add Again --todo --set uid=x
    error: an entry with the UID x is there already: etui calendar show x
    [exit 5]
    $ etui calendar list
    #  Start  Title     Place
    1         Buy milk
    "#);
}

#[test]
fn what_cannot_be_added() {
    let place = Place::new();
    session!(place, [
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
    error: when? --start WHEN, for example --start "monday 9:00"; or --todo
    [exit 2]
    $ etui calendar add Lunch --start soon
    error: --start soon: not a day or time; write 2026-12-24, 2026-12-24T18:30, 18:30, today, tomorrow, monday, +3d, or a day and a time: "tomorrow 9:00"
    [exit 2]
    $ etui calendar add Lunch --start 2027-03-08 --end 12:00Z
    error: --end 12:00Z: not a day or time; write 2026-12-24, 2026-12-24T18:30, 18:30, today, tomorrow, monday, +3d, or a day and a time: "tomorrow 9:00"
    [exit 2]
    $ etui calendar add Lunch --start '2027-03-08 12:00' --end '2027-03-08 11:00'
    error: --end 2027-03-08 11:00: this is not behind the start
    [exit 2]
    $ etui calendar add Lunch --start '2027-03-08 12:00' --repeat often
    error: --repeat: "often" is not understood here; write daily, weekly on mon, thu, every 2 weeks until 2027-06-30, monthly on the 15th, monthly on the last fri, yearly, daily 10 times, or a rule like FREQ=WEEKLY;BYDAY=MO
    [exit 2]
    $ etui calendar add Lunch --start '2027-03-08 12:00' --duration long
    error: invalid value 'long' for '--duration <LENGTH>': not a length of time; write 45m, 1h30m, 2h, 3d or 1w

    For more information, try '--help'.
    [exit 2]
    $ etui calendar add Lunch --todo --alarm 1h
    error: --repeat and --alarm need --start or --due
    [exit 2]
    $ etui calendar add Lunch --end 12:00 --todo
    error: --end and --duration need a --start
    [exit 2]
    $ etui calendar add Lunch --start 12:00 --set dtend=x
    error: invalid value 'dtend=x' for '--set <PROP=VALUE>': DTEND has options of its own: --start, --end, --duration, --due

    For more information, try '--help'.
    [exit 2]
    $ ls -A
    people.vcf
    tmp
    "#);
}

#[test]
fn changes_by_options() {
    let place = with_calendar();
    let tell = "etui calendar show fixe --ics | grep -e DTSTART -e DTEND -e DURATION -e RRULE -e SEQ -e SUMM -e EXD -e -ID | head -8; etui calendar agenda 2027-03 | grep -e fixe -e Early | head -4; etui -q calendar restore fixe";
    session!(place, [
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
    $ etui calendar show fixe --ics | grep -e DTSTART -e DTEND -e DURATION -e RRULE -e SEQ -e SUMM -e EXD -e -ID | head -8; etui calendar agenda 2027-03 | grep -e fixe -e Early | head -4; etui -q calendar restore fixe
    DTSTART;TZID=Europe/Berlin:20270308T100000\r
    DTEND;TZID=Europe/Berlin:20270308T104500\r
    RRULE:FREQ=WEEKLY;UNTIL=20270701T215959Z;BYDAY=MO,TH\r
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
    $ etui calendar agenda 2027-03-08
    Monday, 8 March 2027
      09:00-09:45  Jour fixe (cancelled)  Room 4  #1
    $ etui calendar restore 1
    Undid the latest change of 1: Jour fixe
    $ etui calendar edit night --remove place
    error: entry 2 has no LOCATION; nothing was changed
    [exit 4]
    $ etui calendar edit night --end '2027-03-09 21:00'
    error: --end 2027-03-09 21:00: this is not behind the start
    [exit 2]
    $ etui calendar edit tax --duration 1h
    error: it has no start; give it one with --start, or say when it is due: --due
    [exit 2]
    $ etui calendar edit night --title Night --if-match 00000000000000000000000000000000
    error: entry night was changed meanwhile; nothing was overwritten. See what it is now: etui calendar show night
    [exit 5]
    $ EDITOR='sed -i s/Night/Late/' etui calendar edit night
    Changed 2: Late shift (undo: etui calendar restore 2)
    $ EDITOR='sed -i s/UID:night/UID:day/' etui calendar edit night; rm tmp/*
    error: the UID is what the entry is known by, and cannot change: it is night, the text has day. For another entry: etui import FILE
    Nothing was changed. Your text is kept in ~/tmp/etui-edit-XXXXXX.ics; to go on:
      $EDITOR ~/tmp/etui-edit-XXXXXX.ics
      etui calendar edit night --from ~/tmp/etui-edit-XXXXXX.ics --if-match 2742a4a171e16136062df8427a150e61
    $ etui calendar edit fair --from week.ics
    error: components of several records; give those of one UID at a time, or import them as a file
    [exit 3]
    ");
}

#[test]
fn alarms_by_options() {
    let place = with_calendar();
    let tell = "etui calendar show fixe --ics | grep -A4 BEGIN:VALARM";
    session!(place, [
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
    $ etui calendar show fixe --ics | grep -A4 BEGIN:VALARM
    [exit 1]
    $ etui calendar edit fixe --alarm none --alarm 1h
    error: --alarm none goes with no other --alarm
    [exit 2]
    $ etui calendar edit fixe --alarm soon
    error: invalid value 'soon' for '--alarm <LENGTH>': not a length of time; write 45m, 1h30m, 2h, 3d or 1w, or none

    For more information, try '--help'.
    [exit 2]
    $ etui -q calendar add Ideas --todo; etui calendar edit 9 --alarm 1h
    error: it has no start; give it one with --start, or say when it is due: --due
    [exit 2]
    ");
}

#[test]
fn what_is_typed_is_meant() {
    let place = with_calendar();
    session!(place, [
        "etui calendar edit fixe --start 9:15; etui calendar show fixe | head -2",
        "etui calendar edit eve --start 14:30; etui calendar show eve | head -2",
        "etui calendar edit fixe --set repeat=often",
        "etui calendar edit fixe --set status=maybe",
        "EDITOR='sed -i s/^DTSTART.*/DTSTART:tomorrow/' etui calendar edit night; rm tmp/*",
        "etui calendar add X --start 'mon 9' --set repeat=often",
        "etui calendar add X --start 'mon 9' --duration -1h",
        "etui calendar add '' --start '2027-03-08 9' --repeat mondays | head -1; etui calendar remove 9",
        "etui calendar undo 9",
        "etui calendar import week.ics",
        "etui agenda",
        "export ETUI_STORE=x.etui; etui calendar 2>&1 | head -1",
        "etui export",
    ], @r#"
    $ etui calendar edit fixe --start 9:15; etui calendar show fixe | head -2
    Changed 1: Jour fixe (undo: etui calendar restore 1)
    Jour fixe
      When        Mon 8 Mar 2027, 09:15-10:00
    $ etui calendar edit eve --start 14:30; etui calendar show eve | head -2
    Changed 5: Eve [31mTrouble2J (undo: etui calendar restore 5)
    Eve [31mTrouble2J
      When       Fri 12 Mar 2027, 14:30-15:30
    $ etui calendar edit fixe --set repeat=often
    error: RRULE: in the recurrence rule, at character 1: "often" has no "="
    [exit 2]
    $ etui calendar edit fixe --set status=maybe
    error: invalid value 'status=maybe' for '--set <PROP=VALUE>': "maybe" is no status; there are tentative, confirmed and cancelled for events, needs-action, in-process, completed and cancelled for to-dos, draft and final for journal entries

    For more information, try '--help'.
    [exit 2]
    $ EDITOR='sed -i s/^DTSTART.*/DTSTART:tomorrow/' etui calendar edit night; rm tmp/*
    error: DTSTART: "tomorrow" is no date or time: write 19970714 or 19970714T133000
    Nothing was changed. Your text is kept in ~/tmp/etui-edit-XXXXXX.ics; to go on:
      $EDITOR ~/tmp/etui-edit-XXXXXX.ics
      etui calendar edit night --from ~/tmp/etui-edit-XXXXXX.ics --if-match 9b7a57579d3f7c5651e4b3e33a6a4819
    $ etui calendar add X --start 'mon 9' --set repeat=often
    error: RRULE: in the recurrence rule, at character 1: "often" has no "="
    [exit 2]
    $ etui calendar add X --start 'mon 9' --duration -1h
    error: invalid value '-1h' for '--duration <LENGTH>': not a length of time; write 45m, 1h30m, 2h, 3d or 1w

    For more information, try '--help'.
    [exit 2]
    $ etui calendar add '' --start '2027-03-08 9' --repeat mondays | head -1; etui calendar remove 9
    Added 9: (no title), 2027-03-08 09:00
    Removed 9: (no title)
    Bring back: etui calendar restore 9
    $ etui calendar undo 9
    Brought back 9: (no title)
    $ etui calendar import week.ics
    error: unrecognized subcommand 'import'

      tip: files are brought in by `etui import FILE`

    Usage: etui calendar [OPTIONS] <COMMAND>

    For more information, try '--help'.
    [exit 2]
    $ etui agenda
    error: unrecognized subcommand 'agenda'

      tip: what is on is told by `etui calendar agenda`

    Usage: etui [OPTIONS] <COMMAND>

    For more information, try '--help'.
    [exit 2]
    $ export ETUI_STORE=x.etui; etui calendar 2>&1 | head -1
    Show what is on, find and change it
    $ etui export
    There are no contacts; calendars: etui export --calendars
    "#);
}

#[test]
fn removed_and_brought_back() {
    let place = with_calendar();
    session!(place, [
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
    Bring back: etui calendar restore 6 2
    $ etui calendar restore --list
    #  Start             Title        Place
    2  2027-03-09 22:00  Night shift
    6  2027-03-12        Tax return
    $ etui calendar show tax
    error: nothing found for: tax
    [exit 4]
    $ etui calendar restore 2 tax
    Brought back 2: Night shift
    Brought back 6: Tax return
    $ etui calendar restore tax
    error: entry 6 has no earlier version to go back to
    [exit 4]
    $ etui calendar remove 77
    error: there is no entry number 77; `etui calendar list` tells the numbers
    [exit 4]
    ");
}

#[test]
fn several_calendars() {
    let place = with_calendar();
    session!(place, [
        "etui calendar calendars --create Work",
        "etui calendar add Meeting --start '2027-03-08 14:00' --calendar Work --set uid=m",
        "etui calendar agenda 2027-03-08",
        "etui calendar agenda 2027-03-08 --calendar Work",
        "etui calendar show 7 | head -2",
        "etui calendar find meeting",
        "etui calendar show meeting | head -2",
        "etui calendar show meeting or tax",
        "etui calendar show meeting --calendar Calendar",
        "etui calendar remove 1 7",
        "etui calendar find meeting --calendar Calendar",
        "etui calendar find '*' --limit 2 --sort -added --json",
        "etui calendar find '*' --count",
        "etui calendar list --sort -start --limit 3",
        "etui calendar list --calendar Work",
        "etui calendar find 'title:meet*' --explain | head -4",
        "etui calendar find 'title:meet*' --explain --json",
        "etui calendar find '*' --at 6 --limit 1 --explain | grep answer",
        "etui calendar calendars",
        "etui calendar calendars --json",
        "etui calendar calendars --create Work",
    ], @r#"
    $ etui calendar calendars --create Work
    Made a calendar: Work (use it with --calendar Work)
    $ etui calendar add Meeting --start '2027-03-08 14:00' --calendar Work --set uid=m
    Added 7: Meeting, 2027-03-08 14:00
    UID m
    $ etui calendar agenda 2027-03-08
    Monday, 8 March 2027
      09:00-09:45  Jour fixe ↻  Room 4 · Calendar  #1
      14:00-15:00  Meeting  · Work  #7
    $ etui calendar agenda 2027-03-08 --calendar Work
    Monday, 8 March 2027
      14:00-15:00  Meeting  #7
    $ etui calendar show 7 | head -2
    Meeting
      When       Mon 8 Mar 2027, 14:00-15:00
    $ etui calendar find meeting
    #  Start             Title    Place  Calendar
    7  2027-03-08 14:00  Meeting         Work
    $ etui calendar show meeting | head -2
    Meeting
      When       Mon 8 Mar 2027, 14:00-15:00
    $ etui calendar show meeting or tax
    #  Start             Title       Place  Calendar
    7  2027-03-08 14:00  Meeting            Work
    6  2027-03-12        Tax return         Calendar
    error: 2 entries fit; which one? etui calendar show NUMBER
    [exit 2]
    $ etui calendar show meeting --calendar Calendar
    error: nothing found for: meeting
    [exit 4]
    $ etui calendar remove 1 7
    error: 1 is in Calendar, and 7 in Work; name those of one calendar at a time
    [exit 2]
    $ etui calendar find meeting --calendar Calendar
    error: nothing found for: meeting
    [exit 4]
    $ etui calendar find '*' --limit 2 --sort -added --json
    {"id":7,"kind":"event","title":"Meeting","place":"","start":"2027-03-08T14:00:00+01:00","end":"2027-03-08T15:00:00+01:00","all_day":false,"status":null,"calendar":"Work","next":null}
    {"id":6,"kind":"todo","title":"Tax return","place":"","start":"2027-03-12","end":"2027-03-13","all_day":true,"status":null,"calendar":"Calendar","next":"6.81ee9994d980"}
    $ etui calendar find '*' --count
    7
    $ etui calendar list --sort -start --limit 3
    #  Start             Title                Place  Calendar
    5  2027-03-12 13:00  Eve [31mTrouble2J           Calendar
    6  2027-03-12        Tax return                  Calendar
    4  2027-03-10 21:00  Call with 山田 太郎         Calendar
    $ etui calendar list --calendar Work
    #  Start             Title    Place
    7  2027-03-08 14:00  Meeting
    $ etui calendar find 'title:meet*' --explain | head -4
    Calendar:
    filter      summary:"meet"*
    way         few candidates from the index, gathered and sorted
    candidates  0 (the index is exact here)
    $ etui calendar find 'title:meet*' --explain --json
    {"filter":"summary:\"meet\"*","way":"gather","entries":6,"candidates":0,"exact":true,"pending":1,"compared":1,"passed":0,"rows":0,"calendar":"Calendar"}
    {"filter":"summary:\"meet\"*","way":"gather","entries":1,"candidates":0,"exact":true,"pending":1,"compared":1,"passed":0,"rows":1,"calendar":"Work"}
    $ etui calendar find '*' --at 6 --limit 1 --explain | grep answer
    answer      6
    answer      1
    $ etui calendar calendars
    Entries  Calendar
          6  Calendar
          1  Work
    $ etui calendar calendars --json
    {"name":"Calendar","entries":6}
    {"name":"Work","entries":1}
    $ etui calendar calendars --create Work
    error: a calendar named "Work" exists already
    [exit 1]
    "#);
}

#[test]
fn calendars_are_renamed_removed_and_brought_back() {
    let place = with_calendar();
    session!(place, [
        "etui calendar calendars --remove Calendar --yes",
        "etui calendar calendars --create Work",
        "etui calendar calendars --rename Work 'Old job'",
        "etui calendar calendars --rename 'Old job' Calendar",
        "etui calendar calendars --remove 'Old job'",
        "etui calendar calendars --remove Calendar",
        "etui calendar calendars --restore 'Old job'",
        "etui calendar calendars --remove Calendar --json",
        "etui calendar calendars --remove Calendar -y",
        "etui calendar calendars",
        "etui calendar show 1",
        "etui calendar calendars --restore Cal",
        "etui calendar calendars --create Calendar",
        "etui calendar calendars --restore Calendar",
        "etui calendar calendars --rename Calendar Second",
        "etui calendar calendars --restore Calendar --json",
        "etui calendar calendars --rename Calendar",
        "etui check",
    ], @r#"
    $ etui calendar calendars --remove Calendar --yes
    error: "Calendar" is the only calendar, and stays; make another one first, or rename it
    [exit 3]
    $ etui calendar calendars --create Work
    Made a calendar: Work (use it with --calendar Work)
    $ etui calendar calendars --rename Work 'Old job'
    Renamed the calendar Work: it is Old job now
    $ etui calendar calendars --rename 'Old job' Calendar
    error: a calendar named "Calendar" exists already
    [exit 1]
    $ etui calendar calendars --remove 'Old job'
    Removed the calendar Old job: 0 entries
    Bring back, within 30 days: etui calendar calendars --restore 'Old job'
    $ etui calendar calendars --remove Calendar
    error: "Calendar" is the only calendar, and stays; make another one first, or rename it
    [exit 3]
    $ etui calendar calendars --restore 'Old job'
    Brought back the calendar Old job: 0 entries
    $ etui calendar calendars --remove Calendar --json
    {"error":{"kind":"usage","message":"the calendar Calendar is not empty: 6 entries; to remove it all the same, add --yes"}}
    [exit 2]
    $ etui calendar calendars --remove Calendar -y
    Removed the calendar Calendar: 6 entries
    Bring back, within 30 days: etui calendar calendars --restore Calendar
    $ etui calendar calendars
    Entries  Calendar
          0  Old job
    $ etui calendar show 1
    error: there is no entry number 1; `etui calendar list` tells the numbers
    [exit 4]
    $ etui calendar calendars --restore Cal
    error: no calendar named "Cal" was removed (these were: Calendar)
    [exit 4]
    $ etui calendar calendars --create Calendar
    Made a calendar: Calendar (use it with --calendar Calendar)
    $ etui calendar calendars --restore Calendar
    error: a calendar named "Calendar" exists already; give that one another name first: etui calendar calendars --rename Calendar NAME
    [exit 1]
    $ etui calendar calendars --rename Calendar Second
    Renamed the calendar Calendar: it is Second now
    $ etui calendar calendars --restore Calendar --json
    {"name":"Calendar","entries":6}
    $ etui calendar calendars --rename Calendar
    error: 2 values required for '--rename <OLD> <NEW>' but 1 was provided

    Usage: etui calendar calendars [OPTIONS]

    For more information, try '--help'.
    [exit 2]
    $ etui check
    All is well: 0 contacts, 6 calendar entries, 0 in the trash.
    "#);
}

#[test]
fn files_of_both_kinds() {
    let place = Place::new();
    std::fs::write(place.path("week.ics"), CALENDAR).unwrap();
    session!(place, [
        "etui import people.vcf week.ics",
        "cat week.ics | etui import -",
        "etui import --calendar Home week.ics",
        "etui import --calendar 'My work' people.vcf -q; etui import --calendar 'My work' people.vcf",
        "etui import --book Friends week.ics",
        "(cat week.ics; echo lost) | etui import - --json",
        "etui export --calendar Calendar | cmp - week.ics && echo same",
        "etui export --calendar Calendar kind:todo -o todo.ics; cat todo.ics",
        "etui export --calendar Calendar zz",
        "etui export --calendar Calendar tax --json",
        "etui check; etui stats | grep -e Cal -e book",
        "etui generate --calendar 3 --years 2 | grep -c BEGIN:V",
        "etui generate --calendar 20 -o made.ics && etui import made.ics",
    ], @r#"
    $ etui import people.vcf week.ics
    people.vcf: 4 added (590 bytes)
    week.ics: 6 added (1.4 kB)
    Together: 10 added, 0 changed, 0 unchanged, 0 refused
    $ cat week.ics | etui import -
    -: 0 added, 6 unchanged (1.4 kB)
    $ etui import --calendar Home week.ics
    error: there is no calendar named "Home" (there are: Calendar); make it: etui calendar calendars --create Home
    [exit 4]
    $ etui import --calendar 'My work' people.vcf -q; etui import --calendar 'My work' people.vcf
    --calendar 'My work' is not used: no calendar was given
    people.vcf: 0 added, 4 unchanged (590 bytes)
    $ etui import --book Friends week.ics
    --book Friends is not used: no contacts were given
    week.ics: 0 added, 6 unchanged (1.4 kB)
    $ (cat week.ics; echo lost) | etui import - --json
    {"added":0,"changed":0,"unchanged":6,"refused":1,"files":[{"file":"-","holds":"calendar","bytes":1375,"added":0,"changed":0,"unchanged":6,"refused":1,"refusals":[{"line":63,"last_line":63,"reason":"this text belongs to no record; remove it, or put BEGIN and END lines around it","excerpt":"lost"}],"warned":0,"warnings":[]}]}
    {"error":{"kind":"refused","message":"1 piece was refused; the rest went in"}}
    [exit 3]
    $ etui export --calendar Calendar | cmp - week.ics && echo same
    same
    $ etui export --calendar Calendar kind:todo -o todo.ics; cat todo.ics
    Wrote 1 entry to todo.ics
    BEGIN:VCALENDAR\r
    VERSION:2.0\r
    PRODID:-//example//EN\r
    BEGIN:VTODO\r
    UID:tax\r
    DUE;VALUE=DATE:20270312\r
    SUMMARY:Tax return\r
    PRIORITY:1\r
    DESCRIPTION:not again\, please\nreally\r
    END:VTODO\r
    END:VCALENDAR\r
    $ etui export --calendar Calendar zz
    error: nothing found for: zz
    [exit 4]
    $ etui export --calendar Calendar tax --json
    {"id":10,"uid":"tax","etag":"11d287a4ffbc17b2fe7552884f315dda","kind":"todo","title":"Tax return","place":null,"notes":"not again, please\nreally","start":null,"end":null,"due":"2027-03-12","duration":null,"all_day":false,"zone":null,"rules":[],"dates":[],"except_dates":[],"instance":null,"and_future":false,"status":null,"class":"public","transparent":false,"categories":[],"priority":1,"percent":null,"completed":null,"url":null,"organizer":null,"attendees":[],"alarms":[],"changes":[]}
    $ etui check; etui stats | grep -e Cal -e book
    All is well: 4 contacts, 6 calendar entries, 0 in the trash.
    Address book    Contacts: 4 contacts
    Calendar        Calendar: 6 entries
    $ etui generate --calendar 3 --years 2 | grep -c BEGIN:V
    7
    $ etui generate --calendar 20 -o made.ics && etui import made.ics
    Wrote 20 made-up entries to made.ics (6.5 kB)
    made.ics: 20 added (6.5 kB)
    "#);
}

#[test]
fn all_calendars_go_out_in_one_file() {
    let place = with_calendar();
    session!(place, [
        "etui export --calendars | cmp - week.ics && echo same",
        "etui -q calendar calendars --create Work; etui export --calendars | cmp - week.ics && echo same",
        "printf 'BEGIN:VCALENDAR\nBEGIN:VTODO\nUID:ink\nSUMMARY:Ink\nEND:VTODO\nEND:VCALENDAR' > work.ics; \
         etui import --calendar Work work.ics",
        "etui export --calendars -o all.ics; cat week.ics work.ics | cmp - all.ics && echo same",
        "etui export --calendars kind:todo | grep -c BEGIN:VTODO",
        "etui export --calendars kind:todo --json | cut -c 1-20",
        "etui export --calendars nowhere",
        "etui export --calendars --calendar Work",
        "etui export --calendars --book Contacts",
        "etui calendar show ink | grep Calendar",
        "etui --store empty.etui -q init; etui --store empty.etui export --calendars",
    ], @r#"
    $ etui export --calendars | cmp - week.ics && echo same
    same
    $ etui -q calendar calendars --create Work; etui export --calendars | cmp - week.ics && echo same
    same
    $ printf 'BEGIN:VCALENDAR
    BEGIN:VTODO
    UID:ink
    SUMMARY:Ink
    END:VTODO
    END:VCALENDAR' > work.ics; etui import --calendar Work work.ics
    work.ics: 1 added (71 bytes)
    $ etui export --calendars -o all.ics; cat week.ics work.ics | cmp - all.ics && echo same
    Wrote 7 entries to all.ics
    same
    $ etui export --calendars kind:todo | grep -c BEGIN:VTODO
    2
    $ etui export --calendars kind:todo --json | cut -c 1-20
    {"id":6,"uid":"tax",
    {"id":7,"uid":"ink",
    $ etui export --calendars nowhere
    error: nothing found for: nowhere
    [exit 4]
    $ etui export --calendars --calendar Work
    error: the argument '--calendars' cannot be used with '--calendar <NAME>'

    Usage: etui export --calendars [FILTER]...

    For more information, try '--help'.
    [exit 2]
    $ etui export --calendars --book Contacts
    error: the argument '--calendars' cannot be used with '--book <NAME>'

    Usage: etui export --calendars [FILTER]...

    For more information, try '--help'.
    [exit 2]
    $ etui calendar show ink | grep Calendar
      Calendar   Work
      iCalendar  to-do, 42 bytes
    $ etui --store empty.etui -q init; etui --store empty.etui export --calendars
    BEGIN:VCALENDAR\r
    VERSION:2.0\r
    PRODID:-//etui//etui//EN\r
    END:VCALENDAR\r
    "#);
}

#[test]
fn changes_are_told_as_they_happen() {
    let place = with_calendar();
    session!(place, [
        ": > out; etui calendar watch --initial kind:todo > out 2> err & \
         while [ $(wc -l < out) -lt 1 ]; do sleep 0.05; done; \
         etui -q calendar add Milk --todo --set uid=milk; \
         while [ $(wc -l < out) -lt 2 ]; do sleep 0.05; done; \
         etui -q calendar edit milk --notes 'no fat'; \
         while [ $(wc -l < out) -lt 3 ]; do sleep 0.05; done; \
         kill $!; wait $!; sed 's/^[0-9:]*Z/TIME/' out",
    ], @"
    $ : > out; etui calendar watch --initial kind:todo > out 2> err & while [ $(wc -l < out) -lt 1 ]; do sleep 0.05; done; etui -q calendar add Milk --todo --set uid=milk; while [ $(wc -l < out) -lt 2 ]; do sleep 0.05; done; etui -q calendar edit milk --notes 'no fat'; while [ $(wc -l < out) -lt 3 ]; do sleep 0.05; done; kill $!; wait $!; sed 's/^[0-9:]*Z/TIME/' out
    TIME = 6 Tax return
    TIME + 7 Milk
    TIME ~ 7 Milk: notes
    ");
}
