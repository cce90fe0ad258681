//! Likely duplicates are listed, compared and merged.

use crate::harness::{TestHome, session};

/// Contacts of two exports.
const EXPORTS: &str = "\
BEGIN:VCARD\r\nVERSION:3.0\r\nUID:a1\r\nN:Lovelace;Ada;;;\r\nFN:Ada Lovelace\r\n\
TEL;TYPE=CELL:+44 20 7946 0123\r\nBDAY:1815-12-10\r\nEND:VCARD\r\n\
BEGIN:VCARD\r\nVERSION:3.0\r\nUID:b1\r\nN:Öst;Bo;;;\r\nFN:Bo Öst\r\nEMAIL:bo@example.org\r\nEND:VCARD\r\n\
BEGIN:VCARD\r\nVERSION:3.0\r\nUID:a2\r\nN:Lovelace;Ada;;;\r\nFN:Lovelace\\, Ada\r\n\
item1.TEL;TYPE=HOME:+442079460123\r\nitem1.X-ABLabel:Boat\r\nEMAIL;TYPE=WORK:ada@example.org\r\n\
BDAY:1815-12-11\r\nREV:2026-01-02T03:04:05Z\r\nEND:VCARD\r\n\
BEGIN:VCARD\r\nVERSION:4.0\r\nUID:b2\r\nFN:bo@example.org\r\nEMAIL:Bo@example.org\r\nEND:VCARD\r\n\
BEGIN:VCARD\r\nVERSION:4.0\r\nUID:c1\r\nFN:Charles Babbage\r\nTEL:+44 20 7946 0123\r\nEND:VCARD\r\n";

fn home() -> TestHome {
    let home = TestHome::new();
    std::fs::write(home.path("exports.vcf"), EXPORTS).unwrap();
    assert_eq!(home.run("etui -q import exports.vcf"), ("".into(), Some(0)));
    home
}

