//! The screen as text.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::time::Duration;

use etui::RecordId;
use etui::contacts::{Card, Field};
use etui_program::output::one_line;

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::super::dialog::{Choice, Preview, Question};
use super::super::state::{ListLandmark, ListRequest, ListState};
use super::super::window::ListLine;
use super::super::{action::Action, words};
use super::*;
use crate::terminal::Key;

const PEOPLE: &[[&str; 4]] = &[
    [
        "Anna Müller",
        "Example GmbH",
        "0171 39200 02",
        "anna.mueller@example.org",
    ],
    [
        "山田 太郎",
        "株式会社サンプル",
        "+81 3 5550 0123",
        "taro@example.jp",
    ],
    ["Zoe\u{301} \x1b[31mRed\u{9b}2J\u{202e}", "", "", ""],
    ["", "Nobody & Sons", "", ""],
];

fn list_of(size: (usize, usize), people: &[[&str; 4]]) -> ListState<Field> {
    let mut list = ListState::new(vec!["Contacts".to_owned()], words::<Card>(), size);
    answer(&mut list, people);
    list
}

fn answer(list: &mut ListState<Field>, people: &[[&str; 4]]) {
    while let Some(request) = list.next_request() {
        match request {
            ListRequest::Page { .. } => {
                let clean = |text: &str| one_line(text).into_owned();
                let lines = people.iter().zip(1..).map(|(p, id)| ListLine {
                    id: RecordId(id),
                    cells: p.iter().map(|cell| clean(cell)).collect(),
                });
                let total = people.len() as u64;
                list.set_page(lines.collect(), Some(total), Duration::from_micros(250));
            }
            ListRequest::Count(_) => list.window.set_count(people.len() as u64),
            ListRequest::Position(id) => list.window.set_position(u64::try_from(id.0 - 1).ok()),
            ListRequest::Landmarks => {
                let letter = |label: &str, position| ListLandmark {
                    label: label.to_owned(),
                    position,
                };
                list.set_landmarks(vec![letter("A", 0), letter("B", 1), letter("Z", 1)]);
            }
            ListRequest::Details(_) => {
                let rows = vec![
                    row("Organisation", "Example GmbH, Sales"),
                    row("Note", "likes tea, no milk\nand cake\x1b[2J"),
                ];
                list.dialogs
                    .set_details(Some(("Anna Müller".to_owned(), rows)));
            }
            ListRequest::Preview(_, text) => list.dialogs.set_preview(match text.contains('@') {
                true => Preview::Rows(vec![row("Name", "Ada"), row("E-mail", &text)]),
                false => Preview::Problem("a name is missing".to_owned()),
            }),
        }
    }
}

fn row(label: &str, value: &str) -> (String, String) {
    (label.to_owned(), value.to_owned())
}

fn press(list: &mut ListState<Field>, keys: &[Key]) {
    for key in keys {
        list.handle_key(key);
        answer(list, PEOPLE);
    }
}

fn draw_screen(list: &ListState<Field>, (columns, rows): (usize, usize)) -> Terminal<TestBackend> {
    let backend = TestBackend::new(to_cell(columns), to_cell(rows));
    let mut terminal = Terminal::new(backend).unwrap();
    terminal
        .draw(|frame| draw_list::<Card>(list, frame))
        .unwrap();
    terminal
}

/// Returns the screen as text; a wide character takes two cells.
fn text(list: &ListState<Field>) -> String {
    let size = list.size();
    crate::terminal::screen_text(draw_screen(list, size).backend().buffer())
}

