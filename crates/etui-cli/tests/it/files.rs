//! Import, export, generate.

use crate::harness::{PEOPLE, TestHome, session};

#[test]
fn what_goes_in_comes_out_byte_for_byte() {
    let home = TestHome::new();
    session!(home, [
        "etui import people.vcf",
        "etui import people.vcf",
        "etui export -o out.vcf",
        "cmp people.vcf out.vcf",
        "etui export | cmp - people.vcf",
        "ls -l out.vcf | cut -c1-10",
        "etui export -o out.vcf",
        "etui export -o out.vcf --force name:bob",
        "head -3 out.vcf",
        "etui export zz",
        "etui export -o nowhere/out.vcf",
        "etui export --vcard-version 4.0 anna",
        "ls -A",
    ], @r"
    $ etui import people.vcf
    people.vcf: 4 added (590 bytes)
    Created a store: ~/.local/share/etui/personal.etui
    Sort order: und; region of phone numbers without a country code: none (change it: etui settings region CODE)
    $ etui import people.vcf
    people.vcf: 0 added, 4 unchanged (590 bytes)
    $ etui export -o out.vcf
    Wrote 4 contacts to out.vcf
    $ cmp people.vcf out.vcf
    $ etui export | cmp - people.vcf
    $ ls -l out.vcf | cut -c1-10
    -rw-------
    $ etui export -o out.vcf
    error: out.vcf: already exists; choose another name, or replace it with --force
    [exit 1]
    $ etui export -o out.vcf --force name:bob
    Wrote 1 contact to out.vcf
    $ head -3 out.vcf
    BEGIN:VCARD\r
    VERSION:4.0\r
    UID:bob\r
    $ etui export zz
    error: no contact matches: zz
    [exit 4]
    $ etui export -o nowhere/out.vcf
    error: nowhere/out.vcf: No such file or directory
    [exit 1]
    $ etui export --vcard-version 4.0 anna
    BEGIN:VCARD\r
    VERSION:4.0\r
    UID:anna\r
    N:Müller;Anna;;;\r
    FN:Anna Müller\r
    ORG:Example GmbH;Sales\r
    TEL;TYPE=WORK:+49 30 23125 001\r
    TEL;TYPE=CELL;PREF=1:0171 39200 02\r
    EMAIL:anna.mueller@example.org\r
    END:VCARD\r
    $ ls -A
    .local
    out.vcf
    people.vcf
    tmp
    ");
}

#[test]
fn what_is_broken_is_told_of_and_the_rest_goes_in() {
    let home = TestHome::new();
    let broken = PEOPLE.replacen("END:VCARD\r\n", "", 1) + "and \x1b[2Jthis\r\n";
    std::fs::write(home.path("broken.vcf"), broken).unwrap();
    session!(home, [
        "etui import broken.vcf people.vcf",
        "etui -q import - < broken.vcf",
        "etui import nothing.vcf people.vcf",
        "etui import tmp",
        "etui import",
    ], @r"
    $ etui import broken.vcf people.vcf
    broken.vcf:1: the record has no END line; it may be cut off: complete it or export it again (UID:anna)
    broken.vcf:32: this text belongs to no record; remove it, or put BEGIN and END lines around it (and \u{1b}[2Jthis)
    broken.vcf: 3 added, 2 rejected (593 bytes)
    people.vcf: 1 added, 3 unchanged (590 bytes)
    Total: 4 added, 0 changed, 3 unchanged, 2 rejected
    Created a store: ~/.local/share/etui/personal.etui
    Sort order: und; region of phone numbers without a country code: none (change it: etui settings region CODE)
    error: 2 pieces were rejected; the rest was imported
    [exit 3]
    $ etui -q import - < broken.vcf
    -:1: the record has no END line; it may be cut off: complete it or export it again (UID:anna)
    -:32: this text belongs to no record; remove it, or put BEGIN and END lines around it (and \u{1b}[2Jthis)
    error: 2 pieces were rejected; the rest was imported
    [exit 3]
    $ etui import nothing.vcf people.vcf
    nothing.vcf: No such file or directory
    people.vcf: 0 added, 4 unchanged (590 bytes)
    error: 1 file was rejected; the rest was imported
    [exit 3]
    $ etui import tmp
    error: tmp: is a directory without .vcf or .ics files, and without folders of them
    [exit 1]
    $ etui import
    error: the following required arguments were not provided:
      <FILE>...

    Usage: etui import <FILE>...

    For more information, try '--help'.
    [exit 2]
    ");
}

#[test]
fn records_without_a_last_line_end_stay_apart() {
    let home = TestHome::new();
    session!(home, [
        "printf 'BEGIN:VCARD\\nFN:A\\nEND:VCARD' | etui -q import -",
        "printf 'BEGIN:VCARD\\nFN:B\\nEND:VCARD' | etui -q import -",
        "etui export | od -c | cut -c9- | grep -A1 'D  *\\\\r'",
        "etui export | tail -c 3",
    ], @r#"
    $ printf 'BEGIN:VCARD\nFN:A\nEND:VCARD' | etui -q import -
    $ printf 'BEGIN:VCARD\nFN:B\nEND:VCARD' | etui -q import -
    $ etui export | od -c | cut -c9- | grep -A1 'D  *\\r'
     \n   E   N   D   :   V   C   A   R   D  \r  \n   B   E   G   I
      N   :   V   C   A   R   D  \n   F   N   :   B  \n   E   N   D
    $ etui export | tail -c 3
    ARD
    "#);
}

fn utf16(text: &str, big: bool) -> Vec<u8> {
    text.encode_utf16()
        .flat_map(|u| {
            if big {
                u.to_be_bytes()
            } else {
                u.to_le_bytes()
            }
        })
        .collect()
}

#[test]
fn utf16_comes_out_as_it_came_or_as_utf8() {
    let card = |name: &str| format!("BEGIN:VCARD\r\nVERSION:3.0\r\nFN:{name}\r\nEND:VCARD\r\n");
    for big in [false, true] {
        let home = TestHome::new();
        let file = utf16(&format!("\u{feff}{}{}", card("Jörg"), card("Åsa")), big);
        std::fs::write(home.path("wide.vcf"), &file).unwrap();
        home.run("etui import wide.vcf && etui export -o out.vcf");
        assert_eq!(std::fs::read(home.path("out.vcf")).unwrap(), file);

        home.run("etui import people.vcf");
        let (text, code) = home.run("etui export");
        assert_eq!(code, Some(0));
        // A converted record has its derived identity as UID.
        assert!(
            text.starts_with("BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Jörg\r\nUID:etui-"),
            "{text}"
        );
        assert!(
            text.ends_with("as other records are not UTF-16\n"),
            "{text}"
        );
    }
}

#[test]
fn every_sample_export_comes_out_again() {
    for sample in etui_testkit::fixtures::ALL {
        let home = TestHome::new();
        std::fs::write(home.path("in.vcf"), sample.bytes).unwrap();
        let (_, code) = home.run("etui import in.vcf");
        assert_eq!(
            code,
            Some(if sample.refused == 0 { 0 } else { 3 }),
            "{}",
            sample.name
        );
        home.run("etui export -o out.vcf");
        let (text, code) = home.run("etui --store again.etui import out.vcf");
        assert_eq!(code, Some(0), "{}: {text}", sample.name);
        assert!(
            text.starts_with(&format!("out.vcf: {} added", sample.good)),
            "{}: {text}",
            sample.name
        );
        let (_, code) = home.run("etui --store again.etui export | cmp - out.vcf");
        assert_eq!(code, Some(0), "{}", sample.name);
    }
}

#[test]
fn generated_people_are_always_the_same() {
    let home = TestHome::new();
    session!(home, [
        "etui generate -n 3 -o three.vcf",
        "etui generate -n 3 | cmp - three.vcf",
        "etui generate -n 3 --seed 2 | cmp -s - three.vcf",
        "etui generate -n 3 -o three.vcf",
        "etui import three.vcf",
        "etui check",
    ], @r"
    $ etui generate -n 3 -o three.vcf
    Wrote 3 generated contacts to three.vcf (1.2 kB)
    $ etui generate -n 3 | cmp - three.vcf
    $ etui generate -n 3 --seed 2 | cmp -s - three.vcf
    [exit 1]
    $ etui generate -n 3 -o three.vcf
    error: three.vcf: already exists; choose another name, or replace it with --force
    [exit 1]
    $ etui import three.vcf
    three.vcf: 3 added (1.2 kB)
    Created a store: ~/.local/share/etui/personal.etui
    Sort order: und; region of phone numbers without a country code: none (change it: etui settings region CODE)
    $ etui check
    The store is intact: 3 contacts, 0 in the trash.
    ");
}

/// What is no file is written to, never replaced.
#[test]
fn links_and_pipes_are_written_through() {
    let home = TestHome::new();
    let (text, code) = home.run(
        "etui import -q people.vcf && echo old > real.vcf && ln -s real.vcf link.vcf && \
         etui export -q -o link.vcf --force && test -L link.vcf && grep -c BEGIN:VCARD real.vcf && \
         mkfifo pipe && (cat pipe > through.vcf &) && etui export -q -o pipe && test -p pipe && \
         wait_until cmp real.vcf through.vcf",
    );
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn an_export_without_a_book_takes_all_of_them() {
    let home = TestHome::new();
    let (text, code) = home.run(
        "etui import -q people.vcf && etui addressbooks -q create Work && \
         etui contacts add -q --addressbook Work --name Worker && etui export > all.vcf && \
         etui export --addressbook Work > work.vcf && grep -c FN:Worker all.vcf work.vcf && \
         test $(grep -c BEGIN all.vcf) -gt $(grep -c BEGIN work.vcf)",
    );
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn other_formats_are_named() {
    let home = TestHome::new();
    for (name, bytes) in [
        ("empty.vcf", &b""[..]),
        ("letter.pdf", b"%PDF-1.7\n"),
        ("letter.txt", b"Dear Ada,\nbest wishes\n"),
        ("cards.json", b"{\"@type\":\"Card\",\"version\":\"1.0\"}"),
        ("addressbook", b"[format]\nprogram=abook\nversion=0.6.1\n"),
        (
            "card.json",
            b"[\"vcard\",[[\"version\",{},\"text\",\"4.0\"]]]",
        ),
        ("takeout.zip", b"PK\x03\x04\x14\0BEGIN:VCARD"),
        ("all.vcf.gz", b"\x1f\x8b\x08\0"),
    ] {
        std::fs::write(home.path(name), bytes).unwrap();
    }
    session!(home, [
        "etui import empty.vcf letter.pdf letter.txt",
        "etui import cards.json",
        "etui import addressbook",
        "etui import card.json",
        "etui import takeout.zip",
        "etui import all.vcf.gz",
        "etui stats",
    ], @"
    $ etui import empty.vcf letter.pdf letter.txt
    empty.vcf: is empty: it has no contacts or entries
    letter.pdf: is a PDF document, which cannot be imported; export the contacts or the calendar as vCard (.vcf), iCalendar (.ics) or CSV
    error: letter.txt: has no contacts or entries: it is no vCard, iCalendar, CSV, LDIF or database of a Palm; a table without known columns needs --map COLUMN=FIELD
    [exit 3]
    $ etui import cards.json
    error: cards.json: is JSContact (RFC 9553), which cannot be imported; export vCard (.vcf) instead, or convert it
    [exit 3]
    $ etui import addressbook
    error: addressbook: is an address book of abook; to import it: abook --convert --informat abook --infile FILE --outformat vcard | etui import -
    [exit 3]
    $ etui import card.json
    error: card.json: is jCard (RFC 7095), which cannot be imported; convert it to vCard (.vcf)
    [exit 3]
    $ etui import takeout.zip
    error: takeout.zip: is a zip archive; unpack it (unzip FILE), then import the .vcf, .ics and .csv files in it; of a spreadsheet (.xlsx, .ods), save the table as CSV
    [exit 3]
    $ etui import all.vcf.gz
    error: all.vcf.gz: is compressed with gzip; to import it: gunzip -c FILE | etui import -
    [exit 3]
    $ etui stats
    error: ~/.local/share/etui/personal.etui: there is no store here (`etui init` makes one)
    [exit 6]
    ");
}

#[test]
fn the_format_follows_the_name_of_the_file() {
    let home = TestHome::with_people();
    session!(home, [
        "etui export -o people.csv; head -c 33 people.csv | tail -c 30; echo",
        "etui export -o all.vcard; head -1 all.vcard",
        "etui export --format vcard -o cards.csv; head -1 cards.csv",
        "etui export -o people.ics",
        "etui export --calendars -o people.vcf",
        "etui export -o people.ldif",
        "etui export out/anna.vcf",
        "etui export --vcard-version 4.0 -o new.csv",
        "ls",
    ], @r"
    $ etui export -o people.csv; head -c 33 people.csv | tail -c 30; echo
    Wrote 4 contacts to people.csv
    Not in the table: UID (3), FN part (1), PHOTO (1). For each contact: --json --output FILE
    First Name,Middle Name,Last Na
    $ etui export -o all.vcard; head -1 all.vcard
    Wrote 4 contacts to all.vcard
    BEGIN:VCARD\r
    $ etui export --format vcard -o cards.csv; head -1 cards.csv
    Wrote 4 contacts to cards.csv
    BEGIN:VCARD\r
    $ etui export -o people.ics
    error: people.ics: it would have contacts; for calendars add --calendars, for contacts name it .vcf or .csv
    [exit 2]
    $ etui export --calendars -o people.vcf
    error: people.vcf: calendars are written as iCalendar; name it .ics
    [exit 2]
    $ etui export -o people.ldif
    error: people.ldif: contacts are written as vCard or CSV; name it .vcf or .csv
    [exit 2]
    $ etui export out/anna.vcf
    error: no contact matches: out/anna.vcf; to write to a file: etui export -o 'out/anna.vcf'
    [exit 4]
    $ etui export --vcard-version 4.0 -o new.csv
    error: --vcard-version is for --format vcard
    [exit 2]
    $ ls
    all.vcard
    cards.csv
    people.csv
    people.vcf
    tmp
    ");
}

#[test]
fn files_without_records_are_named_and_the_others_imported() {
    let home = TestHome::new();
    session!(home, [
        "printf '%%PDF-1.4' > a.pdf; echo milk > list.txt; : > empty.vcf; printf '\\211PNG\\r\\n' > photo.png; mkdir none",
        "for f in a.pdf list.txt empty.vcf photo.png none absent.vcf https://example.org/c.vcf webcal://example.org/c.ics; do etui import $f; done; ls -A .local 2>&1",
        "etui import a.pdf people.vcf absent.vcf",
        "etui import list.txt empty.vcf",
        "etui import people.vcf list.txt --json 2>/dev/null | grep -o '\"unread\":.*'",
    ], @r#"
    $ printf '%%PDF-1.4' > a.pdf; echo milk > list.txt; : > empty.vcf; printf '\211PNG\r\n' > photo.png; mkdir none
    $ for f in a.pdf list.txt empty.vcf photo.png none absent.vcf https://example.org/c.vcf webcal://example.org/c.ics; do etui import $f; done; ls -A .local 2>&1
    error: a.pdf: is a PDF document, which cannot be imported; export the contacts or the calendar as vCard (.vcf), iCalendar (.ics) or CSV
    error: list.txt: has no contacts or entries: it is no vCard, iCalendar, CSV, LDIF or database of a Palm; a table without known columns needs --map COLUMN=FIELD
    error: empty.vcf: is empty: it has no contacts or entries
    error: photo.png: is an image, which cannot be imported; the picture of a contact: etui contacts edit NAME --set photo=FILE
    error: none: is a directory without .vcf or .ics files, and without folders of them
    error: absent.vcf: No such file or directory
    error: https://example.org/c.vcf: etui reads files only; to fetch and import it: curl -sSfL 'https://example.org/c.vcf' | etui import -
    error: webcal://example.org/c.ics: etui reads files only; to fetch and import it: curl -sSfL 'https://example.org/c.ics' | etui import -
    ls: cannot access '.local': No such file or directory
    [exit 2]
    $ etui import a.pdf people.vcf absent.vcf
    a.pdf: is a PDF document, which cannot be imported; export the contacts or the calendar as vCard (.vcf), iCalendar (.ics) or CSV
    absent.vcf: No such file or directory
    people.vcf: 4 added (590 bytes)
    Created a store: ~/.local/share/etui/personal.etui
    Sort order: und; region of phone numbers without a country code: none (change it: etui settings region CODE)
    error: 2 files were rejected; the rest was imported
    [exit 3]
    $ etui import list.txt empty.vcf
    list.txt: has no contacts or entries: it is no vCard, iCalendar, CSV, LDIF or database of a Palm; a table without known columns needs --map COLUMN=FIELD
    error: empty.vcf: is empty: it has no contacts or entries
    [exit 3]
    $ etui import people.vcf list.txt --json 2>/dev/null | grep -o '"unread":.*'
    "unread":[{"file":"list.txt","reason":"list.txt: has no contacts or entries: it is no vCard, iCalendar, CSV, LDIF or database of a Palm; a table without known columns needs --map COLUMN=FIELD"}]}
    "#);
}