#[test]
fn pairs_are_listed_compared_and_merged() {
    let home = home();
    session!(home, [
        "etui contacts duplicates",
        "etui contacts duplicates --min-score 0",
        "etui contacts duplicates 1 3",
        "etui contacts merge 1 3 --dry-run",
        "etui contacts merge 1 3",
        "etui contacts show 1 --vcard",
        "etui contacts duplicates",
        "etui contacts restore 1 3",
        "etui contacts merge 2 b2",
        "etui contacts show 2 --vcard",
        "etui contacts duplicates",
    ], @r"
    $ etui contacts duplicates
    Score  #  Name          #  Name            Why
       60  1  Ada Lovelace  3  Lovelace, Ada   name, phone +442079460123; other birthday
       50  2  Bo Öst        4  bo@example.org  bo@example.org
    Compare two: etui contacts duplicates 1 3
    Merge two: etui contacts merge 1 3
    $ etui contacts duplicates --min-score 0
    Score  #  Name           #  Name             Why
       60  1  Ada Lovelace   3  Lovelace, Ada    name, phone +442079460123; other birthday
       50  2  Bo Öst         4  bo@example.org   bo@example.org
        0  1  Ada Lovelace   5  Charles Babbage  phone +442079460123; other name
        0  3  Lovelace, Ada  5  Charles Babbage  phone +442079460123; other name
    Compare two: etui contacts duplicates 1 3
    Merge two: etui contacts merge 1 3
    $ etui contacts duplicates 1 3
    --- 1 Ada Lovelace
    +++ 3 Lovelace, Ada
    -UID:a1
    +UID:a2
    -FN:Ada Lovelace
    +FN:Lovelace\, Ada
    -TEL;TYPE=CELL:+44 20 7946 0123
    +item1.TEL;TYPE=HOME:+442079460123
    -BDAY:1815-12-10
    +BDAY:1815-12-11
    +item1.X-ABLabel:Boat
    +EMAIL;TYPE=WORK:ada@example.org
    +REV:2026-01-02T03:04:05Z
    Merge them: etui contacts merge 1 3
    $ etui contacts merge 1 3 --dry-run
    Would merge 3 (Lovelace, Ada) into 1: Ada Lovelace
    -TEL;TYPE=CELL:+44 20 7946 0123
    +item1.TEL;TYPE=CELL;TYPE=home:+44 20 7946 0123
    +item1.X-ABLabel:Boat
    +EMAIL;TYPE=WORK:ada@example.org
    +NOTE:Birthday: 1815-12-11
    Not taken: UID:a2
    Not taken: REV:2026-01-02T03:04:05Z
    $ etui contacts merge 1 3
    Merged 3 (Lovelace, Ada) into 1: Ada Lovelace
    Undo: etui contacts restore 1 3
    $ etui contacts show 1 --vcard
    BEGIN:VCARD\r
    VERSION:3.0\r
    UID:a1\r
    N:Lovelace;Ada;;;\r
    FN:Ada Lovelace\r
    item1.TEL;TYPE=CELL;TYPE=home:+44 20 7946 0123\r
    BDAY:1815-12-10\r
    item1.X-ABLabel:Boat\r
    EMAIL;TYPE=WORK:ada@example.org\r
    NOTE:Birthday: 1815-12-11\r
    END:VCARD\r
    $ etui contacts duplicates
    Score  #  Name    #  Name            Why
       50  2  Bo Öst  4  bo@example.org  bo@example.org
    Compare two: etui contacts duplicates 2 4
    Merge two: etui contacts merge 2 4
    $ etui contacts restore 1 3
    Undid the latest change of 1: Ada Lovelace
    Restored 3: Lovelace, Ada
    $ etui contacts merge 2 b2
    Merged 4 (bo@example.org) into 2: Bo Öst
    Undo: etui contacts restore 2 4
    $ etui contacts show 2 --vcard
    BEGIN:VCARD\r
    VERSION:4.0\r
    UID:b1\r
    N:Öst;Bo;;;\r
    FN:Bo Öst\r
    EMAIL:bo@example.org\r
    END:VCARD\r
    $ etui contacts duplicates
    Score  #  Name          #  Name           Why
       60  1  Ada Lovelace  3  Lovelace, Ada  name, phone +442079460123; other birthday
    Compare two: etui contacts duplicates 1 3
    Merge two: etui contacts merge 1 3
    ");
}

#[test]
fn pairs_as_json() {
    let home = home();
    session!(home, [
        "etui contacts duplicates --json --limit 1",
        "etui contacts duplicates 2 4 --json",
        "etui contacts merge 2 4 --dry-run --json",
        "etui contacts merge 2 4 --json",
    ], @r#"
    $ etui contacts duplicates --json --limit 1
    {"score":60,"first":{"id":1,"name":"Ada Lovelace"},"second":{"id":3,"name":"Lovelace, Ada"},"reasons":[{"kind":"same_name","value":null},{"kind":"same_phone","value":"+442079460123"},{"kind":"different_birthday","value":null}],"addressbook":"Contacts"}
    $ etui contacts duplicates 2 4 --json
    {"first":2,"second":4,"lines":[{"sign":"-","property":"VERSION","line":"VERSION:3.0"},{"sign":"+","property":"VERSION","line":"VERSION:4.0"},{"sign":"-","property":"UID","line":"UID:b1"},{"sign":"+","property":"UID","line":"UID:b2"},{"sign":"-","property":"N","line":"N:Öst;Bo;;;"},{"sign":"-","property":"FN","line":"FN:Bo Öst"},{"sign":"+","property":"FN","line":"FN:bo@example.org"},{"sign":"-","property":"EMAIL","line":"EMAIL:bo@example.org"},{"sign":"+","property":"EMAIL","line":"EMAIL:Bo@example.org"}]}
    $ etui contacts merge 2 4 --dry-run --json
    {"id":2,"uid":"b1","etag":null,"name":"Bo Öst","outcome":"would_merge","merged":[4],"left_out":["UID:b2"],"vcard":"BEGIN:VCARD\r\nVERSION:4.0\r\nUID:b1\r\nN:Öst;Bo;;;\r\nFN:Bo Öst\r\nEMAIL:bo@example.org\r\nEND:VCARD\r\n"}
    $ etui contacts merge 2 4 --json
    {"id":2,"uid":"b1","etag":"abfc22ca10005258acb132735099b767","name":"Bo Öst","outcome":"merged","merged":[4],"left_out":["UID:b2"],"repaired":[]}
    "#);
}

#[test]
fn what_cannot_be_merged_is_refused() {
    let home = home();
    session!(home, [
        "etui contacts merge 1",
        "etui contacts merge 1 1",
        "etui contacts merge 1 99",
        "etui contacts duplicates 1",
        "etui contacts duplicates --min-score 101",
        "etui -q addressbooks create Work",
        "etui -q contacts move --to Work 3",
        "etui contacts merge 1 a2",
        "etui contacts duplicates",
    ], @r"
    $ etui contacts merge 1
    error: 2 values required by '<ID|NAME> <ID|NAME>...'; only 1 was provided

    Usage: etui contacts merge [OPTIONS] <ID|NAME> <ID|NAME>...

    For more information, try '--help'.
    [exit 2]
    $ etui contacts merge 1 1
    error: there is nothing to merge; give two or more different contacts
    [exit 2]
    $ etui contacts merge 1 99
    error: there is no contact number 99; to search for a phone number: etui contacts find phone:99
    [exit 4]
    $ etui contacts duplicates 1
    error: 2 values required for '[ID] [ID]...' but 1 was provided

    Usage: etui contacts duplicates [OPTIONS] [ID] [ID]...

    For more information, try '--help'.
    [exit 2]
    $ etui contacts duplicates --min-score 101
    error: invalid value '101' for '--min-score <N>': 101 is not in 0..=100

    For more information, try '--help'.
    [exit 2]
    $ etui -q addressbooks create Work
    $ etui -q contacts move --to Work 3
    $ etui contacts merge 1 a2
    error: contact a2 was removed; restore it with `etui contacts restore a2`
    [exit 4]
    $ etui contacts duplicates
    Score  #  Name    #  Name            Why             Address book
       50  2  Bo Öst  4  bo@example.org  bo@example.org  Contacts
    Compare two: etui contacts duplicates 2 4
    Merge two: etui contacts merge 2 4
    ");
}

#[test]
fn a_merge_that_adds_nothing_leaves_the_first_as_it_was() {
    let home = TestHome::with_people();
    session!(home, [
        "etui -q contacts edit 3 --set note=x",
        "etui -q contacts add --name 'Eve Trouble'",
        "etui -q contacts edit 3 --set name='Eve Trouble'",
        "etui contacts merge 3 6 | sed 's/(.*) into/(...) into/'",
        "etui contacts restore 6",
        "etui contacts show 3 | grep Note",
    ], @r"
    $ etui -q contacts edit 3 --set note=x
    $ etui -q contacts add --name 'Eve Trouble'
    $ etui -q contacts edit 3 --set name='Eve Trouble'
    $ etui contacts merge 3 6 | sed 's/(.*) into/(...) into/'
    Merged 6 (...) into 3: Eve Trouble
    Undo: etui contacts restore 3 6
    $ etui contacts restore 6
    Restored 6: Eve Trouble
    $ etui contacts show 3 | grep Note
      Note   x
    ");
}
