//! What is to be seen, as text.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::time::Duration;

use etui::RecordId;
use etui::contacts::{Card, Field};

use super::super::state::{Key, ListLandmark, PagerRequest};
use super::*;
use crate::output::one_line;

type Pager = super::Pager<Field>;

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

fn pager(size: (usize, usize), people: &[[&str; 4]]) -> Pager {
    let mut pager = Pager::new("Contacts", size);
    answer(&mut pager, people);
    pager
}

fn answer(pager: &mut Pager, people: &[[&str; 4]]) {
    while let Some(want) = pager.want() {
        match want {
            PagerRequest::Page { .. } => {
                let clean = |text: &str| one_line(text).into_owned();
                let lines = people.iter().zip(1..).map(|(p, id)| Line {
                    id: RecordId(id),
                    cells: p.iter().map(|cell| clean(cell)).collect(),
                });
                let total = people.len() as u64;
                pager.page(lines.collect(), Some(total), Duration::from_micros(250));
            }
            PagerRequest::Count(_) => pager.counted(people.len() as u64),
            PagerRequest::Landmarks => {
                let letter = |label: &str, position| ListLandmark {
                    label: label.to_owned(),
                    position,
                };
                pager.landmarks(vec![letter("A", 0), letter("B", 1), letter("Z", 1)]);
            }
            PagerRequest::About(_) => {
                let row = |label: &str, value: &str| (label.to_owned(), value.to_owned());
                let rows = vec![
                    row("Organisation", "Example GmbH, Sales"),
                    row("Note", "likes tea, no milk\nand cake\x1b[2J"),
                ];
                pager.about(Some(("Anna Müller".to_owned(), rows)));
            }
        }
    }
}

/// The screen as a terminal shows it; a wide character takes two cells.
fn text(pager: &Pager) -> String {
    let screen = screen::<Card>(pager);
    assert_eq!(screen.lines.len(), pager.rows());
    let mut out = String::new();
    for line in &screen.lines {
        let mut cells: Vec<String> = vec![" ".to_owned(); pager.columns()];
        for span in line {
            let mut at = span.column;
            for c in span.text.chars() {
                match c.width() {
                    Some(0) => cells[at - 1].push(c),
                    Some(width) => {
                        assert!(at + width <= pager.columns(), "{line:?}");
                        cells[at] = c.to_string();
                        cells[at + 1..at + width].fill(String::new());
                        at += width;
                    }
                    None => panic!("a control character: {line:?}"),
                }
            }
        }
        out.push_str(cells.concat().trim_end());
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
fn nobody_is_there() {
    insta::assert_snapshot!(text(&pager((40, 4), &[])), @"
    Contacts   type to search
     No contacts.

    0   q: quit   250 µs
    ");
    let mut pager = pager((40, 4), PEOPLE);
    pager.key(Key::Char('x'));
    answer(&mut pager, &[]);
    insta::assert_snapshot!(text(&pager), @"
    Search: x
     Nobody is found.

    0   Esc: whole list   Ctrl-C: quit
    ");
}

#[test]
fn what_is_typed_stands_above() {
    let mut pager = pager((50, 4), PEOPLE);
    for c in "mül".chars() {
        pager.key(Key::Char(c));
        answer(&mut pager, &PEOPLE[..1]);
    }
    insta::assert_snapshot!(text(&pager), @"
    Search: mül
    >Anna Müller                    0171 39200 02

    1 of 1   Enter: show   Esc: whole list
    ");
    assert_eq!(screen::<Card>(&pager).cursor, Some(11));
    pager.key(Key::Char('('));
    insta::assert_snapshot!(text(&pager), @"
    Search: mül(
    >Anna Müller                    0171 39200 02

    something to look for is missing here
    ");
    pager.key(Key::Text(
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
fn letters_and_a_contact() {
    let mut pager = pager((40, 8), PEOPLE);
    pager.key(Key::Jump);
    answer(&mut pager, PEOPLE);
    insta::assert_snapshot!(text(&pager), @r"
    Contacts   type to search
    >Anna Müller          0171 39200 02
     山田 太郎            +81 3 5550 0123
     Zoé \u{1b}[31mRed\…
     (no name)


    Go to: A Z
    ");
    pager.key(Key::Escape);
    pager.key(Key::Enter);
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
    Up, down: more   An…
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
fn every_size_will_do() {
    for columns in 1..130 {
        for rows in 1..8 {
            let mut pager = pager((columns, rows), PEOPLE);
            screen::<Card>(&pager);
            pager.key(Key::Enter);
            answer(&mut pager, PEOPLE);
            screen::<Card>(&pager);
            pager.key(Key::Escape);
            pager.key(Key::Char('é'));
            screen::<Card>(&pager);
        }
    }
}
