//! Records to another address book or calendar, several at once.

use crate::harness::{TestHome, session};

#[test]
fn contacts_move_and_come_back() {
    let home = TestHome::with_people();
    session!(home, [
        "etui contacts move --to Work 1 2",
        "etui -q addressbooks create Work",
        "etui contacts move --to Work --where 'email:*' --dry-run",
        "etui contacts move --to Work --where 'email:*'",
        "etui contacts list --addressbook Work --fields id,name",
        "etui contacts move --to Contacts 5 6",
        "etui contacts list --addressbook Contacts --fields id,name",
        "etui contacts move --to Contacts 1",
        "etui contacts move --to Work 1 99",
        "etui contacts move --to Work --where zz",
        "etui contacts move --to Work",
        "etui contacts move 1",
        "etui contacts move --to Work eve --json",
        "etui contacts move --to Work --where name:eve",
    ], @r#"
    $ etui contacts move --to Work 1 2
    error: there is no address book named "Work" (there are: Contacts); create it: etui addressbooks create Work
    [exit 4]
    $ etui -q addressbooks create Work
    $ etui contacts move --to Work --where 'email:*' --dry-run
    Would move 2 to Work: Bob Öst
    Would move 1 to Work: Anna Müller
    $ etui contacts move --to Work --where 'email:*'
    Moved 2 to Work, as 5: Bob Öst
    Moved 1 to Work, as 7: Anna Müller
    Undo: etui contacts move --to Contacts 5 7
    $ etui contacts list --addressbook Work --fields id,name
    #  Name
    5  Bob Öst
    7  Anna Müller
    $ etui contacts move --to Contacts 5 6
    error: there is no contact number 6; to search for a phone number: etui contacts find phone:6
    [exit 4]
    $ etui contacts list --addressbook Contacts --fields id,name
    #  Name
    4  Norbert Nobody
    3  Eve \u{1b}[31mTrouble\u{9b}2J
    $ etui contacts move --to Contacts 1
    error: contact 1 was removed; restore it with `etui contacts restore 1`
    [exit 4]
    $ etui contacts move --to Work 1 99
    error: contact 1 was removed; restore it with `etui contacts restore 1`
    [exit 4]
    $ etui contacts move --to Work --where zz
    error: no contact matches: zz
    [exit 4]
    $ etui contacts move --to Work
    error: the following required arguments were not provided:
      <ID|NAME>...

    Usage: etui contacts move --to <NAME> <ID|NAME>...

    For more information, try '--help'.
    [exit 2]
    $ etui contacts move 1
    error: the following required arguments were not provided:
      --to <NAME>

    Usage: etui contacts move --to <NAME> <ID|NAME>...

    For more information, try '--help'.
    [exit 2]
    $ etui contacts move --to Work eve --json
    {"id":9,"uid":"eve","etag":"4383b53427be5a2e9a4bc23dcfec9f25","name":"Eve \u001b[31mTrouble\u009b2J","outcome":"moved","from":3,"addressbook":"Work"}
    $ etui contacts move --to Work --where name:eve
    All of them are in Work already.
    "#);
}

#[test]
fn contacts_are_copied() {
    let home = TestHome::with_people();
    session!(home, [
        "etui -q addressbooks create Work",
        "etui contacts copy --to Work 1 bob --dry-run --json",
        "etui contacts copy --to Work 1 bob",
        "etui contacts copy --to Work 1",
        "etui contacts remove 5 6",
        "etui -q contacts copy --to Work 1",
        "etui -q contacts edit 1 --set note=other",
        "etui contacts copy --to Work 1 3",
        "etui contacts list --addressbook Work --fields id,name",
    ], @r#"
    $ etui -q addressbooks create Work
    $ etui contacts copy --to Work 1 bob --dry-run --json
    {"id":1,"uid":"anna","etag":null,"name":"Anna Müller","outcome":"would_copy","from":1,"addressbook":"Work"}
    {"id":2,"uid":"bob","etag":null,"name":"Bob Öst","outcome":"would_copy","from":2,"addressbook":"Work"}
    $ etui contacts copy --to Work 1 bob
    Copied 1 to Work, as 5: Anna Müller
    Copied 2 to Work, as 6: Bob Öst
    Undo: etui contacts remove 5 6
    $ etui contacts copy --to Work 1
    Unchanged: 1 is in Work, as 5: Anna Müller
    $ etui contacts remove 5 6
    Removed 5: Anna Müller
    Removed 6: Bob Öst
    Undo: etui contacts restore 5 6
    $ etui -q contacts copy --to Work 1
    $ etui -q contacts edit 1 --set note=other
    $ etui contacts copy --to Work 1 3
    error: contact 1 is also in Work, with another text, as 5; nothing was changed. Remove one of them first
    [exit 5]
    $ etui contacts list --addressbook Work --fields id,name
    #  Name
    5  Anna Müller
    "#);
}

#[test]
fn entries_move_to_another_calendar() {
    let home = TestHome::new();
    session!(home, [
        "etui -q calendar add 'Jour fixe' --start '2027-03-08 9:00' --repeat weekly",
        "etui -q calendar add Lunch --start '2027-03-09 12:00'",
        "etui -q calendar add Dinner --start '2027-03-09 19:00'",
        "etui -q calendars create Work",
        "etui calendar move 1 10:00 --on 2027-03-15",
        "etui calendar move --to Work --dry-run 1 2",
        "etui calendar move 1 2 --to Work",
        "etui calendar find lunch or jour or dinner",
        "etui calendar move --to Calendar --where lunch",
        "etui calendar copy --to Work 3",
        "etui calendar move 3",
        "etui calendar move 3 10:00 11:00",
        "etui calendar move --where lunch",
    ], @r"
    $ etui -q calendar add 'Jour fixe' --start '2027-03-08 9:00' --repeat weekly
    $ etui -q calendar add Lunch --start '2027-03-09 12:00'
    $ etui -q calendar add Dinner --start '2027-03-09 19:00'
    $ etui -q calendars create Work
    $ etui calendar move 1 10:00 --on 2027-03-15
    Moved Mon 15 Mar 2027, 09:00-10:00 to Mon 15 Mar 2027, 10:00-11:00 of 1: Jour fixe (undo: etui calendar restore 1)
    $ etui calendar move --to Work --dry-run 1 2
    Would move 1 to Work: Jour fixe
    Would move 2 to Work: Lunch
    $ etui calendar move 1 2 --to Work
    Moved 1 to Work, as 5: Jour fixe
    Moved 2 to Work, as 7: Lunch
    Undo: etui calendar move --to Calendar 5 7
    $ etui calendar find lunch or jour or dinner
    #  Start             Title      Place  Calendar
    5  2027-03-08 09:00  Jour fixe         Work
    7  2027-03-09 12:00  Lunch             Work
    3  2027-03-09 19:00  Dinner            Calendar
    $ etui calendar move --to Calendar --where lunch
    Moved 7 to Calendar, as 2: Lunch
    Undo: etui calendar move --to Work 2
    $ etui calendar copy --to Work 3
    Copied 3 to Work, as 11: Dinner
    Undo: etui calendar remove 11
    $ etui calendar move 3
    error: the following required arguments were not provided:
      <WHEN>

    Usage: etui calendar move ID WHEN [--on WHEN]
           etui calendar move --to NAME [--dry-run] {ID... | --where FILTER}

    For more information, try '--help'.
    [exit 2]
    $ etui calendar move 3 10:00 11:00
    error: the following required arguments were not provided:
      --to <NAME>

    Usage: etui calendar move ID WHEN [--on WHEN]
           etui calendar move --to NAME [--dry-run] {ID... | --where FILTER}

    For more information, try '--help'.
    [exit 2]
    $ etui calendar move --where lunch
    error: the following required arguments were not provided:
      --to <NAME>
      <ID|NAME>
      <WHEN>

    Usage: etui calendar move ID WHEN [--on WHEN]
           etui calendar move --to NAME [--dry-run] {ID... | --where FILTER}

    For more information, try '--help'.
    [exit 2]
    ");
}
