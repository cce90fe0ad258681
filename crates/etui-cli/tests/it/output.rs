//! Pipes, terminals, colour, control characters.

use crate::harness::{TestHome, session};

#[test]
fn a_closed_pipe_is_no_error() {
    let home = TestHome::new();
    home.run("etui generate -n 3000 | etui import -");
    for line in [
        "etui generate -n 3000",
        "etui export",
        "etui export --json",
        "etui contacts list",
        "etui contacts list --json",
        "etui completions bash",
        "etui man",
        "etui --help",
    ] {
        let (text, _) = home.run(&format!(
            "{{ {line}; echo $? > code; }} | head -c 1 > start; cat code"
        ));
        assert_eq!(text, "0\n", "{line}");
    }
    session!(home, ["etui export | head -1"], @r#"
    $ etui export | head -1
    BEGIN:VCARD\r
    "#);
}

#[test]
fn names_cannot_send_escape_sequences() {
    let home = TestHome::with_people();
    for line in [
        "etui contacts list",
        "etui contacts list --json",
        "etui contacts show eve",
        "etui contacts show eve --json",
        "etui contacts remove eve",
        "etui contacts restore --list",
        "etui contacts restore eve",
        "etui contacts find \"$(printf 'x\\033[31m\\302\\233')\"",
        "etui --store \"$(printf 'x\\033[31m')\" stats",
    ] {
        let (text, _) = home.run(line);
        assert!(!text.contains(['\x1b', '\u{9b}']), "{line}: {text}");
        assert!(text.contains("1b"), "{line}: {text}");
    }
    // A vCard is itself, except on a terminal.
    let (text, _) = home.run("etui contacts show eve --vcard");
    assert!(text.contains('\x1b'));
}

#[test]
fn colour_where_it_is_wanted() {
    let home = TestHome::with_people();
    session!(home, [
        "etui --color always contacts find mull",
        "NO_COLOR=1 etui contacts find mull",
        "etui --color never contacts find zz",
        "etui --color always contacts find zz",
        "etui --color sometimes contacts list",
    ], @r"
    $ etui --color always contacts find mull
    \e[2m#  Name         Organisation  Phone          E-mail\e[0m
    1  Anna Müller  Example GmbH  0171 39200 02  anna.mueller@example.org
    $ NO_COLOR=1 etui contacts find mull
    #  Name         Organisation  Phone          E-mail
    1  Anna Müller  Example GmbH  0171 39200 02  anna.mueller@example.org
    $ etui --color never contacts find zz
    error: no contact matches: zz
    [exit 4]
    $ etui --color always contacts find zz
    \e[31merror:\e[0m no contact matches: zz
    [exit 4]
    $ etui --color sometimes contacts list
    error: invalid value 'sometimes' for '--color <WHEN>'
      [possible values: auto, always, never]

    For more information, try '--help'.
    [exit 2]
    ");
}

#[test]
fn quiet_says_only_what_was_asked_for() {
    let home = TestHome::new();
    session!(home, [
        "etui -q init",
        "etui -q import people.vcf",
        "etui -q contacts edit 1 --set note=x",
        "etui -q contacts find bob",
        "etui -q contacts remove 1 2",
        "etui -q contacts remove 1",
    ], @"
    $ etui -q init
    $ etui -q import people.vcf
    $ etui -q contacts edit 1 --set note=x
    $ etui -q contacts find bob
    #  Name     Organisation  Phone  E-mail
    2  Bob Öst                       bob@example.com
    $ etui -q contacts remove 1 2
    $ etui -q contacts remove 1
    error: contact 1 was removed; restore it with `etui contacts restore 1`
    [exit 4]
    ");
}
