//! Finding, showing, changing.

use crate::harness::{TestHome, session};

#[test]
fn lists_are_in_order_and_findable() {
    let home = TestHome::with_people();
    session!(home, [
        "etui contacts list",
        "etui contacts list --limit 1 --offset 1",
        "etui contacts find mull",
        "etui contacts find MÜLLER",
        "etui contacts find 'phone:*3920002'",
        "etui contacts find 'email:*@example.com -trouble'",
        "etui contacts find -name:an*",
        "etui contacts find --limit 1 -- -name:an*",
        "etui contacts find nobody or bob",
        "etui contacts find zz",
        "etui contacts find 'name:(a'",
        "etui contacts find ann --limt 3",
    ], @r"
    $ etui contacts list
    #  Name                           Organisation  Phone            E-mail
    2  Bob Öst                                                       bob@example.com
    1  Anna Müller                    Example GmbH  0171 39200 02    anna.mueller@example.org
    4  Norbert Nobody
    3  Eve \u{1b}[31mTrouble\u{9b}2J                +1 202 555 0143
    $ etui contacts list --limit 1 --offset 1
    #  Name         Organisation  Phone          E-mail
    1  Anna Müller  Example GmbH  0171 39200 02  anna.mueller@example.org
    $ etui contacts find mull
    #  Name         Organisation  Phone          E-mail
    1  Anna Müller  Example GmbH  0171 39200 02  anna.mueller@example.org
    $ etui contacts find MÜLLER
    #  Name         Organisation  Phone          E-mail
    1  Anna Müller  Example GmbH  0171 39200 02  anna.mueller@example.org
    $ etui contacts find 'phone:*3920002'
    #  Name         Organisation  Phone          E-mail
    1  Anna Müller  Example GmbH  0171 39200 02  anna.mueller@example.org
    $ etui contacts find 'email:*@example.com -trouble'
    #  Name     Organisation  Phone  E-mail
    2  Bob Öst                       bob@example.com
    $ etui contacts find -name:an*
    error: unexpected argument '-n' found

      tip: to pass '-n' as a value, use '-- -n'

    Usage: etui contacts find [OPTIONS] <FILTER>...

    For more information, try '--help'.
    [exit 2]
    $ etui contacts find --limit 1 -- -name:an*
    #  Name     Organisation  Phone  E-mail
    2  Bob Öst                       bob@example.com
    $ etui contacts find nobody or bob
    #  Name            Organisation  Phone  E-mail
    2  Bob Öst                              bob@example.com
    4  Norbert Nobody
    $ etui contacts find zz
    error: no contact matches: zz
    [exit 4]
    $ etui contacts find 'name:(a'
    error: in the filter, at character 6: something to look for is missing here
    [exit 2]
    $ etui contacts find ann --limt 3
    error: unexpected argument '--limt' found

      tip: a similar argument exists: '--limit'

    Usage: etui contacts find --limit <N> <FILTER>...

    For more information, try '--help'.
    [exit 2]
    ");
}

#[test]
fn show_tells_everything() {
    let home = TestHome::with_people();
    session!(home, [
        "etui contacts show 2",
        "etui contacts show anna bob --vcard",
        "etui contacts show eve",
        "etui contacts show norbert",
        "etui contacts show org:gmbh",
        "etui contacts show example",
        "etui contacts show 99",
        "etui contacts show zz",
    ], @r"
    $ etui contacts show 2
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
    $ etui contacts show anna bob --vcard
    BEGIN:VCARD\r
    VERSION:3.0\r
    UID:anna\r
    N:Müller;Anna;;;\r
    FN:Anna Müller\r
    ORG:Example GmbH;Sales\r
    TEL;TYPE=WORK:+49 30 23125 001\r
    TEL;TYPE=CELL,PREF:0171 39200 02\r
    EMAIL:anna.mueller@example.org\r
    END:VCARD\r
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
    $ etui contacts show eve
    Eve \u{1b}[31mTrouble\u{9b}2J
      Phone  +1 202 555 0143
      N      Trouble;Eve;;;
      vCard  3.0, 110 bytes
      UID    eve
      ETag   4383b53427be5a2e9a4bc23dcfec9f25
      #      3
    $ etui contacts show norbert
    Norbert Nobody
      N      Nobody;Norbert;;;
      vCard  3.0, 77 bytes
      UID    etui-1ef7193b2ca6f6fbc7a7d775e0f08a32
      ETag   accad644711c7b9dcf6eaf354c7db837
      #      4
    $ etui contacts show org:gmbh
    Anna Müller
      Organisation  Example GmbH, Sales
      Phone         0171 39200 02  (cell, preferred)
      Phone         +49 30 23125 001  (work)
      E-mail        anna.mueller@example.org
      N             Müller;Anna;;;
      vCard         3.0, 205 bytes
      UID           anna
      ETag          2c820871f0cfae89f1e09047d1946c54
      #             1
    $ etui contacts show example
    Anna Müller
      Organisation  Example GmbH, Sales
      Phone         0171 39200 02  (cell, preferred)
      Phone         +49 30 23125 001  (work)
      E-mail        anna.mueller@example.org
      N             Müller;Anna;;;
      vCard         3.0, 205 bytes
      UID           anna
      ETag          2c820871f0cfae89f1e09047d1946c54
      #             1
    $ etui contacts show 99
    error: there is no contact number 99; to search for a phone number: etui contacts find phone:99
    [exit 4]
    $ etui contacts show zz
    error: no contact matches: zz
    [exit 4]
    ");
}

#[test]
fn add_by_options_or_as_a_vcard() {
    let home = TestHome::new();
    session!(home, [
        "etui contacts add --name 'Ada Lovelace' --email ada@example.org --phone '+44 20 7946 0123' \
         --org 'Engines;Analytical' --note 'a, b' --set uid=ada --set phone:work,cell=555-0100 \
         --set birthday=1815-12-10",
        "etui contacts show ada --vcard",
        "etui contacts show ada --vcard | etui contacts add -",
        "etui contacts show ada --vcard | sed s/UID:ada/UID:2/ | etui contacts add -",
        "etui contacts add people.vcf",
        "echo hello | etui contacts add -",
        "etui contacts add --name ' '",
        "etui contacts add --name A --set phone",
        "etui contacts add --name A --set 'a b=c'",
        "etui contacts add",
    ], @r#"
    $ etui contacts add --name 'Ada Lovelace' --email ada@example.org --phone '+44 20 7946 0123' --org 'Engines;Analytical' --note 'a, b' --set uid=ada --set phone:work,cell=555-0100 --set birthday=1815-12-10
    Added 1: Ada Lovelace
    $ etui contacts show ada --vcard
    BEGIN:VCARD\r
    VERSION:4.0\r
    UID:ada\r
    FN:Ada Lovelace\r
    N:Lovelace;Ada;;;\r
    EMAIL:ada@example.org\r
    TEL:+44 20 7946 0123\r
    TEL;TYPE=work;TYPE=cell:555-0100\r
    ORG:Engines;Analytical\r
    NOTE:a\, b\r
    BDAY:18151210\r
    END:VCARD\r
    $ etui contacts show ada --vcard | etui contacts add -
    error: contact 1 already has the UID ada; to replace it: etui contacts edit 1 --from FILE
    [exit 5]
    $ etui contacts show ada --vcard | sed s/UID:ada/UID:2/ | etui contacts add -
    Added 2: Ada Lovelace
    $ etui contacts add people.vcf
    error: more than one vCard; give them one at a time, or import them as a file
    [exit 3]
    $ echo hello | etui contacts add -
    error: -: is a text without a vCard; a table or a list of contacts: etui import FILE
    [exit 3]
    $ etui contacts add --name ' '
    error: an empty vCard: no name, no phone, no e-mail, nothing else
    [exit 3]
    $ etui contacts add --name A --set phone
    error: invalid value 'phone' for '--set <PROP=VALUE>': write it like phone="+44 20 7946 0123"

    For more information, try '--help'.
    [exit 2]
    $ etui contacts add --name A --set 'a b=c'
    error: "A B" cannot be a property's name: letters, digits and - only
    [exit 2]
    $ etui contacts add
    error: give the name: etui contacts add --name NAME, or a file with a vCard (`-` is standard input)
    [exit 2]
    "#);
}

#[test]
fn edits_leave_other_lines_alone() {
    let home = TestHome::with_people();
    session!(home, [
        "etui contacts edit 1 --set phone:work='+49 30 23125 009' --add email:work=a@example.net --remove org",
        "etui contacts show 1 --vcard",
        "etui contacts restore 1",
        "etui contacts show anna --vcard | cmp - people.vcf | cut -d, -f1",
        "etui contacts edit 1 --set fn='Anna Müller'",
        "etui contacts edit 1 --remove x-nothing",
        "etui contacts edit 1 --remove phone=123",
        "etui contacts edit 1 --set uid=other",
        "etui contacts edit 1 --set phone:home=1",
        "etui contacts edit 77 --set note=x",
        "etui contacts edit 1 --set note=x --if-match 00000000000000000000000000000000",
        "etui contacts edit 1 --set note=x --if-match abc",
    ], @r"
    $ etui contacts edit 1 --set phone:work='+49 30 23125 009' --add email:work=a@example.net --remove org
    Changed 1: Anna Müller (undo: etui contacts restore 1)
    - Organisation: Example GmbH, Sales
    - Phone: +49 30 23125 001  (work)
      Phone: +49 30 23125 009  (work)
      E-mail: a@example.net  (work)
    $ etui contacts show 1 --vcard
    BEGIN:VCARD\r
    VERSION:3.0\r
    UID:anna\r
    N:Müller;Anna;;;\r
    FN:Anna Müller\r
    TEL;TYPE=WORK:+49 30 23125 009\r
    TEL;TYPE=CELL,PREF:0171 39200 02\r
    EMAIL:anna.mueller@example.org\r
    EMAIL;TYPE=work:a@example.net\r
    END:VCARD\r
    $ etui contacts restore 1
    Undid the latest change of 1: Anna Müller
    $ etui contacts show anna --vcard | cmp - people.vcf | cut -d, -f1
    cmp: EOF on - after byte 205, line 10
    $ etui contacts edit 1 --set fn='Anna Müller'
    Unchanged: 1 Anna Müller
    $ etui contacts edit 1 --remove x-nothing
    error: contact 1 has no X-NOTHING; nothing was changed
    [exit 4]
    $ etui contacts edit 1 --remove phone=123
    error: contact 1 has no TEL 123; nothing was changed
    [exit 4]
    $ etui contacts edit 1 --set uid=other
    error: the UID identifies the contact and cannot change: it is anna, the text has other. To add another contact: etui contacts add FILE
    [exit 3]
    $ etui contacts edit 1 --set phone:home=1
    Changed 1: Anna Müller (undo: etui contacts restore 1)
      Phone: 1  (home)
    $ etui contacts edit 77 --set note=x
    error: there is no contact number 77; to search for a phone number: etui contacts find phone:77
    [exit 4]
    $ etui contacts edit 1 --set note=x --if-match 00000000000000000000000000000000
    error: contact 1 was changed in the meantime; nothing was overwritten. See its current state: etui contacts show 1
    [exit 5]
    $ etui contacts edit 1 --set note=x --if-match abc
    error: --if-match abc: an ETag is 32 hexadecimal digits
    [exit 2]
    ");
}

#[test]
fn a_card_without_uid_keeps_its_number() {
    let home = TestHome::with_people();
    session!(home, [
        "etui contacts edit 4 --set note=hello",
        "etui contacts edit 4 --set note=again",
        "etui contacts show 4 --vcard",
        "etui contacts list",
    ], @r"
    $ etui contacts edit 4 --set note=hello
    Changed 4: Norbert Nobody (undo: etui contacts restore 4)
      Note: hello
    $ etui contacts edit 4 --set note=again
    Changed 4: Norbert Nobody (undo: etui contacts restore 4)
    - Note: hello
      Note: again
    $ etui contacts show 4 --vcard
    BEGIN:VCARD\r
    VERSION:3.0\r
    N:Nobody;Norbert;;;\r
    FN:Norbert Nobody\r
    NOTE:again\r
    UID:etui-1ef7193b2ca6f6fbc7a7d775e0f08a32\r
    END:VCARD\r
    $ etui contacts list
    #  Name                           Organisation  Phone            E-mail
    2  Bob Öst                                                       bob@example.com
    1  Anna Müller                    Example GmbH  0171 39200 02    anna.mueller@example.org
    4  Norbert Nobody
    3  Eve \u{1b}[31mTrouble\u{9b}2J                +1 202 555 0143
    ");
}

#[test]
fn what_is_removed_can_be_brought_back() {
    let home = TestHome::with_people();
    session!(home, [
        "etui contacts restore --list",
        "etui contacts remove 1 bob anna",
        "etui contacts remove 1",
        "etui contacts remove 3 99",
        "etui contacts list",
        "etui contacts restore --list",
        "etui contacts restore 2 anna 2",
        "etui contacts list",
        "etui contacts restore 3",
        "etui contacts restore 99",
        "etui contacts restore",
    ], @r"
    $ etui contacts restore --list
    The trash is empty.
    $ etui contacts remove 1 bob anna
    Removed 1: Anna Müller
    Removed 2: Bob Öst
    Undo: etui contacts restore 1 2
    $ etui contacts remove 1
    error: contact 1 was removed; restore it with `etui contacts restore 1`
    [exit 4]
    $ etui contacts remove 3 99
    error: there is no contact number 99; to search for a phone number: etui contacts find phone:99
    [exit 4]
    $ etui contacts list
    #  Name                           Organisation  Phone            E-mail
    4  Norbert Nobody
    3  Eve \u{1b}[31mTrouble\u{9b}2J                +1 202 555 0143
    $ etui contacts restore --list
    #  Name         Organisation  Phone          E-mail
    2  Bob Öst                                   bob@example.com
    1  Anna Müller  Example GmbH  0171 39200 02  anna.mueller@example.org
    $ etui contacts restore 2 anna 2
    Restored 2: Bob Öst
    Restored 1: Anna Müller
    $ etui contacts list
    #  Name                           Organisation  Phone            E-mail
    2  Bob Öst                                                       bob@example.com
    1  Anna Müller                    Example GmbH  0171 39200 02    anna.mueller@example.org
    4  Norbert Nobody
    3  Eve \u{1b}[31mTrouble\u{9b}2J                +1 202 555 0143
    $ etui contacts restore 3
    error: contact 3 has no earlier version
    [exit 4]
    $ etui contacts restore 99
    error: there is no contact number 99; to search for a phone number: etui contacts find phone:99
    [exit 4]
    $ etui contacts restore
    error: the following required arguments were not provided:
      <ID|NAME>...

    Usage: etui contacts restore <ID|NAME>...

    For more information, try '--help'.
    [exit 2]
    ");
}

#[test]
fn mail_programs_query_addresses() {
    let home = TestHome::with_people();
    session!(home, [
        "etui contacts edit -q 1 --add email:home=anna@example.net && etui contacts query anna | cat -A",
        "etui contacts query bob; etui contacts query eve; etui contacts query nosuch; echo $?",
        "etui contacts query 'anna (w'; etui contacts query '\"anna'; etui contacts query -- --; etui contacts query | wc -l",
        "etui contacts edit -q 2 --set 'email=bob@example.com>a@example.org' --set 'name=Tab\tName'; etui contacts query a@example.org | cat -A",
    ], @r#"
    $ etui contacts edit -q 1 --add email:home=anna@example.net && etui contacts query anna | cat -A
    anna.mueller@example.org^IAnna MM-CM-<ller^IExample GmbH$
    anna@example.net^IAnna MM-CM-<ller^IExample GmbH$
    $ etui contacts query bob; etui contacts query eve; etui contacts query nosuch; echo $?
    bob@example.com	Bob Öst	home
    0
    $ etui contacts query 'anna (w'; etui contacts query '"anna'; etui contacts query -- --; etui contacts query | wc -l
    anna.mueller@example.org	Anna Müller	Example GmbH
    anna@example.net	Anna Müller	Example GmbH
    bob@example.com	Bob Öst	home
    anna.mueller@example.org	Anna Müller	Example GmbH
    anna@example.net	Anna Müller	Example GmbH
    3
    $ etui contacts edit -q 2 --set 'email=bob@example.com>a@example.org' --set 'name=Tab	Name'; etui contacts query a@example.org | cat -A
    a@example.org^ITab Name^Ihome$
    "#);
}

#[test]
fn a_picture_is_written_as_it_is() {
    let home = TestHome::with_people();
    session!(home, [
        "etui contacts photo 2 -o bob.png && etui contacts photo bob | cmp - bob.png && wc -c < bob.png && stat -c %A bob.png",
        "etui contacts photo Bob Öst -o bob.png; etui contacts photo Bob Öst -o bob.png --force; etui contacts photo 1 -o a.png",
        "etui contacts edit -q 1 --set photo=https://example.org/a.jpg; etui contacts photo 1; etui contacts photo 1 2",
    ], @r"
    $ etui contacts photo 2 -o bob.png && etui contacts photo bob | cmp - bob.png && wc -c < bob.png && stat -c %A bob.png
    bob.png: 8 bytes
    8
    -rw-------
    $ etui contacts photo Bob Öst -o bob.png; etui contacts photo Bob Öst -o bob.png --force; etui contacts photo 1 -o a.png
    error: bob.png: already exists; choose another name, or replace it with --force
    bob.png: 8 bytes
    error: contact 1 has no picture; to add one: etui contacts edit 1 --set photo=FILE
    [exit 4]
    $ etui contacts edit -q 1 --set photo=https://example.org/a.jpg; etui contacts photo 1; etui contacts photo 1 2
    error: the picture of contact 1 is at https://example.org/a.jpg, and not in the store; fetch it with: curl -sSfL -o FILE
    error: give one contact at a time
    [exit 2]
    ");
}
