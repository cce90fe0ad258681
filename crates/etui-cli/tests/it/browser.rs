//! The browser of `contacts list` and `calendar list` on a pseudo-terminal.

use std::os::unix::process::ExitStatusExt;

use rustix::process::Signal;

use crate::harness::TestHome;
use crate::terminal::TerminalSession;

/// An editor that changes nothing.
const NO_EDITOR: &str = "true";

fn contacts(home: &TestHome, size: (u16, u16), editor: &str) -> TerminalSession {
    TerminalSession::start(home, size, &["contacts", "list"], editor)
}

/// Returns the first lines of a record's text.
fn text_of(home: &TestHome, id: &str, pattern: &str) -> String {
    let command = format!("etui contacts show {id} --vcard | grep -E '{pattern}' | tr -d '\\r'");
    home.run(&command).0
}

/// Writes a script for an editor.
fn editor(home: &TestHome, script: &str) -> String {
    let path = home.path("editor.sh");
    std::fs::write(&path, script).unwrap();
    format!("sh {}", path.display())
}

#[test]
fn search_show_and_quit() {
    let home = TestHome::with_people();
    let mut session = contacts(&home, (80, 24), NO_EDITOR);
    session.sees("/: search");
    session.sees("Norbert Nobody");
    session.sees("1 of 4");
    session.types("/mull");
    session.sees("Search: mull");
    session.sees("1 of 1");
    session.types("\r");
    session.sees("Esc: whole list   ?: keys");
    session.types("\r");
    session.sees("+49 30 23125 001  (work)");
    session.sees("q: back");
    session.types("q");
    session.sees("1 of 1");
    session.types("/zz");
    session.sees("No contact matches.");
    session.types("\x1b");
    session.sees("1 of 4");
    session.types("\x1b[B");
    session.sees("2 of 4");
    session.types("jk");
    session.types("?");
    session.sees("edit the text in $VISUAL or $EDITOR");
    session.types("qq");
    assert_eq!(session.wait_for_end().code(), Some(0));
}

#[test]
fn a_contact_is_edited_and_the_edit_undone() {
    let home = TestHome::with_people();
    let mut session = contacts(&home, (80, 24), "sed -i s/Nobody/Somebody/");
    session.sees("1 of 4");
    session.types("/norbert\rE");
    session.sees("Changed: Norbert Somebody");
    assert_eq!(text_of(&home, "norbert", "^FN"), "FN:Norbert Somebody\n");
    // In the details, too.
    session.types("\r");
    session.sees("q: back");
    session.types("u");
    session.sees("Undone: Norbert Somebody");
    // The next key removes the message.
    session.types("j");
    session.loses("Somebody");
    assert_eq!(text_of(&home, "norbert", "^FN"), "FN:Norbert Nobody\n");
    session.types("u");
    session.sees("Nothing was changed here");
    session.types("qq");
    assert_eq!(session.wait_for_end().code(), Some(0));
}

#[test]
fn the_best_match_is_first() {
    let home = TestHome::new();
    home.run("etui -q contacts add --name 'Abe Ape' --note zebra");
    home.run("etui -q contacts add --name 'Zebra Zimmer'");
    let mut session = contacts(&home, (80, 24), NO_EDITOR);
    session.sees("1 of 2");
    session.types("/zebra\r\r");
    session.sees("q: back");
    session.sees("Zebra Zimmer");
    session.loses("Abe Ape");
    session.types("qqq");
    assert_eq!(session.wait_for_end().code(), Some(0));
}

