//! Versions of a record: listed, compared, shown, brought back.

use std::process::Output;

use crate::harness::TestHome;

/// Runs a session; times become `YYYY-MM-DD HH:MM`.
fn session(home: &TestHome, lines: &[&str]) -> String {
    mask_times(&home.session(lines))
}

pub fn mask_times(text: &str) -> String {
    let is_time = |bytes: &[u8]| {
        bytes
            .iter()
            .zip(b"0000-00-00 00:00")
            .all(|(byte, pattern)| match pattern {
                b'0' => byte.is_ascii_digit(),
                other => byte == other || (*other == b' ' && *byte == b'T'),
            })
    };
    let mut out = text.as_bytes().to_vec();
    let mut at = 0;
    while at + 16 <= out.len() {
        if is_time(&out[at..at + 16]) && out[at..].starts_with(b"20") {
            // The zone's offset and the seconds follow in JSON.
            let rest = out[at + 16..].iter();
            let more = rest
                .take_while(|b| b.is_ascii_digit() || matches!(b, b':' | b'+'))
                .count();
            out.splice(at..at + 16 + more, *b"YYYY-MM-DD HH:MM");
        }
        at += 1;
    }
    String::from_utf8(out).unwrap()
}

fn changed_contact() -> TestHome {
    let home = TestHome::with_people();
    for line in [
        "etui -q contacts edit 2 --set email=bob@example.org --add phone=+12025550143",
        "etui -q contacts edit 2 --remove note --remove PHOTO --set label=Chess",
        "etui -q contacts remove 2",
        "etui -q contacts restore 2",
    ] {
        assert_eq!(home.run(line), (String::new(), Some(0)), "{line}");
    }
    home
}

