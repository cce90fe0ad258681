//! Names, addresses, labels and dates: as they are typed, checked, found and shown.

use crate::harness::{TestHome, session};

#[test]
fn a_name_is_split_into_its_parts() {
    let home = TestHome::with_people();
    session!(home, [
        "etui contacts add --name 'Zora Adams' --set uid=zora",
        "etui contacts add --name 'Acme GmbH' --org 'Acme GmbH'",
        "etui contacts list --fields name,family,given",
        "etui contacts edit zora --set name='Dr. Zora van Damme'",
        "etui contacts show zora --vcard",
        "etui contacts edit zora --set family=Adams",
        "etui contacts show zora --vcard | grep N:",
        "etui contacts edit 1 --set name='Anna Meyer'",
        "etui contacts show 1 --vcard | grep N:",
        "etui contacts edit 1 --set given=Anne",
        "etui contacts show 1 --vcard | grep N:",
        "etui contacts add --name Zo --set uid=zo --set family='Marquez Diaz' --set given=Zoraida",
        "etui contacts show zo --vcard | grep N:",
    ], @r"
    $ etui contacts add --name 'Zora Adams' --set uid=zora
    Added 5: Zora Adams
    $ etui contacts add --name 'Acme GmbH' --org 'Acme GmbH'
    Added 6: Acme GmbH
    $ etui contacts list --fields name,family,given
    Name                           Family name  Given names
    Acme GmbH
    Zora Adams                     Adams        Zora
    Bob Öst
    Anna Müller                    Müller       Anna
    Norbert Nobody                 Nobody       Norbert
    Eve \u{1b}[31mTrouble\u{9b}2J  Trouble      Eve
    $ etui contacts edit zora --set name='Dr. Zora van Damme'
    Changed 5: Dr. Zora van Damme (undo: etui contacts restore 5)
    - N: Adams;Zora;;;
      N: van Damme;Zora;;Dr.;
    $ etui contacts show zora --vcard
    BEGIN:VCARD\r
    VERSION:4.0\r
    UID:zora\r
    FN:Dr. Zora van Damme\r
    N:van Damme;Zora;;Dr.;\r
    END:VCARD\r
    $ etui contacts edit zora --set family=Adams
    Changed 5: Dr. Zora Adams (undo: etui contacts restore 5)
    - N: van Damme;Zora;;Dr.;
      N: Adams;Zora;;Dr.;
    $ etui contacts show zora --vcard | grep N:
    BEGIN:VCARD\r
    VERSION:4.0\r
    FN:Dr. Zora Adams\r
    N:Adams;Zora;;Dr.;\r
    $ etui contacts edit 1 --set name='Anna Meyer'
    Changed 1: Anna Meyer (undo: etui contacts restore 1)
    - N: Müller;Anna;;;
      N: Meyer;Anna;;;
    $ etui contacts show 1 --vcard | grep N:
    BEGIN:VCARD\r
    VERSION:3.0\r
    N:Meyer;Anna;;;\r
    FN:Anna Meyer\r
    $ etui contacts edit 1 --set given=Anne
    Changed 1: Anne Meyer (undo: etui contacts restore 1)
    - N: Meyer;Anna;;;
      N: Meyer;Anne;;;
    $ etui contacts show 1 --vcard | grep N:
    BEGIN:VCARD\r
    VERSION:3.0\r
    N:Meyer;Anne;;;\r
    FN:Anne Meyer\r
    $ etui contacts add --name Zo --set uid=zo --set family='Marquez Diaz' --set given=Zoraida
    Added 11: Zo
    $ etui contacts show zo --vcard | grep N:
    BEGIN:VCARD\r
    VERSION:4.0\r
    FN:Zo\r
    N:Marquez Diaz;Zoraida;;;\r
    ");
}

#[test]
fn parts_of_an_address_are_set_by_name() {
    let home = TestHome::with_people();
    session!(home, [
        "etui contacts edit 1 --set street='Hauptstr. 5' --set city=Berlin --set postcode=10115",
        "etui contacts edit 1 --set city:work=Potsdam --set country:work=Germany",
        "etui contacts edit 2 --set address='1 Mall, London SW1A 1AA, UK' --set label=Family",
        "etui contacts show 1 --vcard | grep ADR",
        "etui contacts show 2 | grep -e Address -e Categories",
        "etui contacts edit 1 --remove city=Berlin --remove country",
        "etui contacts show 1 --vcard | grep ADR",
        "etui contacts edit 1 --remove country",
        "etui contacts edit 1 --set phoen=1",
        "etui contacts edit 1 --add famly=x",
        "etui contacts add --name A --set quux=x",
        "etui calendar add X --todo --set titel=x",
        "etui contacts edit 1 --set x-quux=x --remove x-quux",
        "etui contacts edit 1 --add city=Bonn",
    ], @r#"
    $ etui contacts edit 1 --set street='Hauptstr. 5' --set city=Berlin --set postcode=10115
    Changed 1: Anna Müller (undo: etui contacts restore 1)
      Address: Hauptstr. 5, 10115 Berlin
    $ etui contacts edit 1 --set city:work=Potsdam --set country:work=Germany
    Changed 1: Anna Müller (undo: etui contacts restore 1)
      Address: Potsdam, Germany  (work)
    $ etui contacts edit 2 --set address='1 Mall, London SW1A 1AA, UK' --set label=Family
    Changed 2: Bob Öst (undo: etui contacts restore 2)
      Address: 1 Mall, SW1A 1AA London, UK
      Categories: Family
    $ etui contacts show 1 --vcard | grep ADR
    ADR:;;Hauptstr. 5;Berlin;;10115;\r
    ADR;TYPE=work:;;;Potsdam;;;Germany\r
    $ etui contacts show 2 | grep -e Address -e Categories
      Address     1 Mall, SW1A 1AA London, UK
      Categories  Family
    $ etui contacts edit 1 --remove city=Berlin --remove country
    Changed 1: Anna Müller (undo: etui contacts restore 1)
    - Address: Hauptstr. 5, 10115 Berlin
    - Address: Potsdam, Germany  (work)
      Address: Hauptstr. 5, 10115
      Address: Potsdam  (work)
    $ etui contacts show 1 --vcard | grep ADR
    ADR:;;Hauptstr. 5;;;10115;\r
    ADR;TYPE=work:;;;Potsdam;;;\r
    $ etui contacts edit 1 --remove country
    error: contact 1 has no COUNTRY; nothing was changed
    [exit 4]
    $ etui contacts edit 1 --set phoen=1
    error: invalid value 'phoen=1' for '--set <PROP=VALUE>': there is no property "phoen"; did you mean phone? (one of your own begins with x-: x-phoen)

    For more information, try '--help'.
    [exit 2]
    $ etui contacts edit 1 --add famly=x
    error: invalid value 'famly=x' for '--add <PROP=VALUE>': there is no property "famly"; did you mean family? (one of your own begins with x-: x-famly)

    For more information, try '--help'.
    [exit 2]
    $ etui contacts add --name A --set quux=x
    error: invalid value 'quux=x' for '--set <PROP=VALUE>': there is no property "quux"; one of your own begins with x-: x-quux

    For more information, try '--help'.
    [exit 2]
    $ etui calendar add X --todo --set titel=x
    error: invalid value 'titel=x' for '--set <PROP=VALUE>': there is no property "titel"; did you mean title? (one of your own begins with x-: x-titel)

    For more information, try '--help'.
    [exit 2]
    $ etui contacts edit 1 --set x-quux=x --remove x-quux
    error: contact 1 has no X-QUUX; nothing was changed
    [exit 4]
    $ etui contacts edit 1 --add city=Bonn
    error: --add ADR adds a whole property; use --set for a part of one
    [exit 2]
    "#);
}

#[test]
fn one_label_of_several_is_removed() {
    let home = TestHome::with_people();
    session!(home, [
        "etui contacts labels",
        "etui contacts edit 1 --set label=Family,Friends,Work",
        "etui contacts edit 2 --add label=family --add label=Friends",
        "etui contacts labels",
        "etui contacts edit 1 --remove label=Friends",
        "etui contacts show 1 --vcard | grep CAT",
        "etui contacts edit 1 --remove category=Fam",
        "etui contacts edit 2 --remove label=Friends",
        "etui contacts show 2 --vcard | grep CAT",
        "etui contacts labels --json",
        "etui -q calendar add X --todo --set uid=x --category A --category 'B, C' --category D",
        "etui calendar edit x --remove category='B, C'; etui calendar show x --ics | grep CAT",
        "etui calendar edit x --remove label=A; etui calendar show x --ics | grep CAT",
        "etui calendar labels",
    ], @r#"
    $ etui contacts labels
    No labels yet. Add one: etui contacts edit ID --set label=NAME
    $ etui contacts edit 1 --set label=Family,Friends,Work
    Changed 1: Anna Müller (undo: etui contacts restore 1)
      Categories: Family, Friends, Work
    $ etui contacts edit 2 --add label=family --add label=Friends
    Changed 2: Bob Öst (undo: etui contacts restore 2)
      Categories: family, Friends
    $ etui contacts labels
    Contacts  Label
           1  Family
           1  family
           2  Friends
           1  Work
    $ etui contacts edit 1 --remove label=Friends
    Changed 1: Anna Müller (undo: etui contacts restore 1)
    - Categories: Family, Friends, Work
      Categories: Family, Work
    $ etui contacts show 1 --vcard | grep CAT
    CATEGORIES:Family,Work\r
    $ etui contacts edit 1 --remove category=Fam
    error: contact 1 has no CATEGORIES Fam; nothing was changed
    [exit 4]
    $ etui contacts edit 2 --remove label=Friends
    Changed 2: Bob Öst (undo: etui contacts restore 2)
    - Categories: family, Friends
      Categories: family
    $ etui contacts show 2 --vcard | grep CAT
    CATEGORIES:family\r
    $ etui contacts labels --json
    {"label":"Family","contacts":1}
    {"label":"family","contacts":1}
    {"label":"Work","contacts":1}
    $ etui -q calendar add X --todo --set uid=x --category A --category 'B, C' --category D
    $ etui calendar edit x --remove category='B, C'; etui calendar show x --ics | grep CAT
    Changed 9: X (undo: etui calendar restore 9)
    CATEGORIES:A,D\r
    $ etui calendar edit x --remove label=A; etui calendar show x --ics | grep CAT
    Changed 9: X (undo: etui calendar restore 9)
    CATEGORIES:D\r
    $ etui calendar labels
    Entries  Label
          1  D
    "#);
}

/// Numbers as the list shows them, in one argument or several, and any digits in a row.
#[test]
fn a_number_is_found_as_it_is_typed() {
    let home = TestHome::new();
    home.run("etui init --locale de --region DE");
    for (name, phone) in [
        ("Ada", "0151 2345678"),
        ("Bob", "+49 151 7654321"),
        ("Cleo", "(030) 23125-001"),
        ("Dan", "+1 (202) 555-0143"),
        ("Eve 1815", "110"),
    ] {
        home.run(&format!(
            "etui contacts add --name '{name}' --phone '{phone}'"
        ));
    }
    for (typed, names) in [
        ("0151 2345678", "Ada"),
        ("'0151 2345678'", "Ada"),
        ("'+49 151 2345678'", "Ada"),
        ("+49 151 2345678", "Ada"),
        ("01512345678", "Ada"),
        ("2345678", "Ada"),
        ("3456", "Ada"),
        ("345 67", "Ada"),
        ("0151", "Ada Bob"),
        ("0151 7654321", "Bob"),
        ("'+49 (151) 7654321'", "Bob"),
        ("'(030) 23125-001'", "Cleo"),
        ("030/23125001", "Cleo"),
        ("3125-001", "Cleo"),
        ("'202 555'", "Dan"),
        ("'(202) 555-0143'", "Dan"),
        ("'1 202 555 0143'", "Dan"),
        ("'555-0143 dan'", "Dan"),
        ("'555-0143 or (030 23125)'", "Cleo Dan"),
        ("1815", "Eve 1815"),
        ("110", "Eve 1815"),
        ("'0151 -2345678'", "Ada Bob"),
    ] {
        let (text, _) = home.run(&format!(
            "etui contacts find {typed} --fields name | tail -n +2"
        ));
        assert_eq!(text.trim().replace('\n', " "), names, "{typed}");
    }
    let (_, code) = home.run("etui contacts find 0151 9999999");
    assert_eq!(code, Some(4));
}

#[test]
fn apples_notations_are_shown_plainly() {
    let home = TestHome::new();
    std::fs::write(
        home.path("apple.vcf"),
        "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:a\r\nN:Appleseed;Jon;;;\r\nFN:Jon Appleseed\r\n\
         BDAY;X-APPLE-OMIT-YEAR=1604:1604-05-17\r\nitem1.TEL;type=pref:+1 202 555 0143\r\n\
         item1.X-ABLabel:Boat\r\nitem2.EMAIL;type=INTERNET:jon@example.org\r\n\
         item2.X-ABLabel:_$!<Other>!$_\r\nitem3.X-ABRELATEDNAMES:Pat\r\n\
         item3.X-ABLabel:_$!<Spouse>!$_\r\nitem4.X-ABLabel:alone\r\nEND:VCARD\r\n",
    )
    .unwrap();
    session!(home, [
        "etui import -q apple.vcf",
        "etui contacts show 1 | head -9",
        "etui contacts show 1 --json | grep -o '\"phones\".*\"urls\"'",
        "etui contacts show 1 --json | grep -o '\"birthday\":[^,]*'",
    ], @r#"
    $ etui import -q apple.vcf
    $ etui contacts show 1 | head -9
    Jon Appleseed
      Phone             +1 202 555 0143  (Boat, preferred)
      E-mail            jon@example.org  (Other)
      Birthday          17 May
      N                 Appleseed;Jon;;;
      X-ABRELATEDNAMES  Pat  (Spouse)
      item4.X-ABLabel   alone
      vCard             3.0, 338 bytes
      UID               a
    $ etui contacts show 1 --json | grep -o '"phones".*"urls"'
    "phones":[{"value":"+1 202 555 0143","types":[],"preferred":true,"label":"Boat","e164":"+12025550143"}],"emails":[{"value":"jon@example.org","types":[],"preferred":false,"label":"Other"}],"urls"
    $ etui contacts show 1 --json | grep -o '"birthday":[^,]*'
    "birthday":"--05-17"
    "#);
}

#[test]
fn values_are_checked() {
    let home = TestHome::with_people();
    let jpeg = [&[0xFF, 0xD8, 0xFF, 0xE0][..], &[7; 300]].concat();
    std::fs::write(home.path("me.jpg"), jpeg).unwrap();
    session!(home, [
        "etui contacts add --name A --email nobody",
        "etui contacts edit 1 --set email='Ada <ada@example.org>'",
        "etui contacts edit 1 --set birthday=10.12.15",
        "etui contacts edit 2 --set birthday=--12-10; etui contacts show 2 --vcard | grep BDAY",
        "etui contacts edit 1 --set birthday=1815-12-10; etui contacts show 1 --vcard | grep BDAY",
        "etui contacts edit 1 --set photo=me.jpg; etui contacts show 1 | grep Photo",
        "etui contacts show 1 --vcard | grep PHOTO | cut -c1-40",
        "etui contacts edit 2 --set photo=me.jpg; etui contacts show 2 --vcard | grep PHOTO | cut -c1-40",
        "etui contacts add --name P --set uid=p --set photo=me.jpg; etui contacts show p | grep Photo",
        "etui contacts edit 1 --set photo=people.vcf",
        "etui contacts edit 1 --set photo=missing.jpg",
        "etui contacts edit 1 --set photo=",
        "etui contacts edit 1 --set photo=https://example.org/me.jpg; etui contacts show 1 | grep Photo",
        "etui calendar add ' ' --todo",
        "etui -q calendar add X --todo --set uid=x --set attendee=bob@example.org --set organizer=mailto:eve@example.org",
        "etui calendar show x --ics | grep -e ATT -e ORG",
        "etui calendar edit x --set attendee=Bob",
        "etui calendar edit x --title ''",
        "etui calendar edit x --set title=",
    ], @r#"
    $ etui contacts add --name A --email nobody
    error: invalid value 'nobody' for '--email <ADDRESS>': "nobody" is not an e-mail address; write it like ada@example.org

    For more information, try '--help'.
    [exit 2]
    $ etui contacts edit 1 --set email='Ada <ada@example.org>'
    error: invalid value 'email=Ada <ada@example.org>' for '--set <PROP=VALUE>': "Ada <ada@example.org>" is not an e-mail address; write it like ada@example.org

    For more information, try '--help'.
    [exit 2]
    $ etui contacts edit 1 --set birthday=10.12.15
    error: invalid value 'birthday=10.12.15' for '--set <PROP=VALUE>': "10.12.15" is not a date; write it like 1815-12-10, 10.12.1815 or 10 Dec 1815, or without the year --12-10 or 10 Dec

    For more information, try '--help'.
    [exit 2]
    $ etui contacts edit 2 --set birthday=--12-10; etui contacts show 2 --vcard | grep BDAY
    Changed 2: Bob Öst (undo: etui contacts restore 2)
    - Birthday: 29 February
      Birthday: 10 December
    BDAY:--1210\r
    $ etui contacts edit 1 --set birthday=1815-12-10; etui contacts show 1 --vcard | grep BDAY
    Changed 1: Anna Müller (undo: etui contacts restore 1)
      Birthday: 1815-12-10
    BDAY:1815-12-10\r
    $ etui contacts edit 1 --set photo=me.jpg; etui contacts show 1 | grep Photo
    Changed 1: Anna Müller (undo: etui contacts restore 1)
      Photo: image/jpeg, 304 bytes
      Photo         image/jpeg, 304 bytes
    $ etui contacts show 1 --vcard | grep PHOTO | cut -c1-40
    PHOTO;ENCODING=b;TYPE=JPEG:/9j/4AcHBwcHB
    $ etui contacts edit 2 --set photo=me.jpg; etui contacts show 2 --vcard | grep PHOTO | cut -c1-40
    Changed 2: Bob Öst (undo: etui contacts restore 2)
    - Photo: image/png, 8 bytes
      Photo: image/jpeg, 304 bytes
    PHOTO:data:image/jpeg;base64,/9j/4AcHBwc
    $ etui contacts add --name P --set uid=p --set photo=me.jpg; etui contacts show p | grep Photo
    Added 9: P
      Photo  image/jpeg, 304 bytes
    $ etui contacts edit 1 --set photo=people.vcf
    error: people.vcf: is not a photo; a photo is a file in JPEG, PNG, GIF or WebP, or a URL
    [exit 3]
    $ etui contacts edit 1 --set photo=missing.jpg
    error: missing.jpg: No such file or directory
    [exit 1]
    $ etui contacts edit 1 --set photo=
    error: a photo is a file or a URL; to remove the photo: --remove photo
    [exit 2]
    $ etui contacts edit 1 --set photo=https://example.org/me.jpg; etui contacts show 1 | grep Photo
    Changed 1: Anna Müller (undo: etui contacts restore 1)
    - Photo: image/jpeg, 304 bytes
      Photo: https://example.org/me.jpg
      Photo         https://example.org/me.jpg
    $ etui calendar add ' ' --todo
    error: invalid value ' ' for '<TITLE>': a title must not be empty; to remove it: edit --remove title

    For more information, try '--help'.
    [exit 2]
    $ etui -q calendar add X --todo --set uid=x --set attendee=bob@example.org --set organizer=mailto:eve@example.org
    $ etui calendar show x --ics | grep -e ATT -e ORG
    ATTENDEE:mailto:bob@example.org\r
    ORGANIZER:mailto:eve@example.org\r
    $ etui calendar edit x --set attendee=Bob
    error: invalid value 'attendee=Bob' for '--set <PROP=VALUE>': "Bob" is not an e-mail address; write it like ada@example.org

    For more information, try '--help'.
    [exit 2]
    $ etui calendar edit x --title ''
    error: invalid value '' for '--title <TEXT>': a title must not be empty; to remove it: edit --remove title

    For more information, try '--help'.
    [exit 2]
    $ etui calendar edit x --set title=
    error: invalid value 'title=' for '--set <PROP=VALUE>': a title must not be empty; to remove it: edit --remove title

    For more information, try '--help'.
    [exit 2]
    "#);
}

#[test]
fn several_are_changed_at_once() {
    let home = TestHome::with_people();
    session!(home, [
        "etui contacts edit 1 2 anna --add label=Club --dry-run",
        "etui contacts edit 1 2 anna --add label=Club",
        "etui contacts edit --where category:club --remove label=Club --set note=left --dry-run --json",
        "etui contacts labels",
        "etui contacts edit --where '*' --remove label=Club",
        "etui contacts labels",
        "etui contacts restore 1 2",
        "etui contacts labels",
        "etui contacts edit 1 99 --set note=x",
        "etui contacts edit 1 2 --set uid=x",
        "etui contacts edit 1 2 --from people.vcf",
        "etui contacts edit 1 --dry-run",
        "etui contacts edit",
        "etui contacts edit 1 --where ann --set note=x",
        "etui contacts edit --where 'name:(' --set note=x",
        "etui contacts remove --where nobody-here",
        "etui contacts remove --where category:club --dry-run",
        "etui contacts remove --where category:club",
        "etui contacts restore 1 2",
        "etui addressbooks -q create Work",
        "etui contacts -q add --addressbook Work --name 'Anna Worker' --set uid=w",
        "etui contacts remove --where anna --dry-run",
        "etui contacts remove --where anna --addressbook Work --json",
    ], @r#"
    $ etui contacts edit 1 2 anna --add label=Club --dry-run
    Would change 1: Anna Müller
    Would change 2: Bob Öst
    $ etui contacts edit 1 2 anna --add label=Club
    Changed 1: Anna Müller
    Changed 2: Bob Öst
    Undo: etui contacts restore 1 2
    $ etui contacts edit --where category:club --remove label=Club --set note=left --dry-run --json
    {"id":2,"uid":"bob","etag":null,"name":"Bob Öst","outcome":"would_change"}
    {"id":1,"uid":"anna","etag":null,"name":"Anna Müller","outcome":"would_change"}
    $ etui contacts labels
    Contacts  Label
           2  Club
    $ etui contacts edit --where '*' --remove label=Club
    Changed 2: Bob Öst
    Changed 1: Anna Müller
    Unchanged: 2 contacts
    Undo: etui contacts restore 2 1
    $ etui contacts labels
    No labels yet. Add one: etui contacts edit ID --set label=NAME
    $ etui contacts restore 1 2
    Redid the latest change of 1: Anna Müller (older versions: etui contacts history 1)
    Redid the latest change of 2: Bob Öst (older versions: etui contacts history 2)
    $ etui contacts labels
    Contacts  Label
           2  Club
    $ etui contacts edit 1 99 --set note=x
    error: there is no contact number 99; to search for a phone number: etui contacts find phone:99
    [exit 4]
    $ etui contacts edit 1 2 --set uid=x
    error: the UID identifies the contact and cannot change: it is anna, the text has x. To add another contact: etui contacts add FILE
    [exit 3]
    $ etui contacts edit 1 2 --from people.vcf
    error: several contacts, and --dry-run, need --set, --add or --remove, and no --if-match
    [exit 2]
    $ etui contacts edit 1 --dry-run
    error: several contacts, and --dry-run, need --set, --add or --remove, and no --if-match
    [exit 2]
    $ etui contacts edit
    error: the following required arguments were not provided:
      <ID|NAME>...

    Usage: etui contacts edit <ID|NAME>...

    For more information, try '--help'.
    [exit 2]
    $ etui contacts edit 1 --where ann --set note=x
    error: the argument '[ID|NAME]...' cannot be used with '--where <FILTER>'

    Usage: etui contacts edit --set <PROP=VALUE> <ID|NAME>...

    For more information, try '--help'.
    [exit 2]
    $ etui contacts edit --where 'name:(' --set note=x
    error: in the filter, at character 6: something to look for is missing here
    [exit 2]
    $ etui contacts remove --where nobody-here
    error: no contact matches: nobody-here
    [exit 4]
    $ etui contacts remove --where category:club --dry-run
    Would remove 2: Bob Öst
    Would remove 1: Anna Müller
    $ etui contacts remove --where category:club
    Removed 2: Bob Öst
    Removed 1: Anna Müller
    Undo: etui contacts restore 2 1
    $ etui contacts restore 1 2
    Restored 1: Anna Müller
    Restored 2: Bob Öst
    $ etui addressbooks -q create Work
    $ etui contacts -q add --addressbook Work --name 'Anna Worker' --set uid=w
    $ etui contacts remove --where anna --dry-run
    Would remove 1: Anna Müller
    Would remove 15: Anna Worker
    $ etui contacts remove --where anna --addressbook Work --json
    {"id":15,"uid":"w","etag":null,"name":"Anna Worker","outcome":"removed"}
    "#);
}

#[test]
fn a_number_is_set_by_its_type_and_removed_by_its_digits() {
    let home = TestHome::with_people();
    session!(home, [
        "etui contacts edit 1 --set phone:work='+49 30 23125 999' --set phone:home='030 5550100'",
        "etui contacts show 1 --vcard | grep TEL",
        "etui contacts edit 1 --add phone:work='+49 30 23125 002'",
        "etui contacts edit 1 --set phone:work='+49 30 23125 003'",
        "etui contacts edit 1 --remove phone=493023125002 --remove phone=0171-3920002",
        "etui contacts show 1 --vcard | grep TEL",
        "etui contacts edit 1 --remove phone=4930",
        "etui contacts edit 1 --set mobile='0171 39200 02'",
    ], @r#"
    $ etui contacts edit 1 --set phone:work='+49 30 23125 999' --set phone:home='030 5550100'
    Changed 1: Anna Müller (undo: etui contacts restore 1)
    - Phone: +49 30 23125 001  (work)
      Phone: +49 30 23125 999  (work)
      Phone: 030 5550100  (home)
    $ etui contacts show 1 --vcard | grep TEL
    TEL;TYPE=WORK:+49 30 23125 999\r
    TEL;TYPE=CELL,PREF:0171 39200 02\r
    TEL;TYPE=home:030 5550100\r
    $ etui contacts edit 1 --add phone:work='+49 30 23125 002'
    Changed 1: Anna Müller (undo: etui contacts restore 1)
      Phone: +49 30 23125 002  (work)
    $ etui contacts edit 1 --set phone:work='+49 30 23125 003'
    error: contact 1 has several phone:work: +49 30 23125 999; +49 30 23125 002; replace one: --set "phone=OLD>NEW"; add another: --add phone:work=NEW; or remove one: --remove phone=OLD
    [exit 2]
    $ etui contacts edit 1 --remove phone=493023125002 --remove phone=0171-3920002
    Changed 1: Anna Müller (undo: etui contacts restore 1)
    - Phone: 0171 39200 02  (cell, preferred)
    - Phone: +49 30 23125 002  (work)
    $ etui contacts show 1 --vcard | grep TEL
    TEL;TYPE=WORK:+49 30 23125 999\r
    TEL;TYPE=home:030 5550100\r
    $ etui contacts edit 1 --remove phone=4930
    error: contact 1 has no TEL 4930; nothing was changed
    [exit 4]
    $ etui contacts edit 1 --set mobile='0171 39200 02'
    error: invalid value 'mobile=0171 39200 02' for '--set <PROP=VALUE>': there is no property "mobile"; write phone:cell="+44 20 7946 0123"

    For more information, try '--help'.
    [exit 2]
    "#);
}

#[test]
fn dates_of_contacts_in_several_forms() {
    let home = TestHome::with_people();
    session!(home, [
        "etui contacts edit 1 --set birthday=27.11.1974",
        "etui contacts show 1 --vcard | grep BDAY",
        "etui contacts edit 2 --set birthday='27 Nov'",
        "etui contacts show 2 --vcard | grep BDAY",
        "etui contacts edit 2 --set birthday=11/10/1974",
        "etui contacts edit 2 --set birthday=27.11.74",
    ], @r#"
    $ etui contacts edit 1 --set birthday=27.11.1974
    Changed 1: Anna Müller (undo: etui contacts restore 1)
      Birthday: 1974-11-27
    $ etui contacts show 1 --vcard | grep BDAY
    BDAY:1974-11-27\r
    $ etui contacts edit 2 --set birthday='27 Nov'
    Changed 2: Bob Öst (undo: etui contacts restore 2)
    - Birthday: 29 February
      Birthday: 27 November
    $ etui contacts show 2 --vcard | grep BDAY
    BDAY:--1127\r
    $ etui contacts edit 2 --set birthday=11/10/1974
    error: invalid value 'birthday=11/10/1974' for '--set <PROP=VALUE>': "11/10/1974" is 1974-11-10 or 1974-10-11; write one of them

    For more information, try '--help'.
    [exit 2]
    $ etui contacts edit 2 --set birthday=27.11.74
    error: invalid value 'birthday=27.11.74' for '--set <PROP=VALUE>': "27.11.74" is not a date; write it like 1815-12-10, 10.12.1815 or 10 Dec 1815, or without the year --12-10 or 10 Dec

    For more information, try '--help'.
    [exit 2]
    "#);
}

#[test]
fn labels_and_cities_are_fields() {
    let home = TestHome::with_people();
    session!(home, [
        "etui contacts -q edit 1 --set label=Club,Work --set address='Hauptstr. 5, 10115 Berlin' --set birthday='30 Nov'",
        "etui contacts -q edit 2 --set phone='tel:+44-20-7946-0123;ext=5' --set birthday=1974-11-30",
        "etui contacts find label:club --fields name,labels,address,city,birthday",
        "etui contacts find city:berlin postcode:10115 --fields name",
        "etui contacts find categry:club",
        "etui contacts list --fields name,adress",
        "etui contacts find bob",
        "etui contacts find name:bob --fields phone,birthday --json",
        "etui contacts show 2 | grep -e Phone -e Birth",
        "etui contacts show 1 | grep -e Birth",
    ], @r#"
    $ etui contacts -q edit 1 --set label=Club,Work --set address='Hauptstr. 5, 10115 Berlin' --set birthday='30 Nov'
    $ etui contacts -q edit 2 --set phone='tel:+44-20-7946-0123;ext=5' --set birthday=1974-11-30
    $ etui contacts find label:club --fields name,labels,address,city,birthday
    Name         Categories  Addresses                  Cities  Birthday
    Anna Müller  Club, Work  Hauptstr. 5, 10115 Berlin  Berlin  30 November
    $ etui contacts find city:berlin postcode:10115 --fields name
    Name
    Anna Müller
    $ etui contacts find categry:club
    error: in the filter, at character 1: there is no field "categry"; did you mean category? Fields are any, name, display, family, given, nick, org, email, phone, phone.written, category, label, note, title, address, city, postcode, country, birthday, kind, everywhere, uid (quote a text with ":")
    [exit 2]
    $ etui contacts list --fields name,adress
    error: invalid value 'adress' for '--fields <NAME,...>': there is no field "adress"; did you mean address? Fields: id, name, org, phone, email, uid, etag, family, given, nick, phones, emails, categories, note, address, city, birthday, card

    For more information, try '--help'.
    [exit 2]
    $ etui contacts find bob
    #  Name     Organisation  Phone                    E-mail
    2  Bob Öst                +44-20-7946-0123 ext. 5  bob@example.com
    $ etui contacts find name:bob --fields phone,birthday --json
    {"phone":"tel:+44-20-7946-0123;ext=5","birthday":"1974-11-30"}
    $ etui contacts show 2 | grep -e Phone -e Birth
      Phone     +44-20-7946-0123 ext. 5
      Birthday  1974-11-30
    $ etui contacts show 1 | grep -e Birth
      Birthday      30 November
    "#);
}

#[test]
fn a_contact_is_changed_by_its_name() {
    let home = TestHome::with_people();
    session!(home, [
        "etui contacts edit Norbert Nobody --set note=x",
        "etui contacts edit bob --if-match 00000000000000000000000000000000 --set note=x",
        "etui contacts edit 'bob öst' --set email=bob@example.org",
        "etui contacts edit o --set note=x",
        "etui contacts edit nosuch --set note=x",
        "etui contacts edit urn:uuid:1 --set note=x",
        "etui contacts remove norbert --dry-run",
        "etui contacts remove norbert",
        "etui contacts remove example",
        "etui -q calendar add 'Dentist 2027-03-09 9:00'",
        "etui calendar edit dentist --place Hall",
        "etui calendar remove dentist",
    ], @"
    $ etui contacts edit Norbert Nobody --set note=x
    Changed 4: Norbert Nobody (undo: etui contacts restore 4)
      Note: x
    $ etui contacts edit bob --if-match 00000000000000000000000000000000 --set note=x
    error: contact bob was changed in the meantime; nothing was overwritten. See its current state: etui contacts show bob
    [exit 5]
    $ etui contacts edit 'bob öst' --set email=bob@example.org
    Changed 2: Bob Öst (undo: etui contacts restore 2)
    - E-mail: bob@example.com  (home)
      E-mail: bob@example.org  (home)
    $ etui contacts edit o --set note=x
    Changed 2: Bob Öst (undo: etui contacts restore 2)
    - Note: likes tea, no milk and cake
      Note: x
    $ etui contacts edit nosuch --set note=x
    error: no contact matches: nosuch
    [exit 4]
    $ etui contacts edit urn:uuid:1 --set note=x
    error: there is no contact with the UID urn:uuid:1; `etui contacts find` lists the numbers
    [exit 4]
    $ etui contacts remove norbert --dry-run
    Would remove 4: Norbert Nobody
    $ etui contacts remove norbert
    Removed 4: Norbert Nobody
    Undo: etui contacts restore 4
    $ etui contacts remove example
    Removed 1: Anna Müller
    Undo: etui contacts restore 1
    $ etui -q calendar add 'Dentist 2027-03-09 9:00'
    $ etui calendar edit dentist --place Hall
    Changed 10: Dentist (undo: etui calendar restore 10)
      Tue 9 Mar 2027, 09:00-10:00
      at Hall
    $ etui calendar remove dentist
    Removed 10: Dentist
    Undo: etui calendar restore 10
    ");
}

/// One of several values is never replaced in silence.
#[test]
fn one_of_several_values_is_named() {
    let home = TestHome::with_people();
    session!(home, [
        "etui contacts edit 1 --set phone=112",
        "etui contacts edit 1 --set 'phone=+49 171 3920002>0171 5551234'",
        "etui contacts edit 1 --set 'phone=017139200 02 > 0171 5551234'",
        "etui contacts edit 1 --set 'phone=999 > 1'",
        "etui contacts edit 1 -q --add email:home=anna@example.org --add url=https://a.example --add url=https://b.example --add 'address=Weg 1, 10115 Berlin' --add 'address:work=Allee 2, Bonn' --add label=Club,Work --add 'note=a' --add 'note=b'",
        "etui contacts edit 1 --set email=x@example.org",
        "etui contacts edit 1 --set 'email=ANNA@example.org>x@example.org'",
        "etui contacts edit 1 --set 'email=x@example.org>nonsense'",
        "etui contacts edit 1 --set url=https://c.example",
        "etui contacts edit 1 --set 'url=https://a.example>https://c.example'",
        "etui contacts edit 1 --set city=Ulm",
        "etui contacts edit 1 --set city:work=Ulm",
        "etui contacts edit 1 --set 'address=Weg 1>Gasse 3, 10117 Berlin'",
        "etui contacts edit 1 --set label=Family",
        "etui contacts edit 1 --set 'label=Work>Family'",
        "etui contacts edit 1 --set note=c",
        "etui contacts edit 1 --set 'note=b>c'",
        "etui contacts edit 2 --set 'note=tea > coffee'",
        "etui contacts edit 1 --add 'phone=1>2'",
        "etui contacts edit --where anna --set phone=112 --dry-run",
        "etui contacts show 1 --vcard",
    ], @r#"
    $ etui contacts edit 1 --set phone=112
    error: contact 1 has several phone: +49 30 23125 001; 0171 39200 02; replace one: --set "phone=OLD>NEW"; add another: --add phone=NEW; or remove one: --remove phone=OLD
    [exit 2]
    $ etui contacts edit 1 --set 'phone=+49 171 3920002>0171 5551234'
    error: contact 1 has no phone +49 171 3920002: it has +49 30 23125 001; 0171 39200 02; nothing was changed
    [exit 4]
    $ etui contacts edit 1 --set 'phone=017139200 02 > 0171 5551234'
    Changed 1: Anna Müller (undo: etui contacts restore 1)
    - Phone: 0171 39200 02  (cell, preferred)
      Phone: 0171 5551234  (cell, preferred)
    $ etui contacts edit 1 --set 'phone=999 > 1'
    error: contact 1 has no phone 999: it has +49 30 23125 001; 0171 5551234; nothing was changed
    [exit 4]
    $ etui contacts edit 1 -q --add email:home=anna@example.org --add url=https://a.example --add url=https://b.example --add 'address=Weg 1, 10115 Berlin' --add 'address:work=Allee 2, Bonn' --add label=Club,Work --add 'note=a' --add 'note=b'
    $ etui contacts edit 1 --set email=x@example.org
    error: contact 1 has several email: anna.mueller@example.org; anna@example.org; replace one: --set "email=OLD>NEW"; add another: --add email=NEW; or remove one: --remove email=OLD
    [exit 2]
    $ etui contacts edit 1 --set 'email=ANNA@example.org>x@example.org'
    Changed 1: Anna Müller (undo: etui contacts restore 1)
    - E-mail: anna@example.org  (home)
      E-mail: x@example.org  (home)
    $ etui contacts edit 1 --set 'email=x@example.org>nonsense'
    error: invalid value 'email=x@example.org>nonsense' for '--set <PROP=VALUE>': "nonsense" is not an e-mail address; write it like ada@example.org

    For more information, try '--help'.
    [exit 2]
    $ etui contacts edit 1 --set url=https://c.example
    error: contact 1 has several web: https://a.example; https://b.example; replace one: --set "web=OLD>NEW"; add another: --add web=NEW; or remove one: --remove web=OLD
    [exit 2]
    $ etui contacts edit 1 --set 'url=https://a.example>https://c.example'
    Changed 1: Anna Müller (undo: etui contacts restore 1)
    - Web: https://a.example
      Web: https://c.example
    $ etui contacts edit 1 --set city=Ulm
    error: contact 1 has several address: Weg 1, Berlin, 10115; Allee 2, Bonn; name its type, or replace the whole: --set address=OLD>NEW
    [exit 2]
    $ etui contacts edit 1 --set city:work=Ulm
    Changed 1: Anna Müller (undo: etui contacts restore 1)
    - Address: Allee 2, Bonn  (work)
      Address: Allee 2, Ulm  (work)
    $ etui contacts edit 1 --set 'address=Weg 1>Gasse 3, 10117 Berlin'
    Changed 1: Anna Müller (undo: etui contacts restore 1)
    - Address: Weg 1, 10115 Berlin
      Address: Gasse 3, 10117 Berlin
    $ etui contacts edit 1 --set label=Family
    error: contact 1 has several label: Club; Work; replace one: --set "label=OLD>NEW"; add another: --add label=NEW; or remove one: --remove label=OLD
    [exit 2]
    $ etui contacts edit 1 --set 'label=Work>Family'
    Changed 1: Anna Müller (undo: etui contacts restore 1)
    - Categories: Club, Work
      Categories: Club, Family
    $ etui contacts edit 1 --set note=c
    error: contact 1 has several note: a; b; replace one: --set "note=OLD>NEW"; add another: --add note=NEW; or remove one: --remove note=OLD
    [exit 2]
    $ etui contacts edit 1 --set 'note=b>c'
    Changed 1: Anna Müller (undo: etui contacts restore 1)
    - Note: a b
      Note: a c
    $ etui contacts edit 2 --set 'note=tea > coffee'
    Changed 2: Bob Öst (undo: etui contacts restore 2)
    - Note: likes tea, no milk and cake
      Note: tea > coffee
    $ etui contacts edit 1 --add 'phone=1>2'
    error: OLD>NEW is for --set; --add adds a value
    [exit 2]
    $ etui contacts edit --where anna --set phone=112 --dry-run
    error: contact 1 has several phone: +49 30 23125 001; 0171 5551234; replace one: --set "phone=OLD>NEW"; add another: --add phone=NEW; or remove one: --remove phone=OLD
    [exit 2]
    $ etui contacts show 1 --vcard
    BEGIN:VCARD\r
    VERSION:3.0\r
    UID:anna\r
    N:Müller;Anna;;;\r
    FN:Anna Müller\r
    ORG:Example GmbH;Sales\r
    TEL;TYPE=WORK:+49 30 23125 001\r
    TEL;TYPE=CELL,PREF:0171 5551234\r
    EMAIL:anna.mueller@example.org\r
    EMAIL;TYPE=home:x@example.org\r
    URL:https://c.example\r
    URL:https://b.example\r
    ADR:;;Gasse 3;Berlin;;10117;\r
    ADR;TYPE=work:;;Allee 2;Ulm;;;\r
    CATEGORIES:Club,Family\r
    NOTE:a\r
    NOTE:c\r
    END:VCARD\r
    "#);
}

#[test]
fn a_phrase_makes_a_contact() {
    let home = TestHome::new();
    session!(home, [
        "etui contacts add Ada Lovelace ada@example.org +44 20 7946 0123",
        "etui contacts add 'Lovelace, Ada, org=Acme'",
        "etui contacts add ada.vcf",
        "etui contacts add people.vcf",
        "etui contacts add ada@example.org",
        "etui contacts add Ada 'phone=1>2'",
        "etui contacts add",
        "etui contacts list --fields name,phone,email,org",
    ], @"
    $ etui contacts add Ada Lovelace ada@example.org +44 20 7946 0123
    Added 1: Ada Lovelace
      Given: Ada
      Family: Lovelace
      Phone: +44 20 7946 0123
      E-mail: ada@example.org
    $ etui contacts add 'Lovelace, Ada, org=Acme'
    Added 2: Lovelace, Ada
      Given: Ada
      Family: Lovelace
      Organisation: Acme
    $ etui contacts add ada.vcf
    error: ada.vcf: No such file or directory
    [exit 1]
    $ etui contacts add people.vcf
    error: more than one vCard; give them one at a time, or import them as a file
    [exit 3]
    $ etui contacts add ada@example.org
    error: a name is missing
    [exit 2]
    $ etui contacts add Ada 'phone=1>2'
    error: OLD>NEW changes a contact: etui contacts edit ID --set
    [exit 2]
    $ etui contacts add
    error: give the name: etui contacts add --name NAME, or a file with a vCard (`-` is standard input)
    [exit 2]
    $ etui contacts list --fields name,phone,email,org
    Name           Phone             E-mail           Organisation
    Ada Lovelace   +44 20 7946 0123  ada@example.org
    Lovelace, Ada                                     Acme
    ");
}