#[test]
fn fields_are_edited_in_a_form() {
    let home = TestHome::with_people();
    let mut session = contacts(&home, (80, 24), NO_EDITOR);
    session.sees("1 of 4");
    session.types("/norbert\re");
    session.sees("Enter: save");
    // The name, and a new phone.
    session.types("\x15Norbert Newman\t");
    session.types("+1 202 555 0123");
    session.sees("+1 202 555 0123");
    session.types("\r");
    session.sees("Changed: Norbert Newman");
    assert_eq!(
        text_of(&home, "newman", "^(FN|TEL)"),
        "FN:Norbert Newman\nTEL:+1 202 555 0123\n"
    );
    // What cannot be a value is named, and the form stays open.
    session.types("e\t\t\tno address\r");
    session.sees("is not an e-mail address");
    session.types("\x15n@example.org");
    session.sees("> E-mail        n@example.org");
    // An empty field is removed.
    session.types("\x1b[A\x1b[A\x15\r");
    session.sees("Changed: Norbert Newman");
    assert_eq!(
        text_of(&home, "newman", "^(TEL|EMAIL)"),
        "EMAIL:n@example.org\n"
    );
    session.types("uu");
    session.sees("Undone: Norbert Newman");
    session.types("e");
    session.sees("Esc: cancel");
    session.types("x\x1b");
    session.loses("Esc: cancel");
    session.types("q");
    assert_eq!(session.wait_for_end().code(), Some(0));
    assert_eq!(
        text_of(&home, "norbert", "^(FN|TEL)"),
        "FN:Norbert Nobody\n"
    );
}

#[test]
fn an_invalid_edit_is_offered_again() {
    let home = TestHome::with_people();
    let script = "if grep -q hobby \"$1\"; then sed -i s/^hobby/X-HOBBY:go/ \"$1\"; \
                  else sed -i s/^X-HOBBY.*/hobby/ \"$1\"; fi";
    let mut session = contacts(&home, (80, 24), &editor(&home, script));
    session.sees("1 of 4");
    session.types("/bob\rE");
    session.sees("\"hobby\" has no colon");
    session.types("x");
    session.types("e");
    session.sees("Changed: Bob Öst");
    assert_eq!(text_of(&home, "bob", "HOBBY"), "X-HOBBY:go\n");
    session.types("\x03");
    assert_eq!(session.wait_for_end().code(), Some(0));
}

#[test]
fn an_invalid_edit_is_kept() {
    let home = TestHome::with_people();
    for end in ["k", "\x03"] {
        let mut session = contacts(&home, (80, 24), "sed -i s/^FN.*/gibberish/");
        session.sees("1 of 4");
        session.types("/bob\rE");
        session.sees("\"gibberish\" has no colon");
        session.types(end);
        session.writes("Your text is kept in");
        assert_eq!(
            home.run("grep -c gibberish tmp/etui-edit-*.vcf; rm tmp/*")
                .0,
            "1\n"
        );
        session.types("\x03");
        assert_eq!(session.wait_for_end().code(), Some(0));
    }
    assert_eq!(text_of(&home, "bob", "^FN"), "FN:Bob Öst\n");
}

#[test]
fn a_change_made_meanwhile_is_not_overwritten_unasked() {
    let home = TestHome::with_people();
    let script = "test -e once || etui -q contacts edit bob --set note=elsewhere; touch once; \
                  sed -i s/chess/go/ \"$1\"";
    let mut session = contacts(&home, (80, 24), &editor(&home, script));
    session.sees("1 of 4");
    session.types("/bob\rE");
    session.sees("changed or removed meanwhile");
    assert_eq!(
        text_of(&home, "bob", "NOTE|HOBBY"),
        "NOTE:elsewhere\nX-HOBBY:chess\n"
    );
    session.types("e");
    session.sees("Changed: Bob Öst");
    assert_eq!(
        text_of(&home, "bob", "NOTE|HOBBY"),
        "NOTE:likes tea\\, no milk\\nand cake\nX-HOBBY:go\n"
    );
    // Undone, the change made meanwhile is back.
    session.types("u");
    session.sees("Undone");
    assert_eq!(
        text_of(&home, "bob", "NOTE|HOBBY"),
        "NOTE:elsewhere\nX-HOBBY:chess\n"
    );
    session.types("q");
    assert_eq!(session.wait_for_end().code(), Some(0));
}

