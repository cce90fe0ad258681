//! `contacts edit` with the person's own editor, which is a small script here.

use crate::harness::{TestHome, session};

#[test]
fn a_change_is_saved() {
    let home = TestHome::with_people();
    session!(home, [
        "EDITOR='sed -i s/Bob/Robert/' etui contacts edit bob",
        "EDITOR='sed -i s/Robert/Rob/' VISUAL='sed -i s/Robert/Bert/' etui contacts edit bob",
        "etui contacts show bob --vcard | grep FN",
        "EDITOR=true etui contacts edit bob",
        "EDITOR=false etui contacts edit bob",
        "EDITOR='sed -i s/tea/coffee/' etui contacts edit bob --json",
        "ls tmp",
    ], @r#"
    $ EDITOR='sed -i s/Bob/Robert/' etui contacts edit bob
    Changed 2: Robert Öst (undo: etui contacts restore 2)
    $ EDITOR='sed -i s/Robert/Rob/' VISUAL='sed -i s/Robert/Bert/' etui contacts edit bob
    Changed 2: Bert Öst (undo: etui contacts restore 2)
    $ etui contacts show bob --vcard | grep FN
    FN:Bert Öst\r
    $ EDITOR=true etui contacts edit bob
    Unchanged: 2 Bert Öst
    $ EDITOR=false etui contacts edit bob
    error: the editor "false" failed with exit status: 1; nothing was changed
    [exit 1]
    $ EDITOR='sed -i s/tea/coffee/' etui contacts edit bob --json
    {"id":2,"uid":"bob","etag":"b6c267bca326776fa007ee521756fefb","name":"Bert Öst","outcome":"changed"}
    $ ls tmp
    "#);
}

#[test]
fn the_file_is_private() {
    let home = TestHome::with_people();
    session!(home, [
        "EDITOR='ls -l' etui contacts edit bob | cut -c1-10",
    ], @"
    $ EDITOR='ls -l' etui contacts edit bob | cut -c1-10
    -rw-------
    Unchanged:
    ");
}

#[test]
fn what_cannot_be_kept_is_refused_and_not_lost() {
    let home = TestHome::with_people();
    std::fs::write(home.path("killed"), "sed -i s/Bob/Rob/ \"$1\"; kill $$\n").unwrap();
    session!(home, [
        "EDITOR='sed -i s/^X-HOBBY.*/chess/' etui contacts edit bob",
        "grep -c chess tmp/*",
        "sed -i s/^chess/X-HOBBY:go/ tmp/*; etui contacts edit bob --from tmp/*",
        "etui contacts show bob --vcard | grep HOBBY; rm tmp/*",
        "EDITOR='sed -i s/UID:bob/UID:rob/' etui contacts edit bob; rm tmp/*",
        "EDITOR='sed -i /^UID/d' etui contacts edit bob; rm tmp/*",
        "EDITOR='sed -i /^END/d' etui contacts edit bob; rm tmp/*",
        "EDITOR='sh killed' etui contacts edit bob; grep FN tmp/*",
    ], @r#"
    $ EDITOR='sed -i s/^X-HOBBY.*/chess/' etui contacts edit bob
    error: line 8: "chess" has no colon; a line of a vCard is NAME:VALUE, a continuation line begins with a space
    Nothing was changed. Your text is kept in ~/tmp/etui-edit-XXXXXX.vcf; to continue:
      $EDITOR ~/tmp/etui-edit-XXXXXX.vcf
      etui contacts edit bob --from ~/tmp/etui-edit-XXXXXX.vcf --if-match e9344b3fa64cdfe8819b49d2bcc02b2e
    [exit 3]
    $ grep -c chess tmp/*
    1
    $ sed -i s/^chess/X-HOBBY:go/ tmp/*; etui contacts edit bob --from tmp/*
    Changed 2: Bob Öst (undo: etui contacts restore 2)
    - X-HOBBY: chess
      X-HOBBY: go
    $ etui contacts show bob --vcard | grep HOBBY; rm tmp/*
    X-HOBBY:go
    $ EDITOR='sed -i s/UID:bob/UID:rob/' etui contacts edit bob; rm tmp/*
    error: the UID identifies the contact and cannot change: it is bob, the text has rob. To add another contact: etui contacts add FILE
    Nothing was changed. Your text is kept in ~/tmp/etui-edit-XXXXXX.vcf; to continue:
      $EDITOR ~/tmp/etui-edit-XXXXXX.vcf
      etui contacts edit bob --from ~/tmp/etui-edit-XXXXXX.vcf --if-match 1cfe4a64ce085fefb0dcedb6109321ed
    $ EDITOR='sed -i /^UID/d' etui contacts edit bob; rm tmp/*
    error: the UID identifies the contact and cannot change: it is bob, the text has none. To add another contact: etui contacts add FILE
    Nothing was changed. Your text is kept in ~/tmp/etui-edit-XXXXXX.vcf; to continue:
      $EDITOR ~/tmp/etui-edit-XXXXXX.vcf
      etui contacts edit bob --from ~/tmp/etui-edit-XXXXXX.vcf --if-match 1cfe4a64ce085fefb0dcedb6109321ed
    $ EDITOR='sed -i /^END/d' etui contacts edit bob; rm tmp/*
    error: not a vCard: it must begin with BEGIN:VCARD and end with END:VCARD
    Nothing was changed. Your text is kept in ~/tmp/etui-edit-XXXXXX.vcf; to continue:
      $EDITOR ~/tmp/etui-edit-XXXXXX.vcf
      etui contacts edit bob --from ~/tmp/etui-edit-XXXXXX.vcf --if-match 1cfe4a64ce085fefb0dcedb6109321ed
    $ EDITOR='sh killed' etui contacts edit bob; grep FN tmp/*
    Terminated
    error: the editor "sh killed" failed with exit status: 143; nothing was changed; your text is kept in ~/tmp/etui-edit-XXXXXX.vcf
    FN:Rob Öst\r
    "#);
}

#[test]
fn a_change_meanwhile_is_not_overwritten() {
    let home = TestHome::with_people();
    std::fs::write(
        home.path("editor"),
        "etui -q contacts edit bob --set note=meanwhile\nsed -i s/Bob/Robert/ \"$1\"\n",
    )
    .unwrap();
    session!(home, [
        "EDITOR='sh editor' etui contacts edit bob",
        "grep FN tmp/*",
        "etui contacts show bob --vcard | grep -e FN -e NOTE",
    ], @r"
    $ EDITOR='sh editor' etui contacts edit bob
    error: contact bob was changed in the meantime; nothing was overwritten. See its current state: etui contacts show bob
    Your text is kept in ~/tmp/etui-edit-XXXXXX.vcf. Merge both changes there, then: etui contacts edit bob --from ~/tmp/etui-edit-XXXXXX.vcf
    [exit 5]
    $ grep FN tmp/*
    FN:Robert Öst\r
    $ etui contacts show bob --vcard | grep -e FN -e NOTE
    FN:Bob Öst\r
    NOTE:meanwhile\r
    ");
}

#[test]
fn without_uid_and_in_an_old_charset() {
    let home = TestHome::new();
    std::fs::write(
        home.path("old.vcf"),
        b"BEGIN:VCARD\nVERSION:3.0\nN:M\xfcller;J\xf6rg\nFN:J\xf6rg M\xfcller\nEND:VCARD\n",
    )
    .unwrap();
    session!(home, [
        "etui import old.vcf",
        "EDITOR='sed -i s/Müller/Möller/' etui contacts edit 1",
        "etui contacts show 1 --vcard",
    ], @r"
    $ etui import old.vcf
    old.vcf: 1 added (63 bytes)
    Created a store: ~/.local/share/etui/personal.etui
    Sort order: und; region of phone numbers without a country code: none (change it: etui settings region CODE)
    $ EDITOR='sed -i s/Müller/Möller/' etui contacts edit 1
    this vCard is not in UTF-8; it is converted when you change it
    Changed 1: Jörg Möller (undo: etui contacts restore 1)
    - N: Müller;Jörg
      N: Möller;Jörg
    $ etui contacts show 1 --vcard
    BEGIN:VCARD\r
    VERSION:3.0\r
    N:Möller;Jörg\r
    FN:Jörg Möller\r
    UID:etui-64d7aa3bc7cca7a59582693b505cea25\r
    END:VCARD\r
    ");
}

/// vi would wait for keys for ever.
#[test]
fn without_terminal_and_editor_nothing_hangs() {
    let home = TestHome::with_people();
    session!(home, [
        "etui contacts edit bob",
        "EDITOR=' ' etui contacts edit bob < /dev/null",
        "EDITOR=no-such-editor etui contacts edit bob",
        "ls tmp",
    ], @r#"
    $ etui contacts edit bob
    error: there is no terminal for an editor; give the changes as options, a file with --from, or a program in EDITOR
    [exit 2]
    $ EDITOR=' ' etui contacts edit bob < /dev/null
    error: there is no terminal for an editor; give the changes as options, a file with --from, or a program in EDITOR
    [exit 2]
    $ EDITOR=no-such-editor etui contacts edit bob
    no-such-editor: 1: no-such-editor: not found
    error: the editor "no-such-editor" was not found; set EDITOR, or give the changes as options
    [exit 2]
    $ ls tmp
    "#);
}
