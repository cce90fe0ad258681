//! Phrases of contacts, tips for the words of other programs, versions of vCard, and undo beside other steps.

use crate::harness::{TestHome, session};

#[test]
fn a_phrase_shows_what_was_understood() {
    let home = TestHome::new();
    session!(home, [
        "etui contacts add Udo Pohl, Handy 0176 1234567, born 5 Dec 1990; etui contacts add -q Udo Pohl 5 Dec 1990; etui contacts add -q Udo Pohl, Boat 0176 1234567",
        "etui contacts list --fields given,family,birthday",
    ], @r#"
    $ etui contacts add Udo Pohl, Handy 0176 1234567, born 5 Dec 1990; etui contacts add -q Udo Pohl 5 Dec 1990; etui contacts add -q Udo Pohl, Boat 0176 1234567
    Added 1: Udo Pohl
      Given: Udo
      Family: Pohl
      Phone: 0176 1234567  (cell)
      Birthday: 1990-12-05
    error: "5 Dec 1990" is a date; if it is the birthday, write: born 5 Dec 1990
    error: "Boat" is not understood; name the field: phone:work=..., birthday=..., org=..., note=... (see etui contacts add --help)
    [exit 2]
    $ etui contacts list --fields given,family,birthday
    Given names  Family name  Birthday
    Udo          Pohl         1990-12-05
    "#);
}

#[test]
fn words_of_other_programs_name_our_commands() {
    let home = TestHome::with_people();
    session!(home, [
        "for word in agenda new ls delete search birthdays addressbook khal ikhal khard todo trash help; do etui $word 2>&1 | grep -o 'did you mean.*\\|similar.*' | tr '\\n' ' '; echo \"($word)\"; done",
        "for word in new ls search details modify export xyz; do etui contacts $word 2>&1 | grep -o 'did you mean.*\\|similar.*' | tr '\\n' ' '; echo \"($word)\"; done",
        "for word in new ls search delete tasks; do etui --store x.etui calendar $word 2>&1 | grep -o 'did you mean.*\\|similar.*' | tr '\\n' ' '; echo \"($word)\"; done",
        "etui contacts list -limit 5 2>&1 | grep tip; etui contacts list --limit anna 2>&1 | head -1; etui contacts find fone:1 2>&1 | cut -c1-80; etui contacts add --name A --set fone=1 2>&1 | head -1; etui contacts edit 1 note=x; etui calendar add -q 'Lunch tomorrow 12:00'; etui contacts show 5; etui calendar show 1; etui undo --since -5m --dry-run | wc -l; etui undo --since -5x",
    ], @r#"
    $ for word in agenda new ls delete search birthdays addressbook khal ikhal khard todo trash help; do etui $word 2>&1 | grep -o 'did you mean.*\|similar.*' | tr '\n' ' '; echo "($word)"; done
    did you mean: etui calendar agenda (agenda)
    did you mean: etui contacts add did you mean: etui calendar add (new)
    did you mean: etui contacts list did you mean: etui calendar list (ls)
    did you mean: etui contacts remove did you mean: etui calendar remove (delete)
    did you mean: etui contacts find did you mean: etui calendar find (search)
    did you mean: etui contacts birthdays (birthdays)
    did you mean: etui addressbooks (addressbook)
    did you mean: etui calendar agenda (khal)
    did you mean: etui calendar agenda (ikhal)
    did you mean: etui contacts (khard)
    did you mean: etui calendar todos (todo)
    did you mean: etui contacts restore --list (trash)
    did you mean: etui --help (help)
    $ for word in new ls search details modify export xyz; do etui contacts $word 2>&1 | grep -o 'did you mean.*\|similar.*' | tr '\n' ' '; echo "($word)"; done
    did you mean: etui contacts add (new)
    did you mean: etui contacts list (ls)
    did you mean: etui contacts find (search)
    did you mean: etui contacts show (details)
    did you mean: etui contacts edit (modify)
    did you mean: etui export (export)
    (xyz)
    $ for word in new ls search delete tasks; do etui --store x.etui calendar $word 2>&1 | grep -o 'did you mean.*\|similar.*' | tr '\n' ' '; echo "($word)"; done
    did you mean: etui calendar add (new)
    did you mean: etui calendar list (ls)
    did you mean: etui calendar find (search)
    (delete)
    did you mean: etui calendar todos (tasks)
    $ etui contacts list -limit 5 2>&1 | grep tip; etui contacts list --limit anna 2>&1 | head -1; etui contacts find fone:1 2>&1 | cut -c1-80; etui contacts add --name A --set fone=1 2>&1 | head -1; etui contacts edit 1 note=x; etui calendar add -q 'Lunch tomorrow 12:00'; etui contacts show 5; etui calendar show 1; etui undo --since -5m --dry-run | wc -l; etui undo --since -5x
      tip: an option of several letters has two hyphens: --limit
    error: --limit <N> takes a whole number, and "anna" is none
    error: in the filter, at character 1: there is no field "fone"; fields are any, 
    error: invalid value 'fone=1' for '--set <PROP=VALUE>': there is no property "fone"; one of your own begins with x-: x-fone
    error: a property is set with an option: etui contacts edit 1 --set 'note=x'
    error: there is no contact number 5; 5 is a calendar entry: etui calendar show 5
    error: there is no entry number 1; 1 is a contact: etui contacts show 1
    3
    error: --since -5x: not a duration; write 45m, 1h30m, 2h, 3d or 1w
    [exit 2]
    "#);
}

#[test]
fn old_programs_get_a_vcard_that_they_read() {
    let home = TestHome::new();
    session!(home, [
        "etui contacts add -q --name 'Ada Berg' --set birthday=--05-09 --set anniversary=2011-12-02 --set related=Pat --set gender=F --set uid=1",
        "etui export --vcard-version 3.0 -o -; etui export --vcard-version 2.1 2>&1 | head -1",
    ], @r"
    $ etui contacts add -q --name 'Ada Berg' --set birthday=--05-09 --set anniversary=2011-12-02 --set related=Pat --set gender=F --set uid=1
    $ etui export --vcard-version 3.0 -o -; etui export --vcard-version 2.1 2>&1 | head -1
    BEGIN:VCARD\r
    VERSION:3.0\r
    UID:1\r
    FN:Ada Berg\r
    N:Berg;Ada;;;\r
    BDAY;X-APPLE-OMIT-YEAR=1604:1604-05-09\r
    item1.X-ABDATE:2011-12-02\r
    item1.X-ABLabel:_$!<Anniversary>!$_\r
    X-ANNIVERSARY:2011-12-02\r
    RELATED:Pat\r
    X-GENDER:Female\r
    END:VCARD\r
    error: invalid value '2.1' for '--vcard-version <VERSION>'
    ");
}

#[test]
fn undo_works_beside_other_steps_and_after_a_purge() {
    let home = TestHome::with_people();
    session!(home, [
        "etui contacts edit -q 1 --set note=x; etui contacts edit -q 4 --set note=y; etui purge -qy --contact 2",
        "etui undo 1 2>&1 | grep -v 'To\\|Undid'; etui check",
        "etui contacts edit -q 1 --set note=z; etui purge -qy; etui contacts edit -q 1 --set note=w; etui undo | tail -2; etui contacts show 1 | grep Note; etui check",
    ], @r"
    $ etui contacts edit -q 1 --set note=x; etui contacts edit -q 4 --set note=y; etui purge -qy --contact 2
    $ etui undo 1 2>&1 | grep -v 'To\|Undid'; etui check
      kept, changed since: 4 Norbert Nobody
      removed: 3 Eve \u{1b}[31mTrouble\u{9b}2J
      kept, changed since: 1 Anna Müller
    error: 2 records and collections were kept as changed since, or too old; nothing of them was undone
    The store is intact: 2 contacts, 1 in the trash.
    $ etui contacts edit -q 1 --set note=z; etui purge -qy; etui contacts edit -q 1 --set note=w; etui undo | tail -2; etui contacts show 1 | grep Note; etui check
      changed back: 1 Anna Müller
    To do it again: etui undo 2
      Note          z
    The store is intact: 2 contacts, 0 in the trash.
    ");
}

#[test]
fn a_series_that_was_undone_is_exported_as_it_came() {
    let home = TestHome::new();
    std::fs::write(home.path("s.ics"), "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:s\r\nDTSTAMP:20260101T000000Z\r\nDTSTART;TZID=Europe/Berlin:20260105T100000\r\nRRULE:FREQ=WEEKLY\r\nSUMMARY:Standup\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n").unwrap();
    session!(home, [
        "etui import -q s.ics; etui calendar remove -q 1; etui undo -q; etui export --calendars | cmp - s.ics",
        "etui calendar edit -q 1 --title X; etui undo -q; etui export --calendars | cmp - s.ics",
        "etui calendar skip -q 1 --on 2026-01-12; etui calendar restore -q 1; etui export --calendars | cmp - s.ics",
        "etui undo -q 1; etui calendar restore -q 1; etui export --calendars | cmp - s.ics",
        "etui calendar edit -q 1 --title X; etui calendar remove -q 1; etui undo -q -n 2; etui export --calendars | cmp - s.ics",
        "etui calendar edit -q 1 --title X; etui export --calendars | grep -c VTIMEZONE",
    ], @"
    $ etui import -q s.ics; etui calendar remove -q 1; etui undo -q; etui export --calendars | cmp - s.ics
    $ etui calendar edit -q 1 --title X; etui undo -q; etui export --calendars | cmp - s.ics
    $ etui calendar skip -q 1 --on 2026-01-12; etui calendar restore -q 1; etui export --calendars | cmp - s.ics
    $ etui undo -q 1; etui calendar restore -q 1; etui export --calendars | cmp - s.ics
    $ etui calendar edit -q 1 --title X; etui calendar remove -q 1; etui undo -q -n 2; etui export --calendars | cmp - s.ics
    $ etui calendar edit -q 1 --title X; etui export --calendars | grep -c VTIMEZONE
    2
    ");
}

#[test]
fn a_table_without_headings_is_refused() {
    let home = TestHome::new();
    for (n, text) in [
        "Anna,Berg,anna@x.example,070 123\nUdo,Pohl,udo@x.example,070 124\n",
        "Anna;Berg;0171 3920001\nUdo;Pohl;0171 3920002\n",
        "anna@x.example\nudo@x.example\n",
        "Berg\t+49 30 2312501\n",
        "\"Berg, Anna\",anna@x.example\n",
        "name,phone\n070 123,070 123\n",
    ]
    .iter()
    .enumerate()
    {
        std::fs::write(home.path(&format!("{n}.csv")), text).unwrap();
    }
    session!(home, [
        "for n in 0 1 2 3 4; do etui import $n.csv 2>&1 | cut -c1-70; done",
        "etui import -q 5.csv; etui contacts list --fields family,given,phone",
    ], @"
    $ for n in 0 1 2 3 4; do etui import $n.csv 2>&1 | cut -c1-70; done
    error: 0.csv: is CSV, but its first line (1) is a contact, and not the
    error: 1.csv: is CSV, but its first line (1) is a contact, and not the
    error: 2.csv: is CSV, but its first line (1) is a contact, and not the
    error: 3.csv: is CSV, but its first line (1) is a contact, and not the
    error: 4.csv: is CSV, but its first line (1) is a contact, and not the
    $ etui import -q 5.csv; etui contacts list --fields family,given,phone
    Family name  Given names  Phone
                              070 123
    ");
}

/// A contact of an address book of Apple's, and a group of it.
fn apple_group(members: &[&str]) -> String {
    let mut text = String::new();
    for (uid, name) in [("1-a", "Ada"), ("2-b", "Bo"), ("3-c", "Cy")] {
        text += &format!(
            "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{uid}\r\nN:;{name};;;\r\nFN:{name}\r\nEMAIL:{name}@x.example\r\nEND:VCARD\r\n"
        );
    }
    text += "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:9\r\nN:Crew\\, old;;;;\r\nFN:Crew\\, old\r\nX-ADDRESSBOOKSERVER-KIND:group\r\n";
    for member in members {
        text += &format!("X-ADDRESSBOOKSERVER-MEMBER:urn:uuid:{member}\r\n");
    }
    text + "END:VCARD\r\n"
}

#[test]
fn groups_of_an_import_are_labels_of_their_members() {
    let home = TestHome::new();
    std::fs::write(home.path("a.vcf"), apple_group(&["1-a", "2-B", "none"])).unwrap();
    std::fs::write(home.path("more.vcf"), apple_group(&["1-a", "2-b", "3-c"])).unwrap();
    let v4 = "BEGIN:VCARD\nVERSION:4.0\nUID:urn:uuid:1-a\nFN:Ada\nCATEGORIES:Boat\nEND:VCARD\nBEGIN:VCARD\nVERSION:4.0\nUID:2\nFN:Bo\nEMAIL:Bo@x.example\nEND:VCARD\n\
              BEGIN:VCARD\nVERSION:4.0\nFN:No UID\nEMAIL:no@x.example\nEND:VCARD\n\
              BEGIN:VCARD\nVERSION:4.0\nUID:8\nKIND:group\nFN:Boat\nMEMBER:urn:uuid:1-a\nMEMBER:mailto:bo@x.example\nMEMBER:mailto:no@x.example\nEND:VCARD\n\
              BEGIN:VCARD\nVERSION:4.0\nUID:7\nKIND:group\nFN:All\nMEMBER:8\nMEMBER:2\nEND:VCARD\n";
    std::fs::write(home.path("four.vcf"), v4).unwrap();
    std::fs::write(home.path("g.ldif"), "dn: cn=Ada,dc=x\nobjectClass: person\ncn: Ada\nsn: Ada\n\ndn: cn=Crew,dc=x\nobjectClass: groupOfNames\ncn: Crew\nmember: cn=Ada,dc=x\n").unwrap();
    session!(home, [
        "etui import a.vcf; etui contacts labels; etui contacts list --fields name,categories; etui import a.vcf",
        "etui export -o out.vcf -q; grep -c MEMBER out.vcf; etui --store new.etui import -q out.vcf; etui --store new.etui export -o - | cmp - out.vcf",
        "etui contacts edit -q Bo --remove label; etui import a.vcf; rm out.vcf; etui export -q -o out.vcf; etui import out.vcf; etui contacts find --fields name label:crew",
        "etui import more.vcf; etui contacts find --fields name label:crew; cat a.vcf | etui --store pipe.etui import -",
        "etui --store four.etui import four.vcf; etui --store four.etui contacts list --fields name,categories; etui --store four.etui import -q four.vcf; etui --store four.etui contacts list --fields name,categories",
        "etui --store ldif.etui import g.ldif; etui --store ldif.etui contacts list --fields name,categories",
        "iconv -t UTF-16 a.vcf > w.vcf; etui --store wide.etui import w.vcf",
        "mkdir d; cp a.vcf d; etui --store d.etui import d",
    ], @"
    $ etui import a.vcf; etui contacts labels; etui contacts list --fields name,categories; etui import a.vcf
    a.vcf: groups are labels of their members: Crew, old (2 contacts)
    a.vcf: 4 added (485 bytes)
    Created a store: ~/.local/share/etui/personal.etui
    Sort order: und; region of phone numbers without a country code: none (change it: etui settings region CODE)
    Contacts  Label
           2  Crew, old
    Name       Categories
    Ada        Crew, old
    Bo         Crew, old
    Crew, old
    Cy
    a.vcf: groups are labels of their members: Crew, old (2 contacts)
    a.vcf: 0 added, 4 unchanged (485 bytes)
    $ etui export -o out.vcf -q; grep -c MEMBER out.vcf; etui --store new.etui import -q out.vcf; etui --store new.etui export -o - | cmp - out.vcf
    3
    $ etui contacts edit -q Bo --remove label; etui import a.vcf; rm out.vcf; etui export -q -o out.vcf; etui import out.vcf; etui contacts find --fields name label:crew
    a.vcf: groups are labels of their members: Crew, old (1 contact)
    a.vcf: 0 added, 4 unchanged (485 bytes)
    out.vcf: 0 added, 4 unchanged (508 bytes)
    Name
    Ada
    $ etui import more.vcf; etui contacts find --fields name label:crew; cat a.vcf | etui --store pipe.etui import -
    more.vcf: groups are labels of their members: Crew, old (2 contacts)
    more.vcf: 0 added, 2 changed, 2 unchanged (484 bytes)
    Name
    Ada
    Cy
    -: 4 added (485 bytes)
    Created a store: pipe.etui
    Sort order: und; region of phone numbers without a country code: none (change it: etui settings region CODE)
    $ etui --store four.etui import four.vcf; etui --store four.etui contacts list --fields name,categories; etui --store four.etui import -q four.vcf; etui --store four.etui contacts list --fields name,categories
    four.vcf: groups are labels of their members: All (1 contact), Boat (1 contact)
    four.vcf: 5 added (411 bytes)
    Created a store: four.etui
    Sort order: und; region of phone numbers without a country code: none (change it: etui settings region CODE)
    Name    Categories
    Ada     Boat
    All
    Bo      All, Boat
    Boat
    No UID
    Name    Categories
    Ada     Boat
    All
    Bo      All, Boat
    Boat
    No UID
    $ etui --store ldif.etui import g.ldif; etui --store ldif.etui contacts list --fields name,categories
    g.ldif: 2 added (125 bytes)
    g.ldif: groups are labels of their members: Crew (1 contact)
    Created a store: ldif.etui
    Sort order: und; region of phone numbers without a country code: none (change it: etui settings region CODE)
    Name  Categories
    Ada   Crew
    Crew
    $ iconv -t UTF-16 a.vcf > w.vcf; etui --store wide.etui import w.vcf
    w.vcf: groups are labels of their members: Crew, old (2 contacts)
    w.vcf: 4 added (972 bytes)
    Created a store: wide.etui
    Sort order: und; region of phone numbers without a country code: none (change it: etui settings region CODE)
    $ mkdir d; cp a.vcf d; etui --store d.etui import d
    d: 4 added (485 bytes)
    Created a store: d.etui
    Sort order: und; region of phone numbers without a country code: none (change it: etui settings region CODE)
    ");
}

#[test]
fn anniversaries_and_relations_have_columns() {
    let home = TestHome::new();
    for (n, text) in [
        "First Name,Last Name,Labels,Event 1 - Label,Event 1 - Value,Relation 1 - Label,Relation 1 - Value,E-mail 1 - Value\nAnna,Berg,* myContacts ::: Friends,Anniversary,2011-12-02,Spouse,Ole Berg,a@x.example\n",
        "Name,Email,Wedding,Wife\nUdo,u@x.example,2011-12-02,Pat\n",
        "Name,Email,Hochzeitstag,Partner\nIda,i@x.example,2.12.2011,Pat\n",
        "Name,Email,Anniversary,Children\nEva,e@x.example,12/02/2011,Kid\n",
        "Name,Email,Wedding\nOtto,o@x.example,soon\n",
    ]
    .iter()
    .enumerate()
    {
        std::fs::write(home.path(&format!("{n}.csv")), text).unwrap();
    }
    std::fs::write(home.path("g.vcf"), "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:g\r\nFN:Gina\r\nitem1.X-ABDATE:2011-12-02\r\nitem1.X-ABLabel:Anniversary\r\nitem2.X-ABRELATEDNAMES:Pat\r\nitem2.X-ABLabel:Spouse\r\nitem3.X-ABDATE:2001-01-02\r\nitem3.X-ABLabel:Exam\r\nEND:VCARD\r\n").unwrap();
    session!(home, [
        "for file in 0.csv 1.csv 2.csv 3.csv 4.csv g.vcf; do etui import $file; done",
        "etui export --vcard-version 4.0 -o - | grep -A9 FN: | grep -v '^UID\\|^N:\\|VCARD\\|VERSION\\|--'",
    ], @r"
    $ for file in 0.csv 1.csv 2.csv 3.csv 4.csv g.vcf; do etui import $file; done
    0.csv: 1 added (201 bytes)
    Created a store: ~/.local/share/etui/personal.etui
    Sort order: und; region of phone numbers without a country code: none (change it: etui settings region CODE)
    1.csv: 1 added (55 bytes)
    2.csv: 1 added (62 bytes)
    3.csv:2: Anniversary: day and month of 12/02/2011 may be the other way round; it was read as 2011-12-02 (FN:Eva)
    3.csv: 1 added, 1 with warnings (63 bytes)
    4.csv:2: Wedding: the date soon was not understood and is kept as text; write it like 1815-12-10 (FN:Otto)
    4.csv: 1 added, 1 with warnings (41 bytes)
    g.vcf: 1 added (210 bytes)
    $ etui export --vcard-version 4.0 -o - | grep -A9 FN: | grep -v '^UID\|^N:\|VCARD\|VERSION\|--'
    FN:Anna Berg\r
    CATEGORIES:Friends\r
    ANNIVERSARY:20111202\r
    RELATED;TYPE=spouse;VALUE=text:Ole Berg\r
    EMAIL:a@x.example\r
    FN:Udo\r
    EMAIL:u@x.example\r
    ANNIVERSARY:20111202\r
    RELATED;TYPE=spouse;VALUE=text:Pat\r
    FN:Ida\r
    EMAIL:i@x.example\r
    ANNIVERSARY:20111202\r
    item1.RELATED;VALUE=text:Pat\r
    item1.X-ABLABEL:Partner\r
    FN:Eva\r
    EMAIL:e@x.example\r
    ANNIVERSARY:20111202\r
    RELATED;TYPE=child;VALUE=text:Kid\r
    FN:Otto\r
    EMAIL:o@x.example\r
    ANNIVERSARY;VALUE=text:soon\r
    FN:Gina\r
    ANNIVERSARY:20111202\r
    item2.X-ABRELATEDNAMES:Pat\r
    item2.X-ABLabel:Spouse\r
    item3.X-ABDATE:2001-01-02\r
    item3.X-ABLabel:Exam\r
    ");
}

#[test]
fn a_phrase_has_types_and_is_no_file() {
    let home = TestHome::new();
    for (name, text) in [
        ("Anna", ""),
        ("e.vcf", ""),
        ("p.pdf", "%PDF-1.7\n"),
        ("t.txt", "hello\n"),
        ("c.vcf", "BEGIN:VCARD\nVERSION:3.0\nFN:Cy\nEND:VCARD\n"),
    ] {
        std::fs::write(home.path(name), text).unwrap();
    }
    session!(home, [
        "etui contacts add Anna; etui contacts add AC/DC; etui contacts add -q c.vcf; etui contacts list --fields name",
        "etui contacts add Tom Xu 030 2312501 work 0171 3920002 home",
        "etui contacts add Tom Yu, work tom@x.example, home: 030 2312501, born 5 Dec",
        "for file in e.vcf p.pdf t.txt none.vcf ./none; do etui contacts add $file; etui import $file; done",
    ], @r#"
    $ etui contacts add Anna; etui contacts add AC/DC; etui contacts add -q c.vcf; etui contacts list --fields name
    Added 1: Anna
      Given: Anna
    Added 2: AC/DC
      Given: AC/DC
    Name
    AC/DC
    Anna
    Cy
    $ etui contacts add Tom Xu 030 2312501 work 0171 3920002 home
    error: "home" is not understood; name the field: phone:work=..., birthday=..., org=..., note=... (see etui contacts add --help)
    [exit 2]
    $ etui contacts add Tom Yu, work tom@x.example, home: 030 2312501, born 5 Dec
    Added 4: Tom Yu
      Given: Tom
      Family: Yu
      Phone: 030 2312501  (home)
      E-mail: tom@x.example  (work)
      Birthday: 5 December
    $ for file in e.vcf p.pdf t.txt none.vcf ./none; do etui contacts add $file; etui import $file; done
    error: e.vcf: is empty: it has no contacts or entries
    error: e.vcf: is empty: it has no contacts or entries
    error: p.pdf: is a PDF document, which cannot be imported; export the contacts or the calendar as vCard (.vcf), iCalendar (.ics) or CSV
    error: p.pdf: is a PDF document, which cannot be imported; export the contacts or the calendar as vCard (.vcf), iCalendar (.ics) or CSV
    error: t.txt: is a text without a vCard; a table or a list of contacts: etui import FILE
    error: t.txt: has no contacts or entries: it is no vCard, iCalendar, CSV, LDIF or database of a Palm; a table without known columns needs --map COLUMN=FIELD
    error: none.vcf: No such file or directory
    error: none.vcf: No such file or directory
    error: ./none: No such file or directory
    error: ./none: No such file or directory
    [exit 1]
    "#);
}

#[test]
fn names_are_taken_where_numbers_are() {
    let home = TestHome::new();
    session!(home, [
        "etui contacts add -q Ada Byron; etui contacts add -q Bob Ba; etui contacts add -q Bob Be",
        "etui contacts history Ada Byron | wc -l; etui contacts edit -q Ada --set note=x; etui contacts restore Ada Byron; etui contacts history Nobody; etui contacts history bob",
        "etui contacts merge Ada 'Bob Ba' --dry-run | grep -v UID; etui contacts merge -q Ada 'Bob Ba'; etui contacts restore --list; etui contacts restore Bob Ba; etui contacts restore --list",
        "etui calendar add -q 'Standup every monday 9:00'; etui calendar add -q 'Lunch with Ann tomorrow 12:00'; etui calendar add -q --todo 'buy milk'",
        "etui calendar skip -q Standup --on 'next monday' && echo skipped; etui calendar restore -q Standup; etui calendar move -q Standup +1h --on 'next monday' && echo moved; etui calendar done buy milk; etui calendar done buy milk --undo",
        "etui contacts find not anna",
    ], @r#"
    $ etui contacts add -q Ada Byron; etui contacts add -q Bob Ba; etui contacts add -q Bob Be
    $ etui contacts history Ada Byron | wc -l; etui contacts edit -q Ada --set note=x; etui contacts restore Ada Byron; etui contacts history Nobody; etui contacts history bob
    2
    Undid the latest change of 1: Ada Byron
    error: no contact matches: Nobody
    #  Name    Organisation  Phone  E-mail
    2  Bob Ba
    3  Bob Be
    error: 2 contacts match; select one: etui contacts history NUMBER
    [exit 2]
    $ etui contacts merge Ada 'Bob Ba' --dry-run | grep -v UID; etui contacts merge -q Ada 'Bob Ba'; etui contacts restore --list; etui contacts restore Bob Ba; etui contacts restore --list
    Would merge 2 (Bob Ba) into 1: Ada Byron
    +NOTE:Name: Bob Ba\nName parts: Ba\, Bob
    #  Name    Organisation  Phone  E-mail
    2  Bob Ba
    Restored 2: Bob Ba
    The trash is empty.
    $ etui calendar add -q 'Standup every monday 9:00'; etui calendar add -q 'Lunch with Ann tomorrow 12:00'; etui calendar add -q --todo 'buy milk'
    $ etui calendar skip -q Standup --on 'next monday' && echo skipped; etui calendar restore -q Standup; etui calendar move -q Standup +1h --on 'next monday' && echo moved; etui calendar done buy milk; etui calendar done buy milk --undo
    skipped
    moved
    Done 11: buy milk (undo: etui calendar restore 11)
    Opened 11: buy milk (undo: etui calendar restore 11)
    $ etui contacts find not anna
    error: no contact matches: not anna; to leave out those with "anna", put a minus before it: etui contacts find -- -anna
    [exit 4]
    "#);
}

#[test]
fn what_was_corrected_here_stays_when_an_export_is_imported_again() {
    let home = TestHome::with_people();
    session!(home, [
        "etui export -q -o old.vcf; printf 'Name,Phone\\nZed,0301\\n' > z.csv; etui import -q z.csv",
        "etui contacts edit -q 2 --set phone=99; etui contacts edit -q Zed --set phone=98; etui import old.vcf; etui import z.csv",
        "etui contacts find --fields name,phone phone:99 '|' phone:98",
        "etui import --older old.vcf; etui undo -q; etui import -q old.vcf; etui contacts find --fields name,phone phone:99",
        "etui contacts remove -q 1; etui import old.vcf; etui contacts edit 1 --set phone:mobile=0171; etui contacts add -q 'Nora Klein 0171 222333 label Choir'",
        "etui calendar add -q Old --start '2020-01-06 9:00' --repeat weekly; etui calendar edit Old --start tuesday",
    ], @r#"
    $ etui export -q -o old.vcf; printf 'Name,Phone\nZed,0301\n' > z.csv; etui import -q z.csv
    $ etui contacts edit -q 2 --set phone=99; etui contacts edit -q Zed --set phone=98; etui import old.vcf; etui import z.csv
    old.vcf:11: an earlier version of the record with its UID (bob), which was changed here since: it changes nothing (UID:bob)
    old.vcf: 0 added, 3 unchanged, 1 older (590 bytes)
    z.csv:2: an earlier version of the record with its UID (urn:uuid:ad877125-dc4a-8d70-855b-b750b51c7abc), which was changed here since: it changes nothing (FN:Zed)
    z.csv: 0 added, 1 older (20 bytes)
    $ etui contacts find --fields name,phone phone:99 '|' phone:98
    error: no contact matches: phone:99 | phone:98; the word between two choices is `or`
    [exit 4]
    $ etui import --older old.vcf; etui undo -q; etui import -q old.vcf; etui contacts find --fields name,phone phone:99
    old.vcf: 0 added, 1 changed, 3 unchanged (590 bytes)
    old.vcf:11: an earlier version of the record with its UID (bob), which was changed here since: it changes nothing (UID:bob)
    Name     Phone
    Bob Öst  99
    $ etui contacts remove -q 1; etui import old.vcf; etui contacts edit 1 --set phone:mobile=0171; etui contacts add -q 'Nora Klein 0171 222333 label Choir'
    old.vcf:11: an earlier version of the record with its UID (bob), which was changed here since: it changes nothing (UID:bob)
    old.vcf: 1 added, 1 of them back from the trash, 2 unchanged, 1 older (590 bytes)
    Changed 1: Anna Müller (undo: etui contacts restore 1)
    - Phone: 0171 39200 02  (cell, preferred)
      Phone: 0171  (cell, preferred)
    error: "label Choir" is not understood; name the field: phone:work=..., birthday=..., org=..., note=... (see etui contacts add --help)
    [exit 2]
    $ etui calendar add -q Old --start '2020-01-06 9:00' --repeat weekly; etui calendar edit Old --start tuesday
    Its past times were moved, too; for the later ones only: etui calendar edit 13 --from DAY
    Changed 13: Old (undo: etui calendar restore 13)
      Tue 7 Jan 2020, 09:00-10:00
      every week
    "#);
}