#[test]
fn contacts_are_added_and_removed() {
    let home = TestHome::with_people();
    let script = "sed -i -e 's/^FN:.*/FN:Charles Babbage/' -e 's/^TEL:/TEL:555-0100/' \"$1\"";
    let mut session = contacts(&home, (80, 24), &editor(&home, script));
    session.sees("1 of 4");
    session.types("aAda Lovelace ada@example.org, org=Analytical Engines");
    session.sees("Organisation  Analytical Engines");
    session.types("\r");
    session.sees("Added: Ada Lovelace");
    session.types("k");
    session.sees("of 5");
    session.types("j\r");
    session.sees("ada@example.org");
    session.types("d");
    session.sees("Remove Ada Lovelace?");
    session.types("y");
    session.sees("Removed: Ada Lovelace");
    session.types("j");
    session.sees("of 4");
    session.types("u");
    session.sees("Undone: Ada Lovelace");
    // Undoing the addition removes it.
    session.types("u");
    session.types("j");
    session.loses("Ada Lovelace");
    // With the editor; properties without a value are left out.
    session.types("a\x0f");
    session.sees("Added: Charles Babbage");
    assert_eq!(
        text_of(&home, "babbage", "^(FN|N|TEL|EMAIL|NOTE)"),
        "FN:Charles Babbage\nTEL:555-0100\nN:Babbage;Charles;;;\n"
    );
    session.types("q");
    assert_eq!(session.wait_for_end().code(), Some(0));
}

#[test]
fn values_are_copied_to_the_clipboard() {
    let home = TestHome::with_people();
    let mut session = contacts(&home, (80, 24), NO_EDITOR);
    session.sees("1 of 4");
    session.types("/mull\ry");
    session.sees("3: E-mail anna.mueller@example.org");
    session.types("3");
    session.sees("Copied: anna.mueller@example.org");
    // OSC 52, the text in base64.
    let sequence = "\x1b]52;c;YW5uYS5tdWVsbGVyQGV4YW1wbGUub3Jn";
    session.writes(sequence);
    session.types("cy");
    session.sees("Copied: BEGIN:VCARD");
    session.types("q");
    assert_eq!(session.wait_for_end().code(), Some(0));
}

#[test]
fn changes_of_other_programs_appear() {
    let home = TestHome::with_people();
    let mut session = contacts(&home, (80, 24), NO_EDITOR);
    session.sees("1 of 4");
    session.types("G");
    session.sees("4 of 4");
    home.run("etui -q contacts add --name 'Aaron Aardvark'");
    session.sees("Aaron Aardvark");
    // The selected contact stays selected.
    session.sees("5 of 5");
    home.run(
        "etui -q contacts edit eve --set phone=+12025550199; etui -q contacts remove --where aaron",
    );
    session.sees("4 of 4");
    session.sees("+12025550199");
    session.types("q");
    assert_eq!(session.wait_for_end().code(), Some(0));
}

#[test]
fn the_program_is_suspended_and_continued() {
    let home = TestHome::with_people();
    let mut session = contacts(&home, (80, 24), NO_EDITOR);
    session.sees("1 of 4");
    session.types("j");
    session.sees("2 of 4");
    session.types("\x1a");
    session.wait_for_stop();
    session.signal(Signal::CONT);
    session.sees("2 of 4");
    // A signal of another program does the same.
    session.signal(Signal::TSTP);
    session.wait_for_stop();
    session.signal(Signal::CONT);
    session.sees("2 of 4");
    session.types("j");
    session.sees("3 of 4");
    session.types("q");
    assert_eq!(session.wait_for_end().code(), Some(0));
}

#[test]
fn control_characters_are_escaped() {
    let home = TestHome::with_people();
    let mut session = contacts(&home, (80, 24), NO_EDITOR);
    session.sees("1 of 4");
    session.sees("Eve \\u{1b}[31mTro");
    session.types("\x1b[F\r");
    session.sees("Eve \\u{1b}[31mTrouble\\u{9b}2J");
    session.types("y");
    session.sees("Copy from Eve \\u{1b}[31mTrouble");
    session.types("xd");
    session.sees("Remove Eve \\u{1b}[31mTrouble");
    assert!(!session.raw_output().contains("\x1b[31m"));
    session.types("\x03");
    assert_eq!(session.wait_for_end().code(), Some(0));
}

