//! Palm databases: import and export.

use etui_palm::{Address, CodePage, Database, DatabaseRecord, Memo, PhoneLabel, Task};

use crate::harness::{TestHome, session};

/// Writes a database of records, each with its attributes.
fn write_database(home: &TestHome, name: &str, creator: &[u8; 4], records: &[(u8, Vec<u8>)]) {
    // A name that does not show the format.
    let mut database = Database::new("Test", *b"DATA", *creator);
    let mut info = vec![0; 276 + 4 + 22 * 16];
    info[18..24].copy_from_slice(b"Family");
    database.app_info = Some(info);
    for (unique_id, (attributes, data)) in (1..).zip(records) {
        database.records.push(DatabaseRecord {
            attributes: *attributes,
            unique_id,
            data: data.clone(),
        });
    }
    std::fs::write(home.path(name), database.to_bytes()).unwrap();
}

/// The four databases, each with a record that cannot be read, or only in part.
fn with_databases() -> TestHome {
    let home = TestHome::new();
    let page = CodePage::Windows1252;
    let mut address = Address {
        last: "Müller".to_owned(),
        first: "Anna".to_owned(),
        city: "Berlin".to_owned(),
        ..Address::default()
    };
    address.phones[0] = (PhoneLabel::Mobile, "0171 39200 02".to_owned());
    let contact = address.encode(page).data;
    let records = [
        (0x11, contact.clone()),
        (DatabaseRecord::DELETED, Vec::new()),
        (0, contact[..7].to_vec()),
    ];
    write_database(&home, "people", b"addr", &records);
    // 25 March 2003, 9:30 to 10:00, weekly on Tuesday; the second one has an unknown repetition.
    let head = [9, 30, 10, 0, 0xC6, 0x79, 0x24, 0];
    let club = [&head[..], &[2, 0, 0xFF, 0xFF, 1, 4, 1, 0], b"Club\0"].concat();
    let odd = [&head[..], &[9, 0, 0xFF, 0xFF, 1, 4, 1, 0], b"Odd\0"].concat();
    write_database(&home, "dates", b"date", &[(0, club), (0, odd)]);
    let task = Task {
        title: "Pay".to_owned(),
        priority: 2,
        ..Task::default()
    };
    write_database(&home, "todos", b"todo", &[(1, task.encode(page).data)]);
    let memo = Memo {
        text: "List\nmilk".to_owned(),
    };
    write_database(&home, "memos", b"memo", &[(0, memo.encode(page).data)]);
    write_database(&home, "other.pdb", b"PAdd", &[]);
    home
}

