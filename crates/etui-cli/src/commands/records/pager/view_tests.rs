//! The screen as text.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::time::Duration;

use etui::RecordId;
use etui::contacts::{Card, Field};

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::super::state::{ListLandmark, PagerKey, PagerRequest};
use super::*;
use crate::output::one_line;

type PagerState = super::PagerState<Field>;

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

fn pager(size: (usize, usize), people: &[[&str; 4]]) -> PagerState {
    let mut pager = PagerState::new("Contacts", size);
    answer(&mut pager, people);
    pager
}

fn answer(pager: &mut PagerState, people: &[[&str; 4]]) {
    while let Some(request) = pager.next_request() {
        match request {
            PagerRequest::Page { .. } => {
                let clean = |text: &str| one_line(text).into_owned();
                let lines = people.iter().zip(1..).map(|(p, id)| ListLine {
                    id: RecordId(id),
                    cells: p.iter().map(|cell| clean(cell)).collect(),
                });
                let total = people.len() as u64;
                pager.set_page(lines.collect(), Some(total), Duration::from_micros(250));
            }
            PagerRequest::Count(_) => pager.set_count(people.len() as u64),
            PagerRequest::Landmarks => {
                let letter = |label: &str, position| ListLandmark {
                    label: label.to_owned(),
                    position,
                };
                pager.set_landmarks(vec![letter("A", 0), letter("B", 1), letter("Z", 1)]);
            }
            PagerRequest::Details(_) => {
                let row = |label: &str, value: &str| (label.to_owned(), value.to_owned());
                let rows = vec![
                    row("Organisation", "Example GmbH, Sales"),
                    row("Note", "likes tea, no milk\nand cake\x1b[2J"),
                ];
                pager.set_details(Some(("Anna Müller".to_owned(), rows)));
            }
        }
    }
}

fn draw_screen(pager: &PagerState, (columns, rows): (usize, usize)) -> Terminal<TestBackend> {
    let backend = TestBackend::new(to_cell(columns), to_cell(rows));
    let mut terminal = Terminal::new(backend).unwrap();
    terminal
        .draw(|frame| draw_pager::<Card>(pager, frame))
        .unwrap();
    terminal
}

