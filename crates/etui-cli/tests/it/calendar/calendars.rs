//! Several calendars: made, renamed, removed, brought back; in and out of files.

use super::{CALENDAR, with_calendar};
use crate::harness::{TestHome, session};

#[test]
fn several_calendars() {
    let home = with_calendar();
    session!(home, [
        "etui calendars create Work",
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
        "etui calendar find '*' --at 6 --limit 1 --explain | grep rows",
        "etui calendars",
        "etui calendars --json",
        "etui calendars create Work",
    ], @r#"
    $ etui calendars create Work
    Created the calendar Work (use it with --calendar Work)
    $ etui calendar add Meeting --start '2027-03-08 14:00' --calendar Work --set uid=m
    Added 7: Meeting
      Mon 8 Mar 2027, 14:00-15:00
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
    error: 2 entries match; select one: etui calendar show NUMBER
    [exit 2]
    $ etui calendar show meeting --calendar Calendar
    error: no entry matches: meeting
    [exit 4]
    $ etui calendar remove 1 7
    error: 1 is in Calendar, and 7 in Work; give entries of one calendar at a time
    [exit 2]
    $ etui calendar find meeting --calendar Calendar
    error: no entry matches: meeting
    [exit 4]
    $ etui calendar find '*' --limit 2 --sort -added --json
    {"id":7,"kind":"event","title":"Meeting","place":"","start":"2027-03-08T14:00:00+01:00","end":"2027-03-08T15:00:00+01:00","all_day":false,"status":null,"calendar":"Work","next":null}
    {"id":6,"kind":"todo","title":"Tax return","place":"","start":"2027-03-12","end":"2027-03-13","all_day":true,"status":null,"calendar":"Calendar","next":"6.81ee9994d980"}
    $ etui calendar find '*' --count
    7
    $ etui calendar list --sort -start --limit 3
    #  Start             Title                          Place  Calendar
    5  2027-03-12 13:00  Eve [31mTrouble2J (cancelled)         Calendar
    6  2027-03-12        Tax return                            Calendar
    4  2027-03-10 21:00  Call with 山田 太郎                   Calendar
    $ etui calendar list --calendar Work
    #  Start             Title    Place
    7  2027-03-08 14:00  Meeting
    $ etui calendar find 'title:meet*' --explain | head -4
    Calendar:
    filter       summary:"meet"*
    access path  index lookup
    candidates   0 (exact)
    $ etui calendar find 'title:meet*' --explain --json
    {"filter":"summary:\"meet\"*","access_path":"index_lookup","entries":6,"candidates":0,"exact":true,"pending":1,"rechecked":1,"scanned":0,"rows":0,"calendar":"Calendar"}
    {"filter":"summary:\"meet\"*","access_path":"index_lookup","entries":1,"candidates":0,"exact":true,"pending":1,"rechecked":1,"scanned":0,"rows":1,"calendar":"Work"}
    $ etui calendar find '*' --at 6 --limit 1 --explain | grep rows
    rows         6
    rows         1
    $ etui calendars
    Entries  Calendar
          6  Calendar
          1  Work
    $ etui calendars --json
    {"name":"Calendar","entries":6,"color":null}
    {"name":"Work","entries":1,"color":null}
    $ etui calendars create Work
    error: a calendar named "Work" exists already
    [exit 1]
    "#);
}

#[test]
fn calendars_are_renamed_removed_and_brought_back() {
    let home = with_calendar();
    session!(home, [
        "etui calendars remove Calendar --yes",
        "etui calendars create Work",
        "etui calendars rename Work 'Old job'",
        "etui calendars rename 'Old job' Calendar",
        "etui calendars remove 'Old job'",
        "etui calendars remove Calendar",
        "etui calendars restore 'Old job'",
        "etui calendars remove Calendar --json",
        "etui calendars remove Calendar -y",
        "etui calendars",
        "etui calendar show 1",
        "etui calendars restore Cal",
        "etui calendars create Calendar",
        "etui calendars restore Calendar",
        "etui calendars rename Calendar Second",
        "etui calendars restore Calendar --json",
        "etui calendars rename Calendar",
        "etui check",
    ], @r#"
    $ etui calendars remove Calendar --yes
    error: "Calendar" is the only calendar, and stays; make another one first, or rename it
    [exit 3]
    $ etui calendars create Work
    Created the calendar Work (use it with --calendar Work)
    $ etui calendars rename Work 'Old job'
    Renamed the calendar Work to Old job
    $ etui calendars rename 'Old job' Calendar
    error: a calendar named "Calendar" exists already
    [exit 1]
    $ etui calendars remove 'Old job'
    Removed the calendar Old job: 0 entries
    Restore it within 30 days: etui calendars restore 'Old job'
    $ etui calendars remove Calendar
    error: "Calendar" is the only calendar, and stays; make another one first, or rename it
    [exit 3]
    $ etui calendars restore 'Old job'
    Restored the calendar Old job: 0 entries
    $ etui calendars remove Calendar --json
    {"error":{"kind":"usage","message":"the calendar Calendar is not empty: 6 entries; add --yes to remove it anyway"}}
    [exit 2]
    $ etui calendars remove Calendar -y
    Removed the calendar Calendar: 6 entries
    Restore it within 30 days: etui calendars restore Calendar
    $ etui calendars
    Entries  Calendar
          0  Old job
    $ etui calendar show 1
    error: there is no entry number 1; `etui calendar list` lists the numbers
    [exit 4]
    $ etui calendars restore Cal
    error: no calendar named "Cal" was removed (these were: Calendar)
    [exit 4]
    $ etui calendars create Calendar
    Created the calendar Calendar (use it with --calendar Calendar)
    $ etui calendars restore Calendar
    error: a calendar named "Calendar" already exists; restore this one under another name: etui calendars restore --as NAME Calendar
    [exit 1]
    $ etui calendars rename Calendar Second
    Renamed the calendar Calendar to Second
    $ etui calendars restore Calendar --json
    {"name":"Calendar","entries":6}
    $ etui calendars rename Calendar
    error: the following required arguments were not provided:
      <NEW>

    Usage: etui calendars rename <OLD> <NEW>

    For more information, try '--help'.
    [exit 2]
    $ etui check
    The store is intact: 0 contacts, 6 calendar entries, 0 in the trash.
    "#);
}

#[test]
fn of_several_that_were_removed_each_can_be_brought_back() {
    let home = with_calendar();
    session!(home, [
        "etui calendars removed",
        "etui calendars removed --json",
        "for title in Tea Ink; do etui -q calendars create Work; \
         etui -q calendar add $title --todo --calendar Work; \
         etui calendars remove Work --yes; done",
        "etui -q calendars create Work; etui calendars remove Work --json | \
         sed -E 's/20[0-9T:+-]+/TIME/g'",
        "etui calendars removed | sed -E 's/20[0-9-]+ [0-9:]+/YYYY-MM-DD HH:MM/g'",
        "etui calendars removed --json | tail -1 | \
         sed -E 's/.*\"removed\":\"([^\"]*)\",\"kept_until\":\"([^\"]*)\".*/\\1 \\2/' | { read from to; \
         echo $((($(date -d $to +%s) - $(date -d $from +%s)) / 86400)) days; }",
        "etui calendars restore Work",
        "etui calendars restore Work",
        "etui calendars restore --id 3",
        "etui calendars restore --id 3 --as 'Two words'",
        "etui calendars restore --id 3 --as Three",
        "etui calendars restore Work --as ' '",
        "etui calendars restore Work --as Work --json",
        "etui calendars restore Work --as Home --json",
        "etui calendars restore Work",
        "etui calendars restore",
        "etui calendars restore Work --id 3",
        "etui calendars restore --id three",
        "etui calendars",
        "etui calendar find --calendar Home ink; etui check",
    ], @r#"
    $ etui calendars removed
    There is no removed calendar.
    $ etui calendars removed --json
    $ for title in Tea Ink; do etui -q calendars create Work; etui -q calendar add $title --todo --calendar Work; etui calendars remove Work --yes; done
    Removed the calendar Work: 1 entry
    Restore it within 30 days: etui calendars restore Work
    Removed the calendar Work: 1 entry
    Restore it within 30 days: etui calendars restore Work
    $ etui -q calendars create Work; etui calendars remove Work --json | sed -E 's/20[0-9T:+-]+/TIME/g'
    {"id":5,"name":"Work","entries":0,"removed":"TIME","kept_until":"TIME"}
    $ etui calendars removed | sed -E 's/20[0-9-]+ [0-9:]+/YYYY-MM-DD HH:MM/g'
    #  Removed           Kept until        Entries  Calendar
    5  YYYY-MM-DD HH:MM  YYYY-MM-DD HH:MM        0  Work
    4  YYYY-MM-DD HH:MM  YYYY-MM-DD HH:MM        1  Work
    3  YYYY-MM-DD HH:MM  YYYY-MM-DD HH:MM        1  Work
    $ etui calendars removed --json | tail -1 | sed -E 's/.*"removed":"([^"]*)","kept_until":"([^"]*)".*/\1 \2/' | { read from to; echo $((($(date -d $to +%s) - $(date -d $from +%s)) / 86400)) days; }
    30 days
    $ etui calendars restore Work
    Restored the calendar Work: 0 entries
    Another one of this name was removed earlier: etui calendars removed
    $ etui calendars restore Work
    error: a calendar named "Work" already exists; restore this one under another name: etui calendars restore --as NAME Work
    [exit 1]
    $ etui calendars restore --id 3
    error: a calendar named "Work" already exists; restore this one under another name: etui calendars restore --as NAME --id 3
    [exit 1]
    $ etui calendars restore --id 3 --as 'Two words'
    Restored the calendar Work as Two words: 1 entry
    $ etui calendars restore --id 3 --as Three
    error: no removed calendar has the number 3; `etui calendars removed` lists the numbers
    [exit 4]
    $ etui calendars restore Work --as ' '
    error: " " cannot be the name of a calendar: use 1 to 200 characters, no line breaks or other control characters, and no blanks at the ends
    [exit 2]
    $ etui calendars restore Work --as Work --json
    {"error":{"kind":"exists","message":"a calendar named \"Work\" already exists; restore this one under another name: etui calendars restore --as NAME Work"}}
    [exit 1]
    $ etui calendars restore Work --as Home --json
    {"name":"Home","entries":1}
    $ etui calendars restore Work
    error: no calendar named "Work" was removed
    [exit 4]
    $ etui calendars restore
    error: the following required arguments were not provided:
      <NAME|--id <ID>>

    Usage: etui calendars restore <NAME|--id <ID>>

    For more information, try '--help'.
    [exit 2]
    $ etui calendars restore Work --id 3
    error: the argument '[NAME]' cannot be used with '--id <ID>'

    Usage: etui calendars restore <NAME|--id <ID>>

    For more information, try '--help'.
    [exit 2]
    $ etui calendars restore --id three
    error: --id <ID> takes a whole number, and "three" is none
    [exit 2]
    $ etui calendars
    Entries  Calendar
          6  Calendar
          1  Two words
          1  Home
          0  Work
    $ etui calendar find --calendar Home ink; etui check
    #  Start  Title  Place
    9         Ink
    The store is intact: 0 contacts, 8 calendar entries, 0 in the trash.
    "#);
}

#[test]
fn names_that_look_like_options() {
    let home = with_calendar();
    session!(home, [
        "etui calendars create -x",
        "etui calendars create -- -x",
        "etui calendars rename -- -x --yes",
        "etui calendars rename find -- --json",
        "etui calendars rename -- --yes -find",
        "etui calendar add Tea --todo --calendar=-find --set uid=tea",
        "etui calendar show tea --calendar=-find | head -1",
        "etui calendars remove -- -find",
        "etui calendars remove --yes -- -find",
        "etui calendars restore --as=-y -- -find",
        "etui calendars remove --json -y -- -y | cut -c 1-33",
        "etui calendars create -- -y; etui calendars restore -- -y",
        "etui import --calendar=-z week.ics; etui import --calendar=-z people.vcf",
        "etui calendar find -- -kind:event",
        r#"a="$(printf '\342\200\256a')"; etui calendars create "$a"; etui calendars remove "$a""#,
    ], @r#"
    $ etui calendars create -x
    error: unexpected argument '-x' found

      tip: to pass '-x' as a value, use '-- -x'

    Usage: etui calendars create [OPTIONS] <NAME>

    For more information, try '--help'.
    [exit 2]
    $ etui calendars create -- -x
    Created the calendar -x (use it with --calendar='-x')
    $ etui calendars rename -- -x --yes
    Renamed the calendar -x to --yes
    $ etui calendars rename find -- --json
    error: there is no calendar named "find" (there are: Calendar, --yes)
    [exit 4]
    $ etui calendars rename -- --yes -find
    Renamed the calendar --yes to -find
    $ etui calendar add Tea --todo --calendar=-find --set uid=tea
    Added 7: Tea
    UID tea
    $ etui calendar show tea --calendar=-find | head -1
    Tea
    $ etui calendars remove -- -find
    error: the calendar -find is not empty: 1 entry; add --yes to remove it anyway
    [exit 2]
    $ etui calendars remove --yes -- -find
    Removed the calendar -find: 1 entry
    Restore it within 30 days: etui calendars restore -- '-find'
    $ etui calendars restore --as=-y -- -find
    Restored the calendar -find as -y: 1 entry
    $ etui calendars remove --json -y -- -y | cut -c 1-33
    {"id":3,"name":"-y","entries":1,"
    $ etui calendars create -- -y; etui calendars restore -- -y
    Created the calendar -y (use it with --calendar='-y')
    error: a calendar named "-y" already exists; restore this one under another name: etui calendars restore --as NAME -- '-y'
    [exit 1]
    $ etui import --calendar=-z week.ics; etui import --calendar=-z people.vcf
    error: there is no calendar named "-z" (there are: Calendar, -y); create it: etui calendars create -- '-z'
    --calendar='-z' has no effect: no calendar was given
    people.vcf: 4 added (590 bytes)
    $ etui calendar find -- -kind:event
    #  Start       Title       Place  Calendar
    6  2027-03-12  Tax return         Calendar
    $ a="$(printf '\342\200\256a')"; etui calendars create "$a"; etui calendars remove "$a"
    Created the calendar \u{202e}a (use it with --calendar $'\u202ea')
    Removed the calendar \u{202e}a: 0 entries
    Restore it within 30 days: etui calendars restore $'\u202ea'
    "#);
}

#[test]
fn what_is_removed_is_what_was_asked_about() {
    let home = with_calendar();
    // Something comes in while the question is open.
    let asking = |answer: &str, meanwhile: &str| {
        let (text, code) = home.run(&format!(
            "export NO_COLOR=1; : > asked; \
             (wait_until grep -q 'y/N' asked; {meanwhile}; echo {answer}) | \
             script -qec 'etui calendars remove Calendar' /dev/null > asked; \
             code=$?; tr -d '\\r' < asked; exit $code"
        ));
        format!("{text}[exit {}]\n", code.unwrap_or(-1))
    };
    home.run("etui calendars create Work");
    let told = [
        asking("y", "etui -q calendar add Ink --todo --calendar Calendar"),
        asking("n", "true"),
        asking("y", "true"),
    ];
    insta::assert_snapshot!(told.concat(), @r#"
    The calendar Calendar is not empty: 6 entries. Remove it? [y/N] y
    error: the calendar "Calendar" was changed meanwhile: it has 7 records now; nothing was removed
    [exit 5]
    The calendar Calendar is not empty: 7 entries. Remove it? [y/N] n
    Nothing was removed.
    [exit 0]
    The calendar Calendar is not empty: 7 entries. Remove it? [y/N] y
    Removed the calendar Calendar: 7 entries
    Restore it within 30 days: etui calendars restore Calendar
    [exit 0]
    "#);
}

#[test]
fn what_was_removed_on_a_narrow_screen() {
    let home = with_calendar();
    home.run(
        "etui -q calendars create 'A quite long name'; \
         etui -q calendars remove -y Calendar",
    );
    let shown = |columns: u32| {
        let (text, _) = home.run(&format!(
            "export NO_COLOR=1; script -qec 'stty cols {columns}; etui calendars removed' \
             /dev/null < /dev/null | tr -d '\\r' | sed -E 's/20[0-9]{{2}}(-[0-9]{{2}}){{2}}/YYYY-MM-DD/g; \
             s/[0-9]{{2}}:[0-9]{{2}}/HH:MM/g'"
        ));
        text
    };
    insta::assert_snapshot!(shown(40) + &shown(80), @"
    #  Removed     Entries  Calendar
    2  YYYY-MM-DD        6  Calendar
    #  Removed           Kept until        Entries  Calendar
    2  YYYY-MM-DD HH:MM  YYYY-MM-DD HH:MM        6  Calendar
    ");
}

#[test]
fn files_of_both_kinds() {
    let home = TestHome::new();
    std::fs::write(home.path("week.ics"), CALENDAR).unwrap();
    session!(home, [
        "etui import people.vcf week.ics",
        "cat week.ics | etui import -",
        "etui import --calendar Home week.ics",
        "etui import --calendar 'My work' people.vcf -q; etui import --calendar 'My work' people.vcf",
        "etui import --addressbook Friends week.ics",
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
    Total: 10 added, 0 changed, 0 unchanged, 0 rejected
    Created a store: ~/.local/share/etui/personal.etui
    Sort order: und; region of phone numbers without a country code: none (change it: etui settings region CODE)
    $ cat week.ics | etui import -
    -: 0 added, 6 unchanged (1.4 kB)
    $ etui import --calendar Home week.ics
    error: there is no calendar named "Home" (there are: Calendar); create it: etui calendars create Home
    [exit 4]
    $ etui import --calendar 'My work' people.vcf -q; etui import --calendar 'My work' people.vcf
    --calendar 'My work' has no effect: no calendar was given
    people.vcf: 0 added, 4 unchanged (590 bytes)
    $ etui import --addressbook Friends week.ics
    --addressbook Friends has no effect: no contacts were given
    week.ics: 0 added, 6 unchanged (1.4 kB)
    $ (cat week.ics; echo lost) | etui import - --json
    {"added":0,"changed":0,"unchanged":6,"older":0,"proposals":0,"refused":1,"removed":0,"files":[{"file":"-","kind":"calendar","calendar":"Calendar","bytes":1375,"added":0,"changed":0,"unchanged":6,"older":0,"proposals":0,"refused":1,"removed":0,"refusals":[{"line":63,"last_line":63,"reason":"this text belongs to no record; remove it, or put BEGIN and END lines around it","excerpt":"lost"}],"warned":0,"warnings":[],"charset":null,"kept":[],"skipped":[]}],"unread":[]}
    {"error":{"kind":"refused","message":"1 piece was rejected; the rest was imported"}}
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
    error: no entry matches: zz
    [exit 4]
    $ etui export --calendar Calendar tax --json
    {"id":10,"uid":"tax","etag":"11d287a4ffbc17b2fe7552884f315dda","kind":"todo","title":"Tax return","place":null,"notes":"not again, please\nreally","start":null,"end":null,"due":"2027-03-12","duration":null,"all_day":false,"zone":null,"rules":[],"dates":[],"exception_dates":[],"instance":null,"this_and_future":false,"status":null,"class":"public","transparent":false,"categories":[],"priority":1,"percent":null,"completed":null,"url":null,"organizer":null,"attendees":[],"alarms":[],"changes":[]}
    $ etui check; etui stats | grep -e Cal -e book
    The store is intact: 4 contacts, 6 calendar entries, 0 in the trash.
    Address book    Contacts: 4 contacts
    Calendar        Calendar: 6 entries
    $ etui generate --calendar 3 --years 2 | grep -c BEGIN:V
    7
    $ etui generate --calendar 20 -o made.ics && etui import made.ics
    Wrote 20 generated entries to made.ics (6.5 kB)
    made.ics: 20 added (6.5 kB)
    "#);
}

#[test]
fn all_calendars_go_out_in_one_file() {
    let home = with_calendar();
    session!(home, [
        "etui export --calendars | cmp - week.ics && echo same",
        "etui -q calendars create Work; etui export --calendars | cmp - week.ics && echo same",
        "printf 'BEGIN:VCALENDAR\nBEGIN:VTODO\nUID:ink\nSUMMARY:Ink\nEND:VTODO\nEND:VCALENDAR' > work.ics; \
         etui import --calendar Work work.ics",
        "etui export --calendars -o all.ics; cat week.ics work.ics | cmp - all.ics && echo same",
        "etui export --calendars kind:todo | grep -c BEGIN:VTODO",
        "etui export --calendars kind:todo --json | cut -c 1-20",
        "etui export --calendars nowhere",
        "etui export --calendars --calendar Work",
        "etui export --calendars --addressbook Contacts",
        "etui calendar show ink | grep Calendar",
        "etui --store empty.etui -q init; etui --store empty.etui export --calendars",
    ], @r#"
    $ etui export --calendars | cmp - week.ics && echo same
    same
    $ etui -q calendars create Work; etui export --calendars | cmp - week.ics && echo same
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
    error: no entry matches: nowhere
    [exit 4]
    $ etui export --calendars --calendar Work
    error: the argument '--calendars' cannot be used with '--calendar <NAME>'

    Usage: etui export --calendars [FILTER]...

    For more information, try '--help'.
    [exit 2]
    $ etui export --calendars --addressbook Contacts
    error: the argument '--calendars' cannot be used with '--addressbook <NAME>'

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

/// Each object has its own properties: name, colour, PRODID.
#[test]
fn calendars_keep_their_properties() {
    let home = TestHome::new();
    for (file, properties, uid) in [
        (
            "work.ics",
            "PRODID:-//one//EN\r\nX-WR-CALNAME:Work\\, mine\r\nX-WR-TIMEZONE:Europe/Berlin",
            "a",
        ),
        (
            "club.ics",
            "PRODID:-//two//EN\r\nNAME:Club\r\nCOLOR:teal\r\nX-APPLE-CALENDAR-COLOR:#1BADF8",
            "b",
        ),
        ("plain.ics", "PRODID:-//three//EN", "c"),
    ] {
        let text = format!(
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{properties}\r\nBEGIN:VEVENT\r\nUID:{uid}\r\n\
             DTSTART:20270308T090000Z\r\nSUMMARY:{uid}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
        );
        std::fs::write(home.path(file), text).unwrap();
    }
    session!(home, [
        "etui import work.ics club.ics plain.ics",
        "etui export --calendars | cmp - work.ics 2>&1 | head -1",
        "cat work.ics club.ics plain.ics > all.ics; etui export --calendars | cmp - all.ics && echo same",
        "export ETUI_STORE=each.etui; etui import --each work.ics club.ics plain.ics work.ics",
        "export ETUI_STORE=each.etui; etui import --each work.ics club.ics plain.ics --json | cut -c1-160",
        "export ETUI_STORE=each.etui; etui calendars",
        "export ETUI_STORE=each.etui; etui export --calendar Club | cmp - club.ics && echo same",
        "etui import --each --calendar Work work.ics 2>&1 | head -1",
    ], @r#"
    $ etui import work.ics club.ics plain.ics
    work.ics: 1 added (189 bytes)
    club.ics: 1 added (189 bytes)
    plain.ics: 1 added (136 bytes)
    Total: 3 added, 0 changed, 0 unchanged, 0 rejected
    Created a store: ~/.local/share/etui/personal.etui
    Sort order: und; region of phone numbers without a country code: none (change it: etui settings region CODE)
    $ etui export --calendars | cmp - work.ics 2>&1 | head -1
    cmp: EOF on work.ics after byte 189, line 11
    $ cat work.ics club.ics plain.ics > all.ics; etui export --calendars | cmp - all.ics && echo same
    same
    $ export ETUI_STORE=each.etui; etui import --each work.ics club.ics plain.ics work.ics
    work.ics: 1 added (189 bytes), in the calendar Work, mine
    club.ics: 1 added (189 bytes), in the calendar Club
    plain.ics: 1 added (136 bytes), in the calendar plain
    work.ics: 1 added (189 bytes), in the calendar Work, mine 2
    Total: 4 added, 0 changed, 0 unchanged, 0 rejected
    Created a store: each.etui
    Sort order: und; region of phone numbers without a country code: none (change it: etui settings region CODE)
    $ export ETUI_STORE=each.etui; etui import --each work.ics club.ics plain.ics --json | cut -c1-160
    {"added":0,"changed":0,"unchanged":3,"older":0,"proposals":0,"refused":0,"removed":0,"files":[{"file":"work.ics","kind":"calendar","calendar":"Work, mine","byte
    $ export ETUI_STORE=each.etui; etui calendars
    Entries  Calendar
          0  Calendar
          1  Work, mine
          1  Club
          1  plain
          1  Work, mine 2
    $ export ETUI_STORE=each.etui; etui export --calendar Club | cmp - club.ics && echo same
    same
    $ etui import --each --calendar Work work.ics 2>&1 | head -1
    error: the argument '--each' cannot be used with '--calendar <NAME>'
    "#);
}

/// Colours of calendars are shown as a dot where there are colours, and given to programs.
#[test]
fn calendars_have_colours() {
    let home = with_calendar();
    let file = |lines: &str| {
        format!(
            "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//example//EN\n{lines}BEGIN:VEVENT\nUID:club\n\
             DTSTART;TZID=Europe/Berlin:20270308T193000\nSUMMARY:Club\nEND:VEVENT\nEND:VCALENDAR\n"
        )
    };
    let apple = "X-WR-CALNAME:Club\nCOLOR:teal\nX-APPLE-CALENDAR-COLOR:#FF2968FF\n";
    std::fs::write(home.path("club.ics"), file(apple)).unwrap();
    std::fs::write(home.path("red.ics"), file("COLOR:red\n")).unwrap();
    session!(home, [
        "etui -q import --each club.ics",
        "etui calendars",
        "etui --color always calendars",
        "etui calendars --json",
        "etui --color always calendar agenda 2027-03-08",
        "etui calendar agenda 2027-03-08 --json | sed 's/,.id.*transparent/ .../'",
        "etui -q import --calendar Club red.ics; etui calendars color Club",
        "etui calendars create Work",
        "etui -q import --calendar Work red.ics; etui calendars color Work",
        "etui calendars color Calendar Teal",
        "etui --color always calendars colour Calendar",
        "etui calendars rename Calendar Home; etui calendars color Home --json",
        "etui calendars color Home none",
        "etui calendars color Home bleu",
        "etui calendars color Wrok red",
        "etui addressbooks color Contacts red",
        "etui export --calendar Club | grep -a COLOR",
        "etui -q calendars remove Club --yes; etui -q calendars restore Club; etui calendars color Club",
        "etui check",
    ], @r##"
    $ etui -q import --each club.ics
    $ etui calendars
    Entries  Calendar
          6  Calendar
          1  Club
    $ etui --color always calendars
      \e[2mEntries  Calendar\e[0m
            6  Calendar
    \e[38;5;197m● \e[0m      1  Club
    $ etui calendars --json
    {"name":"Calendar","entries":6,"color":null}
    {"name":"Club","entries":1,"color":"#ff2968"}
    $ etui --color always calendar agenda 2027-03-08
    \e[1mMonday, 8 March 2027\e[0m
      09:00-09:45  Jour fixe\e[2m ↻\e[0m\e[2m  Room 4 · Calendar\e[0m\e[2m  #1\e[0m
    \e[38;5;197m● \e[0m      19:30  Club\e[2m  · Club\e[0m\e[2m  #7\e[0m
    $ etui calendar agenda 2027-03-08 --json | sed 's/,.id.*transparent/ .../'
    {"calendar":"Calendar" ...":false,"color":null}
    {"calendar":"Club" ...":false,"color":"#ff2968"}
    $ etui -q import --calendar Club red.ics; etui calendars color Club
    Club: #ff2968
    $ etui calendars create Work
    Created the calendar Work (use it with --calendar Work)
    $ etui -q import --calendar Work red.ics; etui calendars color Work
    Work: #ff0000
    $ etui calendars color Calendar Teal
    Calendar: #008080
    $ etui --color always calendars colour Calendar
    Calendar: \e[38;5;30m● \e[0m#008080
    $ etui calendars rename Calendar Home; etui calendars color Home --json
    Renamed the calendar Calendar to Home
    {"name":"Home","entries":6,"color":"#008080"}
    $ etui calendars color Home none
    Home: no colour
    $ etui calendars color Home bleu
    error: bleu: not a colour; use a name of CSS such as teal, or #008080
    [exit 2]
    $ etui calendars color Wrok red
    error: there is no calendar named "Wrok" (there are: Home, Club, Work)
    [exit 4]
    $ etui addressbooks color Contacts red
    error: an address book has no colour
    [exit 2]
    $ etui export --calendar Club | grep -a COLOR
    COLOR:teal
    X-APPLE-CALENDAR-COLOR:#FF2968FF
    $ etui -q calendars remove Club --yes; etui -q calendars restore Club; etui calendars color Club
    Club: #ff2968
    $ etui check
    The store is intact: 0 contacts, 8 calendar entries, 0 in the trash.
    "##);
}
