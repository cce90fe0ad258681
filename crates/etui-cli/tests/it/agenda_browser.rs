//! The browser of `calendar agenda` and `calendar month` on a pseudo-terminal, and the printed month.

use crate::harness::{TestHome, session};
use crate::terminal::TerminalSession;

/// Two days of March 2031.
fn with_entries() -> TestHome {
    let home = TestHome::new();
    home.run(
        "etui -q init --locale en
        etui -q calendar add Dentist --start '2031-03-10 08:00' --place 'City Hall'
        etui -q calendar add 'Jour fixe' --start '2031-03-10 9:00' --repeat 'weekly for 3 weeks'
        etui -q calendar add 'Lunch with 山田 太郎' --start '2031-03-10 12:30'
        etui -q calendar add Fair --start 2031-03-12 --end 2031-03-14
        etui -q calendar add 'Tax return' --due 2031-03-11",
    );
    home
}

fn agenda(home: &TestHome, size: (u16, u16), args: &[&str], editor: &str) -> TerminalSession {
    TerminalSession::start(home, size, &[&["calendar"], args].concat(), editor)
}

#[test]
fn days_weeks_and_months() {
    let home = with_entries();
    let mut session = agenda(&home, (80, 24), &["agenda"], "true");
    session.sees("Week ");
    session.types(":2031-03-10");
    session.sees("Day  Monday, 10 March 2031");
    session.types("\r");
    session.sees("Week 11, Mon 10 Mar 2031 to Sun 16 Mar 2031");
    insta::assert_snapshot!(session.screen(), @"
    Week 11, Mon 10 Mar 2031 to Sun 16 Mar 2031   Calendar
    Monday, 10 March 2031
    > 08:00-09:00  Dentist  City Hall  #1
      09:00-10:00  Jour fixe ↻  #2
      12:30-13:30  Lunch with 山田 太郎  #3
    Tuesday, 11 March 2031
          all day  [ ] Tax return  #5
    Wednesday, 12 March 2031
          all day  Fair (day 1 of 3)  #4
    Thursday, 13 March 2031
          all day  Fair (day 2 of 3)  #4
    Friday, 14 March 2031
          all day  Fair (day 3 of 3)  #4
    Saturday, 15 March 2031
      nothing
    Sunday, 16 March 2031
      nothing






    ?: keys   Enter: show   a: add   D W M: view   t: today   q: quit
    ");
    session.types("M");
    session.sees(" Mon        Tue");
    insta::assert_snapshot!(session.screen(), @"
    March 2031   Calendar
     Mon        Tue        Wed        Thu        Fri        Sat        Sun
     24         25         26         27         28          1          2

      3          4          5          6          7          8          9

    >10     +2  11         12         13         14         15         16
     Dentist    [ ] Tax …  Fair       Fair       Fair
     17         18         19         20         21         22         23
     Jour fixe
     24         25         26         27         28         29         30
     Jour fixe
     31          1          2          3          4          5          6

    Monday, 10 March 2031
    > 08:00-09:00  Dentist  City Hall  #1
      09:00-10:00  Jour fixe ↻  #2
      12:30-13:30  Lunch with 山田 太郎  #3





    ?: keys   Enter: show   a: add   D W M: view   t: today   q: quit
    ");
    session.resize(40, 12);
    session.wait_until("narrow", |output| output.size() == (12, 40));
    session.types("\x1b[C");
    session.sees("[ ] Tax return");
    insta::assert_snapshot!(session.screen(), @"
    March 2031   Calendar
     Mon  Tue  Wed  Thu  Fri  Sat  Sun
     24   25   26   27   28    1    2
      3    4    5    6    7    8    9
     10•+>11•  12•  13•  14•  15   16
     17•  18   19   20   21   22   23
     24•  25   26   27   28   29   30
     31    1    2    3    4    5    6
    Tuesday, 11 March 2031
    >     all day  [ ] Tax return

    ?: keys   Enter: show   a: add
    ");
    session.resize(80, 24);
    session.types("\r");
    session.sees("Tuesday, 11 March 2031");
    session.types("q");
    session.sees(" Mon        Tue");
    session.types("?");
    session.sees("next friday, 24.12.");
    session.types("qq");
    assert_eq!(session.wait_for_end().code(), Some(0));
}

#[test]
fn entries_are_added_changed_and_removed() {
    let home = with_entries();
    let mut session = agenda(
        &home,
        (80, 24),
        &["agenda", "2031-03-11"],
        "sed -i s/Lunch/Supper/",
    );
    session.sees("Tuesday, 11 March 2031");
    session.sees("[ ] Tax return");
    // A to-do is completed, and opened again.
    session.types(" ");
    session.sees("[x] Tax return");
    session.sees("Done: Tax return");
    session.types("u");
    session.sees("[ ] Tax return");
    // A phrase without a day is on the selected one.
    session.types("aLunch with Bob 12:30");
    session.sees("When   Tue 11 Mar 2031, 12:30-13:30");
    session.types("\r");
    session.sees("Added: Lunch with Bob");
    session.types("E");
    session.sees("Changed: Supper with Bob");
    session.types("dy");
    session.sees("Removed: Supper with Bob");
    session.types("uu");
    session.sees("12:30-13:30  Lunch with Bob");
    session.types("u");
    session.loses("12:30-13:30");
    // A series: one time, or all.
    session.types("Wkkd");
    session.sees("t: this time only");
    session.types("x");
    session.types("/jour\rd");
    session.sees("Remove Jour fixe?");
    session.types("t");
    session.sees("Removed one time of Jour fixe");
    session.types("n");
    session.sees("Mon 17 Mar 2031");
    session.types("da");
    session.sees("Removed: Jour fixe");
    session.types("y");
    session.sees("There is no entry");
    session.types("\x03");
    assert_eq!(session.wait_for_end().code(), Some(0));
    assert_eq!(home.run("etui calendar find jour").1, Some(4));
}

#[test]
fn details_copies_and_changes_of_others() {
    let home = with_entries();
    let mut session = agenda(&home, (80, 24), &["agenda", "2031-03-10"], "true");
    session.sees("Dentist");
    session.types("\r");
    session.sees("City Hall");
    session.types("y");
    session.sees("3: Where City Hall");
    session.types("3");
    session.writes("\x1b]52;c;Q2l0eSBIYWxs");
    home.run("etui -q calendar edit 1 --place 'Room 5'");
    session.sees("Room 5");
    session.types("q");
    home.run("etui -q calendar add Breakfast --start '2031-03-10 07:00'");
    session.sees("07:00-08:00  Breakfast");
    session.types("q");
    assert_eq!(session.wait_for_end().code(), Some(0));
}

#[test]
fn changes_that_are_undone_leave_no_trace() {
    let home = TestHome::new();
    let text = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//example//EN\r\nX-WR-CALNAME:Work\r\n\
        BEGIN:VEVENT\r\nUID:fixe\r\nDTSTAMP:20300101T000000Z\r\nSUMMARY:Jour fixe\r\n\
        DTSTART:20310310T080000Z\r\nRRULE:FREQ=WEEKLY\r\nX-COLOUR;X-A=1:red\r\nEND:VEVENT\r\n\
        BEGIN:VTODO\r\nUID:tax\r\nDTSTAMP:20300101T000000Z\r\nSUMMARY:Tax return\r\n\
        DUE;VALUE=DATE:20310310\r\nEND:VTODO\r\nEND:VCALENDAR\r\n";
    std::fs::write(home.path("work.ics"), text).unwrap();
    home.run("etui -q import work.ics");
    let before = home.run("etui export --calendars").0;
    assert!(before.contains("X-COLOUR"), "{before}");
    let edit = "sed -i s/SUMMARY:/SUMMARY:My\\ /";
    let mut session = agenda(&home, (80, 24), &["agenda", "2031-03-10"], edit);
    session.sees("[ ] Tax return");
    for (keys, done) in [
        (" ", "Done: Tax return"),
        (" ", "Opened: Tax return"),
        ("E", "Changed: My Tax return"),
        ("dy", "Removed: My Tax return"),
        ("E", "Changed: My Jour fixe"),
        ("dt", "Removed one time of My Jour fixe"),
        ("]]]]]]]dt", "Removed one time of My Jour fixe"),
        ("]]]]]]]da", "Removed: My Jour fixe"),
    ] {
        session.types(keys);
        session.sees(done);
    }
    for _ in 0..8 {
        session.types("u");
        session.sees("Undone");
        session.types("t");
        session.loses("Undone");
    }
    session.types("u");
    session.sees("Nothing was changed here");
    assert_eq!(home.run("etui export --calendars").0, before);
    session.types("q");
    assert_eq!(session.wait_for_end().code(), Some(0));
}

#[test]
fn without_colour_there_are_no_styles() {
    let home = with_entries();
    let args = ["agenda", "2031-03-10", "--color", "never"];
    let mut session = agenda(&home, (80, 24), &args, "true");
    session.sees("> 08:00-09:00  Dentist");
    session.types("Mt?q");
    session.sees("*");
    session.types("q");
    // Only the sequences (SGR) that reset styles and colours.
    let raw = session.raw_output();
    for (at, _) in raw.match_indices("\x1b[") {
        let code = raw[at + 2..].split_inclusive(char::is_alphabetic).next();
        let code = code.unwrap_or_default();
        assert!(
            !code.ends_with('m') || ["0m", "39m", "49m", "59m"].contains(&code),
            "{code}"
        );
    }
    assert_eq!(session.wait_for_end().code(), Some(0));
}

#[test]
fn a_month_is_printed() {
    let home = with_entries();
    home.run("etui -q calendar add Second --start '2031-03-10 18:00'; etui -q calendar add Third --start '2031-03-10 19:00'");
    session!(home, [
        "etui calendar month 2031-03",
        "etui settings region US",
        "etui calendar month 2031-02",
        "etui calendar month 2031-03 --json | cut -c1-60",
        "etui calendar agenda 2031-03 --json | wc -l",
        "etui calendar month 2031-13",
    ], @r#"
    $ etui calendar month 2031-03
    March 2031
     Mon        Tue        Wed        Thu        Fri        Sat        Sun
     24         25         26         27         28          1          2

      3          4          5          6          7          8          9

     10     +1  11         12         13         14         15         16
     Dentist    [ ] Tax …  Fair       Fair       Fair
     Jour fixe
     Lunch wi…
     Second
     17         18         19         20         21         22         23
     Jour fixe
     24         25         26         27         28         29         30
     Jour fixe
     31          1          2          3          4          5          6

    $ etui settings region US
    Region: US (before: none)
    $ etui calendar month 2031-02
    February 2031
     Sun        Mon        Tue        Wed        Thu        Fri        Sat
     26         27         28         29         30         31          1

      2          3          4          5          6          7          8

      9         10         11         12         13         14         15

     16         17         18         19         20         21         22

     23         24         25         26         27         28          1

    $ etui calendar month 2031-03 --json | cut -c1-60
    {"calendar":"Calendar","id":1,"kind":"event","title":"Dentis
    {"calendar":"Calendar","id":2,"kind":"event","title":"Jour f
    {"calendar":"Calendar","id":3,"kind":"event","title":"Lunch 
    {"calendar":"Calendar","id":6,"kind":"event","title":"Second
    {"calendar":"Calendar","id":7,"kind":"event","title":"Third"
    {"calendar":"Calendar","id":5,"kind":"todo","title":"Tax ret
    {"calendar":"Calendar","id":4,"kind":"event","title":"Fair",
    {"calendar":"Calendar","id":2,"kind":"event","title":"Jour f
    {"calendar":"Calendar","id":2,"kind":"event","title":"Jour f
    $ etui calendar agenda 2031-03 --json | wc -l
    9
    $ etui calendar month 2031-13
    error: "2031-13" is not a period; write today, tomorrow, week, next week, weekend, month, year, monday, 2026-12-24, 2026-12 or 2026, or use --from and --to
    [exit 2]
    "#);
}

#[test]
fn other_periods_are_printed_on_a_terminal() {
    let home = with_entries();
    for args in [
        &["agenda", "--from", "2031-03-10"][..],
        &["agenda", "2031-03-10", "--no-pager"],
        &["agenda", "2031"],
        &["agenda", "2031-03-10", "--limit", "1"],
        &["agenda", "2031-03-10", "--json"],
        &["month", "2031-03", "--no-pager"],
    ] {
        let mut session = agenda(&home, (80, 24), args, "true");
        assert!(session.child.wait().unwrap().success());
        session.sees("Dentist");
        assert!(!session.raw_output().contains("\x1b[?1049h"), "{args:?}");
    }
}

/// An entry that began days before is selected, but the search begins at the day on the screen.
#[test]
fn a_search_begins_at_the_day_that_is_shown() {
    let home = with_entries();
    home.run(
        "etui -q calendar add 'Visit one' --start '2031-03-12 10:00'
        etui -q calendar add 'Visit two' --start '2031-03-17 10:00'",
    );
    let go_to_fair = |session: &mut TerminalSession| {
        session.types(":2031-03-13");
        session.sees("Day  Thursday, 13 March 2031");
        session.types("\r");
        session.sees("Fair (day 2 of 3)");
    };
    for view in ["D", "W", "M"] {
        let mut session = agenda(&home, (80, 40), &["agenda"], "true");
        session.sees("Week ");
        session.types(view);
        go_to_fair(&mut session);
        session.types("/visit\r");
        session.sees("> 10:00-11:00  Visit two");
        session.types("N");
        session.sees("> 10:00-11:00  Visit one");
        go_to_fair(&mut session);
        session.types("n");
        session.sees("> 10:00-11:00  Visit two");
        session.types("q");
        assert_eq!(session.wait_for_end().code(), Some(0));
    }
}

/// Open to-dos that were due before are on today, and are completed there.
#[test]
fn overdue_todos_are_on_today() {
    let home = TestHome::new();
    home.run(
        "etui -q init --locale en
        etui -q calendar add 'Tax return' --due 2020-03-11
        etui -q calendar add 'Water plants' --due 2020-03-02 --repeat weekly
        etui -q calendar add Paid --due 2020-03-11
        etui -q calendar done 3",
    );
    let mut session = agenda(&home, (80, 24), &["agenda", "today"], "true");
    session.sees("[ ] Tax return (due 2020-03-11)");
    let screen = session.screen();
    assert!(
        screen.contains("[ ] Water plants (due 2020-03-02)"),
        "{screen}"
    );
    assert!(!screen.contains("Paid"), "{screen}");
    session.types("j ");
    session.sees("Done");
    session.types("q");
    let (text, _) = home.run("etui calendar todos --overdue; etui undo --list -n 1");
    assert!(
        !text.contains("Tax return") && text.contains("Water plants"),
        "{text}"
    );
    assert!(text.contains("browser  done"), "{text}");
}

/// Text that empties a line of input before it.
fn anew(text: &str) -> String {
    format!("\x15{text}")
}

#[test]
fn entries_are_moved_to_typed_times() {
    let home = with_entries();
    home.run(
        "etui -q calendar add '🎂 会議' --start '2031-03-10 20:00' --duration 90m
        etui -q --zone America/New_York calendar add Call --start '2031-03-10 16:00'",
    );
    let mut session = agenda(&home, (80, 30), &["agenda", "2031-03-10"], "true");
    session.sees("> 08:00-09:00  Dentist");
    session.types("m");
    session.sees("Move Dentist, Mon 10 Mar 2031, 08:00-09:00");
    // What is no time stays to be corrected.
    session.types("mondy 9:00\r");
    session.sees("mondy");
    session.sees("Esc: cancel");
    session.types(&anew("11:00-11:30"));
    session.sees("When  Mon 10 Mar 2031, 11:00-11:30");
    session.types("\r");
    session.sees("Moved: Dentist, Mon 10 Mar 2031, 11:00-11:30");
    session.sees("> 11:00-11:30  Dentist");
    // A day keeps the time of day, and is shown.
    session.types("mfriday\r");
    session.sees("Moved: Dentist, Fri 14 Mar 2031, 11:00-11:30");
    session.sees("Friday, 14 March 2031");
    // What was moved back is selected.
    session.types("u");
    session.sees("Undone");
    session.sees("> 11:00-11:30  Dentist");
    session.sees("Monday, 10 March 2031");
    // An entry of days; its length stays.
    session.types("/fair\r");
    session.sees("> ");
    session.sees("Fair (day 1 of 3)");
    session.types("m2031-03-20\r");
    session.sees("Moved: Fair, Thu 20 Mar 2031 to Sat 22 Mar 2031");
    // A to-do, wide characters and a series.
    session.types(":2031-03-10\r/tax\rm+1d\r");
    session.sees("Moved: Tax return, Wed 12 Mar 2031");
    session.types(":2031-03-10\r/会議\rm21:00\r");
    session.sees("Moved: 🎂 会議, Mon 10 Mar 2031, 21:00-22:30");
    session.types(":2031-03-10\r/jour\r");
    session.sees("17 March 2031");
    session.types("m");
    session.sees("t: this time only   a: all times");
    session.types("t15:00\r");
    session.sees("Moved: Jour fixe, Mon 17 Mar 2031, 15:00-16:00");
    session.types("ma");
    session.sees("Move all times of Jour fixe");
    session.types("tuesday 10:00");
    session.sees("When  Tue 18 Mar 2031, 10:00-11:00");
    session.types("\r");
    session.sees("Moved: Jour fixe, Tue 18 Mar 2031, 10:00-11:00");
    session.types("q");
    assert_eq!(session.wait_for_end().code(), Some(0));
}

/// A time that has passed is named before and after the move.
#[test]
fn a_time_that_has_passed_is_named() {
    let home = with_entries();
    let mut session = agenda(&home, (80, 24), &["agenda", "2031-03-10"], "true");
    session.sees("> 08:00-09:00  Dentist");
    session.types("mtoday 00:00");
    session.sees("has already passed");
    session.types("\r");
    session.sees("Moved: Dentist");
    session.sees("has already passed");
    session.types("q");
    assert_eq!(session.wait_for_end().code(), Some(0));
}

#[test]
fn times_are_edited_in_a_form() {
    let home = with_entries();
    let mut session = agenda(&home, (80, 24), &["agenda", "2031-03-10"], "true");
    session.sees("> 08:00-09:00  Dentist");
    session.types("e");
    session.sees("Enter: save");
    insta::assert_snapshot!(session.screen(), @"
    Monday, 10 March 2031   Calendar
    > 08:00-09:00  Dentist  City Hall  #1
      09:00-10:00  Jour fixe ↻  #2
      12:30-13:30  Lunch with 山田 太郎  #3









    ── Dentist ─────────────────────────────────────────────────────────────────────
    > Title     Dentist
      Start     2031-03-10 08:00
      End       09:00
      Duration  1 hour
      All day   no
      Repeat
      Place     City Hall
      Notes
      Web
    Enter: save   Tab, arrows: another field   Esc: cancel
    ");
    // What cannot be saved is named in the form, with the text typed.
    session.types("\t");
    session.types(&anew("mondy 9:00\r"));
    session.sees("> Start     mondy 9:00");
    session.sees("  Start mondy 9:00:");
    session.types(&anew("2031-03-11 10:00\t\t"));
    session.types(&anew("30m\t\t"));
    session.types(&anew("every tuesday until 1 May\t"));
    session.types(&anew("Hall 3\r"));
    session.sees("Changed: Dentist, Tue 11 Mar 2031, 10:00-10:30; every week on Tue until");
    session.sees("10:00-10:30  Dentist ↻  Hall 3");
    // One time of it, as a day.
    session.types("et");
    session.sees("Dentist, Tue 11 Mar 2031, 10:00-10:30");
    session.types("\t\t\t\t ");
    session.sees("> All day   yes");
    session.types("\r");
    session.sees("Changed: Dentist, Tue 11 Mar 2031, all day");
    session.types("q");
    assert_eq!(session.wait_for_end().code(), Some(0));
}
