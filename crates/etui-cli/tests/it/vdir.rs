//! Folders with a file per record (vdir), as khard, khal and vdirsyncer have them.

use std::path::Path;
use std::process::Command;

use crate::harness::{TestHome, session};

/// A series in a time zone of its file, with a moved time.
const SERIES: &str = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Example Corp.//Calendar//EN\r\n\
X-APPLE-CALENDAR-COLOR:#aa00FFff\r\n\
BEGIN:VTIMEZONE\r\nTZID:Example/Zone\r\nBEGIN:STANDARD\r\nDTSTART:19700101T000000\r\n\
TZOFFSETFROM:+0300\r\nTZOFFSETTO:+0300\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n\
BEGIN:VEVENT\r\nUID:club@example.org\r\nDTSTAMP:20260101T000000Z\r\n\
DTSTART;TZID=Example/Zone:20260302T190000\r\nDURATION:PT2H\r\nRRULE:FREQ=WEEKLY\r\n\
SUMMARY:Club\r\nEND:VEVENT\r\n\
BEGIN:VEVENT\r\nUID:club@example.org\r\nDTSTAMP:20260101T000000Z\r\n\
RECURRENCE-ID;TZID=Example/Zone:20260309T190000\r\nDTSTART;TZID=Example/Zone:20260310T190000\r\n\
SUMMARY:Club (moved)\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";

fn card(uid: &str, name: &str) -> String {
    format!("BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{uid}\r\nN:{name};;;;\r\nFN:{name}\r\nEND:VCARD\r\n")
}

