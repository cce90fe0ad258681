//! What is on: days, lists, one entry, time that is taken.

use super::with_calendar;
use crate::harness::{TestHome, session};

#[test]
fn the_agenda_tells_day_by_day() {
    let home = with_calendar();
    session!(home, [
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
    Only the first 2 are shown; use --limit for more
    $ etui --color always calendar agenda 2027-03-12
    \e[1mFriday, 12 March 2027\e[0m
          all day  Fair\e[2m (day 3 of 3)\e[0m\e[2m  Leipzig\e[0m\e[2m  #3\e[0m
          all day  [ ] Tax return\e[2m  #6\e[0m
      13:00-14:00  \e[9mEve [31mTrouble2J\e[0m\e[2m (cancelled)\e[0m\e[2m  #5\e[0m
    $ etui calendar agenda 2027-03-11 --json
    {"calendar":"Calendar","id":3,"kind":"event","title":"Fair","place":"Leipzig","start":"2027-03-10","end":"2027-03-13","all_day":true,"zone":null,"instance":null,"status":null,"transparent":true,"color":null}
    {"calendar":"Calendar","id":1,"kind":"event","title":"Jour fixe, later","place":"","start":"2027-03-11T11:00:00+01:00","end":"2027-03-11T11:45:00+01:00","all_day":false,"zone":"Europe/Berlin","instance":"2027-03-11T09:00:00+01:00","status":null,"transparent":false,"color":null}
    "#);
}

#[test]
fn days_that_are_not_understood() {
    let home = with_calendar();
    session!(home, [
        "etui calendar agenda someday",
        "etui calendar agenda --from someday",
        "etui calendar agenda --from 2027-03-09 --to 2027-03-08",
        "etui calendar agenda --zone Mars",
        "etui calendar agenda today --from tomorrow",
        "etui calendar agenda --calendar Work",
        "etui calendar agenda today --store none.etui",
    ], @r#"
    $ etui calendar agenda someday
    error: "someday" is not a period; write today, tomorrow, week, next week, weekend, month, year, monday, 2026-12-24, 2026-12 or 2026, or use --from and --to
    [exit 2]
    $ etui calendar agenda --from someday
    error: --from someday: "someday" is not a day or time; write 2026-12-24, 2026-12-24T18:30, 18:30, today, tomorrow, monday, +3d, or a day and a time: "tomorrow 9:00"
    [exit 2]
    $ etui calendar agenda --from 2027-03-09 --to 2027-03-08
    error: the end is not after the start
    [exit 2]
    $ etui calendar agenda --zone Mars
    error: invalid value 'Mars' for '--zone <ZONE>': unknown time zone; use a name like Europe/Berlin, or UTC

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
    let home = TestHome::new();
    let (text, code) = home.run(
        "etui -q calendar add Now --start \"$(date +%F) 00:00\" --duration 1h; \
         etui calendar agenda | head -2 | sed -e \"s/$(date +'%A, %-d %B %Y')/DAY/\"",
    );
    assert_eq!(text, "DAY, today\n  00:00-01:00  Now  #1\n");
    assert_eq!(code, Some(0));
}

#[test]
fn show_tells_everything() {
    let home = with_calendar();
    session!(home, [
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
      When        Wed 10 Mar 2027, 15:00-15:30 (America/New_York)
      Local time  Wed 10 Mar 2027, 21:00-21:30 (Europe/Berlin)
      Status      tentative
      iCalendar   event, 150 bytes
      UID         call
      ETag        cf41219aac5765037e8056ecd156e990
      #           4

    Fair
      When       Wed 10 Mar 2027 to Fri 12 Mar 2027, all day
      Where      Leipzig
      Time       shown as free
      iCalendar  event, 144 bytes
      UID        fair
      ETag       7f978fde99193b2b0ce47c8fce29bdc0
      #          3

    Tax return
      Due        Fri 12 Mar 2027
      Priority   1 of 9 (1 is highest)
      Notes      not again, please
                 really
      iCalendar  to-do, 130 bytes
      UID        tax
      ETag       11d287a4ffbc17b2fe7552884f315dda
      #          6
    $ etui calendar show eve
    Eve [31mTrouble2J
      When        Fri 12 Mar 2027, 12:00-13:00 (UTC)
      Local time  Fri 12 Mar 2027, 13:00-14:00 (Europe/Berlin)
      Status      cancelled
      iCalendar   event, 133 bytes
      UID         eve
      ETag        971f9aef83ee5e03baa1883746f4b888
      #           5
    $ etui calendar show jour --ics | head -3
    BEGIN:VEVENT\r
    UID:fixe\r
    DTSTART;TZID=Europe/Berlin:20270308T090000\r
    $ etui calendar show title:* 2>&1 | tail -2
    5  2027-03-12 13:00  Eve [31mTrouble2J (cancelled)
    error: 6 entries match; select one: etui calendar show NUMBER
    $ etui calendar show 99
    error: there is no entry number 99; `etui calendar list` lists the numbers
    [exit 4]
    $ etui calendar show call --json
    {"id":4,"uid":"call","etag":"cf41219aac5765037e8056ecd156e990","kind":"event","title":"Call with 山田 太郎","place":null,"notes":null,"start":"2027-03-10T21:00:00+01:00","end":null,"due":null,"duration":"PT30M","all_day":false,"zone":"America/New_York","rules":[],"dates":[],"exception_dates":[],"instance":null,"this_and_future":false,"status":"tentative","class":"public","transparent":false,"categories":[],"priority":null,"percent":null,"completed":null,"url":null,"organizer":null,"attendees":[],"alarms":[],"changes":[]}
    "#);
}

#[test]
fn lists_are_in_order_and_findable() {
    let home = with_calendar();
    session!(home, [
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
    #  Start             Title                          Place
    1  2027-03-08 09:00  Jour fixe                      Room 4
    2  2027-03-09 22:00  Night shift
    3  2027-03-10        Fair                           Leipzig
    4  2027-03-10 21:00  Call with 山田 太郎
    6  2027-03-12        Tax return
    5  2027-03-12 13:00  Eve [31mTrouble2J (cancelled)
    $ etui calendar list --sort -start --limit 2
    #  Start             Title                          Place
    5  2027-03-12 13:00  Eve [31mTrouble2J (cancelled)
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
    error: no entry matches: nowhere
    [exit 4]
    $ etui calendar find kind:event --count
    5
    $ etui calendar find tax --json
    {"id":6,"kind":"todo","title":"Tax return","place":"","start":"2027-03-12","end":"2027-03-13","all_day":true,"status":null,"calendar":"Calendar"}
    $ etui calendar find tax --fields uid,start,kind,record --json
    {"uid":"tax","start":"2027-03-12","kind":"todo","record":"BEGIN:VTODO\r\nUID:tax\r\nDUE;VALUE=DATE:20270312\r\nSUMMARY:Tax return\r\nPRIORITY:1\r\nDESCRIPTION:not again\\, please\\nreally\r\nEND:VTODO\r\n"}
    $ etui calendar find 'name:x'
    error: in the filter, at character 1: there is no field "name"; fields are any, summary, title, place, location, notes, description, category, label, kind, status, due, uid (quote a text with ":")
    [exit 2]
    $ etui calendar list --limit 1 --json | sed 's/1\.[0-9a-f]*/PLACE/'
    {"id":1,"kind":"event","title":"Jour fixe","place":"Room 4","start":"2027-03-08T09:00:00+01:00","end":"2027-03-08T09:45:00+01:00","all_day":false,"status":null,"calendar":"Calendar","next":"PLACE"}
    $ etui calendar find category:work --explain | head -2
    filter       category:"work"
    access path  index lookup
    "#);
}

#[test]
fn time_that_is_taken() {
    let home = with_calendar();
    session!(home, [
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
    No alarms.
    "#);
}

#[test]
fn conferences_and_attachments_are_shown() {
    let home = TestHome::new();
    let text = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:c\r\nDTSTART:20270308T090000Z\r\n\
        SUMMARY:Call\r\nURL:https://example.org/call\r\n\
        CONFERENCE;VALUE=URI;FEATURE=AUDIO,VIDEO;LABEL=Join the call:https://meet.example.org/a\r\n\
        CONFERENCE;VALUE=URI;FEATURE=PHONE:tel:+1-202-555-0143\r\n\
        X-GOOGLE-CONFERENCE:https://meet.example.org/abc-defg\r\n\
        ATTACH;FILENAME=agenda.pdf;FMTTYPE=application/pdf:https://example.org/agenda.pdf\r\n\
        ATTACH;VALUE=BINARY;ENCODING=BASE64;X-FILENAME=a.txt:aGVsbG8gd29ybGQ=\r\n\
        BEGIN:VALARM\r\nACTION:AUDIO\r\nATTACH:ftp://example.org/sound\r\nTRIGGER:-PT5M\r\nEND:VALARM\r\n\
        END:VEVENT\r\nEND:VCALENDAR\r\n";
    std::fs::write(home.path("call.ics"), text).unwrap();
    session!(home, [
        "etui -q import call.ics",
        "etui calendar show c | grep -v -e Next -e ETag",
    ], @"
    $ etui -q import call.ics
    $ etui calendar show c | grep -v -e Next -e ETag
    Call
      When        Mon 8 Mar 2027, 09:00 (UTC)
      Local time  Mon 8 Mar 2027, 10:00 (Europe/Berlin)
      Alarm       5 minutes before the start
      Web         https://example.org/call
      Conference  https://meet.example.org/a  (Join the call)
      Conference  tel:+1-202-555-0143
      Conference  https://meet.example.org/abc-defg
      Attachment  https://example.org/agenda.pdf  (agenda.pdf, application/pdf)
      Attachment  11 bytes  (a.txt)
      iCalendar   event, 544 bytes
      UID         c
      #           1
    ");
}

#[test]
fn the_next_occurrence_is_one_line() {
    let home = TestHome::new();
    session!(home, [
        "etui -q calendar add Dentist --start '2090-03-08 16:00' --duration 30m --place 'Room 4'",
        "etui -q calendar add 'Dentist: the children' --start 2091-01-02",
        "etui -q calendar add 'Old dentist' --start '2001-03-08 16:00'",
        "etui calendar find dentist --next",
        "etui calendar find dentist --next --zone America/New_York",
        "etui calendar find dentst children --next",
        "etui calendar find dentist --next --json",
        "etui calendar find old --next",
        "etui calendar find nothing --next",
        "etui calendar find dentist --next --count",
    ], @r#"
    $ etui -q calendar add Dentist --start '2090-03-08 16:00' --duration 30m --place 'Room 4'
    $ etui -q calendar add 'Dentist: the children' --start 2091-01-02
    $ etui -q calendar add 'Old dentist' --start '2001-03-08 16:00'
    $ etui calendar find dentist --next
    Wed 8 Mar 2090, 16:00-16:30  Dentist  Room 4  #1
    $ etui calendar find dentist --next --zone America/New_York
    Wed 8 Mar 2090, 10:00-10:30  Dentist  Room 4  #1
    $ etui calendar find dentst children --next
    nothing for "dentst"; showing results for "dentist"
    Tue 2 Jan 2091, all day  Dentist: the children  #2
    $ etui calendar find dentist --next --json
    {"calendar":"Calendar","id":1,"kind":"event","title":"Dentist","place":"Room 4","start":"2090-03-08T16:00:00+01:00","end":"2090-03-08T16:30:00+01:00","all_day":false,"zone":"Europe/Berlin","instance":null,"status":null,"transparent":false,"color":null}
    $ etui calendar find old --next
    error: the matching entries have no occurrence from now on; without --next they are listed
    [exit 4]
    $ etui calendar find nothing --next
    error: no entry matches: nothing
    [exit 4]
    $ etui calendar find dentist --next --count
    error: the argument '--next' cannot be used with '--count'

    Usage: etui calendar find --next <FILTER>...

    For more information, try '--help'.
    [exit 2]
    "#);
}

#[test]
fn periods_in_words() {
    let home = TestHome::new();
    home.run("etui -q init; etui calendars -q create Work");
    session!(home, [
        "etui calendar agenda tommorow",
        "etui calendar agenda next wekend",
        "etui calendar agenda next weekend | sed 's/ [0-9].* to/ ... to/; s/[0-9].*$/.../'",
        "etui calendars list",
        "etui addressbooks ls",
    ], @r#"
    $ etui calendar agenda tommorow
    error: "tommorow" is not a period; did you mean tomorrow? Write today, tomorrow, week, next week, weekend, month, year, monday, 2026-12-24, 2026-12 or 2026, or use --from and --to
    [exit 2]
    $ etui calendar agenda next wekend
    error: "next wekend" is not a period; did you mean next weekend? Write today, tomorrow, week, next week, weekend, month, year, monday, 2026-12-24, 2026-12 or 2026, or use --from and --to
    [exit 2]
    $ etui calendar agenda next weekend | sed 's/ [0-9].* to/ ... to/; s/[0-9].*$/.../'
    Nothing from Sat ... to Sun ...
    $ etui calendars list
    Entries  Calendar
          0  Calendar
          0  Work
    $ etui addressbooks ls
    Contacts  Address book
           0  Contacts
    "#);
}
