//! Which fields, in which order, which part: the options of `find` and `list`.

use crate::harness::{TestHome, session};

#[test]
fn fields_are_shown_as_asked() {
    let home = TestHome::with_people();
    session!(home, [
        "etui contacts list --fields name,phones,id",
        "etui contacts find mull --fields family,given,org,emails,uid,etag",
        "etui contacts find mull --fields email --limit 1",
        "etui contacts list --fields name,note",
        "etui contacts list --fields phones,name,note,phones,id --json",
        "etui contacts find bob --fields card",
        "etui contacts find bob --fields vcard --json",
        "etui contacts list --fields name,colour",
        "etui contacts list --fields ''",
    ], @r#"
    $ etui contacts list --fields name,phones,id
    Name                           Phones                           #
    Bob Öst                                                         2
    Anna Müller                    0171 39200 02, +49 30 23125 001  1
    Norbert Nobody                                                  4
    Eve \u{1b}[31mTrouble\u{9b}2J  +1 202 555 0143                  3
    $ etui contacts find mull --fields family,given,org,emails,uid,etag
    Family name  Given names  Organisation  E-mails                   UID   ETag
    Müller       Anna         Example GmbH  anna.mueller@example.org  anna  2c820871f0cfae89f1e09047d1946c54
    $ etui contacts find mull --fields email --limit 1
    E-mail
    anna.mueller@example.org
    $ etui contacts list --fields name,note
    Name                           Note
    Bob Öst                        likes tea, no milk and cake
    Anna Müller
    Norbert Nobody
    Eve \u{1b}[31mTrouble\u{9b}2J
    $ etui contacts list --fields phones,name,note,phones,id --json
    {"phones":[],"name":"Bob Öst","note":"likes tea, no milk\nand cake","id":2}
    {"phones":["0171 39200 02","+49 30 23125 001"],"name":"Anna Müller","note":"","id":1}
    {"phones":[],"name":"Norbert Nobody","note":"","id":4}
    {"phones":["+1 202 555 0143"],"name":"Eve \u001b[31mTrouble\u009b2J","note":"","id":3}
    $ etui contacts find bob --fields card
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
    $ etui contacts find bob --fields vcard --json
    {"card":"BEGIN:VCARD\r\nVERSION:4.0\r\nUID:bob\r\nFN:Bob Öst\r\nEMAIL;TYPE=home:bob@example.com\r\nBDAY:--0229\r\nNOTE:likes tea\\, no milk\\nand cake\r\nX-HOBBY:chess\r\nPHOTO:data:image/png;base64,iVBORw0KGgo=\r\nEND:VCARD\r\n"}
    $ etui contacts list --fields name,colour
    error: invalid value 'colour' for '--fields <NAME,...>': there is no field "colour"; fields: id, name, org, phone, email, uid, etag, family, given, nick, phones, emails, categories, note, address, city, birthday, card

    For more information, try '--help'.
    [exit 2]
    $ etui contacts list --fields ''
    error: invalid value '' for '--fields <NAME,...>': there is no field ""; fields: id, name, org, phone, email, uid, etag, family, given, nick, phones, emails, categories, note, address, city, birthday, card

    For more information, try '--help'.
    [exit 2]
    "#);
}

#[test]
fn orders() {
    let home = TestHome::with_people();
    session!(home, [
        "etui contacts list --sort -name --fields id,name",
        "etui contacts list --sort added --fields id",
        "etui contacts find --sort -added --fields id -- -email:*",
        "etui contacts find e --sort none --fields id | sort",
        "etui contacts list --sort size",
    ], @r"
    $ etui contacts list --sort -name --fields id,name
    #  Name
    3  Eve \u{1b}[31mTrouble\u{9b}2J
    4  Norbert Nobody
    1  Anna Müller
    2  Bob Öst
    $ etui contacts list --sort added --fields id
    #
    1
    2
    3
    4
    $ etui contacts find --sort -added --fields id -- -email:*
    #
    4
    3
    $ etui contacts find e --sort none --fields id | sort
    #
    1
    2
    3
    $ etui contacts list --sort size
    error: invalid value 'size' for '--sort <ORDER>'
      [possible values: name, -name, added, -added, none]

    For more information, try '--help'.
    [exit 2]
    ");
}

#[test]
fn parts_of_an_answer() {
    let home = TestHome::with_people();
    session!(home, [
        "etui contacts list --at 2 --fields id",
        "etui contacts list --offset 2 --fields id",
        "etui contacts list --at 1 --limit 1 --sort -name --fields id",
        "etui contacts list --at 4",
        "etui contacts list --at 99 --json",
        "etui contacts list --limit 0",
        "etui contacts find anna --limit 0",
        "etui contacts find anna --at 1",
        "etui contacts find zz --limit 0",
        "etui contacts find zz --json --limit 1",
        "etui contacts list --limit -1",
        "etui contacts list --sort -name --at 18446744073709551615 --fields id",
        "etui contacts find --fields id -- -0",
        "etui contacts list --limit 2 --all",
    ], @r#"
    $ etui contacts list --at 2 --fields id
    #
    4
    3
    $ etui contacts list --offset 2 --fields id
    #
    4
    3
    $ etui contacts list --at 1 --limit 1 --sort -name --fields id
    #
    4
    $ etui contacts list --at 4
    #  Name  Organisation  Phone  E-mail
    $ etui contacts list --at 99 --json
    $ etui contacts list --limit 0
    #  Name  Organisation  Phone  E-mail
    $ etui contacts find anna --limit 0
    #  Name  Organisation  Phone  E-mail
    $ etui contacts find anna --at 1
    #  Name  Organisation  Phone  E-mail
    $ etui contacts find zz --limit 0
    error: no contact matches: zz
    [exit 4]
    $ etui contacts find zz --json --limit 1
    {"error":{"kind":"not_found","message":"no contact matches: zz"}}
    [exit 4]
    $ etui contacts list --limit -1
    error: unexpected argument '-1' found

    Usage: etui contacts list [OPTIONS]

    For more information, try '--help'.
    [exit 2]
    $ etui contacts list --sort -name --at 18446744073709551615 --fields id
    #
    $ etui contacts find --fields id -- -0
    #
    2
    4
    3
    $ etui contacts list --limit 2 --all
    error: the argument '--limit <N>' cannot be used with '--all'

    Usage: etui contacts list --limit <N>

    For more information, try '--help'.
    [exit 2]
    "#);
}

#[test]
fn a_page_after_a_page() {
    let home = TestHome::with_people();
    session!(home, [
        "etui contacts list --json --limit 2 --fields id",
        "etui contacts list --json --limit 2 > page; grep -c next page",
        "sed -n 's/.*\"next\":\"\\(.*\\)\"}/\\1/p' page > cursor",
        "etui contacts list --after $(cat cursor) --fields id",
        // Additions and removals before the cursor do not move it.
        "etui -q contacts remove 1 2; etui -q contacts add --name Aaron",
        "etui contacts list --after $(cat cursor) --fields id",
        "etui contacts find --after $(cat cursor) --fields id --limit 2 --json -- -aaron | wc -l",
        "etui contacts list --sort none --after $(cat cursor)",
        "etui contacts list --after here",
    ], @r#"
    $ etui contacts list --json --limit 2 --fields id
    {"id":2,"next":null}
    {"id":1,"next":"1.43534141334d022b45452b0144960d01dcbfdc07"}
    $ etui contacts list --json --limit 2 > page; grep -c next page
    2
    $ sed -n 's/.*"next":"\(.*\)"}/\1/p' page > cursor
    $ etui contacts list --after $(cat cursor) --fields id
    #
    4
    3
    $ etui -q contacts remove 1 2; etui -q contacts add --name Aaron
    $ etui contacts list --after $(cat cursor) --fields id
    #
    4
    3
    $ etui contacts find --after $(cat cursor) --fields id --limit 2 --json -- -aaron | wc -l
    2
    $ etui contacts list --sort none --after $(cat cursor)
    error: --after needs an order; --sort none has none
    [exit 2]
    $ etui contacts list --after here
    error: invalid value 'here' for '--after <CURSOR>': a cursor looks like 42.2b2f01; it comes from an earlier answer

    For more information, try '--help'.
    [exit 2]
    "#);
}

#[test]
fn how_many_and_how() {
    let home = TestHome::with_people();
    session!(home, [
        "etui contacts find '*' --count",
        "etui contacts find --count -- -email:*",
        "etui contacts find zz --count",
        "etui contacts find mull --count --json",
        "etui contacts find mull --count --limit 1",
        "etui contacts find 'org:*amp* -bob' --explain",
        "etui contacts find ann --sort none --explain",
        "etui contacts find ann --explain --json",
        "etui contacts find '*' --explain --limit 2",
        "etui contacts find zz --explain",
    ], @r#"
    $ etui contacts find '*' --count
    4
    $ etui contacts find --count -- -email:*
    2
    $ etui contacts find zz --count
    0
    $ etui contacts find mull --count --json
    {"count":1}
    $ etui contacts find mull --count --limit 1
    error: the argument '--count' cannot be used with '--limit <N>'

    Usage: etui contacts find --count <FILTER>...

    For more information, try '--help'.
    [exit 2]
    $ etui contacts find 'org:*amp* -bob' --explain
    filter       (org:*"amp"* -any:"bob"*)
    access path  index lookup
    candidates   2
    pending      0
    rechecked    2
    scanned      0 of 4
    rows         1
    $ etui contacts find ann --sort none --explain
    filter       everywhere:"ann"*
    access path  index lookup
    candidates   1
    pending      0
    rechecked    0
    scanned      0 of 4
    rows         1
    $ etui contacts find ann --explain --json
    {"filter":"everywhere:\"ann\"*","access_path":"index_lookup","contacts":4,"candidates":1,"exact":false,"pending":0,"rechecked":0,"scanned":0,"rows":1,"addressbook":"Contacts"}
    $ etui contacts find '*' --explain --limit 2
    filter       *
    access path  list scan
    scanned      2 of 4
    rows         2
    $ etui contacts find zz --explain
    filter       everywhere:"zz"*
    access path  index lookup
    candidates   0
    pending      0
    rechecked    0
    scanned      0 of 4
    rows         0
    "#);
}

#[test]
fn access_paths() {
    let home = TestHome::new();
    home.run("etui init --locale en; etui generate -n 3000 | etui import -");
    session!(home, [
        "etui contacts find 'fischer' --limit 50 --explain | grep path",
        "etui contacts find 'email:*' --limit 10 --explain | grep path",
        "etui contacts find '-email:*' --explain | grep path",
        "etui contacts find 'email:*' --sort none --limit 10 --explain | grep path",
        "etui contacts find '*' --at 2000 --limit 10 --explain | grep -e path -e scanned",
    ], @"
    $ etui contacts find 'fischer' --limit 50 --explain | grep path
    access path  index lookup
    $ etui contacts find 'email:*' --limit 10 --explain | grep path
    access path  bitmap scan
    $ etui contacts find '-email:*' --explain | grep path
    error: unexpected argument '-e' found

      tip: to pass '-e' as a value, use '-- -e'

    Usage: etui contacts find [OPTIONS] <FILTER>...

    For more information, try '--help'.
    [exit 1]
    $ etui contacts find 'email:*' --sort none --limit 10 --explain | grep path
    access path  index lookup
    $ etui contacts find '*' --at 2000 --limit 10 --explain | grep -e path -e scanned
    access path  list scan
    scanned      14 of 3000
    ");
}

#[test]
fn letters() {
    let home = TestHome::with_people();
    session!(home, [
        "etui contacts list --letters | head -4",
        "etui contacts list --letters --json | sed -n '13,14p'",
        "etui contacts list --letters --limit 3",
    ], @r#"
    $ etui contacts list --letters | head -4
    Position  Letter
           0  A
           0  B
           1  C
    $ etui contacts list --letters --json | sed -n '13,14p'
    {"letter":"M","position":1}
    {"letter":"N","position":2}
    $ etui contacts list --letters --limit 3
    error: the argument '--letters' cannot be used with '--limit <N>'

    Usage: etui contacts list --letters

    For more information, try '--help'.
    [exit 2]
    "#);
}

#[test]
fn help_of_the_list() {
    let home = TestHome::new();
    session!(home, ["etui contacts list --help | sed '/^Global/,$d'"], @r"
    $ etui contacts list --help | sed '/^Global/,$d'
    List contacts by name

    Usage: etui contacts list [OPTIONS]

    Options:
          --fields <NAME,...>  Fields to show: id, name, org, phone, email, uid, etag, family, given,
                               nick, phones, emails, categories, note, address, city, birthday, card
          --sort <ORDER>       Order: by name, by time of addition, or unordered (none, the fastest); -:
                               descending [default: name; of `find` the best match first] [possible
                               values: name, -name, added, -added, none]
          --limit <N>          Maximum number of rows [default: 50 on a terminal, else all]
          --all                Show all rows
          --at <N>             Start at position N, counted from 0 [default: 0] [alias: --offset]
          --after <CURSOR>     Start after this cursor: `next` in the output of --json --limit
          --letters            Print the position of the first name of each letter
          --no-pager           Print the list on a terminal too, instead of opening the browser
      -h, --help               Print help
    ");
}

#[test]
fn typing_mistakes_are_corrected_and_reported() {
    let home = TestHome::with_people();
    session!(home, [
        "etui contacts find mullr --fields id,name",
        "etui contacts find jax mulelr --fields id,name",
        "etui contacts find anan mueler --fields id,name --json",
        "etui contacts find mueller --fields id,name",
        "etui contacts find mullr --exact",
        "etui contacts find mullr --count",
        "etui contacts find name:mullr",
    ], @r#"
    $ etui contacts find mullr --fields id,name
    nothing for "mullr"; showing results for "muller"
    #  Name
    1  Anna Müller
    $ etui contacts find jax mulelr --fields id,name
    error: no contact matches: jax mulelr
    [exit 4]
    $ etui contacts find anan mueler --fields id,name --json
    nothing for "anan mueler"; showing results for "anna mueller or muller"
    {"id":1,"name":"Anna Müller","corrected":"anna mueller or muller"}
    $ etui contacts find mueller --fields id,name
    #  Name
    1  Anna Müller
    $ etui contacts find mullr --exact
    error: no contact matches: mullr
    [exit 4]
    $ etui contacts find mullr --count
    0
    $ etui contacts find name:mullr
    error: no contact matches: name:mullr
    [exit 4]
    "#);
}

#[test]
fn names_are_before_notes() {
    let home = TestHome::with_people();
    session!(home, [
        "etui contacts add --name 'Tea Zimmer' --set title=Teacher",
        "etui contacts add --name 'Al Other' --set 'address=4 Tea Road, London'",
        "etui contacts find tea --fields id,name",
        "etui contacts find tea --fields id,name --sort name",
        "etui contacts find tea --exact --fields id,name",
        "etui contacts find tea --limit 1 --json",
        "etui contacts find tea --explain",
        "etui contacts find address:london title:teacher or birthday:02",
    ], @r#"
    $ etui contacts add --name 'Tea Zimmer' --set title=Teacher
    Added 5: Tea Zimmer
    $ etui contacts add --name 'Al Other' --set 'address=4 Tea Road, London'
    Added 6: Al Other
    $ etui contacts find tea --fields id,name
    #  Name
    5  Tea Zimmer
    2  Bob Öst
    6  Al Other
    $ etui contacts find tea --fields id,name --sort name
    #  Name
    2  Bob Öst
    6  Al Other
    5  Tea Zimmer
    $ etui contacts find tea --exact --fields id,name
    #  Name
    5  Tea Zimmer
    $ etui contacts find tea --limit 1 --json
    {"id":5,"name":"Tea Zimmer","organization":"","phone":"","email":"","addressbook":"Contacts","next":"5.5d3b4343334d0251332b010e01dcc0dc06"}
    $ etui contacts find tea --explain
    filter       everywhere:"tea"*
    access path  index lookup
    candidates   1
    pending      2
    rechecked    2
    scanned      0 of 6
    rows         3
    $ etui contacts find address:london title:teacher or birthday:02
    #  Name     Organisation  Phone  E-mail
    2  Bob Öst                       bob@example.com
    "#);
}