fn write(home: &TestHome, path: &str, bytes: impl AsRef<[u8]>) {
    let path = home.path(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// A folder of two address books, a calendar and other files.
fn with_folders() -> TestHome {
    let home = TestHome::new();
    write(&home, "all/work/1.vcf", card("one", "Ada"));
    write(&home, "all/work/2.vcf", card("two", "Bob"));
    write(&home, "all/work/displayname", "At work\n");
    write(&home, "all/work/color", "#FF0000\n");
    write(&home, "all/work/.hidden.vcf", card("hidden", "Hidden"));
    write(&home, "all/work/3.vcf.tmp", card("tmp", "Temporary"));
    write(&home, "all/friends/x.vcf", card("x", "Eve"));
    write(&home, "all/club/club.ics", SERIES);
    write(&home, "all/empty/readme.txt", "nothing");
    home
}

#[test]
fn folders_come_in_and_go_out_unchanged() {
    let home = with_folders();
    session!(home, [
        "etui import all",
        "etui import --each all",
        "etui import --each all",
        "etui addressbooks",
        "etui calendars",
        "find all -type f -exec touch -d @1000 {} + && cp -a all out",
        "etui export --vdir out && etui export --calendars --vdir out",
        "diff -r all out",
        "find out -type f -newermt @1000 | sort",
        "etui export --vdir new && etui export --calendar club --vdir new/club",
        "cmp new/club/club@example.org.ics all/club/club.ics && cat new/club/color new/*/displayname",
        "ls -A new/* && stat -c %A new/club new/club/*.ics",
    ], @r"
    $ etui import all
    all/work: the colour #FF0000 is not imported; address books have none. An export into this folder leaves it
    error: all: has 3 folders of items; import each into a collection of its own: etui import --each all
    [exit 2]
    $ etui import --each all
    all/work: the colour #FF0000 is not imported; address books have none. An export into this folder leaves it
    all/club: 1 added (615 bytes), in the calendar club
    all/friends: 1 added (63 bytes), in the address book friends
    all/work: 2 added (130 bytes), in the address book At work
    Total: 4 added, 0 changed, 0 unchanged, 0 rejected
    Created a store: ~/.local/share/etui/personal.etui
    Sort order: und; region of phone numbers without a country code: none (change it: etui settings region CODE)
    $ etui import --each all
    all/work: the colour #FF0000 is not imported; address books have none. An export into this folder leaves it
    all/club: 0 added, 1 unchanged (615 bytes), in the calendar club
    all/friends: 0 added, 1 unchanged (63 bytes), in the address book friends
    all/work: 0 added, 2 unchanged (130 bytes), in the address book At work
    Total: 0 added, 0 changed, 4 unchanged, 0 rejected
    $ etui addressbooks
    Contacts  Address book
           0  Contacts
           1  friends
           2  At work
    $ etui calendars
    Entries  Calendar
          0  Calendar
          1  club
    $ find all -type f -exec touch -d @1000 {} + && cp -a all out
    $ etui export --vdir out && etui export --calendars --vdir out
    out/Contacts: 0 contacts written (Contacts)
    out/friends: 0 contacts written, 1 unchanged (friends)
    out/work: 0 contacts written, 2 unchanged (At work)
    out/Calendar: 0 entries written (Calendar)
    out/club: 0 entries written, 1 unchanged (club)
    $ diff -r all out
    Only in out: Calendar
    Only in out: Contacts
    Only in out/club: color
    Only in out/club: displayname
    Only in out/friends: displayname
    [exit 1]
    $ find out -type f -newermt @1000 | sort
    out/Calendar/.etui-exported
    out/Calendar/displayname
    out/Contacts/.etui-exported
    out/Contacts/displayname
    out/club/color
    out/club/displayname
    out/friends/displayname
    $ etui export --vdir new && etui export --calendar club --vdir new/club
    new/Contacts: 0 contacts written (Contacts)
    new/friends: 1 contact written (friends)
    new/At work: 2 contacts written (At work)
    new/club: 1 entry written (club)
    $ cmp new/club/club@example.org.ics all/club/club.ics && cat new/club/color new/*/displayname
    #AA00FFAt workContactsclubfriends
    $ ls -A new/* && stat -c %A new/club new/club/*.ics
    new/At work:
    .etui-exported
    displayname
    one.vcf
    two.vcf

    new/Contacts:
    .etui-exported
    displayname

    new/club:
    .etui-exported
    club@example.org.ics
    color
    displayname

    new/friends:
    .etui-exported
    displayname
    x.vcf
    drwx------
    -rw-------
    ");
}

#[test]
fn only_what_changed_is_written_and_removed() {
    let home = TestHome::with_people();
    session!(home, [
        "etui export --addressbook Contacts --vdir book",
        "find book -type f -exec touch -d @1000 {} +",
        "etui contacts edit 1 --set title=Boss",
        "etui contacts remove 2",
        "etui export --addressbook Contacts --vdir book",
        "find book -name '*.vcf' -newermt @1000",
        "etui export --addressbook Contacts --vdir book --delete --json",
        "ls book | grep -c bob",
        "etui export --addressbook Contacts --vdir book --delete anna",
        "etui export --addressbook Contacts --vdir book anna",
        "etui export --addressbook Contacts --vdir book --delete",
    ], @r#"
    $ etui export --addressbook Contacts --vdir book
    book: 4 contacts written (Contacts)
    $ find book -type f -exec touch -d @1000 {} +
    $ etui contacts edit 1 --set title=Boss
    Changed 1: Anna Müller (undo: etui contacts restore 1)
      Title: Boss
    $ etui contacts remove 2
    Removed 2: Bob Öst
    Undo: etui contacts restore 2
    $ etui export --addressbook Contacts --vdir book
    book: 1 contact written, 2 unchanged (Contacts)
    1 file without a record; --delete removes them
    $ find book -name '*.vcf' -newermt @1000
    book/anna.vcf
    $ etui export --addressbook Contacts --vdir book --delete --json
    {"folder":"book","collection":"Contacts","written":0,"unchanged":3,"removed":1,"kept":0,"without_record":0,"gone":0}
    $ ls book | grep -c bob
    0
    [exit 1]
    $ etui export --addressbook Contacts --vdir book --delete anna
    error: --delete removes the files of all records that are not exported; leave out the filter
    [exit 2]
    $ etui export --addressbook Contacts --vdir book anna
    book: 0 contacts written, 1 unchanged (Contacts)
    $ etui export --addressbook Contacts --vdir book --delete
    book: 0 contacts written, 3 unchanged (Contacts)
    "#);
}

#[test]
fn changes_of_other_programs_are_not_overwritten() {
    let home = TestHome::with_people();
    session!(home, [
        "etui export -q --addressbook Contacts --vdir book",
        "sed -i 's/FN:Anna M.*/FN:Anna Changed/' book/anna.vcf && cp book/anna.vcf book/new.vcf && sed -i s/anna/new/ book/new.vcf",
        "etui export --addressbook Contacts --vdir book --delete",
        "etui import book",
        "etui contacts edit -q 1 --set title=Boss",
        "etui export --addressbook Contacts --vdir book --delete",
        "grep -E 'FN|TITLE' book/anna.vcf",
        "echo broken > book/anna.vcf; etui export --addressbook Contacts --vdir book",
        "etui export --addressbook Contacts --vdir book --force; ls book",
    ], @r"
    $ etui export -q --addressbook Contacts --vdir book
    $ sed -i 's/FN:Anna M.*/FN:Anna Changed/' book/anna.vcf && cp book/anna.vcf book/new.vcf && sed -i s/anna/new/ book/new.vcf
    $ etui export --addressbook Contacts --vdir book --delete
    book/anna.vcf: changed since the last export or import, kept
    book/new.vcf: changed since the last export or import, kept
    book: 0 contacts written, 3 unchanged, 2 kept (Contacts)
    error: 2 files were changed by another program and not imported; import the folder first, or replace with --force
    [exit 5]
    $ etui import book
    book: 1 added, 1 changed, 3 unchanged (834 bytes)
    $ etui contacts edit -q 1 --set title=Boss
    $ etui export --addressbook Contacts --vdir book --delete
    book: 1 contact written, 4 unchanged (Contacts)
    $ grep -E 'FN|TITLE' book/anna.vcf
    FN:Anna Changed
    TITLE:Boss\r
    $ echo broken > book/anna.vcf; etui export --addressbook Contacts --vdir book
    book/anna.vcf: changed since the last export or import, kept
    book: 0 contacts written, 4 unchanged, 1 kept (Contacts)
    error: 1 file was changed by another program and not imported; import the folder first, or replace with --force
    [exit 5]
    $ etui export --addressbook Contacts --vdir book --force; ls book
    book: 1 contact written, 4 unchanged (Contacts)
    anna.vcf
    bob.vcf
    displayname
    etui-1ef7193b2ca6f6fbc7a7d775e0f08a32.vcf
    eve.vcf
    new.vcf
    ");
}

#[test]
fn rejected_items_are_named() {
    let home = TestHome::new();
    write(&home, "book/a.vcf", card("a", "Ada"));
    write(
        &home,
        "book/b.vcf",
        card("b", "Bob").replace("END:VCARD\r\n", ""),
    );
    write(&home, "book/c.vcf", card("c", "Cy").trim_end());
    write(&home, "book/d.vcf", format!("stray\r\n{}", card("d", "Di")));
    write(&home, "book/e.vcf", "");
    write(
        &home,
        "book/f.vcf",
        "\u{feff}".to_owned() + &card("f", "Fay"),
    );
    session!(home, [
        "etui import book",
        "etui import book --json | cut -c1-400",
        "etui contacts list --fields name",
    ], @r#"
    $ etui import book
    book/b.vcf:1: the record has no END line; it may be cut off: complete it or export it again (UID:b)
    book: 2 added, 1 rejected (183 bytes)
    book/c.vcf: 1 added (59 bytes)
    book/e.vcf: is empty; remove it, or restore it from a backup
    book/e.vcf: 0 added, 1 rejected (0 bytes)
    book/f.vcf: 1 added (66 bytes)
    Total: 4 added, 0 changed, 0 unchanged, 2 rejected
    Created a store: ~/.local/share/etui/personal.etui
    Sort order: und; region of phone numbers without a country code: none (change it: etui settings region CODE)
    error: 2 pieces were rejected; the rest was imported
    [exit 3]
    $ etui import book --json | cut -c1-400
    {"error":{"kind":"refused","message":"2 pieces were rejected; the rest was imported"}}
    {"added":0,"changed":0,"unchanged":4,"older":0,"proposals":0,"refused":2,"removed":0,"files":[{"file":"book","kind":"contacts","calendar":null,"bytes":183,"added":0,"changed":0,"unchanged":2,"older":0,"proposals":0,"refused":1,"removed":0,"refusals":[{"line":1,"last_line":6,"reason":"b.vcf: the record has no END line; it may be cut off: complete it or export it again","excerpt":"UID:b"}],"warned":
    $ etui contacts list --fields name
    Name
    Ada
    Cy
    Di
    Fay
    "#);
}

/// A UID must not leave the folder, and a name in use must not be overwritten.
#[test]
fn odd_uids_have_safe_names() {
    let home = TestHome::new();
    let all: String = [
        "../../escape",
        ".hidden",
        "a b",
        "A%20B",
        "Üb",
        "same",
        "SAME",
    ]
    .iter()
    .map(|uid| card(uid, "Odd"))
    .collect();
    write(&home, "odd.vcf", all + &card(&"long".repeat(100), "Long"));
    session!(home, [
        "mkdir book && ln -s ../outside book/%C3%9Cb.vcf",
        "etui import -q odd.vcf && etui export --addressbook Contacts --vdir book",
        "ls -A book | cut -c1-60; ls outside",
        "etui import book",
    ], @r"
    $ mkdir book && ln -s ../outside book/%C3%9Cb.vcf
    $ etui import -q odd.vcf && etui export --addressbook Contacts --vdir book
    book: 8 contacts written (Contacts)
    $ ls -A book | cut -c1-60; ls outside
    %2E.%2F..%2Fescape.vcf
    %2Ehidden.vcf
    %C3%9Cb-1f0f0a175db06d85.vcf
    %C3%9Cb.vcf
    .etui-exported
    A%2520B.vcf
    SAME-4cca3f30b35cce43.vcf
    a%20b.vcf
    displayname
    longlonglonglonglonglonglonglonglonglonglonglonglonglonglong
    same.vcf
    ls: cannot access 'outside': No such file or directory
    [exit 2]
    $ etui import book
    book: 0 added, 8 unchanged (936 bytes)
    ");
}

/// However often it is killed, each file is whole, and the next export completes the folder.
#[test]
fn a_killed_export_leaves_whole_files() {
    let home = TestHome::new();
    let (text, _) =
        home.run("etui generate -n 600 -o people.vcf --force && etui import people.vcf");
    assert!(text.contains("600 added"), "{text}");
    for round in 0..8u64 {
        let mut export = home
            .command("etui")
            .args([
                "export",
                "-q",
                "--addressbook",
                "Contacts",
                "--vdir",
                "book",
            ])
            .spawn()
            .unwrap();
        // At another moment in each round, not after something.
        std::thread::sleep(std::time::Duration::from_millis(20 * round));
        let _ = export.kill();
        export.wait().unwrap();
        for entry in std::fs::read_dir(home.path("book")).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "vcf") {
                assert!(
                    std::fs::read(&path).unwrap().ends_with(b"END:VCARD\r\n"),
                    "{path:?}"
                );
            }
        }
    }
    let (text, code) = home.run(
        "etui export -q --addressbook Contacts --vdir book; ls book/*.vcf | wc -l; ls -A book | grep -c part; \
         etui --store again.etui import book",
    );
    assert!(text.starts_with("600\n0\nbook: 600 added"), "{text}");
    assert_eq!(code, Some(0));
}

/// Returns true if a program is installed; else says that the test is skipped.
pub fn is_installed(program: &str) -> bool {
    let found = Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("skipped: {program} is not installed (scripts/need {program})");
    }
    found
}

#[test]
fn khard_shows_and_edits_an_exported_folder() {
    if !is_installed("khard") {
        return;
    }
    let home = TestHome::with_people();
    home.run("etui export -q --addressbook Contacts --vdir book && etui import -q book");
    write(
        &home,
        ".config/khard/khard.conf",
        "[addressbooks]\n[[book]]\npath = ~/book\n[general]\ndefault_action = list\n\
         [vcard]\npreferred_version = 3.0\n",
    );
    let (text, code) = home.run("khard list");
    assert!(
        text.contains("Anna M\u{fc}ller") && text.contains("Norbert Nobody"),
        "{text}"
    );
    assert_eq!(code, Some(0));
    // khard edits a form of its own.
    write(
        &home,
        "editor",
        "#!/bin/sh\nsed -i -E 's/^( *)First name *:.*/\\1First name : Annabel/; s/^( *)Formatted name *:.*/\\1Formatted name : Annabel M\u{fc}ller/' \"$1\"\n",
    );
    let (text, _) = home.run(
        "chmod +x editor; EDITOR=~/editor VISUAL=~/editor khard edit --format yaml uid:anna </dev/null; \
         EDITOR=~/editor khard edit anna </dev/null; cat book/anna.vcf",
    );
    assert!(text.contains("Annabel"), "khard did not edit it: {text}");
    let (text, code) = home.run("etui import book && etui contacts show 1 --vcard");
    assert!(text.contains("0 added, 1 changed, 3 unchanged"), "{text}");
    assert!(
        text.contains("UID:anna") && text.contains("Annabel"),
        "{text}"
    );
    assert_eq!(code, Some(0));
}

#[test]
fn khal_lists_an_exported_folder_and_adds_to_it() {
    if !is_installed("khal") {
        return;
    }
    let home = TestHome::new();
    write(&home, "club.ics", SERIES);
    home.run("etui import -q club.ics && etui export -q --calendars --vdir calendars");
    write(
        &home,
        ".config/khal/config",
        "[calendars]\n[[all]]\npath = ~/calendars/*\ntype = discover\n[locale]\n\
         timeformat = %H:%M\ndateformat = %Y-%m-%d\nlongdateformat = %Y-%m-%d\n\
         datetimeformat = %Y-%m-%d %H:%M\nlongdatetimeformat = %Y-%m-%d %H:%M\n\
         local_timezone = Europe/Berlin\ndefault_timezone = Europe/Berlin\n",
    );
    let (text, _) = home.run("khal list 2026-03-02 15d");
    assert!(
        text.contains("17:00-19:00 Club") && text.contains("Club (moved)"),
        "{text}"
    );
    let (text, _) = home.run(
        "khal new -a \"$(khal printcalendars | head -1)\" 2026-03-05 10:00 11:00 Dentist && etui import --each calendars && \
         etui calendar find dentist",
    );
    assert!(
        text.contains("1 added, 0 changed, 1 unchanged") || text.contains("1 added, 1 unchanged"),
        "{text}"
    );
    assert!(text.contains("2026-03-05 10:00"), "{text}");
}

#[test]
fn vdirsyncer_copies_an_exported_folder_and_back() {
    if !is_installed("vdirsyncer") {
        return;
    }
    let home = TestHome::with_people();
    home.run("etui export -q --vdir books && etui import -q books/Contacts && mkdir other");
    write(
        &home,
        "vdirsyncer.conf",
        "[general]\nstatus_path = \"~/status/\"\n[pair p]\na = \"x\"\nb = \"y\"\ncollections = [\"from a\"]\n\
         [storage x]\ntype = \"filesystem\"\npath = \"~/books\"\nfileext = \".vcf\"\n\
         [storage y]\ntype = \"filesystem\"\npath = \"~/other\"\nfileext = \".vcf\"\n",
    );
    let sync = "yes | vdirsyncer -c vdirsyncer.conf discover; vdirsyncer -c vdirsyncer.conf sync";
    let (text, _) = home.run(sync);
    assert_eq!(
        std::fs::read_dir(home.path("other/Contacts"))
            .unwrap()
            .count(),
        4,
        "{text}"
    );
    // An export without changes is no change for it.
    let (text, _) = home.run("etui export -q --vdir books; vdirsyncer -c vdirsyncer.conf sync");
    assert!(!text.contains("opying"), "{text}");
    // A card without a UID gets the one in its file.
    let (text, _) = home.run("etui import other/Contacts");
    assert!(text.contains("0 added, 1 changed, 3 unchanged"), "{text}");
    assert!(Path::new(&home.path("books/Contacts/.etui-exported")).exists());
}

#[test]
fn removals_are_carried_both_ways() {
    let home = TestHome::with_people();
    session!(home, [
        "etui export -q --addressbook Contacts --vdir book && rm book/bob.vcf",
        "etui import book",
        "etui export --addressbook Contacts --vdir book; ls book/bob.vcf",
        "etui import --delete book",
        "etui export --addressbook Contacts --vdir book; ls book/bob.vcf",
        "etui contacts remove -q 1 && etui import --delete book",
        "etui export --delete --addressbook Contacts --vdir book; ls book/anna.vcf",
        "etui contacts restore 2 1 && etui export --addressbook Contacts --vdir book",
        "rm book/*.vcf && etui import --delete book --json | cut -c1-150; etui contacts list --fields name",
        "etui import --delete people.vcf",
    ], @r#"
    $ etui export -q --addressbook Contacts --vdir book && rm book/bob.vcf
    $ etui import book
    book/bob.vcf: removed by another program: Bob Öst (2), it stays here
    To remove 1 contact here too: etui import --delete book
    book: 0 added, 3 unchanged (435 bytes)
    $ etui export --addressbook Contacts --vdir book; ls book/bob.vcf
    book/bob.vcf: removed by another program, not written again
    book: 0 contacts written, 3 unchanged, 1 not written again (Contacts)
    error: 1 file was removed by another program and not written again; to remove the records too: etui import --delete FOLDER; to write the files again: --force
    ls: cannot access 'book/bob.vcf': No such file or directory
    [exit 2]
    $ etui import --delete book
    book/bob.vcf: removed by another program: Bob Öst (2), removed here too (undo: etui contacts restore 2)
    book: 0 added, 3 unchanged (435 bytes); 1 removed
    $ etui export --addressbook Contacts --vdir book; ls book/bob.vcf
    book: 0 contacts written, 3 unchanged (Contacts)
    ls: cannot access 'book/bob.vcf': No such file or directory
    [exit 2]
    $ etui contacts remove -q 1 && etui import --delete book
    book: 1 file without a record, which was removed here, not imported again; to remove such files: etui export --delete --vdir
    book: 0 added, 3 unchanged (435 bytes)
    $ etui export --delete --addressbook Contacts --vdir book; ls book/anna.vcf
    book: 0 contacts written, 2 unchanged, 1 removed (Contacts)
    ls: cannot access 'book/anna.vcf': No such file or directory
    [exit 2]
    $ etui contacts restore 2 1 && etui export --addressbook Contacts --vdir book
    Restored 2: Bob Öst
    Restored 1: Anna Müller
    book: 2 contacts written, 2 unchanged (Contacts)
    $ rm book/*.vcf && etui import --delete book --json | cut -c1-150; etui contacts list --fields name
    {"added":0,"changed":0,"unchanged":0,"older":0,"proposals":0,"refused":0,"removed":4,"files":[{"file":"book","kind":"contacts","calendar":null,"bytes"
    No contacts yet. Import some: etui import contacts.vcf
    $ etui import --delete people.vcf
    error: --delete takes over what was removed from a folder; give a folder of items
    [exit 2]
    "#);
}

/// A file that is as it was says nothing about the record, which may have been changed here.
#[test]
fn an_import_of_an_old_file_keeps_the_changes_made_here() {
    let home = TestHome::with_people();
    session!(home, [
        "etui export -q --addressbook Contacts --vdir book",
        "etui contacts edit -q 1 --set title=Boss; etui contacts edit -q 2 --set title=Chef; etui contacts edit -q 3 --set title=Cook",
        "sed -i 's/^FN:Bob.*/FN:Bob Changed/' book/bob.vcf && rm book/eve.vcf && mv book/anna.vcf book/renamed.vcf",
        "etui import --delete book",
        "etui contacts show 1 --vcard | grep TITLE; etui contacts show 2 --vcard | grep -E 'FN|TITLE'; etui contacts show 3 --vcard | grep TITLE",
        "etui contacts restore 2 && etui contacts restore 2",
        "etui export --addressbook Contacts --vdir book; ls book; grep -h TITLE book/*.vcf",
        "etui import --addressbook Contacts book; etui addressbooks create Other && etui import --addressbook Other book",
    ], @r"
    $ etui export -q --addressbook Contacts --vdir book
    $ etui contacts edit -q 1 --set title=Boss; etui contacts edit -q 2 --set title=Chef; etui contacts edit -q 3 --set title=Cook
    $ sed -i 's/^FN:Bob.*/FN:Bob Changed/' book/bob.vcf && rm book/eve.vcf && mv book/anna.vcf book/renamed.vcf
    $ etui import --delete book
    book/bob.vcf: was changed there and here; it has the version of the folder, and the other is kept: etui contacts restore 2
    book/eve.vcf: removed by another program: Eve \u{1b}[31mTrouble\u{9b}2J (3), but it was changed here since; it stays, and the next export writes the file
    book: 0 added, 1 changed, 2 unchanged (525 bytes)
    $ etui contacts show 1 --vcard | grep TITLE; etui contacts show 2 --vcard | grep -E 'FN|TITLE'; etui contacts show 3 --vcard | grep TITLE
    TITLE:Boss\r
    FN:Bob Changed
    TITLE:Cook\r
    $ etui contacts restore 2 && etui contacts restore 2
    Undid the latest change of 2: Bob Öst
    Redid the latest change of 2: Bob Changed (older versions: etui contacts history 2)
    $ etui export --addressbook Contacts --vdir book; ls book; grep -h TITLE book/*.vcf
    book: 2 contacts written, 2 unchanged (Contacts)
    bob.vcf
    displayname
    etui-1ef7193b2ca6f6fbc7a7d775e0f08a32.vcf
    eve.vcf
    renamed.vcf
    TITLE:Cook\r
    TITLE:Boss\r
    $ etui import --addressbook Contacts book; etui addressbooks create Other && etui import --addressbook Other book
    book: 0 added, 4 unchanged (659 bytes)
    Created the address book Other (use it with --addressbook Other)
    book: 4 added (659 bytes)
    ");
}
