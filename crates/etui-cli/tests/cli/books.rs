//! Address books: made, renamed, removed, brought back.

use crate::harness::{Place, session};

#[test]
fn address_books_are_apart() {
    let place = Place::with_people();
    session!(place, [
        "etui contacts books create Work",
        "etui contacts books create Work",
        "etui contacts books create ''",
        "etui --book Work contacts list",
        "etui --book Work import people.vcf",
        "etui contacts books",
        "etui contacts list --book Wrok",
    ], @r#"
    $ etui contacts books create Work
    Made an address book: Work (use it with --book Work)
    $ etui contacts books create Work
    error: an address book named "Work" exists already
    [exit 1]
    $ etui contacts books create ''
    error: "" cannot be the name of an address book: use 1 to 200 characters, no line breaks or other control characters, and no blanks at the ends
    [exit 2]
    $ etui --book Work contacts list
    No contacts yet. Bring some in: etui import contacts.vcf
    $ etui --book Work import people.vcf
    people.vcf: 4 added (590 bytes)
    $ etui contacts books
    Contacts  Address book
           4  Contacts
           4  Work
    $ etui contacts list --book Wrok
    error: there is no address book named "Wrok" (there are: Contacts, Work)
    [exit 4]
    "#);
}

#[test]
fn address_books_are_renamed_removed_and_brought_back() {
    let place = Place::with_people();
    session!(place, [
        "etui contacts books remove Contacts",
        "etui contacts books create Work --json",
        "etui contacts books rename Contacts Home --json",
        "etui contacts books remove Home",
        "etui contacts books remove Home --yes",
        "etui contacts list",
        "etui contacts books removed | sed -E 's/20[0-9-]+ [0-9:]+/YYYY-MM-DD HH:MM/g'",
        "etui contacts books removed --json | sed -E 's/20[0-9T:+-]+/TIME/g'",
        "etui contacts books restore Work",
        "etui contacts books restore Home --as Work",
        "etui contacts books restore Home",
        "etui contacts books removed",
        "etui contacts books",
    ], @r#"
    $ etui contacts books remove Contacts
    error: "Contacts" is the only address book, and stays; make another one first, or rename it
    [exit 3]
    $ etui contacts books create Work --json
    {"name":"Work","contacts":0}
    $ etui contacts books rename Contacts Home --json
    {"name":"Home","contacts":4}
    $ etui contacts books remove Home
    error: the address book Home is not empty: 4 contacts; to remove it all the same, add --yes
    [exit 2]
    $ etui contacts books remove Home --yes
    Removed the address book Home: 4 contacts
    Bring back, within 30 days: etui contacts books restore Home
    $ etui contacts list
    No contacts yet. Bring some in: etui import contacts.vcf
    $ etui contacts books removed | sed -E 's/20[0-9-]+ [0-9:]+/YYYY-MM-DD HH:MM/g'
    #  Removed           Kept until        Contacts  Address book
    1  YYYY-MM-DD HH:MM  YYYY-MM-DD HH:MM         4  Home
    $ etui contacts books removed --json | sed -E 's/20[0-9T:+-]+/TIME/g'
    {"id":1,"name":"Home","contacts":4,"removed":"TIME","kept_until":"TIME"}
    $ etui contacts books restore Work
    error: no address book named "Work" was removed (these were: Home)
    [exit 4]
    $ etui contacts books restore Home --as Work
    error: an address book named "Work" exists already; bring this one back under another name: etui contacts books restore --as NAME Home
    [exit 1]
    $ etui contacts books restore Home
    Brought back the address book Home: 4 contacts
    $ etui contacts books removed
    There is no address book to bring back.
    $ etui contacts books
    Contacts  Address book
           4  Home
           0  Work
    "#);
}
