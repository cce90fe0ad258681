//! Stores: made, found, checked, copied, brought back.

use crate::harness::{TestHome, session};

#[test]
fn init_makes_one_store() {
    let home = TestHome::new();
    session!(home, [
        "etui contacts list",
        "etui init --locale sv-SE",
        "etui init",
        "ls -l -d .local/share/etui | cut -c1-10; ls -l .local/share/etui/* | cut -c1-10",
        "etui contacts list",
        "ETUI_STORE=sub/other.etui etui init --region GB",
        "etui --store bad.etui init --locale '?'; ls bad.etui",
        "etui --store bad.etui init --region England; ls bad.etui",
    ], @r#"
    $ etui contacts list
    error: ~/.local/share/etui/personal.etui: there is no store here (`etui init` makes one)
    [exit 6]
    $ etui init --locale sv-SE
    Created a store: ~/.local/share/etui/personal.etui
    Sort order: sv-SE; phone numbers without a country code are in SE.
    Next: etui import contacts.vcf calendar.ics
    $ etui init
    error: ~/.local/share/etui/personal.etui: already exists and was not changed; choose another path
    [exit 1]
    $ ls -l -d .local/share/etui | cut -c1-10; ls -l .local/share/etui/* | cut -c1-10
    drwx------
    -rw-------
    $ etui contacts list
    No contacts yet. Import some: etui import contacts.vcf
    $ ETUI_STORE=sub/other.etui etui init --region GB
    Created a store: sub/other.etui
    Sort order: und; phone numbers without a country code are in GB.
    Next: etui import contacts.vcf calendar.ics
    $ etui --store bad.etui init --locale '?'; ls bad.etui
    error: "?" is not a locale; write it like `de`, `en-US` or `sv-SE`
    ls: cannot access 'bad.etui': No such file or directory
    [exit 2]
    $ etui --store bad.etui init --region England; ls bad.etui
    error: "England" is not a region; use two letters, like DE or US
    ls: cannot access 'bad.etui': No such file or directory
    [exit 2]
    "#);
}

#[test]
fn only_commands_that_bring_something_make_a_store() {
    for line in [
        "etui contacts list",
        "etui contacts find a",
        "etui contacts show 1",
        "etui contacts edit 1 --set note=x",
        "etui contacts remove 1",
        "etui contacts restore 1",
        "etui addressbooks",
        "etui export",
        "etui check",
        "etui stats",
        "etui backup b.etui",
    ] {
        let home = TestHome::new();
        let (text, code) = home.run(line);
        assert_eq!(code, Some(6), "{line}: {text}");
        assert!(text.contains("there is no store here"), "{line}: {text}");
        assert!(!home.path(".local").exists(), "{line}");
    }
}

#[test]
fn other_files_are_left_alone() {
    let home = TestHome::new();
    session!(home, [
        "etui --store people.vcf contacts list",
        "etui --store tmp contacts list",
        "etui --store people.vcf import people.vcf",
        "cksum people.vcf | cut -d' ' -f2",
    ], @"
    $ etui --store people.vcf contacts list
    error: people.vcf: this is not a database file; it was left untouched
    [exit 6]
    $ etui --store tmp contacts list
    error: tmp: this is not a database file; it was left untouched
    [exit 6]
    $ etui --store people.vcf import people.vcf
    error: people.vcf: this is not a database file; it was left untouched
    [exit 6]
    $ cksum people.vcf | cut -d' ' -f2
    590
    ");
}

#[test]
fn backup_and_restore() {
    let home = TestHome::with_people();
    session!(home, [
        "etui backup copy.etui | sed 's/(.*)/(SIZE)/'",
        "etui backup copy.etui",
        "etui contacts remove 1",
        "etui restore copy.etui",
        "mv .local/share/etui/personal.etui before.etui",
        "etui restore copy.etui | sed 's/(.*)/(SIZE)/'",
        "etui contacts find anna",
        "etui restore nothing.etui --to x.etui",
        "etui restore people.vcf --to x.etui",
    ], @"
    $ etui backup copy.etui | sed 's/(.*)/(SIZE)/'
    Wrote a backup: copy.etui (SIZE)
    $ etui backup copy.etui
    error: copy.etui: already exists and was not changed; choose another path
    [exit 1]
    $ etui contacts remove 1
    Removed 1: Anna Müller
    Undo: etui contacts restore 1
    $ etui restore copy.etui
    error: ~/.local/share/etui/personal.etui: a store exists and is not replaced; close it in all programs and move it away, with its log if there is one:
      mv '~/.local/share/etui/personal.etui' '~/.local/share/etui/personal.etui.before'
      mv '~/.local/share/etui/personal.etui-wal' '~/.local/share/etui/personal.etui.before-wal'
    or restore the backup elsewhere with --to PATH
    [exit 1]
    $ mv .local/share/etui/personal.etui before.etui
    $ etui restore copy.etui | sed 's/(.*)/(SIZE)/'
    Restored the backup: ~/.local/share/etui/personal.etui (SIZE)
    $ etui contacts find anna
    #  Name         Organisation  Phone          E-mail
    1  Anna Müller  Example GmbH  0171 39200 02  anna.mueller@example.org
    $ etui restore nothing.etui --to x.etui
    error: nothing.etui: No such file or directory
    [exit 1]
    $ etui restore people.vcf --to x.etui
    error: people.vcf: this is not a database file; it was left untouched
    [exit 6]
    ");
}

#[test]
fn check_tells_what_is_wrong() {
    let home = TestHome::with_people();
    session!(home, [
        "etui check",
        "etui check --repair",
        "etui stats | grep -v -e vCards -e File",
    ], @"
    $ etui check
    The store is intact: 4 contacts, 0 in the trash.
    $ etui check --repair
    Rebuilt lists and index; 0 problems found and repaired.
    The store is intact: 4 contacts, 0 in the trash.
    $ etui stats | grep -v -e vCards -e File
    Store           ~/.local/share/etui/personal.etui
    Address book    Contacts: 4 contacts
    Calendar        Calendar: 0 entries
    Trash           0
    Text            590 bytes
    Changes         4
    Index           up to date
    Locale          und
    Region          none
    Schema version  1
    ");
    let store = home.path(".local/share/etui/personal.etui");
    let mut bytes = std::fs::read(&store).unwrap();
    let half = bytes.len() / 2;
    bytes[half..].fill(0x55);
    std::fs::write(&store, bytes).unwrap();
    let (text, code) = home.run("etui check");
    assert_eq!(code, Some(7), "{text}");
}

#[test]
fn a_store_that_cannot_be_written_can_be_read() {
    let home = TestHome::with_people();
    let store = home.path("ro/personal.etui");
    std::fs::create_dir(home.path("ro")).unwrap();
    std::fs::copy(home.path(".local/share/etui/personal.etui"), &store).unwrap();
    let mode = |path: &std::path::Path, mode| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(&store, 0o400);
    mode(&home.path("ro"), 0o500);
    if std::fs::File::options().write(true).open(&store).is_ok() {
        // Root writes where others cannot.
        mode(&home.path("ro"), 0o700);
        return;
    }
    let (text, code) = home.run("etui --store ro/personal.etui contacts find anna");
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("Anna Müller"), "{text}");
    let (text, code) = home.run("etui --store ro/personal.etui contacts remove 1");
    assert_eq!(code, Some(6), "{text}");
    assert!(text.contains("read-only"), "{text}");
    mode(&home.path("ro"), 0o700);
}

/// The last changes of a store are in a redo log, which this program does not have.
#[test]
fn a_store_with_a_redo_log_is_refused_with_the_reason() {
    let home = TestHome::new();
    home.run("etui -q --store s.etui import people.vcf");
    let mut bytes = std::fs::read(home.path("s.etui")).unwrap();
    // The mark and the lineage of the log, as the redo log writes them.
    bytes[18..20].fill(0xe7);
    bytes[72..88].fill(7);
    bytes[88..92].copy_from_slice(b"etui");
    std::fs::write(home.path("s.etui"), bytes).unwrap();
    session!(home, [
        "etui --store s.etui contacts list",
        "etui --store s.etui check --json",
        "head -c 8192 /dev/zero > s.etui-redo; etui --store s.etui contacts add --name A",
    ], @r#"
    $ etui --store s.etui contacts list
    error: s.etui: its last changes are in s.etui-redo, which is not there; put it back, or restore a backup
    [exit 6]
    $ etui --store s.etui check --json
    {"error":{"kind":"refused_by_vfs","message":"s.etui: its last changes are in s.etui-redo, which is not there; put it back, or restore a backup"}}
    [exit 6]
    $ head -c 8192 /dev/zero > s.etui-redo; etui --store s.etui contacts add --name A
    error: s.etui: its last changes are not in s.etui-redo, which is damaged, or belongs to another database or to another copy of this one; put the log that belongs to it there, or restore a backup
    [exit 6]
    "#);
}

/// A limit of file size acts as a full disk.
#[test]
fn a_failed_init_leaves_no_file() {
    let home = TestHome::new();
    session!(home, [
        "trap '' XFSZ; ulimit -f 0; etui --store new.etui init 2>/dev/null; echo $?",
        "ls",
    ], @"
    $ trap '' XFSZ; ulimit -f 0; etui --store new.etui init 2>/dev/null; echo $?
    1
    $ ls
    people.vcf
    tmp
    ");
}

#[test]
fn region_and_locale_can_be_changed() {
    let home = TestHome::new();
    session!(home, [
        "LANG=sv_SE.UTF-8 etui import people.vcf",
        "etui settings",
        "etui contacts list --fields name",
        "etui contacts find phone:+4917139200 ; etui contacts find phone.national:017139200",
        "etui contacts find 'phone:+49171*'",
        "etui settings region DE",
        "etui contacts find 'phone:+49171*'",
        "etui contacts show 1 --json | grep -o '\"e164\":[^}]*'",
        "etui contacts add --name 'Zoe Ärlig' --phone '030 23125002'",
        "etui settings locale de",
        "etui contacts list --fields name",
        "etui check",
        "etui settings --json",
        "etui settings region none --json",
        "etui settings region Germany",
        "etui settings locale deutsch_",
        "etui settings",
    ], @r#"
    $ LANG=sv_SE.UTF-8 etui import people.vcf
    people.vcf: 4 added (590 bytes)
    Created a store: ~/.local/share/etui/personal.etui
    Sort order: sv-SE; region of phone numbers without a country code: SE (change it: etui settings region CODE)
    $ etui settings
    Locale  sv-SE
    Region  SE
    $ etui contacts list --fields name
    Name
    Bob Öst
    Anna Müller
    Norbert Nobody
    Eve \u{1b}[31mTrouble\u{9b}2J
    $ etui contacts find phone:+4917139200 ; etui contacts find phone.national:017139200
    error: no contact matches: phone:+4917139200
    error: no contact matches: phone.national:017139200
    [exit 4]
    $ etui contacts find 'phone:+49171*'
    error: no contact matches: phone:+49171*
    [exit 4]
    $ etui settings region DE
    Region: DE (before: SE)
    $ etui contacts find 'phone:+49171*'
    #  Name         Organisation  Phone          E-mail
    1  Anna Müller  Example GmbH  0171 39200 02  anna.mueller@example.org
    $ etui contacts show 1 --json | grep -o '"e164":[^}]*'
    "e164":"+491713920002"
    "e164":"+493023125001"
    $ etui contacts add --name 'Zoe Ärlig' --phone '030 23125002'
    Added 5: Zoe Ärlig
    $ etui settings locale de
    Locale: de (before: sv-SE)
    $ etui contacts list --fields name
    Name
    Zoe Ärlig
    Bob Öst
    Anna Müller
    Norbert Nobody
    Eve \u{1b}[31mTrouble\u{9b}2J
    $ etui check
    The store is intact: 5 contacts, 0 in the trash.
    $ etui settings --json
    {"locale":"de","region":"DE"}
    $ etui settings region none --json
    {"locale":"de","region":null}
    $ etui settings region Germany
    error: invalid value 'Germany' for '<CODE>': a region has two letters, like DE or US; or none

    For more information, try '--help'.
    [exit 2]
    $ etui settings locale deutsch_
    error: "deutsch_" is not a locale; write it like `de`, `en-US` or `sv-SE`
    [exit 2]
    $ etui settings
    Locale  de
    Region  none
    "#);
}