#[test]
fn a_long_list_is_paged() {
    let home = TestHome::new();
    home.run("etui init --locale en; etui generate -n 2000 | etui import -");
    let mut session = contacts(&home, (40, 10), NO_EDITOR);
    session.sees("1 of 2,000");
    session.types("\x1b[6~");
    session.sees("9 of 2,000");
    session.types("\x1b[F");
    session.sees("2,000 of 2,000");
    session.types("\x07m");
    session.sees("of 2,000");
    session.types("/ma");
    session.sees("of more than 8");
    session.resize(60, 30);
    session.sees("of more than 28");
    session.types("\x03");
    assert_eq!(session.wait_for_end().code(), Some(0));
}

#[test]
fn a_calendar_has_years_as_landmarks() {
    let home = TestHome::new();
    home.run("etui init --locale en; etui generate --calendar 300 --years 8 | etui import -");
    let list = ["calendar", "list"];
    let mut session = TerminalSession::start(&home, (80, 12), &list, NO_EDITOR);
    // The list opens at today; only the undated entries are later.
    session.sees("297 of 300");
    session.types("\x1b[H");
    session.sees("1 of 300");
    session.sees("2017-01-");
    session.types("\x1b[C");
    session.sees("2018-01-");
    session.types("\x07");
    session.sees("Go to: 2017 2018 2019 2020 2021 2022 2023 2024");
    session.types("3");
    session.sees("2023-01-");
    session.types("/kind:todo");
    session.sees("kind:todo");
    session.sees("1 of ");
    session.types("\r\r");
    session.sees("iCalendar");
    session.sees("UID");
    session.types("q");
    session.sees("1 of ");
    session.types(" ");
    session.sees("u: undo");
    session.types("\x03");
    assert_eq!(session.wait_for_end().code(), Some(0));
}

#[test]
fn several_address_books_are_listed_in_turn() {
    let home = TestHome::with_people();
    home.run("etui -q addressbooks create Club");
    home.run("etui -q contacts add --name 'Carl Club' --addressbook Club");
    let mut session = contacts(&home, (80, 24), NO_EDITOR);
    session.sees("1 of 4");
    session.types("G\t");
    session.sees("Carl Club");
    session.sees("1 of 1");
    session.types("aDora Club dora@example.org\r");
    session.sees("Added: Dora Club");
    session.types("\t");
    session.sees("1 of 4");
    // A change of another address book is undone.
    session.types("u");
    session.sees("Undone: Dora Club");
    session.types("\t");
    session.sees("1 of 1");
    session.types("q");
    assert_eq!(session.wait_for_end().code(), Some(0));
}

#[test]
fn signals_restore_the_terminal() {
    let home = TestHome::with_people();
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let session = contacts(&home, (80, 24), NO_EDITOR);
        session.sees("1 of 4");
        session.signal(signal);
        assert_eq!(session.wait_for_end().signal(), Some(signal.as_raw()));
    }
}

#[test]
fn an_interrupt_in_the_editor_is_the_editors() {
    let home = TestHome::with_people();
    let script =
        "touch editing; while [ -e editing ]; do sleep 0.05; done; sed -i s/chess/go/ \"$1\"";
    let mut session = contacts(&home, (80, 24), &editor(&home, script));
    session.sees("1 of 4");
    session.types("/bob\rE");
    session.wait_until("the editor", |_| home.path("editing").exists());
    session.signal(Signal::INT);
    session.handles_signals();
    std::fs::remove_file(home.path("editing")).unwrap();
    session.sees("Changed: Bob Öst");
    session.types("q");
    assert_eq!(session.wait_for_end().code(), Some(0));
}

#[test]
fn options_disable_the_browser() {
    let home = TestHome::with_people();
    for args in [
        &["--no-pager"][..],
        &["--json"],
        &["--fields", "name"],
        &["--limit", "3"],
        &["--all"],
    ] {
        let args = [&["contacts", "list"], args].concat();
        let mut session = TerminalSession::start(&home, (80, 24), &args, NO_EDITOR);
        assert!(session.child.wait().unwrap().success());
        session.sees("Anna Müller");
        assert!(!session.raw_output().contains("\x1b[?1049h"), "{args:?}");
    }
}