#[test]
fn a_wide_terminal_shows_more_of_each() {
    insta::assert_snapshot!(text(&list_of((120, 7), PEOPLE)), @r"
    Contacts   /: search
    >Anna Müller                   Example GmbH                  0171 39200 02       anna.mueller@example.org
     山田 太郎                     株式会社サンプル              +81 3 5550 0123     taro@example.jp
     Zoé \u{1b}[31mRed\u{9b}2J\u…
     (no name)                     Nobody & Sons

    1 of 4   ?: keys   Enter: show   a: add   e: edit   q: quit   250 µs
    ");
    insta::assert_snapshot!(text(&list_of((80, 7), PEOPLE)), @r"
    Contacts   /: search
    >Anna Müller             0171 39200 02       anna.mueller@example.org
     山田 太郎               +81 3 5550 0123     taro@example.jp
     Zoé \u{1b}[31mRed\u{9…
     (no name)

    1 of 4   ?: keys   Enter: show   a: add   e: edit   q: quit   250 µs
    ");
    insta::assert_snapshot!(text(&list_of((40, 7), PEOPLE)), @r"
    Contacts   /: search
    >Anna Müller          0171 39200 02
     山田 太郎            +81 3 5550 0123
     Zoé \u{1b}[31mRed\…
     (no name)

    1 of 4   ?: keys   Enter: show   a: add
    ");
    insta::assert_snapshot!(text(&list_of((20, 7), PEOPLE)), @r"
    Contacts   /: search
    >Anna Müller
     山田 太郎
     Zoé \u{1b}[31mRed\…
     (no name)

    1 of 4   ?: keys
    ");
}

#[test]
fn an_empty_list() {
    insta::assert_snapshot!(text(&list_of((40, 4), &[])), @"
    Contacts   /: search
     No contacts. a: add

    0   ?: keys   a: add   q: quit   250 µs
    ");
    let mut list = list_of((40, 4), PEOPLE);
    list.handle_key(&Key::Char('/'));
    list.handle_key(&Key::Char('x'));
    answer(&mut list, &[]);
    insta::assert_snapshot!(text(&list), @"
    Search: x
     No contact matches.

    0   Enter: use this result
    ");
}

#[test]
fn the_search_text_is_in_the_first_row() {
    let mut list = list_of((50, 4), PEOPLE);
    for c in "/mül".chars() {
        list.handle_key(&Key::Char(c));
        answer(&mut list, &PEOPLE[..1]);
    }
    insta::assert_snapshot!(text(&list), @"
    Search: mül
    >Anna Müller                    0171 39200 02

    1 of 1   Enter: use this result   Esc: whole list
    ");
    let mut terminal = draw_screen(&list, (50, 4));
    terminal.backend_mut().assert_cursor_position((11, 0));
    list.handle_key(&Key::Char('('));
    insta::assert_snapshot!(text(&list), @"
    Search: mül(
    >Anna Müller                    0171 39200 02

    something to look for is missing here
    ");
    list.handle_key(&Key::Text(
        "\u{301} and very much more text than fits".to_owned(),
    ));
    list.resize((20, 4));
    insta::assert_snapshot!(text(&list), @r#"
    /ore text than fits
    >Anna Müller

    the "(" is not clos…
    "#);
}

#[test]
fn landmarks_and_details() {
    let mut list = list_of((40, 8), PEOPLE);
    press(&mut list, &[Key::Control('g')]);
    insta::assert_snapshot!(text(&list), @r"
    Contacts   /: search
    >Anna Müller          0171 39200 02
     山田 太郎            +81 3 5550 0123
     Zoé \u{1b}[31mRed\…
     (no name)


    Go to: A Z
    ");
    press(&mut list, &[Key::Escape, Key::Enter]);
    insta::assert_snapshot!(text(&list), @r"
    Anna Müller
    Organisation
      Example GmbH, Sales
    Note
      likes tea, no milk
      and cake\u{1b}[2J

    q: back   ?: keys   e: edit   y: copy  …
    ");
    list.resize((20, 5));
    insta::assert_snapshot!(text(&list), @"
    Anna Müller
    Organisation
      Example GmbH,
      Sales
    Up, down: scroll   …
    ");
    list.resize((70, 8));
    insta::assert_snapshot!(text(&list), @r"
    Anna Müller
    Organisation  Example GmbH, Sales
    Note          likes tea, no milk
                  and cake\u{1b}[2J



    q: back   ?: keys   e: edit   y: copy   d: remove
    ");
}

#[test]
fn a_new_contact_is_shown_before_it_is_saved() {
    let mut list = list_of((60, 10), PEOPLE);
    press(&mut list, &[Key::Char('a')]);
    insta::assert_snapshot!(text(&list), @r"
    Contacts   /: search
    >Anna Müller                              0171 39200 02
     山田 太郎                                +81 3 5550 0123
     Zoé \u{1b}[31mRed\u{9b}2J\u{202e}
     (no name)

    ── New contact in Contacts ─────────────────────────────────

      Ada Lovelace ada@example.org +44 20 7946 0123, org=Acme
    Enter: save   Ctrl-O: editor   Esc: cancel
    ");
    press(&mut list, &[Key::Char('x')]);
    insta::assert_snapshot!(text(&list), @r"
    Contacts   /: search
    >Anna Müller                              0171 39200 02
     山田 太郎                                +81 3 5550 0123
     Zoé \u{1b}[31mRed\u{9b}2J\u{202e}
     (no name)

    ── New contact in Contacts ─────────────────────────────────
    x
      a name is missing
    Ctrl-O: editor   Esc: cancel
    ");
    press(
        &mut list,
        &[Key::Control('u'), Key::Text("ada@example.org".to_owned())],
    );
    insta::assert_snapshot!(text(&list), @r"
    Contacts   /: search
    >Anna Müller                              0171 39200 02
     山田 太郎                                +81 3 5550 0123
     Zoé \u{1b}[31mRed\u{9b}2J\u{202e}
     (no name)
    ── New contact in Contacts ─────────────────────────────────
    ada@example.org
      Name    Ada
      E-mail  ada@example.org
    Enter: save   Ctrl-O: editor   Esc: cancel
    ");
}

#[test]
fn questions_and_messages() {
    let mut list = list_of((50, 9), PEOPLE);
    press(&mut list, &[Key::Char('d')]);
    insta::assert_snapshot!(text(&list), @r"
    Contacts   /: search
    >Anna Müller                    0171 39200 02
     山田 太郎                      +81 3 5550 0123
     Zoé \u{1b}[31mRed\u{9b}2J\u{…
     (no name)

    ──────────────────────────────────────────────────
    Remove Anna Müller?
    y: yes   any other key: cancel
    ");
    press(&mut list, &[Key::Escape]);
    let copy = |key, label: &str| Choice::new(key, label, Action::Copy(label.to_owned()));
    list.dialogs.ask(Question {
        text: "Copy from Anna Müller:".to_owned(),
        choices: vec![
            copy('y', "vCard"),
            copy('1', "Phone 0171 39200 02"),
            copy('2', "Name"),
        ],
        escape: None,
    });
    insta::assert_snapshot!(text(&list), @"
    Contacts   /: search
    >Anna Müller                    0171 39200 02
     山田 太郎                      +81 3 5550 0123
    ──────────────────────────────────────────────────
    Copy from Anna Müller:
    y: vCard
    1: Phone 0171 39200 02
    2: Name
    any other key: cancel
    ");
    press(&mut list, &[Key::Escape]);
    list.dialogs.set_message("Removed: Anna Müller   u: undo");
    insta::assert_snapshot!(text(&list), @r"
    Contacts   /: search
    >Anna Müller                    0171 39200 02
     山田 太郎                      +81 3 5550 0123
     Zoé \u{1b}[31mRed\u{9b}2J\u{…
     (no name)



    Removed: Anna Müller   u: undo
    ");
    list.dialogs
        .set_message("Anna Müller was changed since by another program; its change was not undone");
    insta::assert_snapshot!(text(&list), @r"
    Contacts   /: search
    >Anna Müller                    0171 39200 02
     山田 太郎                      +81 3 5550 0123
     Zoé \u{1b}[31mRed\u{9b}2J\u{…
     (no name)

    ──────────────────────────────────────────────────
    Anna Müller was changed since by another program;
    its change was not undone
    ");
}

#[test]
fn the_keys() {
    let mut list = list_of((80, 24), PEOPLE);
    press(&mut list, &[Key::Char('?')]);
    insta::assert_snapshot!(text(&list), @"
    Keys
    arrows, j, k  move
    PgUp, PgDn    one screen up, down; also Ctrl-B, Ctrl-F
    g, G          first, last; also Home, End
    [, ]          previous, next letter; also left, right
    Ctrl-G        go to a letter by its first or last character
    /             search as you type; Enter: use the result, Esc: whole list
    Enter         show the contact
    Tab           next address book; Shift-Tab: the one before
    a             add: a new contact in one phrase, or with Ctrl-O in the editor
    e             edit the fields
    E             edit the text in $VISUAL or $EDITOR
    d             remove, after a question
    u             undo the last change made here; again: the one before
    y, c          copy the text or a value to the terminal's clipboard
    Ctrl-Z        suspend; fg continues
    Ctrl-L        draw the screen again
    Space         one screen down
    q, Ctrl-C     quit; q: back from a page




    any other key: back
    ");
    list.resize((40, 9));
    insta::assert_snapshot!(text(&list), @"
    Keys
    arrows, j, k
      move
    PgUp, PgDn
      one screen up, down; also Ctrl-B,
      Ctrl-F
    g, G
      first, last; also Home, End
    Up, down: scroll   any other key: back
    ");
}

#[test]
fn every_size_is_drawn() {
    for columns in 0..130 {
        for rows in 0..8 {
            let mut list = list_of((columns, rows), PEOPLE);
            for keys in ["", "\r", "q/é", "\u{1b}?", "qa", "x\u{1b}d"] {
                for c in keys.chars() {
                    press(
                        &mut list,
                        &[match c {
                            '\r' => Key::Enter,
                            '\u{1b}' => Key::Escape,
                            c => Key::Char(c),
                        }],
                    );
                }
                draw_screen(&list, (columns.max(1), rows.max(1)));
            }
        }
    }
}