/// Returns the screen as text; a wide character takes two cells.
fn text(pager: &PagerState) -> String {
    let size = (pager.columns(), pager.details_size().1 + 1);
    let terminal = draw_screen(pager, size);
    let buffer = terminal.backend().buffer();
    let mut out = String::new();
    for row in 0..to_cell(size.1) {
        let mut line = String::new();
        let mut column = 0;
        while column < size.0 {
            let symbol = buffer[(to_cell(column), row)].symbol();
            assert!(!symbol.contains(char::is_control), "{symbol:?}");
            line.push_str(symbol);
            column += symbol.width().max(1);
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[test]
fn a_wide_terminal_shows_more_of_each() {
    insta::assert_snapshot!(text(&pager((120, 7), PEOPLE)), @r"
    Contacts   type to search
    >Anna Müller                   Example GmbH                  0171 39200 02       anna.mueller@example.org
     山田 太郎                     株式会社サンプル              +81 3 5550 0123     taro@example.jp
     Zoé \u{1b}[31mRed\u{9b}2J\u…
     (no name)                     Nobody & Sons

    1 of 4   Enter: show   q: quit   Ctrl-G M: go to M   250 µs
    ");
    insta::assert_snapshot!(text(&pager((80, 7), PEOPLE)), @r"
    Contacts   type to search
    >Anna Müller             0171 39200 02       anna.mueller@example.org
     山田 太郎               +81 3 5550 0123     taro@example.jp
     Zoé \u{1b}[31mRed\u{9…
     (no name)

    1 of 4   Enter: show   q: quit   Ctrl-G M: go to M   250 µs
    ");
    insta::assert_snapshot!(text(&pager((40, 7), PEOPLE)), @r"
    Contacts   type to search
    >Anna Müller          0171 39200 02
     山田 太郎            +81 3 5550 0123
     Zoé \u{1b}[31mRed\…
     (no name)

    1 of 4   Enter: show   q: quit
    ");
    insta::assert_snapshot!(text(&pager((20, 7), PEOPLE)), @r"
    Contacts
    >Anna Müller
     山田 太郎
     Zoé \u{1b}[31mRed\…
     (no name)

    1 of 4   Enter: show
    ");
}

#[test]
fn an_empty_list() {
    insta::assert_snapshot!(text(&pager((40, 4), &[])), @"
    Contacts   type to search
     No contacts.

    0   q: quit   250 µs
    ");
    let mut pager = pager((40, 4), PEOPLE);
    pager.handle_key(PagerKey::Char('x'));
    answer(&mut pager, &[]);
    insta::assert_snapshot!(text(&pager), @"
    Search: x
     No contact matches.

    0   Esc: whole list   Ctrl-C: quit
    ");
}

#[test]
fn the_search_text_is_in_the_first_row() {
    let mut pager = pager((50, 4), PEOPLE);
    for c in "mül".chars() {
        pager.handle_key(PagerKey::Char(c));
        answer(&mut pager, &PEOPLE[..1]);
    }
    insta::assert_snapshot!(text(&pager), @"
    Search: mül
    >Anna Müller                    0171 39200 02

    1 of 1   Enter: show   Esc: whole list
    ");
    let mut terminal = draw_screen(&pager, (50, 4));
    terminal.backend_mut().assert_cursor_position((11, 0));
    pager.handle_key(PagerKey::Char('('));
    insta::assert_snapshot!(text(&pager), @"
    Search: mül(
    >Anna Müller                    0171 39200 02

    something to look for is missing here
    ");
    pager.handle_key(PagerKey::Text(
        "\u{301} and very much more text than fits".to_owned(),
    ));
    pager.resize((20, 4));
    insta::assert_snapshot!(text(&pager), @r#"
    /ore text than fits
    >Anna Müller

    the "(" is not clos…
    "#);
}

#[test]
fn landmarks_and_details() {
    let mut pager = pager((40, 8), PEOPLE);
    pager.handle_key(PagerKey::Jump);
    answer(&mut pager, PEOPLE);
    insta::assert_snapshot!(text(&pager), @r"
    Contacts   type to search
    >Anna Müller          0171 39200 02
     山田 太郎            +81 3 5550 0123
     Zoé \u{1b}[31mRed\…
     (no name)


    Go to: A Z
    ");
    pager.handle_key(PagerKey::Escape);
    pager.handle_key(PagerKey::Enter);
    answer(&mut pager, PEOPLE);
    insta::assert_snapshot!(text(&pager), @r"
    Anna Müller
    Organisation
      Example GmbH, Sales
    Note
      likes tea, no milk
      and cake\u{1b}[2J

    Any key: back
    ");
    pager.resize((20, 5));
    insta::assert_snapshot!(text(&pager), @"
    Anna Müller
    Organisation
      Example GmbH,
      Sales
    Up, down: scroll   …
    ");
    pager.resize((60, 8));
    insta::assert_snapshot!(text(&pager), @r"
    Anna Müller
    Organisation  Example GmbH, Sales
    Note          likes tea, no milk
                  and cake\u{1b}[2J



    Any key: back
    ");
}

#[test]
fn every_size_is_drawn() {
    for columns in 1..130 {
        for rows in 1..8 {
            let mut pager = pager((columns, rows), PEOPLE);
            draw_screen(&pager, (columns, rows));
            pager.handle_key(PagerKey::Enter);
            answer(&mut pager, PEOPLE);
            draw_screen(&pager, (columns, rows));
            pager.handle_key(PagerKey::Escape);
            pager.handle_key(PagerKey::Char('é'));
            draw_screen(&pager, (columns, rows));
        }
    }
}
