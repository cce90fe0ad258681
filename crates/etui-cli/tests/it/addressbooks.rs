//! Address books: made, renamed, removed, brought back.

use crate::harness::{TestHome, session};

#[test]
fn address_books_are_apart() {
    let home = TestHome::with_people();
    session!(home, [
        "etui addressbooks create Work",
        "etui addressbooks create Work",
        "etui addressbooks create ''",
        "etui --addressbook Work contacts list",
        "etui --addressbook Work import people.vcf",
        "etui addressbooks",
        "etui contacts list --addressbook Wrok",
    ], @r#"
    $ etui addressbooks create Work
    Created the address book Work (use it with --addressbook Work)
    $ etui addressbooks create Work
    error: an address book named "Work" exists already
    [exit 1]
    $ etui addressbooks create ''
    error: "" cannot be the name of an address book: use 1 to 200 characters, no line breaks or other control characters, and no blanks at the ends
    [exit 2]
    $ etui --addressbook Work contacts list
    No contacts yet. Import some: etui import contacts.vcf
    $ etui --addressbook Work import people.vcf
    people.vcf: 4 added (590 bytes)
    $ etui addressbooks
    Contacts  Address book
           4  Contacts
           4  Work
    $ etui contacts list --addressbook Wrok
    error: there is no address book named "Wrok" (there are: Contacts, Work)
    [exit 4]
    "#);
}

#[test]
fn address_books_are_renamed_removed_and_brought_back() {
    let home = TestHome::with_people();
    session!(home, [
        "etui addressbooks remove Contacts",
        "etui addressbooks create Work --json",
        "etui addressbooks rename Contacts Home --json",
        "etui addressbooks remove Home",
        "etui addressbooks remove Home --yes",
        "etui contacts list",
        "etui addressbooks removed | sed -E 's/20[0-9-]+ [0-9:]+/YYYY-MM-DD HH:MM/g'",
        "etui addressbooks removed --json | sed -E 's/20[0-9T:+-]+/TIME/g'",
        "etui addressbooks restore Work",
        "etui addressbooks restore Home --as Work",
        "etui addressbooks restore Home",
        "etui addressbooks removed",
        "etui addressbooks",
    ], @r#"
    $ etui addressbooks remove Contacts
    error: "Contacts" is the only address book, and stays; make another one first, or rename it
    [exit 3]
    $ etui addressbooks create Work --json
    {"name":"Work","contacts":0}
    $ etui addressbooks rename Contacts Home --json
    {"name":"Home","contacts":4}
    $ etui addressbooks remove Home
    error: the address book Home is not empty: 4 contacts; add --yes to remove it anyway
    [exit 2]
    $ etui addressbooks remove Home --yes
    Removed the address book Home: 4 contacts
    Restore it within 30 days: etui addressbooks restore Home
    $ etui contacts list
    No contacts yet. Import some: etui import contacts.vcf
    $ etui addressbooks removed | sed -E 's/20[0-9-]+ [0-9:]+/YYYY-MM-DD HH:MM/g'
    #  Removed           Kept until        Contacts  Address book
    1  YYYY-MM-DD HH:MM  YYYY-MM-DD HH:MM         4  Home
    $ etui addressbooks removed --json | sed -E 's/20[0-9T:+-]+/TIME/g'
    {"id":1,"name":"Home","contacts":4,"removed":"TIME","kept_until":"TIME"}
    $ etui addressbooks restore Work
    error: no address book named "Work" was removed (these were: Home)
    [exit 4]
    $ etui addressbooks restore Home --as Work
    error: an address book named "Work" already exists; restore this one under another name: etui addressbooks restore --as NAME Home
    [exit 1]
    $ etui addressbooks restore Home
    Restored the address book Home: 4 contacts
    $ etui addressbooks removed
    There is no removed address book.
    $ etui addressbooks
    Contacts  Address book
           4  Home
           0  Work
    "#);
}

#[test]
fn a_search_looks_in_all_address_books() {
    let home = TestHome::with_people();
    session!(home, [
        "etui addressbooks -q create Work",
        "etui contacts add --addressbook Work --name 'Anna Worker' --phone 555-0100",
        "etui contacts find ann",
        "etui contacts find ann --addressbook Contacts",
        "etui contacts find ann --json",
        "etui contacts find ann --count",
        "etui contacts list --limit 2",
        "etui contacts show worker | head -2",
        "etui contacts edit 5 --set title=Smith",
        "etui contacts remove 1 5",
        "etui contacts remove 5",
    ], @r#"
    $ etui addressbooks -q create Work
    $ etui contacts add --addressbook Work --name 'Anna Worker' --phone 555-0100
    Added 5: Anna Worker
    $ etui contacts find ann
    #  Name         Organisation  Phone          E-mail                    Address book
    1  Anna Müller  Example GmbH  0171 39200 02  anna.mueller@example.org  Contacts
    5  Anna Worker                555-0100                                 Work
    $ etui contacts find ann --addressbook Contacts
    #  Name         Organisation  Phone          E-mail
    1  Anna Müller  Example GmbH  0171 39200 02  anna.mueller@example.org
    $ etui contacts find ann --json
    {"id":1,"name":"Anna Müller","organization":"Example GmbH","phone":"0171 39200 02","email":"anna.mueller@example.org","addressbook":"Contacts"}
    {"id":5,"name":"Anna Worker","organization":"","phone":"555-0100","email":"","addressbook":"Work"}
    $ etui contacts find ann --count
    2
    $ etui contacts list --limit 2
    #  Name         Organisation  Phone          E-mail                    Address book
    2  Bob Öst                                   bob@example.com           Contacts
    1  Anna Müller  Example GmbH  0171 39200 02  anna.mueller@example.org  Contacts
    $ etui contacts show worker | head -2
    Anna Worker
      Phone  555-0100
    $ etui contacts edit 5 --set title=Smith
    Changed 5: Anna Worker (undo: etui contacts restore 5)
      Title: Smith
    $ etui contacts remove 1 5
    error: 1 is in Contacts, and 5 in Work; give contacts of one address book at a time
    [exit 2]
    $ etui contacts remove 5
    Removed 5: Anna Worker
    Undo: etui contacts restore 5
    "#);
}
