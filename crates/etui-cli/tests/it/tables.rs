//! Contacts in CSV and LDIF: import and export.

use etui_testkit::fixtures::tables;

use crate::harness::{TestHome, session};

/// A home with the sample exports.
fn home() -> TestHome {
    let home = TestHome::new();
    for fixture in tables::ALL {
        std::fs::write(home.path(fixture.name), fixture.bytes).unwrap();
    }
    std::fs::write(home.path("calendar.csv"), tables::CALENDAR).unwrap();
    home
}

#[test]
fn tables_are_imported_once() {
    let home = home();
    session!(home, [
        "etui import google-2023.csv google.csv outlook-1252.csv outlook-web.csv linkedin.csv thunderbird.csv",
        "etui import -q google-2023.csv google.csv outlook-1252.csv outlook-web.csv linkedin.csv thunderbird.csv",
        "etui import google-2023.csv",
        "etui contacts list",
        "etui contacts show 1",
    ], @r#"
    $ etui import google-2023.csv google.csv outlook-1252.csv outlook-web.csv linkedin.csv thunderbird.csv
    google-2023.csv: 4 added (2.0 kB)
    google-2023.csv: kept as custom fields: Location (1 contact)
    google.csv: 2 added (1.1 kB)
    outlook-1252.csv: 2 added (1.7 kB)
    outlook-1252.csv: read as windows-1252; if letters are wrong, import it with --charset NAME
    outlook-1252.csv: kept as custom fields: User 1 (1 contact), Private (1 contact)
    outlook-web.csv: 2 added (1.0 kB)
    outlook-web.csv: kept as custom fields: Office Location (1 contact)
    linkedin.csv: 2 added (483 bytes)
    thunderbird.csv: 2 added (753 bytes)
    thunderbird.csv: kept as custom fields: Custom 1 (1 contact)
    Total: 14 added, 0 changed, 0 unchanged, 0 rejected
    Created a store: ~/.local/share/etui/personal.etui
    Sort order: und; region of phone numbers without a country code: none (change it: etui settings region CODE)
    $ etui import -q google-2023.csv google.csv outlook-1252.csv outlook-web.csv linkedin.csv thunderbird.csv
    $ etui import google-2023.csv
    google-2023.csv: 0 added, 4 unchanged (2.0 kB)
    google-2023.csv: kept as custom fields: Location (1 contact)
    $ etui contacts list
     #  Name                      Organisation         Phone             E-mail
    13  Jörg Beispiel             Beispiel e.V.        +49 30 23125 003  joerg@example.org
     6  Amazing Grace             Navy                                   grace@example.org
     2  Example GmbH              Example GmbH         +49 30 23125 001  info@example-gmbh.example
    10  No Fields
     1  Dr. Ada Augusta Lovelace  Engine Works         +44 20 7946 0123  ada@example.org
    11  Ada Lovelace, PhD         Engine Works, Inc.
     7  Dr. Käthe Müller          Bäckerei Süß         +49 221 4710 002  kaethe.mueller@example.org
     4  newsletter@example.net                                           newsletter@example.net
     8  Zoë O'Hara                                     +353 1 555 0101   zoe@example.com
    12  Bob Öst                                                          bob@example.com
     3  Jürgen Österle                                 +49 30 23125 002
     9  Łukasz Przykład           Przykład sp. z o.o.  +48 500 000 001   lukasz@example.pl
    14  Verteiler                                                        liste@example.org
     5  山田 花子                                      +81 90 0000 0001  hanako@example.jp
    $ etui contacts show 1
    Dr. Ada Augusta Lovelace
      Nickname      Countess
      Organisation  Engine Works, Mills
      Title         Analyst
      Phone         +44 20 7946 0123  (cell)
      Phone         +44 20 7946 0124  (work, fax)
      E-mail        ada@example.org  (home, preferred)
      E-mail        ada.l@example.com  (home, preferred)
      E-mail        ada@engine.example  (work)
      Address       Flat 2, 12 St James's Square, SW1Y 4JH London, UK  (home)
      Web           https://ada.example/  (Blog)
      Birthday      1815-12-10
      Categories    Family, starred
      Note          first line
                    second line, with "quotes"
      N             Lovelace;Ada;Augusta;Dr.;
      IMPP          xmpp:ada@example.org
      RELATED       William King
      ANNIVERSARY   1835-07-08
      X-CUSTOM      38  (Shoe size)
      vCard         4.0, 772 bytes
      UID           urn:uuid:c11d8cde-ca7a-88e8-8965-f509e86c03f9
      ETag          aac5a1e191dc4014dcc967fb2ba1b5ca
      #             1
    "#);
}

#[test]
fn rejected_rows_and_unread_values_are_named() {
    let home = home();
    session!(home, [
        "etui import broken.csv",
        "etui import excel-utf16.txt",
        "etui import --json broken.csv excel-utf16.txt",
    ], @r#"
    $ etui import broken.csv
    broken.csv:4: the quotes of this line are wrong: text follows a closing quote; write a quote inside a quoted field twice (Bob;"Öst;bob@example.com;cut off)
    broken.csv:6: the quotes of this line are wrong: text follows a closing quote; write a quote inside a quoted field twice ("Dan"x;Example;dan@example.org;)
    broken.csv:7: 6 fields, but the header has 4 columns; quote the field that has a separator in it (Eve;Example;eve@example.org;a;b;c)
    broken.csv: 3 added, 3 rejected (254 bytes)
    broken.csv: read as windows-1252; if letters are wrong, import it with --charset NAME
    Created a store: ~/.local/share/etui/personal.etui
    Sort order: und; region of phone numbers without a country code: none (change it: etui settings region CODE)
    error: 3 pieces were rejected; the rest was imported
    [exit 3]
    $ etui import excel-utf16.txt
    excel-utf16.txt:3: Geburtstag: the date unbekannt was not understood and is kept as text; write it like 1815-12-10 (FN:Änne Müller)
    excel-utf16.txt: 2 added, 1 with warnings (314 bytes)
    excel-utf16.txt: kept as custom fields: Kundennummer (1 contact)
    $ etui import --json broken.csv excel-utf16.txt
    {"added":0,"changed":0,"unchanged":5,"older":0,"proposals":0,"refused":3,"removed":0,"files":[{"file":"broken.csv","kind":"contacts","calendar":null,"bytes":254,"added":0,"changed":0,"unchanged":3,"older":0,"proposals":0,"refused":3,"removed":0,"refusals":[{"line":4,"last_line":4,"reason":"the quotes of this line are wrong: text follows a closing quote; write a quote inside a quoted field twice","excerpt":"Bob;\"Öst;bob@example.com;cut off"},{"line":6,"last_line":6,"reason":"the quotes of this line are wrong: text follows a closing quote; write a quote inside a quoted field twice","excerpt":"\"Dan\"x;Example;dan@example.org;"},{"line":7,"last_line":7,"reason":"6 fields, but the header has 4 columns; quote the field that has a separator in it","excerpt":"Eve;Example;eve@example.org;a;b;c"}],"warned":0,"warnings":[],"charset":"windows-1252","kept":[],"skipped":[]},{"file":"excel-utf16.txt","kind":"contacts","calendar":null,"bytes":314,"added":0,"changed":0,"unchanged":2,"older":0,"proposals":0,"refused":0,"removed":0,"refusals":[],"warned":1,"warnings":[{"line":3,"last_line":3,"reason":"Geburtstag: the date unbekannt was not understood and is kept as text; write it like 1815-12-10","excerpt":"FN:Änne Müller"}],"charset":null,"kept":[{"name":"Kundennummer","records":1}],"skipped":[]}],"unread":[]}
    {"error":{"kind":"refused","message":"3 pieces were rejected; the rest was imported"}}
    [exit 3]
    "#);
}

#[test]
fn directories_are_imported() {
    let home = home();
    session!(home, [
        "etui import thunderbird.ldif openldap.ldif",
        "etui import --json openldap.ldif",
        "etui contacts list",
    ], @r#"
    $ etui import thunderbird.ldif openldap.ldif
    thunderbird.ldif: 3 added (1.3 kB)
    thunderbird.ldif: groups are labels of their members: Friends (2 contacts)
    openldap.ldif:15: userPassword: a password, which is not imported (FN:Müller\, Anna)
    openldap.ldif:44: a change of an entry (changetype: modify); only whole entries are imported (dn: uid=eve,ou=people,dc=example,dc=org)
    openldap.ldif: 3 added, 1 rejected, 1 with warnings (1.3 kB)
    openldap.ldif: kept as custom fields: uid (1 contact), uidNumber (1 contact)
    openldap.ldif: groups are labels of their members: team (1 contact)
    openldap.ldif: skipped entries that are no people: dcObject (1), organizationalUnit (1)
    Total: 6 added, 0 changed, 0 unchanged, 1 rejected
    Created a store: ~/.local/share/etui/personal.etui
    Sort order: und; region of phone numbers without a country code: none (change it: etui settings region CODE)
    error: 1 piece was rejected; the rest was imported
    [exit 3]
    $ etui import --json openldap.ldif
    {"added":0,"changed":0,"unchanged":3,"older":0,"proposals":0,"refused":1,"removed":0,"files":[{"file":"openldap.ldif","kind":"contacts","calendar":null,"bytes":1283,"added":0,"changed":0,"unchanged":3,"older":0,"proposals":0,"refused":1,"removed":0,"refusals":[{"line":44,"last_line":48,"reason":"a change of an entry (changetype: modify); only whole entries are imported","excerpt":"dn: uid=eve,ou=people,dc=example,dc=org"}],"warned":1,"warnings":[{"line":15,"last_line":36,"reason":"userPassword: a password, which is not imported","excerpt":"FN:Müller\\, Anna"}],"charset":null,"kept":[{"name":"uid","records":1},{"name":"uidNumber","records":1}],"skipped":[{"name":"dcObject","records":1},{"name":"organizationalUnit","records":1}]}],"unread":[]}
    {"error":{"kind":"refused","message":"1 piece was rejected; the rest was imported"}}
    [exit 3]
    $ etui contacts list
    #  Name           Organisation   Phone             E-mail
    1  Jörg Beispiel  Beispiel e.V.  +49 30 23125 003  joerg@example.org
    5  Bob
    3  Friends
    2  Ada Lovelace                                    ada@example.org
    4  Müller, Anna                  +49 30 23125 006  anna@example.org
    6  team
    "#);
}

#[test]
fn columns_that_look_like_phone_numbers_are_named_before_an_import() {
    let home = home();
    let table = "Vorname;Nachname;Zentrale;2. Adresse\nÅsa;Öst;+49 30 23125 001;a@example.org\n";
    std::fs::write(home.path("unknown.csv"), table).unwrap();
    let cyrillic = b"\xC8\xEC\xFF;\xD4\xE0\xEC\xE8\xEB\xE8\xFF\n\xCE\xEB\xFC\xE3\xE0;\xC8\xE2\xE0\xED\xEE\xE2\xE0\n";
    std::fs::write(home.path("cyrillic.csv"), cyrillic).unwrap();
    session!(home, [
        "etui import unknown.csv",
        "etui import --map Zentrale=phone --map '2. Adresse=email' unknown.csv",
        "etui import --force unknown.csv",
        "etui import cyrillic.csv",
        "etui import --charset cp1252 cyrillic.csv",
        "etui import --charset cp0 cyrillic.csv 2>&1 | head -n 1",
        "etui contacts list --fields name,email,phones | tail -n 3",
    ], @r#"
    $ etui import unknown.csv
    error: unknown.csv: columns with unknown headings: "Zentrale" (phone numbers), "2. Adresse" (e-mail addresses); nothing was imported; to import it: etui import --map 'Zentrale=phone' --map '2. Adresse=email' unknown.csv; or --force keeps them as custom fields
    [exit 3]
    $ etui import --map Zentrale=phone --map '2. Adresse=email' unknown.csv
    unknown.csv: 1 added (78 bytes)
    Created a store: ~/.local/share/etui/personal.etui
    Sort order: und; region of phone numbers without a country code: none (change it: etui settings region CODE)
    $ etui import --force unknown.csv
    unknown.csv: 0 added, 1 changed (78 bytes)
    unknown.csv: kept as custom fields: Zentrale (1 contact), 2. Adresse (1 contact)
    $ etui import cyrillic.csv
    cyrillic.csv: 1 added (26 bytes)
    cyrillic.csv: read as windows-1251; if letters are wrong, import it with --charset NAME
    $ etui import --charset cp1252 cyrillic.csv
    error: cyrillic.csv: is CSV, but its columns are not known: Èìÿ, Ôàìèëèÿ; name those to import, such as: etui import --map 'Èìÿ=name' cyrillic.csv (see etui import --help)
    [exit 3]
    $ etui import --charset cp0 cyrillic.csv 2>&1 | head -n 1
    error: invalid value 'cp0' for '--charset <NAME>': there is no charset of this name; write one such as utf-8, windows-1252, windows-1251, iso-8859-2, shift_jis, gbk, big5, euc-kr
    $ etui contacts list --fields name,email,phones | tail -n 3
    Name           E-mail  Phones
    Åsa Öst
    Ольга Иванова
    "#);
}

#[test]
fn cells_that_a_spreadsheet_runs_are_counted() {
    let home = TestHome::new();
    let card = "BEGIN:VCARD\r\nVERSION:3.0\r\nN:@SUM(1+1);=cmd|calc!A0;;;\r\nFN:=cmd\r\nTEL:+49 30 2312584\r\n\
                NOTE:-2+3\r\nEND:VCARD\r\n";
    std::fs::write(home.path("formula.vcf"), card).unwrap();
    session!(home, [
        "etui import -q formula.vcf",
        "etui export --format csv -o a.csv; head -c 3 a.csv | od -An -tx1",
    ], @r"
    $ etui import -q formula.vcf
    $ etui export --format csv -o a.csv; head -c 3 a.csv | od -An -tx1
    Wrote 1 contact to a.csv
    4 cells with =, +, - or @ at the beginning: a spreadsheet runs them as formulas; look at them before you open the file there
     ef bb bf
    ");
}

#[test]
fn calendars_are_read() {
    let home = TestHome::new();
    std::fs::write(
        home.path("outlook.csv"),
        "Subject,Start Date,Start Time,End Date,End Time,All day event,Location\n\
         Dentist,5/17/2027,9:00:00 AM,5/17/2027,9:30:00 AM,False,Main St. 1\n\
         Holiday,12/25/2027,12:00:00 AM,12/26/2027,12:00:00 AM,True,\n\
         Bad,soon,,,,,\n",
    )
    .unwrap();
    std::fs::write(
        home.path("termine.csv"),
        b"Betreff;Beginnt am;Beginnt um;Endet am;Endet um;Ganzt\xE4giges Ereignis;Ort\n\
          Zahnarzt;3.6.2027;09:00:00;3.6.2027;09:30:00;Aus;M\xFCnchen\n",
    )
    .unwrap();
    session!(home, [
        "etui import outlook.csv termine.csv",
        "etui -q import outlook.csv 2>/dev/null; etui calendar agenda --from 2027-01-01 --to 2027-12-31",
    ], @r"
    $ etui import outlook.csv termine.csv
    outlook.csv: line 4: the start date soon is no day; write it like 2026-12-10, and import the file again (Bad,soon,,,,,)
    outlook.csv: 2 added, 1 rejected (212 bytes)
    termine.csv: read as windows-1252; if letters are wrong, import it with --charset NAME
    termine.csv: 1 added (130 bytes)
    Total: 3 added, 0 changed, 0 unchanged, 1 rejected
    Created a store: ~/.local/share/etui/personal.etui
    Sort order: und; region of phone numbers without a country code: none (change it: etui settings region CODE)
    error: 1 piece was rejected; the rest was imported
    [exit 3]
    $ etui -q import outlook.csv 2>/dev/null; etui calendar agenda --from 2027-01-01 --to 2027-12-31
    Monday, 17 May 2027
      09:00-09:30  Dentist  Main St. 1  #1

    Thursday, 3 June 2027
      09:00-09:30  Zahnarzt  München  #3

    Saturday, 25 December 2027
          all day  Holiday  #2
    ");
}

#[test]
fn columns_are_named_by_a_map() {
    let home = home();
    let table = "Kunde|Ansprechpartner|Tel. 1\n".replace('|', ";")
        + "Example GmbH;Ada Lovelace;+49 30 23125 001\n;Bob Öst;+49 30 23125 002\n";
    std::fs::write(home.path("kunden.csv"), table).unwrap();
    session!(home, [
        "etui import kunden.csv",
        "etui import --map Firma=org kunden.csv",
        "etui import --map Kunde=firm kunden.csv",
        "etui import --map Kunde=org --map Ansprechpartner=name --map 'Tel. 1=phone.work' kunden.csv",
        "etui import --map Kunde=org people.vcf",
        "etui contacts list --fields name,org,phones",
    ], @r#"
    $ etui import kunden.csv
    error: kunden.csv: is CSV, but its columns are not known: Kunde, Ansprechpartner, Tel. 1; name those to import, such as: etui import --map 'Tel. 1=phone' --map 'Kunde=name' kunden.csv (see etui import --help)
    [exit 3]
    $ etui import --map Firma=org kunden.csv
    error: kunden.csv: there is no column "Firma"; its columns are: Kunde, Ansprechpartner, Tel. 1
    [exit 3]
    $ etui import --map Kunde=firm kunden.csv
    error: invalid value 'Kunde=firm' for '--map <COLUMN=FIELD>': there is no property "firm"; one of your own begins with x-: x-firm

    For more information, try '--help'.
    [exit 2]
    $ etui import --map Kunde=org --map Ansprechpartner=name --map 'Tel. 1=phone.work' kunden.csv
    kunden.csv: 2 added (99 bytes)
    Created a store: ~/.local/share/etui/personal.etui
    Sort order: und; region of phone numbers without a country code: none (change it: etui settings region CODE)
    $ etui import --map Kunde=org people.vcf
    --map has no effect: no CSV file was given
    people.vcf: 4 added (590 bytes)
    $ etui contacts list --fields name,org,phones
    Name                           Organisation  Phones
    Bob Öst
    Ada Lovelace                   Example GmbH  +49 30 23125 001
    Anna Müller                    Example GmbH  0171 39200 02, +49 30 23125 001
    Norbert Nobody
    Bob Öst                                      +49 30 23125 002
    Eve \u{1b}[31mTrouble\u{9b}2J                +1 202 555 0143
    "#);
}

#[test]
fn a_table_comes_back_without_the_reported_losses() {
    let home = home();
    session!(home, [
        "etui import -q people.vcf google.csv",
        "etui export --format csv -o out.csv",
        "tail -c +4 out.csv",
        "etui export --format csv --json anna",
        "etui export --format csv --json -o anna.csv anna",
        "etui export --format csv --columns outlook -o outlook.csv anna",
        "sed 1d outlook.csv",
        "etui --store third.etui import outlook.csv",
        "etui --store second.etui import out.csv",
        "etui --store second.etui contacts show 'Bob Öst'",
        "etui export --format csv --calendars",
    ], @r#"
    $ etui import -q people.vcf google.csv
    $ etui export --format csv -o out.csv
    Wrote 6 contacts to out.csv
    Not in the table: UID (5), FN part (1), PHOTO (1). For each contact: --json --output FILE
    $ tail -c +4 out.csv
    First Name,Middle Name,Last Name,Phonetic First Name,Phonetic Middle Name,Phonetic Last Name,Name Prefix,Name Suffix,Nickname,File As,Organization Name,Organization Title,Organization Department,Birthday,Notes,Photo,Labels,E-mail 1 - Label,E-mail 1 - Value,E-mail 2 - Label,E-mail 2 - Value,Phone 1 - Label,Phone 1 - Value,Phone 2 - Label,Phone 2 - Value,Address 1 - Label,Address 1 - PO Box,Address 1 - Extended Address,Address 1 - Street,Address 1 - City,Address 1 - Region,Address 1 - Postal Code,Address 1 - Country,Website 1 - Label,Website 1 - Value,Event 1 - Label,Event 1 - Value,Relation 1 - Label,Relation 1 - Value,Custom Field 1 - Label,Custom Field 1 - Value\r
    Anna,,Müller,,,,,,,,Example GmbH,,Sales,,,,* myContacts,,anna.mueller@example.org,,,Work,+49 30 23125 001,* Mobile,0171 39200 02,,,,,,,,,,,,,,,,\r
    Bob,,Öst,,,,,,,,,,,--02-29,"likes tea, no milk
    and cake",,* myContacts,Home,bob@example.com,,,,,,,,,,,,,,,,,,,,,X-HOBBY,chess\r
    Eve,,Trouble,,,,,,,Eve [31mTrouble2J,,,,,,,* myContacts,,,,,,+1 202 555 0143,,,,,,,,,,,,,,,,,,\r
    Norbert,,Nobody,,,,,,,,,,,,,,* myContacts,,,,,,,,,,,,,,,,,,,,,,,,\r
    花子,,山田,はなこ,,やまだ,,,,,,,,,,https://photos.example/hanako.jpg,Friends ::: * myContacts,* Home,hanako@example.jp,,,Mobile,+81 90 0000 0001,,,,,,,,,,,,,,,,,,\r
    Grace,B.,Example,,,,,,,Amazing Grace,Navy,Admiral,Computing,1906-12-09,"COBOL;
    and a moth",,* myContacts,Work,grace@example.org,Old one,grace@example.com,,,,,Work,,,"1 Yard
    Building 7",Arlington,VA,22202,US,Profile,https://grace.example/,First bug,1947-09-09,Brother,Roger Example,ROLE,Inventor\r
    $ etui export --format csv --json anna
    {"error":{"kind":"usage","message":"--json writes a report to standard output; name a file with --output"}}
    [exit 2]
    $ etui export --format csv --json -o anna.csv anna
    {"path":"anna.csv","contacts":1,"formulas":0,"lost":{"UID":1},"records":[{"id":1,"parts":[{"property":"UID","kind":"property","part":null,"value":"anna"}]}]}
    $ etui export --format csv --columns outlook -o outlook.csv anna
    Wrote 1 contact to outlook.csv
    Not in the table: TEL PREF (1), UID (1). For each contact: --json --output FILE
    $ sed 1d outlook.csv
    ,Anna,,Müller,,Example GmbH,Sales,,,,,,,,,,,,,,,,,,,,,+49 30 23125 001,,,,,,,0171 39200 02,,,,,,,,,,anna.mueller@example.org,,,,,,,,\r
    $ etui --store third.etui import outlook.csv
    outlook.csv: 1 added (837 bytes)
    Created a store: third.etui
    Sort order: und; region of phone numbers without a country code: none (change it: etui settings region CODE)
    $ etui --store second.etui import out.csv
    out.csv: 6 added (1.6 kB)
    Created a store: second.etui
    Sort order: und; region of phone numbers without a country code: none (change it: etui settings region CODE)
    $ etui --store second.etui contacts show 'Bob Öst'
    Bob Öst
      E-mail    bob@example.com  (home)
      Birthday  29 February
      Note      likes tea, no milk
                and cake
      N         Öst;Bob;;;
      X-HOBBY   chess
      vCard     4.0, 213 bytes
      UID       urn:uuid:349bece8-50ae-81d5-b145-84b15f70b8b6
      ETag      24ae385b435ae2a0de17368fb77e71e2
      #         2
    $ etui export --format csv --calendars
    error: the argument '--format <FORMAT>' cannot be used with '--calendars'

    Usage: etui export --format <FORMAT> [FILTER]...

    For more information, try '--help'.
    [exit 2]
    "#);
}
