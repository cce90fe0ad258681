//! `etui contacts watch`: a second process prints changes as they happen.

use crate::harness::{TestHome, session};

/// Shell functions: `follow ARGS` starts `watch` in the background and waits until it is ready;
/// `seen TEXT` waits for a line of output; `finish` stops it and prints its output without times;
/// `ended` waits for it to exit and prints the output and the exit code.
const SHELL: &str = "\
follow() {
    rm -f err
    etui contacts watch \"$@\" > out 2> err & pid=$!
    wait_until test -s err
}
seen() {
    wait_until grep -qF -- \"$1\" out
}
ended() {
    wait $pid; echo \"exit $?\"
    sed -E 's/^[0-9:]{8}Z/TIME/; s/[0-9a-f]{16}[.][0-9a-f]{16}/STORE.COPY/' out err
}
finish() {
    kill -${1:-TERM} $pid; wait $pid; echo \"exit $?\"
    sed -E 's/^[0-9:]{8}Z/TIME/; s/[0-9a-f]{16}[.][0-9a-f]{16}/STORE.COPY/' out
    ls .local/share/etui
}
";

fn with_shell() -> TestHome {
    let home = TestHome::with_people();
    std::fs::write(home.path("sh"), SHELL).unwrap();
    home
}

#[test]
fn each_change_is_a_line() {
    let home = with_shell();
    session!(home, [
        ". ./sh; follow; \
         etui -q contacts add --name Zoe --set uid=zoe; seen +; \
         etui -q contacts edit zoe --set phone=1 --add note=tea; seen phone; \
         etui -q contacts edit zoe --set url=http://example.org; seen details; \
         etui -q contacts remove eve; seen -; \
         etui -q contacts restore eve; seen '+ 3'; finish; cat err",
    ], @r"
    $ . ./sh; follow; etui -q contacts add --name Zoe --set uid=zoe; seen +; etui -q contacts edit zoe --set phone=1 --add note=tea; seen phone; etui -q contacts edit zoe --set url=http://example.org; seen details; etui -q contacts remove eve; seen -; etui -q contacts restore eve; seen '+ 3'; finish; cat err
    exit 0
    TIME + 5 Zoe
    TIME ~ 5 Zoe: phone, note
    TIME ~ 5 Zoe: details
    TIME - 3 Eve \u{1b}[31mTrouble\u{9b}2J
    TIME + 3 Eve \u{1b}[31mTrouble\u{9b}2J
    personal.etui
    Watching for changes; stop with Ctrl-C.
    ");
}

#[test]
fn a_filter_selects_records() {
    let home = with_shell();
    session!(home, [
        ". ./sh; follow --initial 'name:ann* or -org:*'; \
         etui -q contacts edit anna --set fn=Berta --set n='Müller;Berta;;;'; seen '- 1'; \
         etui -q contacts edit bob --set note=x; seen '~ 2'; \
         etui -q contacts edit bob --set org=Example; seen '- 2'; \
         etui -q contacts restore 1; seen '+ 1'; finish INT",
    ], @r"
    $ . ./sh; follow --initial 'name:ann* or -org:*'; etui -q contacts edit anna --set fn=Berta --set n='Müller;Berta;;;'; seen '- 1'; etui -q contacts edit bob --set note=x; seen '~ 2'; etui -q contacts edit bob --set org=Example; seen '- 2'; etui -q contacts restore 1; seen '+ 1'; finish INT
    exit 0
    TIME = 2 Bob Öst
    TIME = 1 Anna Müller
    TIME = 4 Norbert Nobody
    TIME = 3 Eve \u{1b}[31mTrouble\u{9b}2J
    TIME - 1 Berta
    TIME ~ 2 Bob Öst: note
    TIME - 2 Bob Öst
    TIME + 1 Anna Müller
    personal.etui
    ");
}

#[test]
fn programs_go_on_where_they_were() {
    let home = with_shell();
    session!(home, [
        ". ./sh; follow --json name:zoe; \
         etui -q contacts add --name Zoe --set uid=zoe; seen '.5\"'; finish; \
         tail -1 out | cut -d'\"' -f8 > token",
        "etui -q contacts edit zoe --set note=x --set phone=1",
        "etui -q contacts add --name 'Zoe Too' --set uid=too",
        "etui -q contacts remove zoe",
        ". ./sh; follow --json name:zoe --since $(cat token); seen '.8\"'; finish",
        "etui contacts watch --since x",
        "etui contacts watch --since 0000000000000001.0000000000000001.1 --json | head -2 | \
         sed 's/[0-9a-f.]\\{30,\\}/TOKEN/'",
    ], @r#"
    $ . ./sh; follow --json name:zoe; etui -q contacts add --name Zoe --set uid=zoe; seen '.5"'; finish; tail -1 out | cut -d'"' -f8 > token
    exit 0
    {"event":"token","token":"STORE.COPY.4"}
    {"event":"added","number":5,"id":5,"uid":"zoe","name":"Zoe","organization":"","phone":"","email":"","fields":[]}
    {"event":"token","token":"STORE.COPY.5"}
    personal.etui
    $ etui -q contacts edit zoe --set note=x --set phone=1
    $ etui -q contacts add --name 'Zoe Too' --set uid=too
    $ etui -q contacts remove zoe
    $ . ./sh; follow --json name:zoe --since $(cat token); seen '.8"'; finish
    exit 0
    {"event":"token","token":"STORE.COPY.5"}
    {"event":"added","number":7,"id":7,"uid":"too","name":"Zoe Too","organization":"","phone":"","email":"","fields":[]}
    {"event":"removed","number":8,"id":5,"uid":"zoe","name":"Zoe","organization":"","phone":"1","email":"","fields":[]}
    {"event":"token","token":"STORE.COPY.8"}
    personal.etui
    $ etui contacts watch --since x
    error: invalid value 'x' for '--since <TOKEN>': a sync token looks like 0123456789abcdef.0123456789abcdef.42

    For more information, try '--help'.
    [exit 2]
    $ etui contacts watch --since 0000000000000001.0000000000000001.1 --json | head -2 | sed 's/[0-9a-f.]\{30,\}/TOKEN/'
    Watching for changes; stop with Ctrl-C.
    {"event":"token","token":"TOKEN"}
    {"event":"reset"}
    "#);
}

#[test]
fn renames_and_removals_are_reported() {
    let home = with_shell();
    session!(home, [
        ". ./sh; follow; \
         etui -q addressbooks rename Contacts Home; seen Home; \
         etui -q contacts edit bob --set note=x; seen '~ 2'; \
         etui -q addressbooks create Work; \
         etui -q addressbooks remove Home --yes; ended",
        "etui addressbooks restore Home",
        ". ./sh; follow --json --addressbook Home name:bob; \
         etui -q addressbooks rename Home Contacts; seen Contacts; \
         etui -q addressbooks remove Contacts --yes; ended",
        ". ./sh; follow name:nobody-at-all; \
         etui -q addressbooks restore Contacts; \
         etui -q addressbooks remove Work; ended",
        "etui -q addressbooks restore Work; etui addressbooks",
    ], @r#"
    $ . ./sh; follow; etui -q addressbooks rename Contacts Home; seen Home; etui -q contacts edit bob --set note=x; seen '~ 2'; etui -q addressbooks create Work; etui -q addressbooks remove Home --yes; ended
    exit 4
    TIME ! The address book Contacts was renamed to Home
    TIME ~ 2 Bob Öst: note
    TIME - 1 Anna Müller
    TIME - 2 Bob Öst
    TIME - 3 Eve \u{1b}[31mTrouble\u{9b}2J
    TIME - 4 Norbert Nobody
    TIME ! The address book Home was removed
    Watching for changes; stop with Ctrl-C.
    error: the address book was removed; restore it with: etui addressbooks restore Home
    $ etui addressbooks restore Home
    Restored the address book Home: 4 contacts
    $ . ./sh; follow --json --addressbook Home name:bob; etui -q addressbooks rename Home Contacts; seen Contacts; etui -q addressbooks remove Contacts --yes; ended
    exit 4
    {"event":"token","token":"STORE.COPY.13"}
    {"event":"collection_renamed","from":"Home","name":"Contacts"}
    {"event":"removed","number":15,"id":2,"uid":"bob","name":"Bob Öst","organization":"","phone":"","email":"bob@example.com","fields":[]}
    {"event":"token","token":"STORE.COPY.17"}
    {"event":"collection_removed","name":"Contacts"}
    Watching for changes; stop with Ctrl-C.
    {"error":{"kind":"not_found","message":"the address book was removed; restore it with: etui addressbooks restore Contacts"}}
    $ . ./sh; follow name:nobody-at-all; etui -q addressbooks restore Contacts; etui -q addressbooks remove Work; ended
    exit 4
    TIME ! The address book Work was removed
    Watching for changes; stop with Ctrl-C.
    error: the address book was removed; restore it with: etui addressbooks restore Work
    $ etui -q addressbooks restore Work; etui addressbooks
    Contacts  Address book
           4  Contacts
           0  Work
    "#);
}

#[test]
fn it_ends_when_nobody_reads() {
    let home = with_shell();
    session!(home, [
        "etui contacts watch --json 2>/dev/null | head -1 | cut -c1-25",
        "etui contacts watch 'name:('",
        "etui contacts watch --addressbook None",
    ], @r#"
    $ etui contacts watch --json 2>/dev/null | head -1 | cut -c1-25
    {"event":"token","token":
    $ etui contacts watch 'name:('
    error: in the filter, at character 6: something to look for is missing here
    [exit 2]
    $ etui contacts watch --addressbook None
    error: there is no address book named "None" (there are: Contacts)
    [exit 4]
    "#);
}
