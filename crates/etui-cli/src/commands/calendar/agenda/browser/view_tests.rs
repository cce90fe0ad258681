//! The screen as text.

#![allow(clippy::unwrap_used, clippy::panic)]

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::super::state::tests::{agenda, press};
use super::*;
use crate::terminal::{screen_text, to_cell};

/// Returns the screen as text; a wide character takes two cells.
fn text(agenda: &AgendaState) -> String {
    let (columns, rows) = agenda.size();
    let backend = TestBackend::new(to_cell(columns), to_cell(rows));
    let mut terminal = Terminal::new(backend).unwrap();
    terminal.draw(|frame| draw_agenda(agenda, frame)).unwrap();
    screen_text(terminal.backend().buffer())
}

#[test]
fn a_month() {
    insta::assert_snapshot!(text(&agenda(AgendaView::Month, (80, 24))), @"");
    insta::assert_snapshot!(text(&agenda(AgendaView::Month, (120, 24))), @"");
}

#[test]
fn a_narrow_month() {
    insta::assert_snapshot!(text(&agenda(AgendaView::Month, (40, 14))), @"");
    insta::assert_snapshot!(text(&agenda(AgendaView::Month, (30, 8))), @"");
}

#[test]
fn a_week() {
    insta::assert_snapshot!(text(&agenda(AgendaView::Week, (80, 20))), @"");
    insta::assert_snapshot!(text(&agenda(AgendaView::Week, (40, 10))), @"");
}

#[test]
fn a_day() {
    insta::assert_snapshot!(text(&agenda(AgendaView::Day, (60, 8))), @"");
}

#[test]
fn a_new_entry_is_shown_before_it_is_saved() {
    let mut agenda = agenda(AgendaView::Week, (60, 14));
    press(&mut agenda, "a");
    insta::assert_snapshot!(text(&agenda), @"");
    press(&mut agenda, "Lunch with Bob");
    insta::assert_snapshot!(text(&agenda), @"");
}

#[test]
fn the_keys() {
    let mut agenda = agenda(AgendaView::Week, (80, 24));
    press(&mut agenda, "?");
    insta::assert_snapshot!(text(&agenda), @"");
}

#[test]
fn a_removal_of_a_series() {
    let mut agenda = agenda(AgendaView::Week, (60, 14));
    press(&mut agenda, "jjjjd");
    insta::assert_snapshot!(text(&agenda), @"");
}

#[test]
fn every_size_is_drawn() {
    for columns in 0..140 {
        for rows in 0..26 {
            if rows > 9 && columns % 9 > 0 {
                continue;
            }
            for keys in ["M", "W", "D", "W?", "Wa", "Wd", "D\r"] {
                let mut agenda = agenda(AgendaView::Month, (columns, rows));
                press(&mut agenda, keys);
                text(&agenda);
            }
        }
    }
}