#[test]
fn versions_of_a_contact() {
    let home = changed_contact();
    insta::assert_snapshot!(session(&home, &[
        "etui contacts history 2",
        "etui contacts history bob --diff 6",
        "etui contacts history 2 --diff 5 --with 2",
        "etui contacts history 2 --diff 7",
        "etui contacts history 2 --show 2",
        "etui contacts history 2 --show 5 --vcard",
        "etui contacts history 2 --restore 2",
        "etui contacts show 2 --vcard",
        "etui contacts restore 2",
        "etui contacts history 2",
    ]), @r"
    $ etui contacts history 2
    #  When              Change    Properties
    8  YYYY-MM-DD HH:MM  restored
    7  YYYY-MM-DD HH:MM  removed
    6  YYYY-MM-DD HH:MM  edited    -note, -photo, +label
    5  YYYY-MM-DD HH:MM  edited    email, +phone
    2                    added
    $ etui contacts history bob --diff 6
    --- 5 YYYY-MM-DD HH:MM edited
    +++ 6 YYYY-MM-DD HH:MM edited
    -NOTE:likes tea\, no milk\nand cake
    -PHOTO:data:image/png;base64,iVBORw0KGgo=
    +CATEGORIES:Chess
    $ etui contacts history 2 --diff 5 --with 2
    --- 2 added
    +++ 5 YYYY-MM-DD HH:MM edited
    -EMAIL;TYPE=home:bob@example.com
    +EMAIL;TYPE=home:bob@example.org
    +TEL:+12025550143
    $ etui contacts history 2 --diff 7
    --- 6 YYYY-MM-DD HH:MM edited
    +++ 7 YYYY-MM-DD HH:MM removed
    No line differs.
    $ etui contacts history 2 --show 2
    Bob Öst
      E-mail    bob@example.com  (home)
      Birthday  29 February
      Note      likes tea, no milk
                and cake
      X-HOBBY   chess
      Photo     image/png, 8 bytes
      vCard     4.0, 198 bytes
      UID       bob
      ETag      e9344b3fa64cdfe8819b49d2bcc02b2e
      #         2
    $ etui contacts history 2 --show 5 --vcard
    BEGIN:VCARD\r
    VERSION:4.0\r
    UID:bob\r
    FN:Bob Öst\r
    EMAIL;TYPE=home:bob@example.org\r
    BDAY:--0229\r
    NOTE:likes tea\, no milk\nand cake\r
    X-HOBBY:chess\r
    PHOTO:data:image/png;base64,iVBORw0KGgo=\r
    TEL:+12025550143\r
    END:VCARD\r
    $ etui contacts history 2 --restore 2
    Brought back version 2 of 2: Bob Öst (undo: etui contacts restore 2)
    $ etui contacts show 2 --vcard
    BEGIN:VCARD\r
    VERSION:4.0\r
    UID:bob\r
    FN:Bob Öst\r
    EMAIL;TYPE=home:bob@example.com\r
    BDAY:--0229\r
    NOTE:likes tea\, no milk\nand cake\r
    X-HOBBY:chess\r
    PHOTO:data:image/png;base64,iVBORw0KGgo=\r
    END:VCARD\r
    $ etui contacts restore 2
    Undid the latest change of 2: Bob Öst
    $ etui contacts history 2
     #  When              Change    Properties
    10  YYYY-MM-DD HH:MM  edited    email, -note, -photo, +phone, +label
     9  YYYY-MM-DD HH:MM  edited    email, +note, -phone, -label, +photo
     8  YYYY-MM-DD HH:MM  restored
     7  YYYY-MM-DD HH:MM  removed
     6  YYYY-MM-DD HH:MM  edited    -note, -photo, +label
     5  YYYY-MM-DD HH:MM  edited    email, +phone
     2                    added
    ");
}

#[test]
fn versions_as_json() {
    let home = changed_contact();
    insta::assert_snapshot!(session(&home, &[
        "etui contacts history 2 --json",
        "etui contacts history 2 --diff 6 --json",
        "etui contacts history 2 --show 2 --json",
        "etui contacts history 2 --restore 5 --json",
    ]), @r#"
    $ etui contacts history 2 --json
    {"version":8,"at":"YYYY-MM-DD HH:MM","kind":"restored","current":true,"changed":[],"added":[],"removed":[]}
    {"version":7,"at":"YYYY-MM-DD HH:MM","kind":"removed","current":false,"changed":[],"added":[],"removed":[]}
    {"version":6,"at":"YYYY-MM-DD HH:MM","kind":"edited","current":false,"changed":[],"added":["CATEGORIES"],"removed":["NOTE","PHOTO"]}
    {"version":5,"at":"YYYY-MM-DD HH:MM","kind":"edited","current":false,"changed":["EMAIL"],"added":["TEL"],"removed":[]}
    {"version":2,"at":null,"kind":"added","current":false,"changed":[],"added":[],"removed":[]}
    $ etui contacts history 2 --diff 6 --json
    {"from":{"version":5,"at":"YYYY-MM-DD HH:MM","kind":"edited"},"to":{"version":6,"at":"YYYY-MM-DD HH:MM","kind":"edited"},"lines":[{"sign":"-","property":"NOTE","line":"NOTE:likes tea\\, no milk\\nand cake"},{"sign":"-","property":"PHOTO","line":"PHOTO:data:image/png;base64,iVBORw0KGgo="},{"sign":"+","property":"CATEGORIES","line":"CATEGORIES:Chess"}]}
    $ etui contacts history 2 --show 2 --json
    {"id":2,"uid":"bob","etag":"e9344b3fa64cdfe8819b49d2bcc02b2e","version":"4.0","name":"Bob Öst","name_parts":{"family":"","given":"","additional":"","prefix":"","suffix":""},"nicknames":[],"organization":null,"organizations":[],"title":null,"phones":[],"emails":[{"value":"bob@example.com","types":["home"],"preferred":false,"label":null}],"urls":[],"addresses":[],"birthday":"--02-29","categories":[],"note":"likes tea, no milk\nand cake","photo":{"media_type":"image/png","bytes":8,"uri":null},"properties":[{"group":null,"name":"UID","value":"bob"},{"group":null,"name":"FN","value":"Bob Öst"},{"group":null,"name":"EMAIL","value":"bob@example.com"},{"group":null,"name":"BDAY","value":"--02-29"},{"group":null,"name":"NOTE","value":"likes tea, no milk\nand cake"},{"group":null,"name":"X-HOBBY","value":"chess"},{"group":null,"name":"PHOTO","value":"(image/png, 8 bytes)"}]}
    $ etui contacts history 2 --restore 5 --json
    {"id":2,"uid":"bob","etag":"9a81f56b272f5787d44e9119780a95fa","name":"Bob Öst","outcome":"changed"}
    "#);
}

#[test]
fn a_removed_contact_has_its_history() {
    let home = changed_contact();
    insta::assert_snapshot!(session(&home, &[
        "etui -q contacts remove 2",
        "etui contacts history 2 --diff 9",
        "etui contacts history bob --restore 5",
        "etui contacts show bob | grep mail",
        "etui contacts history 2 --restore 99",
        "etui contacts history 2 --diff 2",
        "etui contacts history 2 --diff x",
        "etui contacts history 99",
        "etui contacts history 1",
        "etui contacts history 2 --show 5 --diff 5",
    ]), @r"
    $ etui -q contacts remove 2
    $ etui contacts history 2 --diff 9
    --- 8 YYYY-MM-DD HH:MM restored
    +++ 9 YYYY-MM-DD HH:MM removed
    No line differs.
    $ etui contacts history bob --restore 5
    Brought back version 5 of 2: Bob Öst (undo: etui contacts remove 2)
    $ etui contacts show bob | grep mail
      E-mail    bob@example.org  (home)
    $ etui contacts history 2 --restore 99
    error: contact 2 has no version 99; `etui contacts history 2` lists the versions
    [exit 4]
    $ etui contacts history 2 --diff 2
    error: version 2 is the oldest one that is kept; show it with: etui contacts history 2 --show 2
    [exit 4]
    $ etui contacts history 2 --diff x
    error: invalid value 'x' for '--diff <N>': a version is a number of the first column of the history

    For more information, try '--help'.
    [exit 2]
    $ etui contacts history 99
    error: there is no contact number 99; to search for a phone number: etui contacts find phone:99
    [exit 4]
    $ etui contacts history 1
    #  When  Change  Properties
    1        added
    $ etui contacts history 2 --show 5 --diff 5
    error: the argument '--show <N>' cannot be used with '--diff <N>'

    Usage: etui contacts history --show <N> <ID|NAME>...

    For more information, try '--help'.
    [exit 2]
    ");
}

#[test]
fn a_difference_has_colours_on_a_terminal() {
    let home = changed_contact();
    let out: Output = home
        .command("etui")
        .args(["--color=always", "contacts", "history", "2", "--diff", "5"])
        .output()
        .unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(
        text.contains("\u{1b}[31m-EMAIL;TYPE=home:bob@example.com\u{1b}[0m"),
        "{text}"
    );
    assert!(
        text.contains("\u{1b}[32m+EMAIL;TYPE=home:bob@example.org\u{1b}[0m"),
        "{text}"
    );
}

#[test]
fn versions_of_a_calendar_entry() {
    let home = TestHome::new();
    let entry = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Example//EN\r\nBEGIN:VEVENT\r\nUID:fixe\r\n\
        DTSTAMP:20260101T000000Z\r\nDTSTART:20270308T090000Z\r\nDTEND:20270308T100000Z\r\n\
        RRULE:FREQ=WEEKLY\r\nSUMMARY:Jour fixe\r\nBEGIN:VALARM\r\nACTION:DISPLAY\r\n\
        TRIGGER:-PT10M\r\nEND:VALARM\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
    for (file, text) in [
        ("1.ics", entry.to_owned()),
        (
            "2.ics",
            entry
                .replace("PT10M", "PT30M")
                .replace("SUMMARY", "LOCATION:Room 4\r\nSUMMARY"),
        ),
    ] {
        std::fs::write(home.path(file), text).unwrap();
    }
    insta::assert_snapshot!(session(&home, &[
        "etui -q import 1.ics",
        "etui -q import 2.ics",
        "etui calendar history 1",
        "etui calendar history 1 --diff 2",
        "etui calendar history fixe --show 1 --zone UTC | grep -v Next",
        "etui calendar history 1 --show 1 --ics",
        "etui calendar history 1 --restore 1",
        "etui calendar show 1 | grep -c Where",
        "etui calendar history 1 --show 2 --json --zone UTC | cut -c 1-60",
    ]), @r#"
    $ etui -q import 1.ics
    $ etui -q import 2.ics
    $ etui calendar history 1
    #  When              Change  Properties
    2  YYYY-MM-DD HH:MM  edited  +place, trigger
    1                    added
    $ etui calendar history 1 --diff 2
    --- 1 added
    +++ 2 YYYY-MM-DD HH:MM edited
    VEVENT
    +LOCATION:Room 4
    VEVENT, VALARM
    -TRIGGER:-PT10M
    +TRIGGER:-PT30M
    $ etui calendar history fixe --show 1 --zone UTC | grep -v Next
    Jour fixe
      When       Mon 8 Mar 2027, 09:00-10:00 (UTC)
      Repeats    every week
      Alarm      10 minutes before the start
      iCalendar  event, 208 bytes
      UID        fixe
      ETag       b7ca4528ed8e85e7491d18ebc9d3c878
      #          1
    $ etui calendar history 1 --show 1 --ics
    BEGIN:VEVENT\r
    UID:fixe\r
    DTSTAMP:20260101T000000Z\r
    DTSTART:20270308T090000Z\r
    DTEND:20270308T100000Z\r
    RRULE:FREQ=WEEKLY\r
    SUMMARY:Jour fixe\r
    BEGIN:VALARM\r
    ACTION:DISPLAY\r
    TRIGGER:-PT10M\r
    END:VALARM\r
    END:VEVENT\r
    $ etui calendar history 1 --restore 1
    Brought back version 1 of 1: Jour fixe (undo: etui calendar restore 1)
    $ etui calendar show 1 | grep -c Where
    0
    [exit 1]
    $ etui calendar history 1 --show 2 --json --zone UTC | cut -c 1-60
    {"id":1,"uid":"fixe","etag":"825015de34b64b9d332c81f47418459
    "#);
}

/// Each undo of an edit is a change that the next one undoes.
#[test]
fn a_second_undo_is_a_redo() {
    let home = TestHome::with_people();
    insta::assert_snapshot!(session(&home, &[
        "etui -q contacts edit 2 --set email=bob@example.org",
        "etui -q contacts edit 2 --set email=bob@example.net",
        "etui contacts restore 2",
        "etui contacts restore 2",
        "etui contacts show 2 --vcard | grep EMAIL",
        "etui contacts restore 2",
        "etui contacts restore 2 --json",
        "etui contacts restore 2 --json",
        "etui contacts edit 2 --set email=bob@example.com",
        "etui contacts restore 2",
    ]), @r#"
    $ etui -q contacts edit 2 --set email=bob@example.org
    $ etui -q contacts edit 2 --set email=bob@example.net
    $ etui contacts restore 2
    Undid the latest change of 2: Bob Öst
    $ etui contacts restore 2
    Redid the latest change of 2: Bob Öst (older versions: etui contacts history 2)
    $ etui contacts show 2 --vcard | grep EMAIL
    EMAIL;TYPE=home:bob@example.net\r
    $ etui contacts restore 2
    Undid the latest change of 2: Bob Öst
    $ etui contacts restore 2 --json
    {"id":2,"uid":"bob","etag":"23987729d8c16d59a90cacbdf49a8710","name":"Bob Öst","outcome":"changed","action":"redone"}
    $ etui contacts restore 2 --json
    {"id":2,"uid":"bob","etag":"420ed97348b01b379fa5e5abd137fb3a","name":"Bob Öst","outcome":"changed","action":"undone"}
    $ etui contacts edit 2 --set email=bob@example.com
    Changed 2: Bob Öst (undo: etui contacts restore 2)
    - E-mail: bob@example.org  (home)
      E-mail: bob@example.com  (home)
    $ etui contacts restore 2
    Undid the latest change of 2: Bob Öst
    "#);
}