#[test]
fn databases_are_recognized_by_their_content() {
    let home = with_databases();
    session!(home, [
        "etui import people dates todos memos",
        "etui import people dates todos memos 2>/dev/null",
        "etui import other.pdb",
        "head -c 90 people > cut.pdb; etui import cut.pdb",
        "etui import people --json",
        "etui contacts show 1 --vcard",
        "etui export --calendars",
    ], @r#"
    $ etui import people dates todos memos
    people: record 3: the record ends before its fields
    people: skipped 1 record that the Palm had deleted
    people: 1 added, 1 rejected (785 bytes)
    dates: record 2: its repetition (9, 4) is not known and was left out (Odd)
    dates: 2 added, 1 with warnings (769 bytes)
    todos: 1 added (728 bytes)
    memos: 1 added (730 bytes)
    Total: 5 added, 0 changed, 0 unchanged, 1 rejected
    Created a store: ~/.local/share/etui/personal.etui
    Sort order: und; region of phone numbers without a country code: none (change it: etui settings region CODE)
    error: 1 piece was rejected; the rest was imported
    [exit 3]
    $ etui import people dates todos memos 2>/dev/null
    people: 0 added, 1 unchanged, 1 rejected (785 bytes)
    dates: 0 added, 2 unchanged, 1 with warnings (769 bytes)
    todos: 0 added, 1 unchanged (728 bytes)
    memos: 0 added, 1 unchanged (730 bytes)
    Total: 0 added, 0 changed, 5 unchanged, 1 rejected
    [exit 3]
    $ etui import other.pdb
    error: other.pdb: is a Palm database of the type DATA and the creator PAdd, which cannot be read; export AddressDB, DatebookDB, ToDoDB or MemoDB
    [exit 3]
    $ head -c 90 people > cut.pdb; etui import cut.pdb
    cut.pdb: the file ends after 1 of 3 record entries; it is cut off: copy it again
    cut.pdb: the app info is outside the file; the file is damaged or cut off
    cut.pdb: record 1: is outside the file or overlaps another; the file is damaged or cut off
    cut.pdb: 0 added, 2 rejected, 1 with warnings (90 bytes)
    error: 2 pieces were rejected; nothing was imported
    [exit 3]
    $ etui import people --json
    people: skipped 1 record that the Palm had deleted
    {"added":0,"changed":0,"unchanged":1,"older":0,"proposals":0,"refused":1,"removed":0,"files":[{"file":"people","kind":"contacts","calendar":null,"bytes":785,"added":0,"changed":0,"unchanged":1,"older":0,"proposals":0,"refused":1,"removed":0,"refusals":[{"line":3,"last_line":3,"reason":"the record ends before its fields","excerpt":""}],"warned":0,"warnings":[],"charset":null,"kept":[],"skipped":[]}],"unread":[]}
    {"error":{"kind":"refused","message":"1 piece was rejected; the rest was imported"}}
    [exit 3]
    $ etui contacts show 1 --vcard
    BEGIN:VCARD\r
    VERSION:4.0\r
    UID:palm-addr-000001-b3be497caee752ea\r
    N:Müller;Anna;;;\r
    FN:Anna Müller\r
    TEL;TYPE=cell:0171 39200 02\r
    ADR:;;;Berlin;;;\r
    CATEGORIES:Family\r
    CLASS:PRIVATE\r
    END:VCARD\r
    $ etui export --calendars
    BEGIN:VCALENDAR\r
    VERSION:2.0\r
    PRODID:-//etui//Palm import//EN\r
    BEGIN:VEVENT\r
    UID:palm-date-000001-6b51382c0d055abe\r
    DTSTAMP:19700101T000000Z\r
    DTSTART:20030325T093000\r
    DTEND:20030325T100000\r
    RRULE:FREQ=WEEKLY;BYDAY=TU\r
    SUMMARY:Club\r
    END:VEVENT\r
    BEGIN:VEVENT\r
    UID:palm-date-000002-dfc3fafdc778ed6f\r
    DTSTAMP:19700101T000000Z\r
    DTSTART:20030325T093000\r
    DTEND:20030325T100000\r
    SUMMARY:Odd\r
    END:VEVENT\r
    BEGIN:VTODO\r
    UID:palm-todo-000001-bc194a62a2bcdbf6\r
    DTSTAMP:19700101T000000Z\r
    PRIORITY:3\r
    SUMMARY:Pay\r
    CATEGORIES:Family\r
    END:VTODO\r
    BEGIN:VJOURNAL\r
    UID:palm-memo-000001-8b44f13396bee4b3\r
    DTSTAMP:19700101T000000Z\r
    SUMMARY:List\r
    DESCRIPTION:List\nmilk\r
    END:VJOURNAL\r
    END:VCALENDAR\r
    "#);
}

#[test]
fn what_came_from_a_palm_goes_back_as_it_was() {
    let home = with_databases();
    session!(home, [
        "etui import -q people dates todos memos 2>/dev/null",
        "etui export --palm address -o AddressDB.pdb",
        "etui export --palm datebook -o DatebookDB.pdb",
        "etui export --palm todo -o ToDoDB.pdb",
        "etui export --palm memo -o MemoDB.pdb",
        "etui import [ADMT]*.pdb",
    ], @r"
    $ etui import -q people dates todos memos 2>/dev/null
    [exit 3]
    $ etui export --palm address -o AddressDB.pdb
    Wrote 1 contact to AddressDB.pdb
    $ etui export --palm datebook -o DatebookDB.pdb
    Wrote 2 appointments to DatebookDB.pdb
    $ etui export --palm todo -o ToDoDB.pdb
    Wrote 1 to-do to ToDoDB.pdb
    $ etui export --palm memo -o MemoDB.pdb
    Wrote 1 memo to MemoDB.pdb
    $ etui import [ADMT]*.pdb
    AddressDB.pdb: 0 added, 1 unchanged (766 bytes)
    DatebookDB.pdb: 1 added, 1 unchanged (407 bytes)
    MemoDB.pdb: 0 added, 1 unchanged (378 bytes)
    ToDoDB.pdb: 0 added, 1 unchanged (376 bytes)
    Total: 1 added, 0 changed, 4 unchanged, 0 rejected
    ");
}

#[test]
fn what_a_palm_cannot_hold_is_named_for_each_record() {
    let home = TestHome::with_people();
    let events = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART:20260302T190000Z\r\n\
        DTEND:20260302T200000Z\r\nSUMMARY:Call\r\nLOCATION:Room 4\r\nRRULE:FREQ=HOURLY\r\nEND:VEVENT\r\n\
        BEGIN:VEVENT\r\nUID:2\r\nDTSTART;VALUE=DATE:20400101\r\nSUMMARY:Far\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
    std::fs::write(home.path("events.ics"), events).unwrap();
    session!(home, [
        "etui import -q events.ics",
        "etui export --palm address -o a.pdb",
        "etui export --palm datebook -o d.pdb",
        "etui export --palm address -o a.pdb",
        "etui export --palm address --calendars -o b.pdb",
        "etui export --palm datebook --json",
        "etui export --palm todo > t.pdb; head -c 6 t.pdb; etui export --force",
    ], @r#"
    $ etui import -q events.ics
    $ etui export --palm address -o a.pdb
    1 (Anna Müller): lost or changed: ORG: Example GmbH;Sales (units are part of the company)
    2 (Bob Öst): lost or changed: EMAIL: bob@example.com (TYPE=home); BDAY: --0229; X-HOBBY: chess; PHOTO
    3 (Eve \u{1b}[31mTrouble\u{9b}2J): lost or changed: FN: Eve [31mTrouble2J
    Wrote 4 contacts to a.pdb
    $ etui export --palm datebook -o d.pdb
    5 (Call): lost or changed: LOCATION: Room 4; time zone UTC (written in local time); RRULE: FREQ=HOURLY (only the first time is written)
    6 (Far): left out: a Palm has the years 1904 to 2031, not 2040
    Wrote 1 appointment to d.pdb
    error: 1 record was left out; the rest was written
    [exit 3]
    $ etui export --palm address -o a.pdb
    1 (Anna Müller): lost or changed: ORG: Example GmbH;Sales (units are part of the company)
    2 (Bob Öst): lost or changed: EMAIL: bob@example.com (TYPE=home); BDAY: --0229; X-HOBBY: chess; PHOTO
    3 (Eve \u{1b}[31mTrouble\u{9b}2J): lost or changed: FN: Eve [31mTrouble2J
    error: a.pdb: already exists; choose another name, or replace it with --force
    [exit 1]
    $ etui export --palm address --calendars -o b.pdb
    error: --palm address writes contacts; for calendars: --palm datebook, todo or memo
    [exit 2]
    $ etui export --palm datebook --json
    {"error":{"kind":"usage","message":"--palm writes no JSON; leave out --json"}}
    [exit 2]
    $ etui export --palm todo > t.pdb; head -c 6 t.pdb; etui export --force
    ToDoDBerror: --force needs --output or --vdir
    [exit 2]
    "#);
}

#[test]
fn japanese_texts_are_detected_and_written() {
    let home = TestHome::new();
    let address = Address {
        last: "山田".to_owned(),
        first: "さら".to_owned(),
        ..Address::default()
    };
    let record = address.encode(CodePage::ShiftJis).data;
    write_database(&home, "people", b"addr", &[(0, record)]);
    session!(home, [
        "etui import -q people && etui contacts list --fields name",
        "etui export --palm address -o west.pdb",
        "etui export --palm address --palm-charset cp932 -o east.pdb",
        "etui --store again.etui import -q east.pdb && etui --store again.etui contacts list --fields name",
        "etui --store wrong.etui import -q --palm-charset cp1252 east.pdb && etui --store wrong.etui contacts list --fields name",
    ], @r"
    $ etui import -q people && etui contacts list --fields name
    Name
    さら 山田
    $ etui export --palm address -o west.pdb
    1 (さら 山田): lost or changed: not in cp1252, written as ?: 山田さら
    Wrote 1 contact to west.pdb
    $ etui export --palm address --palm-charset cp932 -o east.pdb
    Wrote 1 contact to east.pdb
    $ etui --store again.etui import -q east.pdb && etui --store again.etui contacts list --fields name
    Name
    さら 山田
    $ etui --store wrong.etui import -q --palm-charset cp1252 east.pdb && etui --store wrong.etui contacts list --fields name
    Name
    ‚³‚ç ŽR“c
    ");
}
