//! `etui undo`.

use crate::harness::{TestHome, session};

#[test]
fn the_last_thing_is_undone_whatever_it_was() {
    let home = TestHome::with_people();
    session!(home, [
        "etui contacts add -q Zora Adams; etui contacts edit -q 1 --set title=Boss; etui contacts edit -q 1 --set title=Chief; etui contacts remove -q 2 3",
        "etui undo --dry-run | sed 's/20[0-9-]* [0-9:]*/TIME/'",
        "etui undo | sed 's/20[0-9-]* [0-9:]*/TIME/'",
        "etui undo -q && etui contacts show 1 | grep Title; etui undo -q && etui contacts show 1 | grep Title",
        "etui undo -n 2 | sed 's/20[0-9-]* [0-9:]*/TIME/'",
        "etui contacts list --fields name; etui undo",
        "etui undo --list | sed 's/20[0-9-]* [0-9:]*/TIME/'",
        "etui undo 9 | sed 's/20[0-9-]* [0-9:]*/TIME/' && etui contacts list --fields name",
        "etui undo 99; etui undo --device nobody; etui undo 3",
    ], @r"
    $ etui contacts add -q Zora Adams; etui contacts edit -q 1 --set title=Boss; etui contacts edit -q 1 --set title=Chief; etui contacts remove -q 2 3
    $ etui undo --dry-run | sed 's/20[0-9-]* [0-9:]*/TIME/'
    #  When              Who   What             Changes
    5  TIME  etui  contacts remove  2
    $ etui undo | sed 's/20[0-9-]* [0-9:]*/TIME/'
    Undid 5: contacts remove, by etui, TIME
      restored: 3 Eve \u{1b}[31mTrouble\u{9b}2J
      restored: 2 Bob Öst
    To do it again: etui undo 6
    $ etui undo -q && etui contacts show 1 | grep Title; etui undo -q && etui contacts show 1 | grep Title
      Title         Boss
    [exit 1]
    $ etui undo -n 2 | sed 's/20[0-9-]* [0-9:]*/TIME/'
    Undid 2: contacts add, by etui, TIME
    Undid 1: import, by etui, TIME
      removed: 5 Zora Adams
      removed: 4 Norbert Nobody
      removed: 3 Eve \u{1b}[31mTrouble\u{9b}2J
      removed: 2 Bob Öst
      removed: 1 Anna Müller
    To do it again: etui undo 9
    $ etui contacts list --fields name; etui undo
    No contacts yet. Import some: etui import contacts.vcf
    error: there is nothing to undo
    [exit 4]
    $ etui undo --list | sed 's/20[0-9-]* [0-9:]*/TIME/'
    #  When              Who   What             Changes  Undone by
    9  TIME  etui  undo             5
    8  TIME  etui  undo             1
    7  TIME  etui  undo             1
    6  TIME  etui  undo             2
    5  TIME  etui  contacts remove  2        6
    4  TIME  etui  contacts edit    1        7
    3  TIME  etui  contacts edit    1        8
    2  TIME  etui  contacts add     1        9
    1  TIME  etui  import           4        9
    $ etui undo 9 | sed 's/20[0-9-]* [0-9:]*/TIME/' && etui contacts list --fields name
    Undid 9: undo, by etui, TIME
      restored: 5 Zora Adams
      restored: 4 Norbert Nobody
      restored: 3 Eve \u{1b}[31mTrouble\u{9b}2J
      restored: 2 Bob Öst
      restored: 1 Anna Müller
    To do it again: etui undo 10
    Name
    Zora Adams
    Bob Öst
    Anna Müller
    Norbert Nobody
    Eve \u{1b}[31mTrouble\u{9b}2J
    $ etui undo 99; etui undo --device nobody; etui undo 3
    error: there is no step 99; the steps that can be undone: etui undo --list
    error: there is nothing to undo of nobody; changes were made by: etui
    error: step 3 was undone already; to do it again: etui undo 8
    [exit 5]
    ");
}

#[test]
fn a_record_that_was_changed_since_is_kept() {
    let home = TestHome::with_people();
    session!(home, [
        "etui contacts edit -q --where 'anna or bob' --set note=first && etui contacts edit -q 1 --set note=second",
        "etui undo 2 | sed 's/20[0-9-]* [0-9:]*/TIME/'",
        "etui contacts show 1 | grep Note; etui contacts show 2 | grep Note",
        // A change that was taken back is none.
        "etui contacts remove -q 3 && etui contacts edit -q 4 --set note=x && etui contacts restore -q 4",
        "etui undo -q 1; etui contacts list --fields name",
        "etui undo --since 2000-01-01 --json 2>&1 | cut -c1-30",
    ], @r#"
    $ etui contacts edit -q --where 'anna or bob' --set note=first && etui contacts edit -q 1 --set note=second
    $ etui undo 2 | sed 's/20[0-9-]* [0-9:]*/TIME/'
    error: 1 record or collection was kept as changed since, or too old; nothing of them was undone
    Undid 2: contacts edit, by etui, TIME
      changed back: 2 Bob Öst
      kept, changed since: 1 Anna Müller
    To do it again: etui undo 4
    $ etui contacts show 1 | grep Note; etui contacts show 2 | grep Note
      Note          second
      Note      likes tea, no milk
    $ etui contacts remove -q 3 && etui contacts edit -q 4 --set note=x && etui contacts restore -q 4
    $ etui undo -q 1; etui contacts list --fields name
    error: 1 record or collection was kept as changed since, or too old; nothing of them was undone
    Name
    Anna Müller
    $ etui undo --since 2000-01-01 --json 2>&1 | cut -c1-30
    {"step":9,"undone":[{"step":7,
    {"error":{"kind":"conflict","m
    "#);
}

#[test]
fn collections_and_moves_are_undone() {
    let home = TestHome::with_people();
    session!(home, [
        "etui addressbooks create -q Work && etui contacts move -q 1 2 --to Work && etui addressbooks rename -q Work Office",
        "etui undo | sed 's/20[0-9-]* [0-9:]*/TIME/' && etui addressbooks",
        "etui undo | sed 's/20[0-9-]* [0-9:]*/TIME/' && etui addressbooks",
        "etui undo | sed 's/20[0-9-]* [0-9:]*/TIME/' && etui addressbooks",
        "etui undo 6 -q; etui addressbooks; etui undo -q 7 && etui undo -q 6; etui addressbooks",
        "etui addressbooks remove -qy Work; etui undo | tail -1; etui addressbooks",
        "etui calendars create -q Sport && etui calendars color -q Sport red; etui undo -q && etui calendars; etui undo --list -n 3 | sed 's/20[0-9-]* [0-9:]*/TIME/'",
    ], @r"
    $ etui addressbooks create -q Work && etui contacts move -q 1 2 --to Work && etui addressbooks rename -q Work Office
    $ etui undo | sed 's/20[0-9-]* [0-9:]*/TIME/' && etui addressbooks
    Undid 4: addressbooks rename, by etui, TIME
      changed back: address book Office
    To do it again: etui undo 5
    Contacts  Address book
           2  Contacts
           2  Work
    $ etui undo | sed 's/20[0-9-]* [0-9:]*/TIME/' && etui addressbooks
    Undid 3: contacts move, by etui, TIME
      removed: 7 Bob Öst
      removed: 5 Anna Müller
      restored: 2 Bob Öst
      restored: 1 Anna Müller
    To do it again: etui undo 6
    Contacts  Address book
           4  Contacts
           0  Work
    $ etui undo | sed 's/20[0-9-]* [0-9:]*/TIME/' && etui addressbooks
    Undid 2: addressbooks create, by etui, TIME
      removed: address book Work
    To do it again: etui undo 7
    Contacts  Address book
           4  Contacts
    $ etui undo 6 -q; etui addressbooks; etui undo -q 7 && etui undo -q 6; etui addressbooks
    error: 4 records and collections were kept as changed since, or too old; nothing of them was undone
    Contacts  Address book
           4  Contacts
    Contacts  Address book
           2  Contacts
           2  Work
    $ etui addressbooks remove -qy Work; etui undo | tail -1; etui addressbooks
    To do it again: etui undo 12
    Contacts  Address book
           2  Contacts
           2  Work
    $ etui calendars create -q Sport && etui calendars color -q Sport red; etui undo -q && etui calendars; etui undo --list -n 3 | sed 's/20[0-9-]* [0-9:]*/TIME/'
    Entries  Calendar
          0  Calendar
          0  Sport
     #  When              Who   What              Changes  Undone by
    16  TIME  etui  undo              1
    15  TIME  etui  calendars color   1        16
    14  TIME  etui  calendars create  1
    ");
}

#[test]
fn an_import_and_a_merge_are_one_step() {
    let home = TestHome::new();
    session!(home, [
        "etui generate -q -n 5000 -o many.vcf --force; etui import -q many.vcf && etui import -q people.vcf",
        "etui contacts merge 5001 5002 -q; etui contacts list --fields name | wc -l",
        "etui undo -q; etui contacts list --fields name | wc -l",
        "etui undo | sed 's/20[0-9-]* [0-9:]*/TIME/'",
        "etui undo | tail -2 && etui contacts list",
        "etui undo 4 | tail -2; etui contacts list --fields name | wc -l",
    ], @r"
    $ etui generate -q -n 5000 -o many.vcf --force; etui import -q many.vcf && etui import -q people.vcf
    $ etui contacts merge 5001 5002 -q; etui contacts list --fields name | wc -l
    5004
    $ etui undo -q; etui contacts list --fields name | wc -l
    5005
    $ etui undo | sed 's/20[0-9-]* [0-9:]*/TIME/'
    Undid 2: import, by etui, TIME
      removed: 5004 Norbert Nobody
      removed: 5003 Eve \u{1b}[31mTrouble\u{9b}2J
      removed: 5002 Bob Öst
      removed: 5001 Anna Müller
    To do it again: etui undo 5
    $ etui undo | tail -2 && etui contacts list
      and 4,980 other records
    To do it again: etui undo 6
    No contacts yet. Import some: etui import contacts.vcf
    $ etui undo 4 | tail -2; etui contacts list --fields name | wc -l
    error: 1 record or collection was kept as changed since, or too old; nothing of them was undone
      unchanged: 5002 Bob Öst
      kept, changed since: 5001 Anna Müller
    1
    ");
}

#[test]
fn erased_records_are_gone_for_good() {
    let home = TestHome::with_people();
    session!(home, [
        "etui contacts edit -q 1 --set title=Secretary; etui contacts remove -q 2; etui calendar add -q 'Secretmeeting tomorrow 10:00' --alarm 10m",
        "etui purge </dev/null; etui purge --contact xyz --yes; etui purge --contact 99 -y",
        "etui purge --contact bob --entry secretmeeting --yes",
        "grep -c -a -i -E 'bob@example|likes tea|Secretmeeting' .local/share/etui/*; etui contacts restore 2; etui contacts history 1 | wc -l",
        "mkdir -p .cache/etui/eds/pictures; touch .cache/etui/eds/pictures/0.jpeg",
        "etui purge -y --json; ls .cache/etui/eds; grep -c -a -i Secretary .local/share/etui/*; etui contacts history 1 | wc -l; etui check",
        "etui undo; etui contacts remove -q 1 && etui purge -y && ls .local/share/etui && grep -c -a -i Anna .local/share/etui/*",
    ], @r#"
    $ etui contacts edit -q 1 --set title=Secretary; etui contacts remove -q 2; etui calendar add -q 'Secretmeeting tomorrow 10:00' --alarm 10m
    $ etui purge </dev/null; etui purge --contact xyz --yes; etui purge --contact 99 -y
    error: this erases for good: the trash, the earlier versions of all records and all refused texts; add --yes to do so
    error: no contact matches: xyz
    error: there is no contact number 99; to search for a phone number: etui contacts find phone:99
    [exit 4]
    $ etui purge --contact bob --entry secretmeeting --yes
    Erased for good: 2 records, 0 earlier versions, 0 refused texts
    Backups, exports and synchronised devices keep their copies: delete older backups, and make a new one with etui backup
    $ grep -c -a -i -E 'bob@example|likes tea|Secretmeeting' .local/share/etui/*; etui contacts restore 2; etui contacts history 1 | wc -l
    0
    error: there is no contact number 2; to search for a phone number: etui contacts find phone:2
    3
    $ mkdir -p .cache/etui/eds/pictures; touch .cache/etui/eds/pictures/0.jpeg
    $ etui purge -y --json; ls .cache/etui/eds; grep -c -a -i Secretary .local/share/etui/*; etui contacts history 1 | wc -l; etui check
    {"records":0,"versions":1,"refused":0,"complete":true}
    3
    2
    The store is intact: 3 contacts, 0 in the trash.
    $ etui undo; etui contacts remove -q 1 && etui purge -y && ls .local/share/etui && grep -c -a -i Anna .local/share/etui/*
    error: there is nothing to undo
    Erased for good: 1 record, 0 earlier versions, 0 refused texts
    Backups, exports and synchronised devices keep their copies: delete older backups, and make a new one with etui backup
    personal.etui
    0
    [exit 1]
    "#);
}

#[test]
fn commands_take_names() {
    let home = TestHome::with_people();
    session!(home, [
        "etui contacts edit -q 2 --set title=Chef && etui contacts history Bob Öst | wc -l; etui contacts restore bob öst",
        "etui contacts remove -q 3 && etui contacts history trouble | tail -1 | cut -c1-2; etui contacts restore eve",
        "etui contacts restore nobody-there; etui contacts restore e",
        "etui contacts merge 'anna müller' Norbert --dry-run | head -1; etui contacts merge a b --dry-run",
        "etui calendar add -q 'Team meeting' --start '2026-03-02 10:00' --repeat weekly; etui calendar add -q 'todo Buy milk'; etui calendar add -q 'todo Call mum'",
        "etui calendar skip team meeting --on 2026-03-09 && etui calendar move 'team meeting' 11:00 --on 2026-03-16 | cut -d' ' -f1; etui calendar done buy milk && etui calendar done 'call mum' --undo",
        "etui calendar history Team Meeting | wc -l; etui calendar restore team meeting",
    ], @r"
    $ etui contacts edit -q 2 --set title=Chef && etui contacts history Bob Öst | wc -l; etui contacts restore bob öst
    3
    Undid the latest change of 2: Bob Öst
    $ etui contacts remove -q 3 && etui contacts history trouble | tail -1 | cut -c1-2; etui contacts restore eve
    3 
    Restored 3: Eve \u{1b}[31mTrouble\u{9b}2J
    $ etui contacts restore nobody-there; etui contacts restore e
    error: no contact matches: nobody-there
    #  Name                           Organisation  Phone            E-mail
    1  Anna Müller                    Example GmbH  0171 39200 02    anna.mueller@example.org
    3  Eve \u{1b}[31mTrouble\u{9b}2J                +1 202 555 0143
    error: 2 contacts match; select one: etui contacts restore NUMBER
    [exit 2]
    $ etui contacts merge 'anna müller' Norbert --dry-run | head -1; etui contacts merge a b --dry-run
    Would merge 4 (Norbert Nobody) into 1: Anna Müller
    Would merge 2 (Bob Öst) into 1: Anna Müller
    -VERSION:3.0
    +VERSION:4.0
    -TEL;TYPE=CELL,PREF:0171 39200 02
    +TEL;TYPE=CELL;PREF=1:0171 39200 02
    +EMAIL;TYPE=home:bob@example.com
    +BDAY:--0229
    +NOTE:likes tea\, no milk\nand cake
    +X-HOBBY:chess
    +PHOTO:data:image/png;base64,iVBORw0KGgo=
    +NOTE:Name: Bob Öst
    Not taken: UID:bob
    $ etui calendar add -q 'Team meeting' --start '2026-03-02 10:00' --repeat weekly; etui calendar add -q 'todo Buy milk'; etui calendar add -q 'todo Call mum'
    $ etui calendar skip team meeting --on 2026-03-09 && etui calendar move 'team meeting' 11:00 --on 2026-03-16 | cut -d' ' -f1; etui calendar done buy milk && etui calendar done 'call mum' --undo
    Skipped Mon 9 Mar 2026, 10:00-11:00 of 9: Team meeting (undo: etui calendar restore 9)
    Moved
    Done 10: Buy milk (undo: etui calendar restore 10)
    Not done: 11 Call mum
    $ etui calendar history Team Meeting | wc -l; etui calendar restore team meeting
    4
    Undid the latest change of 9: Team meeting
    ");
}
